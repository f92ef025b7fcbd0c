//! Sets of processes.

use core::fmt;

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::process::ProcessId;

const INLINE_WORDS: usize = 2;
const BITS: usize = u64::BITS as usize;

/// A set of processes. It is a bitset, which is stored inline if all members have numbers below 128
/// (from 0), and on the heap otherwise.
///
/// The representation is canonical: equal sets are equal values with equal hashes, whatever
/// operations produced them.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ProcessSet(Words);

/// Bits of the set: the process with number *n*, from 0, is bit *n* mod 64 of word *n* / 64. `Heap`
/// is used only if a member has number 128 or above, and the last word of `Heap` is never zero.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Words {
    Inline([u64; INLINE_WORDS]),
    Heap(Box<[u64]>),
}

impl ProcessSet {
    /// Creates the empty set.
    pub const fn new() -> Self {
        ProcessSet(Words::Inline([0; INLINE_WORDS]))
    }

    /// Creates the set of the first `size` processes: a whole group.
    pub fn first_n(size: u32) -> Self {
        let mut set = ProcessSet::with_room(size);
        let words = set.words_mut();
        let (whole, rest) = (size as usize / BITS, size as usize % BITS);
        words[..whole].fill(u64::MAX);
        if rest > 0 {
            words[whole] = (1 << rest) - 1;
        }
        set
    }

    /// Creates an empty set with memory for `size` processes. In a set on the heap, the last word
    /// must not be zero. The caller must therefore add a process whose bit is in the last word.
    fn with_room(size: u32) -> Self {
        let words = (size as usize).div_ceil(BITS);
        if words <= INLINE_WORDS {
            return ProcessSet::new();
        }
        ProcessSet(Words::Heap(alloc::vec![0; words].into_boxed_slice()))
    }

    /// Adds a process. Returns true if the process was not a member before.
    #[inline]
    pub fn insert(&mut self, process: ProcessId) -> bool {
        let (word, bit) = place(process);
        if word >= self.words().len() {
            self.grow(word + 1);
        }
        let slot = &mut self.words_mut()[word];
        let new = *slot & bit == 0;
        *slot |= bit;
        new
    }

    /// Removes a process. Returns true if it was a member.
    #[inline]
    pub fn remove(&mut self, process: ProcessId) -> bool {
        if !self.contains(process) {
            return false;
        }
        let (word, bit) = place(process);
        self.words_mut()[word] &= !bit;
        if let Words::Heap(words) = &self.0
            && words.last() == Some(&0)
        {
            *self = ProcessSet::from_words(words.to_vec());
        }
        true
    }

    /// Returns true if a process is a member.
    #[inline]
    pub fn contains(&self, process: ProcessId) -> bool {
        let (word, bit) = place(process);
        self.words().get(word).is_some_and(|w| w & bit != 0)
    }

    /// Returns the number of members.
    #[inline]
    pub fn len(&self) -> u32 {
        self.words().iter().map(|word| word.count_ones()).sum()
    }

    /// Returns true if the set has no members.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.words().iter().all(|word| *word == 0)
    }

    /// Removes all members.
    pub fn clear(&mut self) {
        *self = ProcessSet::new();
    }

    /// Returns true if some process is in both sets.
    pub fn intersects(&self, other: &ProcessSet) -> bool {
        self.words().iter().zip(other.words()).any(|(a, b)| a & b != 0)
    }

    /// Returns true if every member of this set is a member of `other`.
    pub fn is_subset(&self, other: &ProcessSet) -> bool {
        self.iter().all(|process| other.contains(process))
    }

    /// Returns the members, in ascending order.
    pub fn iter(&self) -> Iter<'_> {
        Iter { words: self.words(), word: 0, bits: self.words()[0] }
    }

    /// Returns the smallest member; `None` if the set is empty.
    pub fn smallest(&self) -> Option<ProcessId> {
        self.iter().next()
    }

    #[inline]
    fn words(&self) -> &[u64] {
        match &self.0 {
            Words::Inline(words) => words,
            Words::Heap(words) => words,
        }
    }

    #[inline]
    fn words_mut(&mut self) -> &mut [u64] {
        match &mut self.0 {
            Words::Inline(words) => words,
            Words::Heap(words) => words,
        }
    }

    #[cold]
    fn grow(&mut self, size: usize) {
        let mut words = self.words().to_vec();
        words.resize(size, 0);
        self.0 = Words::Heap(words.into_boxed_slice());
    }

    fn from_words(mut words: Vec<u64>) -> Self {
        while words.last() == Some(&0) {
            words.pop();
        }
        if words.len() > INLINE_WORDS {
            return ProcessSet(Words::Heap(words.into_boxed_slice()));
        }
        let mut inline = [0; INLINE_WORDS];
        inline[..words.len()].copy_from_slice(&words);
        ProcessSet(Words::Inline(inline))
    }
}

