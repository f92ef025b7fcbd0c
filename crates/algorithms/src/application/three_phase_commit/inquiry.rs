//! Inquiries: a new leader asks the other processes about transactions of older terms, and then
//! decides these transactions.

use alloc::collections::{BTreeMap, BTreeSet};

use tenure_core::service::commit::TransactionId;
use tenure_core::{Effects, ProcessId, ProcessSet, Term};

use super::{Message, Progress, ThreePhaseCommit, VariantId};

/// Persisted state of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum TransactionState {
    /// The coordinator has started the transaction.
    Begun,
    /// A participant has voted yes.
    Prepared,
    /// A process knows that all participants have voted yes.
    Ready,
    /// The participant voted yes and has restarted since. It does not know the outcome.
    Returned,
    /// The transaction committed.
    Committed,
    /// The transaction aborted.
    Aborted,
}

/// All transactions that a process knows, with their states.
pub type TransactionStates = BTreeMap<TransactionId, TransactionState>;

/// An inquiry of a new leader, with the reports that have arrived.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Inquiry {
    pub(super) awaited: ProcessSet,
    reports: BTreeMap<ProcessId, TransactionStates>,
}

/// Conclusion about a transaction, from the reports of all processes that are not suspected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// The reports determine the decision. Either a process has already made this decision, or it
    /// is certain that no process has made the opposite decision.
    Decided { commits: bool },
    /// At least one process knows that all have voted yes, and no report contains a decision.
    Ready,
    /// No report contains the outcome, and a process that is down may have decided.
    Unknown,
}

impl Inquiry {
    pub(super) fn awaiting(awaited: ProcessSet) -> Self {
        Inquiry { awaited, reports: BTreeMap::new() }
    }

    pub(super) fn record_report(&mut self, from: ProcessId, log: TransactionStates) {
        self.awaited.remove(from);
        self.reports.insert(from, log);
    }

    /// Returns each transaction that is older than the term `before` and on which at least one
    /// reporting process has voted yes without knowing the outcome.
    fn undecided(&self, before: Term) -> BTreeSet<TransactionId> {
        let all = self.reports.values().flatten();
        let undecided = all.filter(|(transaction, entry)| {
            let waits = matches!(
                entry,
                TransactionState::Prepared | TransactionState::Ready | TransactionState::Returned
            );
            transaction.term < before && waits
        });
        undecided.map(|(transaction, _)| *transaction).collect()
    }

    fn outcome(&self, transaction: TransactionId) -> Outcome {
        let entries = || self.reports.values().map(|log| log.get(&transaction));
        let any = |wanted: TransactionState| entries().any(|entry| entry == Some(&wanted));
        // A process whose report does not contain the transaction has not voted on it, and will not
        // vote on it later.
        if any(TransactionState::Committed) {
            Outcome::Decided { commits: true }
        } else if any(TransactionState::Aborted) || entries().any(|entry| entry.is_none()) {
            Outcome::Decided { commits: false }
        } else if any(TransactionState::Ready) {
            Outcome::Ready
        } else if any(TransactionState::Prepared) {
            Outcome::Decided { commits: false }
        } else {
            Outcome::Unknown
        }
    }
}

/// Behaviour of a new leader: it asks all live processes for the states of their transactions.
impl ThreePhaseCommit {
    pub(super) fn transaction_states(&self) -> TransactionStates {
        let entry = |progress: &Progress| match progress {
            Progress::Collecting { .. } => TransactionState::Begun,
            Progress::Prepared => TransactionState::Prepared,
            Progress::Ready | Progress::Spreading { .. } => TransactionState::Ready,
            Progress::Returned => TransactionState::Returned,
            Progress::Decided { commits: true, .. } => TransactionState::Committed,
            Progress::Decided { commits: false, .. } => TransactionState::Aborted,
        };
        self.transactions.iter().map(|(transaction, it)| (*transaction, entry(it))).collect()
    }

    pub(super) fn start_inquiry(&mut self, fx: &mut impl Effects<Self>) {
        let Some(term) = self.leadership.leading_term() else { return };
        let awaited = self.trusted();
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

    /// Ends the inquiry when all reports have arrived, and decides each transaction whose outcome
    /// follows from the reports. For [`Outcome::Ready`], first informs all live processes that all
    /// have voted yes, and commits the transaction later.
    pub(super) fn maybe_finish_inquiry(&mut self, fx: &mut impl Effects<Self>) {
        let Some(mut inquiry) = self.inquiry.take_if(|inquiry| inquiry.awaited.is_empty()) else {
            return;
        };
        let Some(term) = self.leadership.leading_term() else { return };
        inquiry.record_report(self.group.me(), self.transaction_states());
        for transaction in inquiry.undecided(term) {
            match inquiry.outcome(transaction) {
                Outcome::Decided { commits } => self.decide(transaction, commits, fx),
                Outcome::Ready if self.has(VariantId::CommitDirectly) => {
                    self.decide(transaction, true, fx);
                }
                Outcome::Ready => self.spread_ready(transaction, fx),
                Outcome::Unknown => {}
            }
        }
    }
}
