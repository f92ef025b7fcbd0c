//! The lock and the leader, as the users of a node have them.

use std::collections::VecDeque;
use std::fmt;

use tenure_core::service::{election, mutex, office};
use tenure_core::{Facts, Fence, Protocol, Term};
use thiserror::Error;
use tokio::sync::{mpsc, oneshot, watch};

use crate::local::Local;

/// A lock that many tasks of this process share: at most one of them is inside, and while it
/// is, nobody in the whole group is (but see [`Guard::fence`]).
#[derive(Clone, Debug)]
pub struct Lock {
    asks: mpsc::UnboundedSender<Ask>,
}

/// Being inside. Dropping it leaves.
#[derive(Debug)]
pub struct Guard {
    fence: Fence,
    /// Which entry of this node it is.
    entry: u64,
    /// Closed when the entry ends, however that comes about.
    stays: watch::Receiver<()>,
    asks: mpsc::UnboundedSender<Ask>,
}

/// Who leads, as this process was told last.
#[derive(Clone, Debug)]
pub struct Leadership {
    asks: mpsc::UnboundedSender<Ask>,
    leader: watch::Receiver<Option<Term>>,
}

/// The node has stopped: nobody will ever enter through it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the node has stopped")]
pub struct Stopped;

/// What the handles ask of a [`Front`].
#[derive(Debug)]
pub struct Ask(Wish);

#[derive(Debug)]
enum Wish {
    Enter(oneshot::Sender<Guard>),
    /// From the entry of this number, unless that has ended by itself.
    Exit(u64),
    Elect,
}

/// The local side of a lock and, where there is one, an election: lets users enter in turn.
pub struct Front {
    asks: mpsc::WeakUnboundedSender<Ask>,
    waiting: VecDeque<oneshot::Sender<Guard>>,
    /// How often it was inside.
    entries: u64,
    phase: Phase,
    leader: watch::Sender<Option<Term>>,
}

#[derive(Debug)]
enum Phase {
    Outside,
    Asked,
    /// As long as this lasts, the guard is one.
    Inside {
        _stays: watch::Sender<()>,
    },
}

impl Lock {
    /// Waits until inside. Dropping the future gives the place in the queue up; nobody is
    /// kept waiting for it.
    ///
    /// # Errors
    ///
    /// [`Stopped`]; you are not inside.
    pub async fn enter(&self) -> Result<Guard, Stopped> {
        let (sender, receiver) = oneshot::channel();
        self.asks.send(Ask(Wish::Enter(sender))).map_err(|_| Stopped)?;
        receiver.await.map_err(|_| Stopped)
    }
}

impl Guard {
    /// Goes with every access to what the lock protects.
    ///
    /// A process can be stopped for longer than others are willing to wait, and still believe
    /// that it is inside. The resource keeps the highest fence it has seen and refuses lower
    /// ones: that, and nothing else, makes the lock safe then.
    pub fn fence(&self) -> Fence {
        self.fence
    }

    /// Comes back when the lock is lost while it is held: the lock has ended by itself, as a lease
    /// does that could not be renewed, or the node has stopped, because it failed or because its
    /// peers take another for this process. Whoever is inside stops what it does. Dropping the
    /// future loses nothing.
    pub async fn lost(&self) {
        // Nothing is ever sent: it ends with the entry.
        let _ = self.stays.clone().changed().await;
    }

    /// Whether [`Guard::lost`] would come back.
    pub fn is_lost(&self) -> bool {
        self.stays.has_changed().is_err()
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // A node that has stopped is outside already.
        let _ = self.asks.send(Ask(Wish::Exit(self.entry)));
    }
}

impl Leadership {
    /// The term that this process was told of last; nothing while nobody leads, or when the node
    /// has stopped.
    pub fn now(&self) -> Option<Term> {
        *self.leader.borrow()
    }

    /// Waits for the next change. Changes in quick succession may be seen as one.
    ///
    /// # Errors
    ///
    /// [`Stopped`].
    pub async fn changed(&mut self) -> Result<Option<Term>, Stopped> {
        self.leader.changed().await.map_err(|_| Stopped)?;
        Ok(*self.leader.borrow_and_update())
    }

