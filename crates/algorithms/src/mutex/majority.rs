//! Maekawa's votes among those who are up: whoever suspects a voter asks another quorum.
//!
//! The votes are those of Maekawa, *A √N algorithm for mutual exclusion in decentralized systems*,
//! ACM TOCS 3(2), 1985, with Sanders' correction. The quorums are any majorities, after R. H.
//! Thomas, *A majority consensus approach to concurrency control for multiple copy databases*,
//! ACM TODS 4(2), 1979, or those of D. Agrawal and A. El Abbadi, *An efficient and fault-tolerant
//! solution for distributed mutual exclusion*, ACM TOCS 9(1), 1991.
//!
//! | | |
//! |---|---|
//! | assumes | asynchronous, reliable first-in-first-out channels, a detector that is never wrong |
//! | messages per entry | 3(K − 1) … 6(K − 1) in a quorum of K; for each suspicion it begins anew |
//! | delay to enter, uncontended | 2 messages |
//! | delay from exit to the next entry | 2 messages |
//!
//! **Why it is right.** Any two quorums of the coterie have a member in common, whomever each of
//! them avoids, and it has one vote. It takes the vote from nobody but whom it suspects: who has
//! crashed is not inside. Whoever suspects one of its voters withdraws its request everywhere and
//! asks a quorum of others, with a new stamp, so that what is under way for the old request counts
//! for nothing. There are finitely many suspicions, and after the last one everybody who waits
//! asks only those who are up, where Maekawa's and Sanders' argument holds. If there is no quorum
//! without a suspected process, a request waits: ⌊(N − 1)/2⌋ may crash in majorities, and in a
//! tree as long as one of its quorums is up (of 7 processes any 2, and 4 that leave a path).
//!
//! A holder may die before anybody hears of its fence. So there are generations, and a voter that
//! takes its vote from a suspected process begins one. Whoever hears of a newer generation while it
//! waits begins anew; so whoever enters has told its generation to its whole quorum before. The
//! fence is (generation, count), and higher than that of whomever the vote was taken from.
//!
//! If the suspicion was wrong, that process may be inside, or still to enter, when another is, and
//! no lock can prevent it; its fence is lower, and the resource refuses it. When it is trusted
//! again it is told that its request was forgotten.

use alloc::string::ToString;
use alloc::sync::Arc;

use tenure_core::quorum::{Kind, NoQuorums, Quorums};
use tenure_core::service::mutex::{Command, Event};
use tenure_core::{
    Algorithm, Card, Crashes, Detection, Effects, Faults, Fence, Group, Label, Labelled, Layer,
    Never, ProcessId, ProcessSet, Protocol, Verdict,
};

use super::maekawa::{self, Maekawa};
use crate::Variants;
use crate::catalogue::{Configured, Parameters, Unknown};
use crate::variants::switches;

/// One process: it asks for the votes of those whom it does not suspect.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Majority {
    group: Group,
    variants: Variants<Switch>,
    kind: Kind,
    suspected: ProcessSet,
    /// The newest that this process knows of. What it asks while it waits, it asks in this one.
    generation: u64,
    votes: Maekawa,
}

/// What processes say to each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// What Maekawa's processes say.
    Vote {
        /// The newest generation that the sender knows of.
        generation: u64,
        /// What it says.
        message: maekawa::Message,
    },
    /// "I ask others now: give your vote to somebody else."
    Withdraw,
    /// "I suspected you in vain, and have forgotten what you asked of me."
    Forgotten,
}

impl Labelled for Message {
    fn label(&self) -> Label {
        let kind = match self {
            Message::Vote { message, .. } => return message.label(),
            Message::Withdraw => "withdraw",
            Message::Forgotten => "forgotten",
        };
        Label { layer: Layer::Mutex, kind }
    }
}

/// What is fixed for life.
#[derive(Clone, Debug)]
pub struct Config {
    /// By process: whose votes it needs while it suspects nobody.
    pub quorums: Arc<Quorums>,
    /// Which variants are switched on.
    pub variants: Variants<Switch>,
}

impl Config {
    /// The quorums of a kind for a group of `size`.
    ///
    /// # Errors
    ///
    /// When there are none of that kind.
    pub fn of(kind: Kind, size: u32) -> Result<Self, NoQuorums> {
        Ok(Config { quorums: Arc::new(Quorums::of(kind, size)?), variants: Variants::none() })
    }

    fn of_votes(&self) -> maekawa::Config {
        maekawa::Config { quorums: self.quorums.clone(), variants: Variants::none() }
    }
}

impl Configured for Config {
    /// Majorities, unless something else than the usual grid is asked for.
    fn configured(parameters: &Parameters) -> Result<Self, Unknown> {
        let kind = match parameters.quorums {
            Kind::Grid => Kind::Majority,
            kind => kind,
        };
        Ok(Config { variants: parameters.variants()?, ..Config::of(kind, parameters.size)? })
    }
}

