//! Layout of a card, for `tenure list NAME`.

use std::fmt::Write;

use tenure_core::Variant;

use super::output::{width, wrapped};

/// Column at which the text of a row begins, in characters.
const INDENT: usize = 13;

/// A card as text: a heading, and rows that are wrapped to the width of the terminal.
#[derive(Debug)]
pub(crate) struct CardText(String);

impl CardText {
    /// Begins a card with its name and title.
    pub(crate) fn new(name: &str, title: &str) -> Self {
        let heading = format!("{name}: {title}");
        CardText(wrapped(&heading, width() - 2).join("\n  ") + "\n")
    }

    /// Adds a row. A row without a name continues the one above.
    pub(crate) fn row(&mut self, name: &str, message: &str) {
        let mut name = name;
        for line in wrapped(message, width() - INDENT) {
            let width = INDENT - 2;
            writeln!(self.0, "  {name:<width$}{line}").expect("writing to a string succeeds");
            name = "";
        }
    }

    /// Adds the rows of a variant, with the command that demonstrates it.
    pub(crate) fn variant(&mut self, variant: &Variant, command: Option<String>) {
        let Variant { name, description, sound, verdict, .. } = variant;
        let warning = if *sound { "" } else { " (deliberate mistake)" };
        let verdict = if verdict.is_empty() { String::new() } else { format!(", {verdict}") };
        self.row("variant", &format!("{name}{warning}{verdict}"));
        self.row("", &format!("  {description}"));
        if let Some(command) = command {
            self.row("", &format!("  tenure {command}"));
        }
    }

    /// Returns the whole text.
    pub(crate) fn into_string(self) -> String {
        self.0
    }
}
