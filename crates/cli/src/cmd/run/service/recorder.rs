//! Records the changes of the queue of the lock during a run.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tenure_client::{AdminClient, Client, ConnectOptions, LockQueueChange};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::LOCK_NAME;
use super::verify::revision_of_change;
use crate::cmd::failure::Failure;

/// Time limit for the last acquisition of the lock in a run. Within this time, the recorder must
/// acquire the lock, and must receive the change that added its claim to the queue.
const FINAL_ENTRY_TIMEOUT: Duration = Duration::from_secs(20);

const COMPACTION_INTERVAL: Duration = Duration::from_millis(100);

pub(super) struct QueueChangeRecorder {
    client: Client,
    changes: SharedChanges,
    tasks: JoinSet<()>,
}

type SharedChanges = Arc<Mutex<Vec<LockQueueChange>>>;

impl QueueChangeRecorder {
    pub(super) async fn start(endpoints: &[String]) -> Result<QueueChangeRecorder, Failure> {
        let client = Client::connect(endpoints).await.map_err(Failure::environment)?;
        let changes: SharedChanges = Arc::default();
        let (mut received, recorded) = (client.lock_queue_changes(LOCK_NAME, 1), changes.clone());
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            loop {
                let change = received.next().await;
                locked(&recorded).push(change);
            }
        });
        Ok(QueueChangeRecorder { client, changes, tasks })
    }

    /// Starts a task that repeatedly compacts the history of the store, up to the last recorded
    /// change. A short history saves memory if values are large. The compaction also tests that the
    /// queue of the lock works with a short history.
    pub(super) fn start_history_compaction(&mut self, endpoints: &[String]) {
        let (endpoints, changes) = (endpoints.to_vec(), self.changes.clone());
        self.tasks.spawn(async move {
            let mut compacted = 0;
            for endpoint in endpoints.iter().cycle() {
                sleep(COMPACTION_INTERVAL).await;
                let last = locked(&changes).last().and_then(revision_of_change);
                let Some(revision) = last.filter(|last| *last > compacted) else { continue };
                compacted = revision;
                // If a member does not respond, the next member compacts the history after the next
                // change.
                if let Ok(member) = AdminClient::new([endpoint], ConnectOptions::default()) {
                    let _ = member.compact(revision).await;
                }
            }
        });
    }

    /// Acquires the lock a last time, and waits until the recorder has received the change that
    /// added this claim to the queue. Returns the fencing token of the claim. Returns `None` after
    /// an error or after [`FINAL_ENTRY_TIMEOUT`].
    pub(super) async fn record_final_acquisition(&self) -> Option<u64> {
        let last = async {
            let session = self.client.session(Duration::from_secs(10)).await.ok()?;
            let fence = session.lock(LOCK_NAME).await.ok()?.fence();
            let is_recorded = |change: &LockQueueChange| match change {
                LockQueueChange::AddedOrChanged { fence: received, .. } => *received == fence,
                _ => false,
            };
            while !self.changes().iter().any(is_recorded) {
                sleep(Duration::from_millis(10)).await;
            }
            let _ = session.close().await;
            Some(fence)
        };
        timeout(FINAL_ENTRY_TIMEOUT, last).await.ok().flatten()
    }

    pub(super) fn changes(&self) -> Vec<LockQueueChange> {
        locked(&self.changes).clone()
    }
}

fn locked(changes: &SharedChanges) -> MutexGuard<'_, Vec<LockQueueChange>> {
    changes.lock().unwrap_or_else(PoisonError::into_inner)
}
