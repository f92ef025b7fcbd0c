//! States of a process in the invitation election.

use tenure_core::ProcessSet;

/// State of a process in the election.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Phase {
    /// The process has not started, and has no group yet.
    Idle,
    /// The process coordinates its group (state `Normal` in the paper).
    Coordinator {
        /// Other members of the group (`Up` in the paper): trusted processes that have accepted the
        /// invitation.
        members: ProcessSet,
        /// Other coordinators that this process will invite.
        found: ProcessSet,
    },
    /// The process is a member of the group of another process (state `Normal` in the paper).
    Member,
    /// The process forms a group, and waits for acceptances (state `Election` in the paper).
    Inviting { accepted: ProcessSet },
    /// The process has accepted an invitation, and waits until the group is ready (state
    /// `Reorganization` in the paper).
    Invited,
}
