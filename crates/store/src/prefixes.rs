//! With which keys of a map another one begins.

use core::ops::Bound::{Included, Unbounded};

use alloc::collections::BTreeMap;

use crate::bytes::Bytes;

/// The entries of a map with whose keys `key` begins, the longest first.
///
/// It is asked as often as the map has such keys, or others between them: a key may be as long as
/// a request, and whoever asked for each of its beginnings would compare all of them.
pub(crate) fn prefixes<'a, V>(
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
            // A longer beginning than what both have in common would come behind it.
            left = Some(found.iter().zip(rest).take_while(|(a, b)| a == b).count());
        }
    })
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn all_beginnings_of_a_key_are_found_and_nothing_else() {
        let words = ["", "a", "a/", "a/b", "a/b/c", "a/bc", "a/c", "ab", "b", "a/b/c/d"];
        // Each way to leave some of them out.
        for chosen in 0..1_u32 << words.len() {
            let is_chosen = |(at, _): &(usize, &&str)| chosen >> at & 1 == 1;
            let map = words.iter().enumerate().filter(is_chosen);
            let map: BTreeMap<Bytes, usize> = map.map(|(at, word)| ((*word).into(), at)).collect();
            for key in ["", "a", "a/b", "a/b/c", "a/bb", "a/b/c/d/e", "b/a", "aa", "c"] {
                let mut expected: Vec<&Bytes> =
                    map.keys().filter(|it| key.as_bytes().starts_with(it)).collect();
                expected.reverse();
                let found: Vec<&Bytes> = prefixes(&map, key.as_bytes()).map(|(it, _)| it).collect();
                assert_eq!(found, expected, "{key} among {:?}", map.keys());
            }
        }
    }
}
