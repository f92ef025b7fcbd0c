//! The log: a sequence of entries, stored in shared chunks.

use alloc::sync::Arc;
use alloc::vec::Vec;

use tenure_core::service::log::Entry;

/// Number of entries per chunk. Clones of a log share their chunks, and a change copies at most one
/// chunk.
const CHUNK_ENTRIES: u64 = 64;

/// Index and term of an entry. If two logs contain an entry with the same ID, the two logs are
/// equal up to that entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct EntryId {
    /// Index of the entry, from 1; 0 is the position before the first entry.
    pub index: u64,
    /// Term of the leader that created the entry; 0 before the first entry.
    #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
    pub term: u64,
}

impl EntryId {
    /// Returns true if a log that ends with this entry is at least as up to date as a log that ends
    /// with `other` (3.6.1). The log with the later last term is more up to date. If the last terms
    /// are equal, the log with the higher last index is more up to date.
    pub fn is_as_up_to_date_as(self, other: EntryId) -> bool {
        (self.term, self.index) >= (other.term, other.index)
    }
}

/// Log of one process, without the entries that were removed because a snapshot covers them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(from = "SerializedLog", into = "SerializedLog"))]
pub struct Log {
    /// Index and term of the last removed entry. The next entry is the first retained one. If no
    /// entry was removed, both numbers are 0.
    base: EntryId,
    /// The retained entries, in chunks. Each chunk except the last ends at an index that is a
    /// multiple of `CHUNK_ENTRIES`, whatever the base is.
    chunks: Vec<Arc<Vec<Entry>>>,
}

impl Log {
    /// Creates an empty log whose first entry will follow `base`.
    pub fn starting_after(base: EntryId) -> Self {
        Log { base, chunks: Vec::new() }
    }

    /// Returns index and term of the last removed entry. The next entry is the first retained one.
    /// If no entry was removed, returns zeros.
    pub fn last_compacted(&self) -> EntryId {
        self.base
    }

    /// Returns the index of the first retained entry, or of the next entry if the log retains none.
    pub fn first_index(&self) -> u64 {
        self.base.index + 1
    }

    /// Returns the ID of the last entry. If the log retains no entry, returns
    /// [`Log::last_compacted`].
    pub fn last(&self) -> EntryId {
        let Some(chunk) = self.chunks.last() else { return self.base };
        let before = match self.chunks.len() as u64 - 1 {
            0 => self.base.index,
            chunks => (self.base.index / CHUNK_ENTRIES + chunks) * CHUNK_ENTRIES,
        };
        let term = chunk.last().map_or(self.base.term, |entry| entry.term);
        EntryId { index: before + chunk.len() as u64, term }
    }

    /// Returns the index of the chunk that contains an entry, and the offset of the entry in this
    /// chunk. Returns `None` if the entry is not after the base.
    fn position(&self, index: u64) -> Option<(usize, usize)> {
        let before = index.checked_sub(1).filter(|before| *before >= self.base.index)?;
        let chunk = before / CHUNK_ENTRIES - self.base.index / CHUNK_ENTRIES;
        let missing = if chunk == 0 { self.base.index % CHUNK_ENTRIES } else { 0 };
        let position = before % CHUNK_ENTRIES - missing;
        Some((usize::try_from(chunk).ok()?, usize::try_from(position).ok()?))
    }

    /// Returns the entry at an index; `None` if it is not retained.
    pub fn entry(&self, index: u64) -> Option<&Entry> {
        let (chunk, position) = self.position(index)?;
        self.chunks.get(chunk)?.get(position)
    }

    /// Returns the ID of the entry at `index`; `None` if the entry is neither retained nor the base
    /// of the log.
    pub fn entry_id(&self, index: u64) -> Option<EntryId> {
        if index == self.base.index {
            return Some(self.base);
        }
        Some(EntryId { index, term: self.entry(index)?.term })
    }

