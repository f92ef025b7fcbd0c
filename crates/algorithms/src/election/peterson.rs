//! Peterson: at most every second candidate survives each phase, on a unidirectional ring, and the
//! winner itself recognises its rank.
//!
//! G. L. Peterson, *An O(n log n) unidirectional algorithm for the circular extrema problem*, ACM
//! TOPLAS 4(4), 1982: the first of the two algorithms in this paper. This file adds an announcement
//! of the leader.
//!
//! | | |
//! |---|---|
//! | assumes | a ring, first-in-first-out, distinct ranks, no crash |
//! | messages | at most 2N⌊log₂ N⌋ + N − 1, at least 3N − 1, and N to announce |
//! | phases | at most ⌊log₂ N⌋ + 1 |
//!
//! **Why it is right.** In each phase, an active process sends its candidate (`tid`), and receives
//! the candidate of the active process before it (`ntid`). The process then sends the larger of the
//! two. From the active process before it, it receives the larger of that process's two candidates
//! (`nntid`). If `ntid ≥ max(tid, nntid)`, the process adopts `ntid` as its candidate and stays
//! active. Then `ntid` is the largest of three consecutive candidates. So no two neighbours stay
//! active, and each phase at least halves the number of active processes. The largest candidate
//! always survives. In each phase it moves forward by one active process, until a message carries
//! it to its owner. The owner leads.
//!
//! **Compared with `dolev-klawe-rodeh`.** In each phase, the same candidates survive in both
//! algorithms. In `dolev-klawe-rodeh`, the second message carries `ntid`, and the last active
//! process finds the winner when its candidate returns. Here the second message carries the larger
//! of two candidates. And every process compares each message with its own rank, even as a relay.
//! So the winner is found earlier, and every ring needs fewer messages. For eight processes the
//! worst case is 54 messages instead of 64.
//!
//! Beyond the paper, messages carry the numbers of their election and phase, so that duplicates are
//! recognised.

use alloc::sync::Arc;

use tenure_core::service::election::{Command, Event};
use tenure_core::theory::{Prediction, PredictionKind, WorkloadKind};
use tenure_core::{
    Algorithm, Card, ChannelOrder, Effects, Group, MessageCost, Never, ProcessId, ProcessKnowledge,
    Protocol, Rank, Term, ToleratedFaults, Topology, labelled,
};

use super::ring::{self, Candidate, Ring};
use crate::Variants;
use crate::variants::variant_ids;

/// State of one process on the ring.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Peterson {
    ring: Ring,
    variants: Variants<VariantId>,
    /// *Initial value*: rank of this process. The process with the largest rank wins.
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
        /// Candidate that this process represents (`tid` in the paper).
        candidate: Candidate,
        /// Candidate of the nearest active process before this process on the ring (`ntid` in the
        /// paper). `None` until it is known.
        before: Option<Candidate>,
    },
    /// *Relay*: the process represents no candidate. It forwards messages, but wins the election if
    /// a message carries its own rank.
    Relay {
        /// Phase in which this process became a relay.
        since: u32,
    },
}

/// Messages between processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
    /// Second message of a phase: the larger of the sender's candidate and the candidate of the
    /// active process before the sender.
    Second {
        /// Number of the election.
        election: u32,
        /// Phase of the active process that sent this message first.
        phase: u32,
        /// The larger of the two candidates.
        candidate: Candidate,
    },
    /// Announces the leader. The announcement travels around the ring.
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

/// Configuration of one process.
pub type Config = ring::ConfigWithVariants<VariantId>;

variant_ids! {
    Strict = "strict", unsound,
        "a process stays active only if ntid > nntid, but nntid is never smaller than ntid"
        => "", "-n 3";
    OwnSecond = "own-second", unsound,
        "the second message carries the sender's own candidate again: a smaller rank may win"
        => "", "--ids 1,3,2 --initiators 1 --property validity";
    DeafRelay = "deaf-relay", unsound,
        "a relay does not compare messages with its own rank: the winner is never found"
        => "", "-n 3 --initiators 1 --property cost";
}

impl Protocol for Peterson {
    type Config = Config;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Never;
    type Stable = ();

