//! Paxos of one decree: whoever leads asks a majority what was accepted, and has a majority accept
//! that, or its own proposal where there is nothing.
//!
//! L. Lamport, *The part-time parliament*, ACM TOCS 16(2), 1998; *Paxos made simple*, ACM SIGACT
//! News 32(4), 2001. Who proposes is for an Ω to say, which is made of a detector: the lowest
//! process that one does not suspect (`omega.rs`).
//!
//! | | |
//! |---|---|
//! | assumes | asynchronous, reliable channels in any order, a detector wrong finitely often |
//! | survives | the crash of a minority, which may come back with what it saved |
//! | messages per decision | 5(N − 1) where one leads; more for each ballot that was overtaken |
//! | delay | 4 messages at the leader, 5 elsewhere |
//!
//! **Why it is right.** Ballots are numbered, and their numbers are never shared: the proposer is
//! a part of them. A value is *chosen* when a majority has accepted it in one ballot. Suppose that
//! *v* is chosen in ballot *b*; then every later ballot has *v*. For its proposer heard promises of
//! a majority, one of whom, *a*, had accepted in *b*: not after its promise, which forbids what is
//! older. So *a* told what it had accepted, or something newer that it accepted after *b*, which by
//! induction has *v* as well; and the proposer takes the newest of what it is told. So no two
//! values are ever chosen, whoever crashes, whatever is late, and however many believe to lead.
//! That rests on memory: promises and what is accepted are saved before they are told.
//!
//! Safety needs no detector. Without one, two who propose can overtake each other for ever, and
//! no algorithm of its kind can do better (Fischer, Lynch, Paterson, JACM 32(2), 1985). When the
//! detectors no longer err, the lowest process that is up is the only one that begins ballots: it
//! is refused finitely often, and then a majority answers it. Everybody proposes, so it has
//! something to propose. Whoever comes back asks the others; the leader then says again what it
//! waits for, as what was sent to it while it was down is lost.
//!
//! Where nothing was accepted before, the first ballot has both phases all the same.

use tenure_core::service::consensus::{Command, Event};
use tenure_core::theory::Theory;
use tenure_core::{
    Algorithm, Card, Cost, Crashes, Detection, Effects, Faults, Group, Never, ProcessId,
    ProcessSet, Property, Protocol, Service, Term, Verdict, labelled,
};

use super::omega::Omega;
use crate::Variants;
use crate::variants::switches;

/// One process: proposer, acceptor and learner.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Paxos {
    group: Group,
    variants: Variants<Switch>,
    omega: Omega,
    proposing: Proposing,
    memory: Memory,
}

/// How far our own ballot has come.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Proposing {
    /// We have none.
    Not,
    /// Phase 1: we await promises, and of what was accepted know the newest.
    Preparing { ballot: Term, promised: ProcessSet, newest: Option<Accepted> },
    /// Phase 2: we await that it is accepted.
    Asking { ballot: Term, value: u64, accepted: ProcessSet },
}

/// What survives a crash.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Memory {
    /// What our user proposed.
    proposal: Option<u64>,
    /// `maxBal`: the highest ballot that we have heard of; we take part in no older one.
    promised: Option<Term>,
    /// `maxVBal`, `maxVal`: what we accepted last.
    accepted: Option<Accepted>,
    /// What is decided, once we know.
    decided: Option<u64>,
}

/// A value that was accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Accepted {
    /// In which ballot.
    ballot: Term,
    /// What.
    #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::any"))]
    value: u64,
}

/// What processes say to each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// "I begin this ballot: what have you accepted?" Phase 1a.
    Prepare {
        /// Which.
        ballot: Term,
    },
    /// "I take part in none that is older, and accepted this last." Phase 1b.
    Promise {
        /// The ballot that is answered.
        ballot: Term,
        /// What was accepted, if anything.
        accepted: Option<Accepted>,
    },
    /// "Accept this." Phase 2a.
    Accept {
        /// In which ballot, and what.
        proposal: Accepted,
    },
    /// "I have accepted it." Phase 2b.
    Accepted {
        /// In which ballot.
        ballot: Term,
    },
    /// "I take part in this newer ballot."
    Refused {
        /// The ballot that is refused.
        ballot: Term,
        /// The newer one.
        promised: Term,
    },
    /// "A majority has accepted this."
    Decided {
        /// What.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::any"))]
        value: u64,
    },
    /// "I am back: what do you await of me, and what is decided?"
    Back,
}

