//! LeLann: on a ring, everybody hears of everybody, and all decide on the largest.
//!
//! G. Le Lann, *Distributed systems: towards a formal approach*, IFIP Congress, 1977.
//!
//! | | |
//! |---|---|
//! | assumes | a ring, first-in-first-out, distinct ranks, no crash during an election |
//! | messages | N², whoever starts; no announcement |
//! | | N more for a process that comes back and asks who leads |
//! | time | N hops if all start at once, at most 2N − 1 if one starts |
//!
//! **Why it is right.** A process sends its own rank before it passes on the first rank of
//! another. Channels keep that order, so on its lap a rank drives everybody else's before it:
//! when it comes back to its owner, the ranks of all others have come by. All who decide have
//! therefore compared the same ranks. Each rank travels N hops and is taken off by its owner.
//! To pass on first and send one's own rank second breaks the first step of this argument.
//!
//! Of the paper's list of active processes only the largest is kept, since nothing else is
//! asked of it. Two things go beyond the paper: messages name the election that they belong to,
//! so that a copy of an old one starts nothing; and the number of the last election is saved,
//! so that a process that comes back does not start one that is over for the others.

use alloc::sync::Arc;

use tenure_core::service::election::{Command, Event};
use tenure_core::theory::{Expected, Precision, Scene, Theory};
use tenure_core::{
    Algorithm, Card, Cost, Effects, Faults, Group, Knowledge, Never, Order, ProcessId, ProcessSet,
    Protocol, Rank, Term, Topology, labelled,
};

use super::ring::{self, Candidate, Ring};
use crate::Variants;
use crate::catalogue::{Configured, Parameters, Unknown};
use crate::variants::switches;

/// One process on the ring.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LeLann {
    ring: Ring,
    variants: Variants<Switch>,
    /// What decides.
    rank: Rank,
    /// The latest election that this process has heard of, 0 before the first.
    election: u32,
    /// Where it stands in `election`.
    phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// Knows of no leader: nobody has started yet, or it has just come back.
    Unaware,
    /// Has sent its own rank, which is still on its lap.
    Participant {
        /// The largest of the *list*.
        largest: Candidate,
    },
    /// Its own rank has come back.
    Decided { leader: ProcessId },
}

/// How an election ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Outcome {
    /// Which election it was.
    pub election: u32,
    /// Who won.
    pub leader: ProcessId,
}

/// What processes say to each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// "This one takes part."
    Elect {
        /// Which election this belongs to.
        election: u32,
        /// Who takes part.
        candidate: Candidate,
    },
    /// "I have come back: who leads?"
    Query {
        /// Who asks.
        asker: ProcessId,
        /// The answer of the first on the way who knew.
        known: Option<Outcome>,
    },
}

labelled!(Message, Election, Elect => "elect", Query => "query");

/// What is fixed for life.
#[derive(Clone, Debug)]
pub struct Config {
    /// By place on the ring, clockwise, the direction of messages. All different.
    pub ranks: Arc<[Rank]>,
    /// Who had failed before the ring was formed: it is a ring of the others.
    pub absent: ProcessSet,
    /// Which variants are switched on.
    pub variants: Variants<Switch>,
}

impl Config {
    /// Plain ids as ranks, in the order of the ring.
    pub fn plain(size: u32) -> Self {
        Config::of(ring::plain(size), Variants::none())
    }

    /// These ranks and variants, and nobody has failed.
    pub fn of(ranks: Arc<[Rank]>, variants: Variants<Switch>) -> Self {
        Config { ranks, absent: ProcessSet::new(), variants }
    }
}

impl Configured for Config {
    fn configured(parameters: &Parameters) -> Result<Self, Unknown> {
        let (ranks, absent) = (parameters.ranks.clone(), parameters.absent.clone());
        Ok(Config { ranks, absent, variants: parameters.variants()? })
    }
}

switches! {
    ForwardFirst = "forward-first", unsound,
        "the first rank of another is passed on before the own one is sent, not after"
        => "7-LL", "-n 3 --initiators 1";
}

impl Protocol for LeLann {
    type Config = Config;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Never;
    /// The latest election that this process has heard of.
    type Stable = u32;

