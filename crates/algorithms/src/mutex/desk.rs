//! The coordinator's desk: who holds, who waits, and the next fence.

use alloc::collections::VecDeque;

use tenure_core::ProcessId;

/// The name of a request, unique for its process even across its crashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Ticket {
    /// How often the process had booted.
    pub boot: u64,
    /// How many requests it had made since.
    pub number: u64,
}

/// Whose request it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Claim {
    pub(crate) process: ProcessId,
    pub(crate) ticket: Ticket,
}

/// Grants one claim at a time, in the order of arrival.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Desk {
    holder: Option<Claim>,
    queue: VecDeque<Claim>,
    /// How many grants were given: the second half of a fence.
    granted: u64,
}

impl Desk {
    /// Queues a claim. A process has one claim at most: a newer one means that the old one is
    /// over, and one that is not newer is a duplicate that comes late.
    pub(crate) fn ask(&mut self, claim: Claim) {
        let mut known = self.holder.iter().chain(&self.queue);
        if known.any(|other| other.process == claim.process && other.ticket >= claim.ticket) {
            return;
        }
        self.forget(claim.process);
        self.queue.push_back(claim);
    }

    /// The next grant, if nobody holds and somebody waits, with its number.
    pub(crate) fn grant(&mut self) -> Option<(Claim, u64)> {
        if self.holder.is_some() {
            return None;
        }
        let claim = self.queue.pop_front()?;
        self.holder = Some(claim);
        self.granted += 1;
        Some((claim, self.granted))
    }

    /// Whose granted claim a waiting one awaits, with the number of that grant.
    pub(crate) fn awaited_by(&self, claim: Claim) -> Option<(Claim, u64)> {
        let holder = self.holder.filter(|_| self.queue.contains(&claim))?;
        Some((holder, self.granted))
    }

    /// Whose claim is granted.
    pub(crate) fn holder(&self) -> Option<Claim> {
        self.holder
    }

    /// How many grants were given.
    pub(crate) fn granted(&self) -> u64 {
        self.granted
    }

    /// Whose claims wait.
    pub(crate) fn queue(&self) -> &VecDeque<Claim> {
        &self.queue
    }

    /// Numbers the grants to come above this.
    pub(crate) fn count_from(&mut self, granted: u64) {
        self.granted = self.granted.max(granted);
    }

    /// Takes a claim back, granted or not. Anything that is not here is ignored.
    pub(crate) fn release(&mut self, claim: Claim) {
        if self.holder == Some(claim) {
            self.holder = None;
        }
        self.queue.retain(|other| *other != claim);
    }

    /// Takes back whatever a process has here: it is believed to have crashed.
    pub(crate) fn forget(&mut self, process: ProcessId) {
        self.holder = self.holder.filter(|claim| claim.process != process);
        self.queue.retain(|claim| claim.process != process);
    }

    /// Records that a claim was granted before this desk was opened.
    pub(crate) fn restore(&mut self, claim: Claim) {
        self.queue.retain(|other| other.process != claim.process);
        self.holder = Some(claim);
    }
}
