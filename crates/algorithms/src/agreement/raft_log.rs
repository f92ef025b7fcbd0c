//! Raft with its log: whoever a majority elects takes entries, sends them to the others, and has
//! them committed when a majority has them.
//!
//! D. Ongaro, *Consensus: bridging theory and practice*, Stanford 2014. The sections in brackets
//! are those of the thesis: leader election and log replication (3.4, 3.5), what makes them safe
//! (3.6), handing over the lead (3.10), changes of membership (4), compaction (5), pre-vote (9.6),
//! reads that cost no entry (6.4).
//!
//! | | |
//! |---|---|
//! | assumes | a majority is up; bounded delays, from some moment on, to make progress |
//! | survives | loss, duplication, any order; crashes, with a return to what was saved |
//! | messages per entry | 2(N − 1), fewer where several entries share a message |
//! | delay | 2 messages until the leader has committed; others hear with the next message |
//!
//! **Why it is right.** Five things hold at every moment, each by those before it (Figure 3.2).
//! *A term has at most one leader*: two majorities share a process, and it votes once in a term, as
//! it saves its vote before that leaves. *A leader never drops or changes what is in its log*: only
//! what comes from the leader of the current term cuts a log, and nobody sends itself anything.
//! *Two logs with an entry of the same term at the same index are alike up to it*: one leader made
//! the entry, once at that index, and a log takes it only where it has the entry before it. *What
//! is committed in a term is in the log of every leader of a later one*: a majority has it, one of
//! them voted for that leader, later than it stored the entry, and gives its vote only to a log
//! that is as up to date as its own (`election.rs`, `commitment.rs`). *Nobody is told of another
//! entry at an index where one is committed*: by the last two.
//!
//! That rests on what is saved before anything is said of it: term, vote and log. What is committed
//! is not saved; whoever comes back hears of it again from a leader.
//!
//! The files beside this one have a chapter each: `election`, `replication`, `commitment`,
//! `snapshot`, `members`, `eviction`, `reads`, `handover`; `saved` is what survives a crash.

mod card;
mod commitment;
mod config;
mod election;
mod eviction;
mod handover;
mod log;
mod members;
mod message;
mod reads;
mod replication;
mod routes;
mod rules;
mod saved;
mod snapshot;

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;

use tenure_core::service::log::{Command, Content, Entry, Event, Members, Reason};
use tenure_core::{Effects, Fixed, Group, ProcessId, ProcessSet, Protocol, TimerRole};

pub use config::{Config, Switch};
use handover::Handover;
pub use log::{Log, Place};
use members::{Change, Roster};
pub use message::{Message, Piece};
use reads::Reads;
use replication::Progress;
pub use saved::Stable;
use snapshot::Arriving;
pub use snapshot::Snapshot;

/// One process of the group.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RaftLog {
    group: Group,
    config: Fixed<Config>,
    /// `currentTerm`: the latest term that this process has heard of.
    term: u64,
    /// `votedFor`: who got our vote in this term.
    voted_for: Option<ProcessId>,
    /// `log[]`.
    log: Log,
    /// What stands for the head of the log.
    snapshot: Option<Arc<Snapshot>>,
    /// What a leader sends to stand for more of it.
    arriving: Option<Arriving>,
    /// Who keeps the log, as far as it says.
    roster: Roster,
    /// `commitIndex` and `lastApplied`: our user was told of everything up to here.
    commit: u64,
    role: Role,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Role {
    Follower {
        /// Whom it hears; nobody yet in this term, or no longer.
        leader: Option<ProcessId>,
    },
    /// Asks whether others would vote for it, before it leaves its term.
    PreCandidate {
        /// Those who would, itself included.
        votes: ProcessSet,
    },
    Candidate {
        /// Those who have voted for it, itself included.
        votes: ProcessSet,
        /// The term and the vote that are saved, where it has asked before it saves its own.
        saved: Option<(u64, Option<ProcessId>)>,
    },
    Leader(Leadership),
    /// It has lost entries that it acknowledged, and takes no further part.
    Out,
}

/// What exists only while we lead.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Leadership {
    /// By process: how far its log is known to be as ours. Our own place is not used.
    peers: Vec<Progress>,
    /// Who has answered us since the election timeout fired last.
    heard: ProcessSet,
    /// How many entries at the end of our log were sent and are not to be saved yet.
    ahead: u64,
    /// Whether more is committed than was said since we sent together last.
    untold: bool,
    /// Entries that our user waits for, the oldest first: index and ticket.
    proposed: VecDeque<(u64, u64)>,
    reads: Reads,
    /// To whom we give the lead, if we do.
    handover: Option<Handover>,
    /// What our user wants to change about the members.
    change: Option<Box<Change>>,
    /// The entry that ends such a change, and under which ticket our user waits for it.
    changed: Option<(u64, u64)>,
}

