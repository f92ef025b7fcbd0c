//! What a new leader can find out about transactions of older terms, and what follows from it.

use alloc::collections::{BTreeMap, BTreeSet};

use tenure_core::service::commit::Transaction;
use tenure_core::{Effects, ProcessId, ProcessSet, Term};

use super::{Message, Progress, Switch, ThreePhaseCommit};

/// What is known of a transaction, and survives a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Entry {
    /// Its coordinator has begun it.
    Begun,
    /// A participant has voted yes.
    Prepared,
    /// Somebody knows that all have voted yes.
    Ready,
    /// A participant had voted yes before it crashed.
    Returned,
    /// It commits.
    Committed,
    /// It aborts.
    Aborted,
}

/// Transactions, and what is known of them.
pub type Log = BTreeMap<Transaction, Entry>;

/// What has been asked, and answered.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Survey {
    /// Who has not answered.
    pub(super) awaited: ProcessSet,
    reports: BTreeMap<ProcessId, Log>,
}

/// What follows from all that was reported of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// It is decided, or nobody can have decided otherwise.
    Decided { commits: bool },
    /// All have voted yes, and not everybody knows.
    Ready,
    /// Whoever was up when it was decided is down.
    Unknown,
}

impl Survey {
    pub(super) fn of(awaited: ProcessSet) -> Self {
        Survey { awaited, reports: BTreeMap::new() }
    }

    pub(super) fn record(&mut self, from: ProcessId, log: Log) {
        self.awaited.remove(from);
        self.reports.insert(from, log);
    }

    /// What somebody has not decided, of the terms before this one.
    fn undecided(&self, before: Term) -> BTreeSet<Transaction> {
        let all = self.reports.values().flatten();
        let undecided = all.filter(|(transaction, entry)| {
            let waits = matches!(entry, Entry::Prepared | Entry::Ready | Entry::Returned);
            transaction.term < before && waits
        });
        undecided.map(|(transaction, _)| *transaction).collect()
    }

    fn outcome(&self, transaction: Transaction) -> Outcome {
        let entries = || self.reports.values().map(|log| log.get(&transaction));
        let any = |wanted: Entry| entries().any(|entry| entry == Some(&wanted));
        // Whoever has not voted by now does not.
        if any(Entry::Committed) {
            Outcome::Decided { commits: true }
        } else if any(Entry::Aborted) || entries().any(|entry| entry.is_none()) {
            Outcome::Decided { commits: false }
        } else if any(Entry::Ready) {
            Outcome::Ready
        } else if any(Entry::Prepared) {
            Outcome::Decided { commits: false }
        } else {
            Outcome::Unknown
        }
    }
}

/// The new leader, and what it is told.
impl ThreePhaseCommit {
    /// What is known here.
    pub(super) fn log(&self) -> Log {
        let entry = |progress: &Progress| match progress {
            Progress::Collecting { .. } => Entry::Begun,
            Progress::Prepared => Entry::Prepared,
            Progress::Ready | Progress::Spreading { .. } => Entry::Ready,
            Progress::Returned => Entry::Returned,
            Progress::Decided { commits: true, .. } => Entry::Committed,
            Progress::Decided { commits: false, .. } => Entry::Aborted,
        };
        self.transactions.iter().map(|(transaction, it)| (*transaction, entry(it))).collect()
    }

    /// Asks everybody what became of older transactions.
    pub(super) fn inquire(&mut self, fx: &mut impl Effects<Self>) {
        let Some(term) = self.allegiance.reign() else { return };
        let awaited = self.trusted();
        fx.broadcast(&awaited, Message::Inquire { term });
        self.survey = Some(Survey::of(awaited));
        self.conclude(fx);
    }

    pub(super) fn record(&mut self, from: ProcessId, log: Log, fx: &mut impl Effects<Self>) {
        if let Some(survey) = &mut self.survey {
            survey.record(from, log);
            self.conclude(fx);
        }
    }

    /// Brings to an end what follows from all that was reported.
    pub(super) fn conclude(&mut self, fx: &mut impl Effects<Self>) {
        let Some(mut survey) = self.survey.take_if(|survey| survey.awaited.is_empty()) else {
            return;
        };
        let Some(term) = self.allegiance.reign() else { return };
        survey.record(self.group.me(), self.log());
        for transaction in survey.undecided(term) {
            match survey.outcome(transaction) {
                Outcome::Decided { commits } => self.decide(transaction, commits, fx),
                Outcome::Ready if self.has(Switch::CommitDirectly) => {
                    self.decide(transaction, true, fx);
                }
                Outcome::Ready => self.make_ready(transaction, fx),
                Outcome::Unknown => {}
            }
        }
    }
}
