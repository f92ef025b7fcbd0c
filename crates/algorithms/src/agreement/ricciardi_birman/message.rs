//! Messages about the next view.

use tenure_core::service::membership::View;
use tenure_core::{ProcessSet, labelled};

/// A proposal for the next view.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Proposal {
    /// Ballot of the proposal. The proposing member has the index `ballot` modulo N among the N
    /// members of the current view.
    pub ballot: u64,
    /// Members of the next view.
    pub members: ProcessSet,
}

/// Messages between processes. A [`Message::Wish`] contains no view. A [`Message::Install`]
/// contains the view to install. Every other message contains the sender's view and concerns the
/// next view.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// States whether the sender wants to belong to the group.
    Wish {
        /// True if the sender wants to belong to the group; false if it wants to leave.
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
        /// Ballot of the `Interrogate` message to which this message responds.
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
    /// Refuses a ballot, because the sender has promised a larger one.
    Refuse {
        /// The sender's view.
        view: View,
        /// Ballot that the sender has promised.
        ballot: u64,
    },
    /// Informs the receiver of the newest view that the sender knows.
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
    pub(super) const fn is_response(&self) -> bool {
        matches!(self, Message::Promise { .. } | Message::Accept { .. } | Message::Refuse { .. })
    }

    /// Returns the view that this message contains; `None` for a wish.
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
