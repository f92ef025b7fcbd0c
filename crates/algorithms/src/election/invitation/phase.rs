//! States of a process in the invitation election.

use tenure_core::ProcessSet;

/// State of a process in the election.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Phase {
    /// Has not taken part yet.
    Idle,
    /// `Normal`, and coordinator of its group.
    Coordinator {
        /// `Up`: processes that have accepted, without this one.
        members: ProcessSet,
        /// Other coordinators that this process will invite.
        found: ProcessSet,
    },
    /// `Normal`, and member of the group of another process.
    Member,
    /// `Election`: forms a group.
    Inviting {
        /// Processes that have accepted.
        accepted: ProcessSet,
    },
    /// `Reorganization`: has accepted an invitation.
    Invited,
}
