//! Hirschberg–Sinclair: candidates on a ring probe neighbourhoods that double in size.
//!
//! D. S. Hirschberg, J. B. Sinclair, *Decentralized extrema-finding in circular configurations of
//! processors*, CACM 23(11), 1980. This file adds an announcement of the leader.
//!
//! | | |
//! |---|---|
//! | assumes | a ring in both directions, any order, distinct ranks, no crash |
//! | messages | O(N log N): 3N in phase 0, 2N in the last phase, N to announce |
//! | phases | 0 … ⌈log₂ N⌉ |
//!
//! **Why it is right.** A candidate sends a probe with its rank in both directions. The first
//! process with a larger rank stops the probe, and starts as a candidate if it has not started yet.
//! So once any process has started, the process with the largest rank eventually starts. A process
//! wins when its own probe has travelled all the way around. Only probes with the largest rank can
//! do so, because no process stops them. A candidate of phase *k* has the largest rank within a
//! distance of 2^(k − 1) hops on both sides. So phase *k* has at most N/(2^(k − 1) + 1) candidates,
//! and the algorithm is cheap.
//!
//! A process first compares the rank in a probe with its own rank, and only then counts the hops.
//! This order matters on a ring with N = 2^k: a probe of phase *k* has no hops left when it returns
//! to its sender. If the sender counted the hops first, it would answer its own probe instead of
//! winning.
//!
//! The paper elects only once. Here messages also carry the number of their election, so that late
//! messages of one election do not start the next. A probe also carries its direction, because a
//! receiver on a ring of two cannot infer the direction from the sender.

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
pub struct HirschbergSinclair {
    ring: Ring,
    rank: Rank,
    /// Number of the latest known election, 0 before the first.
    election: u32,
    /// Number of the latest election whose leader this process knows. 0 if this process knows no
    /// leader.
    settled: u32,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// The process is no candidate in the current election.
    Asleep,
    /// The process has become a *candidate* in the current election. It stays in this state until a
    /// later election begins, even if a larger rank has beaten it.
    Candidate {
        /// Phase *k* of the candidate. Its probes travel 2^k hops.
        phase: u8,
        /// Direction of the first reply in this phase. `None` until a reply arrives.
        replied: Option<Direction>,
    },
}

/// Messages between processes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Searches for a larger rank within 2^phase hops.
    Probe {
        /// Number of the election.
        election: u32,
        /// Rank of the candidate.
        rank: Rank,
        /// Phase of the candidate.
        phase: u8,
        /// Number of hops from the candidate (*d* in the paper).
        hops: u32,
        /// Direction of travel.
        direction: Direction,
    },
    /// Informs the candidate that no process within 2^phase hops on this side has a larger rank.
    Reply {
        /// Number of the election.
        election: u32,
        /// Rank of the candidate.
        rank: Rank,
        /// Phase of the candidate.
        phase: u8,
        /// Direction of travel.
        direction: Direction,
    },
    /// Announces the leader. The rank of the leader has travelled around the whole ring.
    Elected {
        /// Number of the election.
        election: u32,
        /// The elected leader.
        leader: ProcessId,
    },
}

labelled!(Message, Election, Probe => "probe", Reply => "reply", Elected => "elected");

impl Protocol for HirschbergSinclair {
    type Config = Config;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Never;
    type Stable = ();

    fn boot(group: Group, config: &Config, _: Option<()>, _: &mut impl Effects<Self>) -> Self {
        let rank = ring::own_rank(&config.ranks, group);
        let ring = Ring::without_absent(&config.absent, group);
        HirschbergSinclair { ring, rank, election: 0, settled: 0, phase: Phase::Asleep }
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        match command {
            Command::Elect if self.is_settled() => {
                self.election += 1;
                self.start(fx);
            }
            Command::Elect if self.phase == Phase::Asleep => self.start(fx),
            // The process with the largest rank leads by definition, so it cannot resign while it
            // is up.
            Command::Elect | Command::Resign => {}
        }
    }

    fn on_message(&mut self, _: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Probe { election, rank, phase, hops, direction } => {
                self.update_election(election);
                if rank == self.rank {
                    self.win(election, fx);
                } else if rank < self.rank {
                    if self.should_start(election) {
                        self.start(fx);
                    }
                } else if u64::from(hops) < reach(phase) {
                    let hops = hops.saturating_add(1);
                    let probe = Message::Probe { election, rank, phase, hops, direction };
                    fx.send(self.neighbour(direction), probe);
                } else {
                    let direction = direction.opposite();
                    let reply = Message::Reply { election, rank, phase, direction };
                    fx.send(self.neighbour(direction), reply);
                }
            }
            Message::Reply { rank, direction, .. } if rank != self.rank => {
                fx.send(self.neighbour(direction), message);
            }
            Message::Reply { election, phase, direction, .. } => {
                if self.receive_reply(election, phase, direction) {
                    self.probe(phase.saturating_add(1), fx);
                }
            }
            Message::Elected { leader, .. } if leader == self.ring.me() => {}
            Message::Elected { election, leader } => {
                self.update_election(election);
                self.settle(election, leader, fx);
                fx.send(self.neighbour(Direction::Clockwise), message);
            }
        }
    }
}

impl HirschbergSinclair {
    fn start(&mut self, fx: &mut impl Effects<Self>) {
        if self.ring.is_alone() {
            return self.settle(self.election, self.ring.me(), fx);
        }
        self.probe(0, fx);
    }

    fn probe(&mut self, phase: u8, fx: &mut impl Effects<Self>) {
        self.phase = Phase::Candidate { phase, replied: None };
        for direction in Direction::BOTH {
            let (election, rank) = (self.election, self.rank);
            let probe = Message::Probe { election, rank, phase, hops: 1, direction };
            fx.send(self.neighbour(direction), probe);
        }
    }

