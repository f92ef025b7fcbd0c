//! Chandra and Toueg's consensus: the processes take turns as the coordinator of a round, which
//! asks all processes to adopt one estimate. A process that suspects the coordinator moves to the
//! next round.
//!
//! T. D. Chandra and S. Toueg, *Unreliable failure detectors for reliable distributed systems*,
//! JACM 43(2), 1996: the algorithm for detectors of class ◇S.
//!
//! | | |
//! |---|---|
//! | assumes | asynchronous, reliable channels in any order, a detector with finitely many errors |
//! | survives | crashes of a minority, without recovery |
//! | messages per decision | 3(N − 1) for each round, N(N − 1) to announce the decision |
//! | delay | 3 messages at the coordinator, 4 elsewhere |
//!
//! **Why it is right.** An estimate carries a stamp: the round in which it was adopted. If a
//! coordinator decides *v* in round *r*, a majority has adopted *v* with stamp *r*. The coordinator
//! of any later round collects the estimates of a majority, and at least one process of that
//! majority adopted *v*. The coordinator takes an estimate with the highest stamp. By induction
//! over the rounds since *r*, every estimate with stamp *r* or higher is *v*. So only *v* is
//! proposed from then on, and no other value is decided, whatever the detectors report.
//!
//! No process waits forever. A process waits until the coordinator proposes or is suspected. A
//! crashed coordinator is eventually suspected. A coordinator waits for a majority, and a majority
//! is up. Eventually, some live process is no longer suspected by any other process. In the next
//! round that this process coordinates, no process refuses, so the coordinator decides. A decision
//! is sent by reliable broadcast: a process forwards the decision before it decides. The
//! coordinator needs the estimates of a majority, and the first estimate of a process is its
//! proposal. So every process has to propose a value. If no majority is up, the algorithm blocks
//! but stays safe.
//!
//! As in the paper, a process moves to the next round as soon as it has responded. Only the
//! coordinator waits for the responses. A message of a later round waits until the process reaches
//! that round.

use alloc::collections::BTreeMap;

use tenure_core::service::consensus::{Command, Event};
use tenure_core::theory::ExpectedCosts;
use tenure_core::{
    Algorithm, Card, CrashModel, DetectorClass, Effects, Group, MessageCost, Never, PeerVerdict,
    ProcessId, ProcessSet, Property, Protocol, Service, ToleratedFaults, labelled,
};

use super::omega::Omega;
use crate::Variants;
use crate::variants::variant_ids;

/// One process: a participant in every round, and the coordinator of every N-th round.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ChandraToueg {
    group: Group,
    variants: Variants<VariantId>,
    detector: Omega,
    /// Value that this process supports, with its stamp (`estimate_p` and `ts_p` in the paper).
    /// `None` until the user has proposed a value.
    estimate: Option<Estimate>,
    /// Number of the current round, from 1 (`r_p` in the paper). 0 until the user has proposed a
    /// value.
    round: u64,
    duty: Duty,
    /// Messages for a round or a phase that this process has not reached yet. The key contains the
    /// round, a boolean and the sender. The boolean is true if the message responds to a proposal.
    early: BTreeMap<(u64, bool, ProcessId), Message>,
    /// Decided value; `None` before the decision.
    decided: Option<u64>,
}

/// Phase that this process executes in its round.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Duty {
    /// Phase 3: waiting for the coordinator's proposal.
    Follow,
    /// Phase 2 at the coordinator: the coordinator collects estimates. `of` contains the processes
    /// whose estimates have arrived. `best` is the estimate with the highest stamp so far.
    Gather { of: ProcessSet, best: Estimate },
    /// Phase 4 at the coordinator: the coordinator collects responses to its proposal `value`.
    /// `answered` contains the processes that have responded. `refused` is true if one of them
    /// refused.
    Count { value: u64, answered: ProcessSet, refused: bool },
}

/// Value that a process supports, with the round in which it adopted the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Estimate {
    /// Round in which the process adopted the value; 0 if the process itself proposed the value.
    stamp: u64,
    #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::any"))]
    value: u64,
}

