//! Layout of a card, for `tenure list NAME`.

use tenure_core::Variant;

use super::output::{width, wrapped};
use super::rows::Rows;

/// Column at which the text of a row begins, in characters.
const COLUMN: usize = 13;

impl Rows {
    /// Begins a card with its name and title.
    pub(crate) fn card(name: &str, title: &str) -> Self {
        let heading = wrapped(&format!("{name}: {title}"), width() - 2);
        Rows { text: heading.join("\n  ") + "\n", column: COLUMN }
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
}
