//! What a page says, beside what is true: elisions fit anything, all else must be the same.

/// Stands for any lines, or within a line for any text.
const ELISION: &str = "…";

/// One step from what is written to what was found; numbers are places on either side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Written, and it fits what was found.
    Kept(usize),
    /// Written, but not found.
    Missing(usize),
    /// Found, but not written.
    Extra(usize),
    /// The second was found where the first is written.
    Instead(usize, usize),
}

/// A line that makes two texts differ.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Difference<'a> {
    /// The line at this place is written, but was not printed.
    Missing(usize, &'a str),
    /// This was printed, but is not written.
    Extra(&'a str),
}

/// Whether what was found is what is written.
pub(super) fn same(written: &[String], found: &[String]) -> bool {
    lines(written, found).iter().all(|step| matches!(step, Step::Kept(_)))
}

/// Where what was found is not what is written.
pub(super) fn differences<'a>(written: &'a [String], found: &'a [String]) -> Vec<Difference<'a>> {
    let missing = |at: usize| Difference::Missing(at, &written[at]);
    let extra = |at: usize| Difference::Extra(&found[at]);
    let told = |step: Step| match step {
        Step::Kept(_) => vec![],
        Step::Missing(at) => vec![missing(at)],
        Step::Extra(at) => vec![extra(at)],
        Step::Instead(old, new) => vec![missing(old), extra(new)],
    };
    lines(written, found).into_iter().flat_map(told).collect()
}

/// What to write from now on: what was found, elided where it was elided before.
pub(super) fn renewed(written: &[String], found: &[String]) -> Vec<String> {
    let line = |step: Step| match step {
        Step::Kept(at) => Some(written[at].clone()),
        Step::Missing(_) => None,
        Step::Extra(at) => Some(found[at].clone()),
        Step::Instead(old, new) => Some(renewed_line(&written[old], &found[new])),
    };
    lines(written, found).into_iter().filter_map(line).collect()
}

fn renewed_line(written: &str, found: &str) -> String {
    let (old, new) = (words(written), words(found));
    let steps = align(&old, &new, |word| *word == ELISION, |old, new| fits(old, new), |_, _| true);
    let says = |at: &usize| old[*at] != ELISION && !old[*at].trim().is_empty();
    let kept = steps.iter().filter(|step| matches!(step, Step::Kept(at) if says(at))).count();
    // What the command itself prints with `…` was no elision. And if little is left of the line,
    // what its elisions stood for is not in the new one.
    let elided = written.contains(ELISION) && !found.contains(ELISION);
    if !elided || kept * 2 < (0..old.len()).filter(says).count() {
        return found.to_owned();
    }
    let word = |step: &Step| match *step {
        Step::Kept(at) => old[at],
        Step::Missing(_) => "",
        Step::Extra(at) | Step::Instead(_, at) => new[at],
    };
    steps.iter().map(word).collect()
}

/// Words and the spaces between them.
fn words(line: &str) -> Vec<&str> {
    line.split_inclusive(char::is_whitespace)
        .flat_map(|word| {
            let end = word.trim_end().len();
            [&word[..end], &word[end..]]
        })
        .filter(|word| !word.is_empty())
        .collect()
}

fn lines(written: &[String], found: &[String]) -> Vec<Step> {
    let first = |line: &str| line.split_whitespace().next().map(str::to_owned);
    let resembles = |old: &String, new: &String| first(old) == first(new);
    align(written, found, |line| line.trim() == ELISION, |old, new| fits(old, new), resembles)
}

/// Whether a text is the pattern, with any text for each `…`.
fn fits(pattern: &str, text: &str) -> bool {
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

/// The way of fewest differences from what is written to what was found; of two lines that could
/// have changed, the one that resembles what was found did.
fn align<W, F>(
    written: &[W],
    found: &[F],
    elides: impl Fn(&W) -> bool,
    fits: impl Fn(&W, &F) -> bool,
    resembles: impl Fn(&W, &F) -> bool,
) -> Vec<Step> {
    let (rows, columns) = (written.len(), found.len());
    let mut costs = vec![vec![0; columns + 1]; rows + 1];
    let mut first = vec![vec![None; columns + 1]; rows + 1];
    for row in (0..=rows).rev() {
        for column in (0..=columns).rev() {
            let (old, new) = (written.get(row), found.get(column));
            let mut choices = Vec::new();
            if let Some(old) = old {
                if elides(old) {
                    choices.push((costs[row + 1][column], Some(Step::Kept(row)), (1, 0)));
                    if new.is_some() {
                        choices.push((costs[row][column + 1], None, (0, 1)));
                    }
                } else if new.is_some_and(|new| fits(old, new)) {
                    choices.push((costs[row + 1][column + 1], Some(Step::Kept(row)), (1, 1)));
                }
                // Before what is missing alone, lest an elision swallow the line that is new.
                if let Some(new) = new {
                    let cost = if resembles(old, new) { 1 } else { 2 } + costs[row + 1][column + 1];
                    choices.push((cost, Some(Step::Instead(row, column)), (1, 1)));
                }
                let cost = 2 + costs[row + 1][column];
                choices.push((cost, Some(Step::Missing(row)), (1, 0)));
            }
            if new.is_some() {
                let cost = 2 + costs[row][column + 1];
                choices.push((cost, Some(Step::Extra(column)), (0, 1)));
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
    use super::{Difference, differences, renewed, same};

    fn text(text: &str) -> Vec<String> {
        text.split('\n').filter(|line| !line.is_empty()).map(str::to_owned).collect()
    }

    fn is_same(written: &str, found: &str) -> bool {
        same(&text(written), &text(found))
    }

    fn renew(written: &str, found: &str) -> String {
        renewed(&text(written), &text(found)).join("\n")
    }

    #[test]
    fn a_changed_a_missing_and_an_added_line_differ() {
        assert!(is_same("a\n12 messages", "a\n12 messages"));
        assert!(!is_same("a\n12 messages", "a\n13 messages"));
        assert!(!is_same("a\n12 messages", "a"));
        assert!(!is_same("a", "a\n12 messages"));
        assert!(!is_same("", "a"));
    }

    #[test]
    fn an_elision_in_a_line_stands_for_any_text_there_and_nowhere_else() {
        assert!(is_same("9 states, … s, … bytes", "9 states, 0.1 s, 237 bytes"));
        assert!(is_same("9 states…", "9 states"));
        assert!(!is_same("9 states, … s, … bytes", "8 states, 0.1 s, 237 bytes"));
        assert!(!is_same("9 states, … bytes", "9 states, 0.1 s"));
        assert!(!is_same("a…a", "a"));
    }

    #[test]
    fn an_elided_line_stands_for_any_lines_or_none() {
        for found in ["a\nb", "a\nc\nb", "a\nb\nc\nb"] {
            assert!(is_same("a\n…\nb", found), "{found}");
        }
        assert!(!is_same("a\n…\nb", "a\nc"));
        assert!(!is_same("a\n…\nb", "a\nb\nc"));
    }

    #[test]
    fn differences_are_the_lines_that_differ() {
        let (old, new) = (text("a\nb\nc"), text("a\nd\nc\ne"));
        let told = [Difference::Missing(1, "b"), Difference::Extra("d"), Difference::Extra("e")];
        assert_eq!(differences(&old, &new), told);
    }

    #[test]
    fn what_is_renewed_is_elided_where_it_was_before() {
        assert_eq!(renew("a\n…\nb", "a\nc\nb"), "a\n…\nb");
        assert_eq!(renew("a\n…\nb", "d\nc\nb"), "d\n…\nb");
        assert_eq!(renew("9 states, … s", "8 states, 0.1 s"), "8 states, … s");
        assert_eq!(renew("8  7 … 8   3", "8  7 … 8  4"), "8  7 … 8  4");
        assert_eq!(renew("…\nentries 1\n…", "a\nentries 2\nb\nc"), "…\nentries 2\n…");
        assert_eq!(renew("", "a\nb"), "a\nb");
        assert_eq!(
            renew("9 states, … s", "violated after 3 steps: so"),
            "violated after 3 steps: so"
        );
    }
}
