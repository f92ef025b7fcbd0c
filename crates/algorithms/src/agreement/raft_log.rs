//! Raft with its log: an elected leader appends entries, replicates them, and commits each one once
//! a majority stores it.
//!
//! D. Ongaro, *Consensus: bridging theory and practice*, Stanford 2014. Numbers in brackets are
//! sections of the thesis: leader election and log replication (3.4, 3.5), their safety (3.6),
//! leadership transfer (3.10), membership changes (4), log compaction (5), pre-vote (9.6), and
//! reads without a log entry (6.4).
//!
//! | | |
//! |---|---|
//! | assumes | a majority is up; bounded delays, from some moment on, to make progress |
//! | survives | loss, duplication, any order; crashes with recovery of the saved state |
//! | messages per entry | 2(N − 1), fewer where several entries share a message |
//! | delay | 2 messages until the leader has committed; followers learn it with the next message |
//!
//! **Why it is safe.** Five properties hold, each because of those before it (Figure 3.2):
//!
//! * *A term has at most one leader*: two majorities share a process, and a process votes once per
//!   term because it saves its vote before sending it.
//! * *A leader never removes or changes entries of its log*: only a message of the current leader
//!   truncates a log, and a leader sends itself no message.
//! * *Two logs with the same entry at the same index are equal up to this index*: a single leader
//!   created the entry, once at that index, and a follower accepts it only if its log has the
//!   preceding entry.
//! * *An entry committed in a term is in the log of every later leader*: a majority stores it. One
//!   process of that majority voted for the later leader after it stored the entry. A process votes
//!   only for a candidate whose log is at least as up to date as its own (`election.rs`,
//!   `commitment.rs`).
//! * *No process applies a different entry at a committed index*: by the last two properties.
//!
//! The properties rely on saving the term, the vote and the log before any message that depends on
//! them is sent. The commit index is not saved. A restarted process learns it from a leader.
//!
//! Each module covers one topic: `election`, `replication`, `commitment`, `snapshot`, `members`,
//! `eviction`, `reads` and `handover`. `saved` defines the persisted state.

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

use tenure_core::service::log::{Command, Content, DeclineReason, Entry, Event, Members};
use tenure_core::{Effects, Group, ProcessId, ProcessSet, Protocol, TimerRole, UncomparedConfig};

pub use config::{Config, VariantId};
use handover::Handover;
pub use log::{EntryId, Log};
use members::{MembershipEntry, PendingMembershipChange};
pub use message::{Message, SnapshotChunk};
use reads::PendingReads;
use replication::FollowerProgress;
pub use saved::Stable;
use snapshot::IncomingSnapshot;
pub use snapshot::Snapshot;

/// One member of a group that replicates a log.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RaftReplica {
    group: Group,
    config: UncomparedConfig<Config>,
    /// Latest term that this process has seen (`currentTerm` in the paper).
    term: u64,
    /// Candidate that has this process's vote in this term, if any (`votedFor` in the paper).
    voted_for: Option<ProcessId>,
    /// Log entries of this process (`log[]` in the paper).
    log: Log,
    /// Latest snapshot, which covers the first entries; `None` if there is no snapshot.
    snapshot: Option<Arc<Snapshot>>,
    /// Snapshot of which only a part has arrived; `None` if no leader is sending one.
    incoming: Option<IncomingSnapshot>,
    /// Latest membership in the log, committed or not.
    membership: MembershipEntry,
    /// Index up to which all entries are committed and were reported to the user (`commitIndex` and
    /// `lastApplied` in the paper).
    commit: u64,
    role: Role,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Role {
    Follower {
        /// Leader of this term; `None` if this process knows no leader or suspects the leader.
        leader: Option<ProcessId>,
    },
    /// The process asks the other voters whether they would elect it in a new term.
    PreCandidate {
        /// Processes that would grant a vote. This process is one of them.
        votes: ProcessSet,
    },
    Candidate {
        /// Processes that granted their vote. This process is one of them.
        votes: ProcessSet,
        /// Saved term and vote, while the vote for itself is not saved (variant `ahead`); else
        /// `None`.
        saved: Option<(u64, Option<ProcessId>)>,
    },
    Leader(Leadership),
    /// The process takes no further part, because it lost entries that it had acknowledged.
    Disabled,
}

