//! Checks the lengths of lines and files. Clippy checks the length of functions.

use super::{Finding, RepositoryFile, RepositoryTree};

const LINE: usize = 100;
const FILE: usize = 600;
const ALGORITHM: usize = 400;
/// Beginning of a generated file.
const GENERATED: &str = "// This file is @generated";
const ALGORITHMS: &str = "crates/algorithms/src/";

pub(super) fn check(tree: &RepositoryTree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, _) in tree.rust_sources() {
        findings.extend(long_lines(file));
        findings.extend(long_file(file));
    }
    findings
}

fn long_lines(file: &RepositoryFile) -> impl Iterator<Item = Finding> {
    let length = |line: &str| line.chars().count();
    file.lines().filter(move |(_, text)| length(text) > LINE && !text.contains("://")).map(
        move |(line, text)| {
            let message = format!("the line has {} characters, the limit is {LINE}", length(text));
            Finding::new(&file.path, line, message, "break it")
        },
    )
}

fn long_file(file: &RepositoryFile) -> Option<Finding> {
    if file.text.starts_with(GENERATED) {
        return None;
    }
    let (max, fix) = if file.path.starts_with(ALGORITHMS) {
        (ALGORITHM, "move shared code to a file of its own")
    } else {
        (FILE, "split it by purpose")
    };
    let length = file.text.lines().count();
    (length > max).then(|| {
        let message = format!("the file has {length} lines, the limit is {max}");
        Finding::new(&file.path, max + 1, message, fix)
    })
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::findings;

    fn found(path: &str, text: &str) -> Vec<String> {
        findings(check, &[(path, text)])
    }

    #[test]
    fn limits_lines_to_100_characters() {
        assert_eq!(found("a.rs", &"ü".repeat(100)), [""; 0]);
        assert!(found("a.rs", &format!("\n{}", "ü".repeat(101)))[0].starts_with("a.rs:2: "));
    }

    #[test]
    fn allows_longer_lines_with_url() {
        assert_eq!(found("a.rs", &format!("// https://{}", "a".repeat(100))), [""; 0]);
    }

    #[test]
    fn limits_files_and_algorithms() {
        let lines = |count: usize| "\n".repeat(count);
        assert_eq!(found("crates/sim/src/sim.rs", &lines(600)), [""; 0]);
        assert_eq!(found("crates/sim/src/sim.rs", &lines(601)).len(), 1);
        assert_eq!(found("crates/algorithms/src/mutex/maekawa.rs", &lines(400)), [""; 0]);
        assert_eq!(found("crates/algorithms/src/mutex/maekawa.rs", &lines(401)).len(), 1);
    }
}
