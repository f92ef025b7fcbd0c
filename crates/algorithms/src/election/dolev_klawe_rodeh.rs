//! Dolev–Klawe–Rodeh: at most every second candidate survives each phase, on a unidirectional ring.
//!
//! D. Dolev, M. Klawe, M. Rodeh, *An O(n log n) unidirectional distributed algorithm for extrema
//! finding in a circle*, Journal of Algorithms 3(3), 1982. G. L. Peterson (TOPLAS 4(4), 1982) found
//! the algorithm at the same time. This file adds an announcement of the leader.
//!
//! | | |
//! |---|---|
//! | assumes | a ring, first-in-first-out, distinct ranks, no crash |
//! | messages | N(2(p − 1) + 1) in p phases, and N to announce |
//! | phases | at most ⌊log₂ N⌋ + 1 |
//!
//! **Why it is right.** An active process represents a candidate. It learns the candidates of the
//! two active processes before it. If the nearer of these two has the largest of the three
//! candidates, the process stays active and adopts that candidate. Otherwise the process only
//! forwards messages from then on. So each candidate is compared with the candidates on both sides.
//! A candidate survives if it is larger than both, and the next active process then represents it.
//! The largest candidate always survives. Two neighbouring candidates never both survive, so each
//! phase at least halves the number of candidates. The last active process receives its own
//! candidate, which is the largest.
//!
//! The process that finds the largest rank need not own it: the candidate moves by one active
//! process in each phase. So the result is announced, and the owner learns that it leads. Beyond
//! the paper, messages carry the numbers of their election and phase, so that duplicates are
//! recognised.

use alloc::sync::Arc;

use tenure_core::service::election::{Command, Event};
use tenure_core::theory::{Prediction, PredictionKind, WorkloadKind};
use tenure_core::{
    Algorithm, Card, ChannelOrder, Effects, Group, MessageCost, Never, ProcessId, ProcessKnowledge,
    Protocol, Rank, Term, ToleratedFaults, Topology, labelled,
};

pub use super::ring::Config;
use super::ring::{self, Candidate, Ring};

/// State of one process on the ring.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DolevKlaweRodeh {
    ring: Ring,
    rank: Rank,
    /// Number of the latest known election, 0 before the first.
    election: u32,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Settled,
    /// *Active*: the process represents a candidate.
    Active {
        /// Number of the phase, from 1.
        phase: u32,
        /// Candidate that this process represents (`max` in the paper).
        candidate: Candidate,
        /// Candidate of the nearest active process before this process on the ring (`left` in the
        /// paper). `None` until it is known.
        before: Option<Candidate>,
    },
    /// *Passive*: the process only forwards messages.
    Passive {
        /// Phase in which this process became passive.
        since: u32,
    },
}

/// Messages between processes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// First message of a phase: the candidate that the sender represents.
    First {
        /// Number of the election.
        election: u32,
        /// Phase of the active process that sent this message first.
        phase: u32,
        /// Candidate that the sender represents.
        candidate: Candidate,
    },
    /// Second message of a phase: the candidate of the nearest active process before the sender.
    Second {
        /// Number of the election.
        election: u32,
        /// Phase of the active process that sent this message first.
        phase: u32,
        /// Candidate of the nearest active process before the sender.
        candidate: Candidate,
    },
    /// Announces the leader.
    Elected {
        /// Number of the election.
        election: u32,
        /// The elected leader.
        leader: ProcessId,
    },
}

labelled!(
    Message, Election,
    First => "first", Second => "second", Elected => "elected",
);

impl Protocol for DolevKlaweRodeh {
    type Config = Config;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Never;
    type Stable = ();

    fn boot(group: Group, config: &Config, _: Option<()>, _: &mut impl Effects<Self>) -> Self {
        let rank = ring::own_rank(&config.ranks, group);
        let ring = Ring::without_absent(&config.absent, group);
        DolevKlaweRodeh { ring, rank, election: 0, phase: Phase::Settled }
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        match command {
            Command::Elect if self.phase == Phase::Settled => self.start(self.election + 1, fx),
            // The process with the largest rank leads by definition, so it cannot resign while it
            // is up.
            Command::Elect | Command::Resign => {}
        }
    }

    fn on_message(&mut self, _: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::First { election, phase, candidate } => {
                if election > self.election {
                    self.start(election, fx);
                }
                match self.candidates_in(election, phase) {
                    Some((own, None)) if candidate == own => self.announce(own.process, fx),
                    Some((own, None)) => {
                        let before = Some(candidate);
                        self.phase = Phase::Active { phase, candidate: own, before };
                        self.forward(Message::Second { election, phase, candidate }, fx);
                    }
                    Some((_, Some(_))) => {}
                    None => self.relay(election, phase, message, fx),
                }
            }
            Message::Second { election, phase, candidate } => {
                match self.candidates_in(election, phase) {
                    Some((own, Some(before))) if before > own.max(candidate) => {
                        self.start_phase(before, phase + 1, fx);
                    }
                    Some((_, Some(_))) => self.phase = Phase::Passive { since: phase },
                    Some((_, None)) => {}
                    None => self.relay(election, phase, message, fx),
                }
            }
            Message::Elected { election, leader } => {
                let known = election == self.election && self.phase == Phase::Settled;
                if election >= self.election && !known {
                    self.settle(election, leader, fx);
                    self.forward(message, fx);
                }
            }
        }
    }
}

