//! TimeSlice: on a synchronous ring of known size, each identifier has its own N rounds for its
//! token. Only the token of the smallest identifier is ever sent.
//!
//! N. A. Lynch, *Distributed Algorithms*, Morgan Kaufmann, 1996.
//!
//! | | |
//! |---|---|
//! | assumes | a ring, synchronous rounds, a known size, small positive identifiers, no crash |
//! | | all candidates start in the same round |
//! | messages | exactly N |
//! | time | N·u rounds for the smallest identifier u of the candidates |
//!
//! **Why it is right.** Phase *v* consists of the rounds (v − 1)N + 1 to vN, and belongs to the
//! candidate with identifier *v*. If no token has reached this candidate before its phase, it sends
//! its own. The token of the smallest candidate travels all the way around in its phase. So it
//! reaches all other candidates before their phases, and none of them sends a token. A process that
//! receives a token knows the leader, so no announcement is needed.
//!
//! Silence carries information here: a phase without a message excludes an identifier. Algorithms
//! that only compare identifiers need Ω(N log N) messages, even on a synchronous ring (Frederickson
//! and Lynch, JACM 34(1), 1987). TimeSlice counts rounds by the value of an identifier instead. So
//! its time depends on the identifiers, and is not bounded by any function of N.

use alloc::vec::Vec;

use tenure_core::service::election::{Command, Event};
use tenure_core::theory::{Prediction, PredictionKind, WorkloadKind};
use tenure_core::{
    Card, Delay, Effects, Group, MessageCost, ProcessId, ProcessKnowledge, Property, Rank, Term,
    ToleratedFaults, Topology, labelled,
};

use super::ring::{self, Candidate, Ring};
use crate::catalogue_error::CatalogueError;
use crate::parameters::{FromParameters, Parameters};
use crate::rounds::{RoundAlgorithm, RoundSynchronizer};
use crate::variants::{Variants, variant_ids};

/// One process of the algorithm, as a protocol. The adapter [`RoundSynchronizer`] calls
/// [`TimeSliceProcess`] at the end of each round.
pub type TimeSlice = RoundSynchronizer<TimeSliceProcess>;

/// State of one process of the algorithm in rounds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TimeSliceProcess {
    ring: Ring,
    /// Rank of this process. The id in the rank is the identifier *v*. The algorithm ignores the
    /// weight.
    rank: Rank,
    /// Number of the first round of the phase that belongs to this process. In this phase, no other
    /// process may send its token.
    own_round: u64,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// The process is not a candidate, and has received no token.
    Passive,
    /// The process is a candidate, and its phase has not begun.
    Candidate {
        /// Number of the current round, from 1.
        round: u64,
    },
    /// The process has sent its own token. The token has not returned yet.
    Sent,
    /// The process knows the leader.
    Settled { leader: ProcessId },
}

/// Messages between processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// The token of a candidate. Only the candidate that becomes the leader sends its token.
    Token {
        /// Rank and process of the candidate.
        candidate: Candidate,
    },
}

labelled!(Message, Election, Token => "token");

/// Configuration of one process.
pub type Config = ring::ConfigInRounds<VariantId>;

impl FromParameters for Config {
    fn from_parameters(parameters: &Parameters) -> Result<Self, CatalogueError> {
        match parameters.ranks.iter().position(|rank| rank.id == 0) {
            Some(index) => Err(CatalogueError::ZeroIdentifier {
                algorithm: "time-slice",
                process: ProcessId::from_index(index),
            }),
            None => Config::new(parameters),
        }
    }
}

variant_ids! {
    ShortPhases = "short-phases", unsound,
        "a phase has N − 2 rounds: the next one begins before a token has reached all processes"
        => "", "-n 3 --ids 1,3,2 --property agreement,cost";
}

impl RoundAlgorithm for TimeSliceProcess {
    type Config = Config;
    type Command = Command;
    type Event = Event;
    type Message = Message;

