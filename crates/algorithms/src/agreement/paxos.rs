//! Single-decree Paxos: the leader asks a majority for the values that they have accepted, and then
//! asks a majority to accept the newest of these values. If there is none, it asks them to accept
//! its own proposal.
//!
//! L. Lamport, *The part-time parliament*, ACM TOCS 16(2), 1998; *Paxos made simple*, ACM SIGACT
//! News 32(4), 2001. The proposer is chosen by an Ω built from a failure detector: the lowest
//! unsuspected process (`omega.rs`).
//!
//! | | |
//! |---|---|
//! | assumes | asynchronous, reliable channels in any order, a detector with finitely many errors |
//! | survives | the crash of a minority, with recovery of the saved state |
//! | messages per decision | 5(N − 1) if one process leads; more for each overtaken ballot |
//! | delay | 4 messages at the leader, 5 elsewhere |
//!
//! **Why it is safe.** Ballot numbers are unique, because they contain the id of the proposer. A
//! value is *chosen* when a majority has accepted it in one ballot. Suppose that *v* is chosen in
//! ballot *b*. Then every later ballot has the value *v*, by induction over the ballots. The
//! proposer of a later ballot collected promises from a majority. At least one process *a* of this
//! majority accepted *v* in *b*. Process *a* accepted *v* before it promised, because the promise
//! forbids older ballots. So *a* reported *v* from *b*, or a proposal from a ballot after *b*. That
//! proposal also has the value *v*, by induction. The proposer takes the newest reported value,
//! which is *v*. Hence no two values are chosen, despite crashes, delays and competing leaders.
//! This requires that promises and accepted values are saved before they are sent.
//!
//! Safety needs no detector. Without a detector, two proposers can overtake each other forever. No
//! deterministic algorithm always decides if messages are delayed arbitrarily and one process may
//! crash (Fischer, Lynch, Paterson, JACM 32(2), 1985). Once the detectors no longer err, the lowest
//! live process is the only one that starts ballots. Its ballots are refused finitely often, and
//! then a majority accepts. Every process proposes, so the leader has a value to propose. Messages
//! to a crashed process are lost. So a recovered process asks the others for the decision, and the
//! leader repeats its pending request. A process may also have crashed after it saved the decision
//! and before it announced it. So a recovered process that has decided announces the decision.
//!
//! Every ballot runs both phases, even the first ballot of a run.

use tenure_core::service::consensus::{Command, Event};
use tenure_core::theory::ExpectedCosts;
use tenure_core::{
    Algorithm, Card, CrashModel, DetectorClass, Effects, Group, MessageCost, Never, PeerVerdict,
    ProcessId, ProcessSet, Property, Protocol, Service, Term, ToleratedFaults, labelled,
};

use super::omega::Omega;
use crate::Variants;
use crate::variants::variant_ids;

/// One process of Paxos, in all three roles: proposer, acceptor and learner.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Paxos {
    group: Group,
    variants: Variants<VariantId>,
    omega: Omega,
    proposing: Proposing,
    memory: Stable,
}

/// Progress of the ballot that this process started.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Proposing {
    /// No ballot is in progress.
    Idle,
    /// Phase 1: the process collects promises. `newest` is the accepted proposal with the highest
    /// ballot in these promises.
    Preparing { ballot: Term, promised: ProcessSet, newest: Option<Proposal> },
    /// Phase 2: the process collects acceptances of `value`.
    Accepting { ballot: Term, value: u64, accepted: ProcessSet },
}

/// State that survives a crash.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Stable {
    proposal: Option<u64>,
    /// Highest ballot that this process has seen (`maxBal` in the paper); `None` if it has seen
    /// none. The process refuses older ballots.
    promised: Option<Term>,
    /// Proposal that this process accepted last (`maxVBal` and `maxVal` in the paper); `None` if it
    /// has accepted none.
    accepted: Option<Proposal>,
    decided: Option<u64>,
}

/// A proposal that a process has accepted, or is asked to accept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Proposal {
    ballot: Term,
    #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::any"))]
    value: u64,
}

