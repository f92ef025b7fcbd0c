//! How long a line, a function and a file may be.

use super::source::{body, closing, line_of, words};
use super::{File, Finding, Tree};

const LINE: usize = 100;
const FUNCTION: usize = 60;
const FILE: usize = 600;
const ALGORITHM: usize = 400;
/// With what a file begins that a program has made, and that nobody reads.
const GENERATED: &str = "// This file is @generated";
const ALGORITHMS: &str = "crates/algorithms/src/";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, source) in tree.sources() {
        findings.extend(long_lines(file));
        findings.extend(long_functions(&file.path, &source.code));
        findings.extend(long_file(file));
    }
    findings
}

fn long_lines(file: &File) -> impl Iterator<Item = Finding> {
    let length = |line: &str| line.chars().count();
    file.lines().filter(move |(_, text)| length(text) > LINE && !text.contains("://")).map(
        move |(line, text)| {
            let says = format!("the line has {} characters, of at most {LINE}", length(text));
            Finding::new(&file.path, line, says, "break it")
        },
    )
}

fn long_functions(path: &str, code: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut last_was_fn = false;
    for found in words(code) {
        if last_was_fn && let Ok(brace) = body(code, found.at) {
            let end = closing(code, brace).min(code.len());
            let length = line_of(code, end) - found.line + 1;
            if length > FUNCTION {
                let name = found.word;
                let says = format!("`{name}` has {length} lines, of at most {FUNCTION}");
                let fix = "name a part of it and move it out";
                findings.push(Finding::new(path, found.line, says, fix));
            }
        }
        let tail = &code[found.at + found.word.len()..];
        last_was_fn = found.word == "fn" && !tail.trim_start().starts_with('(');
    }
    findings
}

fn long_file(file: &File) -> Option<Finding> {
    if file.text.starts_with(GENERATED) {
        return None;
    }
    let (most, fix) = if file.path.starts_with(ALGORITHMS) {
        (ALGORITHM, "an algorithm is one short file: move what is shared to its own")
    } else {
        (FILE, "split it along the sentence that says what it is for")
    };
    let length = file.text.lines().count();
    (length > most).then(|| {
        let says = format!("the file has {length} lines, of at most {most}");
        Finding::new(&file.path, most + 1, says, fix)
    })
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::findings;

    fn found(path: &str, text: &str) -> Vec<String> {
        findings(check, &[(path, text)])
    }

    fn function_of(lines: usize) -> String {
        format!("\nfn f(a: [u8; 4]) -> u8 {{\n{}}}\n", "    g();\n".repeat(lines - 2))
    }

    #[test]
    fn a_line_of_a_hundred_characters_passes_and_one_more_fails() {
        assert_eq!(found("a.rs", &"ü".repeat(100)), [""; 0]);
        assert!(found("a.rs", &format!("\n{}", "ü".repeat(101)))[0].starts_with("a.rs:2: "));
    }

    #[test]
    fn a_line_with_an_address_may_be_longer() {
        assert_eq!(found("a.rs", &format!("// https://{}", "a".repeat(100))), [""; 0]);
    }

    #[test]
    fn a_function_of_sixty_lines_passes_and_one_more_fails() {
        assert_eq!(found("a.rs", &function_of(60)), [""; 0]);
        assert_eq!(
            found("a.rs", &function_of(61)),
            ["a.rs:2: `f` has 61 lines, of at most 60; name a part of it and move it out"]
        );
    }

    #[test]
    fn a_declaration_and_a_pointer_are_no_functions() {
        let after = "\n".repeat(70);
        assert_eq!(found("a.rs", &format!("trait A {{ fn f(&self);{after}}}")), [""; 0]);
        assert_eq!(found("a.rs", &format!("type F = fn(u8);\nmod a {{{after}}}")), [""; 0]);
    }

    #[test]
    fn a_file_has_its_limit_and_an_algorithm_a_lower_one() {
        let lines = |count: usize| "\n".repeat(count);
        assert_eq!(found("crates/sim/src/sim.rs", &lines(600)), [""; 0]);
        assert_eq!(found("crates/sim/src/sim.rs", &lines(601)).len(), 1);
        assert_eq!(found("crates/algorithms/src/mutex/maekawa.rs", &lines(400)), [""; 0]);
        assert_eq!(found("crates/algorithms/src/mutex/maekawa.rs", &lines(401)).len(), 1);
    }
}
