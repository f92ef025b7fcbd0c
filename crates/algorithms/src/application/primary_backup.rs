//! Primary and backups: the leader orders the writes, and a majority keeps them.
//!
//! P. Alsberg, J. Day, *A principle for resilient sharing of distributed resources*, ICSE 1976;
//! the change of primary is that of B. Oki, B. Liskov, *Viewstamped replication*, PODC 1988.
//!
//! | | |
//! |---|---|
//! | assumes | a leader; reliable channels, first in, first out; fewer than half are down |
//! | messages per write | 2(N − 1): update, stored |
//! | messages per change of primary | 4(N − 1): inquire, report, install, stored |
//! | delay of a write | 2 messages |
//!
//! **Why it is right.** A write is acknowledged when a majority, the primary included, has stored
//! it. A new primary first inquires of everybody, and whoever answers takes nothing of an older
//! term from then on. When a majority has answered, any two majorities having somebody in common,
//! one of them knows every write that was or will be acknowledged in an older term; the one that
//! stored in the newest term, and most in it, knows them all. The new primary takes its writes,
//! has a majority store them as its own, and only then serves. So it survives the crash of any
//! minority, any number of wrong suspicions, and an old primary that does not know that it was
//! overtaken: it gets no majority any more, and hears of the newer term.
//!
//! It does not go on without a majority: two processes are no safer than one that never crashes.
//! To acknowledge when all *trusted* ones have stored would go on with one, and lose writes as soon
//! as a detector is wrong.
//!
//! What is kept here is a list of numbers, the whole of which is sent to a backup that may lack
//! some of it. Writes that were not acknowledged before the primary crashed may have been kept or
//! not. A process that does not serve refuses, and says who may.

use alloc::vec;
use alloc::vec::Vec;

use tenure_core::service::replication::{Command, Event};
use tenure_core::{
    Effects, Group, Never, ProcessId, ProcessSet, Protocol, Term, Verdict, labelled,
};

use super::{Allegiance, Application};
use crate::Variants;
use crate::variants::switches;

/// One process: a backup, or the primary.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PrimaryBackup {
    group: Group,
    variants: Variants<Switch>,
    allegiance: Allegiance,
    /// The term whose primary had us store what we have.
    adopted: Option<Term>,
    /// What was written, the first write first.
    writes: Vec<u64>,
    phase: Phase,
}

/// Where this process stands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// Stores what a primary says.
    Backup,
    /// Asks what there is.
    Inquiring { reported: ProcessSet },
    /// Has everybody store what there is.
    Installing { stored: ProcessSet },
    /// Takes writes.
    Serving {
        /// By process: how many writes it has.
        stored: Vec<u64>,
        /// How many have been acknowledged.
        acknowledged: u64,
    },
}

/// What processes say to each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// "I am the primary now: what have you stored?"
    Inquire {
        /// The term that begins.
        term: Term,
    },
    /// "This, and nothing more of any older term."
    Report {
        /// The term in which it was asked.
        term: Term,
        /// The term whose primary had it stored.
        adopted: Option<Term>,
        /// What is stored.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::any"))]
        writes: Vec<u64>,
    },
    /// "This is what there is."
    Install {
        /// The primary's term.
        term: Term,
        /// All of it.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::any"))]
        writes: Vec<u64>,
    },
    /// "There is one more."
    Update {
        /// The primary's term.
        term: Term,
        /// Which, from 1.
        place: u64,
        /// What is written.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::any"))]
        value: u64,
    },
    /// "So many I have."
    Stored {
        /// The primary's term.
        term: Term,
        /// How many.
        length: u64,
    },
    /// "There is a newer term than yours."
    Newer {
        /// The newest that the sender knows.
        term: Term,
    },
}

labelled!(
    Message, Application,
    Inquire => "inquire", Report => "report", Install => "install", Update => "update",
    Stored => "stored", Newer => "newer",
);

/// What is fixed for life.
#[derive(Clone, Copy, Debug, Default)]
pub struct Config {
    /// Which variants are switched on.
    pub variants: Variants<Switch>,
}

