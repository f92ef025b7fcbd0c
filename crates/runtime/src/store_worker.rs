//! Thread that performs the blocking operations of a store for the driver.

use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use tokio::sync::mpsc::{
    UnboundedReceiver, UnboundedSender, error::TryRecvError, unbounded_channel,
};

use crate::store::{SaveError, StableStorage};

/// Operation on a store. The bytes are an encoded state or change.
pub(crate) enum StoreJob {
    Save(Vec<u8>),
    Append(Vec<u8>),
    /// Rewrites the whole state in the background, while further changes are appended.
    Rewrite(Box<dyn FnOnce() -> Vec<u8> + Send>),
}

#[derive(Debug)]
pub(crate) enum StoreCompletion {
    Saved(Result<(), SaveError>),
    Rewritten(Result<(), SaveError>),
}

/// Worker thread that performs the operations of a [`StableStorage`]. The thread starts with the
/// first operation.
#[derive(Debug)]
pub(crate) struct StoreWorker {
    location: Option<StoreLocation>,
    is_rewrite_due: bool,
}

#[derive(Debug)]
enum StoreLocation {
    Inline(Box<StableStorage>),
    Thread {
        jobs: mpsc::Sender<StoreJob>,
        done: UnboundedReceiver<JobResult>,
        thread: JoinHandle<()>,
    },
}

/// Result of an operation. The first field is the outcome. The second field is the new value that
/// [`StoreWorker::is_rewrite_due`] returns.
type JobResult = (StoreCompletion, bool);

impl StoreWorker {
    pub(crate) fn new(store: StableStorage) -> Self {
        StoreWorker {
            location: Some(StoreLocation::Inline(Box::new(store))),
            is_rewrite_due: false,
        }
    }

    /// Returns the result of [`StableStorage::is_rewrite_due`] after the last finished save.
    /// Returns false before the first save, and from the end of a rewrite until the next save ends.
    pub(crate) fn is_rewrite_due(&self) -> bool {
        self.is_rewrite_due
    }

    /// Starts a disk operation. At most one save (of a state or of a change) and one rewrite may be
    /// in progress at the same time. An operation is in progress until the caller has received its
    /// completion.
    pub(crate) fn submit(&mut self, job: StoreJob) {
        let location = self.location.take().expect("the store has a location");
        let location = match location {
            StoreLocation::Inline(store) => spawn_thread(*store),
            thread @ StoreLocation::Thread { .. } => thread,
        };
        if let StoreLocation::Thread { jobs, .. } = &location {
            // If a failed save has ended the thread, `next_completion` returns the failure.
            let _ = jobs.send(job);
        }
        self.location = Some(location);
    }

    /// Waits for the next finished operation. Waits forever if no operation was ever submitted.
    /// Dropping the future loses no result. After a save has failed, the thread writes nothing
    /// more, and the caller must not submit another operation.
    pub(crate) async fn next_completion(&mut self) -> StoreCompletion {
        match &mut self.location {
            Some(StoreLocation::Thread { done, .. }) => {
                let result = done.recv().await.expect("the disk thread outlives its jobs");
                self.record_result(result)
            }
            _ => std::future::pending().await,
        }
    }

    /// Returns the next finished operation without waiting. Returns `None` if no operation has
    /// finished.
    pub(crate) fn try_next_completion(&mut self) -> Option<StoreCompletion> {
        let Some(StoreLocation::Thread { done, .. }) = &mut self.location else { return None };
        match done.try_recv() {
            Ok(result) => Some(self.record_result(result)),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => panic!("the disk thread outlives its jobs"),
        }
    }

    fn record_result(&mut self, (done, is_rewrite_due): JobResult) -> StoreCompletion {
        self.is_rewrite_due = is_rewrite_due;
        done
    }
}

fn spawn_thread(store: StableStorage) -> StoreLocation {
    let (jobs, queue) = mpsc::channel();
    let (sender, done) = unbounded_channel();
    let thread = thread::Builder::new()
        .name("tenure-disk".into())
        .spawn(move || run_jobs(store, &queue, &sender))
        .expect("the operating system starts a thread");
    StoreLocation::Thread { jobs, done, thread }
}

fn run_jobs(
    mut store: StableStorage,
    queue: &mpsc::Receiver<StoreJob>,
    done: &UnboundedSender<JobResult>,
) {
    let metrics = store.save_metrics();
    for job in queue {
        // The age of the save includes the wait for an earlier rewrite.
        let unfinished = metrics.begin_save();
        let result = match job {
            StoreJob::Save(state) => store.save(&state),
            StoreJob::Append(change) => store.append(&change),
            StoreJob::Rewrite(state) => {
                let done = done.clone();
                // The receiver is gone if the node has stopped.
                store.rewrite_in_background(state, move |result| {
                    drop(done.send((StoreCompletion::Rewritten(result), false)))
                });
                continue;
            }
        };
        drop(unfinished);
        let has_failed = result.is_err();
        let _ = done.send((StoreCompletion::Saved(result), store.is_rewrite_due()));
        if has_failed {
            return;
        }
    }
}

impl Drop for StoreWorker {
    /// Waits for the thread to end, so that the next node can open the directory.
    fn drop(&mut self) {
        if let Some(StoreLocation::Thread { jobs, thread, .. }) = self.location.take() {
            drop(jobs);
            let _ = thread.join();
        }
    }
}
