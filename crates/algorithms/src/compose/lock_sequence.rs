//! One lock that consists of several named locks. A process acquires the named locks one after the
//! other and releases them together.
//!
//! A process inside the critical section holds all its locks. No deadlock occurs if all processes
//! acquire their locks in a common order, for instance sorted by name. Among all held locks,
//! consider the last one in this order. Its holder can wait only for a later lock, and no process
//! holds a later lock. If two processes acquire their locks in opposite orders, each may hold a
//! lock for which the other waits forever. The lock `edge-chasing` detects such deadlocks.
//!
//! A lock that expires by itself, such as a lease, cannot be used as one of the named locks.

use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;

use tenure_core::service::mutex::{Command, Event};
use tenure_core::{
    Algorithm, Card, Effects, Fence, Group, Input, MessageCost, Mutex, PeerVerdict, ProcessId,
    Protocol, Tagged, TimerRole, UncomparedConfig,
};

use super::Keyed;
use super::keyed::LockName;

/// State of one process: its part in every lock.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LockSequence<P: Mutex> {
    locks: Keyed<LockName, P>,
    /// Locks that this process acquires, in this order.
    names: UncomparedConfig<Vec<LockName>>,
    /// Number of locks that this process holds now: the first `acquired` locks in `names`.
    acquired: usize,
    /// Fencing token of the latest acquisition of the lock with the smallest name in `names`.
    /// [`Fence::NONE`] before the first acquisition.
    fence: Fence,
}

/// Configuration of one process.
#[derive(Clone, Debug)]
pub struct Config<C> {
    /// Locks of each process, by the index of the process. The process acquires them in this order.
    /// Each list has at least one lock, and contains no lock twice. Two processes exclude each
    /// other if their lists have a common lock. Fences increase only among processes whose lists
    /// have the same smallest name, because an entry has the fence of the lock with this name.
    pub lock_names_by_process: Arc<[Vec<LockName>]>,
    /// Configuration of every lock.
    pub inner: C,
}

impl<P: Mutex> Protocol for LockSequence<P> {
    type Config = Config<P::Config>;
    type Command = Command;
    type Event = Event;
    type Message = Tagged<LockName, P::Message>;
    type Timer = Tagged<LockName, P::Timer>;
    type Stable = <Keyed<LockName, P> as Protocol>::Stable;

    fn boot(
        group: Group,
        config: &Self::Config,
        stable: Option<Self::Stable>,
        fx: &mut impl Effects<Self>,
    ) -> Self {
        let names = UncomparedConfig::new(config.lock_names_by_process[group.me().index()].clone());
        assert!(!names.is_empty(), "a process takes at least one lock");
        let (locks, _) = fx.run_child(
            |message| message,
            |timer| timer,
            |fx| Keyed::boot(group, &config.inner, stable, fx),
        );
        LockSequence { locks, names, acquired: 0, fence: Fence(0, 0) }
    }

    fn stable(&self) -> Self::Stable {
        self.locks.stable()
    }

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        match command {
            Command::Enter => self.command_lock(0, command, fx),
            Command::Exit => {
                self.acquired = 0;
                fx.emit(Event::Exited);
                for place in 0..self.names.len() {
                    self.command_lock(place, command, fx);
                }
            }
        }
    }

    fn on_message(&mut self, from: ProcessId, message: Self::Message, fx: &mut impl Effects<Self>) {
        self.step_locks(Input::Message { from, message }, fx);
    }

    fn on_timer(&mut self, timer: Self::Timer, fx: &mut impl Effects<Self>) {
        self.step_locks(Input::Timer(timer), fx);
    }

    fn timer_role(timer: &Self::Timer) -> TimerRole {
        P::timer_role(&timer.inner)
    }

    fn on_suspicion(&mut self, peer: ProcessId, verdict: PeerVerdict, fx: &mut impl Effects<Self>) {
        self.step_locks(Input::Suspicion { peer, verdict }, fx);
    }
}

impl<P: Mutex> LockSequence<P> {
    fn command_lock(&mut self, place: usize, inner: Command, fx: &mut impl Effects<Self>) {
        let key = self.names[place].clone();
        self.step_locks(Input::Command(Tagged { key, inner }), fx);
    }

    fn step_locks(&mut self, input: Input<Keyed<LockName, P>>, fx: &mut impl Effects<Self>) {
        let ((), events) =
            fx.run_child(|message| message, |timer| timer, |fx| self.locks.step(input, fx));
        for Tagged { key, inner } in events {
            if let Event::Entered { fence } = inner {
                self.on_acquired(&key, fence, fx);
            }
        }
    }

    /// Records that this process has acquired a lock, and requests the next lock. After the last
    /// lock, reports the entry to the critical section.
    fn on_acquired(&mut self, name: &LockName, fence: Fence, fx: &mut impl Effects<Self>) {
        if self.names.iter().min() == Some(name) {
            self.fence = fence;
        }
        self.acquired += 1;
        if self.acquired < self.names.len() {
            self.command_lock(self.acquired, Command::Enter, fx);
        } else {
            fx.emit(Event::Entered { fence: self.fence });
        }
    }
}

impl<P: Mutex + Algorithm> Algorithm for LockSequence<P> {
    fn card(config: &Self::Config, size: u32) -> Card {
        let mut card = P::card(&config.inner, size);
        let counts = config.lock_names_by_process.iter().map(|names| names.len() as u64);
        let (min_locks, max_locks) = (counts.clone().min().unwrap_or(0), counts.max().unwrap_or(0));
        card.name = format!("in-turn:{}", card.name);
        card.title = format!("several locks by name, one after the other, each: {}", card.title);
        card.messages = MessageCost {
            formula: "the cost of each lock",
            least: card.messages.least * min_locks,
            most: card.messages.most.map(|each| each * max_locks),
            ..card.messages
        };
        card
    }
}