    /// Returns true if the log contains the entry with this index and term, or if `id` equals
    /// [`Log::last_compacted`], the ID of the last removed entry.
    pub fn contains(&self, id: EntryId) -> bool {
        self.entry_id(id.index) == Some(id)
    }

    /// Appends an entry.
    pub fn push(&mut self, entry: Entry) {
        let is_full = self.last().index.is_multiple_of(CHUNK_ENTRIES);
        match self.chunks.last_mut() {
            Some(chunk) if !is_full => Arc::make_mut(chunk).push(entry),
            _ => self.chunks.push(Arc::new([entry].into())),
        }
    }

    /// Removes all entries from `index` on.
    pub fn truncate_from(&mut self, index: u64) {
        if index > self.last().index {
            return;
        }
        let Some((chunk, position)) = self.position(index) else { return self.chunks.clear() };
        self.chunks.truncate(chunk + 1);
        if position == 0 {
            self.chunks.pop();
        } else if let Some(last) = self.chunks.last_mut() {
            Arc::make_mut(last).truncate(position);
        }
    }

    /// Removes all entries up to `id`, which becomes the base of the log. If the log does not
    /// contain the entry `id`, removes all entries, because the entries after this index belong to
    /// another history. Has no effect if `id` is before the base.
    pub fn compact_or_reset_to(&mut self, id: EntryId) {
        if id.index < self.base.index || id == self.base {
            return;
        }
        let first = self.position(id.index + 1).filter(|_| self.contains(id));
        match first {
            Some((chunk, _)) if chunk >= self.chunks.len() => self.chunks.clear(),
            None => self.chunks.clear(),
            Some((chunk, position)) => {
                self.chunks.drain(..chunk);
                if position > 0 {
                    self.chunks[0] = Arc::new(self.chunks[0][position..].to_vec());
                }
                self.chunks.retain(|chunk| !chunk.is_empty());
            }
        }
        self.base = id;
    }

    /// Returns the last index up to which this log equals `earlier`, an earlier version of this
    /// log. The search starts at the end and stops at the first equal entry. By *log matching*, all
    /// entries before that entry are equal as well. If the search finds no equal entry, returns the
    /// index of the base.
    pub(super) fn common_prefix_end(&self, earlier: &Log) -> u64 {
        let end = self.last().index.min(earlier.last().index);
        let same = |index: &u64| match (self.entry(*index), earlier.entry(*index)) {
            (Some(here), Some(there)) => here == there,
            // The entry at the base of a log is removed, so only its ID can be compared.
            _ => self.entry_id(*index) == earlier.entry_id(*index),
        };
        let alike = (self.base.index..=end).rev().find(same);
        alike.unwrap_or(self.base.index)
    }

    /// Returns the entries after the index `prev` as a log whose base is the entry at `prev`. If
    /// the log has no entry or base at `prev`, returns all retained entries.
    pub(super) fn suffix_after(&self, prev: u64) -> Log {
        let mut part = Log::starting_after(self.entry_id(prev).unwrap_or(self.base));
        let rest = part.first_index()..=self.last().index;
        rest.filter_map(|index| self.entry(index)).for_each(|entry| part.push(entry.clone()));
        part
    }

    /// Removes all entries after the base of `part`, and appends the entries of `part`.
    pub(super) fn replace_suffix(&mut self, part: &Log) {
        self.truncate_from(part.base.index.saturating_add(1));
        part.entries().for_each(|entry| self.push(entry.clone()));
    }