impl DolevKlaweRodeh {
    fn start(&mut self, election: u32, fx: &mut impl Effects<Self>) {
        self.election = election;
        let own = Candidate { rank: self.rank, process: self.ring.me() };
        if self.ring.is_alone() {
            return self.settle(election, own.process, fx);
        }
        self.start_phase(own, 1, fx);
    }

    fn start_phase(&mut self, candidate: Candidate, phase: u32, fx: &mut impl Effects<Self>) {
        self.phase = Phase::Active { phase, candidate, before: None };
        self.forward(Message::First { election: self.election, phase, candidate }, fx);
    }

    /// Returns `None` if this process is not active in phase `of` of `election`. Otherwise returns
    /// its own candidate, and the candidate of the active process before it. The latter is `None`
    /// until it is known.
    fn candidates_in(&self, election: u32, of: u32) -> Option<(Candidate, Option<Candidate>)> {
        match self.phase {
            Phase::Active { phase, candidate, before } => {
                ((election, of) == (self.election, phase)).then_some((candidate, before))
            }
            Phase::Settled | Phase::Passive { .. } => None,
        }
    }

    /// Forwards a message that is meant for an active process farther along the ring. Drops a
    /// duplicate, and a message of another election.
    fn relay(&self, election: u32, phase: u32, message: Message, fx: &mut impl Effects<Self>) {
        let should_forward = matches!(self.phase, Phase::Passive { since } if phase > since);
        if should_forward && election == self.election {
            self.forward(message, fx);
        }
    }

    /// Accepts `leader` and announces it on the ring. The candidate that this process represents
    /// has returned to this process, so all other processes are passive.
    fn announce(&mut self, leader: ProcessId, fx: &mut impl Effects<Self>) {
        self.settle(self.election, leader, fx);
        self.forward(Message::Elected { election: self.election, leader }, fx);
    }

    fn settle(&mut self, election: u32, leader: ProcessId, fx: &mut impl Effects<Self>) {
        self.election = election;
        self.phase = Phase::Settled;
        fx.emit(Event::Elected { leader, term: Term { number: 0, leader } });
    }

    fn forward(&self, message: Message, fx: &mut impl Effects<Self>) {
        fx.send(self.ring.successor(), message);
    }
}

/// Returns the number of phases on this ring. `ring` contains the ranks in the direction of
/// messages. The number does not depend on which processes start, because all processes take part.
/// In each phase, an active process compares its own candidate with the candidates of the two
/// active processes before it. If the nearer of these two has the largest candidate, the process
/// stays active and adopts that candidate.
fn phases<R: Ord + Copy>(ring: &[R]) -> u64 {
    let mut active = ring.to_vec();
    let mut phases = 1;
    while active.len() > 1 {
        let n = active.len();
        let before = |place: usize, by: usize| active[(place + 2 * n - by) % n];
        let survives = |place: &usize| before(*place, 1) > active[*place].max(before(*place, 2));
        active = (0..n).filter(survives).map(|place| before(place, 1)).collect();
        phases += 1;
    }
    phases
}

impl Algorithm for DolevKlaweRodeh {
    fn card(config: &Config, size: u32) -> Card {
        let size = ring::ring_size(&config.absent, size);
        let n = u64::from(size);
        Card {
            order: ChannelOrder::Fifo,
            faults: ToleratedFaults::duplication_only(
                "a crash breaks the ring, and a lost message ends the election undecided; \
                 repaired-chang-roberts survives crashes",
            )
            .with_initial_crashes(),
            knows: ProcessKnowledge::UNIFORM,
            topology: Topology::UnidirectionalRing,
            messages: MessageCost::per_election(
                "4N … 2N⌊log₂N⌋ + 2N",
                4 * n,
                Some(2 * n * u64::from(size.ilog2()) + 2 * n),
            )
            .zero_if_alone(size),
            ..Card::election(
                "dolev-klawe-rodeh",
                "in each phase at most every second candidate survives",
                "Dolev, Klawe & Rodeh, Journal of Algorithms 3(3), 1982",
            )
        }
    }

    fn predicted_messages(
        config: &Config,
        size: u32,
        workload: WorkloadKind,
    ) -> Option<Prediction> {
        let size = ring::ring_size(&config.absent, size);
        let ring = ring::live_ranks(&config.ranks, &config.absent, ProcessId(0));
        let n = u64::from(size);
        // There are at most ⌊log₂ N⌋ + 1 phases. The last phase takes N messages, each other phase
        // 2N, and the announcement N.
        Some(match workload {
            _ if size == 1 => Prediction::new(PredictionKind::Exact, 0),
            WorkloadKind::AllStartRandomRanks => {
                Prediction::new(PredictionKind::Most, 2 * n * u64::from(size.ilog2()) + 2 * n)
            }
            _ => Prediction::new(PredictionKind::Exact, 2 * n * phases(&ring)),
        })
    }

    fn with_ranks(config: &Config, ranks: Arc<[Rank]>) -> Config {
        Config { ranks, ..config.clone() }
    }
}
