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

/// The entries of one process, but for those that a snapshot stands for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(from = "Plain", into = "Plain"))]
pub struct Log {
    /// What is before the first entry that is here.
    base: Place,
    /// Where they begin and end does not depend on the base: all end behind a multiple of `CHUNK`,
    /// but the last one.
    chunks: Vec<Arc<Vec<Entry>>>,
}

impl Log {
    /// A log of nothing that comes behind this.
    pub fn behind(base: Place) -> Self {
        Log { base, chunks: Vec::new() }
    }

    /// What is before the first entry that is here.
    pub fn base(&self) -> Place {
        self.base
    }

    /// The last entry; the base, where there is none.
    pub fn last(&self) -> Place {
        let Some(chunk) = self.chunks.last() else { return self.base };
        let before = match self.chunks.len() as u64 - 1 {
            0 => self.base.index,
            chunks => (self.base.index / CHUNK + chunks) * CHUNK,
        };
        let term = chunk.last().map_or(self.base.term, |entry| entry.term);
        Place { index: before + chunk.len() as u64, term }
    }

    /// In which chunk an entry is, and where, if it is behind the base.
    fn seat(&self, index: u64) -> Option<(usize, usize)> {
        let before = index.checked_sub(1).filter(|before| *before >= self.base.index)?;
        let chunk = before / CHUNK - self.base.index / CHUNK;
        let missing = if chunk == 0 { self.base.index % CHUNK } else { 0 };
        let seat = before % CHUNK - missing;
        Some((usize::try_from(chunk).ok()?, usize::try_from(seat).ok()?))
    }

    /// The entry at an index, if it is here.
    pub fn entry(&self, index: u64) -> Option<&Entry> {
        let (chunk, seat) = self.seat(index)?;
        self.chunks.get(chunk)?.get(seat)
    }

    /// The place of the entry at an index, or of the base.
    pub fn place(&self, index: u64) -> Option<Place> {
        if index == self.base.index {
            return Some(self.base);
        }
        Some(Place { index, term: self.entry(index)?.term })
    }

    /// Whether this entry is here, or is the base; before the first one, all are alike.
    pub fn has(&self, place: Place) -> bool {
        self.place(place.index) == Some(place)
    }

    /// Puts an entry behind the last one.
    pub fn push(&mut self, entry: Entry) {
        let is_full = self.last().index.is_multiple_of(CHUNK);
        match self.chunks.last_mut() {
            Some(chunk) if !is_full => Arc::make_mut(chunk).push(entry),
            _ => self.chunks.push(Arc::new([entry].into())),
        }
    }

    /// Drops all entries from this index on.
    pub fn drop_from(&mut self, index: u64) {
        if index > self.last().index {
            return;
        }
        let Some((chunk, seat)) = self.seat(index) else { return self.chunks.clear() };
        self.chunks.truncate(chunk + 1);
        if seat == 0 {
            self.chunks.pop();
        } else if let Some(last) = self.chunks.last_mut() {
            Arc::make_mut(last).truncate(seat);
        }
    }

    /// Drops all entries up to this place. Where the log does not have it, nothing behind it is of
    /// the same history, and all are dropped.
    pub fn drop_to(&mut self, place: Place) {
        if place.index < self.base.index || place == self.base {
            return;
        }
        let first = self.seat(place.index + 1).filter(|_| self.has(place));
        match first {
            Some((chunk, _)) if chunk >= self.chunks.len() => self.chunks.clear(),
            None => self.chunks.clear(),
            Some((chunk, seat)) => {
                self.chunks.drain(..chunk);
                if seat > 0 {
                    self.chunks[0] = Arc::new(self.chunks[0][seat..].to_vec());
                }
                self.chunks.retain(|chunk| !chunk.is_empty());
            }
        }
        self.base = place;
    }

