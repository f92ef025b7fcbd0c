//! LeLann: on a ring, every process receives all ranks and chooses the leader from their list.
//!
//! G. Le Lann, *Distributed systems: towards a formal approach*, IFIP Congress, 1977.
//!
//! | | |
//! |---|---|
//! | assumes | a ring, first-in-first-out, distinct ranks, no crash during an election |
//! | messages | N², whichever processes start; no announcement |
//! | | N more for a restarted process that asks for the leader |
//! | time | N hops if all start at once, at most 2N − 1 if one starts |
//!
//! **Why it is right.** A process sends its own rank before it forwards the first rank of another
//! process. Channels keep this order. So when a rank returns to its owner, the ranks of all other
//! processes have already passed the owner. Hence all processes that decide have compared the same
//! ranks. Each rank travels N hops, and then its owner removes it.
//!
//! Each process keeps the *list of active processes* with their ranks. When its own rank returns,
//! the list contains all processes. All processes choose from the same list, so they choose the
//! same leader: the largest rank, or the smallest rank with the variant `smallest`.
//!
//! Two things go beyond the paper. Messages carry the number of their election, so that an old copy
//! of a message does not start an election. And each process saves the number of its last election,
//! so that it does not repeat this election after a restart. A restarted process asks for the
//! leader, and does not learn the list.

use alloc::collections::BTreeSet;
use alloc::sync::Arc;

use tenure_core::service::election::{Command, Event};
use tenure_core::theory::{ExpectedCosts, Prediction, PredictionKind, WorkloadKind};
use tenure_core::{
    Algorithm, Card, ChannelOrder, Effects, Group, MessageCost, Never, ProcessId, ProcessKnowledge,
    Property, Protocol, Rank, Term, ToleratedFaults, Topology, labelled,
};

use super::ring::{self, Candidate, Ring};
use crate::Variants;
use crate::variants::variant_ids;

/// State of one process on the ring.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LeLann {
    ring: Ring,
    variants: Variants<VariantId>,
    rank: Rank,
    /// Number of the latest known election, 0 before the first.
    election: u32,
    phase: Phase,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// The process knows no leader: no process has started an election, or this process has
    /// restarted.
    Unaware,
    /// The process has sent its own rank. The rank has not returned yet.
    Participant {
        /// *List of active processes*: this process, and all processes whose ranks it has received
        /// so far.
        active: BTreeSet<Candidate>,
    },
    /// The rank of this process, or its query after a restart, has travelled around the ring.
    Decided {
        leader: ProcessId,
        /// *List of active processes*: all processes on the ring. Empty if this process has learned
        /// the leader by a query.
        active: BTreeSet<Candidate>,
    },
}

/// Result of an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Outcome {
    /// Number of the election.
    pub election: u32,
    /// The elected leader.
    pub leader: ProcessId,
}

/// Messages between processes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Carries the rank of a participant around the ring.
    Elect {
        /// Number of the election.
        election: u32,
        /// The participant, with its rank.
        candidate: Candidate,
    },
    /// Asks for the leader, after a restart. The query travels around the ring.
    Query {
        /// Process that restarted and asks for the leader.
        asker: ProcessId,
        /// Result of the latest election that the first process with a result knows. This process
        /// adds the result to the query. `None` until the query has passed such a process.
        known: Option<Outcome>,
    },
}

labelled!(Message, Election, Elect => "elect", Query => "query");

/// Configuration of one process.
pub type Config = ring::ConfigWithVariants<VariantId>;

variant_ids! {
    Smallest = "smallest", sound,
        "the smallest rank on the list of active processes leads, not the largest";
    ForwardFirst = "forward-first", unsound,
        "the first rank of another is forwarded before the own one is sent, not after"
        => "7-LL", "-n 3 --initiators 1";
}

impl Protocol for LeLann {
    type Config = Config;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Never;
    /// Number of the latest known election.
    type Stable = u32;

    fn boot(
        group: Group,
        config: &Config,
        stable: Option<u32>,
        fx: &mut impl Effects<Self>,
    ) -> Self {
        let (variants, rank) = (config.variants, ring::own_rank(&config.ranks, group));
        let ring = Ring::without_absent(&config.absent, group);
        let election = stable.unwrap_or(0);
        let mut lelann = LeLann { ring, variants, rank, election, phase: Phase::Unaware };
        if stable.is_some() {
            lelann.forward(Message::Query { asker: group.me(), known: None }, fx);
        }
        lelann
    }

    fn stable(&self) -> u32 {
        self.election
    }

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        match command {
            Command::Elect if !matches!(self.phase, Phase::Participant { .. }) => {
                self.join(self.election + 1);
                self.send_own(fx);
            }
            // The ranks determine the leader, so the leader cannot resign while it is up.
            Command::Elect | Command::Resign => {}
        }
    }

    fn on_message(&mut self, _: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Elect { election, candidate } if candidate.rank == self.rank => {
                self.decide(election, fx);
            }
            Message::Elect { election, candidate } => {
                let joins = election > self.election;
                let forwards_first = self.variants.has(VariantId::ForwardFirst);
                if joins {
                    self.join(election);
                }
                if joins && !forwards_first {
                    self.send_own(fx);
                }
                self.add_to_list(election, candidate);
                self.forward(message, fx);
                if joins && forwards_first {
                    self.send_own(fx);
                }
            }
            Message::Query { asker, known } if asker == self.ring.me() => {
                self.on_own_query(known, fx)
            }
            Message::Query { asker, known } => {
                self.forward(Message::Query { asker, known: known.or(self.outcome()) }, fx);
            }
        }
    }
}

