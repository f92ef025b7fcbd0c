//! The log itself: entries behind one another, and where they stand.

use alloc::sync::Arc;
use alloc::vec::Vec;

use tenure_core::service::log::Entry;

/// How many entries lie together. A copy of a log shares all of them with the log, and whoever
/// changes one of the two copies at most so many.
const CHUNK: u64 = 64;

/// An entry, by its index and its term: with the same of both, two logs are alike up to there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Place {
    /// The first entry has index 1; 0 is before it.
    pub index: u64,
    /// The term of its leader; 0 before the first entry.
    #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
    pub term: u64,
}

impl Place {
    /// Whether a log that ends here is as up to date as one that ends there (3.6.1): its last term
    /// is later, or is the same and it is no shorter.
    pub fn is_as_up_to_date_as(self, other: Place) -> bool {
        (self.term, self.index) >= (other.term, other.index)
    }
}

/// The entries of one process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Log {
    /// All are full but the last one.
    chunks: Vec<Arc<Vec<Entry>>>,
}

impl Log {
    /// The last entry.
    pub fn last(&self) -> Place {
        let Some(chunk) = self.chunks.last() else { return Place::default() };
        let index = (self.chunks.len() as u64 - 1) * CHUNK + chunk.len() as u64;
        Place { index, term: chunk.last().map_or(0, |entry| entry.term) }
    }

    /// The entry at an index, if there is one.
    pub fn entry(&self, index: u64) -> Option<&Entry> {
        let place = index.checked_sub(1)?;
        let chunk = self.chunks.get(usize::try_from(place / CHUNK).ok()?)?;
        chunk.get(usize::try_from(place % CHUNK).ok()?)
    }

    /// The place of the entry at an index, or before the first one.
    pub fn place(&self, index: u64) -> Option<Place> {
        if index == 0 {
            return Some(Place::default());
        }
        Some(Place { index, term: self.entry(index)?.term })
    }

    /// Whether this entry is here; before the first one, all are alike.
    pub fn has(&self, place: Place) -> bool {
        self.place(place.index) == Some(place)
    }

    /// Puts an entry behind the last one.
    pub fn push(&mut self, entry: Entry) {
        match self.chunks.last_mut() {
            Some(chunk) if (chunk.len() as u64) < CHUNK => Arc::make_mut(chunk).push(entry),
            _ => self.chunks.push(Arc::new([entry].into())),
        }
    }

    /// Drops all entries from this index on.
    pub fn drop_from(&mut self, index: u64) {
        while self.last().index >= index.max(1) {
            let chunk = self.chunks.last_mut().expect("there is a last entry, so there is a chunk");
            if chunk.len() == 1 {
                self.chunks.pop();
            } else {
                Arc::make_mut(chunk).pop();
            }
        }
    }

    /// How many entries two logs have in common at their beginnings. What they share is not looked
    /// at.
    pub(super) fn alike(&self, other: &Log) -> u64 {
        let chunks = self.chunks.iter().zip(&other.chunks);
        let shared = chunks.take_while(|(one, other)| Arc::ptr_eq(one, other)).count() as u64;
        let end = self.last().index.min(other.last().index);
        let differs = |index: &u64| self.entry(*index) != other.entry(*index);
        (shared * CHUNK + 1..=end).find(differs).map_or(end, |index| index - 1)
    }

    /// A log of what comes behind so many entries.
    pub(super) fn behind(&self, entries: u64) -> Log {
        let mut log = Log::default();
        let rest = entries.saturating_add(1)..=self.last().index;
        rest.filter_map(|index| self.entry(index)).for_each(|entry| log.push(entry.clone()));
        log
    }

    /// Puts all of another log behind this one.
    pub(super) fn append(&mut self, other: &Log) {
        other.chunks.iter().flat_map(|chunk| chunk.iter()).for_each(|it| self.push(it.clone()));
    }

    /// Whether it has no entry.
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// The entries from an index on, at most so many.
    pub fn from(&self, index: u64, most: u64) -> Vec<Entry> {
        let end = self.last().index.min(index.saturating_add(most).saturating_sub(1));
        (index..=end).filter_map(|index| self.entry(index).cloned()).collect()
    }

    /// The first entry of the term of the one at `index`.
    pub fn first_of_its_term(&self, index: u64) -> Option<Place> {
        let Place { term, .. } = self.place(index)?;
        let same = |index: &u64| self.place(*index).is_some_and(|place| place.term == term);
        let first = (1..=index).rev().take_while(same).last()?;
        Some(Place { index: first, term })
    }

    /// The last entry of a term at or before `index`.
    pub fn last_of(&self, term: u64, index: u64) -> Option<Place> {
        let index = index.min(self.last().index);
        let mut places = (1..=index).rev().filter_map(|index| self.place(index));
        places.find(|place| place.term <= term).filter(|place| place.term == term)
    }
}

#[cfg(test)]
mod tests {
    use tenure_core::service::log::Content;

    use super::*;

    fn log(terms: &[u64]) -> Log {
        let mut log = Log::default();
        terms.iter().for_each(|term| log.push(Entry { term: *term, content: Content::Nothing }));
        log
    }

    #[test]
    fn what_is_dropped_and_pushed_again_is_as_if_it_had_never_been() {
        let terms: Vec<u64> = (1..=200).collect();
        for kept in [0, 1, 63, 64, 65, 128, 199] {
            let mut cut = log(&terms);
            let copy = cut.clone();
            cut.drop_from(kept + 1);
            assert_eq!(cut, log(&terms[..kept as usize]));
            assert_eq!(cut.last(), Place { index: kept, term: kept });
            (kept + 1..=200).for_each(|term| cut.push(Entry { term, content: Content::Nothing }));
            assert_eq!(cut, copy);
        }
    }

    #[test]
    fn a_log_is_what_is_alike_and_what_comes_behind() {
        let long = log(&[1; 150]);
        for kept in [0, 1, 63, 64, 65, 100, 150] {
            let terms: Vec<u64> = (0..150).map(|place| if place < kept { 1 } else { 2 }).collect();
            let other = log(&terms[..(kept as usize + 20).min(150)]);
            let alike = long.alike(&other);
            assert_eq!(alike, kept);
            let mut amended = long.clone();
            amended.drop_from(alike + 1);
            amended.append(&other.behind(alike));
            assert_eq!(amended, other);
            assert_eq!(long.alike(&long.clone()), 150);
        }
    }

    #[test]
    fn places_are_found_by_their_terms() {
        let log = log(&[1, 1, 3, 3, 3, 4]);
        assert_eq!(log.first_of_its_term(5), Some(Place { index: 3, term: 3 }));
        assert_eq!(log.first_of_its_term(1), Some(Place { index: 1, term: 1 }));
        assert_eq!(log.last_of(3, 6), Some(Place { index: 5, term: 3 }));
        assert_eq!(log.last_of(3, 4), Some(Place { index: 4, term: 3 }));
        assert_eq!(log.last_of(2, 6), None);
        assert_eq!(log.from(4, 2).len(), 2);
        assert_eq!(log.from(6, 9).len(), 1);
        assert_eq!(log.from(7, 9), []);
        assert!(log.has(Place::default()) && !log.has(Place { index: 6, term: 3 }));
    }

    #[test]
    fn a_later_term_counts_for_more_than_length() {
        let place = |index, term| Place { index, term };
        assert!(place(1, 3).is_as_up_to_date_as(place(9, 2)));
        assert!(place(2, 3).is_as_up_to_date_as(place(2, 3)));
        assert!(!place(1, 3).is_as_up_to_date_as(place(2, 3)));
    }
}
