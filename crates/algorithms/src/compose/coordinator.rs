//! What the leader of a [`Coordinated`](super::Coordinated) mutex keeps.

use alloc::collections::BTreeMap;

use tenure_core::{Fence, ProcessId, ProcessSet, Term};

use crate::mutex::{Claim, Desk, Ticket};

/// What a leader keeps.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Coordinator {
    /// Who has not reported yet; nothing is granted until nobody is left.
    pub(super) awaited: ProcessSet,
    pub(super) desk: Desk,
    /// The fence of the entry that is under way, or was last, as far as we know.
    latest: Option<Fence>,
    /// Of the awaited and the holder: whom we suspect. They are given up when they must be out.
    pub(super) doubted: ProcessSet,
    /// By process: the number of its last question; none where no entry ends by itself.
    rounds: BTreeMap<ProcessId, u64>,
}

/// Where a process stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Standing {
    /// Neither waiting nor inside.
    Idle,
    /// Waiting with this request.
    Waiting {
        /// The request's name.
        ticket: Ticket,
    },
    /// Inside with this request.
    Inside {
        /// The request's name.
        ticket: Ticket,
        /// The fence it was granted with.
        fence: Fence,
    },
}

impl Coordinator {
    /// A new leader's: nobody has reported yet.
    pub(super) fn awaiting(awaited: ProcessSet) -> Self {
        Coordinator {
            awaited,
            desk: Desk::default(),
            latest: None,
            doubted: ProcessSet::new(),
            rounds: BTreeMap::new(),
        }
    }

    /// Takes note of what a process reported. Channels are first in, first out, so it knows of
    /// every grant that reached it before, and its later messages come later.
    pub(super) fn record(&mut self, from: ProcessId, standing: Standing, round: u64) {
        self.awaited.remove(from);
        self.heard(from, round);
        let claim = |ticket| Claim { process: from, ticket };
        match standing {
            Standing::Idle => self.desk.forget(from),
            Standing::Waiting { ticket } => self.desk.ask(claim(ticket)),
            Standing::Inside { ticket, fence } => {
                // An entry that was superseded while its process was suspected stays so.
                if self.latest.is_none_or(|latest| fence >= latest) {
                    self.latest = Some(fence);
                    self.desk.restore(claim(ticket));
                }
            }
        }
    }

    /// Somebody asks, perhaps again.
    pub(super) fn ask(&mut self, claim: Claim, round: u64) {
        self.heard(claim.process, round);
        self.desk.ask(claim);
    }

    fn heard(&mut self, from: ProcessId, round: u64) {
        // 0 is the only one where none are told apart.
        if round > 0 {
            self.rounds.insert(from, round);
        }
    }

    /// The number of the last question that a process has asked.
    pub(super) fn round_of(&self, process: ProcessId) -> u64 {
        self.rounds.get(&process).copied().unwrap_or(0)
    }

    /// The fence of a claim, if it is the one that is granted.
    pub(super) fn fence_of(&self, claim: Claim) -> Option<Fence> {
        self.latest.filter(|_| self.desk.holder() == Some(claim))
    }

    /// Whether a process has not said where it stands, or is inside as far as we know.
    pub(super) fn may_be_inside(&self, process: ProcessId) -> bool {
        let holds = self.desk.holder().is_some_and(|claim| claim.process == process);
        holds || self.awaited.contains(process)
    }

    /// Whoever is suspected and may have been inside is so no more.
    pub(super) fn give_up_doubted(&mut self) {
        for peer in &core::mem::take(&mut self.doubted) {
            self.give_up(peer);
        }
    }

    /// A peer is suspected: neither its report nor its release is waited for.
    pub(super) fn give_up(&mut self, peer: ProcessId) {
        self.awaited.remove(peer);
        self.desk.forget(peer);
    }

    /// The next grant, once everybody has reported.
    pub(super) fn grant(&mut self, term: Term) -> Option<(Claim, Fence)> {
        if !self.awaited.is_empty() {
            return None;
        }
        let (claim, count) = self.desk.grant()?;
        let fence = Fence(term.packed(), count);
        self.latest = Some(fence);
        Some((claim, fence))
    }
}