    /// Asks for an election.
    ///
    /// # Errors
    ///
    /// [`Stopped`].
    pub fn elect(&self) -> Result<(), Stopped> {
        self.asks.send(Ask(Wish::Elect)).map_err(|_| Stopped)
    }
}

/// A command that can ask for a lock, and perhaps for an election.
pub trait Demand: From<mutex::Command> {
    /// The command that asks for an election, where the protocol offers one.
    fn elect() -> Option<Self>;
}

impl Demand for mutex::Command {
    fn elect() -> Option<Self> {
        None
    }
}

impl Demand for office::Command {
    fn elect() -> Option<Self> {
        Some(office::Command::Election(election::Command::Elect))
    }
}

/// What users ask, on its way to the node.
pub type Asks = mpsc::UnboundedReceiver<Ask>;

impl Front {
    /// The local side, its handles, and the queue between them; the first and the last go into
    /// the [`Parts`](crate::Parts) of a node, which stops when the last handle and guard is gone.
    pub fn new() -> (Self, Lock, Leadership, Asks) {
        let (asks, receiver) = mpsc::unbounded_channel();
        let (sender, leader) = watch::channel(None);
        let front = Front {
            asks: asks.downgrade(),
            waiting: VecDeque::new(),
            entries: 0,
            phase: Phase::Outside,
            leader: sender,
        };
        (front, Lock { asks: asks.clone() }, Leadership { asks, leader }, receiver)
    }

    /// Asks for the lock if somebody here wants it.
    fn ask_next(&mut self) -> Option<mutex::Command> {
        self.waiting.retain(|user| !user.is_closed());
        if !matches!(self.phase, Phase::Outside) || self.waiting.is_empty() {
            return None;
        }
        self.phase = Phase::Asked;
        Some(mutex::Command::Enter)
    }

    /// Leaves an entry, unless it has ended already.
    fn exit(&mut self, entry: u64) -> Option<mutex::Command> {
        let lasts = matches!(self.phase, Phase::Inside { .. }) && entry == self.entries;
        lasts.then_some(mutex::Command::Exit)
    }

    /// Lets the first user that still wants to enter have the lock.
    fn entered(&mut self, fence: Fence) -> Option<mutex::Command> {
        let (sender, stays) = watch::channel(());
        self.phase = Phase::Inside { _stays: sender };
        self.entries += 1;
        let entry = self.entries;
        // Without a handle there is nobody to enter, and nobody who could ever leave.
        let Some(asks) = self.asks.upgrade() else { return self.exit(entry) };
        let mut guard = Guard { fence, entry, stays, asks };
        while let Some(user) = self.waiting.pop_front() {
            match user.send(guard) {
                Ok(()) => return None,
                Err(back) => guard = back,
            }
        }
        // Dropping the guard asks for the exit.
        None
    }
}

impl<P> Local<P> for Front
where
    P: Protocol,
    P::Command: Demand,
    P::Event: Facts,
{
    type Ask = Ask;

    fn ask(&mut self, Ask(wish): Ask) -> Option<P::Command> {
        match wish {
            Wish::Enter(user) => {
                self.waiting.push_back(user);
                self.ask_next().map(P::Command::from)
            }
            Wish::Exit(entry) => self.exit(entry).map(P::Command::from),
            Wish::Elect => P::Command::elect(),
        }
    }

    fn told(&mut self, event: P::Event) -> Option<P::Command> {
        match event.of_election() {
            Some(election::Event::Elected { term, .. }) => {
                self.leader.send_replace(Some(*term));
            }
            Some(election::Event::Deposed { .. }) => {
                self.leader.send_replace(None);
            }
            None => {}
        }
        match event.of_mutex()? {
            mutex::Event::Entered { fence } => self.entered(*fence).map(P::Command::from),
            mutex::Event::Exited => {
                self.phase = Phase::Outside;
                self.ask_next().map(P::Command::from)
            }
        }
    }
}

impl Drop for Front {
    /// A node that has stopped, however that came about, follows nobody and leads nobody.
    fn drop(&mut self) {
        self.leader.send_replace(None);
    }
}

impl fmt::Debug for Front {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Front").field("phase", &self.phase).finish_non_exhaustive()
    }
}