fn place(process: ProcessId) -> (usize, u64) {
    (process.index() / BITS, 1 << (process.index() % BITS))
}

impl Default for ProcessSet {
    fn default() -> Self {
        ProcessSet::new()
    }
}

/// Iterator over the members of a [`ProcessSet`], in ascending order.
#[derive(Clone, Debug)]
pub struct Iter<'a> {
    words: &'a [u64],
    word: usize,
    bits: u64,
}

impl Iterator for Iter<'_> {
    type Item = ProcessId;

    fn next(&mut self) -> Option<ProcessId> {
        while self.bits == 0 {
            self.word += 1;
            self.bits = *self.words.get(self.word)?;
        }
        let bit = self.bits.trailing_zeros() as usize;
        self.bits &= self.bits - 1;
        Some(ProcessId::from_index(self.word * BITS + bit))
    }
}

impl<'a> IntoIterator for &'a ProcessSet {
    type Item = ProcessId;
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

impl FromIterator<ProcessId> for ProcessSet {
    fn from_iter<I: IntoIterator<Item = ProcessId>>(processes: I) -> Self {
        let mut set = ProcessSet::new();
        set.extend(processes);
        set
    }
}

impl Extend<ProcessId> for ProcessSet {
    fn extend<I: IntoIterator<Item = ProcessId>>(&mut self, processes: I) {
        for process in processes {
            self.insert(process);
        }
    }
}

impl fmt::Debug for ProcessSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self).finish()
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for ProcessSet {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Collects the members first, because some formats need the length before the elements.
        serializer.collect_seq(self.iter().collect::<Vec<_>>())
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for ProcessSet {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Limits the memory that a single large id in a hostile message can allocate.
        const MAX_PROCESSES: u32 = 1 << 24;
        let processes = Vec::<ProcessId>::deserialize(deserializer)?;
        match processes.iter().find(|process| process.0 >= MAX_PROCESSES) {
            Some(process) => Err(serde::de::Error::custom(alloc::format!(
                "{process} is out of range: expected fewer than {MAX_PROCESSES} processes"
            ))),
            None => Ok(processes.into_iter().collect()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_sets_have_one_representation() {
        let small: ProcessSet = [ProcessId(3)].into_iter().collect();
        let mut shrunk: ProcessSet = [ProcessId(3), ProcessId(900)].into_iter().collect();
        assert_ne!(small, shrunk);
        assert!(shrunk.remove(ProcessId(900)));
        assert_eq!(small, shrunk);
    }

    #[test]
    fn group_contains_exactly_its_members() {
        for size in [0, 1, 63, 64, 65, 127, 128, 129, 1000] {
            let set = ProcessSet::first_n(size);
            assert_eq!(set.len(), size);
            assert!(set.iter().map(|p| p.0).eq(0..size));
            let inserted: ProcessSet = (0..size).map(ProcessId).collect();
            assert_eq!(set, inserted);
        }
    }

    #[test]
    fn removing_absent_process_changes_nothing() {
        let mut set = ProcessSet::first_n(5);
        assert!(!set.remove(ProcessId(500)));
        assert_eq!(set, ProcessSet::first_n(5));
        assert!(!set.insert(ProcessId(4)));
        assert!(!set.is_subset(&ProcessSet::first_n(4)));
        assert!(set.intersects(&ProcessSet::first_n(1)));
        assert!(!set.intersects(&ProcessSet::new()));
    }
}
