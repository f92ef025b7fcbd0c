//! The page of what Tenure is to contain, and of the commands that show it.

use std::fs;
use std::path::Path;

use serde::Deserialize;

use super::algorithms::table;
use super::command::Command;
use crate::hands::on_each;

/// The items, from the repository's root.
const ITEMS: &str = "docs/mission.toml";

const HEAD: &str = "\
# The mission

What Tenure is to contain, a line each, and the commands that show it. This page is made by `cargo
xtask docs` from [mission.toml](mission.toml), which runs them all: a scenario or a question *works*
if all that it expects is observed, another command if it ends with the status that is expected.
Continuous integration fails when one does not.

";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Mission {
    sections: Vec<Section>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Section {
    title: String,
    items: Vec<Item>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Item {
    item: String,
    /// What to type behind `tenure`; behind `# exit` the status that is expected, if not 0.
    commands: Vec<String>,
    shows: String,
}

/// Makes the page; nothing, and what does not work, where anything does not.
pub(super) fn page(root: &Path, command: &Command) -> Result<String, String> {
    let text = fs::read_to_string(root.join(ITEMS)).map_err(|error| format!("{ITEMS}: {error}"))?;
    let mission: Mission = toml::from_str(&text).map_err(|error| format!("{ITEMS}: {error}"))?;
    let (mut page, mut wrong) = (HEAD.to_owned(), Vec::new());
    for Section { title, items } in &mission.sections {
        let mut rows = Vec::new();
        let verdicts = on_each(items, |item| verdict(item, command));
        for (item, verdict) in items.iter().zip(verdicts) {
            let verdict = verdict.unwrap_or_else(|says| {
                wrong.push(says.clone());
                says
            });
            let shown = item.commands.iter().map(|line| format!("`tenure {line}`"));
            let shown = shown.collect::<Vec<_>>().join("<br>");
            rows.push(vec![item.item.clone(), shown, item.shows.clone(), verdict]);
        }
        let head = ["what", "commands", "what they show", "verdict"];
        page.push_str(&format!("## {title}\n\n{}\n", table(&head, rows.into_iter())));
    }
    match wrong.is_empty() {
        true => Ok(page.trim_end().to_owned() + "\n"),
        false => Err(wrong.join("\n")),
    }
}

/// What the commands of an item come to, all of them.
fn verdict(item: &Item, command: &Command) -> Result<String, String> {
    let mut ends = Vec::new();
    for line in &item.commands {
        let (words, status) = read(line)?;
        let ended = command.ends(words)?;
        if ended != status {
            let says = format!("tenure {words} ends with {ended} instead of {status}");
            ends.push(format!("{ITEMS}: {says}"));
        }
    }
    if item.commands.is_empty() {
        return Err(format!("{ITEMS}: nothing shows `{}`", item.item));
    }
    if ends.is_empty() { Ok("works".to_owned()) } else { Err(ends.join("\n")) }
}

/// A command, and the status with which it has to end.
fn read(line: &str) -> Result<(&str, i32), String> {
    match line.split_once(" # exit ") {
        None => Ok((line, 0)),
        Some((words, status)) => {
            let no_status = |_| format!("{ITEMS}: `{status}` is no exit status");
            Ok((words, status.parse().map_err(no_status)?))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Mission, read};

    #[test]
    fn a_line_says_how_it_ends_if_not_well() {
        assert_eq!(read("list"), Ok(("list", 0)));
        assert_eq!(read("check x # exit 1"), Ok(("check x", 1)));
        assert!(read("check x # exit well").is_err());
    }

    #[test]
    fn every_item_is_shown_by_something() {
        let mission: Mission = toml::from_str(include_str!("../../../docs/mission.toml")).unwrap();
        let mut items = mission.sections.iter().flat_map(|section| &section.items);
        assert!(items.all(|item| !item.commands.is_empty() && !item.shows.is_empty()));
    }
}