/// State that exists only at a leader.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Leadership {
    /// Replication progress, indexed by process. The leader's own slot is unused.
    peers: Vec<FollowerProgress>,
    /// Processes that responded since the last election timeout.
    responded: ProcessSet,
    /// Number of entries at the end of the log that this leader has not persisted yet.
    ahead: u64,
    /// True if [`Timer::Send`] must announce a new commit index (variant `announcing`).
    has_unannounced_commit: bool,
    /// Proposals whose entries are not committed yet, oldest first, as (index of the entry,
    /// ticket).
    proposed: VecDeque<(u64, u64)>,
    reads: PendingReads,
    handover: Option<Handover>,
    change: Option<Box<PendingMembershipChange>>,
    /// Final entry of a membership change: the index of the entry, and the ticket of the request.
    /// `None` if the log has no such entry, or if the entry is committed.
    final_change: Option<(u64, u64)>,
}

/// Timers of this algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Timer {
    /// The election timeout: no message of a leader has arrived in time, or the vote was split. At
    /// a leader, this timer triggers the check that a majority still responds.
    Election,
    /// The next heartbeat is due.
    Heartbeat,
    /// With `together`: the leader sends the entries proposed since the last firing.
    Send,
    /// With `ahead`: persists data that may have been sent already. A leader persists entries, and
    /// a candidate persists its vote for itself.
    Store,
}

impl Protocol for RaftReplica {
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
        fx.set_timer(Timer::Election, config.election_timeout);
        let mut process = RaftReplica {
            group,
            config: UncomparedConfig::new(config.clone()),
            term,
            voted_for,
            log,
            snapshot,
            incoming: None,
            membership: MembershipEntry { at: 0, members: Members::default() },
            commit: 0,
            role: Role::Follower { leader: None },
        };
        process.commit = process.snapshot_index();
        process.reload_membership_from_log();
        process.emit_restored(fx);
        for (index, entry) in (process.log.first_index()..).zip(process.log.entries()) {
            fx.emit(Event::Stored { index, entry: entry.clone() });
        }
        process
    }

    fn stable(&self) -> Stable {
        self.stable_state()
    }

    fn unsaved_change(&self, saved: &Stable) -> Option<Stable> {
        self.unsaved_change(saved)
    }

    const DEFERS_SAVES: bool = true;

    fn urgent_change(&self, saved: &Stable) -> Option<Stable> {
        self.urgent_part_of_change(saved)
    }

    fn apply_change(saved: &mut Stable, change: Stable) {
        saved.apply_change(change);
    }

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        if self.is_disabled() {
            return self.decline(command.ticket(), DeclineReason::NotLeading, fx);
        }
        match command {
            Command::Append { ticket, payload } => {
                self.propose(ticket, Content::Payload(payload), fx);
            }
            Command::Read { ticket } => self.on_read(ticket, fx),
            Command::Transfer { ticket, to } => self.hand_over(ticket, Some(to), fx),
            Command::HandOver { ticket } => self.hand_over(ticket, None, fx),
            Command::Compact { ticket, index, state } => self.compact(ticket, index, state, fx),
            Command::ChangeMembers { ticket, voters, learners } => {
                let to = Members { learners, ..Members::from_voters(voters) };
                self.change_members(ticket, to, fx);
            }
        }
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        if self.is_disabled() {
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
                self.update_term(term, fx);
                self.on_leader_message(from, message, fx);
            }
            Message::HeartbeatResponse { term, .. }
            | Message::HasPieces { term, .. }
            | Message::Appended { term, .. }
            | Message::Rejected { term, .. } => {
                self.update_term(term, fx);
                if term == self.term {
                    self.on_follower_response(from, message, fx);
                }
            }
            Message::TimeoutNow { term } => self.on_timeout_now(from, term, fx),
            Message::Overtaken { term } => self.update_term(term, fx),
            Message::AskMembership { last } => self.on_ask_membership(from, last, fx),
            Message::Removed { at } => self.on_removed(at, fx),
        }
    }

    fn on_timer(&mut self, timer: Timer, fx: &mut impl Effects<Self>) {
        if self.is_disabled() {
            return;
        }
        match timer {
            Timer::Election => self.on_election_timeout(fx),
            Timer::Heartbeat => self.broadcast_heartbeat(fx),
            Timer::Send => self.on_send_timer(fx),
            Timer::Store => self.on_store_timer(fx),
        }
    }

    /// Returns true if the state of this process must be saved before `message` is sent. Heartbeats
    /// and their responses do not require a save. They state only facts that the sender knew at the
    /// time, and these facts remain true after a crash.
    fn must_wait_for_save(message: &Message) -> bool {
        !matches!(message, Message::Heartbeat { .. } | Message::HeartbeatResponse { .. })
    }

    fn timer_role(timer: &Timer) -> TimerRole {
        match timer {
            Timer::Election => TimerRole::MeasuresSilence,
            Timer::Heartbeat => TimerRole::PacesHeartbeats,
            Timer::Send | Timer::Store => TimerRole::Plain,
        }
    }
}

