//! Layout of the card of an algorithm, as `tenure list NAME` prints it.

use tenure_core::Variant;

use super::output::{line_width, wrap};
use super::rows::LabelledRows;

/// Column at which the text of a row begins in the printed card, in characters.
const COLUMN: usize = 13;

impl LabelledRows {
    pub(crate) fn with_card_heading(name: &str, title: &str) -> Self {
        let heading = wrap(&format!("{name}: {title}"), line_width() - 2);
        LabelledRows { text: heading.join("\n  ") + "\n", column: COLUMN }
    }

    /// Adds the rows of a variant. `command` is the command that demonstrates the variant, without
    /// the leading word `tenure`. If it is `None`, the variant has no row with a command.
    pub(crate) fn add_variant(&mut self, variant: &Variant, command: Option<String>) {
        let Variant { name, description, sound, known_result, .. } = variant;
        let warning = if *sound { "" } else { " (deliberate mistake)" };
        let result =
            if known_result.is_empty() { String::new() } else { format!(", {known_result}") };
        self.add_row("variant", &format!("{name}{warning}{result}"));
        self.add_row("", &format!("  {description}"));
        if let Some(command) = command {
            self.add_row("", &format!("  tenure {command}"));
        }
    }
}
