//! A world: a global state as one row of small integers. The positions in this row are called
//! slots. There are slots for the processes (each with its timers and its user), the links, the
//! counts of faults, the monitors, the properties written as expressions, the sessions of peers,
//! and the next prescribed step.

pub(crate) mod action;
pub(crate) mod choices;
pub(crate) mod initial;
pub(crate) mod local;
pub(crate) mod network;
pub(crate) mod rules;
pub(crate) mod step_queue;

use crate::model::fingerprint::{HashDomain, fingerprint};

/// Greatest number of processes that a check supports.
pub const MAX_PROCESSES: u32 = 31;

/// Value in the slot of a monitor whose property the run has already violated. The search does not
/// check this monitor any more.
pub(crate) const VIOLATED_MONITOR: u32 = u32::MAX;

/// Layout of the global states of a search. A global state is a row of ids. The layout assigns one
/// or more positions of this row, called slots, to each part of the state, such as a process, a
/// link or a monitor.
///
/// The search also stores up to 32 marks with each global state. A mark is one bit that states a
/// fact about the global state, for example that a process waits. The layout assigns the bits, and
/// the analysis of liveness reads them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StateLayout {
    pub(crate) size: usize,
    /// True if the applications of the processes have links of their own, in addition to the links
    /// of the protocol.
    pub(crate) has_application_links: bool,
    /// Number of monitors.
    pub(crate) monitor_count: usize,
    /// Monitors that also judge the end of a run, as bits. Each of them has a mark.
    pub(crate) monitors_of_ends: u32,
    /// Number of properties written as expressions.
    pub(crate) custom_property_count: usize,
    /// True if processes detect restarts of their peers. Each process then has two slots for
    /// restarted peers.
    pub(crate) detects_restarts: bool,
    /// True if the protocol combines a lock with an election. Each process then has two marks: one
    /// is set while the process waits to be served, the other while it waits to be informed.
    /// Otherwise each process has one mark for both.
    pub(crate) has_election: bool,
    /// True if the configuration prescribes the first steps of a run. Each global state then has a
    /// slot for the next of these steps.
    pub(crate) has_forced_steps: bool,
}

impl StateLayout {
    /// Returns the bit that is set while the process waits to be served.
    pub(crate) fn waiting_mask(self, process: usize) -> u32 {
        1 << process
    }

    /// Returns the bit that is set while this process waits for a result that another process
    /// already knows.
    pub(crate) fn uninformed_mask(self, process: usize) -> u32 {
        1 << if self.has_election { self.size + process } else { process }
    }

    /// Returns the bit of the monitor at `index`. The bit is set in each global state in which the
    /// monitor forbids the end of a run. Returns 0 if this monitor does not judge ends of runs.
    pub(crate) fn end_violation_mask(self, index: usize) -> u32 {
        let bit = 1 << index;
        let before = (self.monitors_of_ends & (bit - 1)).count_ones() as usize;
        let is_marked = self.monitors_of_ends & bit != 0;
        if is_marked { 1 << (self.process_mark_count() + before) } else { 0 }
    }

    /// Returns the number of marks that describe processes and ends of runs. These marks are the
    /// lowest bits of the set of marks.
    pub(crate) fn fixed_mark_count(self) -> usize {
        self.process_mark_count() + self.monitors_of_ends.count_ones() as usize
    }

    /// Returns the number of marks that describe processes. These marks are the lowest bits of the
    /// set of marks.
    pub(crate) fn process_mark_count(self) -> usize {
        if self.has_election { 2 * self.size } else { self.size }
    }

    pub(crate) fn link_count(self) -> usize {
        self.size * self.size * if self.has_application_links { 2 } else { 1 }
    }

    /// Returns the slot of the link between two processes. If `application` is true, returns the
    /// slot of the link between the applications of these processes.
    pub(crate) fn link_slot(self, from: u32, to: u32, application: bool) -> usize {
        let layer = if application { self.size * self.size } else { 0 };
        self.size + layer + from as usize * self.size + to as usize
    }

    /// Returns the index of the receiver of the link at a slot.
    pub(crate) fn receiver(self, slot: usize) -> usize {
        (slot - self.size) % self.size
    }

    /// Returns the index of the sender of the link at a slot.
    pub(crate) fn sender(self, slot: usize) -> usize {
        (slot - self.size) / self.size % self.size
    }

    /// Returns true if the link at a slot leads to the sender's successor on the ring of all
    /// processes.
    pub(crate) fn is_ring_link(self, slot: usize) -> bool {
        (self.sender(slot) + 1) % self.size == self.receiver(slot)
    }

    pub(crate) fn link_slots(self) -> std::ops::Range<usize> {
        self.size..self.size + self.link_count()
    }

    /// Returns the slot of the counts of faults: for each kind of fault, how often it has occurred.
    pub(crate) fn fault_counts_slot(self) -> usize {
        self.size + self.link_count()
    }

    pub(crate) fn monitor_slot(self, index: usize) -> usize {
        self.fault_counts_slot() + 1 + index
    }

    /// Returns the slot of the property at `index` in the list of properties written as
    /// expressions. The expression of a property contains variables. The slot states for which
    /// values of these variables an event is still due.
    pub(crate) fn custom_slot(self, index: usize) -> usize {
        self.monitor_slot(self.monitor_count) + index
    }

