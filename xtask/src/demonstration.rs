//! Commands that demonstrate the variants of algorithms.

use serde_json::Value;

/// Command that shows the effect of a variant, without the program name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Demonstration {
    /// Subcommand: `check` or `simulate`.
    pub(crate) verb: &'static str,
    /// Name of the algorithm, and the options.
    pub(crate) arguments: String,
}

impl Demonstration {
    /// Returns the demonstration of a variant, which is an element of `variants` in the output of
    /// `tenure list --format json`. `algorithm` is the name of the algorithm. Returns `None` if the
    /// variant has no demonstration.
    pub(crate) fn of(algorithm: &str, variant: &Value) -> Option<Demonstration> {
        let text = |key: &str| variant[key].as_str().unwrap_or_default();
        let shown_by = text("shown_by");
        let (verb, options) = match shown_by.strip_prefix("simulate ") {
            Some(options) => ("simulate", options),
            None => ("check", shown_by),
        };
        let selection = match options.contains("--variant") {
            true => String::new(),
            false => format!("--variant {} ", text("name")),
        };
        let arguments = format!("{algorithm} {selection}{options}");
        (!options.is_empty()).then_some(Demonstration { verb, arguments })
    }

    /// Returns the command line, without the program name.
    pub(crate) fn command(&self) -> String {
        format!("{} {}", self.verb, self.arguments)
    }
}
