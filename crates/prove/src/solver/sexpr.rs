//! S-expressions, in which solvers print models.

/// S-expression: an atom or a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Sexpr {
    Atom(String),
    List(Vec<Sexpr>),
}

impl Sexpr {
    pub(crate) fn atom(&self) -> Option<&str> {
        match self {
            Sexpr::Atom(text) => Some(text),
            Sexpr::List(_) => None,
        }
    }

    pub(crate) fn list(&self) -> Option<&[Sexpr]> {
        match self {
            Sexpr::Atom(_) => None,
            Sexpr::List(parts) => Some(parts),
        }
    }

    /// Parses the first S-expression in `text`, and ignores the rest. An atom between vertical bars
    /// may contain any other character. Returns `None` if the S-expression is incomplete.
    pub(crate) fn parse(text: &str) -> Option<Sexpr> {
        let mut open: Vec<Vec<Sexpr>> = Vec::new();
        let mut rest = text.trim_start();
        while let Some(first) = rest.chars().next() {
            let (done, after) = match first {
                '(' => {
                    open.push(Vec::new());
                    (None, &rest[1..])
                }
                ')' => (Some(Sexpr::List(open.pop()?)), &rest[1..]),
                '|' => {
                    let end = rest[1..].find('|')? + 1;
                    (Some(Sexpr::Atom(rest[1..end].to_owned())), &rest[end + 1..])
                }
                _ => {
                    let is_end = |c: char| c.is_whitespace() || c == '(' || c == ')';
                    let end = rest.find(is_end).unwrap_or(rest.len());
                    (Some(Sexpr::Atom(rest[..end].to_owned())), &rest[end..])
                }
            };
            rest = after.trim_start();
            match (done, open.last_mut()) {
                (Some(done), Some(parent)) => parent.push(done),
                (Some(done), None) => return Some(done),
                (None, _) => {}
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_nested_lists_and_quoted_names() {
        let parsed = Sexpr::parse("(define |a b| (- 1) ())\n").unwrap();
        let parts = parsed.list().unwrap();
        assert_eq!(parts[1].atom(), Some("a b"));
        assert_eq!(parts[2].list().unwrap()[1].atom(), Some("1"));
        assert_eq!(parts[3].list(), Some(&[][..]));
    }

    #[test]
    fn rejects_unbalanced_text() {
        assert_eq!(Sexpr::parse("(a (b)"), None);
        assert_eq!(Sexpr::parse(")"), None);
    }
}
