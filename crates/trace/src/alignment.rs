//! Alignment of two sequences by their longest common subsequence.
//!
//! The algorithm is the linear-space variant of Myers, *An O(ND) Difference Algorithm and Its
//! Variations*, 1986. A search from both ends finds a point on a shortest edit script. The parts
//! before and after this point are then aligned in the same way.

use std::collections::HashMap;
use std::hash::Hash;

/// Item of an alignment of two sequences, with its index in each sequence that contains it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AlignedItem {
    /// The item occurs in both sequences. The first number is its index in the first sequence. The
    /// second number is its index in the second sequence.
    Both(usize, usize),
    First(usize),
    Second(usize),
}

/// Alignment of two sequences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Alignment {
    /// Items of both sequences, merged into one list. The items of each sequence keep their order.
    /// Between two common items, the items that only the first sequence contains come first. The
    /// items that only the second sequence contains follow.
    pub(crate) items: Vec<AlignedItem>,
    /// True if a search reached its limit. The sequences may then have more items in common than
    /// the alignment shows.
    pub(crate) is_approximate: bool,
}

/// Bound on the time of an alignment: the total length of both sequences, multiplied by the number
/// of edits that each search may try. [`MIN_EDITS`] has priority over this bound.
const MAX_WORK: usize = 1 << 28;

/// Minimum of the number of edits that each search may try. It applies if both sequences together
/// have more than about a million items.
const MIN_EDITS: usize = 256;

/// Aligns two sequences. The result is exact if both together have at most 23,000 items, or if they
/// differ little. Otherwise it may be approximate.
pub(crate) fn align<T: Eq + Hash>(first: &[T], second: &[T]) -> Alignment {
    let length = (first.len() + second.len()).max(1);
    align_within(first, second, (MAX_WORK / length).max(MIN_EDITS))
}

/// Aligns two sequences. Each search tries at most `max_edits` edits from each end of its part.
fn align_within<T: Eq + Hash>(first: &[T], second: &[T], max_edits: usize) -> Alignment {
    // Numbers are faster to compare than items.
    let mut numbers: HashMap<&T, usize> = HashMap::new();
    let [one, other] = [first, second].map(|items| -> Vec<usize> {
        let number = |item| {
            let next = numbers.len();
            *numbers.entry(item).or_insert(next)
        };
        items.iter().map(number).collect()
    });
    let mut aligner = Aligner::new(&one, &other, max_edits);
    aligner.align();
    let Aligner { partners, is_approximate, .. } = aligner;
    let (mut items, mut next) = (Vec::new(), 0);
    for (i, partner) in partners.into_iter().enumerate() {
        let Some(j) = partner else {
            items.push(AlignedItem::First(i));
            continue;
        };
        items.extend((next..j).map(AlignedItem::Second));
        items.push(AlignedItem::Both(i, j));
        next = j + 1;
    }
    items.extend((next..second.len()).map(AlignedItem::Second));
    Alignment { items, is_approximate }
}

/// Position in both sequences: an index in the first sequence and an index in the second sequence.
type Point = (isize, isize);

/// Part of both sequences that is not aligned yet. In each sequence, the part contains the items
/// from the index in `start` to the index before `end`.
#[derive(Clone, Copy, Debug)]
struct Part {
    start: Point,
    end: Point,
}

/// Search for shortest edit scripts from one end of a part.
///
/// A diagonal is the set of points with the same difference of indices. With its current number of
/// edits, the search has reached a furthest point on every second diagonal from `lowest` to
/// `highest`.
struct Search {
    /// For each diagonal, by its number: the index in the first sequence that the search has
    /// reached, or the placeholder that [`Search::widen`] has stored.
    reached: Vec<isize>,
    lowest: isize,
    highest: isize,
}

struct Aligner<'a> {
    first: &'a [usize],
    second: &'a [usize],
    max_edits: usize,
    forward: Search,
    backward: Search,
    /// For each item of the first sequence, the index of the common item in the second sequence.
    /// `None` if the item is not common, or not aligned yet.
    partners: Vec<Option<usize>>,
    is_approximate: bool,
}

impl Part {
    const fn is_empty(&self) -> bool {
        self.start.0 == self.end.0 || self.start.1 == self.end.1
    }
}

impl Search {
    fn new(diagonals: usize) -> Self {
        Search { reached: vec![0; diagonals], lowest: 0, highest: 0 }
    }

    fn begin(&mut self, diagonal: isize, reached: isize) {
        (self.lowest, self.highest) = (diagonal, diagonal);
        self.reached[diagonal as usize] = reached;
    }

    /// Prepares the search for one more edit: sets `self.lowest` and `self.highest` to the
    /// outermost diagonals that this edit reaches, within the limits `lowest` and `highest`. If the
    /// search reaches a new outermost diagonal, stores `unreached` for the next diagonal beyond it.
    fn widen(&mut self, (lowest, highest): (isize, isize), unreached: isize) {
        if self.lowest > lowest {
            self.lowest -= 1;
            self.reached[self.lowest as usize - 1] = unreached;
        } else {
            self.lowest += 1;
        }
        if self.highest < highest {
            self.highest += 1;
            self.reached[self.highest as usize + 1] = unreached;
        } else {
            self.highest -= 1;
        }
    }