switches! {
    LeftOut = "left-out", unsound,
        "a suspected voter is left out, and nobody is asked instead, so quorums need not meet"
        => "", "-n 3 --quorums tree --crash 1";
    OneGeneration = "one-generation", unsound,
        "taking a vote back begins no generation, so a fence that died unheard comes again"
        => "", "-n 3 --crash 1";
}

impl Protocol for Majority {
    type Config = Config;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Never;
    type Stable = ();

    fn boot(group: Group, config: &Config, _: Option<()>, fx: &mut impl Effects<Self>) -> Self {
        Majority {
            group,
            variants: config.variants,
            kind: config.quorums.kind(),
            suspected: ProcessSet::new(),
            generation: 0,
            votes: Maekawa::boot(group, &config.of_votes(), None, &mut inside(0, fx)),
        }
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        self.votes.on_command(command, &mut inside(self.generation, fx));
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Vote { generation, message } => {
                if generation > self.generation {
                    self.generation = generation;
                    self.ask_again(fx);
                }
                // A vote for a process that has crashed would not come back.
                let asks = matches!(message, maekawa::Message::Request { .. });
                if !(asks && self.suspected.contains(from)) {
                    self.votes.on_message(from, message, &mut inside(self.generation, fx));
                }
            }
            Message::Withdraw => self.votes.forget(from, &mut inside(self.generation, fx)),
            Message::Forgotten => {
                if self.votes.quorum().contains(from) {
                    self.ask_again(fx);
                }
            }
        }
    }

    fn on_suspicion(&mut self, peer: ProcessId, verdict: Verdict, fx: &mut impl Effects<Self>) {
        match verdict {
            Verdict::Suspect => {
                self.suspected.insert(peer);
                // Before we withdraw: it is not to get the vote that we give back to ourselves.
                self.votes.strike(peer);
                let takes_back = self.votes.votes_for(peer);
                if takes_back && !self.variants.has(Switch::OneGeneration) {
                    self.generation += 1;
                }
                if takes_back || self.has_others_to_ask() {
                    self.ask_again(fx);
                }
                // Afterwards, so that our vote does not elect what we have asked in an older one.
                self.votes.forget(peer, &mut inside(self.generation, fx));
            }
            Verdict::Trust => {
                self.suspected.remove(peer);
                fx.send(peer, Message::Forgotten);
                if self.has_others_to_ask() {
                    self.ask_again(fx);
                }
            }
        }
    }
}

impl Majority {
    /// Whether somebody in our quorum is suspected, and there is a quorum without such a one.
    fn has_others_to_ask(&self) -> bool {
        self.votes.quorum().intersects(&self.suspected) && self.unsuspected_quorum().is_some()
    }

    fn unsuspected_quorum(&self) -> Option<ProcessSet> {
        if self.variants.has(Switch::LeftOut) {
            let quorum = self.votes.quorum().iter();
            return Some(quorum.filter(|voter| !self.suspected.contains(*voter)).collect());
        }
        self.kind.quorum(self.group.size(), self.group.me(), &self.suspected)
    }

    /// Withdraws our request, if one waits, and asks anew; a quorum that is up, if there is one.
    fn ask_again(&mut self, fx: &mut impl Effects<Self>) {
        let (me, asked) = (self.group.me(), self.votes.quorum().clone());
        let waiting = self.votes.abandon();
        if let Some(quorum) = self.unsuspected_quorum() {
            self.votes.ask_of(quorum);
        }
        if !waiting {
            return;
        }
        for voter in asked.iter().filter(|voter| *voter != me) {
            fx.send(voter, Message::Withdraw);
        }
        let fx = &mut inside(self.generation, fx);
        self.votes.forget(me, fx);
        self.votes.on_command(Command::Enter, fx);
    }
}

/// The effects of the votes of a generation.
fn inside(generation: u64, fx: &mut impl Effects<Majority>) -> impl Effects<Maekawa> {
    fx.wrap(
        move |message| Message::Vote { generation, message },
        |timer| timer,
        move |event| match event {
            Event::Entered { fence } => Some(Event::Entered { fence: Fence(generation, fence.1) }),
            Event::Exited => Some(Event::Exited),
        },
    )
}

impl Algorithm for Majority {
    fn card(config: &Config, size: u32) -> Card {
        Card {
            name: "majority".to_string(),
            title: "the votes of a quorum, and of another one when a voter is suspected"
                .to_string(),
            paper: "after Thomas, ACM TODS 4(2), 1979; Agrawal and El Abbadi, ACM TOCS 9(1), 1991",
            faults: Faults {
                crashes: Crashes::Stop,
                ..Faults::none(
                    "survives as long as a quorum is up: ⌊(N−1)/2⌋ crashes with majorities; \
                     after a suspicion that was wrong two may be inside, with different fences",
                )
                .of_majority()
            },
            detection: Detection::Perfect,
            variants: Variants::<Switch>::declared(),
            ..Maekawa::card(&config.of_votes(), size)
        }
    }

    /// The newest generation that this process knows of.
    fn highest_term(&self) -> u64 {
        self.generation
    }
}
