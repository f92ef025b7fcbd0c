//! Progress lines on standard error. A build for a web page has placeholders, because the page
//! shows progress in its own way.

use std::time::Duration;

#[cfg(not(target_family = "wasm"))]
pub(crate) use indicatif::ProgressBar;
#[cfg(not(target_family = "wasm"))]
use indicatif::ProgressStyle;

#[cfg(target_family = "wasm")]
pub(crate) use without_terminal::ProgressBar;
#[cfg(target_family = "wasm")]
use without_terminal::ProgressStyle;

/// Least number of columns of a terminal in which a progress line has a bar.
const MIN_COLUMNS_WITH_BAR: usize = 72;

/// Creates a progress line on standard error. The line is invisible if standard error is no
/// terminal. `length` is the number of steps; `None` if the number is not known. The message of the
/// line is truncated to the width of the terminal.
pub(crate) fn progress_line(length: Option<u64>, template: &str) -> ProgressBar {
    let line = length.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
    if let Ok(style) = ProgressStyle::with_template(&fit_template(template, terminal_columns())) {
        line.set_style(style);
    }
    line.enable_steady_tick(Duration::from_millis(200));
    line
}

/// Changes a template so that its line fits into a terminal with this number of columns. A line
/// that the terminal wraps would not be erased completely. `columns` is `None` if there is no
/// terminal.
fn fit_template(template: &str, columns: Option<usize>) -> String {
    let template = template.replace("{msg}", "{wide_msg}");
    match columns {
        Some(..MIN_COLUMNS_WITH_BAR) => template.replace("{bar:30} ", ""),
        _ => template,
    }
}

#[cfg(not(target_family = "wasm"))]
fn terminal_columns() -> Option<usize> {
    super::machine::terminal_columns(std::io::stderr())
}

#[cfg(target_family = "wasm")]
const fn terminal_columns() -> Option<usize> {
    None
}

/// Placeholders for progress lines in the WebAssembly build, which has no terminal. The functions
/// of these types do nothing.
#[cfg(target_family = "wasm")]
mod without_terminal {
    use std::time::Duration;

    #[derive(Clone)]
    pub(crate) struct ProgressBar;

    pub(crate) struct ProgressStyle;

    impl ProgressStyle {
        pub(crate) fn with_template(_template: &str) -> Result<Self, std::fmt::Error> {
            Ok(ProgressStyle)
        }
    }

    impl ProgressBar {
        pub(crate) fn new(_length: u64) -> Self {
            ProgressBar
        }

        pub(crate) fn new_spinner() -> Self {
            ProgressBar
        }

        pub(crate) fn set_style(&self, _style: ProgressStyle) {}

        pub(crate) fn set_message(&self, _message: impl Into<String>) {}

        pub(crate) fn enable_steady_tick(&self, _interval: Duration) {}

        pub(crate) fn inc(&self, _steps: u64) {}

        pub(crate) fn finish_and_clear(&self) {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_truncated_and_narrow_lines_have_no_bar() {
        let fit = |columns| fit_template("{elapsed:>4} {bar:30} {pos}, {msg}", columns);
        assert_eq!(fit(Some(71)), "{elapsed:>4} {pos}, {wide_msg}");
        for wide in [None, Some(72)] {
            assert_eq!(fit(wide), "{elapsed:>4} {bar:30} {pos}, {wide_msg}");
        }
    }
}