    /// Returns all retained entries.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.chunks.iter().flat_map(|chunk| chunk.iter())
    }

    /// Returns true if no entry is retained.
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// Returns at most `max_entries` entries from `index` on. The total payload is at most
    /// `max_payload_bytes` bytes, unless the first entry alone is larger.
    pub fn entries_from(
        &self,
        index: u64,
        max_entries: u64,
        max_payload_bytes: usize,
    ) -> Vec<Entry> {
        let end = self.last().index.min(index.saturating_add(max_entries).saturating_sub(1));
        let there = (index..=end).filter_map(|index| self.entry(index));
        let mut room = max_payload_bytes;
        let fits = |(place, entry): &(usize, &Entry)| {
            let left = room.checked_sub(entry.content.payload_len());
            room = left.unwrap_or(0);
            left.is_some() || *place == 0
        };
        there.enumerate().take_while(fits).map(|(_, entry)| entry.clone()).collect()
    }

    /// Finds the longest sequence of entries that ends at `index`, with at most `max_entries`
    /// entries and at most `max_payload_bytes` payload bytes. Returns the index before the first
    /// entry of this sequence, or `index` if no entry fits.
    pub fn index_before_trailing_entries(
        &self,
        index: u64,
        max_entries: u64,
        max_payload_bytes: usize,
    ) -> u64 {
        let first = index.saturating_sub(max_entries).max(self.base.index);
        let mut room = max_payload_bytes;
        let fits = |place: &u64| {
            let left = self.entry(*place).and_then(|it| room.checked_sub(it.content.payload_len()));
            room = left.unwrap_or(0);
            left.is_some()
        };
        (first + 1..=index).rev().take_while(fits).last().map_or(index, |place| place - 1)
    }

    /// Returns the ID of the first retained entry with the term of the entry at `index`. Returns
    /// `None` if the entry at `index` is not retained.
    pub fn first_id_with_term_of(&self, index: u64) -> Option<EntryId> {
        let EntryId { term, .. } = self.entry_id(index)?;
        let same = |index: &u64| self.entry_id(*index).is_some_and(|place| place.term == term);
        let first = (self.first_index()..=index).rev().take_while(same).last()?;
        Some(EntryId { index: first, term })
    }

    /// Returns the ID of the last entry of `term` at or before `max_index`. The result may be the
    /// base. Returns `None` if neither a retained entry nor the base has this term.
    pub fn last_of_term(&self, term: u64, max_index: u64) -> Option<EntryId> {
        let index = max_index.min(self.last().index);
        let mut places = (self.base.index..=index).rev().filter_map(|index| self.entry_id(index));
        places.find(|place| place.term <= term).filter(|place| place.term == term)
    }
}

#[cfg(feature = "serde")]
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(rename = "Log")]
struct SerializedLog {
    base: EntryId,
    entries: Vec<Entry>,
}

#[cfg(feature = "serde")]
impl From<SerializedLog> for Log {
    fn from(SerializedLog { base, entries }: SerializedLog) -> Self {
        let mut log = Log::starting_after(base);
        entries.into_iter().for_each(|entry| log.push(entry));
        log
    }
}

