//! What takes longer than others may be kept waiting: it is done in a thread that has nothing else
//! to do, and not in one of those that serve all clients and step the log.

use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::refusal::Refusal;

/// How many keys are looked at at once, in well below a millisecond.
pub(crate) const FEW: usize = 1_000;

/// How long one waits for its turn.
const PATIENCE: Duration = Duration::from_secs(5);

/// Who may do something that not all may do at a time.
#[derive(Debug)]
pub(crate) struct Turns(Semaphore);

impl Turns {
    /// So many at a time.
    pub(crate) fn of(many: usize) -> Self {
        Turns(Semaphore::new(many))
    }

    /// Waits for one's turn, which lasts as long as this is kept.
    pub(crate) async fn next(&self) -> Result<SemaphorePermit<'_>, Refusal> {
        let turn = timeout(PATIENCE, self.0.acquire()).await.map_err(|_| Refusal::TOO_MANY)?;
        turn.map_err(|_| Refusal::STOPPED)
    }

    /// The same for who looks at so many keys; who looks at few need not wait.
    pub(crate) async fn looking_at(
        &self,
        keys: usize,
    ) -> Result<Option<SemaphorePermit<'_>>, Refusal> {
        if keys <= FEW { Ok(None) } else { self.next().await.map(Some) }
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
