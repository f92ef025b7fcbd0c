//! The local side of a lock, or of many by name, and of an election: lets users enter in turn.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use tenure_core::service::{election, led, mutex, office};
use tenure_core::{Fence, Name, Of, Protocol, Term};
use tokio::sync::{mpsc, watch};

use crate::failure::Failure;
use crate::local::Local;
use crate::lock::{Ask, Guard, Leadership, Lock, Lost, User, Wish};

/// A command that can ask for a lock, or for one of many, and perhaps for an election.
pub trait Demand: Sized {
    /// The command to the lock of this name, or to the only one; nothing where there is no such.
    fn of_lock(name: Option<&Name>, command: mutex::Command) -> Option<Self>;

    /// The command that asks for an election, where the protocol offers one.
    fn elect() -> Option<Self>;

    /// The command that gives the office of the leader up, where the protocol offers one.
    fn resign() -> Option<Self>;
}

/// An event that may tell something of a lock, or of one of many, or of a leader.
pub trait Tidings {
    /// What it tells of a lock, and which one if there are many.
    fn of_lock(&self) -> Option<(Option<&Name>, &mutex::Event)>;

    /// What it tells of the leader.
    fn of_leader(&self) -> Option<&election::Event>;
}

/// What users ask, on its way to the node.
pub type Asks = mpsc::UnboundedReceiver<Ask>;

/// The local side of a lock, or of many by name, and, where there is one, an election.
pub struct Front {
    asks: mpsc::WeakUnboundedSender<Ask>,
    /// By name; the only lock has none.
    queues: BTreeMap<Option<Name>, Queue>,
    leader: watch::Sender<Option<Term>>,
    /// Whether the node is to end.
    is_over: bool,
}

/// Those of this process who want one lock.
#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<User>,
    /// How often it was inside.
    entries: u64,
    phase: Phase,
}

#[derive(Debug, Default)]
enum Phase {
    #[default]
    Outside,
    Asked,
    Inside {
        /// Who led when it entered.
        under: Option<Term>,
        /// As long as this lasts, the guard is one.
        stays: watch::Sender<Option<Lost>>,
        /// Whether the exit was asked for.
        leaves: bool,
    },
}

impl Front {
    /// The local side, the handle of its only lock, from which those of many by name are made, who
    /// leads, and the queue between them; the first and the last go into the
    /// [`Parts`](crate::Parts) of a node, which stops when the last handle and guard is gone.
    pub fn new() -> (Self, Lock, Leadership, Asks) {
        let (asks, receiver) = mpsc::unbounded_channel();
        let (sender, leader) = watch::channel(None);
        let front = Front {
            asks: asks.downgrade(),
            queues: BTreeMap::new(),
            leader: sender,
            is_over: false,
        };
        (front, Lock::new(asks.clone()), Leadership::new(asks, leader), receiver)
    }

    /// Changes a queue; what comes of it is for the lock of its name.
    fn change<C: Demand>(
        &mut self,
        name: Option<Name>,
        change: impl FnOnce(&mut Queue) -> Option<mutex::Command>,
    ) -> Option<C> {
        let command = change(self.queues.entry(name.clone()).or_default())?;
        C::of_lock(name.as_ref(), command)
    }

    /// Lets the first who still wants to enter have the lock.
    fn entered(&mut self, name: Option<Name>, fence: Fence) -> Option<mutex::Command> {
        let under = *self.leader.borrow();
        let (stays, told) = watch::channel(None);
        let queue = self.queues.entry(name.clone()).or_default();
        queue.phase = Phase::Inside { under, stays, leaves: false };
        queue.entries += 1;
        let entry = queue.entries;
        // Without a handle there is nobody to enter, and nobody who could ever leave.
        let Some(asks) = self.asks.upgrade() else { return queue.exit(entry) };
        let mut guard = Some(Guard::new(fence, name, entry, told, asks));
        while let Some(user) = queue.waiting.pop_front() {
            match user.send(guard) {
                Ok(()) => return None,
                Err(back) => guard = back,
            }
        }
        // Dropping the guard asks for the exit.
        None
    }
}

impl Queue {
    fn enter(&mut self, user: User, at_once: bool) -> Option<mutex::Command> {
        self.waiting.retain(|user| !user.is_closed());
        let in_the_way = !matches!(self.phase, Phase::Outside) || !self.waiting.is_empty();
        if at_once && in_the_way {
            // Whoever gave up does not want to know.
            let _ = user.send(None);
            return None;
        }
        self.waiting.push_back(user);
        self.ask_next()
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
        match &mut self.phase {
            Phase::Inside { leaves, .. } if entry == self.entries => {
                *leaves = true;
                Some(mutex::Command::Exit)
            }
            _ => None,
        }
    }

    /// Whoever is inside is so no longer, by itself if nobody asked for that.
    fn lose(&mut self, leader: Option<Term>) {
        if let Phase::Inside { under, stays, leaves: false } = &self.phase {
            let why = if *under == leader { Lost::LeaseOver } else { Lost::Deposed };
            stays.send_if_modified(|lost| lost.is_none() && lost.replace(why).is_none());
        }
    }

