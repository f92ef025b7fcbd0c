//! An election that uses a lock: a process leads while it is inside the critical section of the
//! lock.
//!
//! Services that use a lock service elect their leader in this way: the holder of a certain lock
//! leads. Leader election thereby reduces to mutual exclusion.
//!
//! | | |
//! |---|---|
//! | assumes | the assumptions of the lock algorithm, no crash |
//! | messages | per leader: those of one entry to the critical section, and N − 1 to announce it |
//! | time | the delay of one entry to the critical section, and 1 message |
//!
//! **Why it is right.** Only a process inside announces itself, and at most one is inside. A leader
//! that resigns leaves the critical section, and the next candidate enters with a higher fence. The
//! fence determines the term, so processes recognise an outdated announcement by its lower term.
//!
//! The choice of the leader does not depend on ranks: the first to enter leads. If the leader
//! crashes, the holder of the lock has crashed, with the same consequences as for the lock. The
//! followers keep the crashed leader until a candidate enters. So no crash is tolerated, whatever
//! the lock tolerates. If the lock is a lease and the leader's lease expires, the leader is deposed
//! before another process leads, and becomes a candidate again.

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use tenure_core::service::{election, mutex};
use tenure_core::{
    Algorithm, AlgorithmClass, Card, CrashModel, Effects, Fence, Group, Input, Labelled, Layer,
    MessageCost, MessageLabel, Mutex, PeerVerdict, ProcessId, ProcessKnowledge, Property, Protocol,
    Service, Term, TimerRole, ToleratedFaults, Topology,
};

/// One process. It enters the critical section of a lock in order to lead.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ElectionFromMutex<M: Mutex> {
    group: Group,
    mutex: M,
    phase: Phase,
    /// Highest term that this process knows; `None` before the first leader is known.
    term: Option<Term>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Follower,
    /// The process waits for the lock, which the current leader may hold.
    Candidate,
    /// The process is inside the critical section of the lock, and therefore is the leader.
    Leader,
}

/// Messages between processes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message<M> {
    /// A message of the lock.
    Mutex(M),
    /// Announces the sender as the leader. The sender is inside the critical section of the lock.
    Elected {
        /// Term of the leader. Its number is computed from the fence with which the leader entered
        /// the critical section. It may therefore exceed [`Term::NUMBER_LIMIT`], the bound on all
        /// other term numbers.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::any"))]
        term: Term,
    },
}

impl<M: Labelled> Labelled for Message<M> {
    fn label(&self) -> MessageLabel {
        match self {
            Message::Mutex(message) => message.label(),
            Message::Elected { .. } => MessageLabel { layer: Layer::Election, kind: "elected" },
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
        // A process enters only on command, so there are no events yet.
        let (mutex, _) =
            fx.run_child(Message::Mutex, |timer| timer, |fx| M::boot(group, config, stable, fx));
        ElectionFromMutex { group, mutex, phase: Phase::Follower, term: None }
    }

    fn stable(&self) -> M::Stable {
        self.mutex.stable()
    }

    fn on_command(&mut self, command: election::Command, fx: &mut impl Effects<Self>) {
        match (command, self.phase) {
            (election::Command::Elect, Phase::Follower) => {
                self.phase = Phase::Candidate;
                self.report_leader(fx);
                self.step_mutex(Input::Command(mutex::Command::Enter), fx);
            }
            (election::Command::Resign, Phase::Leader) => {
                self.phase = Phase::Follower;
                if let Some(term) = self.term {
                    fx.emit(election::Event::Deposed { term });
                }
                self.step_mutex(Input::Command(mutex::Command::Exit), fx);
            }
            (election::Command::Elect, _) => self.report_leader(fx),
            (election::Command::Resign, _) => {}
        }
    }

    fn on_message(&mut self, from: ProcessId, message: Self::Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Mutex(message) => self.step_mutex(Input::Message { from, message }, fx),
            Message::Elected { term } => self.follow(term, fx),
        }
    }

    fn on_timer(&mut self, timer: M::Timer, fx: &mut impl Effects<Self>) {
        self.step_mutex(Input::Timer(timer), fx);
    }

    fn timer_role(timer: &M::Timer) -> TimerRole {
        M::timer_role(timer)
    }