switches! {
    AcknowledgeEarly = "acknowledge-early", unsound,
        "a write is acknowledged before the backups have it";
    NoTerms = "no-terms", unsound,
        "what an older primary says is stored as well";
    NoInquiry = "no-inquiry", unsound,
        "a new primary serves what it has itself, and asks nobody";
}

/// What survives a crash.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Stable {
    /// The highest term heard of.
    term: Option<Term>,
    adopted: Option<Term>,
    #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::any"))]
    writes: Vec<u64>,
}

impl Protocol for PrimaryBackup {
    type Config = Config;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Never;
    type Stable = Stable;

    fn boot(
        group: Group,
        config: &Config,
        stable: Option<Stable>,
        _: &mut impl Effects<Self>,
    ) -> Self {
        let none = Stable { term: None, adopted: None, writes: Vec::new() };
        let Stable { term, adopted, writes } = stable.unwrap_or(none);
        let allegiance = Allegiance { term, leads: false };
        let phase = Phase::Backup;
        PrimaryBackup { group, variants: config.variants, allegiance, adopted, writes, phase }
    }

    fn stable(&self) -> Stable {
        let Allegiance { term, .. } = self.allegiance;
        Stable { term, adopted: self.adopted, writes: self.writes.clone() }
    }

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        let Command::Write { value } = command;
        match (&self.phase, self.allegiance.reign()) {
            (Phase::Serving { .. }, Some(term)) => self.write(term, value, fx),
            _ => {
                let leader = self.allegiance.term.map(|term| term.leader);
                fx.emit(Event::Refused { leader });
            }
        }
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Inquire { term }
            | Message::Install { term, .. }
            | Message::Update { term, .. }
                if let Some(term) = self.refusing(term) =>
            {
                fx.send(from, Message::Newer { term });
            }
            Message::Inquire { term } => {
                self.follow(term);
                let (adopted, writes) = (self.adopted, self.writes.clone());
                fx.send(from, Message::Report { term, adopted, writes });
            }
            Message::Install { term, writes } => {
                self.follow(term);
                (self.adopted, self.writes) = (Some(term), writes);
                fx.send(from, Message::Stored { term, length: self.length() });
            }
            Message::Update { term, place, value } => {
                self.follow(term);
                if self.lacks(term, place) {
                    self.writes.push(value);
                    fx.send(from, Message::Stored { term, length: self.length() });
                }
            }
            Message::Report { term, adopted, writes } if self.reigns_in(term) => {
                self.record(from, adopted, writes, fx);
            }
            Message::Stored { term, length } if self.reigns_in(term) => {
                self.count(from, length, fx);
            }
            Message::Newer { term } => self.follow(term),
            // Of an older reign.
            Message::Report { .. } | Message::Stored { .. } => {}
        }
    }

    fn on_suspicion(&mut self, peer: ProcessId, verdict: Verdict, fx: &mut impl Effects<Self>) {
        // Whoever is trusted again may have missed what it was told.
        let (Verdict::Trust, Some(term)) = (verdict, self.allegiance.reign()) else { return };
        match self.phase {
            Phase::Backup => {}
            Phase::Inquiring { .. } => fx.send(peer, Message::Inquire { term }),
            Phase::Installing { .. } | Phase::Serving { .. } => {
                fx.send(peer, Message::Install { term, writes: self.writes.clone() });
            }
        }
    }
}

impl Application for PrimaryBackup {
    fn on_elected(&mut self, term: Term, fx: &mut impl Effects<Self>) {
        if self.allegiance.on_elected(term, self.group) {
            return self.take_over(term, fx);
        }
        if self.allegiance.reign().is_none() {
            self.phase = Phase::Backup;
        }
    }

    fn on_deposed(&mut self, term: Term, _: &mut impl Effects<Self>) {
        self.allegiance.on_deposed(term);
        if self.allegiance.reign().is_none() {
            self.phase = Phase::Backup;
        }
    }
}

/// The backup.
impl PrimaryBackup {
    /// What is stored here, the first write first.
    pub fn writes(&self) -> &[u64] {
        &self.writes
    }

