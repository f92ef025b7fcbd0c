//! Inquiry of a new leader about transactions of older terms, and the resulting decisions.

use alloc::collections::{BTreeMap, BTreeSet};

use tenure_core::service::commit::Transaction;
use tenure_core::{Effects, ProcessId, ProcessSet, Term};

use super::{Message, Progress, Switch, ThreePhaseCommit};

/// Persisted state of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Entry {
    /// The coordinator has started the transaction.
    Begun,
    /// A participant has voted yes.
    Prepared,
    /// A process knows that all have voted yes.
    Ready,
    /// A participant had voted yes before a restart.
    Returned,
    /// The transaction committed.
    Committed,
    /// The transaction aborted.
    Aborted,
}

/// All transactions that a process knows, with their states.
pub type Log = BTreeMap<Transaction, Entry>;

/// An inquiry of a new leader, with the reports that have arrived.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Survey {
    pub(super) awaited: ProcessSet,
    reports: BTreeMap<ProcessId, Log>,
}

/// Conclusion about a transaction, from the reports of all processes that are not suspected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// The reports determine the decision. Either a process has already made this decision, or no
    /// process can have made the opposite decision.
    Decided { commits: bool },
    /// All have voted yes, but not all have learned this.
    Ready,
    /// No process that reported knows the outcome, and a process that is down may have decided.
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

    /// Returns the transactions of terms before `before` that at least one process has not decided.
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
        // A process without an entry has not voted, and it will not vote after its report.
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

/// Behaviour of a new leader: it asks all live processes for the states of their transactions.
impl ThreePhaseCommit {
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

    pub(super) fn inquire(&mut self, fx: &mut impl Effects<Self>) {
        let Some(term) = self.leadership.leading_term() else { return };
        let awaited = self.trusted();
        fx.broadcast(&awaited, Message::Inquire { term });
        self.survey = Some(Survey::of(awaited));
        self.finish_survey(fx);
    }

    pub(super) fn record(&mut self, from: ProcessId, log: Log, fx: &mut impl Effects<Self>) {
        if let Some(survey) = &mut self.survey {
            survey.record(from, log);
            self.finish_survey(fx);
        }
    }

    /// Ends the inquiry when all reports have arrived. Decides each transaction whose outcome
    /// follows from the reports. If all have voted yes on a transaction, first informs all
    /// processes of this.
    pub(super) fn finish_survey(&mut self, fx: &mut impl Effects<Self>) {
        let Some(mut survey) = self.survey.take_if(|survey| survey.awaited.is_empty()) else {
            return;
        };
        let Some(term) = self.leadership.leading_term() else { return };
        survey.record(self.group.me(), self.log());
        for transaction in survey.undecided(term) {
            match survey.outcome(transaction) {
                Outcome::Decided { commits } => self.decide(transaction, commits, fx),
                Outcome::Ready if self.has(Switch::CommitDirectly) => {
                    self.decide(transaction, true, fx);
                }
                Outcome::Ready => self.spread_ready(transaction, fx),
                Outcome::Unknown => {}
            }
        }
    }
}
