//! `cargo xtask expect`: figures of a JSON report, checked without a JSON tool at hand.

use std::path::Path;
use std::process::ExitCode;

use serde_json::Value;

/// Prints every expectation that `file` does not meet; exit status 1 if there is one.
pub(crate) fn main(file: &Path, expectations: &[&str]) -> ExitCode {
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) => {
            eprintln!("{}: {error}", file.display());
            return ExitCode::from(2);
        }
    };
    let unmet = unmet(&text, expectations);
    for line in &unmet {
        eprintln!("{}: {line}", file.display());
    }
    if unmet.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn unmet(text: &str, expectations: &[&str]) -> Vec<String> {
    let report: Value = match serde_json::from_str(text) {
        Ok(report) => report,
        Err(error) => return vec![format!("is not JSON: {error}")],
    };
    expectations.iter().filter_map(|expectation| refusal(&report, expectation)).collect()
}

/// What is wrong with one expectation, `None` if it is met.
fn refusal(report: &Value, expectation: &str) -> Option<String> {
    let Some((key, wanted)) = expectation.split_once('=') else {
        return Some(format!("`{expectation}` is no expectation: write KEY=VALUE"));
    };
    let found = key.split('.').try_fold(report, |value, part| value.get(part));
    match found {
        None => Some(format!("has no `{key}`")),
        Some(found) if shown(found) == wanted => None,
        Some(found) => Some(format!("`{key}` is {found}, not {wanted}")),
    }
}

/// A value as an expectation spells it: strings without quotes, a list by its length.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.len().to_string(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::unmet;

    const REPORT: &str = r#"{"violations":[],"counter":{"lost":0},"mutex":"central"}"#;

    #[test]
    fn a_report_that_meets_every_expectation_passes() {
        let expectations = ["violations=0", "counter.lost=0", "mutex=central"];
        assert_eq!(unmet(REPORT, &expectations), Vec::<String>::new());
    }

    #[test]
    fn a_figure_that_differs_is_told_with_both_values() {
        assert_eq!(unmet(REPORT, &["counter.lost=1"]), ["`counter.lost` is 0, not 1"]);
    }

    #[test]
    fn a_missing_key_is_not_taken_for_a_zero() {
        assert_eq!(unmet(REPORT, &["counter.found=0"]), ["has no `counter.found`"]);
    }

    #[test]
    fn what_is_not_json_fails() {
        assert_eq!(unmet("entries 12", &["violations=0"]).len(), 1);
        assert_eq!(unmet("", &["violations=0"]).len(), 1);
    }
}
