//! A lock, being inside, and who leads, as the users of a node have them.

use std::time::Duration;

use tenure_core::{Fence, Name, Term};
use thiserror::Error;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::timeout;

use crate::transport::Expelled;

/// How long [`Lock::try_enter`] waits for the group, unless it is told otherwise.
const AT_ONCE: Duration = Duration::from_millis(80);

/// A lock that many tasks of this process share: at most one of them is inside, and while it
/// is, nobody in the whole group is (but see [`Guard::fence`]).
///
/// Cheap to clone. Whoever waits through this node is served in order of asking; between nodes the
/// order is the algorithm's.
#[derive(Clone, Debug)]
pub struct Lock {
    /// Which lock of its node, if that has many.
    name: Option<Name>,
    at_once: Duration,
    asks: mpsc::UnboundedSender<Ask>,
}

/// Being inside. Dropping it leaves.
#[derive(Debug)]
#[must_use = "dropping it leaves at once"]
pub struct Guard {
    fence: Fence,
    name: Option<Name>,
    /// Which entry of this node to this lock it is.
    entry: u64,
    /// Told why, or closed, when the entry ends without having been left.
    stays: watch::Receiver<Option<Lost>>,
    asks: mpsc::UnboundedSender<Ask>,
}

/// Who leads, as this process was told last.
#[derive(Clone, Debug)]
pub struct Leadership {
    asks: mpsc::UnboundedSender<Ask>,
    leader: watch::Receiver<Option<Term>>,
}

/// Why somebody is inside no more who did not leave. Whatever the reason, others may be inside now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Lost {
    /// The entry ended by itself, as a lease does that could not be renewed in time: this node was
    /// stopped for long, or cut off from the leader, or from those who stand behind it.
    #[error("the entry ended by itself, since it could not be renewed in time")]
    LeaseOver,
    /// The entry ended by itself, since whoever let it in leads no more, and nobody who leads now
    /// confirmed it in time.
    #[error("the entry ended by itself, since its leader was deposed and no other confirmed it")]
    Deposed,
    /// Peers refuse this node for good: as a rule since another boot of its process has taken its
    /// place. It has stopped.
    #[error("this node is out of its group: {0}")]
    Superseded(Expelled),
    /// The node has stopped: it was told to, or it could not go on.
    #[error("the node has stopped")]
    NodeEnded,
}

/// The node has stopped: nobody will ever enter through it again, and nobody is inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the node has stopped")]
pub struct Stopped;

/// What the handles ask of a [`Front`](crate::Front).
#[derive(Debug)]
pub struct Ask(pub(crate) Wish);

#[derive(Debug)]
pub(crate) enum Wish {
    Enter {
        name: Option<Name>,
        user: User,
        /// Whether nobody is to be waited for whom this node knows of.
        at_once: bool,
    },
    /// From the entry of this number, unless that has ended by itself.
    Exit {
        name: Option<Name>,
        entry: u64,
    },
    Elect,
    End,
}

/// Who waits for a guard; nothing comes where somebody else is in the way.
pub(crate) type User = oneshot::Sender<Option<Guard>>;

impl Lock {
    pub(crate) fn new(asks: mpsc::UnboundedSender<Ask>) -> Self {
        Lock { name: None, at_once: AT_ONCE, asks }
    }

    /// The lock of this name at the same node, which must have many: nobody ever enters through it
    /// otherwise, and everybody who tries is told [`Stopped`].
    #[must_use]
    pub fn named(&self, name: Name) -> Lock {
        Lock { name: Some(name), ..self.clone() }
    }

    /// The same lock with another idea of how long [`Lock::try_enter`] may take; 80 ms by default.
    #[must_use]
    pub fn at_once_within(self, at_once: Duration) -> Lock {
        Lock { at_once, ..self }
    }

    /// The name of this lock, if its node has many.
    pub fn name(&self) -> Option<&Name> {
        self.name.as_ref()
    }

    /// Waits until inside, however long that takes: for ever, where the algorithm stops, as it does
    /// without a majority or with a crash that its card excludes.
    ///
    /// Dropping the future gives the place in the queue up, and nobody is kept waiting for it. No
    /// algorithm here takes a request back that has been sent, so it may be granted yet: then the
    /// next task of this process has it, or it is given back at once.
    ///
    /// # Errors
    ///
    /// [`Stopped`]; you are not inside.
    pub async fn enter(&self) -> Result<Guard, Stopped> {
        let guard = self.ask(false).await?;
        Ok(guard.expect("whoever waits is let in"))
    }