labelled!(
    Message, Agreement,
    Prepare => "prepare", Promise => "promise", Accept => "accept", Accepted => "accepted",
    Refused => "refused", Decided => "decided", Back => "back",
);

switches! {
    PromiseNotSaved = "promise-not-saved", unsound,
        "what was promised and accepted is forgotten in a crash"
        => "", "-n 3 --crash 1 --recover 1 --false-suspicion 1 --initiators 1,2 --term-max 1 \
                --channel fifo --property agreement";
    AnyValue = "any-value", unsound,
        "a proposer asks for its own value, whatever was accepted before"
        => "", "-n 2 --false-suspicion 1";
    HalfQuorum = "half-quorum", unsound,
        "half of the processes are enough, so two quorums need not meet"
        => "", "-n 2 --false-suspicion 1";
}

impl Protocol for Paxos {
    type Config = Variants<Switch>;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Never;
    type Stable = Memory;

    fn boot(
        group: Group,
        variants: &Variants<Switch>,
        stable: Option<Memory>,
        fx: &mut impl Effects<Self>,
    ) -> Self {
        let comes_back = stable.is_some();
        let mut paxos = Paxos {
            group,
            variants: *variants,
            omega: Omega::default(),
            proposing: Proposing::Not,
            memory: stable.unwrap_or_default(),
        };
        if let Some(value) = paxos.memory.decided {
            fx.emit(Event::Decided { value });
        } else if comes_back {
            fx.broadcast(&group.peers(), Message::Back);
            paxos.lead(fx);
        }
        paxos
    }

    fn stable(&self) -> Memory {
        if self.variants.has(Switch::PromiseNotSaved) {
            return Memory { promised: None, accepted: None, ..self.memory.clone() };
        }
        self.memory.clone()
    }

    fn on_command(&mut self, Command::Propose { value }: Command, fx: &mut impl Effects<Self>) {
        self.memory.proposal.get_or_insert(value);
        self.lead(fx);
    }

    fn on_suspicion(&mut self, peer: ProcessId, verdict: Verdict, fx: &mut impl Effects<Self>) {
        let led = self.leads();
        self.omega.hear(peer, verdict);
        match verdict {
            Verdict::Suspect if !led => self.lead(fx),
            Verdict::Suspect => {}
            Verdict::Trust => self.remind(peer, fx),
        }
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Prepare { ballot } => {
                let answer = match self.promise(ballot) {
                    Ok(()) => Message::Promise { ballot, accepted: self.memory.accepted },
                    Err(promised) => Message::Refused { ballot, promised },
                };
                fx.send(from, answer);
            }
            Message::Accept { proposal } => {
                let ballot = proposal.ballot;
                let answer = match self.accept(proposal) {
                    Ok(()) => Message::Accepted { ballot },
                    Err(promised) => Message::Refused { ballot, promised },
                };
                fx.send(from, answer);
            }
            Message::Promise { ballot, accepted } => self.on_promise(from, ballot, accepted, fx),
            Message::Accepted { ballot } => self.on_accepted(from, ballot, fx),
            Message::Refused { ballot, promised } => {
                if self.ballot() == Some(ballot) {
                    self.proposing = Proposing::Not;
                    let known = self.memory.promised.max(Some(promised));
                    self.memory.promised = known;
                    self.lead(fx);
                }
            }
            Message::Decided { value } => self.decide(value, fx),
            Message::Back => self.remind(from, fx),
        }
    }
}

impl Paxos {
    fn leads(&self) -> bool {
        self.omega.leads(self.group.me())
    }

    /// Whether these can decide alone.
    fn is_quorum(&self, processes: &ProcessSet) -> bool {
        let (some, all) = (processes.len(), self.group.size());
        if self.variants.has(Switch::HalfQuorum) { 2 * some >= all } else { 2 * some > all }
    }

    /// The ballot of ours that is under way.
    fn ballot(&self) -> Option<Term> {
        match &self.proposing {
            Proposing::Not => None,
            Proposing::Preparing { ballot, .. } | Proposing::Asking { ballot, .. } => Some(*ballot),
        }
    }

    /// Does what is for a leader to do, if we are one: tells what is decided, or begins a ballot
    /// above all that we have heard of.
    fn lead(&mut self, fx: &mut impl Effects<Self>) {
        if !self.leads() {
            return;
        }
        if let Some(value) = self.memory.decided {
            fx.broadcast(&self.group.peers(), Message::Decided { value });
            return;
        }
        if self.memory.proposal.is_none() || self.proposing != Proposing::Not {
            return;
        }
        let me = self.group.me();
        let number = self.memory.promised.map_or(0, |promised| promised.number) + 1;
        let ballot = Term { number, leader: me };
        self.memory.promised = Some(ballot);
        let newest = self.memory.accepted;
        self.proposing = Proposing::Preparing { ballot, promised: ProcessSet::new(), newest: None };
        fx.broadcast(&self.group.peers(), Message::Prepare { ballot });
        self.on_promise(me, ballot, newest, fx);
    }

