//! Primary and backups: the leader orders the writes, and a majority stores them.
//!
//! P. Alsberg, J. Day, *A principle for resilient sharing of distributed resources*, ICSE 1976. The
//! change of primary follows B. Oki, B. Liskov, *Viewstamped replication*, PODC 1988.
//!
//! | | |
//! |---|---|
//! | assumes | a leader; reliable FIFO channels; fewer than half of the processes are down |
//! | messages per write | 2(N − 1): update, stored |
//! | messages per change of primary | 4(N − 1): inquire, report, install, stored |
//! | delay of a write | 2 messages |
//!
//! **Why it is right.** A write is acknowledged when a majority, including the primary, has stored
//! it. A new primary first asks all processes for their writes. A process that has responded
//! accepts nothing of an older term. The reports of a majority contain every write that was or will
//! be acknowledged in an older term, because any two majorities share a process. Each report states
//! the last term in which its writes were installed. Among the reports of the newest such term, the
//! longest contains all acknowledged writes. The new primary adopts the writes of this report. It
//! serves only after a majority has stored them in its own term. So the algorithm tolerates the
//! crash of any minority and any number of wrong suspicions. An old primary that was deposed
//! without its knowledge no longer gets a majority, and learns of the newer term.
//!
//! Without a majority no write is acknowledged, so a group of two processes tolerates no crash. A
//! primary could continue alone if it acknowledged a write as soon as all *trusted* processes have
//! stored it. But then writes would be lost as soon as a detector errs.
//!
//! The stored state is a list of numbers, sent as a whole to a backup that may lack some of it. If
//! the primary crashes, its unacknowledged writes may be lost or may survive. A process that does
//! not serve refuses commands and names the primary.

use alloc::vec;
use alloc::vec::Vec;

use tenure_core::service::replicated_list::{Command, Event};
use tenure_core::{
    Effects, Group, Never, PeerVerdict, ProcessId, ProcessSet, Protocol, Term, labelled,
};

use super::{Application, Leadership};
use crate::Variants;
use crate::variants::variant_ids;

/// One process: a backup, or the primary.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PrimaryBackup {
    group: Group,
    variants: Variants<VariantId>,
    leadership: Leadership,
    /// Term of the primary that installed the stored writes; `None` if none has installed any.
    adopted: Option<Term>,
    /// Stored writes, oldest first.
    writes: Vec<u64>,
    phase: Phase,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// The process stores the writes of a primary.
    Backup,
    /// A new primary that asks all processes for their stored writes.
    Inquiring { reported: ProcessSet },
    /// A new primary that has chosen a list of writes from the reports. It sends this list to all
    /// processes, until a majority has stored it.
    Installing { stored: ProcessSet },
    /// The primary accepts writes.
    Serving {
        /// For each process, by index: number of writes that it has stored, as far as it has
        /// reported the number in this phase.
        stored: Vec<u64>,
        /// Number of writes that were acknowledged or installed.
        acknowledged: u64,
    },
}

/// Messages between processes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Asks for the stored writes of the receiver. Sent by a new primary.
    Inquire {
        /// Term of the new primary.
        term: Term,
    },
    /// Reports the stored writes. From then on, the sender accepts no writes of an older term.
    Report {
        /// Term in the `Inquire` message to which this message responds.
        term: Term,
        /// Term of the primary that installed the writes; `None` if no primary has installed any.
        adopted: Option<Term>,
        /// The stored writes.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::any"))]
        writes: Vec<u64>,
    },
    /// Installs the complete list of writes at a backup.
    Install {
        /// Term of the primary.
        term: Term,
        /// All writes, oldest first.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::any"))]
        writes: Vec<u64>,
    },
    /// Appends one write to the list of a backup.
    Update {
        /// Term of the primary.
        term: Term,
        /// Position of the write, from 1.
        position: u64,
        /// Value of the write.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::any"))]
        value: u64,
    },
    /// Acknowledges stored writes.
    Stored {
        /// Term of the primary.
        term: Term,
        /// Number of writes that the sender has stored.
        length: u64,
    },
    /// Informs the receiver of a newer term.
    Newer {
        /// Newest term known to the sender.
        term: Term,
    },
}

labelled!(
    Message, Application,
    Inquire => "inquire", Report => "report", Install => "install", Update => "update",
    Stored => "stored", Newer => "newer",
);

/// Configuration of one process.
pub type Config = Variants<VariantId>;

variant_ids! {
    AcknowledgeEarly = "acknowledge-early", unsound,
        "a write is acknowledged before the backups have stored it";
    NoTerms = "no-terms", unsound,
        "writes of an older primary are stored as well";
    NoInquiry = "no-inquiry", unsound,
        "a new primary serves its own writes without an inquiry";
}

