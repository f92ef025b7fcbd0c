//! A world: a global state as one row of small integers. The slots are the processes (each with its
//! timers and its user), the links, the spent faults, the monitors, and the sessions of peers.

pub(crate) mod action;
pub(crate) mod choices;
pub(crate) mod initial;
pub(crate) mod local;
pub(crate) mod network;
pub(crate) mod rules;

use crate::model::fingerprint::{Role, fingerprint};

/// Greatest number of processes in a search.
pub(crate) const MAX_PROCESSES: u32 = 31;

/// State of a violated monitor, which is not checked any more.
pub(crate) const VIOLATED: u32 = u32::MAX;

/// Assignment of the slots and marks of a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) size: usize,
    /// True if there are links of the application besides those of the protocol.
    pub(crate) application: bool,
    pub(crate) monitors: usize,
    /// True if processes detect new sessions of their peers.
    pub(crate) sessions: bool,
    /// True if a lock is combined with an election, so that a process has two marks.
    pub(crate) has_election: bool,
}

impl Layout {
    /// Returns the mark of a process that waits to be served.
    pub(crate) fn waiting_mark(self, process: usize) -> u32 {
        1 << process
    }

    /// Returns the mark of a process that has not been informed although another one has.
    pub(crate) fn uninformed_mark(self, process: usize) -> u32 {
        1 << if self.has_election { self.size + process } else { process }
    }

    /// Returns the mark of a world that a monitor rejects as an end.
    pub(crate) fn end_mark(self, index: usize) -> u32 {
        1 << (self.marks_of_processes() + index)
    }

    /// Returns the number of marks of processes. Marks are bits of one `u32`.
    pub(crate) fn marks_of_processes(self) -> usize {
        if self.has_election { 2 * self.size } else { self.size }
    }

    /// Returns the number of links.
    pub(crate) fn links(self) -> usize {
        self.size * self.size * if self.application { 2 } else { 1 }
    }

    /// Returns the slot of a link.
    pub(crate) fn link(self, from: u32, to: u32, application: bool) -> usize {
        let layer = if application { self.size * self.size } else { 0 };
        self.size + layer + from as usize * self.size + to as usize
    }

    /// Returns the receiver of the link at a slot.
    pub(crate) fn receiver(self, slot: usize) -> usize {
        (slot - self.size) % self.size
    }

    /// Returns the sender of the link at a slot.
    pub(crate) fn sender(self, slot: usize) -> usize {
        (slot - self.size) / self.size % self.size
    }

    /// Returns true if the link leads to the successor on the ring of all processes.
    pub(crate) fn is_ring_link(self, slot: usize) -> bool {
        (self.sender(slot) + 1) % self.size == self.receiver(slot)
    }

    /// Returns the slots of all links.
    pub(crate) fn link_slots(self) -> std::ops::Range<usize> {
        self.size..self.size + self.links()
    }

    /// Returns the slot of the spent faults.
    pub(crate) fn spent(self) -> usize {
        self.size + self.links()
    }

    /// Returns the slot of a monitor.
    pub(crate) fn monitor(self, index: usize) -> usize {
        self.spent() + 1 + index
    }

    /// Returns the slot of the peers, as bits, whose new session a process has not detected yet.
    pub(crate) fn unseen_sessions(self, process: usize) -> usize {
        self.monitor(self.monitors) + process
    }

    /// Returns the slot of the peer, as a bit, that a process has suspected by its session and must
    /// trust next.
    pub(crate) fn pending_trust(self, process: usize) -> usize {
        self.unseen_sessions(self.size) + process
    }

    /// Returns the number of slots.
    pub(crate) fn stride(self) -> usize {
        self.monitor(self.monitors) + if self.sessions { 2 * self.size } else { 0 }
    }
}

/// Fault or event with a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Loss,
    Duplication,
    Crash,
    Recovery,
    FalseSuspicion,
    ApplicationMessage,
    /// At most one, because it has fewer bits than the others.
    Partition,
}

const BITS: u32 = 5;

/// Upper bound on each fault budget.
pub(crate) const MAX_FAULTS: u32 = (1 << BITS) - 1;

/// Number of occurrences of each fault, spent or allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Faults(pub(crate) u32);

impl Faults {
    pub(crate) fn of(self, fault: Fault) -> u32 {
        (self.0 >> (fault as u32 * BITS)) & MAX_FAULTS
    }

    #[must_use]
    pub(crate) fn with(self, fault: Fault, times: u32) -> Self {
        assert!(times <= MAX_FAULTS, "a budget is at most {MAX_FAULTS}");
        let shift = fault as u32 * BITS;
        Faults(self.0 & !(MAX_FAULTS << shift) | times << shift)
    }

    #[must_use]
    pub(crate) fn and_one(self, fault: Fault) -> Self {
        self.with(fault, self.of(fault) + 1)
    }

    /// Returns the fingerprint of the spent faults.
    pub(crate) fn fingerprint(self) -> u64 {
        fingerprint(Role::Spent, &self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_do_not_overlap() {
        let layout =
            Layout { size: 3, application: true, monitors: 2, sessions: true, has_election: false };
        let mut slots: Vec<usize> = (0..3).collect();
        for application in [false, true] {
            for (from, to) in (0..3).flat_map(|from| (0..3).map(move |to| (from, to))) {
                slots.push(layout.link(from, to, application));
                assert_eq!(layout.receiver(*slots.last().unwrap()), to as usize);
                assert_eq!(layout.sender(*slots.last().unwrap()), from as usize);
            }
        }
        slots.extend([layout.spent(), layout.monitor(0), layout.monitor(1)]);
        slots.extend((0..3).map(|process| layout.unseen_sessions(process)));
        slots.extend((0..3).map(|process| layout.pending_trust(process)));
        assert!(slots.into_iter().eq(0..layout.stride()));
    }

    #[test]
    fn budgets_are_counted_apart() {
        let spent = Faults::default().and_one(Fault::Crash).and_one(Fault::Crash);
        let spent = spent.with(Fault::ApplicationMessage, 31).and_one(Fault::Loss);
        assert_eq!(spent.of(Fault::Crash), 2);
        assert_eq!(spent.of(Fault::Recovery), 0);
        assert_eq!(spent.of(Fault::ApplicationMessage), 31);
        assert_eq!(spent.of(Fault::Loss), 1);
        let spent = spent.and_one(Fault::Partition);
        assert_eq!((spent.of(Fault::Partition), spent.of(Fault::ApplicationMessage)), (1, 31));
    }
}
