//! Search for the keys of a map that are prefixes of a given key.

use core::ops::Bound::{Included, Unbounded};

use alloc::collections::BTreeMap;

use crate::bytes::Bytes;

/// Returns the entries of `map` whose keys are prefixes of `key`, the longest first.
///
/// The number of lookups depends on the entries of the map, but not on the length of `key`. This
/// matters because a key can be as long as a request. The search keeps a candidate, which is `key`
/// at first. Each lookup finds the last entry that does not sort after the candidate. If the key of
/// this entry is a prefix of the candidate, the entry is returned, and its key without the last
/// byte is the next candidate. Otherwise, the common prefix of the entry's key and the candidate is
/// the next candidate.
pub(crate) fn prefix_entries<'a, V>(
    map: &'a BTreeMap<Bytes, V>,
    key: &'a [u8],
) -> impl Iterator<Item = (&'a Bytes, &'a V)> {
    let mut left = Some(key.len());
    core::iter::from_fn(move || {
        loop {
            let rest = &key[..left?];
            let mut before = map.range::<[u8], _>((Unbounded, Included(rest)));
            let (found, value) = before.next_back()?;
            if rest.starts_with(found) {
                left = found.len().checked_sub(1);
                return Some((found, value));
            }
            // A prefix of `rest` that is longer than this common prefix would sort between `found`
            // and `rest`. So the map does not contain it.
            left = Some(found.iter().zip(rest).take_while(|(a, b)| a == b).count());
        }
    })
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn finds_exactly_the_prefixes_of_a_key() {
        let words = ["", "a", "a/", "a/b", "a/b/c", "a/bc", "a/c", "ab", "b", "a/b/c/d"];
        // Each bit of `chosen` selects one of the words.
        for chosen in 0..1_u32 << words.len() {
            let is_chosen = |(at, _): &(usize, &&str)| chosen >> at & 1 == 1;
            let map = words.iter().enumerate().filter(is_chosen);
            let map: BTreeMap<Bytes, usize> = map.map(|(at, word)| ((*word).into(), at)).collect();
            for key in ["", "a", "a/b", "a/b/c", "a/bb", "a/b/c/d/e", "b/a", "aa", "c"] {
                let mut expected: Vec<&Bytes> =
                    map.keys().filter(|it| key.as_bytes().starts_with(it)).collect();
                expected.reverse();
                let found: Vec<&Bytes> =
                    prefix_entries(&map, key.as_bytes()).map(|(it, _)| it).collect();
                assert_eq!(found, expected, "{key} among {:?}", map.keys());
            }
        }
    }
}