    fn boot(
        group: Group,
        config: &Config,
        stable: Option<u32>,
        fx: &mut impl Effects<Self>,
    ) -> Self {
        let (variants, rank) = (config.variants, ring::rank(&config.ranks, group));
        let ring = Ring::without(&config.absent, group);
        let election = stable.unwrap_or(0);
        let mut lelann = LeLann { ring, variants, rank, election, phase: Phase::Unaware };
        if stable.is_some() {
            lelann.pass_on(Message::Query { asker: group.me(), known: None }, fx);
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
            // The largest rank leads by definition: it cannot step down and stay.
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
                let forwards_first = self.variants.has(Switch::ForwardFirst);
                if joins {
                    self.join(election);
                }
                if joins && !forwards_first {
                    self.send_own(fx);
                }
                self.list(election, candidate);
                self.pass_on(message, fx);
                if joins && forwards_first {
                    self.send_own(fx);
                }
            }
            Message::Query { asker, known } if asker == self.ring.me() => self.learn(known, fx),
            Message::Query { asker, known } => {
                self.pass_on(Message::Query { asker, known: known.or(self.outcome()) }, fx);
            }
        }
    }
}

impl LeLann {
    /// Takes part in an election, with a list of nobody but itself.
    fn join(&mut self, election: u32) {
        self.election = election;
        self.phase = Phase::Participant { largest: self.own() };
    }

    fn send_own(&mut self, fx: &mut impl Effects<Self>) {
        self.pass_on(Message::Elect { election: self.election, candidate: self.own() }, fx);
    }

    /// Puts somebody on the list.
    fn list(&mut self, of: u32, candidate: Candidate) {
        if let Phase::Participant { largest } = &mut self.phase
            && of == self.election
        {
            *largest = candidate.max(*largest);
        }
    }

    /// Our own rank has come back.
    fn decide(&mut self, election: u32, fx: &mut impl Effects<Self>) {
        if let Phase::Participant { largest } = self.phase
            && election == self.election
        {
            self.believe_in(largest.process, fx);
        }
    }

    /// Our query has come back. Whoever has joined an election meanwhile will decide itself.
    fn learn(&mut self, known: Option<Outcome>, fx: &mut impl Effects<Self>) {
        if let Some(Outcome { election, leader }) = known
            && self.phase == Phase::Unaware
            && election >= self.election
        {
            self.election = election;
            self.believe_in(leader, fx);
        }
    }

    fn believe_in(&mut self, leader: ProcessId, fx: &mut impl Effects<Self>) {
        self.phase = Phase::Decided { leader };
        fx.emit(Event::Elected { leader, term: Term { number: 0, leader } });
    }

    fn own(&self) -> Candidate {
        Candidate { rank: self.rank, process: self.ring.me() }
    }

    /// What this process can tell who asks.
    fn outcome(&self) -> Option<Outcome> {
        match self.phase {
            Phase::Decided { leader } => Some(Outcome { election: self.election, leader }),
            Phase::Unaware | Phase::Participant { .. } => None,
        }
    }

    /// Sends clockwise; who is alone on the ring is its own neighbour.
    fn pass_on(&mut self, message: Message, fx: &mut impl Effects<Self>) {
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
        let size = ring::length(&config.absent, size);
        let n = u64::from(size);
        Card {
            order: Order::Fifo,
            faults: Faults::duplication(
                "a crash breaks the ring, and a lost message hides a candidate from some; \
                 repaired-chang-roberts survives crashes",
            )
            .and_absence(),
            knows: Knowledge::UNIFORM,
            topology: Topology::UnidirectionalRing,
            messages: Cost::per_election("N²", n * n, Some(n * n)).none_alone(size),
            theory: Some(Theory::election(size)),
            variants: Variants::<Switch>::declared(),
            ..Card::election(
                "lelann",
                "on a ring, everybody hears of everybody and decides on the largest",
                "Le Lann, IFIP Congress, 1977",
            )
        }
    }

    fn expected(config: &Config, size: u32, _: Scene) -> Option<Expected> {
        let size = ring::length(&config.absent, size);
        let all = Expected::new(Precision::Exact, u64::from(size).pow(2));
        (size > 1).then_some(all)
    }

    fn ranked(config: &Config, ranks: Arc<[Rank]>) -> Config {
        Config { ranks, ..config.clone() }
    }
}