    fn start(group: Group, config: &Config) -> Self {
        let size = u64::from(ring::ring_size(&config.absent, group.size()));
        let less = if config.variants.has(VariantId::ShortPhases) { 2 } else { 0 };
        let phase = size.saturating_sub(less).max(1);
        let rank = ring::own_rank(&config.ranks, group);
        assert!(rank.id > 0, "identifiers must be positive, because the first phase is phase 1");
        let own_round = u64::from(rank.id - 1) * phase + 1;
        let ring = Ring::without_absent(&config.absent, group);
        TimeSliceProcess { ring, rank, own_round, phase: Phase::Passive }
    }

    fn round_duration(config: &Config) -> Delay {
        config.round_duration
    }

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<TimeSlice>) {
        match (command, self.phase) {
            (Command::Elect, Phase::Passive) => self.begin_round(1, fx),
            (Command::Elect, Phase::Settled { leader }) => self.settle(leader, fx),
            // The leader cannot resign: the next smallest identifier is unknown.
            (Command::Elect | Command::Resign, _) => {}
        }
    }

    fn end_round(&mut self, received: Vec<(ProcessId, Message)>, fx: &mut impl Effects<TimeSlice>) {
        if let Some((_, message)) = received.first() {
            let Message::Token { candidate } = *message;
            if candidate.process != self.ring.me() {
                fx.send(self.ring.successor(), Message::Token { candidate });
            }
            return self.settle(candidate.process, fx);
        }
        if let Phase::Candidate { round } = self.phase {
            self.begin_round(round + 1, fx);
        }
    }

    fn has_halted(&self) -> bool {
        matches!(self.phase, Phase::Settled { .. })
    }

    fn card(config: &Config, size: u32) -> Card {
        let size = ring::ring_size(&config.absent, size);
        let n = u64::from(size);
        Card {
            faults: ToleratedFaults::duplication_only(
                "after a crash or a lost message another candidate may lead as well",
            )
            .with_initial_crashes(),
            knows: ProcessKnowledge::NON_UNIFORM,
            topology: Topology::UnidirectionalRing,
            messages: MessageCost::per_election("N", n, Some(n)).zero_if_alone(size),
            promises: [Property::Agreement, Property::Progress].into(),
            variants: Variants::<VariantId>::declarations(),
            ..Card::election(
                "time-slice",
                "each identifier has its own N rounds on a ring, and only the smallest is sent",
                "Lynch, 1996 (TimeSlice)",
            )
        }
    }

    fn predicted_messages(
        config: &Config,
        size: u32,
        workload: WorkloadKind,
    ) -> Option<Prediction> {
        let size = ring::ring_size(&config.absent, size);
        match workload {
            WorkloadKind::OneStarts(start) if config.absent.contains(start) => None,
            _ if size == 1 => Some(Prediction::new(PredictionKind::Exact, 0)),
            _ => Some(Prediction::new(PredictionKind::Exact, size.into())),
        }
    }

    fn max_rounds(config: &Config, size: u32) -> Option<u64> {
        Some(u64::from(size).saturating_mul(u64::from(config.largest_id()) + 1))
    }
}

impl TimeSliceProcess {
    /// Begins the round `round` at a candidate. Sends the token if the candidate's phase begins
    /// with this round. A candidate that is alone on the ring then becomes the leader.
    fn begin_round(&mut self, round: u64, fx: &mut impl Effects<TimeSlice>) {
        let me = self.ring.me();
        if round < self.own_round {
            self.phase = Phase::Candidate { round };
        } else if self.ring.is_alone() {
            self.settle(me, fx);
        } else {
            self.phase = Phase::Sent;
            let candidate = Candidate { rank: self.rank, process: me };
            fx.send(self.ring.successor(), Message::Token { candidate });
        }
    }

    fn settle(&mut self, leader: ProcessId, fx: &mut impl Effects<TimeSlice>) {
        self.phase = Phase::Settled { leader };
        fx.emit(Event::Elected { leader, term: Term { number: 0, leader } });
    }
}
