//! The thread that waits for the disk, so that the driver need not.

use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use tokio::sync::mpsc::{
    UnboundedReceiver, UnboundedSender, error::TryRecvError, unbounded_channel,
};

use crate::store::{SaveError, Store};

/// What is to be written.
pub(crate) enum Job {
    /// The whole of a state.
    Whole(Vec<u8>),
    /// A change to it.
    Change(Vec<u8>),
    /// The whole of it, beside the changes that come from now on.
    Rewrite(Box<dyn FnOnce() -> Vec<u8> + Send>),
}

/// What the disk has done.
#[derive(Debug)]
pub(crate) enum Done {
    /// What was to be saved, or why not.
    Saved(Result<(), SaveError>),
    /// What was to be rewritten, or why not.
    Rewritten(Result<(), SaveError>),
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
    Thread { jobs: mpsc::Sender<Job>, done: UnboundedReceiver<Told>, thread: JoinHandle<()> },
}

/// What came of a job, and whether the store has become long.
type Told = (Done, bool);

impl Disk {
    pub(crate) fn new(store: Store) -> Self {
        Disk { place: Some(Place::Here(Box::new(store))), is_long: false }
    }

    /// Whether changes have become longer than the whole.
    pub(crate) fn is_long(&self) -> bool {
        self.is_long
    }

    /// Begins to write. Whoever does waits for [`Disk::done`] before the next of its kind.
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

    /// Waits for something that was begun. Dropping the future loses nothing. After an error
    /// nothing is written any more.
    pub(crate) async fn done(&mut self) -> Done {
        match &mut self.place {
            Some(Place::Thread { done, .. }) => {
                let told = done.recv().await.expect("the thread of a disk outlives its jobs");
                self.note(told)
            }
            _ => std::future::pending().await,
        }
    }

    /// The same without waiting; nothing where nothing is done.
    pub(crate) fn try_done(&mut self) -> Option<Done> {
        let Some(Place::Thread { done, .. }) = &mut self.place else { return None };
        match done.try_recv() {
            Ok(told) => Some(self.note(told)),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => panic!("the thread of a disk outlives its jobs"),
        }
    }

    fn note(&mut self, (done, is_long): Told) -> Done {
        self.is_long = is_long;
        done
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

fn work(mut store: Store, todo: &mpsc::Receiver<Job>, done: &UnboundedSender<Told>) {
    for job in todo {
        let saved = match job {
            Job::Whole(state) => store.save(&state),
            Job::Change(change) => store.append(&change),
            Job::Rewrite(state) => {
                let done = done.clone();
                // Nobody listens any more where the node has ended.
                store.rewrite(state, move |it| drop(done.send((Done::Rewritten(it), false))));
                continue;
            }
        };
        let has_failed = saved.is_err();
        let _ = done.send((Done::Saved(saved), store.is_long()));
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
