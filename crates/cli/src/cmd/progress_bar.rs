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

/// Creates a progress line on standard error. The line is invisible if standard error is no
/// terminal. `length` is the number of steps; `None` if the number is not known.
pub(crate) fn progress_line(length: Option<u64>, template: &str) -> ProgressBar {
    let line = length.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
    if let Ok(style) = ProgressStyle::with_template(template) {
        line.set_style(style);
    }
    line.enable_steady_tick(Duration::from_millis(200));
    line
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
