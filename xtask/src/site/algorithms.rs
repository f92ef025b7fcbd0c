//! Makes a page for each algorithm. The page shows the claims and assumptions of the algorithm, its
//! variants, and a live picture.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::{fragment::encode_fragment, template};
use crate::demonstration::Demonstration;
use crate::page::escape;

const SIZE: u32 = 5;

/// The pages of algorithms, and the names of the algorithms. A page consists of its path and its
/// content.
type Pages = (Vec<(String, String)>, Vec<String>);

/// Returns the pages of all algorithms, and their names. `tenure` is the path of the command
/// `tenure`.
pub(super) fn algorithm_pages(tenure: &Path) -> Result<Pages, String> {
    let output = Command::new(tenure)
        .args(["list", "--format", "json"])
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cannot run {}: {error}", tenure.display()))?;
    let cards: Vec<Value> =
        serde_json::from_slice(&output.stdout).map_err(|error| format!("tenure list: {error}"))?;
    Ok(pages(&cards))
}

fn pages(cards: &[Value]) -> Pages {
    let all: Vec<&Value> = cards.iter().filter(|card| card["name"].is_string()).collect();
    let names: Vec<String> = all.iter().map(|card| text(&card["name"])).collect();
    let page = |card: &&Value| {
        let name = format!("algorithms/{}.html", file_name(&text(&card["name"])));
        let page = template::page(&name, &text(&card["name"]), &body(card));
        (name, page)
    };
    let mut pages: Vec<(String, String)> = all.iter().map(page).collect();
    let row = |card: &&Value| {
        let name = text(&card["name"]);
        format!(
            "<li><a href=\"{}.html\">{}</a>: {}</li>\n",
            file_name(&name),
            escape(&name),
            escape(&text(&card["card"]["title"]))
        )
    };
    let rows: String = all.iter().map(row).collect();
    let list = format!("<h1>Algorithms</h1>\n<ul>\n{rows}</ul>\n");
    let index = "algorithms/index.html";
    pages.push((index.to_owned(), template::page(index, "Algorithms", &list)));
    (pages, names)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Returns the name of the file for an algorithm's page: the name of the algorithm with hyphens
/// instead of colons. Only the names of compositions contain colons.
fn file_name(name: &str) -> String {
    name.replace(':', "-")
}

fn body(entry: &Value) -> String {
    let (name, card) = (text(&entry["name"]), &entry["card"]);
    let row = |term: &str, value: &Value| match value.as_str() {
        Some(value) if !value.is_empty() => {
            format!("<dt>{term}</dt><dd>{}</dd>\n", escape(value))
        }
        _ => String::new(),
    };
    let promises = card["promises"].as_array().into_iter().flatten().map(text);
    let promises = promises.collect::<Vec<_>>().join(", ");
    let facts = [
        row("service", &card["service"]),
        row("paper", &card["paper"]),
        row("timing", &card["timing"]),
        row("topology", &card["topology"]),
        row("faults", &card["faults"]["description"]),
        row("messages", &card["messages"]["formula"]),
        row("promises", &promises.into()),
    ];
    let run = format!(
        "../page.html#run={}&amp;embedded=1",
        encode_fragment(&format!("{name} -n {SIZE}"))
    );
    format!(
        "<h1>{0}</h1>\n<p>{1}</p>\n<iframe class=\"live\" title=\"Run of {0}\" loading=\"lazy\" \
         src=\"{run}\"></iframe>\n<p><a href=\"../page.html#run={2}\">Open in the simulator</a>, \
         <a href=\"../page.html#check={3}\">check every schedule</a></p>\n<dl>\n{4}</dl>\n{5}",
        escape(&name),
        escape(&text(&card["title"])),
        encode_fragment(&format!("{name} -n {SIZE}")),
        encode_fragment(&name),
        facts.concat(),
        variants(&name, card),
    )
}

/// Returns the list of an algorithm's variants as HTML. A variant with a demonstration links to the
/// check or the run that shows it.
fn variants(name: &str, card: &Value) -> String {
    let all: Vec<&Value> = card["variants"].as_array().into_iter().flatten().collect();
    if all.is_empty() {
        return String::new();
    }
    let row = |variant: &&Value| {
        let own = text(&variant["name"]);
        let link = Demonstration::of(name, variant).map_or_else(String::new, |it| {
            let (view, label) = match it.verb {
                "simulate" => ("run", "Run it"),
                _ => ("check", "Check it"),
            };
            let line = encode_fragment(&it.arguments);
            format!(" <a href=\"../page.html#{view}={line}\">{label}</a>")
        });
        let description = escape(&text(&variant["description"]));
        format!("<li><strong>{}</strong>: {description}.{link}</li>\n", escape(&own))
    };
    let rows: String = all.iter().map(row).collect();
    format!("<h2>Variants</h2>\n<ul>\n{rows}</ul>\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::pages;

    #[test]
    fn page_shows_card_and_links_to_checks() {
        let card = json!({
            "name": "coordinated:raft",
            "card": {
                "title": "a <lock>", "service": "mutex", "promises": ["fencing"],
                "variants": [
                    { "name": "bad", "description": "wrong", "shown_by": "-n 3 --lose 1" },
                    { "name": "good", "description": "right", "shown_by": "" },
                    { "name": "late", "description": "slow", "shown_by": "simulate -n 3" },
                    { "name": "pair", "description": "both", "shown_by": "--variant bad,pair" },
                ],
            },
        });
        let (pages, names) = pages(&[card, json!({ "name": null })]);
        assert_eq!(names, ["coordinated:raft"]);
        let (name, page) = &pages[0];
        assert_eq!(name, "algorithms/coordinated-raft.html");
        for part in [
            "<p>a &lt;lock&gt;</p>",
            "src=\"../page.html#run=coordinated:raft+-n+5&amp;embedded=1\"",
            "#check=coordinated:raft+--variant+bad+-n+3+--lose+1",
            "#run=coordinated:raft+--variant+late+-n+3\">Run it",
            "#check=coordinated:raft+--variant+bad,pair\"",
            "<dt>promises</dt><dd>fencing</dd>",
        ] {
            assert!(page.contains(part), "{part} in {page}");
        }
        assert_eq!(page.matches("Check it").count(), 2);
        assert!(pages[1].1.contains("<a href=\"coordinated-raft.html\">coordinated:raft</a>"));
    }
}
