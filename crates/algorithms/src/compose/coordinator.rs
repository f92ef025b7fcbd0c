//! What the leader of a [`Coordinated`](super::Coordinated) mutex keeps.

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
        Coordinator { awaited, desk: Desk::default(), latest: None }
    }

    /// Takes note of what a process reported. Channels are first in, first out, so it knows of
    /// every grant that reached it before, and its later messages come later.
    pub(super) fn record(&mut self, from: ProcessId, standing: Standing) {
        self.awaited.remove(from);
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