    /// The newer term because of which we do not listen to this one.
    fn refusing(&self, term: Term) -> Option<Term> {
        self.allegiance.newer_than(term).filter(|_| !self.variants.has(Switch::NoTerms))
    }

    fn follow(&mut self, term: Term) {
        if !self.variants.has(Switch::NoTerms) && self.allegiance.follow(term) {
            self.phase = Phase::Backup;
        }
    }

    /// Whether this is the next write of the list that we have.
    fn lacks(&self, term: Term, place: u64) -> bool {
        let adopted = self.adopted == Some(term) || self.variants.has(Switch::NoTerms);
        adopted && place == self.length() + 1
    }

    fn length(&self) -> u64 {
        self.writes.len() as u64
    }
}

/// The primary.
impl PrimaryBackup {
    fn reigns_in(&self, term: Term) -> bool {
        self.allegiance.reign() == Some(term)
    }

    fn is_majority(&self, count: u32) -> bool {
        2 * count > self.group.size()
    }

    fn take_over(&mut self, term: Term, fx: &mut impl Effects<Self>) {
        let reported: ProcessSet = [self.group.me()].into_iter().collect();
        if self.variants.has(Switch::NoInquiry) || self.is_majority(reported.len()) {
            return self.install(term, fx);
        }
        self.phase = Phase::Inquiring { reported };
        fx.broadcast(&self.group.peers(), Message::Inquire { term });
    }

    fn record(
        &mut self,
        from: ProcessId,
        adopted: Option<Term>,
        writes: Vec<u64>,
        fx: &mut impl Effects<Self>,
    ) {
        let (Phase::Inquiring { reported }, Some(term)) = (&mut self.phase, self.allegiance.term)
        else {
            return;
        };
        reported.insert(from);
        let count = reported.len();
        if (adopted, writes.len()) > (self.adopted, self.writes.len()) {
            (self.adopted, self.writes) = (adopted, writes);
        }
        if self.is_majority(count) {
            self.install(term, fx);
        }
    }

    fn install(&mut self, term: Term, fx: &mut impl Effects<Self>) {
        self.adopted = Some(term);
        let stored: ProcessSet = [self.group.me()].into_iter().collect();
        self.phase = Phase::Installing { stored };
        fx.broadcast(&self.group.peers(), Message::Install { term, writes: self.writes.clone() });
        self.count(self.group.me(), self.length(), fx);
    }

    fn count(&mut self, from: ProcessId, length: u64, fx: &mut impl Effects<Self>) {
        let Some(term) = self.allegiance.reign() else { return };
        match &mut self.phase {
            Phase::Backup | Phase::Inquiring { .. } => {}
            Phase::Installing { stored } => {
                stored.insert(from);
                let count = stored.len();
                if self.is_majority(count) {
                    let stored = vec![0; self.group.size() as usize];
                    self.phase = Phase::Serving { stored, acknowledged: self.length() };
                    fx.emit(Event::Serving { term, writes: self.writes.clone() });
                }
            }
            Phase::Serving { stored, .. } => {
                stored[from.index()] = stored[from.index()].max(length);
                self.acknowledge(term, fx);
            }
        }
    }

    fn write(&mut self, term: Term, value: u64, fx: &mut impl Effects<Self>) {
        self.writes.push(value);
        let place = self.length();
        fx.broadcast(&self.group.peers(), Message::Update { term, place, value });
        self.count(self.group.me(), place, fx);
    }

    /// Acknowledges what a majority has.
    fn acknowledge(&mut self, term: Term, fx: &mut impl Effects<Self>) {
        let Phase::Serving { stored, mut acknowledged } = self.phase.clone() else { return };
        let early = self.variants.has(Switch::AcknowledgeEarly);
        while acknowledged < self.length() {
            let place = acknowledged + 1;
            let having = stored.iter().filter(|length| **length >= place).count();
            if !early && 2 * having <= stored.len() {
                break;
            }
            let value = self.writes[acknowledged as usize];
            fx.emit(Event::Acknowledged { term, place, value });
            acknowledged = place;
        }
        self.phase = Phase::Serving { stored, acknowledged };
    }
}
