//! The thread that waits for the disk, so that the driver need not.

use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use tokio::sync::mpsc::{
    UnboundedReceiver, UnboundedSender, error::TryRecvError, unbounded_channel,
};

use crate::store::{SaveError, Store};

/// What is to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Job {
    /// The whole of a state.
    Whole(Vec<u8>),
    /// A change to it.
    Change(Vec<u8>),
}

/// A store, and the thread in which it is, from the first save on.
#[derive(Debug)]
pub(crate) struct Disk {
    place: Option<Place>,
    /// Whether the whole should be written next.
    is_long: bool,
}

#[derive(Debug)]
enum Place {
    Here(Box<Store>),
    Thread { jobs: mpsc::Sender<Job>, done: UnboundedReceiver<Done>, thread: JoinHandle<()> },
}

/// What came of a job: whether the store has become long.
type Done = Result<bool, SaveError>;

impl Disk {
    pub(crate) fn new(store: Store) -> Self {
        Disk { place: Some(Place::Here(Box::new(store))), is_long: false }
    }

    /// Whether a change would be better written as the whole.
    pub(crate) fn is_long(&self) -> bool {
        self.is_long
    }

    /// Begins to write. Whoever does waits for [`Disk::done`] before the next.
    pub(crate) fn begin(&mut self, job: Job) {
        let place = self.place.take().expect("a disk is somewhere");
        let place = match place {
            Place::Here(store) => started(*store),
            thread @ Place::Thread { .. } => thread,
        };
        if let Place::Thread { jobs, .. } = &place {
            // A thread that has gone away is found out when its answer is awaited.
            let _ = jobs.send(job);
        }
        self.place = Some(place);
    }

    /// Waits for what was begun. Dropping the future loses nothing.
    ///
    /// # Errors
    ///
    /// [`SaveError`], after which nothing is written any more.
    pub(crate) async fn done(&mut self) -> Result<(), SaveError> {
        match &mut self.place {
            Some(Place::Thread { done, .. }) => {
                let done = done.recv().await.expect("the thread of a disk outlives its jobs");
                self.note(done)
            }
            _ => std::future::pending().await,
        }
    }

    /// The same without waiting; nothing where it is not done.
    pub(crate) fn try_done(&mut self) -> Option<Result<(), SaveError>> {
        let Some(Place::Thread { done, .. }) = &mut self.place else { return None };
        match done.try_recv() {
            Ok(done) => Some(self.note(done)),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => panic!("the thread of a disk outlives its jobs"),
        }
    }

    fn note(&mut self, done: Done) -> Result<(), SaveError> {
        self.is_long = done?;
        Ok(())
    }
}

fn started(store: Store) -> Place {
    let (jobs, todo) = mpsc::channel();
    let (sender, done) = unbounded_channel();
    let thread = thread::Builder::new()
        .name("tenure-disk".into())
        .spawn(move || work(store, &todo, &sender))
        .expect("the system starts a thread");
    Place::Thread { jobs, done, thread }
}

fn work(mut store: Store, todo: &mpsc::Receiver<Job>, done: &UnboundedSender<Done>) {
    for job in todo {
        let saved = match job {
            Job::Whole(state) => store.save(&state),
            Job::Change(change) => store.append(&change),
        };
        let has_failed = saved.is_err();
        let _ = done.send(saved.map(|()| store.is_long()));
        if has_failed {
            return;
        }
    }
}

impl Drop for Disk {
    /// The directory is free for the next node when this one is gone.
    fn drop(&mut self) {
        if let Some(Place::Thread { jobs, thread, .. }) = self.place.take() {
            drop(jobs);
            let _ = thread.join();
        }
    }
}
