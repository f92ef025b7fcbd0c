//! Background tasks of a member. Each task ends when the member is dropped.

use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use tenure_core::ProcessId;
use tenure_runtime::lower_thread_priority;
use tokio::sync::{mpsc, oneshot};
use tokio::time::sleep;
use tracing::warn;

use crate::log::application::LogTaskRequest;
use crate::log::lease_commands::{
    PendingLeaseCheckpoint, propose_due_lease_commands, propose_lease_checkpoints,
};
use crate::log::snapshot;
use crate::member::Member;
use crate::member::eviction::record_and_check_membership;

/// Pause between two attempts to read from the leader after a start.
const RECOVERY_RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// Pause between two checks whether the cluster publishes the current client URLs of this member.
const ANNOUNCE_INTERVAL: Duration = Duration::from_millis(500);

pub(super) fn spawn(
    member: &Arc<Member>,
    pending_checkpoints: mpsc::UnboundedReceiver<PendingLeaseCheckpoint>,
) {
    tokio::spawn(run_recovery(Arc::downgrade(member)));
    tokio::spawn(propose_due_lease_commands(Arc::downgrade(member)));
    tokio::spawn(propose_lease_checkpoints(Arc::downgrade(member), pending_checkpoints));
    tokio::spawn(run_compaction(Arc::downgrade(member)));
    tokio::spawn(run_announcement(Arc::downgrade(member)));
    tokio::spawn(record_and_check_membership(Arc::downgrade(member)));
}

/// Makes a snapshot whenever one is due, and replaces the beginning of the log by the snapshot.
///
/// The task copies the state while it holds the lock of the state. Another thread then encodes the
/// copy, while the member continues to apply commands.
async fn run_compaction(member: Weak<Member>) {
    let Some(shared) = member.upgrade().map(|member| member.shared.clone()) else { return };
    loop {
        shared.compaction_due.notified().await;
        let Some(member) = member.upgrade() else { return };
        let (index, urls, store) = member
            .with_state(|state| (state.applied, state.client_urls.clone(), state.store.snapshot()));
        let (sender, encoded) = oneshot::channel();
        let encode = move || {
            lower_thread_priority();
            // The member may have stopped.
            let _ = sender.send(snapshot::encode(&urls, &store));
        };
        // If no thread starts, the member tries again when the next snapshot is due.
        if let Err(error) = thread::Builder::new().name("tenure-snapshot".into()).spawn(encode) {
            warn!(index, %error, "no snapshot made: cannot start a thread");
        }
        if let Ok(state) = encoded.await {
            member.send_to_log(LogTaskRequest::Compact { index, state });
        }
    }
}

/// Marks the member as recovered once it has applied every entry that was known as committed at its
/// start.
async fn run_recovery(member: Weak<Member>) {
    loop {
        let Some(member) = member.upgrade() else { return };
        if member.wait_linearizable().await.is_ok() {
            member.is_recovered.send_replace(true);
            return;
        }
        drop(member);
        sleep(RECOVERY_RETRY_INTERVAL).await;
    }
}

async fn run_announcement(member: Weak<Member>) {
    loop {
        let Some(member) = member.upgrade() else { return };
        let urls = member.config.client_urls.clone();
        let me = ProcessId::from_index(member.config.me);
        let is_published = member.with_state(|state| {
            let is_member = state.members.all().contains(me);
            !is_member || state.client_urls.get(&me.0) == Some(&urls)
        });
        let deadline = member.request_deadline();
        if !is_published && member.wait_for_known_leader(deadline).await.is_ok() {
            let (reply, response) = oneshot::channel();
            // The next check shows whether the request succeeded.
            let announce = LogTaskRequest::Announce { urls, reply };
            let _ = member.request(announce, response, member.request_deadline()).await;
        }
        drop(member);
        sleep(ANNOUNCE_INTERVAL).await;
    }
}
