//! Three-phase commit: before the leader commits, every process knows that all have voted yes.
//!
//! D. Skeen, *Nonblocking commit protocols*, SIGMOD 1981.
//!
//! | | |
//! |---|---|
//! | assumes | a leader; reliable channels; a perfect detector; stable storage |
//! | messages per transaction | 6(N − 1): prepare, vote, ready, told, decision, acknowledgement |
//! | messages per change of leader | 2(N − 1): inquire, report; twice that where some are ready |
//! | delay | 5 messages |
//!
//! **Why it is right.** Between a yes and the decision there is one more state: a *ready* process
//! knows that all have voted yes. The coordinator commits when every live process is ready. So no
//! process commits while a live one is uncertain, and a new leader can decide from the states of
//! the live processes. If one of them has decided, the new leader decides the same. If one is
//! ready, the leader makes the others ready and commits. If all are uncertain, the leader aborts:
//! no process can have committed, and none will commit, because all follow only the new leader. No
//! live process is ever blocked.
//!
//! A restarted process does not know which decisions were made while it was down. So leaders ignore
//! its earlier votes, and the process waits for a decision from a leader. After a crash of all
//! processes, the restarted processes wait until a process that has decided is back.
//!
//! All of this relies on the detector: a suspected process must be down. In a partition, one side
//! may commit. On the other side, uncertain processes consider the first side crashed, and abort.
//! Two-phase commit would wait instead of aborting.

mod config;
mod inquiry;
mod message;

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use tenure_core::service::commit::{Command, Event, TransactionId};
use tenure_core::{Effects, Group, Never, PeerVerdict, ProcessId, ProcessSet, Protocol, Term};

pub use self::config::{Config, VariantId};
use self::inquiry::Inquiry;
pub use self::inquiry::{TransactionState, TransactionStates};
pub use self::message::Message;
use super::{Application, Leadership};
use crate::Variants;

/// One process: a participant. While it leads, it also coordinates all undecided transactions.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ThreePhaseCommit {
    group: Group,
    variants: Variants<VariantId>,
    leadership: Leadership,
    suspected: ProcessSet,
    /// True if this process votes no on all transactions.
    votes_no: bool,
    transactions: BTreeMap<TransactionId, Progress>,
    inquiry: Option<Inquiry>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Progress {
    /// This process coordinates the transaction. The awaited processes have not voted.
    Collecting { awaited: ProcessSet },
    /// This process has voted yes, and does not know the outcome.
    Prepared,
    /// This process knows that all have voted yes.
    Ready,
    /// This process leads. It has informed all processes that all participants have voted yes. The
    /// awaited processes have not confirmed this message.
    Spreading { awaited: ProcessSet },
    /// This process voted yes before its last restart. Other processes may have decided since.
    Returned,
    /// The decision is made. The participants in `unacknowledged` have not acknowledged it yet.
    Decided { commits: bool, unacknowledged: ProcessSet },
}