    /// Promises to take part in nothing older; not where something newer was promised.
    fn promise(&mut self, ballot: Term) -> Result<(), Term> {
        match self.memory.promised {
            Some(promised) if promised > ballot => Err(promised),
            _ => {
                self.memory.promised = Some(ballot);
                Ok(())
            }
        }
    }

    /// Accepts; not where something newer was promised.
    fn accept(&mut self, proposal: Accepted) -> Result<(), Term> {
        self.promise(proposal.ballot)?;
        self.memory.accepted = Some(proposal);
        Ok(())
    }

    fn on_promise(
        &mut self,
        from: ProcessId,
        of: Term,
        told: Option<Accepted>,
        fx: &mut impl Effects<Self>,
    ) {
        let Proposing::Preparing { ballot, promised, newest } = &mut self.proposing else { return };
        if *ballot != of {
            return;
        }
        promised.insert(from);
        *newest = (*newest).max(told);
        let (promised, newest) = (promised.clone(), *newest);
        let Some(own) = self.memory.proposal.filter(|_| self.is_quorum(&promised)) else { return };
        let bound = newest.filter(|_| !self.variants.has(Switch::AnyValue));
        let value = bound.map_or(own, |accepted| accepted.value);
        let proposal = Accepted { ballot: of, value };
        self.proposing = Proposing::Asking { ballot: of, value, accepted: ProcessSet::new() };
        fx.broadcast(&self.group.peers(), Message::Accept { proposal });
        // As an acceptor we may have promised something newer meanwhile.
        if self.accept(proposal).is_ok() {
            self.on_accepted(self.group.me(), of, fx);
        }
    }

    fn on_accepted(&mut self, from: ProcessId, of: Term, fx: &mut impl Effects<Self>) {
        let Proposing::Asking { ballot, value, accepted } = &mut self.proposing else { return };
        if *ballot != of {
            return;
        }
        accepted.insert(from);
        let (value, accepted) = (*value, accepted.clone());
        if self.is_quorum(&accepted) {
            fx.broadcast(&self.group.peers(), Message::Decided { value });
            self.decide(value, fx);
        }
    }

    fn decide(&mut self, value: u64, fx: &mut impl Effects<Self>) {
        self.proposing = Proposing::Not;
        if self.memory.decided.is_none() {
            self.memory.decided = Some(value);
            fx.emit(Event::Decided { value });
        }
    }

    /// Says again to one who may have missed it what we await, or what is decided.
    fn remind(&mut self, peer: ProcessId, fx: &mut impl Effects<Self>) {
        let message = match (self.memory.decided, &self.proposing) {
            (Some(value), _) => Message::Decided { value },
            (None, Proposing::Not) => return,
            (None, Proposing::Preparing { ballot, .. }) => Message::Prepare { ballot: *ballot },
            (None, Proposing::Asking { ballot, value, .. }) => {
                Message::Accept { proposal: Accepted { ballot: *ballot, value: *value } }
            }
        };
        fx.send(peer, message);
    }
}

impl Algorithm for Paxos {
    fn card(_: &Variants<Switch>, size: u32) -> Card {
        let n = u64::from(size);
        Card {
            faults: Faults {
                crashes: Crashes::Recovery,
                ..Faults::duplication(
                    "survives the crash of a minority, and its return; a lost message or more \
                     crashes cost progress, and never agreement",
                )
                .of_majority()
            },
            detection: Detection::EventuallyPerfect,
            messages: Cost::per_agreement("5(N−1) where one leads", 5 * (n - 1), None),
            theory: Some(Theory::agreement("5", 5)),
            variants: Variants::<Switch>::declared(),
            ..Card::agreement(
                Service::Consensus,
                "paxos",
                "a majority promises, and then a majority accepts",
                "Lamport, ACM TOCS 16(2), 1998",
            )
            .promising([Property::Agreement, Property::Validity, Property::Integrity])
        }
    }

    /// The number of the highest ballot that this process knows of.
    fn highest_term(&self) -> u64 {
        self.memory.promised.map_or(0, |promised| promised.number)
    }
}