/// The timers of this algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Timer {
    /// The election timeout: nothing was heard of a leader, or the vote was split. A leader asks
    /// itself then whether a majority has answered it.
    Election,
    /// A leader's next heartbeat is due.
    Heartbeat,
    /// A leader sends what was proposed, and says what is committed.
    Send,
    /// What a leader has sent ahead it stores itself; a candidate, its own vote.
    Store,
}

impl Protocol for RaftLog {
    type Config = Config;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Timer;
    type Stable = Stable;

    fn boot(
        group: Group,
        config: &Config,
        stable: Option<Stable>,
        fx: &mut impl Effects<Self>,
    ) -> Self {
        let Stable { term, voted_for, snapshot, log, .. } = stable.unwrap_or_default();
        fx.set_timer(Timer::Election, config.election);
        let mut process = RaftLog {
            group,
            config: Fixed::new(config.clone()),
            term,
            voted_for,
            log,
            snapshot,
            arriving: None,
            roster: Roster { at: 0, members: Members::default() },
            commit: 0,
            role: Role::Follower { leader: None },
        };
        process.commit = process.compacted();
        process.find_members();
        process.tell_of_snapshot(fx);
        for (index, entry) in (process.log.base().index + 1..).zip(process.log.entries()) {
            fx.emit(Event::Stored { index, entry: entry.clone() });
        }
        process
    }

    fn stable(&self) -> Stable {
        self.saved()
    }

    fn unsaved(&self, saved: &Stable) -> Option<Stable> {
        self.change(saved)
    }

    const DEFERS: bool = true;

    fn urgent(&self, saved: &Stable) -> Option<Stable> {
        self.urgent_change(saved)
    }

    fn amend(saved: &mut Stable, change: Stable) {
        saved.amend(change);
    }

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        if self.is_out() {
            return self.decline(command.ticket(), Reason::NotLeading, fx);
        }
        match command {
            Command::Append { ticket, payload } => {
                self.propose(ticket, Content::Payload(payload), fx);
            }
            Command::Read { ticket } => self.read(ticket, fx),
            Command::Transfer { ticket, to } => self.hand_over(ticket, Some(to), fx),
            Command::HandOver { ticket } => self.hand_over(ticket, None, fx),
            Command::Compact { ticket, index, state } => self.compact(ticket, index, state, fx),
            Command::ChangeMembers { ticket, voters, learners } => {
                let to = Members { learners, ..Members::of(voters) };
                self.change_members(ticket, to, fx);
            }
        }
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        if self.is_out() {
            return;
        }
        match message {
            Message::RequestPreVote { term, last } => {
                self.on_request_pre_vote(from, term, last, fx)
            }
            Message::PreVote { term, granted } => self.on_pre_vote(from, term, granted, fx),
            Message::RequestVote { term, last } => self.on_request_vote(from, term, last, fx),
            Message::Vote { term, granted } => self.on_vote(from, term, granted, fx),
            Message::Append { term, .. }
            | Message::Committed { term, .. }
            | Message::Piece { term, .. }
            | Message::Heartbeat { term, .. }
                if term < self.term =>
            {
                fx.send(from, Message::Overtaken { term: self.term });
            }
            Message::Append { term, .. }
            | Message::Committed { term, .. }
            | Message::Piece { term, .. }
            | Message::Heartbeat { term, .. } => {
                self.notice(term, fx);
                self.on_leader(from, message, fx);
            }
            Message::HeartbeatResponse { term, .. }
            | Message::HasPieces { term, .. }
            | Message::Appended { term, .. }
            | Message::Rejected { term, .. } => {
                self.notice(term, fx);
                if term == self.term {
                    self.on_follower(from, message, fx);
                }
            }
            Message::TimeoutNow { term } => self.on_timeout_now(from, term, fx),
            Message::Overtaken { term } => self.notice(term, fx),
            Message::AskMembership { last } => self.on_ask_membership(from, last, fx),
            Message::Removed { at } => self.on_removed(at, fx),
        }
    }

    fn on_timer(&mut self, timer: Timer, fx: &mut impl Effects<Self>) {
        if self.is_out() {
            return;
        }
        match timer {
            Timer::Election => self.on_election_timeout(fx),
            Timer::Heartbeat => self.beat(fx),
            Timer::Send => self.send_together(fx),
            Timer::Store => self.store_ahead(fx),
        }
    }

    /// A heartbeat claims nothing but that its sender led in a term when it sent it, and the answer
    /// nothing but that its sender had heard of no later one. Both stay true after a crash.
    fn rests_on_saves(message: &Message) -> bool {
        !matches!(message, Message::Heartbeat { .. } | Message::HeartbeatResponse { .. })
    }

    fn timer_role(timer: &Timer) -> TimerRole {
        match timer {
            Timer::Election => TimerRole::MeasuresSilence,
            Timer::Heartbeat => TimerRole::Paces,
            Timer::Send | Timer::Store => TimerRole::Plain,
        }
    }
}

