//! Whether some ranges of keys together have all of another.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::ops::Bound;

use crate::bytes::Bytes;
use crate::span::Span;

/// From which key on, up to which; to the end of all, where nothing is said.
type Range = (Vec<u8>, Option<Vec<u8>>);

/// No key is shorter than one zero byte, so that both mean the first one there can be.
fn range(span: &Span) -> Range {
    let first = if span.key[..] == *b"\0" { Vec::new() } else { span.key.to_vec() };
    let end = match &span.end[..] {
        b"" => Some([&span.key, &b"\0"[..]].concat()),
        b"\0" => None,
        end => Some(end.to_vec()),
    };
    (first, end)
}

/// Whether these have all that another has. What has no key is had by nobody.
pub(super) fn cover(granted: &[&Span], asked: &Span) -> bool {
    let mut granted: Vec<Range> = granted.iter().map(|span| range(span)).collect();
    granted.sort();
    let (mut at, end) = range(asked);
    if end.as_ref().is_some_and(|end| *end <= at) {
        return false;
    }
    for (first, last) in granted {
        if first > at {
            return false;
        }
        match last {
            None => return true,
            Some(last) => at = at.max(last),
        }
        if end.as_ref().is_some_and(|end| *end <= at) {
            return true;
        }
    }
    false
}

/// Whether these have all of some keys, of which there may be many more: those are looked at that
/// are between these.
pub(super) fn cover_keys(granted: &[&Span], keys: &BTreeSet<Bytes>) -> bool {
    let mut granted: Vec<Range> = granted.iter().map(|span| range(span)).collect();
    granted.sort();
    let mut at = Vec::new();
    for (first, last) in granted {
        let between = (Bound::Included(&at[..]), Bound::Excluded(&first[..]));
        if first > at && keys.range::<[u8], _>(between).next().is_some() {
            return false;
        }
        match last {
            None => return true,
            Some(last) => at = at.max(last),
        }
    }
    keys.range::<[u8], _>((Bound::Included(&at[..]), Bound::Unbounded)).next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(key: &str, end: &str) -> Span {
        Span { key: key.into(), end: end.into() }
    }

    #[test]
    fn ranges_beside_each_other_count_as_one() {
        let (a, b, c) = (span("a", "c"), span("b", "d"), span("e", "f"));
        assert!(cover(&[&a, &b], &span("a", "d")));
        assert!(cover(&[&b, &a], &Span::one("c")));
        assert!(!cover(&[&a, &c], &span("a", "f")));
        assert!(!cover(&[&a], &Span::one("c")));
        assert!(!cover(&[&a], &span("b", "a")));
        assert!(!cover(&[], &Span::one("a")));
        let (one, next) = (Span::one("x"), Span::one("x\0"));
        assert!(cover(&[&next, &one], &span("x", "x\0\0")));
        assert!(!cover(&[&one], &Span::prefix("x")));
        assert!(cover(&[&Span::all()], &span("\0", "\0")) && cover(&[&Span::all()], &one));
        assert!(!cover(&[&a], &Span { key: "a".into(), end: b"\0".into() }));
    }

    #[test]
    fn keys_are_had_as_each_of_them_is() {
        let spans = [
            span("a", "c"),
            span("b", "d"),
            Span::one("d"),
            span("f", "e"),
            span("x", "\0"),
            Span::one("\0"),
        ];
        let keys = ["\0", "a", "a1", "b", "cc", "d", "d\0", "e", "f", "w", "x", "z"];
        for granted in 0..1 << spans.len() {
            let granted: Vec<&Span> = spans
                .iter()
                .enumerate()
                .filter(|(at, _)| granted >> at & 1 == 1)
                .map(|it| it.1)
                .collect();
            for one in keys {
                for other in keys {
                    let both: BTreeSet<Bytes> = [one.into(), other.into()].into();
                    let each = both.iter().all(|key| cover(&granted, &Span::one(key.clone())));
                    assert_eq!(cover_keys(&granted, &both), each, "{granted:?} {both:?}");
                }
            }
        }
        assert!(cover_keys(&[], &BTreeSet::new()));
    }
}
