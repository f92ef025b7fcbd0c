//! Parser of command lines with quotes.

/// Splits a command line into words at spaces. Text in single or double quotes belongs to one word,
/// without the quotes. Unlike in a shell, a backslash has no special meaning.
///
/// # Errors
///
/// Returns a description of the problem if a quote is not closed.
pub fn split(line: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for letter in line.chars() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, _) if letter.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    if let Some(open) = quote {
        return Err(format!("unclosed quote: {open}"));
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_text_is_one_word() {
        let line = "lamport  -n 3 --steer '12 lose p2→p1 request' --x=\"a 'b'\" ''";
        let words = ["lamport", "-n", "3", "--steer", "12 lose p2→p1 request", "--x=a 'b'", ""];
        assert_eq!(split(line).unwrap(), words);
        assert_eq!(split("  ").unwrap(), [""; 0]);
        assert!(split("a 'b").is_err());
    }
}