#[cfg(feature = "serde")]
impl From<Log> for SerializedLog {
    fn from(log: Log) -> Self {
        SerializedLog { base: log.base, entries: log.entries().cloned().collect() }
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
    fn truncated_entries_can_be_pushed_again() {
        let terms: Vec<u64> = (1..=200).collect();
        for kept in [0, 1, 63, 64, 65, 128, 199] {
            let mut cut = log(&terms);
            let copy = cut.clone();
            cut.truncate_from(kept + 1);
            assert_eq!(cut, log(&terms[..kept as usize]));
            assert_eq!(cut.last(), EntryId { index: kept, term: kept });
            (kept + 1..=200).for_each(|term| cut.push(Entry { term, content: Content::Nothing }));
            assert_eq!(cut, copy);
        }
    }

    #[test]
    fn common_prefix_and_suffix_rebuild_the_log() {
        let long = log(&[1; 150]);
        for kept in [0, 1, 63, 64, 65, 100, 150] {
            let terms: Vec<u64> = (0..150).map(|place| if place < kept { 1 } else { 2 }).collect();
            for length in [kept, kept + 1, kept + 20] {
                let other = log(&terms[..(length as usize).min(150)]);
                assert_eq!(other.common_prefix_end(&long), kept);
                let mut amended = long.clone();
                amended.replace_suffix(&other.suffix_after(kept));
                assert_eq!(amended, other);
            }
        }
    }

    #[test]
    fn compaction_preserves_later_entries() {
        let terms: Vec<u64> = (1..=200).collect();
        let whole = log(&terms);
        for base in [1, 63, 64, 65, 128, 199, 200] {
            let place = EntryId { index: base, term: base };
            let mut rest = whole.clone();
            rest.compact_or_reset_to(place);
            let mut other = Log::starting_after(place);
            (base + 1..=200).for_each(|term| {
                other.push(Entry { term, content: Content::Nothing });
            });
            assert_eq!(rest, other, "compacting equals building from the base");
            assert_eq!((rest.last_compacted(), rest.last()), (place, whole.last()));
            let places = |log: &Log| (base..=201).map(|at| log.entry_id(at)).collect::<Vec<_>>();
            assert_eq!(places(&rest), places(&whole));
            assert_eq!((rest.entry(base), rest.entry_id(base - 1)), (None, None));
            assert_eq!(rest.common_prefix_end(&whole), 200);
            let mut later = rest.clone();
            later.compact_or_reset_to(EntryId { index: 200, term: 200 });
            assert!(later.is_empty() && later.last() == whole.last());
            let mut apart = rest.clone();
            apart.compact_or_reset_to(EntryId { index: 200, term: 7 });
            assert!(apart.is_empty() && apart.last_compacted().term == 7);
            let (mut cut, mut cut_whole) = (rest, whole.clone());
            [&mut cut, &mut cut_whole].into_iter().for_each(|log| log.truncate_from(150));
            if base < 149 {
                assert_eq!(cut.last(), cut_whole.last());
            }
        }
    }

    #[test]
    fn finds_entries_by_term() {
        let log = log(&[1, 1, 3, 3, 3, 4]);
        assert_eq!(log.first_id_with_term_of(5), Some(EntryId { index: 3, term: 3 }));
        assert_eq!(log.first_id_with_term_of(1), Some(EntryId { index: 1, term: 1 }));
        assert_eq!(log.last_of_term(3, 6), Some(EntryId { index: 5, term: 3 }));
        assert_eq!(log.last_of_term(3, 4), Some(EntryId { index: 4, term: 3 }));
        assert_eq!(log.last_of_term(2, 6), None);
        assert_eq!(log.entries_from(4, 2, 0).len(), 2);
        assert_eq!(log.entries_from(6, 9, 0).len(), 1);
        assert_eq!(log.entries_from(7, 9, 0), []);
        assert!(log.contains(EntryId::default()) && !log.contains(EntryId { index: 6, term: 3 }));
    }

    #[test]
    fn limits_sent_and_retained_entries_by_bytes() {
        let mut log = Log::starting_after(EntryId { index: 100, term: 1 });
        for bytes in [30, 10, 10, 50, 10] {
            let content = Content::Payload(Payload::new(vec![0; bytes]));
            log.push(Entry { term: 1, content });
        }
        let sent = |index, most, bytes| log.entries_from(index, most, bytes).len();
        assert_eq!((sent(101, 9, 49), sent(101, 9, 50), sent(101, 2, 50)), (2, 3, 2));
        assert_eq!(
            (sent(104, 9, 20), sent(104, 9, 60)),
            (1, 2),
            "a single oversized entry is sent"
        );
        let kept = |index, most, bytes| log.index_before_trailing_entries(index, most, bytes);
        assert_eq!((kept(105, 9, 59), kept(105, 9, 60), kept(105, 9, 80)), (104, 103, 101));
        assert_eq!((kept(105, 1, 80), kept(105, 0, 80), kept(103, 9, 999)), (104, 105, 100));
        assert_eq!(kept(104, 9, 49), 104, "no entry fits");
    }

    #[test]
    fn later_term_outranks_longer_log() {
        let place = |index, term| EntryId { index, term };
        assert!(place(1, 3).is_as_up_to_date_as(place(9, 2)));
        assert!(place(2, 3).is_as_up_to_date_as(place(2, 3)));
        assert!(!place(1, 3).is_as_up_to_date_as(place(2, 3)));
    }
}
