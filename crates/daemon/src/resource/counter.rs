//! Counter that checks fencing tokens. It does not use the network.

use tenure_core::{Fence, ProcessId};
use tenure_trace::{ResourceAccessRecord, ResourceOperation};

/// Value of the counter, and the numbers of accepted writes and of rejected accesses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CounterStats {
    /// Current value of the counter.
    pub value: u64,
    /// Number of accepted writes. This number is equal to `value` if no update was lost.
    pub puts: u64,
    /// Number of rejected accesses.
    pub rejected: u64,
}

/// Counter that rejects fencing tokens lower than the highest one seen.
#[derive(Clone, Debug, Default)]
pub(super) struct Counter {
    highest: Option<Fence>,
    stats: CounterStats,
}

impl Counter {
    /// Reads the counter, or writes `value`. Returns the record of the access. Rejects the access
    /// if the counter has seen a higher fencing token than `fence`. Accepts an equal token, because
    /// it belongs to the same entry into the critical section. Always accepts an access without a
    /// token.
    pub(super) fn access(
        &mut self,
        by: ProcessId,
        operation: ResourceOperation,
        fence: Option<Fence>,
        value: u64,
    ) -> ResourceAccessRecord {
        let accepted = fence.is_none() || fence >= self.highest;
        if accepted {
            self.highest = fence.or(self.highest);
        } else {
            self.stats.rejected += 1;
        }
        let value = match operation {
            ResourceOperation::Get => self.stats.value,
            ResourceOperation::Put => value,
        };
        if accepted && operation == ResourceOperation::Put {
            self.stats.value = value;
            self.stats.puts += 1;
        }
        ResourceAccessRecord { by, operation, fence, value, accepted, highest: self.highest }
    }

    pub(super) fn stats(&self) -> CounterStats {
        self.stats
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_trace::ResourceOperation::{Get, Put};

    const P1: ProcessId = ProcessId(0);
    const P2: ProcessId = ProcessId(1);

    fn fence(number: u64) -> Option<Fence> {
        Some(Fence(number, 0))
    }

    #[test]
    fn accepts_both_accesses_of_one_entry() {
        let mut counter = Counter::default();
        assert!(counter.access(P1, Get, fence(1), 0).accepted);
        assert!(counter.access(P1, Put, fence(1), 7).accepted);
        assert_eq!(counter.access(P2, Get, fence(2), 0).value, 7);
        assert_eq!(counter.stats(), CounterStats { value: 7, puts: 1, rejected: 0 });
    }

    #[test]
    fn rejects_late_write_after_newer_read() {
        let mut counter = Counter::default();
        counter.access(P1, Get, fence(1), 0);
        counter.access(P2, Get, fence(2), 0);
        let late = counter.access(P1, Put, fence(1), 1);
        assert!(!late.accepted);
        assert_eq!(late.highest, fence(2));
        assert!(counter.access(P2, Put, fence(2), 1).accepted);
        assert_eq!(counter.stats(), CounterStats { value: 1, puts: 1, rejected: 1 });
    }

    #[test]
    fn rejects_late_read_after_newer_write() {
        let mut counter = Counter::default();
        counter.access(P2, Put, fence(2), 5);
        assert!(!counter.access(P1, Get, fence(1), 0).accepted);
        assert!(!counter.access(P1, Get, Some(Fence(1, u64::MAX)), 0).accepted);
        assert!(counter.access(P1, Get, Some(Fence(2, 1)), 0).accepted);
    }

    #[test]
    fn updates_are_lost_without_fencing_tokens() {
        let mut counter = Counter::default();
        let first = counter.access(P1, Get, None, 0).value;
        let second = counter.access(P2, Get, None, 0).value;
        assert!(counter.access(P1, Put, None, first + 1).accepted);
        assert!(counter.access(P2, Put, None, second + 1).accepted);
        assert_eq!(counter.stats(), CounterStats { value: 1, puts: 2, rejected: 0 });
    }
}
