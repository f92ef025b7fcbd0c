//! What takes longer than others may be kept waiting: it is done in a thread that has nothing else
//! to do, and not in one of those that serve all clients and step the log.

use tokio::task::spawn_blocking;

use crate::refusal::Refusal;

/// How many keys are looked at at once, in well below a millisecond.
const FEW: usize = 1_000;

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
