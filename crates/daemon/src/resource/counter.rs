//! The counter and its rule, without any network.

use tenure_core::{Fence, ProcessId};
use tenure_trace::{Access, Operation};

/// How often the counter was accessed, and what it holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// The value now.
    pub value: u64,
    /// How many puts were accepted: the value, if no update got lost.
    pub puts: u64,
    /// How many accesses were refused.
    pub refused: u64,
}

/// A counter that refuses whoever is late.
#[derive(Clone, Debug, Default)]
pub(super) struct Counter {
    highest: Option<Fence>,
    tally: Tally,
}

impl Counter {
    /// Reads, or writes `value`, unless a higher fence was seen before. An equal one is of the
    /// same entry. Without a fence there is nothing to refuse by.
    pub(super) fn access(
        &mut self,
        by: ProcessId,
        operation: Operation,
        fence: Option<Fence>,
        value: u64,
    ) -> Access {
        let accepted = fence.is_none() || fence >= self.highest;
        if accepted {
            self.highest = fence.or(self.highest);
        } else {
            self.tally.refused += 1;
        }
        let value = match operation {
            Operation::Get => self.tally.value,
            Operation::Put => value,
        };
        if accepted && operation == Operation::Put {
            self.tally.value = value;
            self.tally.puts += 1;
        }
        Access { by, operation, fence, value, accepted, highest: self.highest }
    }

    pub(super) fn tally(&self) -> Tally {
        self.tally
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_trace::Operation::{Get, Put};

    const P1: ProcessId = ProcessId(0);
    const P2: ProcessId = ProcessId(1);

    fn fence(number: u64) -> Option<Fence> {
        Some(Fence(number, 0))
    }

    #[test]
    fn the_fence_of_one_entry_serves_both_of_its_accesses() {
        let mut counter = Counter::default();
        assert!(counter.access(P1, Get, fence(1), 0).accepted);
        assert!(counter.access(P1, Put, fence(1), 7).accepted);
        assert_eq!(counter.access(P2, Get, fence(2), 0).value, 7);
        assert_eq!(counter.tally(), Tally { value: 7, puts: 1, refused: 0 });
    }

    #[test]
    fn a_get_raises_the_fence_so_that_a_late_put_is_refused() {
        let mut counter = Counter::default();
        counter.access(P1, Get, fence(1), 0);
        counter.access(P2, Get, fence(2), 0);
        let late = counter.access(P1, Put, fence(1), 1);
        assert!(!late.accepted);
        assert_eq!(late.highest, fence(2));
        assert!(counter.access(P2, Put, fence(2), 1).accepted);
        assert_eq!(counter.tally(), Tally { value: 1, puts: 1, refused: 1 });
    }

    #[test]
    fn a_put_raises_the_fence_so_that_a_late_get_is_refused() {
        let mut counter = Counter::default();
        counter.access(P2, Put, fence(2), 5);
        assert!(!counter.access(P1, Get, fence(1), 0).accepted);
        assert!(!counter.access(P1, Get, Some(Fence(1, u64::MAX)), 0).accepted);
        assert!(counter.access(P1, Get, Some(Fence(2, 1)), 0).accepted);
    }

    #[test]
    fn without_fences_everything_is_accepted_and_updates_get_lost() {
        let mut counter = Counter::default();
        let first = counter.access(P1, Get, None, 0).value;
        let second = counter.access(P2, Get, None, 0).value;
        assert!(counter.access(P1, Put, None, first + 1).accepted);
        assert!(counter.access(P2, Put, None, second + 1).accepted);
        assert_eq!(counter.tally(), Tally { value: 1, puts: 2, refused: 0 });
    }
}
