//! A new leader asks all live processes about transactions of older terms. The leader sends each
//! outcome that it learns to the processes that do not know the outcome.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use tenure_core::service::commit::TransactionId;
use tenure_core::{Effects, ProcessId, ProcessSet, Term};

use super::{Message, Progress, TwoPhaseCommit, VariantId};

/// Persisted state of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum TransactionState {
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
pub type TransactionStates = BTreeMap<TransactionId, TransactionState>;

/// Inquiry of a new leader. The leader has asked all live processes for the states of their
/// transactions. This type contains the reports that have arrived, and the processes that have not
/// reported.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Inquiry {
    pub(super) awaited: ProcessSet,
    reports: BTreeMap<ProcessId, TransactionStates>,
}

impl Inquiry {
    pub(super) fn awaiting(awaited: ProcessSet) -> Self {
        Inquiry { awaited, reports: BTreeMap::new() }
    }

    pub(super) fn record_report(&mut self, from: ProcessId, log: TransactionStates) {
        self.awaited.remove(from);
        self.reports.insert(from, log);
    }

    /// Returns one element for each pair of a transaction and a process that is uncertain about it.
    /// A process is uncertain if it has voted yes on the transaction and does not know the outcome.
    /// Each element is (process, transaction, decision). The decision follows from the reports:
    /// true to commit, false to abort, `None` if the reports do not suffice. The result contains
    /// only transactions of terms before `before_term`.
    pub(super) fn uncertain_transactions(
        &self,
        before_term: Term,
    ) -> Vec<(ProcessId, TransactionId, Option<bool>)> {
        let mut uncertain = Vec::new();
        for (process, log) in &self.reports {
            for (transaction, entry) in log {
                if transaction.term < before_term && *entry == TransactionState::Prepared {
                    uncertain.push((*process, *transaction, self.outcome(*transaction)));
                }
            }
        }
        uncertain
    }

    fn outcome(&self, transaction: TransactionId) -> Option<bool> {
        let mut entries = self.reports.values().map(|log| log.get(&transaction));
        if entries.clone().any(|entry| entry == Some(&TransactionState::Committed)) {
            return Some(true);
        }
        // A process whose report does not contain the transaction has not voted on it, and will not
        // vote on it later.
        let is_no = |entry: Option<&TransactionState>| {
            matches!(entry, None | Some(TransactionState::Aborted))
        };
        entries.any(is_no).then_some(false)
    }
}

/// Behaviour of a new leader: it asks all live processes for the states of their transactions.
impl TwoPhaseCommit {
    pub(super) fn transaction_states(&self) -> TransactionStates {
        let entry = |progress: &Progress| match progress {
            Progress::Collecting { .. } => TransactionState::Begun,
            Progress::Prepared => TransactionState::Prepared,
            Progress::Decided { commits: true, .. } => TransactionState::Committed,
            Progress::Decided { commits: false, .. } => TransactionState::Aborted,
        };
        self.transactions.iter().map(|(transaction, it)| (*transaction, entry(it))).collect()
    }

    pub(super) fn start_inquiry(&mut self, fx: &mut impl Effects<Self>) {
        let Some(term) = self.leadership.leading_term() else { return };
        let awaited: ProcessSet =
            self.group.peers().iter().filter(|peer| !self.suspected.contains(*peer)).collect();
        fx.broadcast(&awaited, Message::Inquire { term });
        self.inquiry = Some(Inquiry::awaiting(awaited));
        self.maybe_finish_inquiry(fx);
    }

    pub(super) fn record_report(
        &mut self,
        from: ProcessId,
        log: TransactionStates,
        fx: &mut impl Effects<Self>,
    ) {
        if let Some(inquiry) = &mut self.inquiry {
            inquiry.record_report(from, log);
            self.maybe_finish_inquiry(fx);
        }
    }

    /// Ends the inquiry when all reports have arrived. Sends each outcome that follows from the
    /// reports to the uncertain processes: those that have voted yes and do not know the outcome.
    pub(super) fn maybe_finish_inquiry(&mut self, fx: &mut impl Effects<Self>) {
        let Some(mut inquiry) = self.inquiry.take_if(|inquiry| inquiry.awaited.is_empty()) else {
            return;
        };
        let Some(term) = self.leadership.leading_term() else { return };
        inquiry.record_report(self.group.me(), self.transaction_states());
        for (process, transaction, outcome) in inquiry.uncertain_transactions(term) {
            let guess = self.variants.has(VariantId::Guess).then_some(false);
            let Some(commits) = outcome.or(guess) else { continue };
            if process == self.group.me() {
                self.record_decision(transaction, commits, ProcessSet::new(), fx);
            } else {
                fx.send(process, Message::Decision { transaction, commits });
            }
        }
    }
}