    /// The entry is over.
    fn exited(&mut self, leader: Option<Term>) -> Option<mutex::Command> {
        self.lose(leader);
        self.phase = Phase::Outside;
        self.ask_next()
    }
}

impl<P> Local<P> for Front
where
    P: Protocol,
    P::Command: Demand,
    P::Event: Tidings,
{
    type Ask = Ask;

    fn ask(&mut self, Ask(wish): Ask) -> Option<P::Command> {
        match wish {
            // Whoever asks for a lock that there is not is told, and waits for nothing.
            Wish::Enter { name, .. }
                if P::Command::of_lock(name.as_ref(), mutex::Command::Enter).is_none() =>
            {
                None
            }
            Wish::Enter { name, user, at_once } => {
                self.change(name, |queue| queue.enter(user, at_once))
            }
            Wish::Exit { name, entry } => self.change(name, |queue| queue.exit(entry)),
            Wish::Elect => P::Command::elect(),
            Wish::End => {
                self.is_over = true;
                None
            }
        }
    }

    fn is_over(&self) -> bool {
        self.is_over
    }

    fn told(&mut self, event: P::Event) -> Option<P::Command> {
        match event.of_leader() {
            Some(election::Event::Elected { term, .. }) => {
                self.leader.send_replace(Some(*term));
            }
            Some(election::Event::Deposed { .. }) => {
                self.leader.send_replace(None);
            }
            None => {}
        }
        let (name, event) = event.of_lock()?;
        let name = name.cloned();
        match event {
            mutex::Event::Entered { fence } => {
                let command = self.entered(name.clone(), *fence)?;
                P::Command::of_lock(name.as_ref(), command)
            }
            mutex::Event::Exited => {
                let leader = *self.leader.borrow();
                self.change(name, |queue| queue.exited(leader))
            }
        }
    }

    fn foretold(&mut self, events: &[P::Event]) {
        let leaves_office =
            |event: &P::Event| matches!(event.of_leader(), Some(election::Event::Deposed { .. }));
        let leader = *self.leader.borrow();
        let leader = leader.filter(|_| !events.iter().any(leaves_office));
        for event in events {
            let Some((name, mutex::Event::Exited)) = event.of_lock() else { continue };
            if let Some(queue) = self.queues.get_mut(&name.cloned()) {
                queue.lose(leader);
            }
        }
    }

    fn leader(&self) -> Option<Term> {
        *self.leader.borrow()
    }

    fn farewell(&mut self) -> Option<P::Command> {
        P::Command::resign()
    }

    fn ends(&mut self, why: &Failure) {
        let why = match why {
            Failure::Expelled(expelled) => Lost::Superseded(*expelled),
            _ => Lost::NodeEnded,
        };
        for queue in self.queues.values() {
            if let Phase::Inside { stays, .. } = &queue.phase {
                stays.send_replace(Some(why));
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
        f.debug_struct("Front").field("queues", &self.queues).finish_non_exhaustive()
    }
}

impl Demand for mutex::Command {
    fn of_lock(name: Option<&Name>, command: mutex::Command) -> Option<Self> {
        name.is_none().then_some(command)
    }

    fn elect() -> Option<Self> {
        None
    }

    fn resign() -> Option<Self> {
        None
    }
}

impl Demand for office::Command {
    fn of_lock(name: Option<&Name>, command: mutex::Command) -> Option<Self> {
        name.is_none().then_some(office::Command::Mutex(command))
    }

    fn elect() -> Option<Self> {
        Some(office::Command::Election(election::Command::Elect))
    }

    fn resign() -> Option<Self> {
        Some(office::Command::Election(election::Command::Resign))
    }
}

/// Many locks by name, under a leader.
impl Demand for led::Command<Of<Name, mutex::Command>> {
    fn of_lock(name: Option<&Name>, inner: mutex::Command) -> Option<Self> {
        name.map(|name| led::Command::Application(Of { key: name.clone(), inner }))
    }

    fn elect() -> Option<Self> {
        Some(led::Command::Election(election::Command::Elect))
    }

    fn resign() -> Option<Self> {
        Some(led::Command::Election(election::Command::Resign))
    }
}

impl Tidings for mutex::Event {
    fn of_lock(&self) -> Option<(Option<&Name>, &mutex::Event)> {
        Some((None, self))
    }

    fn of_leader(&self) -> Option<&election::Event> {
        None
    }
}

impl Tidings for office::Event {
    fn of_lock(&self) -> Option<(Option<&Name>, &mutex::Event)> {
        match self {
            office::Event::Mutex(event) => Some((None, event)),
            office::Event::Election(_) => None,
        }
    }

    fn of_leader(&self) -> Option<&election::Event> {
        match self {
            office::Event::Election(event) => Some(event),
            office::Event::Mutex(_) => None,
        }
    }
}

impl Tidings for led::Event<Of<Name, mutex::Event>> {
    fn of_lock(&self) -> Option<(Option<&Name>, &mutex::Event)> {
        match self {
            led::Event::Application(Of { key, inner }) => Some((Some(key), inner)),
            led::Event::Election(_) => None,
        }
    }

    fn of_leader(&self) -> Option<&election::Event> {
        match self {
            led::Event::Election(event) => Some(event),
            led::Event::Application(_) => None,
        }
    }
}
