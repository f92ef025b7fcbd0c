//! Eviction of this node: its peers reject it permanently, so it stops participating.

use std::sync::{Mutex, OnceLock};

use tenure_core::{ProcessId, ProcessSet};
use thiserror::Error;
use tokio::sync::Notify;

use super::rejection_reason::{RejectionReason, Severity, node_remedy};
use crate::store::MembershipRecord;

/// Eviction of this node: its peers reject it permanently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{by} refuses it permanently: {}{}", .reason.eviction_reason(), node_remedy(*.reason))]
pub struct Eviction {
    /// Peer whose rejection led to the eviction.
    pub by: ProcessId,
    /// Reason that the peer `by` gave for its rejection.
    pub reason: RejectionReason,
}

/// Eviction of this node by its peers, and the rejections that may lead to the eviction.
#[derive(Debug)]
pub(crate) struct EvictionState {
    size: u32,
    /// Peers that are configured for a different group than this node, according to the latest
    /// handshakes.
    mismatched_peers: Mutex<ProcessSet>,
    evicted: OnceLock<Eviction>,
    notify: Notify,
    /// Membership record, which states whether this node has been a member. `None` if this node has
    /// no membership record.
    registry: Option<MembershipRecord>,
}

impl EvictionState {
    pub(crate) fn new(size: u32, registry: Option<MembershipRecord>) -> Self {
        let (mismatched_peers, evicted) = (Mutex::default(), OnceLock::new());
        EvictionState { size, mismatched_peers, evicted, notify: Notify::new(), registry }
    }

    /// Handles the rejection of this node by an authenticated peer. `code` is the wire code of a
    /// [`RejectionReason`].
    pub(crate) fn on_rejection(&self, by: ProcessId, code: u8) {
        match RejectionReason::from_code(code) {
            // A process that replaces a member is refused until the old member is removed.
            Some(reason) if reason.severity() == Severity::Final && self.is_replacement() => {}
            Some(reason) if reason.severity() == Severity::Final => self.evict(by, reason),
            Some(reason) => self.on_group_mismatch(by, reason),
            None => {}
        }
    }

    /// Records that this node and the peer are configured for different groups. This node is
    /// evicted if at least half of the group disagrees with it. Does nothing if `reason` is not of
    /// the severity [`Severity::NeedsMajority`].
    pub(crate) fn on_group_mismatch(&self, by: ProcessId, reason: RejectionReason) {
        if reason.severity() != Severity::NeedsMajority {
            return;
        }
        let mut mismatched_peers = self.mismatched_peers.lock().expect("the lock is not poisoned");
        mismatched_peers.insert(by);
        if (self.size - mismatched_peers.len()) * 2 <= self.size {
            self.evict(by, reason);
        }
    }

    /// Records that this node and the peer are configured for the same group.
    pub(crate) fn on_group_match(&self, peer: ProcessId) {
        self.mismatched_peers.lock().expect("the lock is not poisoned").remove(peer);
    }

    /// Returns true if this process replaces a member and has not joined the group yet.
    pub(crate) fn is_replacement(&self) -> bool {
        self.registry.as_ref().is_some_and(|registry| !registry.has_joined())
    }

    fn evict(&self, by: ProcessId, reason: RejectionReason) {
        if self.evicted.set(Eviction { by, reason }).is_ok() {
            self.notify.notify_one();
        }
    }

    pub(crate) fn evicted(&self) -> Option<Eviction> {
        self.evicted.get().copied()
    }

    pub(crate) async fn wait_for_eviction(&self) {
        self.notify.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEERS: [ProcessId; 3] = [ProcessId(0), ProcessId(1), ProcessId(2)];

    #[test]
    fn one_peer_with_newer_session_suffices() {
        let eviction = EvictionState::new(5, None);
        eviction.on_rejection(PEERS[0], RejectionReason::TooSlow.code());
        eviction.on_rejection(PEERS[0], 255);
        assert_eq!(eviction.evicted(), None);
        eviction.on_rejection(PEERS[1], RejectionReason::Twin.code());
        eviction.on_rejection(PEERS[0], RejectionReason::OldSession.code());
        let first = Eviction { by: PEERS[1], reason: RejectionReason::Twin };
        assert_eq!(eviction.evicted(), Some(first));
    }

    #[test]
    fn minority_of_mismatched_peers_evicts_no_node() {
        let eviction = EvictionState::new(5, None);
        for _ in 0..10 {
            eviction.on_rejection(PEERS[0], RejectionReason::WrongCluster.code());
        }
        eviction.on_group_mismatch(PEERS[1], RejectionReason::WrongGroupSize);
        assert_eq!(eviction.evicted(), None);
        eviction.on_group_match(PEERS[0]);
        eviction.on_rejection(PEERS[2], RejectionReason::WrongCluster.code());
        assert_eq!(eviction.evicted(), None);
        eviction.on_rejection(PEERS[0], RejectionReason::WrongCluster.code());
        assert_eq!(eviction.evicted().map(|evicted| evicted.by), Some(PEERS[0]));
    }
}
