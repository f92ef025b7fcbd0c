//! Hashes passwords one at a time, because each hash takes much memory and time.

use std::sync::Arc;

use tokio::sync::{Mutex, Semaphore};

use crate::auth::secrets::PasswordHashBuffer;
use crate::blocking::run_blocking;
use crate::rpc::error::RpcError;

/// Upper bound on queued and running hashes. Hashing the passwords of a full queue takes some
/// seconds.
const MAX_QUEUED: usize = 256;

/// Queue of computations that hash passwords. The computations run one at a time and share one
/// buffer.
#[derive(Debug)]
pub(crate) struct PasswordHashingQueue {
    memory: Arc<Mutex<PasswordHashBuffer>>,
    slots: Arc<Semaphore>,
}

impl Default for PasswordHashingQueue {
    fn default() -> Self {
        PasswordHashingQueue { memory: Arc::default(), slots: Arc::new(Semaphore::new(MAX_QUEUED)) }
    }
}

impl PasswordHashingQueue {
    /// Waits in the queue, and then runs `work` in a blocking thread. `work` receives the buffer
    /// that all hash computations share. If the caller stops waiting before `work` starts, `work`
    /// does not run. If the caller stops waiting while `work` runs, `work` runs to its end.
    ///
    /// # Errors
    ///
    /// [`RpcError::TOO_MANY_REQUESTS`] if the queue is full.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut PasswordHashBuffer) -> T + Send + 'static,
    ) -> Result<T, RpcError> {
        let slot =
            self.slots.clone().try_acquire_owned().map_err(|_| RpcError::TOO_MANY_REQUESTS)?;
        let mut memory = self.memory.clone().lock_owned().await;
        run_blocking(move || {
            let _slot = slot;
            work(&mut memory)
        })
        .await
    }

    /// Waits until at least `queued_callers` callers are queued, in addition to the caller whose
    /// work is running.
    #[cfg(test)]
    pub(crate) async fn wait_until_queued(&self, queued_callers: usize) {
        while self.slots.available_permits() > MAX_QUEUED - 1 - queued_callers {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use futures_util::FutureExt;
    use futures_util::future::join_all;
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn work_continues_after_its_caller_stops_waiting() {
        let password_hasher = PasswordHashingQueue::default();
        let ((resume, paused), (begins, started)) = (mpsc::channel::<()>(), oneshot::channel());
        let mut first = Box::pin(password_hasher.run(move |_| {
            begins.send(()).expect("the test waits");
            paused.recv()
        }));
        assert!((&mut first).now_or_never().is_none());
        started.await.expect("the work begins");
        drop(first);
        assert!(password_hasher.memory.try_lock().is_err());
        resume.send(()).expect("the work continues");
        assert_eq!(password_hasher.run(|_| ()).await, Ok(()));
    }

    #[tokio::test]
    async fn panic_of_work_affects_no_other_work() {
        fn fail(_: &mut PasswordHashBuffer) {
            panic!("a job fails")
        }
        let password_hasher = PasswordHashingQueue::default();
        for _ in 0..3 {
            let panicked = password_hasher.run(fail);
            let (panicked, other) = tokio::join!(panicked, password_hasher.run(|_| 7));
            assert_eq!((panicked, other), (Err(RpcError::STOPPED), Ok(7)));
        }
        assert_eq!(password_hasher.slots.available_permits(), MAX_QUEUED);
    }

    #[tokio::test]
    async fn full_queue_rejects_immediately() {
        let password_hasher = PasswordHashingQueue::default();
        let (resume, paused) = mpsc::channel::<()>();
        let first = password_hasher.run(move |_| paused.recv().unwrap_or_default()).boxed();
        let others = (1..MAX_QUEUED).map(|_| password_hasher.run(|_| ()).boxed());
        let mut all = join_all([first].into_iter().chain(others));
        assert!((&mut all).now_or_never().is_none());
        assert_eq!(
            password_hasher.run(|_| ()).now_or_never(),
            Some(Err(RpcError::TOO_MANY_REQUESTS))
        );
        resume.send(()).expect("the work continues");
        assert!(all.await.iter().all(Result::is_ok));
        assert_eq!(password_hasher.run(|_| ()).await, Ok(()));
    }
}