    /// Up to which index this log is as one of an earlier moment. It is looked for from the end:
    /// where an entry is the same, so are those before it (*log matching*).
    pub(super) fn alike(&self, earlier: &Log) -> u64 {
        let end = self.last().index.min(earlier.last().index);
        let same = |index: &u64| match (self.entry(*index), earlier.entry(*index)) {
            (Some(here), Some(there)) => here == there,
            // One of them begins here: what it has before, the other had.
            _ => self.place(*index) == earlier.place(*index),
        };
        let alike = (self.base.index..=end).rev().find(same);
        alike.unwrap_or(self.base.index)
    }

    /// The part that comes behind an index.
    pub(super) fn part(&self, behind: u64) -> Log {
        let mut part = Log::behind(self.place(behind).unwrap_or(self.base));
        let rest = part.base.index + 1..=self.last().index;
        rest.filter_map(|index| self.entry(index)).for_each(|entry| part.push(entry.clone()));
        part
    }

    /// Puts the entries of a part where they belong, in place of all from there on.
    pub(super) fn amend(&mut self, part: &Log) {
        self.drop_from(part.base.index.saturating_add(1));
        part.entries().for_each(|entry| self.push(entry.clone()));
    }

    /// All entries that are here.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.chunks.iter().flat_map(|chunk| chunk.iter())
    }

    /// Whether no entry is here.
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// The entries from an index on, at most so many, and of so many bytes of users unless the
    /// first has more.
    pub fn from(&self, index: u64, most: u64, bytes: usize) -> Vec<Entry> {
        let end = self.last().index.min(index.saturating_add(most).saturating_sub(1));
        let there = (index..=end).filter_map(|index| self.entry(index));
        let mut room = bytes;
        let fits = |(place, entry): &(usize, &Entry)| {
            let left = room.checked_sub(entry.content.weight());
            room = left.unwrap_or(0);
            left.is_some() || *place == 0
        };
        there.enumerate().take_while(fits).map(|(_, entry)| entry.clone()).collect()
    }

    /// Where the longest part begins that ends at an index and has no more than so many entries,
    /// and so many bytes of users: before its first entry.
    pub fn before_the_last(&self, index: u64, most: u64, bytes: usize) -> u64 {
        let first = index.saturating_sub(most).max(self.base.index);
        let mut room = bytes;
        let fits = |place: &u64| {
            let left = self.entry(*place).and_then(|it| room.checked_sub(it.content.weight()));
            room = left.unwrap_or(0);
            left.is_some()
        };
        (first + 1..=index).rev().take_while(fits).last().map_or(index, |place| place - 1)
    }

    /// The first entry that is here of the term of the one at `index`.
    pub fn first_of_its_term(&self, index: u64) -> Option<Place> {
        let Place { term, .. } = self.place(index)?;
        let same = |index: &u64| self.place(*index).is_some_and(|place| place.term == term);
        let first = (self.base.index + 1..=index).rev().take_while(same).last()?;
        Some(Place { index: first, term })
    }

    /// The last entry of a term at or before `index`.
    pub fn last_of(&self, term: u64, index: u64) -> Option<Place> {
        let index = index.min(self.last().index);
        let mut places = (self.base.index..=index).rev().filter_map(|index| self.place(index));
        places.find(|place| place.term <= term).filter(|place| place.term == term)
    }
}

/// A log as it is written: what is before it, and its entries.
#[cfg(feature = "serde")]
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(rename = "Log")]
struct Plain {
    base: Place,
    entries: Vec<Entry>,
}

#[cfg(feature = "serde")]
impl From<Plain> for Log {
    fn from(Plain { base, entries }: Plain) -> Self {
        let mut log = Log::behind(base);
        entries.into_iter().for_each(|entry| log.push(entry));
        log
    }
}