    /// Becomes the leader: a probe of this process has travelled around the whole ring. The probe
    /// in the other direction also returns, but has no effect.
    fn win(&mut self, election: u32, fx: &mut impl Effects<Self>) {
        if election == self.election && !self.is_settled() {
            let leader = self.ring.me();
            self.settle(election, leader, fx);
            fx.send(self.neighbour(Direction::Clockwise), Message::Elected { election, leader });
        }
    }

    fn settle(&mut self, election: u32, leader: ProcessId, fx: &mut impl Effects<Self>) {
        if election > self.settled {
            self.settled = election;
            fx.emit(Event::Elected { leader, term: Term { number: 0, leader } });
        }
    }

    /// Joins `election`, if this election is later than the latest known one. This process does not
    /// become a candidate.
    fn update_election(&mut self, election: u32) {
        if election > self.election {
            self.election = election;
            self.phase = Phase::Asleep;
        }
    }

    /// Records a reply to a probe of this process. Returns true if replies of the current phase
    /// have arrived from both sides.
    fn receive_reply(&mut self, election: u32, of_phase: u8, direction: Direction) -> bool {
        let Phase::Candidate { phase, replied } = &mut self.phase else { return false };
        if election != self.election || of_phase != *phase {
            return false;
        }
        *replied.get_or_insert(direction) != direction
    }

    /// Returns true if this process becomes a candidate when a probe with a smaller rank arrives in
    /// `election`. This is the case if `election` is the current election and has no result yet,
    /// and this process is not a candidate yet.
    fn should_start(&self, election: u32) -> bool {
        election == self.election && !self.is_settled() && self.phase == Phase::Asleep
    }

    fn is_settled(&self) -> bool {
        self.settled == self.election
    }

    fn neighbour(&self, direction: Direction) -> ProcessId {
        direction.neighbour(self.ring)
    }
}

/// Returns the number of hops that a probe of this phase travels: 2^phase.
fn reach(phase: u8) -> u64 {
    1 << phase.min(63)
}

/// Returns ⌈log₂ N⌉: the last phase.
fn last_phase(size: u64) -> u32 {
    u64::BITS - (size - 1).leading_zeros()
}

/// Returns an upper bound on the number of messages of an election. By the bound of the paper,
/// phase *k* has at most N/(2^(k − 1) + 1) candidates. Each of them causes at most 4·2^k messages.
/// In the last phase the winner is the only candidate, and its two probes travel once round the
/// ring.
fn max_messages(size: u64) -> u64 {
    let between = (1..last_phase(size)).map(|k| 4 * (1 << k) * (size / ((1 << (k - 1)) + 1)));
    3 * size + between.sum::<u64>() + 2 * size + size
}

/// Returns the number of messages of an election if all processes of this ring start at the same
/// time. `ring_ranks` contains the ranks in the order of the ring. In each phase a candidate sends
/// a probe to both sides. A probe travels at most 2^phase hops and ends early at a larger rank. If
/// the probe meets no larger rank, a reply travels back. In the last phase the probes of the winner
/// travel all the way around, and so does the announcement.
pub fn predicted_message_count<R: Ord>(ring_ranks: &[R]) -> u64 {
    let n = ring_ranks.len();
    if n == 1 {
        return 0;
    }
    let side = |place: usize, step: usize| {
        let larger = (1..n).find(|hops| ring_ranks[(place + hops * step) % n] > ring_ranks[place]);
        larger.unwrap_or(n) as u64
    };
    let mut messages = n as u64;
    for place in 0..n {
        let sides = [side(place, 1), side(place, n - 1)];
        for phase in 0.. {
            let far = reach(phase);
            let goes = |away: u64| if away > far { 2 * far } else { away };
            messages += sides.map(goes).iter().sum::<u64>();
            if sides.into_iter().any(|away| away <= far) {
                break;
            }
        }
    }
    messages
}

impl Algorithm for HirschbergSinclair {
    fn card(config: &Config, size: u32) -> Card {
        let size = ring::ring_size(&config.absent, size);
        let n = u64::from(size);
        let least = 4 * ((1 << last_phase(n)) - 1) + 3 * n;
        Card {
            faults: ToleratedFaults::duplication_only(
                "a crash breaks the ring, and a lost message may leave it undecided; \
                 repaired-chang-roberts survives crashes",
            )
            .with_initial_crashes(),
            knows: ProcessKnowledge::UNIFORM,
            topology: Topology::BidirectionalRing,
            messages: MessageCost::per_election(
                "4·2^⌈log₂N⌉ + 3N − 4 … O(N log N)",
                least,
                Some(max_messages(n)),
            )
            .zero_if_alone(size),
            ..Card::election(
                "hirschberg-sinclair",
                "candidates on a ring probe neighbourhoods that double in size",
                "Hirschberg & Sinclair, CACM 23(11), 1980",
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
        match workload {
            _ if size == 1 => Some(Prediction::new(PredictionKind::Exact, 0)),
            WorkloadKind::AllStart => {
                Some(Prediction::new(PredictionKind::Exact, predicted_message_count(&ring)))
            }
            WorkloadKind::AllStartRandomRanks => {
                Some(Prediction::new(PredictionKind::Most, max_messages(n)))
            }
            WorkloadKind::OneAtATime
            | WorkloadKind::AllEquallyOften
            | WorkloadKind::OneStarts(_)
            | WorkloadKind::Other => None,
        }
    }

    fn with_ranks(config: &Config, ranks: Arc<[Rank]>) -> Config {
        Config { ranks, ..config.clone() }
    }
}
