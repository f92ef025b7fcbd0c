//! Chang–Roberts with retries: the initiator restarts the election after lost messages.
//!
//! E. Chang, R. Roberts, *An improved algorithm for decentralized extrema-finding in circular
//! configurations of processes*, CACM 22(5), 1979, assume that no message is lost. Here the
//! initiator starts the election again when no result arrives in time, as textbooks propose.
//!
//! | | |
//! |---|---|
//! | assumes | a ring, distinct ranks; eventually 3N hops take less than a restart timeout |
//! | messages | at most those of Chang–Roberts in each attempt; one attempt without a loss |
//! | time | as Chang–Roberts; after a loss one restart timeout more for each attempt |
//!
//! **Why it is right.** Attempts are numbered. A process that learns of a newer attempt forgets
//! older attempts. Without numbers, participants of the first attempt would drop the ranks of the
//! second. Each attempt runs the algorithm of Chang and Roberts, so only the largest rank can
//! travel all the way around, despite losses, duplicates and reordering. A process that knows the
//! result of an attempt drops the ranks of this attempt, and only forwards the announcement. As
//! long as a process on the ring does not know the result, some process waits with a timeout. The
//! initiator of the newest attempt waits until it knows the leader. If the timeout fires before,
//! the initiator starts a new attempt. Then the leader waits until its announcement returns. If the
//! timeout fires before, the leader announces itself again. The election ends with the first
//! attempt that loses no message and is not replaced by a newer attempt.
//!
//! A restarted process has lost the messages that it should have forwarded. Therefore it starts an
//! attempt with a higher number than it had saved. If a process stays down, no attempt succeeds.
//! The algorithm `repaired-chang-roberts` closes the gap around such a process.

use alloc::sync::Arc;
use alloc::vec;
use core::cmp::Ordering;

use tenure_core::service::election::{Command, Event};
use tenure_core::theory::{Prediction, PredictionKind, WorkloadKind};
use tenure_core::{
    Algorithm, Card, ConfigurableTimeout, Delay, Effects, Group, MessageCost, ProcessId,
    ProcessSet, Protocol, Rank, Term, Timing, ToleratedFaults, Topology, labelled,
};

use super::chang_roberts;
use super::ring::{self, Candidate, Ring};
use crate::Variants;
use crate::catalogue_error::CatalogueError;
use crate::parameters::{FromParameters, Parameters};
use crate::variants::variant_ids;

/// State of one process on the ring.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RestartingChangRoberts {
    ring: Ring,
    variants: Variants<VariantId>,
    /// Rank of this process (*i* in the paper). The process with the largest rank wins.
    rank: Rank,
    /// Time that a waiting participant or the leader waits before it tries again.
    restart_timeout: Delay,
    /// Number of the newest known attempt, 0 before the first.
    number: u64,
    phase: Phase,
}

/// State of a process in an attempt to elect a leader (`participant_i` in the paper). A participant
/// also records whether it waits for the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    NonParticipant,
    Participant {
        /// True if this process waits for the result, because it started the attempt or its user
        /// requested an election during the attempt.
        is_waiting: bool,
    },
    /// The process leads, and waits until its announcement has travelled around the ring.
    Announcing,
    Decided,
}

/// Messages between processes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Carries a rank that is larger than the ranks of all processes that this message has passed.
    Election {
        /// Number of the attempt.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        number: u64,
        /// Rank of the process that sent this message first.
        rank: Rank,
    },
    /// Announces the leader. The rank of the leader has travelled around the whole ring.
    Elected {
        /// Number of the attempt.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        number: u64,
        /// The elected leader.
        leader: Candidate,
    },
}

labelled!(Message, Election, Election => "election", Elected => "elected");

/// Timer of this algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Timer {
    /// The ring has had enough time for an election. A participant that still waits for the result
    /// starts a new attempt. A leader whose announcement has not returned announces itself again.
    Restart,
}

/// State that survives a crash.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Stable {
    #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
    number: u64,
}

/// Configuration of one process.
#[derive(Clone, Debug)]
pub struct Config {
    /// Distinct ranks of the processes in the order of the ring, clockwise. Messages also travel
    /// clockwise.
    pub ranks: Arc<[Rank]>,
    /// Processes that failed before the ring was formed, and are therefore not on it.
    pub absent: ProcessSet,
    /// Time that a waiting participant or the leader waits before it tries again. It must be longer
    /// than the time for 3N messages.
    pub restart_timeout: Delay,
    /// Variants that are switched on.
    pub variants: Variants<VariantId>,
}

