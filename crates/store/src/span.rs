//! Which keys somebody means: one, those from here to there, or all from here on.

use core::ops::Bound;

use crate::bytes::Bytes;

/// One key, or a range of them, as etcd says it: no `end` means the key alone, an `end` of one zero
/// byte all keys from `key` on, and any other those from `key` up to `end`, which is not of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Span {
    /// The key, or the first of them.
    pub key: Bytes,
    /// `range_end`: empty for the key alone.
    pub end: Bytes,
}

impl Span {
    /// One key.
    pub fn one(key: impl Into<Bytes>) -> Self {
        Span { key: key.into(), end: Bytes::default() }
    }

    /// All keys that begin with this, which is not empty.
    pub fn prefix(prefix: impl Into<Bytes>) -> Self {
        let key = prefix.into();
        let end = successor(&key);
        Span { key, end }
    }

    /// All keys.
    pub fn all() -> Self {
        Span { key: Bytes::from(b"\0"), end: Bytes::from(b"\0") }
    }

    /// Whether it is one key, though it may not exist.
    pub fn is_one(&self) -> bool {
        self.end.is_empty()
    }

    /// Whether it is all keys that begin with [`Span::key`].
    pub fn is_prefix(&self) -> bool {
        !self.is_one() && successor(&self.key) == self.end
    }

    /// Whether a key is one of these.
    pub fn has(&self, key: &[u8]) -> bool {
        match &self.end[..] {
            b"" => key == &self.key[..],
            b"\0" => key >= &self.key[..],
            end => key >= &self.key[..] && key < end,
        }
    }

    /// The same for a map in the order of keys; `None` where it can have no key.
    pub(crate) fn bounds(&self) -> Option<Bounds<'_>> {
        let first = Bound::Included(&self.key[..]);
        match &self.end[..] {
            b"" => Some((first, first)),
            b"\0" => Some((first, Bound::Unbounded)),
            end => (self.key[..] < *end).then_some((first, Bound::Excluded(end))),
        }
    }
}

/// From where to where.
type Bounds<'a> = (Bound<&'a [u8]>, Bound<&'a [u8]>);

/// The first key behind all that begin with this; one zero byte where there is none.
fn successor(prefix: &[u8]) -> Bytes {
    let kept = prefix.iter().rposition(|byte| *byte < 0xff);
    match kept {
        Some(last) => {
            let mut end = prefix[..=last].to_vec();
            end[last] += 1;
            Bytes::from(end)
        }
        None => Bytes::from(b"\0"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_has_what_begins_with_it() {
        for (prefix, end) in [(&b"a/"[..], &b"a0"[..]), (b"a\xff", b"b"), (b"\xff\xff", b"\0")] {
            let span = Span::prefix(prefix);
            assert_eq!(&span.end[..], end);
            assert!(span.is_prefix() && span.has(prefix) && span.has(&[prefix, b"x"].concat()));
        }
        for (key, end) in [("a/", "a1"), ("a/", "a"), ("a/", "a00"), ("a/", "b0"), ("a/", "\0")] {
            assert!(!Span { key: key.into(), end: end.into() }.is_prefix(), "{key} {end}");
        }
        assert!(!Span::prefix("a/").has(b"a0") && !Span::prefix("a/").has(b"a"));
        assert!(Span::one("a").has(b"a") && !Span::one("a").has(b"aa"));
        assert!(Span { key: "b".into(), end: "a".into() }.bounds().is_none());
        assert!(Span::all().has(b"\0") && Span::all().has(b"\xff\xff"));
    }
}
