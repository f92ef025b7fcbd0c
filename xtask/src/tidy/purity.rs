//! Check: pure code uses no clocks, unordered maps, random numbers or floats.

use super::source::{RustSource, Word, line_of, words};
use super::{Finding, RepositoryTree};

const PURE: &[&str] =
    &["crates/core/src/", "crates/algorithms/src/", "crates/store/src/", "crates/session/src/"];
/// Directories of algorithms that may use timers but no clock.
const CLOCKLESS: &[&str] = &["crates/algorithms/src/mutex/", "crates/algorithms/src/election/"];

/// Words that pure code must not contain, each with its replacement.
const IMPURE: &[(&str, &str)] = &[
    ("HashMap", ORDERED),
    ("HashSet", ORDERED),
    ("DefaultHasher", ORDERED),
    ("RandomState", CHOOSE),
    ("fastrand", CHOOSE),
    ("getrandom", CHOOSE),
    ("rand", CHOOSE),
    ("Instant", TIMER),
    ("SystemTime", TIMER),
    ("f32", INTEGERS),
    ("f64", INTEGERS),
];

const ORDERED: &str = "use BTreeMap, BTreeSet or ProcessSet, whose order is deterministic";
const CHOOSE: &str = "use `fx.choose(bound)`, or a timer with a range as its `Delay`";
const TIMER: &str = "use a timer: a lease is an armed timer";
const INTEGERS: &str = "use fixed-point integers, which compare and hash deterministically";

pub(super) fn check(tree: &RepositoryTree) -> Vec<Finding> {
    let is_test = |path: &str| path.ends_with("/tests.rs") || path.contains("/tests/");
    tree.rust_sources()
        .filter(|(file, _)| starts(&file.path, PURE) && !is_test(&file.path))
        .flat_map(|(file, source)| impure(&file.path, source))
        .collect()
}

fn starts(path: &str, folders: &[&str]) -> bool {
    folders.iter().any(|folder| path.starts_with(folder))
}

fn impure(path: &str, source: &RustSource) -> Vec<Finding> {
    let code = &source.production;
    let mut findings = Vec::new();
    let mut find = |line: usize, what: &str, fix: &str| {
        findings.push(Finding::new(path, line, format!("`{what}` in pure code"), fix));
    };
    for found in words(code) {
        if let Some((word, fix)) = IMPURE.iter().find(|(word, _)| *word == found.word) {
            find(found.line, word, fix);
        }
        if found.word == "local_clock" && starts(path, CLOCKLESS) {
            find(found.line, "local_clock", TIMER);
        }
        if is_float(code, found) {
            find(found.line, "a float literal", INTEGERS);
        }
    }
    for (at, path) in code.match_indices("std::time") {
        find(line_of(code, at), path, TIMER);
    }
    findings
}

/// Returns true if the word `found` in `code` is the integer part of a float, such as the first `1`
/// in `1.5`. Returns false for a field access such as `pair.1.5`, which contains no float.
fn is_float(code: &str, found: Word<'_>) -> bool {
    let digits = |text: &str| text.starts_with(|first: char| first.is_ascii_digit());
    let tail = &code[found.at + found.word.len()..];
    digits(found.word)
        && !code[..found.at].ends_with('.')
        && tail.strip_prefix('.').is_some_and(digits)
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::findings;

    const CORE: &str = "crates/core/src/a.rs";
    const MUTEX: &str = "crates/algorithms/src/mutex/a.rs";
    const DETECTOR: &str = "crates/algorithms/src/detector/a.rs";

    fn found(path: &str, text: &str) -> usize {
        findings(check, &[(path, text)]).len()
    }

    #[test]
    fn finds_unordered_maps() {
        assert_eq!(found(CORE, "use std::collections::{HashMap, HashSet};"), 2);
        assert_eq!(found(CORE, "use alloc::collections::BTreeMap;"), 0);
    }

    #[test]
    fn finds_clocks_and_randomness() {
        assert_eq!(found(DETECTOR, "use std::time::Duration;"), 1);
        assert_eq!(found(DETECTOR, "let now = Instant::now();"), 1);
        assert_eq!(found(DETECTOR, "fastrand::u32(..)"), 1);
    }

    #[test]
    fn allows_local_clock_only_in_detectors_and_applications() {
        assert_eq!(found(MUTEX, "let now = fx.local_clock();"), 1);
        assert_eq!(found(DETECTOR, "let now = fx.local_clock();"), 0);
    }

    #[test]
    fn finds_float_types_and_literals() {
        assert_eq!(found(CORE, "fn mean(a: f64) -> f32 {}"), 2);
        assert_eq!(found(CORE, "let half = 0.5;"), 1);
        assert_eq!(found(CORE, "let same = pair.0.1; for i in 0..5 { pair.0 }"), 0);
    }

    #[test]
    fn ignores_comments_tests_and_other_crates() {
        assert_eq!(found(CORE, "// no HashMap, no 1.5"), 0);
        assert_eq!(found(CORE, "#[cfg(test)]\nmod tests { use std::collections::HashSet; }"), 0);
        assert_eq!(found("crates/sim/src/a.rs", "use std::collections::HashMap;"), 0);
    }
}