/// Messages between processes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Phase 1: sends an estimate to the coordinator.
    Estimate {
        /// Number of the round.
        round: u64,
        /// Estimate of the sender.
        estimate: Estimate,
    },
    /// Phase 2: the coordinator asks all processes to adopt a value.
    Propose {
        /// Number of the round.
        round: u64,
        /// The proposed value.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::any"))]
        value: u64,
    },
    /// Phase 3: tells the coordinator that the sender has adopted the proposal.
    Adopted {
        /// Number of the round.
        round: u64,
    },
    /// Phase 3: tells the coordinator that the sender has suspected the coordinator and moved to
    /// the next round.
    Refused {
        /// Number of the round.
        round: u64,
    },
    /// Phase 4: announces the decision.
    Decided {
        /// The decided value.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::any"))]
        value: u64,
    },
}

labelled!(
    Message, Agreement,
    Estimate => "estimate", Propose => "propose", Adopted => "adopted", Refused => "refused",
    Decided => "decided",
);

variant_ids! {
    OwnEstimate = "own-estimate", unsound,
        "a coordinator proposes its own estimate, regardless of adopted ones"
        => "", "-n 3 --false-suspicion 1 --term-max 3 --property agreement";
    Unstamped = "unstamped", unsound,
        "an adopted estimate is not stamped with its round"
        => "", "-n 3 --false-suspicion 1 --term-max 3 --property agreement";
    Patient = "patient", unsound,
        "no process suspects a coordinator, so all wait for one that has crashed"
        => "", "-n 3 --crash 1";
}

impl Protocol for ChandraToueg {
    type Config = Variants<VariantId>;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Never;
    type Stable = ();

    fn boot(
        group: Group,
        variants: &Variants<VariantId>,
        _: Option<()>,
        _: &mut impl Effects<Self>,
    ) -> Self {
        ChandraToueg {
            group,
            variants: *variants,
            detector: Omega::default(),
            estimate: None,
            round: 0,
            duty: Duty::Follow,
            early: BTreeMap::new(),
            decided: None,
        }
    }

    fn stable(&self) {}

    fn on_command(&mut self, Command::Propose { value }: Command, fx: &mut impl Effects<Self>) {
        if self.estimate.is_none() {
            self.estimate = Some(Estimate { stamp: 0, value });
            self.start_round(fx);
        }
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        let round = match message {
            Message::Decided { value } => return self.decide(value, fx),
            Message::Estimate { round, .. }
            | Message::Propose { round, .. }
            | Message::Adopted { round }
            | Message::Refused { round } => round,
        };
        if self.decided.is_some() || round < self.round {
            return;
        }
        let is_response = matches!(message, Message::Adopted { .. } | Message::Refused { .. });
        if round > self.round || is_response && !matches!(self.duty, Duty::Count { .. }) {
            self.early.insert((round, is_response, from), message);
            return;
        }
        match message {
            Message::Estimate { estimate, .. } => self.on_estimate(from, estimate, fx),
            Message::Propose { value, .. } => self.on_proposal(from, value, fx),
            Message::Adopted { .. } => self.on_answer(from, false, fx),
            Message::Refused { .. } => self.on_answer(from, true, fx),
            Message::Decided { .. } => {}
        }
    }

    fn on_suspicion(&mut self, peer: ProcessId, verdict: PeerVerdict, fx: &mut impl Effects<Self>) {
        self.detector.on_verdict(peer, verdict);
        self.skip_suspected_coordinator(fx);
    }
}

impl ChandraToueg {
    fn coordinator(&self) -> ProcessId {
        let size = u64::from(self.group.size());
        let place = (self.round + size - 1) % size;
        ProcessId(u32::try_from(place).expect("process index is below the group size"))
    }

    fn is_majority(&self, processes: &ProcessSet) -> bool {
        2 * processes.len() > self.group.size()
    }

    fn start_round(&mut self, fx: &mut impl Effects<Self>) {
        let Some(estimate) = self.estimate.filter(|_| self.decided.is_none()) else { return };
        self.round += 1;
        let (round, me, coordinator) = (self.round, self.group.me(), self.coordinator());
        if coordinator == me {
            self.duty = Duty::Gather { of: ProcessSet::new(), best: estimate };
            self.on_estimate(me, estimate, fx);
        } else {
            self.duty = Duty::Follow;
            fx.send(coordinator, Message::Estimate { round, estimate });
        }
        self.handle_early(fx);
        if self.round == round {
            self.skip_suspected_coordinator(fx);
        }
    }

