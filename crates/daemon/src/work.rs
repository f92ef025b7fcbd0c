//! The work of a node: enter, read, add, write, leave.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tenure_core::{Fence, ProcessId};
use tenure_runtime::{Guard, Lock, Stopped};
use thiserror::Error;
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::{Instant, sleep};

use crate::config::Work;
use crate::resource::Client;

/// What was done so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Figures {
    counts: Arc<Counts>,
    /// Who is told of every entry, where somebody wants to know.
    granted: Option<UnboundedSender<Fence>>,
}

#[derive(Debug, Default)]
struct Counts {
    entries: AtomicU64,
    refused: AtomicU64,
}

impl Figures {
    /// The same, telling of every entry.
    pub(crate) fn telling(granted: UnboundedSender<Fence>) -> Self {
        Figures { granted: Some(granted), ..Figures::default() }
    }

    /// Entries, and accesses that were refused.
    pub(crate) fn read(&self) -> (u64, u64) {
        let Counts { entries, refused } = &*self.counts;
        (entries.load(Ordering::Relaxed), refused.load(Ordering::Relaxed))
    }

    fn entered(&self, fence: Option<Fence>) {
        self.counts.entries.fetch_add(1, Ordering::Relaxed);
        if let (Some(granted), Some(fence)) = (&self.granted, fence) {
            // Whoever does not listen any more does not want to know.
            let _ = granted.send(fence);
        }
    }

    fn refused(&self) {
        self.counts.refused.fetch_add(1, Ordering::Relaxed);
    }
}

/// Why the work was given up.
#[derive(Debug, Error)]
pub(crate) enum WorkError {
    /// The resource cannot be reached.
    #[error("the resource server cannot be reached: {0}")]
    Resource(#[from] io::Error),
    /// The node has stopped.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// Works until the entries are done or the time is over.
pub(crate) async fn run(
    work: Work,
    me: ProcessId,
    lock: Lock,
    figures: Figures,
) -> Result<(), WorkError> {
    let mut counter = Client::connect(work.resource, me).await?;
    let mut pauses = fastrand::Rng::with_seed(work.seed ^ u64::from(me.number()) << 32);
    let until = work.duration_ms.map(|ms| Instant::now() + Duration::from_millis(ms));
    let mut left = work.entries.unwrap_or(u64::MAX);
    while left > 0 && until.is_none_or(|until| Instant::now() < until) {
        left -= 1;
        let guard = if work.lock { Some(lock.enter().await?) } else { None };
        let fence = guard.as_ref().map(Guard::fence);
        figures.entered(fence);
        match counter.get(fence).await? {
            Err(_) => figures.refused(),
            Ok(value) if stayed(guard.as_ref(), work.hold_us).await => {
                if counter.put(fence, value + 1).await?.is_err() {
                    figures.refused();
                }
            }
            // Whoever is put out writes nothing more.
            Ok(_) => {}
        }
        drop(guard);
        pause(if work.think_us > 0 { pauses.u64(..=work.think_us) } else { 0 }).await;
    }
    Ok(())
}

/// Whether the lock, if there is one, was held all the time.
async fn stayed(guard: Option<&Guard>, microseconds: u64) -> bool {
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