impl Config {
    /// Returns a configuration with these ranks and no failed process. The timeout suits messages
    /// that take at most `delay` ticks.
    pub fn with_ranks(ranks: Arc<[Rank]>, delay: u64) -> Self {
        let restart_timeout = Delay::ticks((3 * ranks.len() as u64 + 1) * delay);
        Config { ranks, absent: ProcessSet::new(), restart_timeout, variants: Variants::none() }
    }
}

const RESTART_TIMEOUT_NAME: &str = "restart";

impl FromParameters for Config {
    fn from_parameters(parameters: &Parameters) -> Result<Self, CatalogueError> {
        let config = Config::with_ranks(parameters.ranks.clone(), parameters.delay);
        Ok(Config {
            absent: parameters.absent.clone(),
            variants: parameters.variants()?,
            restart_timeout: parameters.timeout_or(RESTART_TIMEOUT_NAME, config.restart_timeout),
            ..config
        })
    }
}

variant_ids! {
    Unnumbered = "unnumbered", unsound,
        "all attempts have the same number: participants of the first swallow the second"
        => "", "-n 3 --initiators 1 --lose 1";
}

impl Protocol for RestartingChangRoberts {
    type Config = Config;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Timer;
    /// Number of the newest known attempt. It is persisted so that no process takes part in an
    /// attempt twice, even across a crash.
    type Stable = Stable;

    fn boot(
        group: Group,
        config: &Config,
        stable: Option<Stable>,
        fx: &mut impl Effects<Self>,
    ) -> Self {
        let mut process = RestartingChangRoberts {
            ring: Ring::without_absent(&config.absent, group),
            variants: config.variants,
            rank: ring::own_rank(&config.ranks, group),
            restart_timeout: config.restart_timeout,
            number: stable.as_ref().map_or(0, |stable| stable.number),
            phase: Phase::NonParticipant,
        };
        if stable.is_some() {
            process.start_attempt(fx);
        }
        process
    }

    fn stable(&self) -> Stable {
        Stable { number: self.number }
    }

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        match (command, self.phase) {
            (Command::Elect, Phase::Participant { .. }) => self.wait(fx),
            // The user may know the leader of an earlier attempt. The new attempt reports the
            // leader again.
            (Command::Elect, _) => self.start_attempt(fx),
            // The process with the largest rank leads by definition, so it cannot resign while it
            // is up.
            (Command::Resign, _) => {}
        }
    }

    fn on_message(&mut self, _: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        let (Message::Election { number, .. } | Message::Elected { number, .. }) = message;
        if number < self.number {
            // Ignores a message of an abandoned attempt.
            return;
        }
        if number > self.number {
            self.join(number, fx);
        }
        match message {
            Message::Election { rank, .. } => self.on_election(rank, message, fx),
            Message::Elected { leader, .. } if leader == self.own() => {
                if self.phase == Phase::Announcing {
                    self.phase = Phase::Decided;
                    fx.cancel_timer(Timer::Restart);
                }
            }
            Message::Elected { leader, .. } => {
                if self.phase != Phase::Decided {
                    fx.cancel_timer(Timer::Restart);
                    self.phase = Phase::Decided;
                    self.report_leader(leader, fx);
                }
                self.forward(message, fx);
            }
        }
    }

    fn on_timer(&mut self, Timer::Restart: Timer, fx: &mut impl Effects<Self>) {
        match self.phase {
            Phase::Participant { .. } => self.start_attempt(fx),
            Phase::Announcing => self.announce(fx),
            Phase::NonParticipant | Phase::Decided => {}
        }
    }
}

impl RestartingChangRoberts {
    fn start_attempt(&mut self, fx: &mut impl Effects<Self>) {
        if !self.variants.has(VariantId::Unnumbered) || self.number == 0 {
            self.number += 1;
        }
        self.wait(fx);
        self.send_own(fx);
    }

    /// Participates in the current attempt and waits for its result: starts the restart timeout.
    fn wait(&mut self, fx: &mut impl Effects<Self>) {
        self.phase = Phase::Participant { is_waiting: true };
        fx.set_timer(Timer::Restart, self.restart_timeout);
    }

