//! Check: names of types contain no abbreviations.

use super::source::words;
use super::{Finding, RepositoryTree};

const ABBREVIATIONS: &[(&str, &str)] = &[
    ("Req", "Request"),
    ("Resp", "Reply"),
    ("Msg", "Message"),
    ("Cfg", "Config"),
    ("Mgr", "a name for its purpose"),
];

pub(super) fn check(tree: &RepositoryTree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, source) in tree.rust_sources() {
        for found in words(&source.code) {
            if let Some((_, full)) = ABBREVIATIONS.iter().find(|(short, _)| *short == found.word) {
                let message = format!("abbreviated name `{}`", found.word);
                findings.push(Finding::new(
                    &file.path,
                    found.line,
                    message,
                    format!("write {full}"),
                ));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::findings;

    fn found(text: &str) -> usize {
        findings(check, &[("crates/core/src/a.rs", text)]).len()
    }

    #[test]
    fn finds_abbreviations_as_whole_words() {
        assert_eq!(found("enum Msg { Req, Resp }"), 3);
        assert_eq!(found("enum Message { Request, Required }"), 0);
        assert_eq!(found("// a Msg\nf(\"Req\");"), 0);
    }
}