/// State that survives a crash.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Stable {
    term: Option<Term>,
    log: TransactionStates,
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
        let none = Stable { term: None, log: TransactionStates::new() };
        let Stable { term, log } = stable.unwrap_or(none);
        let mut process = ThreePhaseCommit {
            group,
            variants: *config,
            leadership: Leadership { term, is_leader: false },
            suspected: ProcessSet::new(),
            votes_no: false,
            transactions: BTreeMap::new(),
            inquiry: None,
        };
        for (transaction, entry) in log {
            process.resume(transaction, entry, fx);
        }
        process
    }

    fn stable(&self) -> Stable {
        Stable { term: self.leadership.term, log: self.transaction_states() }
    }

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        match (command, self.leadership.leading_term()) {
            (Command::Begin, Some(term)) => self.begin(term, fx),
            (Command::Begin, None) => fx.emit(Event::Refused),
            (Command::Veto, _) => self.votes_no = true,
        }
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Prepare { transaction: TransactionId { term, .. } }
            | Message::Ready { term, .. }
            | Message::Inquire { term }
                if let Some(term) = self.leadership.newer_than(term) =>
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
                self.become_ready(transaction);
                fx.send(from, Message::Told { term, transaction });
            }
            Message::Told { term, transaction } => {
                if self.leadership.leading_term() == Some(term) {
                    self.on_ready_confirmed(from, transaction, fx);
                }
            }
            Message::Decision { transaction, commits } => {
                self.record_decision(transaction, commits, ProcessSet::new(), fx);
                fx.send(from, Message::Acknowledgement { transaction });
            }
            Message::Acknowledgement { transaction } => {
                if let Some(Progress::Decided { unacknowledged, .. }) =
                    self.transactions.get_mut(&transaction)
                {
                    unacknowledged.remove(from);
                }
            }
            Message::Inquire { term } => {
                self.follow(term, fx);
                fx.send(from, Message::Report { term, log: self.transaction_states() });
            }
            Message::Report { term, log } => {
                if self.leadership.leading_term() == Some(term) {
                    self.record_report(from, log, fx);
                }
            }
            Message::Newer { term } => self.follow(term, fx),
        }
    }

    fn on_suspicion(&mut self, peer: ProcessId, verdict: PeerVerdict, fx: &mut impl Effects<Self>) {
        match verdict {
            PeerVerdict::Suspect => {
                self.suspected.insert(peer);
                self.abort_where(|awaited| awaited.contains(peer), fx);
                if self.leadership.leading_term().is_some() {
                    let names: Vec<TransactionId> = self.transactions.keys().copied().collect();
                    names
                        .into_iter()
                        .for_each(|transaction| self.on_ready_confirmed(peer, transaction, fx));
                }
                if let Some(inquiry) = &mut self.inquiry {
                    inquiry.awaited.remove(peer);
                    self.maybe_finish_inquiry(fx);
                }
            }
            PeerVerdict::Trust => {
                self.suspected.remove(peer);
                for (transaction, progress) in &self.transactions {
                    if let Progress::Decided { commits, unacknowledged } = progress
                        && unacknowledged.contains(peer)
                    {
                        let (transaction, commits) = (*transaction, *commits);
                        fx.send(peer, Message::Decision { transaction, commits });
                    }
                }
                self.start_inquiry(fx);
            }
        }
    }
}

impl Application for ThreePhaseCommit {
    fn on_leader_elected(&mut self, term: Term, fx: &mut impl Effects<Self>) {
        self.follow(term, fx);
        if self.leadership.on_elected(term, self.group) {
            self.start_inquiry(fx);
        }
    }

    fn on_leader_deposed(&mut self, term: Term, _: &mut impl Effects<Self>) {
        self.leadership.on_deposed(term);
        if self.leadership.leading_term().is_none() {
            self.inquiry = None;
        }
    }
}

/// Behaviour of a participant.
impl ThreePhaseCommit {
    fn resume(
        &mut self,
        transaction: TransactionId,
        entry: TransactionState,
        fx: &mut impl Effects<Self>,
    ) {
        let coordinates = transaction.term.leader == self.group.me();
        let progress = match entry {
            TransactionState::Prepared if self.has(VariantId::ReturnedCount) => Progress::Prepared,
            TransactionState::Ready if self.has(VariantId::ReturnedCount) => Progress::Ready,
            TransactionState::Prepared | TransactionState::Ready | TransactionState::Returned => {
                Progress::Returned
            }
            TransactionState::Begun => return self.decide(transaction, false, fx),
            TransactionState::Committed | TransactionState::Aborted => {
                let commits = entry == TransactionState::Committed;
                let unacknowledged =
                    if coordinates { self.group.peers() } else { ProcessSet::new() };
                fx.broadcast(&unacknowledged, Message::Decision { transaction, commits });
                Progress::Decided { commits, unacknowledged }
            }
        };
        if !matches!(progress, Progress::Decided { .. }) {
            fx.emit(Event::Prepared { transaction });
        }
        self.transactions.insert(transaction, progress);
    }

    /// Follows `term` if it is newer than all known terms. Then aborts each transaction of this
    /// coordinator for which a vote is missing. The new leader decides the other transactions.
    fn follow(&mut self, term: Term, fx: &mut impl Effects<Self>) {
        if self.leadership.follow(term) {
            self.inquiry = None;
            for progress in self.transactions.values_mut() {
                if matches!(progress, Progress::Spreading { .. }) {
                    *progress = Progress::Ready;
                }
            }
            self.abort_where(|_| true, fx);
        }
    }

