//! Queues the users of one or more locks and tracks the leader.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use tenure_core::service::{election, mutex, mutex_and_election, with_election};
use tenure_core::{EventConversions, Fence, LockName, Protocol, Tagged, Term};
use tokio::sync::{mpsc, watch};

use crate::application::Application;
use crate::failure::NodeFailure;
use crate::lock::{
    ElectionHandle, Guard, GuardSender, Lock, LockLossReason, LockRequest, LockRequestKind,
};

/// Command type of a lock protocol. The protocol has one lock or many named locks, and may also
/// have an election.
pub trait LockCommand: Sized {
    /// Wraps a command for the lock `name`, or for the single lock if `name` is `None`. Returns
    /// `None` if the protocol has no such lock.
    fn for_lock(name: Option<&LockName>, command: mutex::Command) -> Option<Self>;

    /// Wraps a command for the election. Returns `None` if the protocol has no election.
    fn for_election(command: election::Command) -> Option<Self>;
}

/// Event type of a lock protocol. The protocol has one lock or many named locks, and may also have
/// an election.
pub trait LockEvent: EventConversions {
    /// Returns the name of a lock and its event if this is an event of a lock. Returns `None` for
    /// any other event. If the protocol has a single lock, the name is `None`.
    fn lock_event(&self) -> Option<(Option<&LockName>, &mutex::Event)>;
}

/// Receiver of the requests that [`Lock`] and [`ElectionHandle`] handles send to the node.
pub type LockRequestReceiver = mpsc::UnboundedReceiver<LockRequest>;

/// Application for one lock or many named locks, and for an election if the protocol has one.
pub struct LockApplication {
    requests: mpsc::WeakUnboundedSender<LockRequest>,
    /// Wait queues by the name of the lock. The name is `None` if the node has a single lock.
    queues: BTreeMap<Option<LockName>, WaitQueue>,
    leader: watch::Sender<Option<Term>>,
    is_shutdown_requested: bool,
}

#[derive(Debug, Default)]
struct WaitQueue {
    waiters: VecDeque<GuardSender>,
    /// Number of times that this process has acquired the lock.
    entries: u64,
    phase: Phase,
    /// True if the requested entry has already ended in a step that waits for the disk. The events
    /// of the entry and of its end have not been delivered yet.
    has_ended_early: bool,
}

#[derive(Debug, Default)]
enum Phase {
    #[default]
    Idle,
    Requested,
    Held {
        /// Term at the time of the entry. `None` if there was no leader.
        granted_under: Option<Term>,
        loss: watch::Sender<Option<LockLossReason>>,
        is_releasing: bool,
    },
}

impl LockApplication {
    /// Creates the application, a handle of its single lock, a handle of the election, and the
    /// receiver of the requests that the handles send. [`Lock::named`] derives the named locks.
    ///
    /// The caller puts the application and the receiver into the
    /// [`NodeComponents`](crate::NodeComponents) of a node. The node shuts down when all handles
    /// and guards are dropped.
    pub fn new() -> (Self, Lock, ElectionHandle, LockRequestReceiver) {
        let (requests, receiver) = mpsc::unbounded_channel();
        let (sender, leader) = watch::channel(None);
        let application = LockApplication {
            requests: requests.downgrade(),
            queues: BTreeMap::new(),
            leader: sender,
            is_shutdown_requested: false,
        };
        (application, Lock::new(requests.clone()), ElectionHandle { requests, leader }, receiver)
    }

    /// Publishes the leader. Notifies no one if the leader is the same as before: an election may
    /// report its leader again, for instance when an election is requested.
    fn report_leader(&self, leader: Option<Term>) {
        self.leader.send_if_modified(|known| std::mem::replace(known, leader) != leader);
    }

    fn update_queue<C: LockCommand>(
        &mut self,
        name: Option<LockName>,
        update: impl FnOnce(&mut WaitQueue) -> Option<mutex::Command>,
    ) -> Option<C> {
        let command = update(self.queues.entry(name.clone()).or_default())?;
        C::for_lock(name.as_ref(), command)
    }