    fn boot(group: Group, config: &Config, _: Option<()>, _: &mut impl Effects<Self>) -> Self {
        let (variants, rank) = (config.variants, ring::own_rank(&config.ranks, group));
        let ring = Ring::without_absent(&config.absent, group);
        Peterson { ring, variants, rank, election: 0, phase: Phase::Settled }
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
                if election == self.election {
                    self.on_first(phase, candidate, fx);
                }
            }
            Message::Second { election, phase, candidate } => {
                if election == self.election {
                    self.on_second(phase, candidate, fx);
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

impl Peterson {
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

    fn on_first(&mut self, of: u32, received: Candidate, fx: &mut impl Effects<Self>) {
        let election = self.election;
        match self.phase {
            _ if self.wins(received) => self.announce(fx),
            Phase::Active { phase, candidate, before: None } if of == phase => {
                self.phase = Phase::Active { phase, candidate, before: Some(received) };
                let only_own = self.variants.has(VariantId::OwnSecond);
                let larger = if only_own { candidate } else { candidate.max(received) };
                self.forward(Message::Second { election, phase, candidate: larger }, fx);
            }
            Phase::Relay { since } if of > since => {
                self.forward(Message::First { election, phase: of, candidate: received }, fx);
            }
            // Drops a duplicate.
            _ => {}
        }
    }

    fn on_second(&mut self, of: u32, received: Candidate, fx: &mut impl Effects<Self>) {
        let election = self.election;
        match self.phase {
            _ if self.wins(received) => self.announce(fx),
            Phase::Active { phase, candidate, before: Some(before) } if of == phase => {
                if self.survives(before, candidate, received) {
                    self.start_phase(before, phase + 1, fx);
                } else {
                    self.phase = Phase::Relay { since: phase };
                }
            }
            Phase::Relay { since } if of > since => {
                self.forward(Message::Second { election, phase: of, candidate: received }, fx);
            }
            // Drops a duplicate.
            _ => {}
        }
    }

    /// Returns true if this process stays active: `before` is not smaller than `own` and `larger`.
    /// `before` is the candidate of the nearest active process before this process (`ntid` in the
    /// paper). `own` is the candidate of this process (`tid`). `larger` is the candidate in the
    /// second message of the phase (`nntid`).
    fn survives(&self, before: Candidate, own: Candidate, larger: Candidate) -> bool {
        let limit = own.max(larger);
        if self.variants.has(VariantId::Strict) { before > limit } else { before >= limit }
    }

    /// Returns true if `received` has the rank of this process, and this process knows no result of
    /// the election yet. In this case this process wins, because its rank has passed all other
    /// processes. With the variant `deaf-relay`, a relay does not win.
    fn wins(&self, received: Candidate) -> bool {
        let compares = match self.phase {
            Phase::Settled => false,
            Phase::Active { .. } => true,
            Phase::Relay { .. } => !self.variants.has(VariantId::DeafRelay),
        };
        compares && received.rank == self.rank
    }

    fn announce(&mut self, fx: &mut impl Effects<Self>) {
        let (election, leader) = (self.election, self.ring.me());
        self.settle(election, leader, fx);
        self.forward(Message::Elected { election, leader }, fx);
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

/// Returns the largest number of messages of an election on a ring of `size` processes. In each
/// phase except the last, each process sends two messages, as in the algorithm of Dolev, Klawe and
/// Rodeh. In the last phase, the first message ends at the owner of the largest rank. Therefore
/// this algorithm sends at least one message less than the algorithm of Dolev, Klawe and Rodeh.
fn most_messages(size: u32) -> u64 {
    let n = u64::from(size);
    if size == 1 { 0 } else { 2 * n * u64::from(size.ilog2()) + 2 * n - 1 }
}

impl Algorithm for Peterson {
    fn card(config: &Config, size: u32) -> Card {
        let size = ring::ring_size(&config.absent, size);
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
                "4N − 1 … 2N⌊log₂N⌋ + 2N − 1",
                4 * u64::from(size) - 1,
                Some(most_messages(size)),
            )
            .zero_if_alone(size),
            variants: Variants::<VariantId>::declarations(),
            ..Card::election(
                "peterson",
                "at most every second candidate survives a phase, and the winner sees its own rank",
                "Peterson, ACM TOPLAS 4(4), 1982",
            )
        }
    }

    fn predicted_messages(config: &Config, size: u32, _: WorkloadKind) -> Option<Prediction> {
        let size = ring::ring_size(&config.absent, size);
        Some(Prediction::new(PredictionKind::Most, most_messages(size)))
    }

    fn with_ranks(config: &Config, ranks: Arc<[Rank]>) -> Config {
        Config { ranks, ..config.clone() }
    }
}
