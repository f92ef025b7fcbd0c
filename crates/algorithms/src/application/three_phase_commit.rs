//! Three-phase commit: before the leader commits, everybody knows that nobody is against it.
//!
//! D. Skeen, *Nonblocking commit protocols*, SIGMOD 1981.
//!
//! | | |
//! |---|---|
//! | assumes | a leader; reliable channels; a detector that never errs; what is stable survives |
//! | messages per transaction | 6(N − 1): prepare, vote, ready, told, decision, acknowledgement |
//! | messages per change of leader | 2(N − 1): inquire, report; twice that where some are ready |
//! | delay | 5 messages |
//!
//! **Why it is right.** Between a yes and the decision there is one more state: whoever is *ready*
//! knows that all have voted yes. The coordinator commits when everybody is ready who is up. So
//! nobody commits while somebody who is up is still uncertain, and a new leader can decide from
//! what those say who are up: if one has decided, likewise; if one is ready, it makes the others
//! ready and commits; if all are uncertain, nobody can have committed, nor will anybody, since all
//! listen to the new leader only. Nobody who is up is ever blocked.
//!
//! Whoever comes back does not know what was decided without it, so what it had been counts for
//! nothing, and it asks. When all have been down, it waits until somebody is back who has decided.
//!
//! All of this rests on the detector: who is suspected is taken to be down for certain. Where the
//! network parts, one side commits without those who are uncertain, while these, who take the first
//! for dead, abort. Two-phase commit would have waited.

mod message;
mod survey;

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use tenure_core::service::commit::{Command, Event, Transaction};
use tenure_core::{Effects, Group, Never, ProcessId, ProcessSet, Protocol, Term, Verdict};

pub use self::message::Message;
use self::survey::Survey;
pub use self::survey::{Entry, Log};
use super::{Allegiance, Application};
use crate::Variants;
use crate::variants::switches;

/// One process: a participant, and of the transactions that it began the coordinator.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ThreePhaseCommit {
    group: Group,
    variants: Variants<Switch>,
    allegiance: Allegiance,
    suspected: ProcessSet,
    /// Whether we vote no.
    is_against: bool,
    transactions: BTreeMap<Transaction, Progress>,
    /// Open while we lead and ask what became of older transactions.
    survey: Option<Survey>,
}

/// How far a transaction has come, here.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Progress {
    /// We coordinate it, and these have not voted.
    Collecting { awaited: ProcessSet },
    /// We have voted yes, and are uncertain.
    Prepared,
    /// All have voted yes.
    Ready,
    /// We lead, and these have not said that they are ready, of those whom we have told.
    Spreading { awaited: ProcessSet },
    /// We had voted yes before we crashed: by now others may have decided.
    Returned,
    /// It is decided, and of those whom we have to tell these have not said that they know.
    Decided { commits: bool, untold: ProcessSet },
}

/// What is fixed for life.
#[derive(Clone, Copy, Debug, Default)]
pub struct Config {
    /// Which variants are switched on.
    pub variants: Variants<Switch>,
}

switches! {
    TwoPhases = "two-phases", unsound,
        "the coordinator commits as soon as all have voted yes";
    CommitDirectly = "commit-directly", unsound,
        "a new leader commits what anybody is ready for, before the others are";
    ReturnedCount = "returned-count", unsound,
        "whoever comes back takes part as if nothing could have been decided without it";
}

/// What survives a crash.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Stable {
    /// The highest term heard of.
    term: Option<Term>,
    log: Log,
}