    fn diagonals(&self) -> impl Iterator<Item = isize> + use<> {
        (self.lowest..=self.highest).step_by(2)
    }

    /// Returns the index in the first sequence that the search has reached on this diagonal.
    /// Returns `None` if the diagonal is not between `self.lowest` and `self.highest`.
    fn reached_on(&self, diagonal: isize) -> Option<isize> {
        let has_reached = (self.lowest..=self.highest).contains(&diagonal);
        has_reached.then(|| self.reached[diagonal as usize])
    }
}

impl<'a> Aligner<'a> {
    fn new(first: &'a [usize], second: &'a [usize], max_edits: usize) -> Self {
        let diagonals = first.len() + second.len() + 3;
        Aligner {
            first,
            second,
            max_edits,
            forward: Search::new(diagonals),
            backward: Search::new(diagonals),
            partners: vec![None; first.len()],
            is_approximate: false,
        }
    }

    fn align(&mut self) {
        let end = (self.first.len() as isize, self.second.len() as isize);
        let mut parts = vec![Part { start: (0, 0), end }];
        while let Some(Part { mut start, mut end }) = parts.pop() {
            while !(Part { start, end }).is_empty() && self.is_same(start) {
                self.partners[start.0 as usize] = Some(start.1 as usize);
                start = (start.0 + 1, start.1 + 1);
            }
            while !(Part { start, end }).is_empty() && self.is_same((end.0 - 1, end.1 - 1)) {
                end = (end.0 - 1, end.1 - 1);
                self.partners[end.0 as usize] = Some(end.1 as usize);
            }
            if !(Part { start, end }).is_empty() {
                let middle = self.split(Part { start, end });
                assert!(middle != start && middle != end, "each part is smaller than the whole");
                parts.extend([Part { start, end: middle }, Part { start: middle, end }]);
            }
        }
    }

    fn is_same(&self, (i, j): Point) -> bool {
        self.first[i as usize] == self.second[j as usize]
    }

    /// Returns the number of the diagonal that contains a point. The numbers of all diagonals of a
    /// part are at least 1, so [`Search::reached`] has elements for both neighbours of each
    /// diagonal.
    const fn diagonal(&self, (i, j): Point) -> isize {
        i - j + self.second.len() as isize + 1
    }

    /// Returns a point of a shortest edit script of the part. If the search reaches its limit,
    /// marks the alignment as approximate, and returns the furthest point that the search from the
    /// start has reached.
    ///
    /// The first items of the part must differ, and the last items of the part must differ.
    fn split(&mut self, part: Part) -> Point {
        let Part { start, end } = part;
        let limits = (self.diagonal((start.0, end.1)), self.diagonal((end.0, start.1)));
        let (first, last) = (self.diagonal(start), self.diagonal(end));
        let is_odd = (first - last) % 2 != 0;
        self.forward.begin(first, start.0);
        self.backward.begin(last, end.0);
        for _ in 0..self.max_edits {
            self.forward.widen(limits, -1);
            if let Some(met) = self.search_forward(part, is_odd) {
                return met;
            }
            self.backward.widen(limits, isize::MAX);
            if let Some(met) = self.search_backward(part, !is_odd) {
                return met;
            }
        }
        self.is_approximate = true;
        self.furthest(part)
    }

    /// Extends the search from the start by one edit and the common items after it. Returns the
    /// point at which this search meets the search from the end. Returns `None` if the two searches
    /// do not meet, or if `may_meet` is false.
    fn search_forward(&mut self, Part { end, .. }: Part, may_meet: bool) -> Option<Point> {
        let origin = self.diagonal((0, 0));
        for diagonal in self.forward.diagonals() {
            let reached = &self.forward.reached;
            let (below, above) = (reached[diagonal as usize - 1], reached[diagonal as usize + 1]);
            let mut i = if below < above { above } else { below + 1 };
            let mut j = i - (diagonal - origin);
            while i < end.0 && j < end.1 && self.is_same((i, j)) {
                (i, j) = (i + 1, j + 1);
            }
            self.forward.reached[diagonal as usize] = i;
            let other = self.backward.reached_on(diagonal).filter(|_| may_meet);
            if other.is_some_and(|other| other <= i) {
                return Some((i, j));
            }
        }
        None
    }

    /// Extends the search from the end by one edit and the common items before it. Returns the
    /// point at which this search meets the search from the start. Returns `None` if the two
    /// searches do not meet, or if `may_meet` is false.
    fn search_backward(&mut self, Part { start, .. }: Part, may_meet: bool) -> Option<Point> {
        let origin = self.diagonal((0, 0));
        for diagonal in self.backward.diagonals() {
            let reached = &self.backward.reached;
            let (below, above) = (reached[diagonal as usize - 1], reached[diagonal as usize + 1]);
            let mut i = if below < above { below } else { above - 1 };
            let mut j = i - (diagonal - origin);
            while i > start.0 && j > start.1 && self.is_same((i - 1, j - 1)) {
                (i, j) = (i - 1, j - 1);
            }
            self.backward.reached[diagonal as usize] = i;
            let other = self.forward.reached_on(diagonal).filter(|_| may_meet);
            if other.is_some_and(|other| other >= i) {
                return Some((i, j));
            }
        }
        None
    }