/// Messages between processes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Phase 1a: starts a ballot and asks for accepted values.
    Prepare {
        /// Ballot that the sender starts.
        ballot: Term,
    },
    /// Phase 1b: promises to refuse older ballots.
    Promise {
        /// Ballot that the sender joins: the ballot of the `Prepare` that it received.
        ballot: Term,
        /// Proposal that the sender accepted last; `None` if it has accepted none.
        accepted: Option<Proposal>,
    },
    /// Phase 2a: asks to accept a proposal.
    Accept {
        /// Ballot and value that the receiver is asked to accept.
        proposal: Proposal,
    },
    /// Phase 2b: the sender has accepted the proposal.
    Accepted {
        /// Ballot of the accepted proposal.
        ballot: Term,
    },
    /// Refuses a ballot, because the sender has promised a newer one.
    Refused {
        /// Ballot that the sender refuses.
        ballot: Term,
        /// Ballot that the sender has promised. It is newer than `ballot`.
        promised: Term,
    },
    /// Announces the value that a majority has accepted.
    Decided {
        /// The decided value.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::any"))]
        value: u64,
    },
    /// The sender has restarted. It asks the receiver to repeat pending requests or the decision.
    Back,
}

labelled!(
    Message, Agreement,
    Prepare => "prepare", Promise => "promise", Accept => "accept", Accepted => "accepted",
    Refused => "refused", Decided => "decided", Back => "back",
);

variant_ids! {
    PromiseNotSaved = "promise-not-saved", unsound,
        "promises and accepted values are lost in a crash"
        => "", "-n 3 --crash 1 --recover 1 --false-suspicion 1 --initiators 1,2 --term-max 1 \
                --channel fifo --property agreement";
    AnyValue = "any-value", unsound,
        "a proposer proposes its own value, regardless of accepted ones"
        => "", "-n 2 --false-suspicion 1";
    HalfQuorum = "half-quorum", unsound,
        "half of the processes form a quorum, so two quorums need not intersect"
        => "", "-n 2 --false-suspicion 1";
}

impl Protocol for Paxos {
    type Config = Variants<VariantId>;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Never;
    type Stable = Stable;

    fn boot(
        group: Group,
        variants: &Variants<VariantId>,
        stable: Option<Stable>,
        fx: &mut impl Effects<Self>,
    ) -> Self {
        let is_restarted = stable.is_some();
        let mut paxos = Paxos {
            group,
            variants: *variants,
            omega: Omega::default(),
            proposing: Proposing::Idle,
            memory: stable.unwrap_or_default(),
        };
        if let Some(value) = paxos.memory.decided {
            fx.emit(Event::Decided { value });
            fx.broadcast(&group.peers(), Message::Decided { value });
        } else if is_restarted {
            fx.broadcast(&group.peers(), Message::Back);
            paxos.act_as_leader(fx);
        }
        paxos
    }

    fn stable(&self) -> Stable {
        if self.variants.has(VariantId::PromiseNotSaved) {
            return Stable { promised: None, accepted: None, ..self.memory.clone() };
        }
        self.memory.clone()
    }

    fn on_command(&mut self, Command::Propose { value }: Command, fx: &mut impl Effects<Self>) {
        self.memory.proposal.get_or_insert(value);
        self.act_as_leader(fx);
    }

    fn on_suspicion(&mut self, peer: ProcessId, verdict: PeerVerdict, fx: &mut impl Effects<Self>) {
        let was_leader = self.is_leader();
        self.omega.on_verdict(peer, verdict);
        match verdict {
            PeerVerdict::Suspect if !was_leader => self.act_as_leader(fx),
            PeerVerdict::Suspect => {}
            PeerVerdict::Trust => self.remind(peer, fx),
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
                    self.proposing = Proposing::Idle;
                    let known = self.memory.promised.max(Some(promised));
                    self.memory.promised = known;
                    self.act_as_leader(fx);
                }
            }
            Message::Decided { value } => self.decide(value, fx),
            Message::Back => self.remind(from, fx),
        }
    }
}

impl Paxos {
    fn is_leader(&self) -> bool {
        self.omega.is_leader(self.group.me())
    }

    fn is_quorum(&self, processes: &ProcessSet) -> bool {
        let (some, all) = (processes.len(), self.group.size());
        if self.variants.has(VariantId::HalfQuorum) { 2 * some >= all } else { 2 * some > all }
    }

    fn ballot(&self) -> Option<Term> {
        match &self.proposing {
            Proposing::Idle => None,
            Proposing::Preparing { ballot, .. } | Proposing::Accepting { ballot, .. } => {
                Some(*ballot)
            }
        }
    }

