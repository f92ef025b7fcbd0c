//! What takes longer than others may be kept waiting: it is done in a thread that has nothing else
//! to do, and not in one of those that serve all clients and step the log.

use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::refusal::Refusal;

/// How many keys are looked at at once, in well below a millisecond.
pub(crate) const FEW: usize = 1_000;

/// How many may look at more at a time: each has a list of all that it looks at.
const AT_A_TIME: usize = 4;

/// How long one waits for its turn.
const PATIENCE: Duration = Duration::from_secs(5);

/// Who may look at many keys.
#[derive(Debug)]
pub(crate) struct Turns(Semaphore);

impl Default for Turns {
    fn default() -> Self {
        Turns(Semaphore::new(AT_A_TIME))
    }
}

impl Turns {
    /// Waits until as many keys may be looked at, for as long as what comes of it is kept.
    pub(crate) async fn take(&self, keys: usize) -> Result<Option<SemaphorePermit<'_>>, Refusal> {
        if keys <= FEW {
            return Ok(None);
        }
        let turn = timeout(PATIENCE, self.0.acquire()).await.map_err(|_| Refusal::TOO_MANY)?;
        turn.map(Some).map_err(|_| Refusal::STOPPED)
    }
}

/// Does what looks at so many keys.
pub(crate) async fn looking_at<T: Send + 'static>(
    keys: usize,
    look: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Refusal> {
    if keys <= FEW { Ok(look()) } else { beside(look).await }
}

/// Does what takes long.
pub(crate) async fn beside<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Refusal> {
    spawn_blocking(work).await.map_err(|_| Refusal::STOPPED)
}
