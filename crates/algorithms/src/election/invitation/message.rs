//! Messages of the invitation election.

use tenure_core::{Term, labelled};

/// Messages between processes. A group is named by its number and its coordinator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// `AreYouCoordinator`: "I coordinate a group. Do you coordinate another?"
    AreYouCoordinator {
        /// Number of the sender's group.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        number: u64,
    },
    /// "I coordinate a group." A process that coordinates no group does not answer.
    Coordinator {
        /// Highest number that the sender knows.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        number: u64,
    },
    /// `Invitation`: "Join this group." A coordinator forwards it to its members.
    Invitation {
        /// The new group.
        group: Term,
    },
    /// `Accept`: "I join this group."
    Accept {
        /// The group of the receiver.
        group: Term,
    },
    /// `Ready`: "The group is complete, and I lead it."
    Ready {
        /// The group of the sender.
        group: Term,
    },
    /// `AreYouThere`: "I am a member of this group. Do you still lead it?"
    AreYouThere {
        /// The group that the sender follows.
        group: Term,
    },
    /// "I do not lead this group." A process that leads the group does not answer.
    NotThere {
        /// The group that the receiver asked for.
        group: Term,
    },
}

labelled!(
    Message, Election,
    AreYouCoordinator => "are-you-coordinator", Coordinator => "coordinator",
    Invitation => "invitation", Accept => "accept", Ready => "ready",
    AreYouThere => "are-you-there", NotThere => "not-there",
);