impl Protocol for ThreePhaseCommit {
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
        fx: &mut impl Effects<Self>,
    ) -> Self {
        let none = Stable { term: None, log: Log::new() };
        let Stable { term, log } = stable.unwrap_or(none);
        let mut process = ThreePhaseCommit {
            group,
            variants: config.variants,
            allegiance: Allegiance { term, leads: false },
            suspected: ProcessSet::new(),
            is_against: false,
            transactions: BTreeMap::new(),
            survey: None,
        };
        for (transaction, entry) in log {
            process.resume(transaction, entry, fx);
        }
        process
    }

    fn stable(&self) -> Stable {
        Stable { term: self.allegiance.term, log: self.log() }
    }

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        match (command, self.allegiance.reign()) {
            (Command::Begin, Some(term)) => self.begin(term, fx),
            (Command::Begin, None) => fx.emit(Event::Refused),
            (Command::Veto, _) => self.is_against = true,
        }
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Prepare { transaction: Transaction { term, .. } }
            | Message::Ready { term, .. }
            | Message::Inquire { term }
                if let Some(term) = self.allegiance.newer_than(term) =>
            {
                fx.send(from, Message::Newer { term });
            }
            Message::Prepare { transaction } => {
                self.follow(transaction.term, fx);
                let yes = self.vote(transaction, fx);
                fx.send(from, Message::Vote { transaction, yes });
            }
            Message::Vote { transaction, yes } => self.on_vote(from, transaction, yes, fx),
            Message::Ready { term, transaction } => {
                self.follow(term, fx);
                self.is_ready(transaction);
                fx.send(from, Message::Told { term, transaction });
            }
            Message::Told { term, transaction } => {
                if self.allegiance.reign() == Some(term) {
                    self.on_told(from, transaction, fx);
                }
            }
            Message::Decision { transaction, commits } => {
                self.learn(transaction, commits, ProcessSet::new(), fx);
                fx.send(from, Message::Acknowledgement { transaction });
            }
            Message::Acknowledgement { transaction } => {
                if let Some(Progress::Decided { untold, .. }) =
                    self.transactions.get_mut(&transaction)
                {
                    untold.remove(from);
                }
            }
            Message::Inquire { term } => {
                self.follow(term, fx);
                fx.send(from, Message::Report { term, log: self.log() });
            }
            Message::Report { term, log } => {
                if self.allegiance.reign() == Some(term) {
                    self.record(from, log, fx);
                }
            }
            Message::Newer { term } => self.follow(term, fx),
        }
    }

    fn on_suspicion(&mut self, peer: ProcessId, verdict: Verdict, fx: &mut impl Effects<Self>) {
        match verdict {
            Verdict::Suspect => {
                self.suspected.insert(peer);
                self.abort_where(|awaited| awaited.contains(peer), fx);
                if self.allegiance.reign().is_some() {
                    let names: Vec<Transaction> = self.transactions.keys().copied().collect();
                    names.into_iter().for_each(|transaction| self.on_told(peer, transaction, fx));
                }
                if let Some(survey) = &mut self.survey {
                    survey.awaited.remove(peer);
                    self.conclude(fx);
                }
            }
            Verdict::Trust => {
                self.suspected.remove(peer);
                for (transaction, progress) in &self.transactions {
                    if let Progress::Decided { commits, untold } = progress
                        && untold.contains(peer)
                    {
                        let (transaction, commits) = (*transaction, *commits);
                        fx.send(peer, Message::Decision { transaction, commits });
                    }
                }
                self.inquire(fx);
            }
        }
    }
}

impl Application for ThreePhaseCommit {
    fn on_elected(&mut self, term: Term, fx: &mut impl Effects<Self>) {
        self.follow(term, fx);
        if self.allegiance.on_elected(term, self.group) {
            self.inquire(fx);
        }
    }

    fn on_deposed(&mut self, term: Term, _: &mut impl Effects<Self>) {
        self.allegiance.on_deposed(term);
        if self.allegiance.reign().is_none() {
            self.survey = None;
        }
    }
}

/// The participant.
impl ThreePhaseCommit {
    /// Goes on after a crash with what the log says.
    fn resume(&mut self, transaction: Transaction, entry: Entry, fx: &mut impl Effects<Self>) {
        let coordinates = transaction.term.leader == self.group.me();
        let progress = match entry {
            Entry::Prepared if self.has(Switch::ReturnedCount) => Progress::Prepared,
            Entry::Ready if self.has(Switch::ReturnedCount) => Progress::Ready,
            Entry::Prepared | Entry::Ready | Entry::Returned => Progress::Returned,
            Entry::Begun => return self.decide(transaction, false, fx),
            Entry::Committed | Entry::Aborted => {
                let commits = entry == Entry::Committed;
                let untold = if coordinates { self.group.peers() } else { ProcessSet::new() };
                fx.broadcast(&untold, Message::Decision { transaction, commits });
                Progress::Decided { commits, untold }
            }
        };
        if !matches!(progress, Progress::Decided { .. }) {
            fx.emit(Event::Prepared { transaction });
        }
        self.transactions.insert(transaction, progress);
    }

    /// Takes note of a term. What has no votes in an older one of ours is not to have them, and
    /// what has them all is for the new leader to decide.
    fn follow(&mut self, term: Term, fx: &mut impl Effects<Self>) {
        if self.allegiance.follow(term) {
            self.survey = None;
            for progress in self.transactions.values_mut() {
                if matches!(progress, Progress::Spreading { .. }) {
                    *progress = Progress::Ready;
                }
            }
            self.abort_where(|_| true, fx);
        }
    }