impl LeLann {
    /// Joins the election with the number `election`. At first, the list of active processes
    /// contains only this process.
    fn join(&mut self, election: u32) {
        self.election = election;
        self.phase = Phase::Participant { active: BTreeSet::from([self.own()]) };
    }

    fn send_own(&mut self, fx: &mut impl Effects<Self>) {
        self.forward(Message::Elect { election: self.election, candidate: self.own() }, fx);
    }

    /// Adds a candidate to the list of active processes. Does nothing if `of` is not the number of
    /// the current election, or if this process does not take part or has already decided.
    fn add_to_list(&mut self, of: u32, candidate: Candidate) {
        if let Phase::Participant { active } = &mut self.phase
            && of == self.election
        {
            active.insert(candidate);
        }
    }

    /// Chooses the leader from the list of active processes, because the rank of this process has
    /// returned. Does nothing if `election` is not the current election, or if this process does
    /// not take part or has already decided.
    fn decide(&mut self, election: u32, fx: &mut impl Effects<Self>) {
        if let Phase::Participant { active } = &mut self.phase
            && election == self.election
        {
            let active = core::mem::take(active);
            let leader = self.choose(&active);
            self.accept_leader(leader, active, fx);
        }
    }

    /// Returns the process that becomes the leader, from the list `active`. The list is never
    /// empty, because it contains this process.
    fn choose(&self, active: &BTreeSet<Candidate>) -> ProcessId {
        let smallest = self.variants.has(VariantId::Smallest);
        let chosen = if smallest { active.first() } else { active.last() };
        chosen.map_or(self.ring.me(), |candidate| candidate.process)
    }

    /// Handles the return of the query that this process has sent. Accepts the result `known` if
    /// the query found one, and if the result belongs to no older election than this process knows.
    /// Ignores the query if this process is no longer in [`Phase::Unaware`]: if it has joined an
    /// election in the meantime, that election decides the leader.
    fn on_own_query(&mut self, known: Option<Outcome>, fx: &mut impl Effects<Self>) {
        if let Some(Outcome { election, leader }) = known
            && self.phase == Phase::Unaware
            && election >= self.election
        {
            self.election = election;
            self.accept_leader(leader, BTreeSet::new(), fx);
        }
    }

    fn accept_leader(
        &mut self,
        leader: ProcessId,
        active: BTreeSet<Candidate>,
        fx: &mut impl Effects<Self>,
    ) {
        self.phase = Phase::Decided { leader, active };
        fx.emit(Event::Elected { leader, term: Term { number: 0, leader } });
    }

    fn own(&self) -> Candidate {
        Candidate { rank: self.rank, process: self.ring.me() }
    }

    /// Returns the result of the current election, or `None` if this process does not know the
    /// result.
    fn outcome(&self) -> Option<Outcome> {
        match self.phase {
            Phase::Decided { leader, .. } => Some(Outcome { election: self.election, leader }),
            Phase::Unaware | Phase::Participant { .. } => None,
        }
    }

    /// Sends a message to the next process clockwise. A process that is alone on the ring handles
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

impl Algorithm for LeLann {
    fn card(config: &Config, size: u32) -> Card {
        let size = ring::ring_size(&config.absent, size);
        let n = u64::from(size);
        let smallest = config.variants.has(VariantId::Smallest);
        let choice = if smallest { Property::SmallestLeads } else { Property::Validity };
        Card {
            order: ChannelOrder::Fifo,
            faults: ToleratedFaults::duplication_only(
                "a crash breaks the ring, and a lost message hides a candidate from some; \
                 repaired-chang-roberts survives crashes",
            )
            .with_initial_crashes(),
            knows: ProcessKnowledge::UNIFORM,
            topology: Topology::UnidirectionalRing,
            messages: MessageCost::per_election("N²", n * n, Some(n * n)).zero_if_alone(size),
            theory: Some(ExpectedCosts::election(size)),
            promises: [Property::Agreement, Property::Progress, choice].into(),
            variants: Variants::<VariantId>::declarations(),
            ..Card::election(
                "lelann",
                "on a ring, every process lists all ranks and chooses the largest",
                "Le Lann, IFIP Congress, 1977",
            )
        }
    }

    fn predicted_messages(config: &Config, size: u32, _: WorkloadKind) -> Option<Prediction> {
        let size = ring::ring_size(&config.absent, size);
        let all = Prediction::new(PredictionKind::Exact, u64::from(size).pow(2));
        (size > 1).then_some(all)
    }

    fn with_ranks(config: &Config, ranks: Arc<[Rank]>) -> Config {
        Config { ranks, ..config.clone() }
    }
}
