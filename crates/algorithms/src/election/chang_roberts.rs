//! Chang–Roberts: on a ring, only the largest rank travels all the way around.
//!
//! E. Chang, R. Roberts, *An improved algorithm for decentralized extrema-finding in circular
//! configurations of processes*, CACM 22(5), 1979. Textbooks add the announcement of the leader.
//!
//! | | |
//! |---|---|
//! | assumes | a ring, first-in-first-out, distinct ranks, no crash |
//! | messages | N(N + 1)/2 + N at worst, N·H(N) + N on average, if all start at once |
//! | | 2N to 3N − 1 if one starts |
//! | time | 2N hops if all start at once, at most 3N − 1 if one starts |
//!
//! **Why it is right.** A process forwards only ranks that are larger than its own. So the largest
//! rank is never stopped, and every other rank is stopped at the latest by the process with the
//! largest rank. Exactly one rank returns to its owner. A process that has sent anything is a
//! participant. A participant has already sent its own rank, and forwards no smaller rank. The
//! announcement ends the participation of each process that it reaches. Channels are
//! first-in-first-out, so each rank of this election reaches a process before the announcement
//! does. The process is then still a participant, and the rank does not make it start again.
//!
//! If a process starts an election after the announcement has passed it, the same leader wins
//! again.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cmp::Ordering;

use tenure_core::service::election::{Command, Event};
use tenure_core::theory::{ExpectedCosts, Prediction, PredictionKind, WorkloadKind};
use tenure_core::{
    Algorithm, Card, ChannelOrder, Effects, Group, MessageCost, Never, ProcessId, ProcessKnowledge,
    Protocol, Rank, Term, ToleratedFaults, Topology, Variant, labelled,
};

use super::ring::{self, Ring};
use crate::Variants;
use crate::variants::variant_ids;

/// State of one process on the ring.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ChangRoberts {
    ring: Ring,
    variants: Variants<VariantId>,
    /// Rank of this process (*i* in the paper). The process with the largest rank wins.
    rank: Rank,
    phase: Phase,
    /// The last announced leader (`elected_i` in the paper). `None` if no leader has been announced
    /// to this process yet.
    elected: Option<ProcessId>,
}

/// State of a process in an election (`participant_i` in the paper).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    NonParticipant,
    /// The process has sent its own rank or a larger rank since the last announcement.
    Participant,
}

/// Messages between processes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Carries a rank that is larger than the ranks of all processes that this message has passed.
    Election {
        /// Rank of the process that sent this message first.
        rank: Rank,
    },
    /// Announces the leader. The rank of the leader has travelled around the whole ring.
    Elected {
        /// Rank of the leader.
        rank: Rank,
        /// The elected leader, whose rank is in the field `rank`.
        leader: ProcessId,
    },
}

labelled!(Message, Election, Election => "election", Elected => "elected");

/// Configuration of one process.
pub type Config = ring::ConfigWithVariants<VariantId>;

variant_ids! {
    UnmarkedForward = "unmarked-forward", sound,
        "forwarding a larger rank does not make a participant: late starters start in vain";
    StartsAgain = "starts-again", unsound,
        "a participant starts again for every smaller rank: correct but expensive"
        => "", "-n 3 --property cost";
}

impl Protocol for ChangRoberts {
    type Config = Config;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Never;
    type Stable = ();

    fn boot(group: Group, config: &Config, _: Option<()>, _: &mut impl Effects<Self>) -> Self {
        ChangRoberts {
            ring: Ring::without_absent(&config.absent, group),
            variants: config.variants,
            rank: ring::own_rank(&config.ranks, group),
            phase: Phase::NonParticipant,
            elected: None,
        }
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        match command {
            Command::Elect if self.phase == Phase::NonParticipant => self.participate(fx),
            // The process with the largest rank leads by definition, so it cannot resign while it
            // is up.
            Command::Elect | Command::Resign => {}
        }
    }

    fn on_message(&mut self, _: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Election { rank } => match rank.cmp(&self.rank) {
                Ordering::Greater => {
                    if !self.variants.has(VariantId::UnmarkedForward) {
                        self.phase = Phase::Participant;
                    }
                    self.forward(message, fx);
                }
                Ordering::Less if self.should_start() => self.participate(fx),
                Ordering::Less => {}
                Ordering::Equal => {
                    let (rank, leader) = (self.rank, self.ring.me());
                    self.accept_leader(leader, fx);
                    self.forward(Message::Elected { rank, leader }, fx);
                }
            },
            Message::Elected { rank, .. } if rank == self.rank => {
                self.phase = Phase::NonParticipant;
            }
            Message::Elected { leader, .. } => {
                self.accept_leader(leader, fx);
                self.forward(message, fx);
            }
        }
    }
}

impl ChangRoberts {
    fn participate(&mut self, fx: &mut impl Effects<Self>) {
        self.phase = Phase::Participant;
        self.forward(Message::Election { rank: self.rank }, fx);
    }

    /// Returns true if this process must send its own rank when a smaller rank arrives. A process
    /// does so only once per election, except with the variant `starts-again`.
    fn should_start(&self) -> bool {
        self.phase == Phase::NonParticipant || self.variants.has(VariantId::StartsAgain)
    }

    fn accept_leader(&mut self, leader: ProcessId, fx: &mut impl Effects<Self>) {
        self.phase = Phase::NonParticipant;
        self.elected = Some(leader);
        fx.emit(Event::Elected { leader, term: Term { number: 0, leader } });
    }

    /// Sends a message to the next process on the ring. A process that is alone on the ring handles
    /// the message itself.
    fn forward(&mut self, message: Message, fx: &mut impl Effects<Self>) {
        let next = self.ring.successor();
        if next == self.ring.me() {
            self.on_message(next, message, fx);
        } else {
            fx.send(next, message);
        }
    }
}

