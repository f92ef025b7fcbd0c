//! Logical clocks: Lamport clocks and vector clocks.

use core::cmp::Ordering;
use core::fmt;

use alloc::vec::Vec;

use crate::process::ProcessId;

/// A Lamport clock: a counter that is never less than a value that its process has observed.
///
/// Lamport, *Time, clocks, and the ordering of events in a distributed system*, CACM 1978.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LamportClock(pub u64);

impl LamportClock {
    /// Advances the clock by one for a local event, and returns the new value.
    pub fn tick(&mut self) -> u64 {
        self.0 += 1;
        self.0
    }

    /// Sets the clock to the received value if this value is higher. Does not count the receipt as
    /// an event: the caller advances the clock with [`LamportClock::tick`].
    pub fn observe(&mut self, received: u64) {
        self.0 = self.0.max(received);
    }

    /// Returns the current value.
    pub const fn now(self) -> u64 {
        self.0
    }
}

/// Timestamp of a request. Timestamps order all requests: by the logical clock, and by the process
/// if two clock values are equal.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Timestamp {
    /// Lamport clock at the time of the request.
    pub clock: u64,
    /// Process that made the request.
    pub process: ProcessId,
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}, {})", self.clock, self.process)
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Relation of two events in Lamport's happened-before order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Causality {
    /// The two vector clocks are equal: they belong to the same event.
    Same,
    /// The first event happened before the second event.
    Before,
    /// The first event happened after the second event.
    After,
    /// The events are concurrent: neither happened before the other.
    Concurrent,
}

/// A vector clock: for each process, the number of its events in a causal past.
///
/// Engines and traces keep vector clocks. Among the algorithms, only causal broadcast keeps a
/// vector clock.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
pub struct VectorClock(Vec<u64>);

impl VectorClock {
    /// Creates the vector clock of a group of `size` processes in which no event has occurred.
    pub fn new(size: u32) -> Self {
        VectorClock(alloc::vec![0; size as usize])
    }

    /// Adds one event of `process` to the causal past.
    pub fn tick(&mut self, process: ProcessId) {
        self.grow(process.index() + 1);
        self.0[process.index()] += 1;
    }

    /// Merges the causal past of `other` into this clock.
    pub fn merge(&mut self, other: &VectorClock) {
        self.grow(other.0.len());
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine = (*mine).max(*theirs);
        }
    }

    /// Returns the number of events of `process` in the causal past.
    pub fn count(&self, process: ProcessId) -> u64 {
        self.0.get(process.index()).copied().unwrap_or(0)
    }

    /// Returns the number of events of each process in the causal past, indexed by process number
    /// from 0. Processes without events may be missing at the end.
    pub fn counts(&self) -> &[u64] {
        &self.0
    }

    /// Returns the relation between the event with this clock and the event with the clock `other`.
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
    fn merge_orders_sender_before_receiver() {
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
    fn timestamps_order_by_clock_then_process() {
        let stamp = |clock, process| Timestamp { clock, process: ProcessId(process) };
        assert!(stamp(1, 2) < stamp(2, 0));
        assert!(stamp(2, 0) < stamp(2, 1));
    }
}