    /// Returns the vote of this process on a transaction: true for yes. A yes is binding.
    fn vote(&mut self, transaction: TransactionId, fx: &mut impl Effects<Self>) -> bool {
        if let Some(progress) = self.transactions.get(&transaction) {
            return !matches!(progress, Progress::Decided { commits: false, .. });
        }
        if self.votes_no {
            self.record_decision(transaction, false, ProcessSet::new(), fx);
            return false;
        }
        self.transactions.insert(transaction, Progress::Prepared);
        fx.emit(Event::Prepared { transaction });
        true
    }

    fn become_ready(&mut self, transaction: TransactionId) {
        let progress = self.transactions.get_mut(&transaction);
        if let Some(progress @ (Progress::Prepared | Progress::Returned)) = progress {
            *progress = Progress::Ready;
        }
    }

    fn record_decision(
        &mut self,
        transaction: TransactionId,
        commits: bool,
        unacknowledged: ProcessSet,
        fx: &mut impl Effects<Self>,
    ) {
        if let Some(Progress::Decided { .. }) = self.transactions.get(&transaction) {
            return;
        }
        self.transactions.insert(transaction, Progress::Decided { commits, unacknowledged });
        fx.emit(match commits {
            true => Event::Committed { transaction },
            false => Event::Aborted { transaction },
        });
    }
}

/// Behaviour of the coordinator.
impl ThreePhaseCommit {
    fn begin(&mut self, term: Term, fx: &mut impl Effects<Self>) {
        let mine = self.transactions.keys().filter(|transaction| transaction.term == term);
        let transaction = TransactionId { term, number: mine.count() as u64 + 1 };
        if self.votes_no || !self.suspected.is_empty() {
            return self.record_decision(transaction, false, ProcessSet::new(), fx);
        }
        let awaited = self.group.peers();
        fx.broadcast(&awaited, Message::Prepare { transaction });
        let alone = awaited.is_empty();
        self.transactions.insert(transaction, Progress::Collecting { awaited });
        if alone {
            self.spread_ready(transaction, fx);
        }
    }

    fn on_vote(
        &mut self,
        from: ProcessId,
        transaction: TransactionId,
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
            self.spread_ready(transaction, fx);
        }
    }

    /// Tells all live processes that every participant has voted yes. The transaction commits when
    /// these processes have confirmed the message.
    fn spread_ready(&mut self, transaction: TransactionId, fx: &mut impl Effects<Self>) {
        let Some(term) = self.leadership.leading_term() else { return };
        if self.has(VariantId::TwoPhases) {
            return self.decide(transaction, true, fx);
        }
        let awaited = self.trusted();
        fx.broadcast(&awaited, Message::Ready { term, transaction });
        self.transactions.insert(transaction, Progress::Spreading { awaited });
        self.on_ready_confirmed(self.group.me(), transaction, fx);
    }

    /// Records that the transaction need not wait for `from` any more: `from` has confirmed that
    /// all participants have voted yes, or is suspected. Commits the transaction if it waits for no
    /// other process.
    fn on_ready_confirmed(
        &mut self,
        from: ProcessId,
        transaction: TransactionId,
        fx: &mut impl Effects<Self>,
    ) {
        if let Some(Progress::Spreading { awaited }) = self.transactions.get_mut(&transaction) {
            awaited.remove(from);
            if awaited.is_empty() {
                self.decide(transaction, true, fx);
            }
        }
    }

    fn decide(&mut self, transaction: TransactionId, commits: bool, fx: &mut impl Effects<Self>) {
        let unacknowledged = self.group.peers();
        fx.broadcast(&unacknowledged, Message::Decision { transaction, commits });
        self.record_decision(transaction, commits, unacknowledged, fx);
    }

    /// Aborts each transaction that lacks votes and for which `is_selected` returns true. The
    /// argument of `is_selected` is the set of processes that have not voted.
    fn abort_where(
        &mut self,
        is_selected: impl Fn(&ProcessSet) -> bool,
        fx: &mut impl Effects<Self>,
    ) {
        let undecided = self.transactions.iter().filter(
            |(_, it)| matches!(it, Progress::Collecting { awaited } if is_selected(awaited)),
        );
        let undecided: Vec<_> = undecided.map(|(transaction, _)| *transaction).collect();
        for transaction in undecided {
            self.decide(transaction, false, fx);
        }
    }

    fn trusted(&self) -> ProcessSet {
        self.group.peers().iter().filter(|peer| !self.suspected.contains(*peer)).collect()
    }

    fn has(&self, switch: VariantId) -> bool {
        self.variants.has(switch)
    }
}
