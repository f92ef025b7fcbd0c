//! Errors in expressions, with carets under the part that is wrong.

use std::fmt;

use super::syntax::TextSpan;

/// Error in an expression, with the part of the text that is wrong.
///
/// [`Display`](fmt::Display) shows the problem, the expression with carets under the wrong part,
/// and the remedy, on one line each.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ExpressionError {
    text: String,
    span: TextSpan,
    problem: String,
    remedy: String,
}

impl ExpressionError {
    /// Creates the error of the part `span` of `text`. The remedy may be empty.
    pub(super) fn new(
        text: &str,
        span: TextSpan,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        let (problem, remedy) = (problem.into(), remedy.into());
        ExpressionError { text: text.to_owned(), span, problem, remedy }
    }

    /// Returns the range of the wrong part in the text, in bytes.
    pub fn span(&self) -> std::ops::Range<usize> {
        self.span.clone()
    }

    /// Returns the description of the problem, without the text of the expression.
    pub fn problem(&self) -> &str {
        &self.problem
    }
}

impl fmt::Display for ExpressionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = |text: &str| text.chars().count();
        let before = width(&self.text[..self.span.start]);
        let carets = width(&self.text[self.span.clone()]).max(1);
        // Replaces control characters by blanks, so that the carets are below the wrong part.
        let line: String =
            self.text.chars().map(|it| if it.is_control() { ' ' } else { it }).collect();
        write!(f, "{}\n  {line}\n  {}{}", self.problem, " ".repeat(before), "^".repeat(carets))?;
        if !self.remedy.is_empty() {
            write!(f, "\n  {}", self.remedy)?;
        }
        Ok(())
    }
}

/// Returns at most three names in `known` that resemble a misspelt name, the nearest first.
pub(super) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    const SHOWN: usize = 3;
    let mut known: Vec<(usize, &str)> =
        known.into_iter().map(|known| (strsim::damerau_levenshtein(name, known), known)).collect();
    known.sort_unstable();
    known.dedup();
    let most = (name.chars().count() / 2).max(2);
    known.into_iter().filter(|(far, _)| *far <= most).take(SHOWN).map(|(_, name)| name).collect()
}

/// Returns the remedy for an unknown name: the names nearest to it, and all names.
pub(super) fn unknown_name_remedy(name: &str, all: &[&str], what: &str) -> String {
    let near = nearest(name, all.iter().copied());
    let all = all.join(", ");
    match near.as_slice() {
        [] => format!("expected {what}: {all}"),
        near => format!("nearest: {}; {what}: {all}", near.join(", ")),
    }
}
