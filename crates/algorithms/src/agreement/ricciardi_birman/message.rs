//! What processes say to each other about the next view.

use tenure_core::service::membership::View;
use tenure_core::{ProcessSet, labelled};

/// Who shall belong to the next view.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Proposal {
    /// Whose turn it is: the n-th member's if n is what is left when it is divided by how many
    /// there are.
    pub ballot: u64,
    /// Who shall belong.
    pub members: ProcessSet,
}

/// What processes say to each other. All but wishes carry the view for whose successor they are.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// "I want to belong", or "no longer".
    Wish {
        /// Whether to belong.
        belongs: bool,
    },
    /// "What have you accepted? Promise to accept nothing of a smaller ballot."
    Interrogate {
        /// The sender's view.
        view: View,
        /// The sender's ballot.
        ballot: u64,
    },
    /// "I promise, and this is what I accepted last."
    Promise {
        /// The sender's view.
        view: View,
        /// The ballot of whom it is promised.
        ballot: u64,
        /// What was accepted.
        accepted: Option<Proposal>,
    },
    /// "These shall belong."
    Propose {
        /// The sender's view.
        view: View,
        /// Who, under which ballot.
        proposal: Proposal,
    },
    /// "So be it."
    Accept {
        /// The sender's view.
        view: View,
        /// The ballot of what is accepted.
        ballot: u64,
    },
    /// "I have promised another."
    Refuse {
        /// The sender's view.
        view: View,
        /// What was promised.
        ballot: u64,
    },
    /// "This is the newest view that I know of."
    Install {
        /// Which.
        view: View,
    },
}

labelled!(
    Message, Agreement,
    Wish => "wish", Interrogate => "interrogate", Promise => "promise", Propose => "propose",
    Accept => "accept", Refuse => "refuse", Install => "install",
);

impl Message {
    /// Whether this answers what the receiver has asked.
    pub(super) const fn is_answer(&self) -> bool {
        matches!(self, Message::Promise { .. } | Message::Accept { .. } | Message::Refuse { .. })
    }

    /// The view for whose successor this is, or the one that it tells.
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
