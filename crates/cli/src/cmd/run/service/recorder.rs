//! Who writes down what happens in the queue while a service is hurt.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tenure_client::{Access, Admin, Change, Client};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::LOCK;
use super::judge::revision;
use crate::cmd::failure::Failure;

/// How long the service may take to tell of an entry after all others.
const PATIENCE: Duration = Duration::from_secs(20);

/// How often the service is told what it may forget.
const OFTEN: Duration = Duration::from_millis(100);

/// Who writes down what happens in the queue, as the service tells it.
pub(super) struct Recorder {
    client: Client,
    changes: Written,
    tasks: JoinSet<()>,
}

/// What was told so far.
type Written = Arc<Mutex<Vec<Change>>>;

impl Recorder {
    pub(super) async fn start(endpoints: &[String]) -> Result<Recorder, Failure> {
        let client = Client::connect(endpoints).await.map_err(Failure::environment)?;
        let changes: Written = Arc::default();
        let (mut told, written) = (client.changes(LOCK, 1), changes.clone());
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            loop {
                let change = told.next().await;
                locked(&written).push(change);
            }
        });
        Ok(Recorder { client, changes, tasks })
    }

    /// Has the service forget what was before what is written down, again and again: with large
    /// values a history is long, and the log of changes to a short one is another matter.
    pub(super) fn forget(&mut self, endpoints: &[String]) {
        let (endpoints, written) = (endpoints.to_vec(), self.changes.clone());
        self.tasks.spawn(async move {
            let mut forgotten = 0;
            for endpoint in endpoints.iter().cycle() {
                sleep(OFTEN).await;
                let last = locked(&written).last().and_then(revision);
                let Some(revision) = last.filter(|last| *last > forgotten) else { continue };
                forgotten = revision;
                // A member that does not answer compacts another time.
                if let Ok(member) = Admin::new([endpoint], Access::default()) {
                    let _ = member.compact(revision).await;
                }
            }
        });
    }

    /// Enters after all others, and waits until that is told.
    pub(super) async fn finish(&self) -> Option<u64> {
        let last = async {
            let session = self.client.session(Duration::from_secs(10)).await.ok()?;
            let fence = session.lock(LOCK).await.ok()?.fence();
            let is_told = |change: &Change| match change {
                Change::Queued { fence: told, .. } => *told == fence,
                _ => false,
            };
            while !self.changes().iter().any(is_told) {
                sleep(Duration::from_millis(10)).await;
            }
            let _ = session.close().await;
            Some(fence)
        };
        timeout(PATIENCE, last).await.ok().flatten()
    }

    pub(super) fn changes(&self) -> Vec<Change> {
        locked(&self.changes).clone()
    }
}

fn locked(written: &Written) -> MutexGuard<'_, Vec<Change>> {
    written.lock().unwrap_or_else(PoisonError::into_inner)
}
