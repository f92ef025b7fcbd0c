//! Variable speeds: on a synchronous ring, the token of identifier *v* waits 2^v rounds at each
//! process. So the token of the smallest identifier overtakes all others while they are still near
//! their origins.
//!
//! G. N. Frederickson, N. A. Lynch, *Electing a leader in a synchronous ring*, JACM 34(1), 1987; N.
//! A. Lynch, *Distributed Algorithms*, Morgan Kaufmann, 1996 (VariableSpeeds).
//!
//! | | |
//! |---|---|
//! | assumes | a ring, synchronous rounds, small distinct identifiers, no crash |
//! | | all candidates start in the same round |
//! | messages | fewer than 2N for tokens, and N to announce; 2N if one starts |
//! | time | N·2^u rounds for the smallest identifier u of the candidates, and N to announce |
//!
//! **Why it is right.** A process forwards a token only if it has seen no smaller identifier. A
//! candidate has seen its own identifier. So the smallest candidate forwards no other token, and
//! only its own token returns to its origin.
//!
//! While this token travels N hops, the token of the *k*-th next larger identifier travels at most
//! N/2^k. So all tokens together travel fewer than 2N hops. More exactly, the token of the *k*-th
//! next larger identifier travels h hops only if h·2^k ≤ N − 1. Before any further hop, the
//! smallest token overtakes this token, or this token reaches the smallest candidate. The sum of
//! these h is at most N − 1 − s₂(N−1), where s₂ counts the ones in binary.
//!
//! Algorithms that only compare identifiers need Ω(N log N) messages, even on a synchronous ring
//! (the same paper). Variable speeds uses the value of an identifier as a time. So the time is not
//! bounded by any function of N. Beyond the book, the leader announces itself, and every process
//! then stops.

use alloc::vec::Vec;

use tenure_core::service::election::{Command, Event};
use tenure_core::theory::{Prediction, PredictionKind, WorkloadKind};
use tenure_core::{
    Card, Delay, Effects, Group, MessageCost, ProcessId, ProcessKnowledge, Property, Term,
    ToleratedFaults, Topology, labelled,
};

use super::ring::{self, Candidate, Ring};
use crate::catalogue_error::CatalogueError;
use crate::parameters::{FromParameters, Parameters};
use crate::rounds::{RoundAlgorithm, RoundSynchronizer};
use crate::variants::{Variants, variant_ids};

/// One process of the algorithm, as a protocol. The adapter [`RoundSynchronizer`] calls
/// [`VariableSpeedsProcess`] at the end of each round.
pub type VariableSpeeds = RoundSynchronizer<VariableSpeedsProcess>;

/// State of one process of the algorithm, which works in rounds. [`VariableSpeeds`] is this process
/// as a protocol.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct VariableSpeedsProcess {
    ring: Ring,
    variants: Variants<VariantId>,
    /// This process, with its rank. The id in the rank is the identifier *v*. The algorithm ignores
    /// the weight.
    own: Candidate,
    /// Smallest identifier that this process has seen; `None` if it has seen none.
    smallest: Option<u32>,
    waiting: Option<Waiting>,
    leader: Option<ProcessId>,
    /// True if this process needs no further round.
    has_halted: bool,
}

/// A token that waits at this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Waiting {
    candidate: Candidate,
    /// Number of rounds that must still end before the token is sent.
    rounds: u64,
}

/// Messages between processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// The token of a candidate.
    Token {
        /// Rank and process of the candidate.
        candidate: Candidate,
    },
    /// Announces the leader. The token of the leader has travelled around the whole ring.
    Elected {
        /// Process that is the leader.
        leader: ProcessId,
    },
}

labelled!(Message, Election, Token => "token", Elected => "elected");

/// Configuration of one process.
pub type Config = ring::ConfigInRounds<VariantId>;

impl FromParameters for Config {
    fn from_parameters(parameters: &Parameters) -> Result<Self, CatalogueError> {
        Config::new(parameters)
    }
}

variant_ids! {
    SameSpeed = "same-speed", unsound,
        "every token is forwarded at once: correct, but as expensive as with comparisons alone"
        => "", "-n 3 --property cost";
    LinearSpeed = "linear-speed", unsound,
        "the token of identifier v waits v rounds at each process: correct, but too expensive"
        => "", "-n 7 --ids 1,5,6,3,2,7,4 --property cost";
}

impl RoundAlgorithm for VariableSpeedsProcess {
    type Config = Config;
    type Command = Command;
    type Event = Event;
    type Message = Message;

    fn start(group: Group, config: &Config) -> Self {
        VariableSpeedsProcess {
            ring: Ring::without_absent(&config.absent, group),
            variants: config.variants,
            own: Candidate { rank: ring::own_rank(&config.ranks, group), process: group.me() },
            smallest: None,
            waiting: None,
            leader: None,
            has_halted: false,
        }
    }