    /// Joins a newer attempt. This process no longer waits for the result of its own attempt,
    /// because the initiator of the newer attempt waits instead.
    fn join(&mut self, number: u64, fx: &mut impl Effects<Self>) {
        self.number = number;
        self.phase = Phase::NonParticipant;
        fx.cancel_timer(Timer::Restart);
    }

    fn on_election(&mut self, rank: Rank, message: Message, fx: &mut impl Effects<Self>) {
        let takes_part = matches!(self.phase, Phase::Participant { .. });
        match (rank.cmp(&self.rank), self.phase) {
            (_, Phase::Announcing | Phase::Decided) => {}
            (Ordering::Greater, _) => {
                if !takes_part {
                    self.phase = Phase::Participant { is_waiting: false };
                }
                self.forward(message, fx);
            }
            (Ordering::Less, Phase::NonParticipant) => {
                self.phase = Phase::Participant { is_waiting: false };
                self.send_own(fx);
            }
            (Ordering::Equal, _) => {
                self.phase = Phase::Announcing;
                self.report_leader(self.own(), fx);
                self.announce(fx);
            }
            (Ordering::Less, Phase::Participant { .. }) => {}
        }
    }

    fn send_own(&mut self, fx: &mut impl Effects<Self>) {
        self.forward(Message::Election { number: self.number, rank: self.rank }, fx);
    }

    fn announce(&mut self, fx: &mut impl Effects<Self>) {
        fx.set_timer(Timer::Restart, self.restart_timeout);
        self.forward(Message::Elected { number: self.number, leader: self.own() }, fx);
    }

    fn report_leader(&self, leader: Candidate, fx: &mut impl Effects<Self>) {
        let leader = leader.process;
        fx.emit(Event::Elected { leader, term: Term { number: self.number, leader } });
    }

    fn own(&self) -> Candidate {
        Candidate { rank: self.rank, process: self.ring.me() }
    }

    /// Sends a message to the next process clockwise. A process that is alone on the ring handles
    /// the message itself.
    fn forward(&mut self, message: Message, fx: &mut impl Effects<Self>) {
        let next = self.ring.successor();
        if self.ring.is_alone() {
            self.on_message(next, message, fx);
        } else {
            fx.send(next, message);
        }
    }
}

impl Algorithm for RestartingChangRoberts {
    fn card(config: &Config, size: u32) -> Card {
        let size = ring::ring_size(&config.absent, size);
        let n = u64::from(size);
        Card {
            timing: Timing::Partial,
            faults: ToleratedFaults {
                loss: true,
                ..ToleratedFaults::duplication_only(
                    "a crash breaks the ring; repaired-chang-roberts survives crashes",
                )
            }
            .with_initial_crashes(),
            topology: Topology::UnidirectionalRing,
            messages: MessageCost::per_election(
                "2N … N(N+1)/2 + N, more when restarted",
                2 * n,
                None,
            )
            .zero_if_alone(size),
            timeouts: vec![ConfigurableTimeout::new(
                RESTART_TIMEOUT_NAME,
                "time without a leader after which a waiting process starts again",
                config.restart_timeout,
            )],
            variants: Variants::<VariantId>::declarations(),
            ..Card::election(
                "restarting-chang-roberts",
                "on a ring that loses messages, the initiator starts the election again",
                "after Chang & Roberts, CACM 22(5), 1979",
            )
        }
    }

    fn predicted_messages(
        config: &Config,
        size: u32,
        workload: WorkloadKind,
    ) -> Option<Prediction> {
        let plain = chang_roberts::Config {
            absent: config.absent.clone(),
            ..chang_roberts::Config::with_ranks(config.ranks.clone(), Variants::none())
        };
        let fifo = chang_roberts::ChangRoberts::predicted_messages(&plain, size, workload)?;
        // If all start, a rank travels less far if the announcement overtakes it. If one starts,
        // only one message is in flight at a time.
        let is_shortened = workload == WorkloadKind::AllStart && size > 1;
        let precision = if is_shortened { PredictionKind::Most } else { fifo.precision };
        Some(Prediction { precision, ..fifo })
    }

    fn with_ranks(config: &Config, ranks: Arc<[Rank]>) -> Config {
        Config { ranks, ..config.clone() }
    }

    /// Returns the number of the newest known attempt. In this algorithm, an attempt takes the role
    /// of a term.
    fn highest_term(&self) -> u64 {
        self.number
    }
}
