//! A table whose rows have a label and a text.

use super::output::{format_row, line_width, wrap};

/// Default column at which the text of a row begins, in characters.
const INDENT: usize = 22;

const MAX_LISTED: usize = 24;

pub(crate) struct LabelledRows {
    pub(super) text: String,
    /// Column at which the text of a row begins, in characters.
    pub(super) column: usize,
}

impl LabelledRows {
    pub(crate) fn new(headline: &str) -> Self {
        LabelledRows::with_text_column(headline, INDENT)
    }

    /// Starts a table with a headline. The text of each row begins at `column`, counted in
    /// characters.
    pub(crate) fn with_text_column(headline: &str, column: usize) -> Self {
        LabelledRows { text: wrap(headline, line_width()).join("\n") + "\n\n", column }
    }

    /// Adds a row with the label `name`, wrapped to the width of the terminal. A row without a
    /// label continues the previous row.
    pub(crate) fn add_row(&mut self, name: &str, text: &str) {
        self.text += &format_row(&format!("  {name}"), text, self.column);
    }

    /// Adds a line that is never wrapped, such as a command to copy.
    pub(crate) fn add_line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    pub(crate) fn into_text(self) -> String {
        self.text
    }
}

/// Maximum number of digits after the decimal point. A smaller number than these digits can express
/// is formatted as 0.
const MAX_DECIMALS: usize = 9;

/// Formats a number. There are no digits after the decimal point from 1000 on, one from 100 on, and
/// two from 0.1 on. Smaller numbers have two significant digits. Trailing zeros are omitted.
pub(crate) fn format_figure(value: f64) -> String {
    let digits = match value.abs() {
        _ if value.fract() == 0.0 => 0,
        magnitude if magnitude < 0.1 => {
            let zeros = -magnitude.log10().floor() as usize;
            MAX_DECIMALS.min(zeros + 1)
        }
        magnitude if magnitude < 100.0 => 2,
        magnitude if magnitude < 1_000.0 => 1,
        _ => 0,
    };
    let text = format!("{value:.digits$}");
    if !text.contains('.') {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Joins the first [`MAX_LISTED`] items of a list with `joint`. If items are omitted, adds their
/// number.
pub(crate) fn join_with_limit(items: impl ExactSizeIterator<Item = String>, joint: &str) -> String {
    let count = items.len();
    let shown: Vec<String> = items.take(MAX_LISTED).collect();
    let more = match count.saturating_sub(MAX_LISTED) {
        0 => String::new(),
        more => format!(" … and {more} more"),
    };
    shown.join(joint) + &more
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_significant_digits() {
        let cases = [
            (20.0, "20"),
            (5.5, "5.5"),
            (0.333, "0.33"),
            (123.456, "123.5"),
            (12345.6, "12346"),
            (0.05, "0.05"),
            (-0.0015, "-0.0015"),
            (0.000_123_4, "0.00012"),
            (1e-30, "0"),
        ];
        for (value, text) in cases {
            assert_eq!(format_figure(value), text);
        }
    }

    #[test]
    fn long_lists_are_truncated_with_a_count() {
        assert_eq!(join_with_limit((0..3).map(|i| i.to_string()), ","), "0,1,2");
        assert!(join_with_limit((0..30).map(|i| i.to_string()), ",").ends_with("23 … and 6 more"));
    }
}
