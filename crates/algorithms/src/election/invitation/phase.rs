//! States of a process in the invitation election.

use tenure_core::ProcessSet;

/// State of a process in the election.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Phase {
    /// The process has not taken part yet.
    Idle,
    /// `Normal`: the process coordinates its group.
    Coordinator {
        /// `Up`: processes that have accepted, without this one.
        members: ProcessSet,
        /// Other coordinators that this process will invite.
        found: ProcessSet,
    },
    /// `Normal`: the process is a member of the group of another process.
    Member,
    /// `Election`: the process forms a group.
    Inviting {
        /// Processes that have accepted.
        accepted: ProcessSet,
    },
    /// `Reorganization`: the process has accepted an invitation.
    Invited,
}
