//! An election made of a lock: whoever enters first leads, for as long as it stays inside.
//!
//! The way in which services elect with a lock service: the lock is the office. Leader election
//! thereby reduces to mutual exclusion.
//!
//! | | |
//! |---|---|
//! | assumes | what the lock assumes |
//! | messages | those of the lock for each candidate, and N − 1 |
//! | time | that of the lock for one entry, and 1 message |
//!
//! **Why it is right.** Only who is inside announces itself, and at most one is inside. Who
//! resigns leaves; the next candidate enters with a higher fence, of which its term is made, so
//! an announcement that was overtaken is recognised by its lower term.
//!
//! What a leader is chosen by is not inherited: the first to enter leads, not the largest rank.
//! A leader that crashes is a holder that crashes: what the lock does then, the office does. Over a
//! lease, a leader whose lease is over is put out of its office, before another can have it, and is
//! a candidate again.

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use tenure_core::service::{election, mutex};
use tenure_core::{
    Algorithm, Card, Cost, Effects, Faults, Fence, Group, Input, Knowledge, Label, Labelled, Layer,
    Mutex, ProcessId, Property, Protocol, Service, Strategy, Term, TimerRole, Topology, Verdict,
};

/// One process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ElectionFromMutex<M: Mutex> {
    group: Group,
    mutex: M,
    phase: Phase,
    /// The highest term that we know of.
    term: Option<Term>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Follower,
    /// Waits for the lock, perhaps behind the leader.
    Candidate,
    /// Is inside.
    Leader,
}

/// What processes say to each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message<M> {
    /// Of the lock.
    Mutex(M),
    /// "I am inside: I lead."
    Elected {
        /// In which term. Its number is made of a whole fence, and never packed into one.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::any"))]
        term: Term,
    },
}

impl<M: Labelled> Labelled for Message<M> {
    fn label(&self) -> Label {
        match self {
            Message::Mutex(message) => message.label(),
            Message::Elected { .. } => Label { layer: Layer::Election, kind: "elected" },
        }
    }
}

impl<M: Mutex> Protocol for ElectionFromMutex<M> {
    type Config = M::Config;
    type Command = election::Command;
    type Event = election::Event;
    type Message = Message<M::Message>;
    type Timer = M::Timer;
    type Stable = M::Stable;

    fn boot(
        group: Group,
        config: &M::Config,
        stable: Option<M::Stable>,
        fx: &mut impl Effects<Self>,
    ) -> Self {
        // Nobody enters unasked, so there is nothing to be told of.
        let (mutex, _) =
            fx.lift(Message::Mutex, |timer| timer, |fx| M::boot(group, config, stable, fx));
        ElectionFromMutex { group, mutex, phase: Phase::Follower, term: None }
    }

    fn stable(&self) -> M::Stable {
        self.mutex.stable()
    }

    fn on_command(&mut self, command: election::Command, fx: &mut impl Effects<Self>) {
        match (command, self.phase) {
            (election::Command::Elect, Phase::Follower) => {
                self.phase = Phase::Candidate;
                self.tell_leader(fx);
                self.tell_mutex(Input::Command(mutex::Command::Enter), fx);
            }
            (election::Command::Resign, Phase::Leader) => {
                self.phase = Phase::Follower;
                if let Some(term) = self.term {
                    fx.emit(election::Event::Deposed { term });
                }
                self.tell_mutex(Input::Command(mutex::Command::Exit), fx);
            }
            (election::Command::Elect, _) => self.tell_leader(fx),
            (election::Command::Resign, _) => {}
        }
    }

    fn on_message(&mut self, from: ProcessId, message: Self::Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Mutex(message) => self.tell_mutex(Input::Message { from, message }, fx),
            Message::Elected { term } => self.follow(term, fx),
        }
    }

    fn on_timer(&mut self, timer: M::Timer, fx: &mut impl Effects<Self>) {
        self.tell_mutex(Input::Timer(timer), fx);
    }

    fn timer_role(timer: &M::Timer) -> TimerRole {
        M::timer_role(timer)
    }

    fn on_suspicion(&mut self, peer: ProcessId, verdict: Verdict, fx: &mut impl Effects<Self>) {
        self.tell_mutex(Input::Suspicion { peer, verdict }, fx);
    }
}

impl<M: Mutex> ElectionFromMutex<M> {
    fn tell_mutex(&mut self, input: Input<M>, fx: &mut impl Effects<Self>) {
        let (_, events) = fx.lift(Message::Mutex, |timer| timer, |fx| self.mutex.step(input, fx));
        self.learn(events, fx);
    }

    fn learn(&mut self, events: Vec<mutex::Event>, fx: &mut impl Effects<Self>) {
        for event in events {
            match (event, self.phase) {
                (mutex::Event::Entered { fence }, _) => {
                    let term = Term { number: number(fence), leader: self.group.me() };
                    self.phase = Phase::Leader;
                    self.follow(term, fx);
                    fx.broadcast(&self.group.peers(), Message::Elected { term });
                }
                (mutex::Event::Exited, Phase::Leader) => self.put_out(fx),
                // We have resigned.
                (mutex::Event::Exited, _) => {}
            }
        }
    }

    /// The lock has ended by itself.
    fn put_out(&mut self, fx: &mut impl Effects<Self>) {
        self.phase = Phase::Candidate;
        if let Some(term) = self.term {
            fx.emit(election::Event::Deposed { term });
        }
        self.tell_mutex(Input::Command(mutex::Command::Enter), fx);
    }

    fn follow(&mut self, term: Term, fx: &mut impl Effects<Self>) {
        if self.term.is_none_or(|known| known < term) {
            self.term = Some(term);
            self.tell_leader(fx);
        }
    }

    /// Whoever asks for a leader when there is one is told of it at once.
    fn tell_leader(&self, fx: &mut impl Effects<Self>) {
        if let Some(term) = self.term {
            fx.emit(election::Event::Elected { leader: term.leader, term });
        }
    }
}

/// A number that orders terms as fences are ordered, as long as both halves stay below 2^32;
/// beyond, there is no later term than the last.
fn number(fence: Fence) -> u64 {
    let Fence(first, second) = fence;
    if first.max(second) < 1 << 32 { first << 32 | second } else { u64::MAX }
}

impl<M: Mutex + Algorithm> Algorithm for ElectionFromMutex<M> {
    fn card(config: &M::Config, size: u32) -> Card {
        let mutex = M::card(config, size);
        let others = u64::from(size) - 1;
        let by_clocks = mutex.clocked.contains(&Property::MutualExclusion);
        let (promises, clocked) = match by_clocks {
            false => (vec![Property::Agreement, Property::Progress], vec![]),
            true => (vec![], vec![Property::Agreement, Property::OneLeaderAtATime]),
        };
        Card {
            name: format!("election-from-mutex:{}", mutex.name),
            title: format!("whoever enters first leads; the lock is {}", mutex.name),
            service: Service::Election,
            strategy: Strategy::Composition,
            // The announcement goes to all, whatever way the lock's messages go.
            topology: Topology::Complete,
            messages: Cost::per_election(
                "N−1, and the lock's for each candidate",
                others,
                mutex.messages.most.map(|most| others + u64::from(size) * most),
            )
            .in_part(),
            knows: Knowledge::NON_UNIFORM,
            theory: None,
            promises,
            clocked,
            // The announcement is not repeated.
            faults: Faults { loss: false, max_lost: 0, ..mutex.faults },
            ..mutex
        }
    }
}
