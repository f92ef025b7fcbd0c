//! Eviction: how a member learns that it must not participate any more, and how it stops.
//!
//! A member stops in three cases:
//!
//! - The cluster has removed the member. The member learns this from another member or from the
//!   log. If it continued, it would serve outdated data from its own store, and requests that need
//!   a leader would get no response.
//! - The member has lost log entries that it acknowledged. Its data directory may also lack votes
//!   that the member has cast, so the member could vote twice.
//! - The member replaces an earlier member that the cluster has not removed yet.
//!
//! The first two reasons are [final](EvictionReason::is_final): the data directory records the
//! reason, and the member never starts again with this directory. In the third case, the member
//! may start again after the earlier member is removed.

use std::sync::Weak;
use std::time::Duration;

use tenure_core::ProcessId;
use tenure_core::service::log::Members;
use tenure_runtime::transport::RejectionReason;
use thiserror::Error;
use tokio::time::timeout;
use tracing::{error, warn};

use crate::log::application::LogTaskRequest;
use crate::log::state::SharedState;
use crate::member::Member;

/// Longest pause before the member checks again whether it still belongs to the cluster.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);

/// Reason why a member must not participate in its cluster any more.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum EvictionReason {
    /// The cluster removed this member.
    #[error(
        "the cluster has removed this member (entry {at} of the log): to rejoin, start it with \
         an empty data directory and --initial-cluster-state existing, and add it with \
         `tenure member add`"
    )]
    Removed {
        /// Index of the log entry that removed this member.
        at: u64,
    },
    /// This member lacks entries of the log that it acknowledged.
    #[error(
        "this member has acknowledged entries of the log up to {acknowledged}, and has only those \
         up to {last}: its data directory was damaged, or replaced by an older copy; remove it \
         by `tenure member remove`, start it with an empty data directory and \
         --initial-cluster-state existing, and add it by `tenure member add`"
    )]
    EntriesLost {
        /// Index of the last entry that the log of this member contains.
        last: u64,
        /// Index of the last entry that this member acknowledged to the leader.
        acknowledged: u64,
    },
    /// This member replaces an earlier member, but the cluster has not removed the earlier member
    /// yet.
    #[error(
        "the member that this one replaces has not been removed from the cluster; remove it by \
         `tenure member remove`, and start this one again"
    )]
    PredecessorNotRemoved,
    /// The data directory records an earlier eviction.
    #[error("{0}")]
    Recorded(String),
}

/// Returns the advice to an operator whose member was rejected permanently by a peer for this
/// reason.
pub(super) fn rejection_remedy(reason: RejectionReason) -> &'static str {
    match reason {
        RejectionReason::WrongCluster | RejectionReason::WrongGroupSize => {
            "compare --initial-cluster-token and --initial-cluster of all members"
        }
        // Such a number is saved in the directory, so only a new directory helps.
        RejectionReason::FarSession => {
            "check the clock of its machine, remove the member, and add it again with an empty \
             data directory (see `tenure member --help`)"
        }
        _ => {
            "if its data directory was lost, remove the member and add it again with an empty one \
             (see `tenure member --help`)"
        }
    }
}

impl EvictionReason {
    /// Returns true if the eviction is permanent: the member must never start again with this data
    /// directory.
    pub(crate) fn is_final(&self) -> bool {
        !matches!(self, EvictionReason::PredecessorNotRemoved)
    }
}

impl SharedState {
    /// Records that this member must not participate any more, and stops serving clients. The
    /// caller must also stop the log.
    pub(crate) fn evict(&self, why: EvictionReason) {
        error!(reason = %why, "evicted from the cluster, stopping");
        // Only the first reason is stored.
        let _ = self.eviction.set(why);
        self.stop_serving();
    }
}

/// Records each change of the membership in the data directory, and checks that this member still
/// belongs to the cluster. Runs until the member is dropped.
///
/// The transport reads the recorded members when it decides whether to accept a connection from a
/// peer.
pub(crate) async fn record_and_check_membership(member: Weak<Member>) {
    let Some(mut changes) = member.upgrade().map(|it| it.shared.membership_index.subscribe())
    else {
        return;
    };
    let mut recorded = 0;
    loop {
        let Some(member) = member.upgrade() else { return };
        // `has_recovered` is read first: if it is true, the members that are read next are current.
        let has_recovered = member.has_recovered();
        let (index, members) =
            member.with_state(|state| (state.membership_index, state.members.clone()));
        if index > recorded && record_members(&member, index, &members).await {
            recorded = index;
        }
        if has_recovered {
            member.check_own_membership(index, &members).await;
        }
        drop(member);
        if let Ok(Err(_)) = timeout(CHECK_INTERVAL, changes.changed()).await {
            return;
        }
    }
}

/// Saves the members in the data directory. Returns false if this fails. `index` is the index of
/// the log entry that contains these members.
async fn record_members(member: &Member, index: u64, members: &Members) -> bool {
    let (peers, all) = (member.mesh_handle.clone(), members.all());
    let saved = tokio::task::spawn_blocking(move || peers.record_members(index, &all)).await;
    match saved {
        Ok(Ok(())) => true,
        Ok(Err(error)) => {
            warn!(%error, index, "cannot record the members");
            false
        }
        Err(_) => false,
    }
}

impl Member {
    /// Records that this member has joined, or evicts it if the cluster has removed it. The caller
    /// must make sure that this member has applied all entries that were committed when this member
    /// started.
    async fn check_own_membership(&self, index: u64, members: &Members) {
        match members.all().contains(ProcessId::from_index(self.config.me)) {
            true if self.registry.has_joined() => {}
            true => {
                let registry = self.registry.clone();
                let saved = tokio::task::spawn_blocking(move || registry.mark_joined()).await;
                if let Ok(Err(error)) = saved {
                    warn!(%error, index, "cannot record that this member has joined");
                }
            }
            // A process that is about to replace a member has not joined yet. The initial list
            // (index 0) is not from the log and removes no member.
            false if index > 0 && self.registry.has_joined() && !members.is_joint() => {
                self.shared.evict(EvictionReason::Removed { at: index });
                self.send_to_log(LogTaskRequest::Shutdown);
            }
            false => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_another_group_is_remedied_by_the_configuration() {
        for reason in RejectionReason::ALL {
            let is_other_group =
                matches!(reason, RejectionReason::WrongCluster | RejectionReason::WrongGroupSize);
            let remedy = rejection_remedy(reason);
            assert_eq!(remedy.contains("--initial-cluster"), is_other_group, "{reason:?}");
            assert_eq!(remedy.contains("add it again"), !is_other_group, "{reason:?}");
        }
        assert!(rejection_remedy(RejectionReason::FarSession).starts_with("check the clock"));
    }
}
