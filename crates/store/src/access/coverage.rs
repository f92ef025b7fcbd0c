//! Checks whether several spans of keys together cover another span.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::ops::Bound;

use crate::bytes::Bytes;
use crate::span::KeySpan;

/// First key of a range, and its exclusive end. The end is `None` if the range contains all later
/// keys.
type Range = (Vec<u8>, Option<Vec<u8>>);

/// Converts a span to a range. A span that begins with one zero byte, the smallest key, becomes a
/// range that begins with the empty string.
fn range(span: &KeySpan) -> Range {
    let first = if span.key[..] == *b"\0" { Vec::new() } else { span.key.to_vec() };
    let end = match &span.end[..] {
        b"" => Some([&span.key, &b"\0"[..]].concat()),
        b"\0" => None,
        end => Some(end.to_vec()),
    };
    (first, end)
}

/// Returns true if the granted spans together cover the requested span. An empty span is never
/// covered.
pub(super) fn covers_span(granted: &[&KeySpan], requested: &KeySpan) -> bool {
    let mut granted: Vec<Range> = granted.iter().map(|span| range(span)).collect();
    granted.sort();
    let (mut position, end) = range(requested);
    if end.as_ref().is_some_and(|end| *end <= position) {
        return false;
    }
    for (first, last) in granted {
        if first > position {
            return false;
        }
        match last {
            None => return true,
            Some(last) => position = position.max(last),
        }
        if end.as_ref().is_some_and(|end| *end <= position) {
            return true;
        }
    }
    false
}

/// Returns true if each of the keys is in one of the granted spans. The number of lookups depends
/// on the number of spans and not on the number of keys, which may be much larger.
pub(super) fn covers_keys(granted: &[&KeySpan], keys: &BTreeSet<Bytes>) -> bool {
    let mut granted: Vec<Range> = granted.iter().map(|span| range(span)).collect();
    granted.sort();
    let mut position = Vec::new();
    for (first, last) in granted {
        let between = (Bound::Included(&position[..]), Bound::Excluded(&first[..]));
        if first > position && keys.range::<[u8], _>(between).next().is_some() {
            return false;
        }
        match last {
            None => return true,
            Some(last) => position = position.max(last),
        }
    }
    keys.range::<[u8], _>((Bound::Included(&position[..]), Bound::Unbounded)).next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(key: &str, end: &str) -> KeySpan {
        KeySpan { key: key.into(), end: end.into() }
    }

    #[test]
    fn adjacent_ranges_cover_their_union() {
        let (a, b, c) = (span("a", "c"), span("b", "d"), span("e", "f"));
        assert!(covers_span(&[&a, &b], &span("a", "d")));
        assert!(covers_span(&[&b, &a], &KeySpan::single("c")));
        assert!(!covers_span(&[&a, &c], &span("a", "f")));
        assert!(!covers_span(&[&a], &KeySpan::single("c")));
        assert!(!covers_span(&[&a], &span("b", "a")));
        assert!(!covers_span(&[], &KeySpan::single("a")));
        let (one, next) = (KeySpan::single("x"), KeySpan::single("x\0"));
        assert!(covers_span(&[&next, &one], &span("x", "x\0\0")));
        assert!(!covers_span(&[&one], &KeySpan::prefix("x")));
        assert!(
            covers_span(&[&KeySpan::all()], &span("\0", "\0"))
                && covers_span(&[&KeySpan::all()], &one)
        );
        assert!(!covers_span(&[&a], &KeySpan { key: "a".into(), end: b"\0".into() }));
    }

    #[test]
    fn key_sets_are_covered_as_their_keys() {
        let spans = [
            span("a", "c"),
            span("b", "d"),
            KeySpan::single("d"),
            span("f", "e"),
            span("x", "\0"),
            KeySpan::single("\0"),
        ];
        let keys = ["\0", "a", "a1", "b", "cc", "d", "d\0", "e", "f", "w", "x", "z"];
        for granted in 0..1 << spans.len() {
            let granted: Vec<&KeySpan> = spans
                .iter()
                .enumerate()
                .filter(|(position, _)| granted >> position & 1 == 1)
                .map(|it| it.1)
                .collect();
            for one in keys {
                for other in keys {
                    let both: BTreeSet<Bytes> = [one.into(), other.into()].into();
                    let each =
                        both.iter().all(|key| covers_span(&granted, &KeySpan::single(key.clone())));
                    assert_eq!(covers_keys(&granted, &both), each, "{granted:?} {both:?}");
                }
            }
        }
        assert!(covers_keys(&[], &BTreeSet::new()));
    }
}