    /// Enters at once, or not: nothing if somebody else is inside or about to be, or if nobody who
    /// decides can be reached.
    ///
    /// If it is a task of this process, the answer comes without a message. Otherwise at once is as
    /// long as a request and its answer may take: twice `message_ms` of a node's configuration.
    /// Where the permission travels, as a token does, it may be elsewhere though nobody is inside.
    /// Dropping the future, and a grant that comes too late, are as with [`Lock::enter`].
    ///
    /// # Errors
    ///
    /// [`Stopped`]; you are not inside.
    pub async fn try_enter(&self) -> Result<Option<Guard>, Stopped> {
        timeout(self.at_once, self.ask(true)).await.unwrap_or(Ok(None))
    }

    /// Waits until inside, at most so long: nothing if it takes longer. Dropping the future, and a
    /// grant that comes too late, are as with [`Lock::enter`].
    ///
    /// # Errors
    ///
    /// [`Stopped`]; you are not inside.
    pub async fn enter_within(&self, patience: Duration) -> Result<Option<Guard>, Stopped> {
        timeout(patience, self.ask(false)).await.unwrap_or(Ok(None))
    }

    /// Ends the node in good order, whoever has handles of it: what was sent arrives first, whoever
    /// waits is told [`Stopped`], and guards are lost, so that others are let in as if this node
    /// had crashed there. It ends by itself when the last handle and guard is gone.
    pub fn end_node(&self) {
        // One that has stopped has ended.
        let _ = self.asks.send(Ask(Wish::End));
    }

    async fn ask(&self, at_once: bool) -> Result<Option<Guard>, Stopped> {
        let (user, answered) = oneshot::channel();
        let wish = Wish::Enter { name: self.name.clone(), user, at_once };
        self.asks.send(Ask(wish)).map_err(|_| Stopped)?;
        answered.await.map_err(|_| Stopped)
    }
}

impl Guard {
    pub(crate) fn new(
        fence: Fence,
        name: Option<Name>,
        entry: u64,
        stays: watch::Receiver<Option<Lost>>,
        asks: mpsc::UnboundedSender<Ask>,
    ) -> Self {
        Guard { fence, name, entry, stays, asks }
    }

    /// Goes with every access to what the lock protects.
    ///
    /// A process can be stopped for longer than others are willing to wait, and still believe
    /// that it is inside. The resource keeps the highest fence it has seen and refuses lower
    /// ones: that, and nothing else, makes the lock safe then.
    pub fn fence(&self) -> Fence {
        self.fence
    }

    /// Comes back when the lock is lost while it is held, with the reason: the entry has ended by
    /// itself, as a lease does that could not be renewed, or the node has stopped, because it
    /// failed or because its peers take another for this process. Whoever is inside stops what it
    /// does. Dropping the future loses nothing, and it may be asked for again and again.
    pub async fn lost(&self) -> Lost {
        let mut stays = self.stays.clone();
        let why = stays.wait_for(Option::is_some).await;
        why.ok().and_then(|why| *why).unwrap_or(Lost::NodeEnded)
    }

    /// Whether [`Guard::lost`] would come back now.
    pub fn is_lost(&self) -> bool {
        self.stays.borrow().is_some() || self.stays.has_changed().is_err()
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // A node that has stopped is outside already.
        let _ = self.asks.send(Ask(Wish::Exit { name: self.name.clone(), entry: self.entry }));
    }
}

impl Leadership {
    pub(crate) fn new(
        asks: mpsc::UnboundedSender<Ask>,
        leader: watch::Receiver<Option<Term>>,
    ) -> Self {
        Leadership { asks, leader }
    }

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

    /// Asks for an election. Only who wants a leader and no lock needs to: entering asks for one
    /// where the lock follows a leader.
    ///
    /// # Errors
    ///
    /// [`Stopped`].
    pub fn elect(&self) -> Result<(), Stopped> {
        self.asks.send(Ask(Wish::Elect)).map_err(|_| Stopped)
    }
}
