//! What a new leader can find out about transactions of older terms.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use tenure_core::service::commit::Transaction;
use tenure_core::{Effects, ProcessId, ProcessSet, Term};

use super::{Message, Progress, Switch, TwoPhaseCommit};

/// What is known of a transaction, and survives a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Entry {
    /// Its coordinator has begun it.
    Begun,
    /// A participant has voted yes.
    Prepared,
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

impl Survey {
    pub(super) fn of(awaited: ProcessSet) -> Self {
        Survey { awaited, reports: BTreeMap::new() }
    }

    pub(super) fn record(&mut self, from: ProcessId, log: Log) {
        self.awaited.remove(from);
        self.reports.insert(from, log);
    }

    /// Who is uncertain about what, of the terms before this one, and whether it commits, if that
    /// is known or follows.
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
        // Whoever has not voted by now does not.
        let is_no = |entry: Option<&Entry>| matches!(entry, None | Some(Entry::Aborted));
        entries.any(is_no).then_some(false)
    }
}

/// The new leader, and what it is told.
impl TwoPhaseCommit {
    /// What is known here.
    pub(super) fn log(&self) -> Log {
        let entry = |progress: &Progress| match progress {
            Progress::Collecting { .. } => Entry::Begun,
            Progress::Prepared => Entry::Prepared,
            Progress::Decided { commits: true, .. } => Entry::Committed,
            Progress::Decided { commits: false, .. } => Entry::Aborted,
        };
        self.transactions.iter().map(|(transaction, it)| (*transaction, entry(it))).collect()
    }

    /// Asks everybody what became of older transactions.
    pub(super) fn inquire(&mut self, fx: &mut impl Effects<Self>) {
        let Some(term) = self.allegiance.reign() else { return };
        let awaited: ProcessSet =
            self.group.peers().iter().filter(|peer| !self.suspected.contains(*peer)).collect();
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

    /// Tells those who are uncertain what follows from all that was reported, if anything does.
    pub(super) fn conclude(&mut self, fx: &mut impl Effects<Self>) {
        let Some(mut survey) = self.survey.take_if(|survey| survey.awaited.is_empty()) else {
            return;
        };
        let Some(term) = self.allegiance.reign() else { return };
        survey.record(self.group.me(), self.log());
        for (process, transaction, outcome) in survey.uncertain(term) {
            let guess = self.variants.has(Switch::Guess).then_some(false);
            let Some(commits) = outcome.or(guess) else { continue };
            if process == self.group.me() {
                self.learn(transaction, commits, ProcessSet::new(), fx);
            } else {
                fx.send(process, Message::Decision { transaction, commits });
            }
        }
    }
}
