//! Workload of a node. It repeatedly enters the critical section, reads a counter, adds one, writes
//! the new value, and exits.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tenure_core::{Fence, ProcessId};
use tenure_runtime::{Guard, Lock, NodeStopped};
use thiserror::Error;
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::{Instant, sleep};

use crate::config::WorkloadConfig;
use crate::resource::CounterClient;

/// Numbers of entries and rejections of a workload. All clones share the same numbers.
#[derive(Clone, Debug)]
pub(crate) struct WorkloadStats {
    counts: Arc<Counts>,
    /// Channel to which the fencing token of each entry is sent; `None` if grants are not reported.
    grants: Option<UnboundedSender<Fence>>,
}

#[derive(Debug, Default)]
struct Counts {
    entries: AtomicU64,
    refused: AtomicU64,
}

impl WorkloadStats {
    pub(crate) fn new(grants: Option<UnboundedSender<Fence>>) -> Self {
        WorkloadStats { counts: Arc::default(), grants }
    }

    /// Returns the number of entries, and the number of accesses that the counter rejected.
    pub(crate) fn entries_and_rejections(&self) -> (u64, u64) {
        let Counts { entries, refused } = &*self.counts;
        (entries.load(Ordering::Relaxed), refused.load(Ordering::Relaxed))
    }

    fn count_entry(&self, fence: Option<Fence>) {
        self.counts.entries.fetch_add(1, Ordering::Relaxed);
        if let (Some(grants), Some(fence)) = (&self.grants, fence) {
            // The receiver may be gone.
            let _ = grants.send(fence);
        }
    }

    fn count_rejection(&self) {
        self.counts.refused.fetch_add(1, Ordering::Relaxed);
    }
}

#[derive(Debug, Error)]
pub(crate) enum WorkloadError {
    #[error("cannot access the resource server: {0}")]
    Resource(#[from] io::Error),
    #[error(transparent)]
    Stopped(#[from] NodeStopped),
}

/// Runs the workload until it has made the configured number of entries, or its time has passed.
/// Returns an error if the node stops, or if the resource server cannot be reached.
pub(crate) async fn run(
    work: WorkloadConfig,
    me: ProcessId,
    lock: Lock,
    stats: WorkloadStats,
) -> Result<(), WorkloadError> {
    let mut client = CounterClient::connect(work.resource, me).await?;
    let mut pauses = fastrand::Rng::with_seed(work.seed ^ u64::from(me.display_number()) << 32);
    let deadline = work.duration_ms.map(|ms| Instant::now() + Duration::from_millis(ms));
    let mut entries_left = work.entries.unwrap_or(u64::MAX);
    while entries_left > 0 && deadline.is_none_or(|deadline| Instant::now() < deadline) {
        entries_left -= 1;
        let guard = if work.lock { Some(lock.acquire().await?) } else { None };
        let fence = guard.as_ref().map(Guard::fence);
        stats.count_entry(fence);
        match client.get(fence).await? {
            Err(_) => stats.count_rejection(),
            Ok(value) if hold(guard.as_ref(), work.hold_us).await => {
                if client.put(fence, value + 1).await?.is_err() {
                    stats.count_rejection();
                }
            }
            // A node that lost its lock must not write.
            Ok(_) => {}
        }
        drop(guard);
        pause(if work.think_us > 0 { pauses.u64(..=work.think_us) } else { 0 }).await;
    }
    Ok(())
}

/// Waits for `microseconds`, or until the lock is lost. Returns true if the lock was held all the
/// time, or if the workload uses no lock.
async fn hold(guard: Option<&Guard>, microseconds: u64) -> bool {
    let Some(guard) = guard else {
        pause(microseconds).await;
        return true;
    };
    tokio::select! {
        _ = guard.lost() => false,
        () = pause(microseconds) => true,
    }
}

async fn pause(microseconds: u64) {
    if microseconds > 0 {
        sleep(Duration::from_micros(microseconds)).await;
    }
}
