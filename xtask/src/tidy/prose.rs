//! Counts idioms that a reader must read twice, for each area of the repository.
//!
//! `docs/style.md` explains why these idioms are hard to read. The file `xtask/prose.toml` contains
//! a limit for each count. A change may lower a count, but must not raise it. `cargo xtask ratchet`
//! lowers each limit to the present count.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use regex::Regex;

use super::{Finding, RepositoryFile, RepositoryTree};

/// File with the limits: the highest allowed number of each idiom in each area.
const LIMITS: &str = "xtask/prose.toml";
const HEADER: &str = "\
# Highest allowed counts of each idiom in docs/style.md, per area. `cargo xtask tidy` compares.
# `cargo xtask ratchet` lowers the counts after an improvement; nothing raises them.
";
/// A doc comment of at most this many words is assumed to repeat the name of its item.
const SHORT_DOC_WORDS: usize = 2;
const SHORT_DOC: &str = "short-doc";

/// Idioms to count. Each idiom has a name, a pattern, and a flag that is true if a question may
/// contain the idiom.
const IDIOMS: &[(&str, &str, bool)] = &[
    ("whoever", r"(?i)\bwho(?:m|se)?ever\b", false),
    ("nobody", r"(?i)\bnobody\b", false),
    ("somebody", r"(?i)\b(?:somebody|anybody|everybody)\b", false),
    (
        "what-is",
        "(?i)\\bwhat (?:is|are|was|were|has|have|had|it|they|there|comes?|becomes?|came|became|\
         may|can)\\b",
        true,
    ),
    (
        "leading-relative",
        r"(?m)(?:^|[.:;!?]\s+)(?:Who|Whom|Whose|What|Which|Where|Of (?:who|what|whom))\b",
        true,
    ),
    ("is-told", r"(?i)\b(?:is|are|was|were|be|been) told\b", false),
    ("goes-on", r"(?i)\b(?:goes|go|went) on\b", false),
];

/// Number of occurrences of each idiom, by area of the repository.
type Counts = BTreeMap<String, BTreeMap<String, usize>>;

pub(super) fn check(tree: &RepositoryTree) -> Vec<Finding> {
    let Some(file) = tree.file(LIMITS) else { return Vec::new() };
    let limits: Counts = match toml::from_str(&file.text) {
        Ok(limits) => limits,
        Err(error) => return vec![Finding::new(LIMITS, 1, error.to_string(), "correct it")],
    };
    let mut findings = Vec::new();
    for (area, counts) in count(tree) {
        for (idiom, count) in counts {
            let limit = limits.get(&area).and_then(|area| area.get(&idiom)).copied();
            let limit = limit.unwrap_or(0);
            if count > limit {
                let message = format!("{area} has {count} of the idiom `{idiom}`, at most {limit}");
                let fix = "rewrite the new ones as docs/style.md shows";
                findings.push(Finding::new(LIMITS, 1, message, fix));
            }
        }
    }
    findings
}