    /// Returns the slot that contains a set of peers, one bit per peer. The set contains each peer
    /// whose new session this process has not detected yet.
    pub(crate) fn undetected_restarts_slot(self, process: usize) -> usize {
        self.custom_slot(self.custom_property_count) + process
    }

    /// Returns the slot that contains one peer, encoded as one bit. This process has suspected the
    /// peer because of the peer's new session, and must trust the peer again in its next step.
    pub(crate) fn pending_trust_slot(self, process: usize) -> usize {
        self.undetected_restarts_slot(self.size) + process
    }

    /// Returns the slot that identifies the next prescribed step: its index in the list of all
    /// prescribed steps, plus 1. The slot contains 0 if no step is prescribed any more.
    pub(crate) fn forced_step_slot(self) -> usize {
        self.custom_slot(self.custom_property_count)
            + if self.detects_restarts { 2 * self.size } else { 0 }
    }

    /// Returns the number of integers that represent a global state.
    pub(crate) fn stride(self) -> usize {
        self.forced_step_slot() + usize::from(self.has_forced_steps)
    }
}

/// A fault, or another kind of step whose number per run is limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LimitedFault {
    Loss,
    Duplication,
    Crash,
    Recovery,
    FalseSuspicion,
    ApplicationMessage,
    /// A partition of the network. At most one partition can occur in a run, so the count of
    /// partitions needs fewer bits than the counts of the other faults.
    Partition,
}

/// Number of bits of one number in [`FaultCounts`].
const BITS: u32 = 5;

/// Greatest number of faults of one kind that a check may allow per run.
pub(crate) const MAX_FAULTS: u32 = (1 << BITS) - 1;

/// Numbers of faults, one for each [`LimitedFault`]: either how often the fault has occurred, or
/// how often it may occur. Each number takes [`BITS`] bits, except the number of partitions, which
/// takes the remaining two bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FaultCounts(pub(crate) u32);

impl FaultCounts {
    pub(crate) fn count(self, fault: LimitedFault) -> u32 {
        (self.0 >> (fault as u32 * BITS)) & MAX_FAULTS
    }

    #[must_use]
    pub(crate) fn with_count(self, fault: LimitedFault, times: u32) -> Self {
        assert!(times <= MAX_FAULTS, "a budget is at most {MAX_FAULTS}");
        let shift = fault as u32 * BITS;
        FaultCounts(self.0 & !(MAX_FAULTS << shift) | times << shift)
    }

    #[must_use]
    pub(crate) fn incremented(self, fault: LimitedFault) -> Self {
        self.with_count(fault, self.count(fault) + 1)
    }

    /// Returns the fingerprint of these numbers of faults. It is a part of the fingerprint of a
    /// global state.
    pub(crate) fn fingerprint(self) -> u64 {
        fingerprint(HashDomain::FaultCounts, &self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_do_not_overlap() {
        let (application, detects_restarts, has_election) = (true, true, false);
        let layout = StateLayout {
            size: 3,
            has_application_links: application,
            monitor_count: 2,
            monitors_of_ends: 0,
            custom_property_count: 1,
            detects_restarts,
            has_election,
            has_forced_steps: true,
        };
        let mut slots: Vec<usize> = (0..3).collect();
        for application in [false, true] {
            for (from, to) in (0..3).flat_map(|from| (0..3).map(move |to| (from, to))) {
                slots.push(layout.link_slot(from, to, application));
                assert_eq!(layout.receiver(*slots.last().unwrap()), to as usize);
                assert_eq!(layout.sender(*slots.last().unwrap()), from as usize);
            }
        }
        slots.extend([
            layout.fault_counts_slot(),
            layout.monitor_slot(0),
            layout.monitor_slot(1),
            layout.custom_slot(0),
        ]);
        slots.extend((0..3).map(|process| layout.undetected_restarts_slot(process)));
        slots.extend((0..3).map(|process| layout.pending_trust_slot(process)));
        slots.push(layout.forced_step_slot());
        assert!(slots.into_iter().eq(0..layout.stride()));
    }

    #[test]
    fn only_monitors_of_ends_have_marks() {
        let layout = StateLayout {
            size: 29,
            has_application_links: false,
            monitor_count: 32,
            monitors_of_ends: 1 << 31 | 0b101,
            custom_property_count: 0,
            detects_restarts: false,
            has_election: false,
            has_forced_steps: false,
        };
        let marks = [0, 1, 2, 30, 31].map(|index| layout.end_violation_mask(index));
        assert_eq!(marks, [1 << 29, 0, 1 << 30, 0, 1 << 31]);
        assert_eq!(layout.fixed_mark_count(), 32);
    }

    #[test]
    fn budgets_are_counted_apart() {
        let spent = FaultCounts::default()
            .incremented(LimitedFault::Crash)
            .incremented(LimitedFault::Crash);
        let spent =
            spent.with_count(LimitedFault::ApplicationMessage, 31).incremented(LimitedFault::Loss);
        assert_eq!(spent.count(LimitedFault::Crash), 2);
        assert_eq!(spent.count(LimitedFault::Recovery), 0);
        assert_eq!(spent.count(LimitedFault::ApplicationMessage), 31);
        assert_eq!(spent.count(LimitedFault::Loss), 1);
        let spent = spent.incremented(LimitedFault::Partition);
        assert_eq!(
            (spent.count(LimitedFault::Partition), spent.count(LimitedFault::ApplicationMessage)),
            (1, 31)
        );
    }
}
