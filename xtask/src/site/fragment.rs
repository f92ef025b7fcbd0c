//! Makes links that open a command in the page of the simulator and checker.

/// Encodes a command line for the fragment of a URL.
pub(super) fn encode_fragment(line: &str) -> String {
    let mut made = String::new();
    for byte in line.bytes() {
        match byte {
            b' ' => made.push('+'),
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b',' | b':' | b'@' => {
                made.push(char::from(byte));
            }
            other => made.push_str(&format!("%{other:02X}")),
        }
    }
    made
}

/// Returns links that open these commands in the page of the simulator and checker, as HTML. `page`
/// is the address of that page.
pub(super) fn command_links(page: &str, commands: &[String]) -> String {
    let link = |command: &String| {
        let (verb, line) = command.split_once(' ')?;
        let (view, label) = match verb {
            "check" => ("check", "Check it in the page"),
            "simulate" => ("run", "Run it in the page"),
            _ => return None,
        };
        Some(format!("<a href=\"{page}#{view}={}\">{label}</a>", encode_fragment(line)))
    };
    let all: Vec<String> = commands.iter().filter_map(link).collect();
    if all.is_empty() { String::new() } else { format!("<p>{}</p>\n", all.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::{command_links, encode_fragment};

    #[test]
    fn fragments_are_encoded() {
        assert_eq!(encode_fragment("a --never 'x & y'"), "a+--never+%27x+%26+y%27");
    }

    #[test]
    fn checks_and_simulations_have_links() {
        let commands = ["check bully -n 3", "list", "simulate lamport"].map(str::to_owned);
        let html = command_links("../page.html", &commands);
        assert!(html.contains("\"../page.html#check=bully+-n+3\""), "{html}");
        assert!(html.contains("\"../page.html#run=lamport\""), "{html}");
        assert_eq!(html.matches("<a ").count(), 2);
        assert_eq!(command_links("", &["list".to_owned()]), "");
    }
}
