//! The background thread of a blocking client. The thread runs the asynchronous tasks of the
//! client.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::error::ClientError;
use crate::session::Session;

/// A thread that runs the background tasks of a client in a tokio runtime. Dropping this value
/// first closes the sessions, and then ends the thread.
#[derive(Debug)]
pub(super) struct BackgroundRuntime {
    handle: Handle,
    /// Sender of the message that ends the thread. The message contains the tasks that close
    /// sessions; the thread completes them first.
    stop: Option<oneshot::Sender<Vec<JoinHandle<()>>>>,
    thread: Option<thread::JoinHandle<()>>,
    /// Tasks that close sessions. Each takes at most ten seconds.
    closing: Mutex<Vec<JoinHandle<()>>>,
}

impl BackgroundRuntime {
    /// Starts the thread.
    ///
    /// # Errors
    ///
    /// [`ClientError::NoThread`] if the system provides no thread or no event queue.
    pub(super) fn start() -> Result<Arc<BackgroundRuntime>, ClientError> {
        let failed = |error: std::io::Error| ClientError::NoThread { reason: error.to_string() };
        let runtime = Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let (stop, stopped) = oneshot::channel::<Vec<JoinHandle<()>>>();
        let handle = runtime.handle().clone();
        let run = move || {
            runtime.block_on(async {
                for closing in stopped.await.unwrap_or_default() {
                    // A task that panics has ended as well, so its result does not matter.
                    let _ = closing.await;
                }
            });
        };
        let thread = thread::Builder::new().name("tenure-client".into()).spawn(run);
        let thread = Some(thread.map_err(failed)?);
        Ok(Arc::new(BackgroundRuntime {
            handle,
            stop: Some(stop),
            thread,
            closing: Mutex::default(),
        }))
    }

    /// Blocks the calling thread until a future completes, and returns its output.
    ///
    /// # Panics
    ///
    /// If the calling thread runs an asynchronous task of tokio.
    pub(super) fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.handle.block_on(future)
    }

    /// Blocks the calling thread until a future completes, but at most for `within`. If the future
    /// has not completed after this time, drops it and returns `None`.
    ///
    /// # Panics
    ///
    /// If the calling thread runs an asynchronous task of tokio.
    pub(super) fn block_within<F: Future>(&self, within: Duration, future: F) -> Option<F::Output> {
        // The timer must be created inside of the runtime.
        self.block_on(async { timeout(within, future).await.ok() })
    }

    /// Starts a task that closes the session, and returns at once.
    pub(super) fn close_session_in_background(&self, session: Session) {
        let mut closing = self.closing.lock().unwrap_or_else(PoisonError::into_inner);
        closing.retain(|task| !task.is_finished());
        closing.push(self.handle.spawn(async move {
            // The lease expires by itself if it cannot be revoked.
            let _ = session.close().await;
        }));
    }
}

impl Drop for BackgroundRuntime {
    fn drop(&mut self) {
        let closing = self.closing.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(stop) = self.stop.take() {
            // Sending fails only if the thread has ended.
            let _ = stop.send(std::mem::take(closing));
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
