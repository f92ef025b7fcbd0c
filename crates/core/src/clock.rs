//! Logical clocks.

use core::cmp::Ordering;
use core::fmt;

use alloc::vec::Vec;

use crate::process::ProcessId;

/// A Lamport clock: a counter that never runs behind anything it has heard of.
///
/// Lamport, *Time, clocks, and the ordering of events in a distributed system*, CACM 1978.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LamportClock(pub u64);

impl LamportClock {
    /// Advances the clock by one, before a local event, and reads it.
    pub fn tick(&mut self) -> u64 {
        self.0 += 1;
        self.0
    }

    /// Takes note of a clock that was received: never behind it again.
    pub fn observe(&mut self, received: u64) {
        self.0 = self.0.max(received);
    }

    /// Reads the clock.
    pub const fn now(self) -> u64 {
        self.0
    }
}

/// A request's place in the total order: (logical clock, process), compared in this order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Stamp {
    /// The Lamport clock when the request was made.
    pub clock: u64,
    /// Who made it; breaks ties.
    pub process: ProcessId,
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}, {})", self.clock, self.process)
    }
}

impl fmt::Debug for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// How one event stands to another in the happened-before relation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Causality {
    /// The same event.
    Same,
    /// It happened before the other.
    Before,
    /// It happened after the other.
    After,
    /// Neither could know of the other.
    Concurrent,
}

/// A vector clock: how many events of each process lie in one's past.
///
/// Kept by engines and traces, never by an algorithm.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
pub struct VectorClock(Vec<u64>);

impl VectorClock {
    /// The clock of a group of `size` processes before anything happened.
    pub fn new(size: u32) -> Self {
        VectorClock(alloc::vec![0; size as usize])
    }

    /// Counts one more event of `process`.
    pub fn tick(&mut self, process: ProcessId) {
        self.grow(process.index() + 1);
        self.0[process.index()] += 1;
    }

    /// Takes in everything that `other` knows.
    pub fn merge(&mut self, other: &VectorClock) {
        self.grow(other.0.len());
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine = (*mine).max(*theirs);
        }
    }

    /// How many events of `process` are known.
    pub fn of(&self, process: ProcessId) -> u64 {
        self.0.get(process.index()).copied().unwrap_or(0)
    }

    /// The counts, by process.
    pub fn counts(&self) -> &[u64] {
        &self.0
    }

    /// How the event with this clock stands to the one with `other`.
    pub fn causality(&self, other: &VectorClock) -> Causality {
        let places = self.0.len().max(other.0.len());
        let at = |clock: &VectorClock, i: usize| clock.0.get(i).copied().unwrap_or(0);
        let (mut less, mut greater) = (false, false);
        for i in 0..places {
            match at(self, i).cmp(&at(other, i)) {
                Ordering::Less => less = true,
                Ordering::Greater => greater = true,
                Ordering::Equal => {}
            }
        }
        match (less, greater) {
            (false, false) => Causality::Same,
            (true, false) => Causality::Before,
            (false, true) => Causality::After,
            (true, true) => Causality::Concurrent,
        }
    }

    fn grow(&mut self, places: usize) {
        if self.0.len() < places {
            self.0.resize(places, 0);
        }
    }
}

impl From<Vec<u64>> for VectorClock {
    fn from(counts: Vec<u64>) -> Self {
        VectorClock(counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receiver_knows_what_the_sender_knew() {
        let (one, two) = (ProcessId(0), ProcessId(1));
        let mut sender = VectorClock::new(2);
        sender.tick(one);
        let mut receiver = VectorClock::new(2);
        receiver.tick(two);
        assert_eq!(sender.causality(&receiver), Causality::Concurrent);
        receiver.merge(&sender);
        receiver.tick(two);
        assert_eq!(sender.causality(&receiver), Causality::Before);
        assert_eq!(receiver.causality(&sender), Causality::After);
    }

    #[test]
    fn stamps_are_ordered_by_clock_and_then_by_process() {
        let stamp = |clock, process| Stamp { clock, process: ProcessId(process) };
        assert!(stamp(1, 2) < stamp(2, 0));
        assert!(stamp(2, 0) < stamp(2, 1));
    }
}
