//! A member that must not take part any more: how it learns so, and how it ends.
//!
//! A removed member would serve what it knows for ever, and its clients would wait there. So it
//! ends, however it learns of its removal: from another member, or from the log. A member that
//! lost entries which it acknowledged ends as well. Both are noted in the data directory, so that
//! the member does not come back with it: not only entries may be lost, but votes.

use std::sync::Weak;
use std::time::Duration;

use tenure_core::ProcessId;
use tenure_core::service::log::Members;
use thiserror::Error;
use tokio::time::timeout;
use tracing::{error, warn};

use crate::desk::Ask;
use crate::member::Member;
use crate::state::Shared;

/// How often the membership is compared with what was noted of it, at least.
const INTERVAL: Duration = Duration::from_millis(500);

/// Why a member must not take part any more.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Eviction {
    /// The cluster has removed it.
    #[error(
        "the cluster has removed this member (entry {at} of the log); to take part again, it has \
         to start with an empty data directory and --initial-cluster-state existing, and to be \
         added by `tenure member add`"
    )]
    Removed {
        /// The index of the entry of the log that says so.
        at: u64,
    },
    /// It lacks entries of the log that it acknowledged.
    #[error(
        "this member has acknowledged entries of the log up to {acknowledged}, and has only those \
         up to {last}: its data directory was damaged, or replaced by an older copy; remove it \
         by `tenure member remove`, start it with an empty data directory and \
         --initial-cluster-state existing, and add it by `tenure member add`"
    )]
    Forgotten {
        /// The last entry that it has.
        last: u64,
        /// The last entry that it acknowledged to the leader.
        acknowledged: u64,
    },
    /// It is to take the place of a member that is one still.
    #[error(
        "the member that this one replaces has not been removed from the cluster; remove it by \
         `tenure member remove`, and start this one again"
    )]
    StillMember,
    /// One of these was noted in its data directory when it ran before.
    #[error("{0}")]
    Noted(String),
}

impl Eviction {
    /// Returns true if the member must not take part with this data directory any more.
    pub(crate) fn is_final(&self) -> bool {
        !matches!(self, Eviction::StillMember)
    }
}

impl Shared {
    /// Stops serving clients, and has the log end: this member must not take part any more.
    pub(crate) fn evict(&self, why: Eviction) {
        error!(reason = %why, "this member is out of its cluster, and stops");
        // The first reason counts.
        let _ = self.eviction.set(why);
        self.stop_serving();
    }
}

/// Compares who the members are with what this member noted of that, for as long as it runs: its
/// peers' sessions depend on it, and whether it takes part itself.
pub(crate) async fn watch_membership(member: Weak<Member>) {
    let Some(mut changes) = member.upgrade().map(|it| it.shared.membership.subscribe()) else {
        return;
    };
    let mut noted = 0;
    loop {
        let Some(known) = member.upgrade() else { return };
        // Before the members are looked at: what is known then is no history.
        let has_caught_up = known.has_caught_up();
        let (index, members) = known.look(|state| (state.members_at, state.members.clone()));
        if index > noted && note(&known, index, &members).await {
            noted = index;
        }
        if has_caught_up {
            known.judge_itself(index, &members);
        }
        drop(known);
        if let Ok(Err(_)) = timeout(INTERVAL, changes.changed()).await {
            return;
        }
    }
}

/// Notes who is a member since an entry of the log. Returns false if that failed.
async fn note(member: &Member, index: u64, members: &Members) -> bool {
    let (peers, everybody) = (member.peers.clone(), members.everybody());
    let noted = tokio::task::spawn_blocking(move || peers.set_members(index, &everybody)).await;
    match noted {
        Ok(Ok(())) => true,
        Ok(Err(error)) => {
            warn!(%error, index, "the members of the cluster are not noted");
            false
        }
        Err(_) => false,
    }
}

impl Member {
    /// Notes that this member is one, or ends it if it is none any more. It has been told of all
    /// that was committed when it started.
    fn judge_itself(&self, index: u64, members: &Members) {
        match members.everybody().contains(ProcessId::at(self.plan.me)) {
            true => {
                if let Err(error) = self.registry.join() {
                    warn!(%error, index, "it is not noted that this is a member");
                }
            }
            // A process that is about to take the place of a member is none yet. A list that is not
            // from the log (index 0) removes no member.
            false if index > 0 && self.registry.has_joined() && !members.are_joint() => {
                self.shared.evict(Eviction::Removed { at: index });
                self.tell(Ask::Leave);
            }
            false => {}
        }
    }
}
