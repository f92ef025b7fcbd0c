//! Franklin: a candidate larger than both its neighbours survives to the next phase.
//!
//! W. R. Franklin, *On an improved algorithm for decentralized extrema finding in circular
//! configurations of processors*, CACM 25(5), 1982. This file adds an announcement of the leader.
//!
//! | | |
//! |---|---|
//! | assumes | a ring in both directions, any order, distinct ranks, no crash |
//! | messages | 2N in each phase, and N to announce |
//! | phases | at most ⌊log₂ N⌋ + 1 |
//!
//! **Why it is right.** In each phase an active process sends its rank to the nearest active
//! process on either side. The sender stays active only if its rank is larger than the ranks of
//! both. The process with the largest rank always stays active. Of two neighbouring active
//! processes at most one stays, so each phase at least halves their number. The last active process
//! receives its own rank, which is the largest. Every link carries one message in each direction in
//! each phase: passive processes forward messages between active ones.
//!
//! A neighbour may be one phase ahead, because it may receive its messages of this phase earlier.
//! The message of this neighbour is kept for the next phase. If this process becomes passive, it
//! forwards the message. Beyond the paper, messages carry the numbers of their election and phase,
//! so that duplicates are recognised.

use alloc::sync::Arc;

use tenure_core::service::election::{Command, Event};
use tenure_core::theory::{Prediction, PredictionKind, WorkloadKind};
use tenure_core::{
    Algorithm, Card, Effects, Group, MessageCost, Never, ProcessId, ProcessKnowledge, Protocol,
    Rank, Term, ToleratedFaults, Topology, labelled,
};

pub use super::ring::Config;
use super::ring::{self, Direction, Ring};

/// State of one process on the ring.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Franklin {
    ring: Ring,
    rank: Rank,
    /// Number of the latest known election, 0 before the first.
    election: u32,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Settled,
    /// The process has won all comparisons with its neighbours so far.
    Active {
        /// Number of the phase, from 1.
        phase: u32,
        /// Ranks that have arrived from the nearest active processes on both sides, in this phase.
        now: Sides,
        /// Ranks that have arrived from active processes that are already in the next phase.
        next: Sides,
    },
    /// The process has lost a comparison, and only forwards messages.
    Passive {
        /// Phase in which this process became passive.
        since: u32,
    },
}

/// Ranks that have arrived in one phase, at most one from each side. The names of the fields are
/// the directions in which the messages travelled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Sides {
    clockwise: Option<Rank>,
    counterclockwise: Option<Rank>,
}

impl Sides {
    fn of(&mut self, direction: Direction) -> &mut Option<Rank> {
        match direction {
            Direction::Clockwise => &mut self.clockwise,
            Direction::Counterclockwise => &mut self.counterclockwise,
        }
    }
}

/// Messages between processes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Carries the rank of an active process to the nearest active process in one direction.
    Bid {
        /// Number of the election.
        election: u32,
        /// Phase of the active process that sent this message first.
        phase: u32,
        /// Rank of this process.
        rank: Rank,
        /// Direction of travel.
        direction: Direction,
    },
    /// Announces the leader, the only active process left.
    Elected {
        /// Number of the election.
        election: u32,
        /// The elected leader.
        leader: ProcessId,
    },
}

labelled!(Message, Election, Bid => "bid", Elected => "elected");

impl Protocol for Franklin {
    type Config = Config;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Never;
    type Stable = ();

    fn boot(group: Group, config: &Config, _: Option<()>, _: &mut impl Effects<Self>) -> Self {
        let rank = ring::own_rank(&config.ranks, group);
        let ring = Ring::without_absent(&config.absent, group);
        Franklin { ring, rank, election: 0, phase: Phase::Settled }
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
            Message::Bid { election, phase, rank, direction } => {
                if election > self.election {
                    self.start(election, fx);
                }
                if rank == self.rank {
                    return self.win(election, phase, fx);
                }
                match &mut self.phase {
                    Phase::Active { phase: mine, now, next } if election == self.election => {
                        if phase == *mine {
                            now.of(direction).get_or_insert(rank);
                            self.compare(fx);
                        } else if phase == *mine + 1 {
                            next.of(direction).get_or_insert(rank);
                        }
                    }
                    // Drops a duplicate.
                    Phase::Passive { since } if election == self.election && phase <= *since => {}
                    _ => fx.send(direction.neighbour(self.ring), message),
                }
            }
            Message::Elected { election, leader } => {
                let known = election == self.election && self.phase == Phase::Settled;
                if election >= self.election && !known {
                    self.settle(election, leader, fx);
                    fx.send(self.ring.successor(), message);
                }
            }
        }
    }
}

