//! `cargo xtask expect`: compares figures in a JSON report with expected values, without a JSON
//! tool.

use std::path::Path;
use std::process::ExitCode;

use serde_json::Value;

/// Prints each expectation that the report does not meet. Exits with status 1 if the report does
/// not meet all expectations, and with status 2 if the report cannot be read.
pub(crate) fn main(file: &Path, expectations: &[&str]) -> ExitCode {
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) => {
            eprintln!("{}: {error}", file.display());
            return ExitCode::from(2);
        }
    };
    let mismatches = mismatches(&text, expectations);
    for line in &mismatches {
        eprintln!("{}: {line}", file.display());
    }
    if mismatches.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn mismatches(text: &str, expectations: &[&str]) -> Vec<String> {
    let report: Value = match serde_json::from_str(text) {
        Ok(report) => report,
        Err(error) => return vec![format!("invalid JSON: {error}")],
    };
    expectations.iter().filter_map(|expectation| mismatch(&report, expectation)).collect()
}

/// Returns the reason why an expectation is not met, or `None` if it is met.
fn mismatch(report: &Value, expectation: &str) -> Option<String> {
    let Some((key, expected)) = expectation.split_once('=') else {
        return Some(format!("invalid expectation `{expectation}`: expected KEY=VALUE"));
    };
    let found = key.split('.').try_fold(report, |value, part| value.get(part));
    match found {
        None => Some(format!("missing `{key}`")),
        Some(found) if as_text(found) == expected => None,
        Some(found) => Some(format!("`{key}` is {found}, not {expected}")),
    }
}

/// Formats a value for the comparison: a string without quotes, and an array as its length.
fn as_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.len().to_string(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::mismatches;

    const REPORT: &str = r#"{"violations":[],"counter":{"lost":0},"mutex":"central"}"#;

    #[test]
    fn accepts_met_expectations() {
        let expectations = ["violations=0", "counter.lost=0", "mutex=central"];
        assert_eq!(mismatches(REPORT, &expectations), Vec::<String>::new());
    }

    #[test]
    fn reports_both_values_of_a_different_figure() {
        assert_eq!(mismatches(REPORT, &["counter.lost=1"]), ["`counter.lost` is 0, not 1"]);
    }

    #[test]
    fn rejects_missing_key() {
        assert_eq!(mismatches(REPORT, &["counter.found=0"]), ["missing `counter.found`"]);
    }

    #[test]
    fn rejects_invalid_json() {
        assert_eq!(mismatches("entries 12", &["violations=0"]).len(), 1);
        assert_eq!(mismatches("", &["violations=0"]).len(), 1);
    }
}