    fn on_suspicion(&mut self, peer: ProcessId, verdict: PeerVerdict, fx: &mut impl Effects<Self>) {
        self.step_mutex(Input::Suspicion { peer, verdict }, fx);
    }
}

impl<M: Mutex> ElectionFromMutex<M> {
    fn step_mutex(&mut self, input: Input<M>, fx: &mut impl Effects<Self>) {
        let (_, events) =
            fx.run_child(Message::Mutex, |timer| timer, |fx| self.mutex.step(input, fx));
        self.on_mutex_events(events, fx);
    }

    fn on_mutex_events(&mut self, events: Vec<mutex::Event>, fx: &mut impl Effects<Self>) {
        for event in events {
            match (event, self.phase) {
                (mutex::Event::Entered { fence }, _) => {
                    let term = Term { number: term_number(fence), leader: self.group.me() };
                    self.phase = Phase::Leader;
                    self.follow(term, fx);
                    fx.broadcast(&self.group.peers(), Message::Elected { term });
                }
                (mutex::Event::Exited, Phase::Leader) => self.on_lock_expired(fx),
                // This process has resigned.
                (mutex::Event::Exited, _) => {}
            }
        }
    }

    /// Handles an exit that this leader has not requested: the lock has expired. The leader is
    /// deposed, and becomes a candidate again.
    fn on_lock_expired(&mut self, fx: &mut impl Effects<Self>) {
        self.phase = Phase::Candidate;
        if let Some(term) = self.term {
            fx.emit(election::Event::Deposed { term });
        }
        self.step_mutex(Input::Command(mutex::Command::Enter), fx);
    }

    /// Accepts the leader of `term` and reports it to the user, if the term is higher than all
    /// known terms.
    fn follow(&mut self, term: Term, fx: &mut impl Effects<Self>) {
        if self.term.is_none_or(|known| known < term) {
            self.term = Some(term);
            self.report_leader(fx);
        }
    }

    /// Reports the leader of the highest known term to the user. Does nothing if no term is known.
    /// A user that repeats its command gets the report again.
    fn report_leader(&self, fx: &mut impl Effects<Self>) {
        if let Some(term) = self.term {
            fx.emit(election::Event::Elected { leader: term.leader, term });
        }
    }
}

/// Converts a fence, which consists of two numbers, to a term number. A larger fence yields a
/// larger term number, as long as both numbers are below 2^32. If one of them is 2^32 or more,
/// returns `u64::MAX`, and different fences no longer yield different terms.
fn term_number(fence: Fence) -> u64 {
    let Fence(first, second) = fence;
    if first.max(second) < 1 << 32 { first << 32 | second } else { u64::MAX }
}

impl<M: Mutex + Algorithm> Algorithm for ElectionFromMutex<M> {
    fn card(config: &M::Config, size: u32) -> Card {
        let mutex = M::card(config, size);
        let others = u64::from(size) - 1;
        let by_clocks = mutex.timed_promises.contains(&Property::MutualExclusion);
        let (promises, timed_promises) = match by_clocks {
            false => (vec![Property::Agreement, Property::Progress], vec![]),
            true => (vec![], vec![Property::Agreement, Property::OneLeaderAtATime]),
        };
        Card {
            name: format!("election-from-mutex:{}", mutex.name),
            title: format!("the first process to enter leads; the lock is {}", mutex.name),
            service: Service::Election,
            strategy: AlgorithmClass::Composition,
            // The announcement goes to all, regardless of the lock's topology.
            topology: Topology::Complete,
            graph: None,
            messages: MessageCost::per_election(
                "N−1, and the lock's for each candidate",
                others,
                mutex.messages.most.map(|most| others + u64::from(size) * most),
            )
            .marked_incomplete(),
            knows: ProcessKnowledge::NON_UNIFORM,
            theory: None,
            promises,
            timed_promises,
            faults: ToleratedFaults {
                loss: false,
                max_lost: 0,
                crashes: CrashModel::None,
                max_crashed: None,
                description: "followers keep a crashed leader, and a lost announcement is not \
                              repeated",
                ..mutex.faults
            },
            ..mutex
        }
    }
}
