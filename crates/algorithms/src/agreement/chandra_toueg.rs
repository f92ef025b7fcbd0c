//! Chandra and Toueg's consensus: in each round another coordinator tries to have a majority adopt
//! one estimate, and whoever suspects it goes on to the next.
//!
//! T. D. Chandra and S. Toueg, *Unreliable failure detectors for reliable distributed systems*,
//! JACM 43(2), 1996: the algorithm for ◇S.
//!
//! | | |
//! |---|---|
//! | assumes | asynchronous, reliable channels in any order, a detector wrong finitely often |
//! | survives | the crash of a minority, without return |
//! | messages per decision | 3(N − 1) in a round, N(N − 1) to tell; more for rounds begun since |
//! | delay | 3 messages at the coordinator, 4 elsewhere |
//!
//! **Why it is right.** An estimate carries the number of the round in which it was adopted, its
//! stamp. A coordinator that decides *v* in round *r* had a majority adopt *v* with stamp *r*. The
//! coordinator of any later round gathers the estimates of a majority, one of whom adopted *v*, and
//! takes one with the highest stamp; by induction over the rounds since *r* all whose stamp is *r*
//! or higher are *v*. So *v* is proposed ever after, and nothing else is decided, whatever the
//! detectors say.
//!
//! Nobody waits for ever: for a coordinator one waits until it proposes or is suspected, and who
//! has crashed is suspected in the end; a coordinator waits for a majority, and a majority is up.
//! Once there is somebody whom nobody suspects any more, the next round that it coordinates is
//! refused by nobody, and it decides. A decision is told by a reliable broadcast: who hears of it
//! sends it on before it decides. Everybody has to propose, for estimates of a majority are needed.
//! Without a majority it blocks, and never errs.
//!
//! As in the paper, who has answered goes on to the next round at once, and only a coordinator
//! stays for the answers; what comes from a round that one has not begun waits for it.

use alloc::collections::BTreeMap;

use tenure_core::service::consensus::{Command, Event};
use tenure_core::theory::Theory;
use tenure_core::{
    Algorithm, Card, Cost, Crashes, Detection, Effects, Faults, Group, Never, ProcessId,
    ProcessSet, Property, Protocol, Service, Verdict, labelled,
};

use super::omega::Omega;
use crate::Variants;
use crate::variants::switches;

/// One process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ChandraToueg {
    group: Group,
    variants: Variants<Switch>,
    detector: Omega,
    /// `estimate_p` and `ts_p`, once our user has proposed.
    estimate: Option<Estimate>,
    /// `r_p`, from 1; 0 before we have proposed.
    round: u64,
    duty: Duty,
    /// What comes before its time, by the order in which it is for us: its round, whether it is an
    /// answer, and who sent it.
    early: BTreeMap<(u64, bool, ProcessId), Message>,
    decided: Option<u64>,
}

/// What we do in our round.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Duty {
    /// Phase 3: we await what the coordinator proposes.
    Follow,
    /// Phase 2, as the coordinator: we await estimates, and know the best of those.
    Gather { of: ProcessSet, best: Estimate },
    /// Phase 4, as the coordinator: we await answers to this.
    Count { value: u64, answered: ProcessSet, refused: bool },
}

/// What a process would decide, as far as it knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Estimate {
    /// In which round it was adopted; 0 if it is one's own.
    stamp: u64,
    /// What.
    #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::any"))]
    value: u64,
}

/// What processes say to each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// "You coordinate this round, and this is my estimate." Phase 1.
    Estimate {
        /// Which round.
        round: u64,
        /// The estimate.
        estimate: Estimate,
    },
    /// "I coordinate this round: adopt this." Phase 2.
    Propose {
        /// Which round.
        round: u64,
        /// What.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::any"))]
        value: u64,
    },
    /// "I have adopted it." Phase 3.
    Adopted {
        /// In which round.
        round: u64,
    },
    /// "I suspected you, and have gone on." Phase 3.
    Refused {
        /// In which round.
        round: u64,
    },
    /// "This is decided." Phase 4.
    Decided {
        /// What.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::any"))]
        value: u64,
    },
}

labelled!(
    Message, Agreement,
    Estimate => "estimate", Propose => "propose", Adopted => "adopted", Refused => "refused",
    Decided => "decided",
);

switches! {
    OwnEstimate = "own-estimate", unsound,
        "a coordinator proposes its own estimate, whatever others have adopted"
        => "", "-n 3 --false-suspicion 1 --term-max 3 --property agreement";
    Unstamped = "unstamped", unsound,
        "who adopts an estimate does not note in which round"
        => "", "-n 3 --false-suspicion 1 --term-max 3 --property agreement";
    Patient = "patient", unsound,
        "nobody suspects a coordinator, so everybody waits for one that has crashed"
        => "", "-n 3 --crash 1";
}

