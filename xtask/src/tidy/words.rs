//! Words that do not belong in code: leftovers, printing, abbreviations.

use super::source::{Word, words};
use super::{Finding, Tree};

/// Macros that are never committed.
const LEFTOVERS: &[&str] = &["todo", "unimplemented", "dbg"];
/// Macros that write to standard output, which belongs to the command's answer.
const PRINTING: &[&str] = &["print", "println"];
/// Where standard output is the point.
const PRINTERS: &[&str] =
    &["crates/cli/", "xtask/", "examples/", "benches/", "fuzz/", "tests/conformance/"];

/// Names that are written out.
const ABBREVIATIONS: &[(&str, &str)] = &[
    ("Req", "Request"),
    ("Resp", "Reply"),
    ("Msg", "Message"),
    ("Cfg", "Config"),
    ("Mgr", "a name for what it does"),
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, source) in tree.sources() {
        let path = &file.path;
        for found in words(&source.code) {
            if let Some((_, whole)) = ABBREVIATIONS.iter().find(|(short, _)| *short == found.word) {
                let says = format!("`{}` is an abbreviation", found.word);
                findings.push(Finding::new(path, found.line, says, format!("write {whole}")));
            }
            if !is_macro(&source.code, found) {
                continue;
            }
            let says = format!("`{}!` is here", found.word);
            if LEFTOVERS.contains(&found.word) {
                findings.push(Finding::new(path, found.line, says, "finish it, or take it out"));
            } else if PRINTING.contains(&found.word) && !may_print(path) {
                let fix = "return it, or log it with `tracing`: only the command prints";
                findings.push(Finding::new(path, found.line, says, fix));
            }
        }
    }
    findings
}

fn is_macro(code: &str, found: Word<'_>) -> bool {
    let tail = &code[found.at + found.word.len()..];
    tail.strip_prefix('!').is_some_and(|tail| !tail.starts_with('='))
}

fn may_print(path: &str) -> bool {
    let below = |folder: &&str| path.starts_with(*folder) || path.contains(&format!("/{folder}"));
    PRINTERS.iter().any(below) || path.ends_with("build.rs")
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::findings;

    fn found(path: &str, text: &str) -> usize {
        findings(check, &[(path, text)]).len()
    }

    #[test]
    fn leftovers_are_found_everywhere() {
        assert_eq!(found("crates/cli/src/main.rs", "todo!(); dbg!(a); unimplemented!()"), 3);
        assert_eq!(found("crates/sim/tests/a.rs", "if todo != 3 { todo() }"), 0);
    }

    #[test]
    fn only_the_command_the_examples_and_the_benches_print() {
        assert_eq!(found("crates/runtime/src/driver.rs", "println!(\"here\");"), 1);
        assert_eq!(found("crates/runtime/tests/a.rs", "print!(\"here\");"), 1);
        for path in ["crates/cli/src/main.rs", "examples/a.rs", "crates/sim/benches/a.rs"] {
            assert_eq!(found(path, "println!(\"here\");"), 0);
        }
    }

    #[test]
    fn doc_tests_and_texts_may_say_println() {
        assert_eq!(found("crates/core/src/a.rs", "/// println!(\"{x}\");\nf(\"dbg!(x)\");"), 0);
    }

    #[test]
    fn abbreviations_are_found_as_whole_words() {
        assert_eq!(found("crates/core/src/a.rs", "enum Msg { Req, Resp }"), 3);
        assert_eq!(found("crates/core/src/a.rs", "enum Message { Request, Required }"), 0);
    }
}
