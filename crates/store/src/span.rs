//! Spans of keys: a single key, the keys from one key to another, or all keys from one key on.

use core::ops::Bound;

use crate::bytes::Bytes;

/// A span of keys, encoded as in etcd. If `end` is empty, the span contains only the key `key`. If
/// `end` is one zero byte, the span contains all keys from `key` on. Otherwise `end` is the
/// exclusive end of the span, and the span is empty unless `end` is greater than `key`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct KeySpan {
    /// First key of the span, or its only key.
    pub key: Bytes,
    /// Exclusive end of the span, with the two special values that [`KeySpan`] describes. etcd
    /// calls this field `range_end`.
    pub end: Bytes,
}

impl KeySpan {
    /// Creates a span of one key.
    pub fn single(key: impl Into<Bytes>) -> Self {
        KeySpan { key: key.into(), end: Bytes::default() }
    }

    /// Creates the span of all keys that begin with a prefix. The prefix must not be empty, because
    /// the store rejects a span whose first key is empty.
    pub fn prefix(prefix: impl Into<Bytes>) -> Self {
        let key = prefix.into();
        let end = successor(&key);
        KeySpan { key, end }
    }

    /// Creates the span of all keys.
    pub fn all() -> Self {
        KeySpan { key: Bytes::from(b"\0"), end: Bytes::from(b"\0") }
    }

    /// Returns true if the span is a single key. The key need not exist.
    pub fn is_single(&self) -> bool {
        self.end.is_empty()
    }

    /// Returns true if the span has an end and contains no key.
    pub fn is_empty(&self) -> bool {
        !self.is_single() && self.end[..] != *b"\0" && self.key >= self.end
    }

    /// Returns true if the span contains exactly the keys with the prefix `key`.
    pub fn is_prefix(&self) -> bool {
        !self.is_single() && successor(&self.key) == self.end
    }

    /// Returns true if the span contains this key.
    pub fn contains(&self, key: &[u8]) -> bool {
        match &self.end[..] {
            b"" => key == &self.key[..],
            b"\0" => key >= &self.key[..],
            end => key >= &self.key[..] && key < end,
        }
    }

    /// Returns the bounds of the span, for a lookup in an ordered map. `None` if the span is empty.
    pub(crate) fn bounds(&self) -> Option<Bounds<'_>> {
        let first = Bound::Included(&self.key[..]);
        match &self.end[..] {
            b"" => Some((first, first)),
            b"\0" => Some((first, Bound::Unbounded)),
            end => (self.key[..] < *end).then_some((first, Bound::Excluded(end))),
        }
    }
}

type Bounds<'a> = (Bound<&'a [u8]>, Bound<&'a [u8]>);

/// Returns the exclusive end of the span of all keys that begin with `prefix`. If no key can follow
/// this span, returns one zero byte, which means that the span has no end.
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
    fn prefix_span_contains_all_keys_with_the_prefix() {
        for (prefix, end) in [(&b"a/"[..], &b"a0"[..]), (b"a\xff", b"b"), (b"\xff\xff", b"\0")] {
            let span = KeySpan::prefix(prefix);
            assert_eq!(&span.end[..], end);
            assert!(
                span.is_prefix()
                    && span.contains(prefix)
                    && span.contains(&[prefix, b"x"].concat())
            );
        }
        for (key, end) in [("a/", "a1"), ("a/", "a"), ("a/", "a00"), ("a/", "b0"), ("a/", "\0")] {
            assert!(!KeySpan { key: key.into(), end: end.into() }.is_prefix(), "{key} {end}");
        }
        assert!(!KeySpan::prefix("a/").contains(b"a0") && !KeySpan::prefix("a/").contains(b"a"));
        assert!(KeySpan::single("a").contains(b"a") && !KeySpan::single("a").contains(b"aa"));
        assert!(KeySpan { key: "b".into(), end: "a".into() }.bounds().is_none());
        assert!(KeySpan::all().contains(b"\0") && KeySpan::all().contains(b"\xff\xff"));
    }
}
