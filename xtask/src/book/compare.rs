//! Comparison of the output that a page shows with the actual output of its commands. The mark `…`
//! in the page matches any text.

/// Mark for omitted output. A line that consists of the mark matches any number of lines. A mark
/// within a line matches any text.
const ELISION: &str = "…";

/// A step of the alignment of two texts, the expected output and the actual output. Each number is
/// the index of a line in one of these texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Alignment {
    /// The expected line with this index matches an actual line.
    Kept(usize),
    /// No actual line matches the expected line with this index.
    Missing(usize),
    /// No expected line matches the actual line with this index.
    Extra(usize),
    /// An actual line replaces an expected line. The first index is the index of the expected line,
    /// and the second is the index of the actual line.
    Replaced(usize, usize),
}

/// A line of the expected output that was not printed, or a printed line that was not expected.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Difference<'a> {
    Missing(usize, &'a str),
    Extra(&'a str),
}

pub(super) fn is_match(expected: &[String], actual: &[String]) -> bool {
    lines(expected, actual).iter().all(|step| matches!(step, Alignment::Kept(_)))
}

pub(super) fn differences<'a>(expected: &'a [String], actual: &'a [String]) -> Vec<Difference<'a>> {
    let missing = |at: usize| Difference::Missing(at, &expected[at]);
    let extra = |at: usize| Difference::Extra(&actual[at]);
    let differing = |step: Alignment| match step {
        Alignment::Kept(_) => vec![],
        Alignment::Missing(at) => vec![missing(at)],
        Alignment::Extra(at) => vec![extra(at)],
        Alignment::Replaced(old, new) => vec![missing(old), extra(new)],
    };
    lines(expected, actual).into_iter().flat_map(differing).collect()
}

/// Returns the actual output as a page shows it. Each `…` for omitted text in the expected output
/// stays in the result.
pub(super) fn updated_output(expected: &[String], actual: &[String]) -> Vec<String> {
    let line = |step: Alignment| match step {
        Alignment::Kept(at) => Some(expected[at].clone()),
        Alignment::Missing(_) => None,
        Alignment::Extra(at) => Some(actual[at].clone()),
        Alignment::Replaced(old, new) => Some(updated_line(&expected[old], &actual[new])),
    };
    lines(expected, actual).into_iter().filter_map(line).collect()
}

fn updated_line(expected: &str, actual: &str) -> String {
    let (old, new) = (words(expected), words(actual));
    let steps = align(
        &old,
        &new,
        |word| *word == ELISION,
        |old, new| matches_pattern(old, new),
        |_, _| true,
    );
    let message = |at: &usize| old[*at] != ELISION && !old[*at].trim().is_empty();
    let kept =
        steps.iter().filter(|step| matches!(step, Alignment::Kept(at) if message(at))).count();
    // If the command itself prints `…`, the same text in the page is no elision. Elisions are kept
    // only if most of the line matches: otherwise it is unclear which text they replace, and this
    // function returns the actual line.
    let elided = expected.contains(ELISION) && !actual.contains(ELISION);
    if !elided || kept * 2 < (0..old.len()).filter(message).count() {
        return actual.to_owned();
    }
    let word = |step: &Alignment| match *step {
        Alignment::Kept(at) => old[at],
        Alignment::Missing(_) => "",
        Alignment::Extra(at) | Alignment::Replaced(_, at) => new[at],
    };
    steps.iter().map(word).collect()
}

/// Splits a line into its words and the spaces between the words.
fn words(line: &str) -> Vec<&str> {
    line.split_inclusive(char::is_whitespace)
        .flat_map(|word| {
            let end = word.trim_end().len();
            [&word[..end], &word[end..]]
        })
        .filter(|word| !word.is_empty())
        .collect()
}

fn lines(expected: &[String], actual: &[String]) -> Vec<Alignment> {
    let first = |line: &str| line.split_whitespace().next().map(str::to_owned);
    let resembles = |old: &String, new: &String| first(old) == first(new);
    align(
        expected,
        actual,
        |line| line.trim() == ELISION,
        |old, new| matches_pattern(old, new),
        resembles,
    )
}

fn matches_pattern(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split(ELISION);
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// Aligns the expected lines or words with the actual lines or words, with as few differences as
/// possible. If several alignments have the fewest differences, returns one in which a line is
/// replaced by a similar line.
fn align<W, F>(
    expected: &[W],
    actual: &[F],
    elides: impl Fn(&W) -> bool,
    matches_pattern: impl Fn(&W, &F) -> bool,
    resembles: impl Fn(&W, &F) -> bool,
) -> Vec<Alignment> {
    let (rows, columns) = (expected.len(), actual.len());
    let mut costs = vec![vec![0; columns + 1]; rows + 1];
    let mut first = vec![vec![None; columns + 1]; rows + 1];
    for row in (0..=rows).rev() {
        for column in (0..=columns).rev() {
            let (old, new) = (expected.get(row), actual.get(column));
            let mut choices = Vec::new();
            if let Some(old) = old {
                if elides(old) {
                    choices.push((costs[row + 1][column], Some(Alignment::Kept(row)), (1, 0)));
                    if new.is_some() {
                        choices.push((costs[row][column + 1], None, (0, 1)));
                    }
                } else if new.is_some_and(|new| matches_pattern(old, new)) {
                    choices.push((costs[row + 1][column + 1], Some(Alignment::Kept(row)), (1, 1)));
                }
                // The new line comes before the missing line, so that an elision does not consume
                // the new line.
                if let Some(new) = new {
                    let cost = if resembles(old, new) { 1 } else { 2 } + costs[row + 1][column + 1];
                    choices.push((cost, Some(Alignment::Replaced(row, column)), (1, 1)));
                }
                let cost = 2 + costs[row + 1][column];
                choices.push((cost, Some(Alignment::Missing(row)), (1, 0)));
            }
            if new.is_some() {
                let cost = 2 + costs[row][column + 1];
                choices.push((cost, Some(Alignment::Extra(column)), (0, 1)));
            }
            if let Some(best) = choices.into_iter().min_by_key(|choice| choice.0) {
                costs[row][column] = best.0;
                first[row][column] = Some(best);
            }
        }
    }
    let (mut row, mut column, mut steps) = (0, 0, Vec::new());
    while let Some((_, step, (down, right))) = first[row][column] {
        steps.extend(step);
        row += down;
        column += right;
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::{Difference, differences, is_match, updated_output};

    fn text(text: &str) -> Vec<String> {
        text.split('\n').filter(|line| !line.is_empty()).map(str::to_owned).collect()
    }

    fn is_same(expected: &str, actual: &str) -> bool {
        is_match(&text(expected), &text(actual))
    }

    fn update(expected: &str, actual: &str) -> String {
        updated_output(&text(expected), &text(actual)).join("\n")
    }

    #[test]
    fn detects_changed_missing_and_added_lines() {
        assert!(is_same("a\n12 messages", "a\n12 messages"));
        assert!(!is_same("a\n12 messages", "a\n13 messages"));
        assert!(!is_same("a\n12 messages", "a"));
        assert!(!is_same("a", "a\n12 messages"));
        assert!(!is_same("", "a"));
    }

    #[test]
    fn elision_matches_text_within_line() {
        assert!(is_same("9 states, … s, … bytes", "9 states, 0.1 s, 237 bytes"));
        assert!(is_same("9 states…", "9 states"));
        assert!(!is_same("9 states, … s, … bytes", "8 states, 0.1 s, 237 bytes"));
        assert!(!is_same("9 states, … bytes", "9 states, 0.1 s"));
        assert!(!is_same("a…a", "a"));
    }

    #[test]
    fn elided_line_matches_any_lines() {
        for actual in ["a\nb", "a\nc\nb", "a\nb\nc\nb"] {
            assert!(is_same("a\n…\nb", actual), "{actual}");
        }
        assert!(!is_same("a\n…\nb", "a\nc"));
        assert!(!is_same("a\n…\nb", "a\nb\nc"));
    }

    #[test]
    fn returns_lines_that_differ() {
        let (old, new) = (text("a\nb\nc"), text("a\nd\nc\ne"));
        let differing =
            [Difference::Missing(1, "b"), Difference::Extra("d"), Difference::Extra("e")];
        assert_eq!(differences(&old, &new), differing);
    }

    #[test]
    fn update_keeps_elisions() {
        assert_eq!(update("a\n…\nb", "a\nc\nb"), "a\n…\nb");
        assert_eq!(update("a\n…\nb", "d\nc\nb"), "d\n…\nb");
        assert_eq!(update("9 states, … s", "8 states, 0.1 s"), "8 states, … s");
        assert_eq!(update("8  7 … 8   3", "8  7 … 8  4"), "8  7 … 8  4");
        assert_eq!(update("…\nentries 1\n…", "a\nentries 2\nb\nc"), "…\nentries 2\n…");
        assert_eq!(update("", "a\nb"), "a\nb");
        assert_eq!(
            update("9 states, … s", "violated after 3 steps: so"),
            "violated after 3 steps: so"
        );
    }
}
