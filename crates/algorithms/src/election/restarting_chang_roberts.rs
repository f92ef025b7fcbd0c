//! Chang–Roberts whose initiator waits, and starts again: lost messages cost an attempt each.
//!
//! E. Chang, R. Roberts, *An improved algorithm for decentralized extrema-finding in circular
//! configurations of processes*, CACM 22(5), 1979, assume that no message is lost. Here whoever
//! started an election starts it again when nothing comes of it, as textbooks propose.
//!
//! | | |
//! |---|---|
//! | assumes | a ring, distinct ranks, a lap that takes less than the patience in the end |
//! | messages | those of Chang–Roberts if nothing is lost, as many again for each attempt |
//! | time | as Chang–Roberts; after a loss at most the patience longer for each attempt |
//!
//! **Why it is right.** Attempts are numbered, and whoever hears of a newer one forgets what it has
//! said in older ones: without a number, the participants of the first attempt would swallow the
//! second. Within one attempt it is Chang–Roberts, so the largest rank alone can come all the way
//! round, whatever is lost, repeated or overtaken; and whoever knows the end of an attempt takes no
//! part in it any more. As long as somebody on the ring does not know the end, somebody waits:
//! whoever started the newest attempt, until it knows who leads, and then the leader, until its
//! announcement has come back. Who waits in vain begins a new attempt, or announces again. If some
//! attempt loses nothing and is not cut short, it is the last.
//!
//! A process that crashes and comes back has lost what it was to pass on, like any lost message:
//! it begins an attempt of its own, newer than all that it had saved. One that stays away leaves a
//! gap which no attempt crosses: for that, see the repaired ring.

use alloc::sync::Arc;
use alloc::vec;
use core::cmp::Ordering;

use tenure_core::service::election::{Command, Event};
use tenure_core::theory::{Expected, Scene};
use tenure_core::{
    Algorithm, Card, Cost, Delay, Effects, Faults, Group, ProcessId, ProcessSet, Protocol, Rank,
    Term, Timeout, Timing, Topology, labelled,
};

use super::chang_roberts;
use super::ring::{self, Candidate, Ring};
use crate::Variants;
use crate::catalogue::{Configured, Parameters, Unknown};
use crate::variants::switches;

/// One process on the ring.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RestartingChangRoberts {
    ring: Ring,
    variants: Variants<Switch>,
    /// *i*: what decides.
    rank: Rank,
    /// How long who waits is patient.
    patience: Delay,
    /// The newest attempt that this process has heard of, 0 before the first.
    number: u64,
    /// Where it stands in that attempt.
    phase: Phase,
}

/// `participant_i`, and who waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    NonParticipant,
    Participant {
        /// Whether its user has started an election, and it waits for the end.
        waits: bool,
    },
    /// Leads, and waits for its announcement to come back.
    Announcing,
    /// Knows who leads.
    Decided,
}

/// What processes say to each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// "This is the largest rank that I have seen."
    Election {
        /// The attempt.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        number: u64,
        /// The rank.
        rank: Rank,
    },
    /// "This one has come all the way round: it leads."
    Elected {
        /// The attempt.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
        number: u64,
        /// Who leads.
        leader: Candidate,
    },
}

labelled!(Message, Election, Election => "election", Elected => "elected");

/// The only timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Timer {
    /// The ring has had time for an election.
    Patience,
}

/// What survives a crash.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Stable {
    #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
    number: u64,
}

/// What is fixed for life.
#[derive(Clone, Debug)]
pub struct Config {
    /// By place on the ring, clockwise, the direction of messages. All different.
    pub ranks: Arc<[Rank]>,
    /// Who had failed before the ring was formed: it is a ring of the others.
    pub absent: ProcessSet,
    /// How long who waits is patient: longer than 3N messages take.
    pub patience: Delay,
    /// Which variants are switched on.
    pub variants: Variants<Switch>,
}

impl Config {
    /// These ranks where a message takes at most `delay` ticks; nobody has failed.
    pub fn of(ranks: Arc<[Rank]>, delay: u64) -> Self {
        let patience = Delay::ticks((3 * ranks.len() as u64 + 1) * delay);
        Config { ranks, absent: ProcessSet::new(), patience, variants: Variants::none() }
    }
}

/// The name of the timeout on the command line.
const RESTART: &str = "restart";

impl Configured for Config {
    fn configured(parameters: &Parameters) -> Result<Self, Unknown> {
        let config = Config::of(parameters.ranks.clone(), parameters.delay);
        Ok(Config {
            absent: parameters.absent.clone(),
            variants: parameters.variants()?,
            patience: parameters.timeout(RESTART, config.patience),
            ..config
        })
    }
}

switches! {
    Unnumbered = "unnumbered", unsound,
        "all attempts have the same number: whoever took part in the first swallows the second"
        => "", "-n 3 --initiators 1 --lose 1";
}

impl Protocol for RestartingChangRoberts {
    type Config = Config;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Timer;
    /// The number of the newest attempt: nobody takes part in one twice, not even across a crash.
    type Stable = Stable;

    fn boot(
        group: Group,
        config: &Config,
        stable: Option<Stable>,
        fx: &mut impl Effects<Self>,
    ) -> Self {
        let mut process = RestartingChangRoberts {
            ring: Ring::without(&config.absent, group),
            variants: config.variants,
            rank: ring::rank(&config.ranks, group),
            patience: config.patience,
            number: stable.as_ref().map_or(0, |stable| stable.number),
            phase: Phase::NonParticipant,
        };
        if stable.is_some() {
            process.begin(fx);
        }
        process
    }