    /// Handles an entry of this process. Passes the lock to the first waiter that still wants it.
    /// Returns the command that releases the lock if all handles were dropped.
    fn on_entered(&mut self, name: Option<LockName>, fence: Fence) -> Option<mutex::Command> {
        let granted_under = *self.leader.borrow();
        let (loss, receiver) = watch::channel(None);
        let queue = self.queues.entry(name.clone()).or_default();
        if std::mem::take(&mut queue.has_ended_early) {
            // The event `Exited` follows. The lock is then requested again.
            return None;
        }
        queue.phase = Phase::Held { granted_under, loss, is_releasing: false };
        queue.entries += 1;
        let entry = queue.entries;
        // All handles were dropped, so no user can hold the lock. It is released at once.
        let Some(requests) = self.requests.upgrade() else { return queue.request_exit(entry) };
        let mut guard = Some(Guard { fence, name, entry, loss: receiver, requests });
        while let Some(waiter) = queue.waiters.pop_front() {
            match waiter.send(guard) {
                Ok(()) => return None,
                Err(returned) => guard = returned,
            }
        }
        // No waiter took the guard. Dropping it requests the exit.
        None
    }
}

impl WaitQueue {
    fn enqueue(&mut self, waiter: GuardSender, is_try: bool) -> Option<mutex::Command> {
        self.waiters.retain(|waiter| !waiter.is_closed());
        let is_blocked = !matches!(self.phase, Phase::Idle) || !self.waiters.is_empty();
        if is_try && is_blocked {
            // The waiter may have given up.
            let _ = waiter.send(None);
            return None;
        }
        self.waiters.push_back(waiter);
        self.request_next()
    }

    /// Returns the command that requests the lock if a local user waits for the lock. Returns
    /// `None` if this process already holds the lock or has requested it.
    fn request_next(&mut self) -> Option<mutex::Command> {
        self.waiters.retain(|waiter| !waiter.is_closed());
        if !matches!(self.phase, Phase::Idle) || self.waiters.is_empty() {
            return None;
        }
        self.phase = Phase::Requested;
        Some(mutex::Command::Enter)
    }

    /// Returns the command that releases the lock after acquisition number `entry`. Returns `None`
    /// if this acquisition has already ended.
    fn request_exit(&mut self, entry: u64) -> Option<mutex::Command> {
        match &mut self.phase {
            Phase::Held { is_releasing, .. } if entry == self.entries => {
                *is_releasing = true;
                Some(mutex::Command::Exit)
            }
            _ => None,
        }
    }

    /// Notifies the guard that its lock is lost. Does nothing if the release of the lock was
    /// already requested. `leader` is the current term. The reason depends on whether it is also
    /// the term at the time of the entry.
    fn notify_lost(&mut self, leader: Option<Term>) {
        if let Phase::Held { granted_under, loss, is_releasing: false } = &self.phase {
            let reason = if *granted_under == leader {
                LockLossReason::LeaseExpired
            } else {
                LockLossReason::LeaderDeposed
            };
            loss.send_if_modified(|lost| lost.is_none() && lost.replace(reason).is_none());
        }
    }

    /// Handles the end of an entry. Returns the command that requests the lock for the next waiter,
    /// if there is one.
    fn on_exited(&mut self, leader: Option<Term>) -> Option<mutex::Command> {
        self.notify_lost(leader);
        self.phase = Phase::Idle;
        self.request_next()
    }
}