    /// Announces the decision if this process is the leader and has decided. Otherwise, starts a
    /// ballot above all known ballots if this process is the leader, has a proposal, and has no
    /// ballot in progress. Has no effect at other processes.
    fn act_as_leader(&mut self, fx: &mut impl Effects<Self>) {
        if !self.is_leader() {
            return;
        }
        if let Some(value) = self.memory.decided {
            fx.broadcast(&self.group.peers(), Message::Decided { value });
            return;
        }
        if self.memory.proposal.is_none() || self.proposing != Proposing::Idle {
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

    /// Promises to refuse ballots older than `ballot`. If this process has already promised a newer
    /// ballot, changes nothing and returns the newer ballot as an error.
    fn promise(&mut self, ballot: Term) -> Result<(), Term> {
        match self.memory.promised {
            Some(promised) if promised > ballot => Err(promised),
            _ => {
                self.memory.promised = Some(ballot);
                Ok(())
            }
        }
    }

    /// Accepts a proposal. If this process has promised a newer ballot than the ballot of the
    /// proposal, changes nothing and returns the promised ballot as an error.
    fn accept(&mut self, proposal: Proposal) -> Result<(), Term> {
        self.promise(proposal.ballot)?;
        self.memory.accepted = Some(proposal);
        Ok(())
    }

    fn on_promise(
        &mut self,
        from: ProcessId,
        of: Term,
        reported: Option<Proposal>,
        fx: &mut impl Effects<Self>,
    ) {
        let Proposing::Preparing { ballot, promised, newest } = &mut self.proposing else { return };
        if *ballot != of {
            return;
        }
        promised.insert(from);
        *newest = (*newest).max(reported);
        let (promised, newest) = (promised.clone(), *newest);
        let Some(own) = self.memory.proposal.filter(|_| self.is_quorum(&promised)) else { return };
        let bound = newest.filter(|_| !self.variants.has(VariantId::AnyValue));
        let value = bound.map_or(own, |accepted| accepted.value);
        let proposal = Proposal { ballot: of, value };
        self.proposing = Proposing::Accepting { ballot: of, value, accepted: ProcessSet::new() };
        fx.broadcast(&self.group.peers(), Message::Accept { proposal });
        // As an acceptor, this process may have promised a newer ballot since it started `of`.
        if self.accept(proposal).is_ok() {
            self.on_accepted(self.group.me(), of, fx);
        }
    }

    fn on_accepted(&mut self, from: ProcessId, of: Term, fx: &mut impl Effects<Self>) {
        let Proposing::Accepting { ballot, value, accepted } = &mut self.proposing else { return };
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
        self.proposing = Proposing::Idle;
        if self.memory.decided.is_none() {
            self.memory.decided = Some(value);
            fx.emit(Event::Decided { value });
        }
    }

    /// Repeats the pending request or the decision to a process that may have missed it.
    fn remind(&mut self, peer: ProcessId, fx: &mut impl Effects<Self>) {
        let message = match (self.memory.decided, &self.proposing) {
            (Some(value), _) => Message::Decided { value },
            (None, Proposing::Idle) => return,
            (None, Proposing::Preparing { ballot, .. }) => Message::Prepare { ballot: *ballot },
            (None, Proposing::Accepting { ballot, value, .. }) => {
                Message::Accept { proposal: Proposal { ballot: *ballot, value: *value } }
            }
        };
        fx.send(peer, message);
    }
}

impl Algorithm for Paxos {
    fn card(_: &Variants<VariantId>, size: u32) -> Card {
        let n = u64::from(size);
        Card {
            faults: ToleratedFaults {
                crashes: CrashModel::Recovery,
                ..ToleratedFaults::duplication_only(
                    "survives the crash of a minority, and its return; a lost message or more \
                     crashes cost progress, and never agreement",
                )
                .requiring_majority()
            },
            detection: DetectorClass::EventuallyPerfect,
            messages: MessageCost::per_agreement("5(N−1) where one leads", 5 * (n - 1), None),
            theory: Some(ExpectedCosts::agreement("5", 5)),
            variants: Variants::<VariantId>::declarations(),
            ..Card::agreement(
                Service::Consensus,
                "paxos",
                "a majority promises, and then a majority accepts",
                "Lamport, ACM TOCS 16(2), 1998",
            )
            .with_promises([
                Property::Agreement,
                Property::Validity,
                Property::Integrity,
            ])
        }
    }

    /// Returns the number of the highest known ballot. A ballot plays the role of a term.
    fn highest_term(&self) -> u64 {
        self.memory.promised.map_or(0, |promised| promised.number)
    }
}