    fn handle_early(&mut self, fx: &mut impl Effects<Self>) {
        while let Some((&(round, is_response, from), _)) = self.early.first_key_value() {
            let is_due = matches!(self.duty, Duty::Count { .. }) || !is_response;
            if round > self.round || round == self.round && !is_due {
                return;
            }
            let message = self.early.remove(&(round, is_response, from));
            message.into_iter().for_each(|message| self.on_message(from, message, fx));
        }
    }

    fn on_estimate(&mut self, from: ProcessId, theirs: Estimate, fx: &mut impl Effects<Self>) {
        let Duty::Gather { of, best } = &mut self.duty else { return };
        of.insert(from);
        *best = theirs.max(*best);
        let (of, best) = (of.clone(), *best);
        if !self.is_majority(&of) {
            return;
        }
        let own = self.estimate.filter(|_| self.variants.has(VariantId::OwnEstimate));
        let (round, value) = (self.round, own.unwrap_or(best).value);
        self.duty = Duty::Count { value, answered: ProcessSet::new(), refused: false };
        fx.broadcast(&self.group.peers(), Message::Propose { round, value });
        self.adopt(value);
        self.on_answer(self.group.me(), false, fx);
        self.handle_early(fx);
    }

    fn adopt(&mut self, value: u64) {
        let stamp = if self.variants.has(VariantId::Unstamped) { 0 } else { self.round };
        self.estimate = Some(Estimate { stamp, value });
    }

    fn on_proposal(&mut self, from: ProcessId, value: u64, fx: &mut impl Effects<Self>) {
        if self.duty != Duty::Follow || from != self.coordinator() || self.estimate.is_none() {
            return;
        }
        self.adopt(value);
        fx.send(from, Message::Adopted { round: self.round });
        self.start_round(fx);
    }

    fn skip_suspected_coordinator(&mut self, fx: &mut impl Effects<Self>) {
        let coordinator = self.coordinator();
        let waits = self.round > 0 && self.duty == Duty::Follow && self.decided.is_none();
        let suspects =
            self.detector.suspects(coordinator) && !self.variants.has(VariantId::Patient);
        if waits && suspects {
            fx.send(coordinator, Message::Refused { round: self.round });
            self.start_round(fx);
        }
    }

    fn on_answer(&mut self, from: ProcessId, refuses: bool, fx: &mut impl Effects<Self>) {
        let Duty::Count { value, answered, refused } = &mut self.duty else { return };
        answered.insert(from);
        *refused |= refuses;
        let (value, answered, refused) = (*value, answered.clone(), *refused);
        match self.is_majority(&answered) {
            false => {}
            true if refused => self.start_round(fx),
            true => self.decide(value, fx),
        }
    }

    /// Decides `value`, unless this process has decided already. Sends the decision to all
    /// processes first, as reliable broadcast requires.
    fn decide(&mut self, value: u64, fx: &mut impl Effects<Self>) {
        if self.decided.is_none() {
            fx.broadcast(&self.group.peers(), Message::Decided { value });
            self.decided = Some(value);
            self.early.clear();
            fx.emit(Event::Decided { value });
        }
    }
}

impl Algorithm for ChandraToueg {
    fn card(_: &Variants<VariantId>, size: u32) -> Card {
        let n = u64::from(size);
        Card {
            faults: ToleratedFaults {
                crashes: CrashModel::Stop,
                ..ToleratedFaults::duplication_only(
                    "survives the crash of a minority; a lost message or more crashes cost \
                     progress, and never agreement",
                )
                .requiring_majority()
            },
            detection: DetectorClass::EventuallyPerfect,
            messages: MessageCost::per_agreement("(N+3)(N−1), more for rounds", n * (n - 1), None),
            theory: Some(ExpectedCosts::agreement("4", 4)),
            variants: Variants::<VariantId>::declarations(),
            ..Card::agreement(
                Service::Consensus,
                "chandra-toueg",
                "coordinators take turns until a majority adopts one estimate",
                "Chandra and Toueg, JACM 43(2), 1996",
            )
            .with_promises([
                Property::Agreement,
                Property::Validity,
                Property::Integrity,
            ])
        }
    }

    /// Returns the number of the current round. In this algorithm, a round takes the role of a
    /// term. The number has no upper bound.
    fn highest_term(&self) -> u64 {
        self.round
    }
}