/// State that survives a crash.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Stable {
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
        let leadership = Leadership { term, is_leader: false };
        let phase = Phase::Backup;
        PrimaryBackup { group, variants: *config, leadership, adopted, writes, phase }
    }

    fn stable(&self) -> Stable {
        let Leadership { term, .. } = self.leadership;
        Stable { term, adopted: self.adopted, writes: self.writes.clone() }
    }

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        let Command::Write { value } = command;
        match (&self.phase, self.leadership.leading_term()) {
            (Phase::Serving { .. }, Some(term)) => self.write(term, value, fx),
            _ => {
                let leader = self.leadership.term.map(|term| term.leader);
                fx.emit(Event::Refused { leader });
            }
        }
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Inquire { term }
            | Message::Install { term, .. }
            | Message::Update { term, .. }
                if let Some(term) = self.newer_term(term) =>
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
            Message::Update { term, position, value } => {
                self.follow(term);
                if self.is_next(term, position) {
                    self.writes.push(value);
                    fx.send(from, Message::Stored { term, length: self.length() });
                }
            }
            Message::Report { term, adopted, writes } if self.leads_in(term) => {
                self.record(from, adopted, writes, fx);
            }
            Message::Stored { term, length } if self.leads_in(term) => {
                self.count(from, length, fx);
            }
            Message::Newer { term } => self.follow(term),
            // Responses to a message of an earlier term are ignored.
            Message::Report { .. } | Message::Stored { .. } => {}
        }
    }

    fn on_suspicion(&mut self, peer: ProcessId, verdict: PeerVerdict, fx: &mut impl Effects<Self>) {
        // A process that is trusted again may have missed messages.
        let (PeerVerdict::Trust, Some(term)) = (verdict, self.leadership.leading_term()) else {
            return;
        };
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
    fn on_leader_elected(&mut self, term: Term, fx: &mut impl Effects<Self>) {
        if self.leadership.on_elected(term, self.group) {
            return self.take_over(term, fx);
        }
        if self.leadership.leading_term().is_none() {
            self.phase = Phase::Backup;
        }
    }

    fn on_leader_deposed(&mut self, term: Term, _: &mut impl Effects<Self>) {
        self.leadership.on_deposed(term);
        if self.leadership.leading_term().is_none() {
            self.phase = Phase::Backup;
        }
    }
}

/// Behaviour of a backup.
impl PrimaryBackup {
    /// Returns the stored writes, oldest first.
    pub fn stored_writes(&self) -> &[u64] {
        &self.writes
    }

    /// Returns the newest known term if it is newer than `term`, so that the caller must refuse a
    /// message of `term`. Otherwise returns `None`.
    fn newer_term(&self, term: Term) -> Option<Term> {
        self.leadership.newer_than(term).filter(|_| !self.variants.has(VariantId::NoTerms))
    }

    fn follow(&mut self, term: Term) {
        if !self.variants.has(VariantId::NoTerms) && self.leadership.follow(term) {
            self.phase = Phase::Backup;
        }
    }

    /// Returns true if this backup can append the write at `position`. There are two conditions:
    /// the write follows the last stored write, and the primary of `term` has installed the stored
    /// writes.
    fn is_next(&self, term: Term, position: u64) -> bool {
        let adopted = self.adopted == Some(term) || self.variants.has(VariantId::NoTerms);
        adopted && position == self.length() + 1
    }

    fn length(&self) -> u64 {
        self.writes.len() as u64
    }
}

/// Behaviour of the primary.
impl PrimaryBackup {
    fn leads_in(&self, term: Term) -> bool {
        self.leadership.leading_term() == Some(term)
    }

    fn is_majority(&self, count: u32) -> bool {
        2 * count > self.group.size()
    }

    fn take_over(&mut self, term: Term, fx: &mut impl Effects<Self>) {
        let reported: ProcessSet = [self.group.me()].into_iter().collect();
        if self.variants.has(VariantId::NoInquiry) || self.is_majority(reported.len()) {
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
        let (Phase::Inquiring { reported }, Some(term)) = (&mut self.phase, self.leadership.term)
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
        let Some(term) = self.leadership.leading_term() else { return };
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
        let position = self.length();
        fx.broadcast(&self.group.peers(), Message::Update { term, position, value });
        self.count(self.group.me(), position, fx);
    }

    fn acknowledge(&mut self, term: Term, fx: &mut impl Effects<Self>) {
        let Phase::Serving { stored, mut acknowledged } = self.phase.clone() else { return };
        let early = self.variants.has(VariantId::AcknowledgeEarly);
        while acknowledged < self.length() {
            let position = acknowledged + 1;
            let holders = stored.iter().filter(|length| **length >= position).count();
            if !early && 2 * holders <= stored.len() {
                break;
            }
            let value = self.writes[acknowledged as usize];
            fx.emit(Event::Acknowledged { term, place: position, value });
            acknowledged = position;
        }
        self.phase = Phase::Serving { stored, acknowledged };
    }
}