/// Returns the number of messages of an election if all processes of this ring start at the same
/// time. `ring_ranks` contains the ranks in the direction of messages. Each rank travels to the
/// next process with a larger rank. The largest rank and the announcement travel all the way
/// around.
pub fn predicted_message_count<R: Ord>(ring_ranks: &[R]) -> u64 {
    let n = ring_ranks.len();
    // A process that is alone sends only to itself, and such messages are not counted.
    if n == 1 {
        return 0;
    }
    // Walks backwards around the ring, twice. `larger` is a stack of the places ahead. After the
    // smaller ranks are removed, the top of the stack is the next place with a larger rank.
    let mut larger: Vec<usize> = Vec::new();
    let mut messages = 0;
    for place in (0..2 * n).rev() {
        while larger.last().is_some_and(|next| ring_ranks[*next % n] < ring_ranks[place % n]) {
            larger.pop();
        }
        if place < n {
            let distance = larger.last().map_or(n, |next| (next - place).min(n));
            messages += distance as u64;
        }
        larger.push(place);
    }
    messages + n as u64
}

/// Variant that selects the algorithm `repaired-chang-roberts` instead of Chang–Roberts.
const FAULT_TOLERANT: Variant = Variant {
    name: "fault-tolerant",
    description: "repaired-chang-roberts: suspected processes are skipped, elections are numbered",
    sound: true,
    known_result: "",
    shown_by: "",
};

impl Algorithm for ChangRoberts {
    fn card(config: &Config, size: u32) -> Card {
        let size = ring::ring_size(&config.absent, size);
        let n = u64::from(size);
        // With `unmarked-forward`, a late starter can make the leader start again after the
        // announcement.
        let (formula, most) = match config.variants.has(VariantId::UnmarkedForward) {
            true => ("at least 2N", None),
            false => ("2N … N(N+1)/2 + N", Some(n * (n + 1) / 2 + n)),
        };
        Card {
            order: ChannelOrder::Fifo,
            faults: ToleratedFaults::duplication_only(
                "a crash breaks the ring, and a lost message ends the election undecided; \
                 repaired-chang-roberts survives crashes",
            )
            .with_initial_crashes(),
            knows: ProcessKnowledge::UNIFORM,
            topology: Topology::UnidirectionalRing,
            messages: MessageCost::per_election(formula, 2 * n, most).zero_if_alone(size),
            theory: Some(ExpectedCosts::election(2 * size - 1)),
            variants: Variants::<VariantId>::declarations()
                .into_iter()
                .chain([FAULT_TOLERANT])
                .collect(),
            ..Card::election(
                "chang-roberts",
                "on a ring, only the largest rank travels all the way around",
                "Chang & Roberts, CACM 22(5), 1979",
            )
        }
    }

    fn predicted_messages(
        config: &Config,
        size: u32,
        workload: WorkloadKind,
    ) -> Option<Prediction> {
        let Config { ranks, absent, .. } = config;
        let size = ring::ring_size(absent, size);
        let n = u64::from(size);
        match workload {
            _ if size == 1 => Some(Prediction::new(PredictionKind::Exact, 0)),
            WorkloadKind::AllStart => {
                let ring = ring::live_ranks(ranks, absent, ProcessId(0));
                Some(Prediction::new(PredictionKind::Exact, predicted_message_count(&ring)))
            }
            WorkloadKind::AllStartRandomRanks => Some(Prediction::harmonic(n, size, n)),
            WorkloadKind::OneStarts(start) if absent.contains(start) => None,
            WorkloadKind::OneStarts(start) => {
                let ring = ring::live_ranks(ranks, absent, start);
                let hops = (0..ring.len() as u64).max_by_key(|place| ring[*place as usize])?;
                Some(Prediction::new(PredictionKind::Exact, hops + 2 * n))
            }
            WorkloadKind::OneAtATime | WorkloadKind::AllEquallyOften | WorkloadKind::Other => None,
        }
    }

    fn with_ranks(config: &Config, ranks: Arc<[Rank]>) -> Config {
        Config { ranks, ..config.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by_walking(ring: &[u32]) -> u64 {
        let n = ring.len();
        let walk = |place: usize| {
            let next = (1..n).find(|hops| ring[(place + hops) % n] > ring[place]);
            next.unwrap_or(n) as u64
        };
        (0..n).map(walk).sum::<u64>() + n as u64
    }

    #[test]
    fn counts_worst_and_best_ring_of_five() {
        assert_eq!(predicted_message_count(&[5, 4, 3, 2, 1]), 20);
        assert_eq!(predicted_message_count(&[1, 2, 3, 4, 5]), 9 + 5);
        assert_eq!(predicted_message_count(&[7]), 0);
    }

    /// Checks the predicted number of messages on a ring of six processes, for every order of the
    /// ranks. Each prediction must equal the number in a simulation. The mean must be N·H(N) + N,
    /// where H(N) is the harmonic number.
    #[test]
    fn stack_count_equals_walk_on_all_rings_of_six() {
        fn all(ring: &mut [u32; 6], from: usize, total: &mut u64) {
            if from == ring.len() {
                assert_eq!(predicted_message_count(ring), by_walking(ring), "{ring:?}");
                *total += predicted_message_count(ring);
            }
            for place in from..ring.len() {
                ring.swap(from, place);
                all(ring, from + 1, total);
                ring.swap(from, place);
            }
        }
        let mut total = 0;
        all(&mut [1, 2, 3, 4, 5, 6], 0, &mut total);
        let harmonic = 720 + 360 + 240 + 180 + 144 + 120;
        assert_eq!(total, 6 * harmonic + 6 * 720);
    }
}