/// Lowers the limits for the repository at `root`. If a count is lower than its limit, the count
/// becomes the new limit.
pub(crate) fn lower_prose_limits(root: &Path) -> ExitCode {
    let result = RepositoryTree::read(root).map_err(|error| error.to_string()).and_then(|tree| {
        let old = tree.file(LIMITS).map_or("", |file| file.text.as_str());
        let limits: Counts = toml::from_str(old).map_err(|error| error.to_string())?;
        let text = toml::to_string(&lowered(count(&tree), &limits));
        let text = text.map_err(|error| error.to_string())?;
        std::fs::write(root.join(LIMITS), format!("{HEADER}\n{text}"))
            .map_err(|error| error.to_string())
    });
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cannot lower {LIMITS}: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Returns the new limits. Each new limit is the count or the old limit, whichever is lower. If
/// there are no old limits, the counts become the limits.
fn lowered(mut counts: Counts, limits: &Counts) -> Counts {
    for (area, counts) in &mut counts {
        counts.retain(|idiom, count| {
            if !limits.is_empty() {
                let limit = limits.get(area).and_then(|area| area.get(idiom)).copied();
                *count = (*count).min(limit.unwrap_or(0));
            }
            *count > 0
        });
    }
    counts.retain(|_, counts| !counts.is_empty());
    counts
}

fn count(tree: &RepositoryTree) -> Counts {
    let idioms: Vec<(&str, Regex, bool)> = IDIOMS
        .iter()
        .map(|&(name, pattern, in_questions)| {
            (name, Regex::new(pattern).expect("valid pattern"), in_questions)
        })
        .collect();
    let mut counts = Counts::new();
    for file in tree.files().iter().filter(|file| file.path != "CHANGELOG.md") {
        let prose = Prose::of(file);
        if prose.texts.is_empty() {
            continue;
        }
        let counts = counts.entry(area(&file.path)).or_default();
        for (name, pattern, in_questions) in &idioms {
            let found = prose.texts.iter().flat_map(|text| {
                pattern
                    .find_iter(text)
                    .filter(|found| !(*in_questions && is_question(&text[found.end()..])))
            });
            *counts.entry((*name).to_owned()).or_default() += found.count();
        }
        *counts.entry(SHORT_DOC.to_owned()).or_default() += prose.short_docs;
    }
    counts
}

/// Returns true if the sentence at the start of `rest` ends with a question mark.
fn is_question(rest: &str) -> bool {
    rest.find(['.', '?', '!']).is_some_and(|at| rest[at..].starts_with('?'))
}

/// Returns the area to which a file belongs: a crate, the tests of a crate, or a directory.
fn area(path: &str) -> String {
    let parts: Vec<&str> = path.split('/').collect();
    let area = match parts.as_slice() {
        [top @ ("crates" | "docs"), second, _, ..] => format!("{top}/{second}"),
        [top, ..] => (*top).to_owned(),
        [] => String::new(),
    };
    match parts.first() {
        Some(&"crates") if is_test(path) => format!("{area} tests"),
        _ => area,
    }
}

fn is_test(path: &str) -> bool {
    path.split('/').any(|part| ["tests", "benches", "fuzz"].contains(&part))
}

/// The parts of one file that people read.
#[derive(Debug, Default)]
struct Prose {
    texts: Vec<String>,
    short_docs: usize,
}

impl Prose {
    /// Extracts the text that people read. It takes the comments and messages of Rust files, the
    /// strings of TOML files, and Markdown without code blocks.
    fn of(file: &RepositoryFile) -> Prose {
        if file.path.ends_with(".rs") {
            Prose::of_rust(&file.text, is_test(&file.path))
        } else if file.path.ends_with(".md") {
            Prose { texts: vec![markdown(&file.text)], short_docs: 0 }
        } else if file.path.ends_with(".toml") && !file.path.ends_with("Cargo.toml") {
            Prose { texts: file.text.lines().flat_map(messages).collect(), short_docs: 0 }
        } else {
            Prose::default()
        }
    }

    fn of_rust(text: &str, is_test: bool) -> Prose {
        let mut prose = Prose::default();
        let mut block: Vec<&str> = Vec::new();
        for line in text.lines().chain([""]) {
            let line = line.trim();
            let doc = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
            if let Some(doc) = doc {
                block.push(doc.trim());
                continue;
            }
            prose.end_of(&mut block);
            if let Some(comment) = line.strip_prefix("//") {
                prose.texts.push(comment.trim().to_owned());
            } else if !is_test && !line.contains("//") {
                prose.texts.extend(messages(line));
            }
        }
        prose
    }

    /// Counts and stores the doc comment in `block`, and empties `block`. Does nothing if `block`
    /// is empty.
    fn end_of(&mut self, block: &mut Vec<&str>) {
        if block.is_empty() {
            return;
        }
        let text = block.join("\n");
        let is_between = |letter: char| !letter.is_ascii_alphabetic() && letter != '\'';
        let words = text.split(is_between).filter(|word| !word.is_empty()).count();
        self.short_docs += usize::from(words <= SHORT_DOC_WORDS);
        self.texts.push(text);
        block.clear();
    }
}

/// Returns the string literals in a line of code. Omits literals with fewer than three words.
fn messages(line: &str) -> impl Iterator<Item = String> {
    let word = |word: &&str| word.chars().filter(char::is_ascii_alphabetic).count() >= 2;
    let is_message = move |text: &&str| text.split_whitespace().filter(word).count() >= 3;
    line.split('"').skip(1).step_by(2).filter(is_message).map(str::to_owned)
}

/// Returns the text of Markdown without code blocks, inline code, link targets and leading marks.
fn markdown(text: &str) -> String {
    let mut prose = String::new();
    let mut in_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        } else if !in_code {
            let marks = |letter: char| "#>-*| .".contains(letter) || letter.is_ascii_digit();
            let words = line.trim_start_matches(marks).split('`').step_by(2);
            prose.push_str(&words.collect::<Vec<_>>().join(" x "));
            prose.push('\n');
        }
    }
    prose
}

#[cfg(test)]
mod tests {
    use super::{LIMITS, check};
    use crate::tidy::findings;

    fn found(path: &str, text: &str) -> Vec<String> {
        findings(check, &[(LIMITS, ""), (path, text)])
    }

    #[test]
    fn finds_idioms_in_comments_messages_and_documents() {
        assert_eq!(found("crates/a/src/a.rs", "// Whoever asks is told.\nfn f() {}").len(), 2);
        assert_eq!(found("crates/a/src/a.rs", "f(\"nobody is here\");").len(), 1);
        assert_eq!(found("docs/a.md", "The run goes on.").len(), 1);
        assert_eq!(found("docs/a.md", "# Sections\n\nWho asks waits.").len(), 1);
    }

    #[test]
    fn accepts_code_questions_and_plain_sentences() {
        assert_eq!(found("crates/a/src/a.rs", "fn nobody() { whoever(\"nobody\") }"), [""; 0]);
        assert_eq!(found("docs/a.md", "What is a lease?\n\n```text\nnobody\n```"), [""; 0]);
        assert_eq!(found("docs/a.md", "The leader `nobody` appends the entry."), [""; 0]);
        assert_eq!(found("crates/a/src/a.rs", "/// Appends the entry.\nfn f() {}"), [""; 0]);
    }

    #[test]
    fn finds_doc_comments_that_say_nothing() {
        assert_eq!(found("crates/a/src/a.rs", "/// The process.\npub struct P;").len(), 1);
    }

    #[test]
    fn allows_counts_up_to_the_limits() {
        let limits = "[\"crates/a\"]\nnobody = 1\n";
        let file = "// nobody\nfn f() {}\n// nobody\n";
        assert_eq!(findings(check, &[(LIMITS, limits), ("crates/a/src/a.rs", file)]).len(), 1);
        let file = "// nobody\n";
        assert_eq!(findings(check, &[(LIMITS, limits), ("crates/a/src/a.rs", file)]), [""; 0]);
    }
}
