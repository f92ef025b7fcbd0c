//! Every lint that is allowed says why.

use super::source::{attributes, closing, words};
use super::{Finding, Tree};

const SILENCERS: &[&str] = &["allow", "expect"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, source) in tree.sources() {
        let code = &source.code;
        for (start, end) in attributes(code) {
            for found in words(code).filter(|found| (start..end).contains(&found.at)) {
                let open = found.at + found.word.len();
                if !SILENCERS.contains(&found.word) || !code[open..].starts_with('(') {
                    continue;
                }
                let inside = &code[open..closing(code, open).min(end)];
                if !words(inside).any(|found| found.word == "reason") {
                    let says = format!("`{}` without a reason", found.word);
                    let fix = "add `reason = \"…\"`, or mend what the lint found";
                    findings.push(Finding::new(&file.path, found.line, says, fix));
                }
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::findings;

    fn found(text: &str) -> Vec<String> {
        findings(check, &[("a.rs", text)])
    }

    #[test]
    fn an_allow_without_a_reason_is_found() {
        assert!(found("\n#![allow(dead_code)]")[0].starts_with("a.rs:2: `allow` without"));
        assert_eq!(found("#[allow(clippy::a)]\n#[expect(clippy::b)]").len(), 2);
        assert_eq!(found("#[cfg_attr(test, allow(dead_code))]").len(), 1);
    }

    #[test]
    fn an_allow_with_a_reason_passes() {
        assert_eq!(found("#[allow(\n    dead_code,\n    reason = \"x\"\n)]"), [""; 0]);
    }

    #[test]
    fn functions_may_be_called_so() {
        assert_eq!(found("self.allow(peer); option.expect(\"why\"); a[allow(3)]"), [""; 0]);
    }
}