    fn round_duration(config: &Config) -> Delay {
        config.round_duration
    }

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<VariableSpeeds>) {
        match (command, self.leader) {
            (Command::Elect, Some(leader)) => self.accept_leader(leader, fx),
            (Command::Elect, None) if self.ring.is_alone() => {
                self.has_halted = true;
                self.accept_leader(self.ring.me(), fx);
            }
            (Command::Elect, None) if self.smallest.is_none() => self.take(self.own, fx),
            // The leader cannot resign: the next smallest identifier is unknown.
            (Command::Elect | Command::Resign, _) => {}
        }
    }

    fn end_round(
        &mut self,
        received: Vec<(ProcessId, Message)>,
        fx: &mut impl Effects<VariableSpeeds>,
    ) {
        let waited = self.waiting;
        for (_, message) in received {
            self.receive(message, fx);
        }
        if let Some(token) = self.waiting.filter(|_| self.waiting == waited) {
            self.wait(token.candidate, token.rounds.saturating_sub(1), fx);
        }
    }

    fn has_halted(&self) -> bool {
        self.has_halted
    }

    fn card(config: &Config, size: u32) -> Card {
        let size = ring::ring_size(&config.absent, size);
        Card {
            faults: ToleratedFaults::duplication_only(
                "a crash or a lost message ends the election undecided",
            )
            .with_initial_crashes(),
            knows: ProcessKnowledge::UNIFORM,
            topology: Topology::UnidirectionalRing,
            messages: MessageCost::per_election(
                "2N … 3N − 1 − s₂(N−1)",
                2 * u64::from(size),
                Some(most_messages(size)),
            )
            .zero_if_alone(size),
            promises: [Property::Agreement, Property::Progress].into(),
            variants: Variants::<VariantId>::declarations(),
            ..Card::election(
                "variable-speeds",
                "on a ring, the token of identifier v waits 2^v rounds at each process",
                "Frederickson and Lynch, JACM 34(1), 1987",
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
            WorkloadKind::OneStarts(_) => {
                Some(Prediction::new(PredictionKind::Exact, 2 * u64::from(size)))
            }
            _ => Some(Prediction::new(PredictionKind::Most, most_messages(size))),
        }
    }

    fn max_rounds(config: &Config, size: u32) -> Option<u64> {
        let rounds_per_hop = 1_u64.checked_shl(config.largest_id()).unwrap_or(u64::MAX);
        Some(u64::from(size).saturating_mul(rounds_per_hop.saturating_add(1)))
    }
}

impl VariableSpeedsProcess {
    fn receive(&mut self, message: Message, fx: &mut impl Effects<VariableSpeeds>) {
        match message {
            Message::Token { candidate } if candidate.process == self.ring.me() => {
                if self.leader.is_none() {
                    let leader = self.ring.me();
                    fx.send(self.ring.successor(), Message::Elected { leader });
                    self.accept_leader(leader, fx);
                }
            }
            Message::Token { candidate } if self.forwards(candidate) => self.take(candidate, fx),
            Message::Token { .. } => {}
            Message::Elected { leader } => {
                self.has_halted = true;
                if leader != self.ring.me() {
                    fx.send(self.ring.successor(), Message::Elected { leader });
                    self.accept_leader(leader, fx);
                }
            }
        }
    }

    /// Returns true if this process forwards the token of `candidate`: it knows no leader, and has
    /// seen only identifiers that are larger than the identifier of `candidate`.
    fn forwards(&self, candidate: Candidate) -> bool {
        let is_smallest = self.smallest.is_none_or(|smallest| candidate.rank.id < smallest);
        self.leader.is_none() && is_smallest
    }

    /// Keeps a token for as many rounds as the identifier of its candidate demands. If another
    /// token already waits here, the new token replaces it. The waiting token always has the larger
    /// identifier.
    fn take(&mut self, candidate: Candidate, fx: &mut impl Effects<VariableSpeeds>) {
        let id = candidate.rank.id;
        self.smallest = Some(self.smallest.map_or(id, |smallest| smallest.min(id)));
        // The rounds of a hop include the round in which the token travels.
        let rounds = self.rounds_per_hop(id).saturating_sub(1);
        self.wait(candidate, rounds, fx);
    }

    /// Returns the number of rounds in which the token of the identifier `id` travels one hop:
    /// 2^`id`, except with a variant.
    fn rounds_per_hop(&self, id: u32) -> u64 {
        if self.variants.has(VariantId::SameSpeed) {
            return 1;
        }
        if self.variants.has(VariantId::LinearSpeed) {
            return id.into();
        }
        1_u64.checked_shl(id).unwrap_or(u64::MAX)
    }

    /// Lets a token wait for `rounds` rounds, or sends it at once if `rounds` is 0.
    fn wait(&mut self, candidate: Candidate, rounds: u64, fx: &mut impl Effects<VariableSpeeds>) {
        self.waiting = (rounds > 0).then_some(Waiting { candidate, rounds });
        if rounds == 0 {
            fx.send(self.ring.successor(), Message::Token { candidate });
        }
    }

    fn accept_leader(&mut self, leader: ProcessId, fx: &mut impl Effects<VariableSpeeds>) {
        self.leader = Some(leader);
        self.waiting = None;
        fx.emit(Event::Elected { leader, term: Term { number: 0, leader } });
    }
}

/// Returns an upper bound on the number of messages of an election in a ring of `size` processes,
/// including the announcement. For the derivation, see the documentation of this module.
fn most_messages(size: u32) -> u64 {
    let others = size.saturating_sub(1);
    2 * u64::from(size) + u64::from(others) - u64::from(others.count_ones())
}
