//! Messages of the invitation election.

use tenure_core::{Term, labelled};

/// Messages between processes. A group is named by its number and its coordinator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Asks the receiver whether it coordinates a group. The sender coordinates a group itself.
    AreYouCoordinator {
        /// Number of the sender's group.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        number: u64,
    },
    /// Answers that the sender coordinates a group. A process that coordinates no group does not
    /// answer.
    Coordinator {
        /// Highest number of a group that the sender knows.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        number: u64,
    },
    /// Invites the receiver to join a group. If the receiver accepts and coordinates a group of its
    /// own, the receiver forwards the invitation to the members of its own group.
    Invitation {
        /// The new group.
        group: Term,
    },
    /// Accepts the invitation to a group that the receiver forms or leads. A member also sends this
    /// message if the leader of its group has forgotten that the sender is a member.
    Accept {
        /// The group, whose coordinator is the receiver.
        group: Term,
    },
    /// Announces that the group is ready. From now on, the receiver follows the sender as its
    /// leader.
    Ready {
        /// The group that the sender leads.
        group: Term,
    },
    /// Asks the receiver whether it still leads the group of the sender.
    AreYouThere {
        /// The group that the sender follows.
        group: Term,
    },
    /// Answers that the sender does not lead the group. A process that leads the group does not
    /// answer.
    NotThere {
        /// Group that the receiver named in its question.
        group: Term,
    },
}

labelled!(
    Message, Election,
    AreYouCoordinator => "are-you-coordinator", Coordinator => "coordinator",
    Invitation => "invitation", Accept => "accept", Ready => "ready",
    AreYouThere => "are-you-there", NotThere => "not-there",
);