impl RaftLog {
    /// What is in the log of this process.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// Up to which index this process knows its log to be committed.
    pub fn committed(&self) -> u64 {
        self.commit
    }

    /// Returns true while this process asks for votes or pre-votes.
    pub fn is_campaigning(&self) -> bool {
        matches!(self.role, Role::PreCandidate { .. } | Role::Candidate { .. })
    }

    /// Ends whatever we were in this term, and follows nobody.
    fn step_down(&mut self, fx: &mut impl Effects<Self>) {
        self.keep_ahead(fx);
        let was = core::mem::replace(&mut self.role, Role::Follower { leader: None });
        self.arriving = None;
        match was {
            Role::Leader(Leadership { proposed, reads, handover, change, changed, .. }) => {
                fx.cancel_timer(Timer::Heartbeat);
                fx.cancel_timer(Timer::Send);
                fx.set_timer(Timer::Election, self.config.election);
                fx.emit(Event::Following { term: self.term, leader: None });
                proposed.iter().for_each(|(_, ticket)| fx.emit(Event::Unknown { ticket: *ticket }));
                for ticket in reads.tickets() {
                    fx.emit(Event::Declined { ticket, reason: Reason::Deposed, leader: None });
                }
                if let Some(Handover { ticket, .. }) = handover {
                    fx.emit(Event::HandedOver { ticket });
                }
                if let Some(ticket) = change.as_ref().and_then(|change| change.ticket) {
                    if change.is_some_and(|change| change.is_without_trace()) {
                        self.decline(ticket, Reason::Deposed, fx);
                    } else {
                        fx.emit(Event::Unknown { ticket });
                    }
                }
                if let Some((_, ticket)) = changed {
                    fx.emit(Event::Unknown { ticket });
                }
            }
            Role::Follower { leader: Some(_) } => {
                fx.emit(Event::Following { term: self.term, leader: None });
            }
            Role::Follower { .. }
            | Role::PreCandidate { .. }
            | Role::Candidate { .. }
            | Role::Out => {}
        }
    }

    /// Puts an entry behind the last one of our log.
    fn store(&mut self, entry: Entry, fx: &mut impl Effects<Self>) {
        self.keep_ahead(fx);
        self.log.push(entry.clone());
        let index = self.log.last().index;
        if let Content::Members(members) = &entry.content {
            self.roster = Roster { at: index, members: Members::clone(members) };
        }
        fx.emit(Event::Stored { index, entry });
    }

    /// Drops all entries from there on; whoever kept the log before keeps it again.
    fn cut_log(&mut self, from: u64, fx: &mut impl Effects<Self>) {
        self.log.drop_from(from);
        if self.roster.at >= from {
            self.find_members();
        }
        fx.emit(Event::Dropped { from });
    }

    /// Whom we believe in.
    fn leader(&self) -> Option<ProcessId> {
        match &self.role {
            Role::Leader(_) => Some(self.group.me()),
            Role::Follower { leader } => *leader,
            Role::PreCandidate { .. } | Role::Candidate { .. } | Role::Out => None,
        }
    }

    fn decline(&self, ticket: u64, reason: Reason, fx: &mut impl Effects<Self>) {
        fx.emit(Event::Declined { ticket, reason, leader: self.leader() });
    }

    fn are_majority(&self, processes: &ProcessSet) -> bool {
        self.members().is_majority(processes)
    }

    fn only_me(&self) -> ProcessSet {
        [self.group.me()].into_iter().collect()
    }

    fn has(&self, switch: Switch) -> bool {
        self.config.variants.has(switch)
    }
}
