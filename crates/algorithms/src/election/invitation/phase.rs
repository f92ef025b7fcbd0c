//! States of a process in the invitation election.

use tenure_core::ProcessSet;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Phase {
    Idle,
    /// The process coordinates its group (state `Normal` in the paper).
    Coordinator {
        /// Other processes that have accepted the invitation to the group (`Up` in the paper).
        members: ProcessSet,
        /// Other coordinators that this process will invite.
        found: ProcessSet,
    },
    /// The process is a member of the group of another process (state `Normal` in the paper).
    Member,
    /// The process forms a group (state `Election` in the paper).
    Inviting {
        accepted: ProcessSet,
    },
    /// The process has accepted an invitation (state `Reorganization` in the paper).
    Invited,
}
