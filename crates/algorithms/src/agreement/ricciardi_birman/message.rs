//! Messages about the next view.

use tenure_core::service::membership::View;
use tenure_core::{ProcessSet, labelled};

/// A proposal for the next view.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Proposal {
    /// Ballot; its remainder modulo the number of members is the index of the proposing member.
    pub ballot: u64,
    /// Members of the next view.
    pub members: ProcessSet,
}

/// Messages between processes. All except [`Message::Wish`] name the view whose successor they
/// concern.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// The sender wants to belong to the group or to leave it.
    Wish {
        /// True if the sender wants to belong.
        belongs: bool,
    },
    /// Asks for accepted proposals and for a promise to reject smaller ballots.
    Interrogate {
        /// The sender's view.
        view: View,
        /// The sender's ballot.
        ballot: u64,
    },
    /// Promises to reject smaller ballots.
    Promise {
        /// The sender's view.
        view: View,
        /// Ballot of the interrogation.
        ballot: u64,
        /// Proposal that the sender accepted last; `None` if it has accepted none.
        accepted: Option<Proposal>,
    },
    /// Proposes the members of the next view.
    Propose {
        /// The sender's view.
        view: View,
        /// The proposed members, and the ballot.
        proposal: Proposal,
    },
    /// Accepts a proposal.
    Accept {
        /// The sender's view.
        view: View,
        /// Ballot of the proposal.
        ballot: u64,
    },
    /// The sender promised a larger ballot.
    Refuse {
        /// The sender's view.
        view: View,
        /// Ballot that the sender has promised.
        ballot: u64,
    },
    /// The newest view that the sender knows.
    Install {
        /// The view to install.
        view: View,
    },
}

labelled!(
    Message, Agreement,
    Wish => "wish", Interrogate => "interrogate", Promise => "promise", Propose => "propose",
    Accept => "accept", Refuse => "refuse", Install => "install",
);

impl Message {
    /// Returns true if this message responds to a request of its receiver.
    pub(super) const fn is_response(&self) -> bool {
        matches!(self, Message::Promise { .. } | Message::Accept { .. } | Message::Refuse { .. })
    }

    /// Returns the view whose successor this message concerns, or the view to install. `None` for a
    /// wish.
    pub(super) const fn view(&self) -> Option<&View> {
        match self {
            Message::Wish { .. } => None,
            Message::Interrogate { view, .. }
            | Message::Promise { view, .. }
            | Message::Propose { view, .. }
            | Message::Accept { view, .. }
            | Message::Refuse { view, .. }
            | Message::Install { view } => Some(view),
        }
    }
}
