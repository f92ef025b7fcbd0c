//! A table with a name and what there is to say of it in each row.

use std::fmt::Write;

use crate::cmd::output::{width, wrapped};

/// Where the second column begins.
const INDENT: usize = 22;

/// Lists on the screen stop after so many.
const LISTED: usize = 24;

/// A table under way.
pub(crate) struct Rows(String);

impl Rows {
    /// Begins with a headline.
    pub(crate) fn new(headline: &str) -> Self {
        Rows(wrapped(headline, width()).join("\n") + "\n\n")
    }

    /// A name and what there is to say, on as many lines as it takes.
    pub(crate) fn row(&mut self, name: &str, says: &str) {
        let mut name = name;
        for line in wrapped(says, width() - INDENT) {
            let width = INDENT - 2;
            let row = format!("  {name:<width$}{line}");
            writeln!(self.0, "{}", row.trim_end()).expect("a string takes everything");
            name = "";
        }
    }

    /// A line of its own, not broken: what is to be copied, or is laid out already.
    pub(crate) fn line(&mut self, line: &str) {
        self.0.push_str(line.trim_end());
        self.0.push('\n');
    }

    /// The whole table.
    pub(crate) fn into_text(self) -> String {
        self.0
    }
}

/// A figure with as many digits as say something.
pub(crate) fn figure(value: f64) -> String {
    let digits = match value.abs() {
        _ if value.fract() == 0.0 => 0,
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

/// The first of many items, and how many more there are.
pub(crate) fn listed(items: impl ExactSizeIterator<Item = String>, joint: &str) -> String {
    let count = items.len();
    let shown: Vec<String> = items.take(LISTED).collect();
    let more = match count.saturating_sub(LISTED) {
        0 => String::new(),
        more => format!(" … and {more} more"),
    };
    shown.join(joint) + &more
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_the_digits_that_say_something() {
        let cases =
            [(20.0, "20"), (5.5, "5.5"), (0.333, "0.33"), (123.456, "123.5"), (12345.6, "12346")];
        for (value, text) in cases {
            assert_eq!(figure(value), text);
        }
    }

    #[test]
    fn long_lists_say_how_long_they_are() {
        assert_eq!(listed((0..3).map(|i| i.to_string()), ","), "0,1,2");
        assert!(listed((0..30).map(|i| i.to_string()), ",").ends_with("23 … and 6 more"));
    }
}