impl<P> Application<P> for LockApplication
where
    P: Protocol,
    P::Command: LockCommand,
    P::Event: LockEvent,
{
    type Request = LockRequest;

    fn on_request(&mut self, LockRequest(kind): LockRequest) -> Option<P::Command> {
        match kind {
            // The protocol has no such lock. Dropping the waiter returns `NodeStopped` to its user.
            LockRequestKind::Enter { name, .. }
                if P::Command::for_lock(name.as_ref(), mutex::Command::Enter).is_none() =>
            {
                None
            }
            LockRequestKind::Enter { name, waiter, is_try } => {
                self.update_queue(name, |queue| queue.enqueue(waiter, is_try))
            }
            LockRequestKind::Exit { name, entry } => {
                self.update_queue(name, |queue| queue.request_exit(entry))
            }
            LockRequestKind::Elect => P::Command::for_election(election::Command::Elect),
            LockRequestKind::Shutdown => {
                self.is_shutdown_requested = true;
                None
            }
        }
    }

    fn is_shutdown_requested(&self) -> bool {
        self.is_shutdown_requested
    }

    fn on_event(&mut self, event: P::Event) -> Option<P::Command> {
        match event.as_election() {
            Some(election::Event::Elected { term, .. }) => {
                self.report_leader(Some(*term));
            }
            Some(election::Event::Deposed { .. }) => {
                self.report_leader(None);
            }
            None => {}
        }
        let (name, event) = event.lock_event()?;
        let name = name.cloned();
        match event {
            mutex::Event::Entered { fence } => {
                let command = self.on_entered(name.clone(), *fence)?;
                P::Command::for_lock(name.as_ref(), command)
            }
            mutex::Event::Exited => {
                let leader = *self.leader.borrow();
                self.update_queue(name, |queue| queue.on_exited(leader))
            }
        }
    }

    fn on_event_early(&mut self, events: &[P::Event]) {
        let is_deposition =
            |event: &P::Event| matches!(event.as_election(), Some(election::Event::Deposed { .. }));
        let leader = *self.leader.borrow();
        let leader = leader.filter(|_| !events.iter().any(is_deposition));
        for event in events {
            let Some((name, mutex::Event::Exited)) = event.lock_event() else { continue };
            if let Some(queue) = self.queues.get_mut(&name.cloned()) {
                queue.has_ended_early = matches!(queue.phase, Phase::Requested);
                queue.notify_lost(leader);
            }
        }
    }

    fn leader_term(&self) -> Option<Term> {
        *self.leader.borrow()
    }

    fn handover_command(&mut self) -> Option<P::Command> {
        P::Command::for_election(election::Command::Resign)
    }

    fn on_failure(&mut self, failure: &NodeFailure) {
        let reason = match failure {
            NodeFailure::Evicted(evicted) => LockLossReason::Evicted(*evicted),
            _ => LockLossReason::NodeStopped,
        };
        for queue in self.queues.values() {
            if let Phase::Held { loss, .. } = &queue.phase {
                loss.send_replace(Some(reason));
            }
        }
    }
}

impl Drop for LockApplication {
    /// Tells the handles that there is no leader, because the node has stopped.
    fn drop(&mut self) {
        self.leader.send_replace(None);
    }
}

impl fmt::Debug for LockApplication {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LockApplication").field("queues", &self.queues).finish_non_exhaustive()
    }
}

impl LockCommand for mutex::Command {
    fn for_lock(name: Option<&LockName>, command: mutex::Command) -> Option<Self> {
        name.is_none().then_some(command)
    }

    fn for_election(_: election::Command) -> Option<Self> {
        None
    }
}

impl LockCommand for mutex_and_election::Command {
    fn for_lock(name: Option<&LockName>, command: mutex::Command) -> Option<Self> {
        name.is_none().then_some(mutex_and_election::Command::Mutex(command))
    }

    fn for_election(command: election::Command) -> Option<Self> {
        Some(mutex_and_election::Command::Election(command))
    }
}

/// Commands of a protocol with an election and many named locks. The elected leader coordinates the
/// locks.
impl LockCommand for with_election::Command<Tagged<LockName, mutex::Command>> {
    fn for_lock(name: Option<&LockName>, inner: mutex::Command) -> Option<Self> {
        name.map(|name| with_election::Command::Application(Tagged { key: name.clone(), inner }))
    }

    fn for_election(command: election::Command) -> Option<Self> {
        Some(with_election::Command::Election(command))
    }
}

impl LockEvent for mutex::Event {
    fn lock_event(&self) -> Option<(Option<&LockName>, &mutex::Event)> {
        Some((None, self))
    }
}

impl LockEvent for mutex_and_election::Event {
    fn lock_event(&self) -> Option<(Option<&LockName>, &mutex::Event)> {
        self.as_mutex().map(|event| (None, event))
    }
}

impl LockEvent for with_election::Event<Tagged<LockName, mutex::Event>> {
    fn lock_event(&self) -> Option<(Option<&LockName>, &mutex::Event)> {
        match self {
            with_election::Event::Application(Tagged { key, inner }) => Some((Some(key), inner)),
            with_election::Event::Election(_) => None,
        }
    }
}