    fn stable(&self) -> Stable {
        Stable { number: self.number }
    }

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        match (command, self.phase) {
            (Command::Elect, Phase::Participant { .. }) => self.wait(fx),
            // Whoever leads was told so before it was asked, and is told again.
            (Command::Elect, _) => self.begin(fx),
            // The largest rank leads by definition: it cannot step down and stay.
            (Command::Resign, _) => {}
        }
    }

    fn on_message(&mut self, _: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        let (Message::Election { number, .. } | Message::Elected { number, .. }) = message;
        if number < self.number {
            // Of an attempt that was given up.
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
                    fx.cancel_timer(Timer::Patience);
                }
            }
            Message::Elected { leader, .. } => {
                if self.phase != Phase::Decided {
                    fx.cancel_timer(Timer::Patience);
                    self.phase = Phase::Decided;
                    self.believe_in(leader, fx);
                }
                self.pass_on(message, fx);
            }
        }
    }

    fn on_timer(&mut self, Timer::Patience: Timer, fx: &mut impl Effects<Self>) {
        match self.phase {
            Phase::Participant { .. } => self.begin(fx),
            Phase::Announcing => self.announce(fx),
            Phase::NonParticipant | Phase::Decided => {}
        }
    }
}

impl RestartingChangRoberts {
    /// Starts an attempt that is newer than all that we know of.
    fn begin(&mut self, fx: &mut impl Effects<Self>) {
        if !self.variants.has(Switch::Unnumbered) || self.number == 0 {
            self.number += 1;
        }
        self.wait(fx);
        self.send_own(fx);
    }

    /// Takes part, and waits for the end.
    fn wait(&mut self, fx: &mut impl Effects<Self>) {
        self.phase = Phase::Participant { waits: true };
        fx.set_timer(Timer::Patience, self.patience);
    }

    /// Takes note of a newer attempt, for whose end whoever began it waits.
    fn join(&mut self, number: u64, fx: &mut impl Effects<Self>) {
        self.number = number;
        self.phase = Phase::NonParticipant;
        fx.cancel_timer(Timer::Patience);
    }

    fn on_election(&mut self, rank: Rank, message: Message, fx: &mut impl Effects<Self>) {
        let takes_part = matches!(self.phase, Phase::Participant { .. });
        match (rank.cmp(&self.rank), self.phase) {
            (_, Phase::Announcing | Phase::Decided) => {}
            (Ordering::Greater, _) => {
                if !takes_part {
                    self.phase = Phase::Participant { waits: false };
                }
                self.pass_on(message, fx);
            }
            (Ordering::Less, Phase::NonParticipant) => {
                self.phase = Phase::Participant { waits: false };
                self.send_own(fx);
            }
            (Ordering::Equal, _) => {
                self.phase = Phase::Announcing;
                self.believe_in(self.own(), fx);
                self.announce(fx);
            }
            (Ordering::Less, Phase::Participant { .. }) => {}
        }
    }

    fn send_own(&mut self, fx: &mut impl Effects<Self>) {
        self.pass_on(Message::Election { number: self.number, rank: self.rank }, fx);
    }

    fn announce(&mut self, fx: &mut impl Effects<Self>) {
        fx.set_timer(Timer::Patience, self.patience);
        self.pass_on(Message::Elected { number: self.number, leader: self.own() }, fx);
    }

    fn believe_in(&self, leader: Candidate, fx: &mut impl Effects<Self>) {
        let leader = leader.process;
        fx.emit(Event::Elected { leader, term: Term { number: self.number, leader } });
    }

    fn own(&self) -> Candidate {
        Candidate { rank: self.rank, process: self.ring.me() }
    }

    /// Sends clockwise; who is alone on the ring is its own neighbour.
    fn pass_on(&mut self, message: Message, fx: &mut impl Effects<Self>) {
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
        let size = ring::length(&config.absent, size);
        let n = u64::from(size);
        Card {
            timing: Timing::Partial,
            faults: Faults {
                loss: true,
                ..Faults::duplication(
                    "a crash breaks the ring; repaired-chang-roberts survives crashes",
                )
            }
            .and_absence(),
            topology: Topology::UnidirectionalRing,
            messages: Cost::per_election("2N … N(N+1)/2 + N, more when restarted", 2 * n, None)
                .none_alone(size),
            timeouts: vec![Timeout::new(
                RESTART,
                "without a leader for so long, a process that waits starts again",
                config.patience,
            )],
            variants: Variants::<Switch>::declared(),
            ..Card::election(
                "restarting-chang-roberts",
                "on a ring that loses messages, whoever started an election starts it again",
                "after Chang & Roberts, CACM 22(5), 1979",
            )
        }
    }

    fn expected(config: &Config, size: u32, scene: Scene) -> Option<Expected> {
        let plain = chang_roberts::Config {
            absent: config.absent.clone(),
            ..chang_roberts::Config::of(config.ranks.clone(), Variants::none())
        };
        chang_roberts::ChangRoberts::expected(&plain, size, scene)
    }

    fn ranked(config: &Config, ranks: Arc<[Rank]>) -> Config {
        Config { ranks, ..config.clone() }
    }

    /// The number of the newest attempt.
    fn highest_term(&self) -> u64 {
        self.number
    }
}