#[cfg(feature = "serde")]
impl From<Log> for Plain {
    fn from(log: Log) -> Self {
        Plain { base: log.base, entries: log.entries().cloned().collect() }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use tenure_core::service::log::{Content, Payload};

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
    fn a_log_is_what_is_alike_and_the_part_behind_it() {
        let long = log(&[1; 150]);
        for kept in [0, 1, 63, 64, 65, 100, 150] {
            let terms: Vec<u64> = (0..150).map(|place| if place < kept { 1 } else { 2 }).collect();
            for length in [kept, kept + 1, kept + 20] {
                let other = log(&terms[..(length as usize).min(150)]);
                assert_eq!(other.alike(&long), kept);
                let mut amended = long.clone();
                amended.amend(&other.part(kept));
                assert_eq!(amended, other);
            }
        }
    }

    #[test]
    fn what_is_behind_a_base_is_as_it_was_before() {
        let terms: Vec<u64> = (1..=200).collect();
        let whole = log(&terms);
        for base in [1, 63, 64, 65, 128, 199, 200] {
            let place = Place { index: base, term: base };
            let mut rest = whole.clone();
            rest.drop_to(place);
            let mut other = Log::behind(place);
            (base + 1..=200).for_each(|term| {
                other.push(Entry { term, content: Content::Nothing });
            });
            assert_eq!(rest, other, "whichever way it came about");
            assert_eq!((rest.base(), rest.last()), (place, whole.last()));
            let places = |log: &Log| (base..=201).map(|at| log.place(at)).collect::<Vec<_>>();
            assert_eq!(places(&rest), places(&whole));
            assert_eq!((rest.entry(base), rest.place(base - 1)), (None, None));
            assert_eq!(rest.alike(&whole), 200);
            let mut later = rest.clone();
            later.drop_to(Place { index: 200, term: 200 });
            assert!(later.is_empty() && later.last() == whole.last());
            let mut apart = rest.clone();
            apart.drop_to(Place { index: 200, term: 7 });
            assert!(apart.is_empty() && apart.base().term == 7);
            let (mut cut, mut cut_whole) = (rest, whole.clone());
            [&mut cut, &mut cut_whole].into_iter().for_each(|log| log.drop_from(150));
            if base < 149 {
                assert_eq!(cut.last(), cut_whole.last());
            }
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
        assert_eq!(log.from(4, 2, 0).len(), 2);
        assert_eq!(log.from(6, 9, 0).len(), 1);
        assert_eq!(log.from(7, 9, 0), []);
        assert!(log.has(Place::default()) && !log.has(Place { index: 6, term: 3 }));
    }

    #[test]
    fn what_is_sent_and_what_is_kept_is_bounded_by_bytes() {
        let mut log = Log::behind(Place { index: 100, term: 1 });
        for bytes in [30, 10, 10, 50, 10] {
            let content = Content::Payload(Payload::new(vec![0; bytes]));
            log.push(Entry { term: 1, content });
        }
        let sent = |index, most, bytes| log.from(index, most, bytes).len();
        assert_eq!((sent(101, 9, 49), sent(101, 9, 50), sent(101, 2, 50)), (2, 3, 2));
        assert_eq!((sent(104, 9, 20), sent(104, 9, 60)), (1, 2), "one, however long it is");
        let kept = |index, most, bytes| log.before_the_last(index, most, bytes);
        assert_eq!((kept(105, 9, 59), kept(105, 9, 60), kept(105, 9, 80)), (104, 103, 101));
        assert_eq!((kept(105, 1, 80), kept(105, 0, 80), kept(103, 9, 999)), (104, 105, 100));
        assert_eq!(kept(104, 9, 49), 104, "none, where the last has more");
    }

    #[test]
    fn a_later_term_counts_for_more_than_length() {
        let place = |index, term| Place { index, term };
        assert!(place(1, 3).is_as_up_to_date_as(place(9, 2)));
        assert!(place(2, 3).is_as_up_to_date_as(place(2, 3)));
        assert!(!place(1, 3).is_as_up_to_date_as(place(2, 3)));
    }
}
