//! A new leader asks all live processes about transactions of older terms, and sends known outcomes
//! to the processes that miss them.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use tenure_core::service::commit::Transaction;
use tenure_core::{Effects, ProcessId, ProcessSet, Term};

use super::{Message, Progress, Switch, TwoPhaseCommit};

/// Persisted state of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Entry {
    /// The coordinator has started the transaction.
    Begun,
    /// A participant has voted yes.
    Prepared,
    /// The transaction committed.
    Committed,
    /// The transaction aborted.
    Aborted,
}

/// All transactions that a process knows, with their states.
pub type Log = BTreeMap<Transaction, Entry>;

/// Inquiry in progress. A new leader has asked all live processes for the states of their
/// transactions. The survey contains the reports that have arrived, and the processes whose reports
/// are missing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Survey {
    pub(super) awaited: ProcessSet,
    reports: BTreeMap<ProcessId, Log>,
}

impl Survey {
    pub(super) fn of(awaited: ProcessSet) -> Self {
        Survey { awaited, reports: BTreeMap::new() }
    }

    pub(super) fn record(&mut self, from: ProcessId, log: Log) {
        self.awaited.remove(from);
        self.reports.insert(from, log);
    }

    /// Returns (process, transaction, decision) for each process that has voted yes on a
    /// transaction of a term before `before` and does not know the outcome. The decision follows
    /// from the reports: true to commit, false to abort, `None` if the reports do not suffice.
    pub(super) fn uncertain(&self, before: Term) -> Vec<(ProcessId, Transaction, Option<bool>)> {
        let mut uncertain = Vec::new();
        for (process, log) in &self.reports {
            for (transaction, entry) in log {
                if transaction.term < before && *entry == Entry::Prepared {
                    uncertain.push((*process, *transaction, self.outcome(*transaction)));
                }
            }
        }
        uncertain
    }

    fn outcome(&self, transaction: Transaction) -> Option<bool> {
        let mut entries = self.reports.values().map(|log| log.get(&transaction));
        if entries.clone().any(|entry| entry == Some(&Entry::Committed)) {
            return Some(true);
        }
        // A process without an entry has not voted, and it will not vote after its report.
        let is_no = |entry: Option<&Entry>| matches!(entry, None | Some(Entry::Aborted));
        entries.any(is_no).then_some(false)
    }
}

/// Behaviour of a new leader: it asks all live processes for the states of their transactions.
impl TwoPhaseCommit {
    pub(super) fn log(&self) -> Log {
        let entry = |progress: &Progress| match progress {
            Progress::Collecting { .. } => Entry::Begun,
            Progress::Prepared => Entry::Prepared,
            Progress::Decided { commits: true, .. } => Entry::Committed,
            Progress::Decided { commits: false, .. } => Entry::Aborted,
        };
        self.transactions.iter().map(|(transaction, it)| (*transaction, entry(it))).collect()
    }

    pub(super) fn inquire(&mut self, fx: &mut impl Effects<Self>) {
        let Some(term) = self.leadership.leading_term() else { return };
        let awaited: ProcessSet =
            self.group.peers().iter().filter(|peer| !self.suspected.contains(*peer)).collect();
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

    /// Ends the inquiry when all reports have arrived. A process is uncertain if it has voted yes
    /// and does not know the outcome. If the outcome follows from the reports, sends it to each
    /// uncertain process.
    pub(super) fn finish_survey(&mut self, fx: &mut impl Effects<Self>) {
        let Some(mut survey) = self.survey.take_if(|survey| survey.awaited.is_empty()) else {
            return;
        };
        let Some(term) = self.leadership.leading_term() else { return };
        survey.record(self.group.me(), self.log());
        for (process, transaction, outcome) in survey.uncertain(term) {
            let guess = self.variants.has(Switch::Guess).then_some(false);
            let Some(commits) = outcome.or(guess) else { continue };
            if process == self.group.me() {
                self.record_decision(transaction, commits, ProcessSet::new(), fx);
            } else {
                fx.send(process, Message::Decision { transaction, commits });
            }
        }
    }
}