impl Franklin {
    fn start(&mut self, election: u32, fx: &mut impl Effects<Self>) {
        self.election = election;
        if self.ring.is_alone() {
            return self.settle(election, self.ring.me(), fx);
        }
        self.start_phase(1, Sides::default(), fx);
    }

    /// Starts a phase. `now` contains the ranks of this phase that have arrived early.
    fn start_phase(&mut self, phase: u32, now: Sides, fx: &mut impl Effects<Self>) {
        self.phase = Phase::Active { phase, now, next: Sides::default() };
        for direction in Direction::BOTH {
            self.send_bid(phase, self.rank, direction, fx);
        }
    }

    fn send_bid(&self, phase: u32, rank: Rank, direction: Direction, fx: &mut impl Effects<Self>) {
        let bid = Message::Bid { election: self.election, phase, rank, direction };
        fx.send(direction.neighbour(self.ring), bid);
    }

    fn compare(&mut self, fx: &mut impl Effects<Self>) {
        while let Phase::Active { phase, now, mut next } = self.phase
            && let (Some(one), Some(other)) = (now.clockwise, now.counterclockwise)
        {
            if self.rank > one.max(other) {
                self.start_phase(phase + 1, next, fx);
                continue;
            }
            self.phase = Phase::Passive { since: phase };
            for direction in Direction::BOTH {
                if let Some(rank) = next.of(direction).take() {
                    self.send_bid(phase + 1, rank, direction, fx);
                }
            }
        }
    }

    /// Becomes the leader, because the rank of this process has travelled around the whole ring in
    /// phase `of`. The rank travels in both directions, and its second arrival has no effect.
    fn win(&mut self, election: u32, of: u32, fx: &mut impl Effects<Self>) {
        if let Phase::Active { phase, .. } = self.phase
            && (election, of) == (self.election, phase)
        {
            let leader = self.ring.me();
            self.settle(election, leader, fx);
            fx.send(self.ring.successor(), Message::Elected { election, leader });
        }
    }

    fn settle(&mut self, election: u32, leader: ProcessId, fx: &mut impl Effects<Self>) {
        self.election = election;
        self.phase = Phase::Settled;
        fx.emit(Event::Elected { leader, term: Term { number: 0, leader } });
    }
}

/// Returns the number of phases on this ring. The number does not depend on which processes start,
/// because all processes take part. In each phase, each remaining rank is compared with its two
/// remaining neighbours, and only a rank that is larger than both survives. The phases end when
/// only one rank is left.
fn phases<R: Ord + Copy>(ring: &[R]) -> u64 {
    let mut active = ring.to_vec();
    let mut phases = 1;
    while active.len() > 1 {
        let n = active.len();
        let survives = |place: &usize| {
            active[*place] > active[(place + 1) % n].max(active[(place + n - 1) % n])
        };
        active = (0..n).filter(survives).map(|place| active[place]).collect();
        phases += 1;
    }
    phases
}

impl Algorithm for Franklin {
    fn card(config: &Config, size: u32) -> Card {
        let size = ring::ring_size(&config.absent, size);
        let n = u64::from(size);
        let phases = u64::from(size.ilog2()) + 1;
        Card {
            faults: ToleratedFaults::duplication_only(
                "a crash breaks the ring, and a lost message ends the election undecided; \
                 repaired-chang-roberts survives crashes",
            )
            .with_initial_crashes(),
            knows: ProcessKnowledge::UNIFORM,
            topology: Topology::BidirectionalRing,
            messages: MessageCost::per_election(
                "5N … 2N(⌊log₂N⌋ + 1) + N",
                5 * n,
                Some(2 * n * phases + n),
            )
            .zero_if_alone(size),
            ..Card::election(
                "franklin",
                "a process larger than both its neighbours survives to the next phase",
                "Franklin, CACM 25(5), 1982",
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
        Some(match workload {
            _ if size == 1 => Prediction::new(PredictionKind::Exact, 0),
            WorkloadKind::AllStartRandomRanks => {
                Prediction::new(PredictionKind::Most, 2 * n * (u64::from(size.ilog2()) + 1) + n)
            }
            _ => Prediction::new(PredictionKind::Exact, 2 * n * phases(&ring) + n),
        })
    }

    fn with_ranks(config: &Config, ranks: Arc<[Rank]>) -> Config {
        Config { ranks, ..config.clone() }
    }
}
