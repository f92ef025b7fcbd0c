//! A world: one row of small numbers. First the processes (each with its timers and its user),
//! then the links, then the faults spent, then the monitors, then the sessions of peers.

pub(crate) mod action;
pub(crate) mod choices;
pub(crate) mod local;
pub(crate) mod parcel;
pub(crate) mod rules;
pub(crate) mod start;

use crate::model::fingerprint::{Role, fingerprint};

/// The most processes that a search takes.
pub(crate) const MOST_PROCESSES: u32 = 31;

/// A monitor that was violated stays at this number and is no longer judged.
pub(crate) const VIOLATED: u32 = u32::MAX;

/// Where things lie in a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) size: usize,
    /// Whether there are links of the application beside those of the protocol.
    pub(crate) application: bool,
    pub(crate) monitors: usize,
    /// Whether processes tell the sessions of their peers apart.
    pub(crate) sessions: bool,
    /// True if users of a lock are told of a leader as well, so that a process has two marks.
    pub(crate) elects_too: bool,
}

impl Layout {
    /// The mark of a process that waits to be served.
    pub(crate) fn waiting_mark(self, process: usize) -> u32 {
        1 << process
    }

    /// The mark of a process that is not informed while another is.
    pub(crate) fn uninformed_mark(self, process: usize) -> u32 {
        1 << if self.elects_too { self.size + process } else { process }
    }

    /// The mark of a world that a monitor refuses as an end.
    pub(crate) fn end_mark(self, place: usize) -> u32 {
        1 << (self.marks_of_processes() + place)
    }

    /// How many marks belong to processes. Marks are bits of one `u32`.
    pub(crate) fn marks_of_processes(self) -> usize {
        if self.elects_too { 2 * self.size } else { self.size }
    }

    /// How many links there are.
    pub(crate) fn links(self) -> usize {
        self.size * self.size * if self.application { 2 } else { 1 }
    }

    /// The slot of a link.
    pub(crate) fn link(self, from: u32, to: u32, application: bool) -> usize {
        let layer = if application { self.size * self.size } else { 0 };
        self.size + layer + from as usize * self.size + to as usize
    }

    /// The receiver at a link's slot.
    pub(crate) fn receiver(self, slot: usize) -> usize {
        (slot - self.size) % self.size
    }

    /// The sender at a link's slot.
    pub(crate) fn sender(self, slot: usize) -> usize {
        (slot - self.size) / self.size % self.size
    }

    /// Whether a link leads to the next process on the ring of all.
    pub(crate) fn is_on_the_ring(self, slot: usize) -> bool {
        (self.sender(slot) + 1) % self.size == self.receiver(slot)
    }

    /// The slots of all links.
    pub(crate) fn link_slots(self) -> std::ops::Range<usize> {
        self.size..self.size + self.links()
    }

    /// The slot of the faults spent.
    pub(crate) fn spent(self) -> usize {
        self.size + self.links()
    }

    /// The slot of a monitor.
    pub(crate) fn monitor(self, place: usize) -> usize {
        self.spent() + 1 + place
    }

    /// The slot of the peers whose new session a process has yet to meet, as bits.
    pub(crate) fn unmet(self, process: usize) -> usize {
        self.monitor(self.monitors) + process
    }

    /// The slot of the peer whom a process has just met and not greeted, as bits.
    pub(crate) fn met(self, process: usize) -> usize {
        self.unmet(self.size) + process
    }

    /// How many slots a world has.
    pub(crate) fn stride(self) -> usize {
        self.monitor(self.monitors) + if self.sessions { 2 * self.size } else { 0 }
    }
}

/// What costs a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Loss,
    Duplication,
    Crash,
    Recovery,
    FalseSuspicion,
    ApplicationMessage,
    /// At most once: it has fewer bits than the others.
    Partition,
}

const BITS: u32 = 5;

/// The most that a budget may be.
pub(crate) const MOST_FAULTS: u32 = (1 << BITS) - 1;

/// How often each fault has happened, or may happen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Faults(pub(crate) u32);

impl Faults {
    pub(crate) fn of(self, fault: Fault) -> u32 {
        (self.0 >> (fault as u32 * BITS)) & MOST_FAULTS
    }

    #[must_use]
    pub(crate) fn with(self, fault: Fault, times: u32) -> Self {
        assert!(times <= MOST_FAULTS, "a budget is at most {MOST_FAULTS}");
        let shift = fault as u32 * BITS;
        Faults(self.0 & !(MOST_FAULTS << shift) | times << shift)
    }

    #[must_use]
    pub(crate) fn and_one(self, fault: Fault) -> Self {
        self.with(fault, self.of(fault) + 1)
    }

    /// The fingerprint of faults spent.
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
            Layout { size: 3, application: true, monitors: 2, sessions: true, elects_too: false };
        let mut slots: Vec<usize> = (0..3).collect();
        for application in [false, true] {
            for (from, to) in (0..3).flat_map(|from| (0..3).map(move |to| (from, to))) {
                slots.push(layout.link(from, to, application));
                assert_eq!(layout.receiver(*slots.last().unwrap()), to as usize);
                assert_eq!(layout.sender(*slots.last().unwrap()), from as usize);
            }
        }
        slots.extend([layout.spent(), layout.monitor(0), layout.monitor(1)]);
        slots.extend((0..3).map(|process| layout.unmet(process)));
        slots.extend((0..3).map(|process| layout.met(process)));
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