impl Protocol for ChandraToueg {
    type Config = Variants<Switch>;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Never;
    type Stable = ();

    fn boot(
        group: Group,
        variants: &Variants<Switch>,
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
            self.begin(fx);
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
        let answers = matches!(message, Message::Adopted { .. } | Message::Refused { .. });
        if round > self.round || answers && !matches!(self.duty, Duty::Count { .. }) {
            self.early.insert((round, answers, from), message);
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

    fn on_suspicion(&mut self, peer: ProcessId, verdict: Verdict, fx: &mut impl Effects<Self>) {
        self.detector.hear(peer, verdict);
        self.give_up(fx);
    }
}

impl ChandraToueg {
    /// Who coordinates our round.
    fn coordinator(&self) -> ProcessId {
        let size = u64::from(self.group.size());
        let place = (self.round + size - 1) % size;
        ProcessId(u32::try_from(place).expect("a place in the group"))
    }

    fn is_majority(&self, processes: &ProcessSet) -> bool {
        2 * processes.len() > self.group.size()
    }

    /// Begins the next round.
    fn begin(&mut self, fx: &mut impl Effects<Self>) {
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
        self.catch_up(fx);
        if self.round == round {
            self.give_up(fx);
        }
    }

    /// Hears what came early and is in time now.
    fn catch_up(&mut self, fx: &mut impl Effects<Self>) {
        while let Some((&(round, answers, from), _)) = self.early.first_key_value() {
            let counts = matches!(self.duty, Duty::Count { .. }) || !answers;
            if round > self.round || round == self.round && !counts {
                return;
            }
            let message = self.early.remove(&(round, answers, from));
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
        let own = self.estimate.filter(|_| self.variants.has(Switch::OwnEstimate));
        let (round, value) = (self.round, own.unwrap_or(best).value);
        self.duty = Duty::Count { value, answered: ProcessSet::new(), refused: false };
        fx.broadcast(&self.group.peers(), Message::Propose { round, value });
        self.adopt(value);
        self.on_answer(self.group.me(), false, fx);
        self.catch_up(fx);
    }

    fn adopt(&mut self, value: u64) {
        let stamp = if self.variants.has(Switch::Unstamped) { 0 } else { self.round };
        self.estimate = Some(Estimate { stamp, value });
    }

    fn on_proposal(&mut self, from: ProcessId, value: u64, fx: &mut impl Effects<Self>) {
        if self.duty != Duty::Follow || from != self.coordinator() || self.estimate.is_none() {
            return;
        }
        self.adopt(value);
        fx.send(from, Message::Adopted { round: self.round });
        self.begin(fx);
    }

    /// Goes on where we wait for a coordinator that we suspect.
    fn give_up(&mut self, fx: &mut impl Effects<Self>) {
        let coordinator = self.coordinator();
        let waits = self.round > 0 && self.duty == Duty::Follow && self.decided.is_none();
        let suspects = self.detector.suspects(coordinator) && !self.variants.has(Switch::Patient);
        if waits && suspects {
            fx.send(coordinator, Message::Refused { round: self.round });
            self.begin(fx);
        }
    }

    fn on_answer(&mut self, from: ProcessId, refuses: bool, fx: &mut impl Effects<Self>) {
        let Duty::Count { value, answered, refused } = &mut self.duty else { return };
        answered.insert(from);
        *refused |= refuses;
        let (value, answered, refused) = (*value, answered.clone(), *refused);
        match self.is_majority(&answered) {
            false => {}
            true if refused => self.begin(fx),
            true => self.decide(value, fx),
        }
    }

    /// Reliable broadcast: whoever hears of a decision tells all the others first.
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
    fn card(_: &Variants<Switch>, size: u32) -> Card {
        let n = u64::from(size);
        Card {
            faults: Faults {
                crashes: Crashes::Stop,
                ..Faults::duplication(
                    "survives the crash of a minority; a lost message or more crashes cost \
                     progress, and never agreement",
                )
                .of_majority()
            },
            detection: Detection::EventuallyPerfect,
            messages: Cost::per_agreement("(N+3)(N−1), more for rounds", n * (n - 1), None),
            theory: Some(Theory::agreement("4", 4)),
            variants: Variants::<Switch>::declared(),
            ..Card::agreement(
                Service::Consensus,
                "chandra-toueg",
                "coordinators take turns until a majority adopts one estimate",
                "Chandra and Toueg, JACM 43(2), 1996",
            )
            .promising([Property::Agreement, Property::Validity, Property::Integrity])
        }
    }

    /// The round.
    fn highest_term(&self) -> u64 {
        self.round
    }
}