    /// Returns the furthest point of the part that the search from the start has reached: the point
    /// with the most items of both sequences before it.
    fn furthest(&self, Part { start, end }: Part) -> Point {
        let origin = self.diagonal((0, 0));
        let point = |diagonal: isize| {
            // The search may go one item beyond the end of a sequence.
            let offset = diagonal - origin;
            let i = self.forward.reached[diagonal as usize].min(end.0).min(end.1 + offset);
            (i, i - offset)
        };
        self.forward.diagonals().map(point).max_by_key(|(i, j)| i + j).unwrap_or(start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use AlignedItem::{Both, First, Second};

    /// Returns the length of the longest common subsequence.
    fn longest_common(first: &[u32], second: &[u32]) -> usize {
        let mut lengths = vec![0; second.len() + 1];
        for one in first {
            let mut diagonal = 0;
            for (j, other) in second.iter().enumerate() {
                let above = lengths[j + 1];
                lengths[j + 1] = if one == other { diagonal + 1 } else { above.max(lengths[j]) };
                diagonal = above;
            }
        }
        lengths[second.len()]
    }

    /// Asserts that an alignment contains each item once and in order, and that common items are
    /// equal. Returns the number of common items.
    fn common_count(first: &[u32], second: &[u32], alignment: &Alignment) -> usize {
        let (mut i, mut j, mut common) = (0, 0, 0);
        for item in &alignment.items {
            let (one, other) = match item {
                Both(one, other) => (Some(one), Some(other)),
                First(one) => (Some(one), None),
                Second(other) => (None, Some(other)),
            };
            assert!(one.is_none_or(|one| *one == i) && other.is_none_or(|other| *other == j));
            if let (Some(one), Some(other)) = (one, other) {
                assert_eq!(first[*one], second[*other]);
                common += 1;
            }
            i += usize::from(one.is_some());
            j += usize::from(other.is_some());
        }
        assert_eq!((i, j), (first.len(), second.len()));
        common
    }

    /// Returns `length` pseudo-random numbers below `bound`, drawn from the seed `seed`.
    fn sequence(seed: u64, length: usize, bound: u64) -> Vec<u32> {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let next = |_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
            ((state >> 33) % bound) as u32
        };
        (0..length).map(next).collect()
    }

    #[test]
    fn aligns_common_items() {
        let aligned = |one: &str, other: &str| {
            let [one, other] = [one, other].map(|it| it.chars().collect::<Vec<char>>());
            align(&one, &other).items
        };
        let all = [Both(0, 0), First(1), Second(1), Both(2, 2), Second(3)];
        assert_eq!(aligned("abc", "axcd"), all);
        assert_eq!(aligned("ab", "ab"), [Both(0, 0), Both(1, 1)]);
        assert_eq!(aligned("xab", "ab"), [First(0), Both(1, 0), Both(2, 1)]);
        assert_eq!(aligned("", "a"), [Second(0)]);
    }

    #[test]
    fn alignment_has_longest_common_subsequence() {
        for seed in 0..400 {
            let (lengths, bound) = ((seed as usize % 23, seed as usize * 7 % 31), 1 + seed % 6);
            let first = sequence(seed, lengths.0, bound);
            let second = sequence(seed + 1000, lengths.1, bound);
            let exact = align(&first, &second);
            assert!(!exact.is_approximate);
            let longest = longest_common(&first, &second);
            assert_eq!(common_count(&first, &second, &exact), longest, "{first:?} {second:?}");
            for max_edits in 1..5 {
                let limited = align_within(&first, &second, max_edits);
                let common = common_count(&first, &second, &limited);
                assert!(common == longest || common < longest && limited.is_approximate);
            }
        }
    }

    #[test]
    fn long_sequences_that_differ_are_aligned() {
        let first: Vec<u32> = (0..6000).collect();
        let second: Vec<u32> =
            first.iter().map(|i| if i % 3 == 0 { i + 6000 } else { *i }).collect();
        let exact = align(&first, &second);
        assert!(!exact.is_approximate);
        assert_eq!(common_count(&first, &second, &exact), 4000);
    }

    #[test]
    fn limited_search_finds_most_common_items() {
        let [first, second] = [1, 2].map(|seed| sequence(seed, 1000, 40));
        let limited = align_within(&first, &second, 40);
        assert!(limited.is_approximate);
        let longest = longest_common(&first, &second);
        let common = common_count(&first, &second, &limited);
        assert!(common < longest && common * 10 > longest * 8, "{common} of {longest}");
    }
}
