//! Two-phase commit: the leader asks whether all can, and then tells all whether they do.
//!
//! J. Gray, *Notes on data base operating systems*, 1978; with the termination protocol of
//! P. Bernstein, V. Hadzilacos, N. Goodman, *Concurrency control and recovery in database
//! systems*, 1987.
//!
//! | | |
//! |---|---|
//! | assumes | a leader; reliable channels; what is stable survives a crash |
//! | messages per transaction | 3(N − 1): prepare, vote, decision; N − 1 acknowledgements |
//! | messages per change of leader | 2(N − 1): inquire, report |
//! | delay | 3 messages |
//!
//! **Why it is right.** A transaction commits only when its coordinator has a yes of everybody,
//! and only the coordinator says so first. Whoever has voted yes has given up its own will: until
//! it hears the decision, it is *uncertain*. Votes and decisions are stable before they are told.
//! A coordinator that comes back with its log tells what it had decided, and otherwise decides to
//! abort; that is also what it does when a participant is suspected before it has voted.
//!
//! A new leader has no such log. It can only ask whether anybody knows the decision, or whether
//! anybody has not voted. In the first case everybody gets to know. In the second nobody can have
//! committed, nor ever will: whoever answers votes in no transaction of an older term from then
//! on, and a coordinator that hears of a newer term aborts what it has not decided. If all that
//! can be asked are uncertain, they are blocked until somebody who knows comes back, and no
//! protocol of this kind can do better: the coordinator may have committed by itself.

mod survey;

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use tenure_core::service::commit::{Command, Event, Transaction};
use tenure_core::{
    Effects, Group, Never, ProcessId, ProcessSet, Protocol, Term, Verdict, labelled,
};

use self::survey::Survey;
pub use self::survey::{Entry, Log};
use super::{Allegiance, Application};
use crate::Variants;
use crate::variants::switches;

/// One process: a participant, and of the transactions that it began the coordinator.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TwoPhaseCommit {
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
    /// It is decided, and of those whom we have to tell these have not said that they know.
    Decided { commits: bool, untold: ProcessSet },
}

/// What processes say to each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// "Can you?"
    Prepare {
        /// What is to be done.
        transaction: Transaction,
    },
    /// "Yes, and I will if you say so", or "no".
    Vote {
        /// In which transaction.
        transaction: Transaction,
        /// Whether it is a yes.
        yes: bool,
    },
    /// "This is decided."
    Decision {
        /// What.
        transaction: Transaction,
        /// Whether it commits.
        commits: bool,
    },
    /// "I know."
    Acknowledgement {
        /// What was decided.
        transaction: Transaction,
    },
    /// "I lead now: what do you know of transactions?"
    Inquire {
        /// The term that begins.
        term: Term,
    },
    /// "This, and I vote in no older term."
    Report {
        /// The term in which it was asked.
        term: Term,
        /// What the sender knows.
        log: Log,
    },
    /// "There is a newer term than yours."
    Newer {
        /// The newest that the sender knows.
        term: Term,
    },
}

labelled!(
    Message, Agreement,
    Prepare => "prepare", Vote => "vote", Decision => "decision",
    Acknowledgement => "acknowledgement", Inquire => "inquire", Report => "report",
    Newer => "newer",
);

/// What is fixed for life.
#[derive(Clone, Copy, Debug, Default)]
pub struct Config {
    /// Which variants are switched on.
    pub variants: Variants<Switch>,
}

switches! {
    Guess = "guess", unsound,
        "a new leader aborts what nobody whom it can ask knows the decision of";
    NoTerms = "no-terms", unsound,
        "whoever has told a new leader what it knows goes on to vote in older terms";
    Unlogged = "unlogged", unsound,
        "votes and decisions are not saved";
}

/// What survives a crash.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Stable {
    /// The highest term heard of.
    term: Option<Term>,
    log: Log,
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
        let none = Stable { term: None, log: Log::new() };
        let Stable { term, log } = stable.unwrap_or(none);
        let mut process = TwoPhaseCommit {
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
        let log = if self.variants.has(Switch::Unlogged) { Log::new() } else { self.log() };
        Stable { term: self.allegiance.term, log }
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
            | Message::Inquire { term }
                if let Some(term) = self.refusing(term) =>
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

impl Application for TwoPhaseCommit {
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
impl TwoPhaseCommit {
    /// Whether there is something of which this process has to hear the decision.
    pub fn is_uncertain(&self) -> bool {
        self.transactions.values().any(|progress| *progress == Progress::Prepared)
    }

    /// Goes on after a crash with what the log says.
    fn resume(&mut self, transaction: Transaction, entry: Entry, fx: &mut impl Effects<Self>) {
        let coordinates = transaction.term.leader == self.group.me();
        match entry {
            Entry::Prepared => {
                self.transactions.insert(transaction, Progress::Prepared);
                fx.emit(Event::Prepared { transaction });
            }
            Entry::Begun => self.decide(transaction, false, fx),
            Entry::Committed | Entry::Aborted => {
                let commits = entry == Entry::Committed;
                let untold = if coordinates { self.group.peers() } else { ProcessSet::new() };
                fx.broadcast(&untold, Message::Decision { transaction, commits });
                self.transactions.insert(transaction, Progress::Decided { commits, untold });
            }
        }
    }

    /// Takes note of a term. What was not decided in an older one of ours is not to be.
    fn follow(&mut self, term: Term, fx: &mut impl Effects<Self>) {
        if self.allegiance.follow(term) {
            self.survey = None;
            self.abort_where(|_| true, fx);
        }
    }

    /// The newer term because of which we do not listen to this one.
    fn refusing(&self, term: Term) -> Option<Term> {
        self.allegiance.newer_than(term).filter(|_| !self.variants.has(Switch::NoTerms))
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
impl TwoPhaseCommit {
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
            self.decide(transaction, true, fx);
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
        if !yes || awaited.is_empty() {
            self.decide(transaction, yes, fx);
        }
    }

    fn decide(&mut self, transaction: Transaction, commits: bool, fx: &mut impl Effects<Self>) {
        let untold = self.group.peers();
        fx.broadcast(&untold, Message::Decision { transaction, commits });
        self.learn(transaction, commits, untold, fx);
    }

    /// Aborts what is undecided and awaits votes like this.
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
}