impl RaftReplica {
    /// Returns the log of this process.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// Returns the highest index that this process knows to be committed.
    pub fn commit_index(&self) -> u64 {
        self.commit
    }

    /// Returns true while this process requests votes or pre-votes.
    pub fn is_campaigning(&self) -> bool {
        matches!(self.role, Role::PreCandidate { .. } | Role::Candidate { .. })
    }

    /// Leaves the current role, and becomes a follower that knows no leader. If this process was
    /// the leader, reports to the user the outcome of each pending request.
    fn become_follower(&mut self, fx: &mut impl Effects<Self>) {
        self.persist_all(fx);
        let was = core::mem::replace(&mut self.role, Role::Follower { leader: None });
        self.incoming = None;
        match was {
            Role::Leader(Leadership {
                proposed, reads, handover, change, final_change, ..
            }) => {
                fx.cancel_timer(Timer::Heartbeat);
                fx.cancel_timer(Timer::Send);
                fx.set_timer(Timer::Election, self.config.election_timeout);
                fx.emit(Event::Following { term: self.term, leader: None });
                proposed.iter().for_each(|(_, ticket)| fx.emit(Event::Unknown { ticket: *ticket }));
                for ticket in reads.tickets() {
                    self.decline(ticket, DeclineReason::Deposed, fx);
                }
                if let Some(Handover { ticket, .. }) = handover {
                    fx.emit(Event::HandedOver { ticket });
                }
                if let Some(ticket) = change.as_ref().and_then(|change| change.ticket) {
                    if change.is_some_and(|change| change.is_joint_entry_pending()) {
                        self.decline(ticket, DeclineReason::Deposed, fx);
                    } else {
                        fx.emit(Event::Unknown { ticket });
                    }
                }
                if let Some((_, ticket)) = final_change {
                    fx.emit(Event::Unknown { ticket });
                }
            }
            Role::Follower { leader: Some(_) } => {
                fx.emit(Event::Following { term: self.term, leader: None });
            }
            Role::Follower { .. }
            | Role::PreCandidate { .. }
            | Role::Candidate { .. }
            | Role::Disabled => {}
        }
    }

    fn append_entry(&mut self, entry: Entry, fx: &mut impl Effects<Self>) {
        self.persist_all(fx);
        self.log.push(entry.clone());
        let index = self.log.last().index;
        if let Content::Members(members) = &entry.content {
            self.membership = MembershipEntry { at: index, members: Members::clone(members) };
        }
        fx.emit(Event::Stored { index, entry });
    }

    /// Removes all entries from index `from` on. If the latest membership entry is removed, the
    /// previous membership applies again.
    fn truncate_log(&mut self, from: u64, fx: &mut impl Effects<Self>) {
        self.log.truncate_from(from);
        if self.membership.at >= from {
            self.reload_membership_from_log();
        }
        fx.emit(Event::Dropped { from });
    }

    fn leader(&self) -> Option<ProcessId> {
        match &self.role {
            Role::Leader(_) => Some(self.group.me()),
            Role::Follower { leader } => *leader,
            Role::PreCandidate { .. } | Role::Candidate { .. } | Role::Disabled => None,
        }
    }

    fn decline(&self, ticket: u64, reason: DeclineReason, fx: &mut impl Effects<Self>) {
        fx.emit(Event::Declined { ticket, reason, leader: self.leader() });
    }

    fn is_majority(&self, processes: &ProcessSet) -> bool {
        self.members().is_majority(processes)
    }

    fn own_vote(&self) -> ProcessSet {
        [self.group.me()].into_iter().collect()
    }

    fn has(&self, switch: VariantId) -> bool {
        self.config.variants.has(switch)
    }
}
