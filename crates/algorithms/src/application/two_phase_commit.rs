//! Two-phase commit: the leader asks whether all can commit, and then sends the decision.
//!
//! J. Gray, *Notes on data base operating systems*, 1978; with the termination protocol of
//! P. Bernstein, V. Hadzilacos, N. Goodman, *Concurrency control and recovery in database
//! systems*, 1987.
//!
//! | | |
//! |---|---|
//! | assumes | a leader; reliable channels; stable storage |
//! | messages per transaction | 3(N − 1): prepare, vote, decision; and N − 1 acknowledgements |
//! | messages per change of leader | 2(N − 1): inquire, report |
//! | delay | 3 messages |
//!
//! **Why it is right.** A transaction commits only when its coordinator has a yes vote of every
//! process, and only the coordinator decides this. A process that has voted yes is *uncertain*
//! until it learns the decision. Votes and decisions are saved before they are sent. A restarted
//! coordinator repeats its logged decisions and aborts the rest. It also aborts when a participant
//! is suspected before it has voted.
//!
//! A new leader does not have the log of the old coordinator. It can only ask whether any process
//! knows the decision or has not voted. If a process knows the decision, all processes learn the
//! decision. If a process has not voted, no process has committed, and none will commit. The reason
//! is that a process that has responded to the new leader no longer votes on older transactions. A
//! coordinator that learns of a newer term aborts its undecided transactions. If all reachable
//! processes are uncertain, they are blocked until a process that knows the decision is back. No
//! protocol of this kind can do better: the coordinator may have committed alone.

mod inquiry;

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use tenure_core::service::commit::{Command, Event, TransactionId};
use tenure_core::{
    Effects, Group, Never, PeerVerdict, ProcessId, ProcessSet, Protocol, Term, labelled,
};

use self::inquiry::Inquiry;
pub use self::inquiry::{TransactionState, TransactionStates};
use super::{Application, Leadership};
use crate::Variants;
use crate::variants::variant_ids;

/// One process: a participant, and the coordinator of the transactions that it started.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TwoPhaseCommit {
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
    /// The decision is made. The participants in `unacknowledged` have not acknowledged it yet.
    Decided { commits: bool, unacknowledged: ProcessSet },
}

/// Messages between processes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Asks whether the receiver can commit.
    Prepare {
        /// Transaction to vote on.
        transaction: TransactionId,
    },
    /// The sender's vote.
    Vote {
        /// Transaction on which the sender votes.
        transaction: TransactionId,
        /// True if the vote is yes.
        yes: bool,
    },
    /// Announces the decision.
    Decision {
        /// Transaction that is decided.
        transaction: TransactionId,
        /// True if the transaction commits.
        commits: bool,
    },
    /// Acknowledges the decision.
    Acknowledgement {
        /// Transaction whose decision is acknowledged.
        transaction: TransactionId,
    },
    /// A new leader asks for the state of all transactions that the receiver knows.
    Inquire {
        /// Term of the new leader.
        term: Term,
    },
    /// Reports all transactions that the sender knows. From then on, the sender votes on no
    /// transaction of an older term.
    Report {
        /// Term in the `Inquire` message to which this message responds.
        term: Term,
        /// Transactions known to the sender.
        log: TransactionStates,
    },
    /// Informs the receiver of a newer term.
    Newer {
        /// Newest term known to the sender.
        term: Term,
    },
}

labelled!(
    Message, Agreement,
    Prepare => "prepare", Vote => "vote", Decision => "decision",
    Acknowledgement => "acknowledgement", Inquire => "inquire", Report => "report",
    Newer => "newer",
);

/// Configuration of one process.
pub type Config = Variants<VariantId>;

variant_ids! {
    Guess = "guess", unsound,
        "a new leader aborts transactions whose decision no reachable process knows";
    NoTerms = "no-terms", unsound,
        "a process that has reported to a new leader still votes in older terms";
    Unlogged = "unlogged", unsound,
        "votes and decisions are not saved";
}

/// State that survives a crash.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Stable {
    term: Option<Term>,
    log: TransactionStates,
}

impl Protocol for TwoPhaseCommit {
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
        let mut process = TwoPhaseCommit {
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
        let is_unlogged = self.variants.has(VariantId::Unlogged);
        let log = if is_unlogged { TransactionStates::new() } else { self.transaction_states() };
        Stable { term: self.leadership.term, log }
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
            | Message::Inquire { term }
                if let Some(term) = self.newer_term(term) =>
            {
                fx.send(from, Message::Newer { term });
            }
            Message::Prepare { transaction } => {
                self.follow(transaction.term, fx);
                let yes = self.vote(transaction, fx);
                fx.send(from, Message::Vote { transaction, yes });
            }
            Message::Vote { transaction, yes } => self.on_vote(from, transaction, yes, fx),
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

impl Application for TwoPhaseCommit {
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
impl TwoPhaseCommit {
    /// Returns true if this process has voted yes on some transaction and does not know the
    /// outcome.
    pub fn has_uncertain_transaction(&self) -> bool {
        self.transactions.values().any(|progress| *progress == Progress::Prepared)
    }

    fn resume(
        &mut self,
        transaction: TransactionId,
        entry: TransactionState,
        fx: &mut impl Effects<Self>,
    ) {
        let coordinates = transaction.term.leader == self.group.me();
        match entry {
            TransactionState::Prepared => {
                self.transactions.insert(transaction, Progress::Prepared);
                fx.emit(Event::Prepared { transaction });
            }
            TransactionState::Begun => self.decide(transaction, false, fx),
            TransactionState::Committed | TransactionState::Aborted => {
                let commits = entry == TransactionState::Committed;
                let unacknowledged =
                    if coordinates { self.group.peers() } else { ProcessSet::new() };
                fx.broadcast(&unacknowledged, Message::Decision { transaction, commits });
                self.transactions
                    .insert(transaction, Progress::Decided { commits, unacknowledged });
            }
        }
    }

    /// Follows `term` if it is newer than all known terms. Then aborts the undecided transactions
    /// that this process coordinates.
    fn follow(&mut self, term: Term, fx: &mut impl Effects<Self>) {
        if self.leadership.follow(term) {
            self.inquiry = None;
            self.abort_where(|_| true, fx);
        }
    }

    /// Returns the newest known term if it is newer than `term`, so that the caller must refuse a
    /// message of `term`. Otherwise returns `None`.
    fn newer_term(&self, term: Term) -> Option<Term> {
        self.leadership.newer_than(term).filter(|_| !self.variants.has(VariantId::NoTerms))
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
impl TwoPhaseCommit {
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
            self.decide(transaction, true, fx);
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
        if !yes || awaited.is_empty() {
            self.decide(transaction, yes, fx);
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
}