    /// What we vote; we are bound by a yes.
    fn vote(&mut self, transaction: Transaction, fx: &mut impl Effects<Self>) -> bool {
        if let Some(progress) = self.transactions.get(&transaction) {
            return !matches!(progress, Progress::Decided { commits: false, .. });
        }
        if self.is_against {
            self.learn(transaction, false, ProcessSet::new(), fx);
            return false;
        }
        self.transactions.insert(transaction, Progress::Prepared);
        fx.emit(Event::Prepared { transaction });
        true
    }

    /// All can, and we know it.
    fn is_ready(&mut self, transaction: Transaction) {
        let progress = self.transactions.get_mut(&transaction);
        if let Some(progress @ (Progress::Prepared | Progress::Returned)) = progress {
            *progress = Progress::Ready;
        }
    }

    fn learn(
        &mut self,
        transaction: Transaction,
        commits: bool,
        untold: ProcessSet,
        fx: &mut impl Effects<Self>,
    ) {
        if let Some(Progress::Decided { .. }) = self.transactions.get(&transaction) {
            return;
        }
        self.transactions.insert(transaction, Progress::Decided { commits, untold });
        fx.emit(match commits {
            true => Event::Committed { transaction },
            false => Event::Aborted { transaction },
        });
    }
}

/// The coordinator.
impl ThreePhaseCommit {
    fn begin(&mut self, term: Term, fx: &mut impl Effects<Self>) {
        let mine = self.transactions.keys().filter(|transaction| transaction.term == term);
        let transaction = Transaction { term, number: mine.count() as u64 + 1 };
        if self.is_against || !self.suspected.is_empty() {
            return self.learn(transaction, false, ProcessSet::new(), fx);
        }
        let awaited = self.group.peers();
        fx.broadcast(&awaited, Message::Prepare { transaction });
        let alone = awaited.is_empty();
        self.transactions.insert(transaction, Progress::Collecting { awaited });
        if alone {
            self.make_ready(transaction, fx);
        }
    }

    fn on_vote(
        &mut self,
        from: ProcessId,
        transaction: Transaction,
        yes: bool,
        fx: &mut impl Effects<Self>,
    ) {
        let Some(Progress::Collecting { awaited }) = self.transactions.get_mut(&transaction) else {
            return;
        };
        awaited.remove(from);
        if !yes {
            self.decide(transaction, false, fx);
        } else if awaited.is_empty() {
            self.make_ready(transaction, fx);
        }
    }

    /// Tells all who are up that all can; when they know it, we commit.
    fn make_ready(&mut self, transaction: Transaction, fx: &mut impl Effects<Self>) {
        let Some(term) = self.allegiance.reign() else { return };
        if self.has(Switch::TwoPhases) {
            return self.decide(transaction, true, fx);
        }
        let awaited = self.trusted();
        fx.broadcast(&awaited, Message::Ready { term, transaction });
        self.transactions.insert(transaction, Progress::Spreading { awaited });
        self.on_told(self.group.me(), transaction, fx);
    }

    /// Somebody knows that all can, or is down.
    fn on_told(&mut self, from: ProcessId, transaction: Transaction, fx: &mut impl Effects<Self>) {
        if let Some(Progress::Spreading { awaited }) = self.transactions.get_mut(&transaction) {
            awaited.remove(from);
            if awaited.is_empty() {
                self.decide(transaction, true, fx);
            }
        }
    }

    fn decide(&mut self, transaction: Transaction, commits: bool, fx: &mut impl Effects<Self>) {
        let untold = self.group.peers();
        fx.broadcast(&untold, Message::Decision { transaction, commits });
        self.learn(transaction, commits, untold, fx);
    }

    /// Aborts what awaits votes like this.
    fn abort_where(&mut self, is: impl Fn(&ProcessSet) -> bool, fx: &mut impl Effects<Self>) {
        let undecided = self
            .transactions
            .iter()
            .filter(|(_, it)| matches!(it, Progress::Collecting { awaited } if is(awaited)));
        let undecided: Vec<Transaction> = undecided.map(|(transaction, _)| *transaction).collect();
        for transaction in undecided {
            self.decide(transaction, false, fx);
        }
    }

    fn trusted(&self) -> ProcessSet {
        self.group.peers().iter().filter(|peer| !self.suspected.contains(*peer)).collect()
    }

    fn has(&self, switch: Switch) -> bool {
        self.variants.has(switch)
    }
}
