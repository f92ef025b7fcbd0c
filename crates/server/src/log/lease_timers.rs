//! Remaining times of leases, which the leader measures with its clock. `tenure-session` contains
//! the rules, and the checker explores them.
//!
//! The leader divides the time of each lease into parts. At the end of each part except the last
//! part, the leader records the remaining time in the log. The next leader continues from the last
//! recorded time.

use std::time::{Duration, Instant};

use tenure_session::{CheckpointPolicy, LeaseProposal, Lessor, TimerQueue};
use tenure_store::{Command, ExpiredLease, LeaseChange, LeaseCheckpoint, LeaseId, Store};

use crate::log::request::RenewalOutcome;

pub(crate) const MAX_LEASES_PER_COMMAND: usize = 1000;

/// Time after which the leader proposes the expiry of a lease again, if it does not know the
/// outcome of its last proposal.
const EXPIRY_RETRY_INTERVAL: Duration = Duration::from_millis(200);

/// Time from the moment when the checkpoint timer of a lease fires to the proposal of the
/// checkpoint. More timers fire during this time, and one log entry then records the remaining
/// times of all these leases.
const CHECKPOINT_DELAY: Duration = Duration::from_millis(100);

/// Longest delay with which a timer fires while the process runs normally. After a longer delay,
/// the process was suspended. The next timer of the lease then starts at the time of the late
/// firing, and not at the time at which the timer was due.
pub(crate) const MAX_TIMER_DELAY: Duration = Duration::from_millis(300);

/// Timers of all leases. Only the timers of the leader run.
#[derive(Debug)]
pub(crate) struct LeaseTimers {
    /// Term in which this member leads. `None`: it does not lead.
    term: Option<u64>,
    lessor: Lessor<LeaseId>,
    /// Timers of the leases that need no further checkpoint before they expire. When the timer of a
    /// lease fires, the leader proposes the expiry of the lease.
    expiry_timers: TimerQueue<LeaseId, Instant>,
    /// Timers of the leases whose remaining time must be recorded before they expire. When the
    /// timer of a lease fires, a checkpoint of the lease is due.
    checkpoint_timers: TimerQueue<LeaseId, Instant>,
}

impl Default for LeaseTimers {
    fn default() -> Self {
        LeaseTimers {
            term: None,
            lessor: Lessor::new(CheckpointPolicy::TENTHS),
            expiry_timers: TimerQueue::default(),
            checkpoint_timers: TimerQueue::default(),
        }
    }
}

impl LeaseTimers {
    /// Starts the timers of all leases. The store contains the remaining time of each lease that
    /// the log last recorded, and the timers continue from these times.
    pub(crate) fn start_leading(&mut self, term: u64, store: &Store, now: Instant) {
        *self = LeaseTimers { term: Some(term), ..LeaseTimers::default() };
        for (lease, stored) in store.leases() {
            let part = self.lessor.start_countdown(lease, stored.left, stored.ttl);
            self.arm(lease, part, now);
        }
    }

    pub(crate) fn stop_leading(&mut self) {
        *self = LeaseTimers::default();
    }

    /// Applies the lease changes of a command. `store` is the store after that command. Does
    /// nothing if this member does not lead.
    pub(crate) fn apply(&mut self, changes: &[LeaseChange], store: &Store, now: Instant) {
        if self.term.is_none() {
            return;
        }
        for change in changes {
            match *change {
                LeaseChange::Remaining { lease, seconds } => {
                    let all = store.lease(lease).map_or(seconds, |stored| stored.ttl);
                    let part = self.lessor.start_countdown(lease, seconds, all);
                    self.arm(lease, part, now);
                }
                LeaseChange::Ended { lease } => {
                    self.lessor.remove(lease);
                    self.disarm(lease);
                }
                LeaseChange::ExpiryRejected { lease, term, renewal_index }
                    if self.term == Some(term) =>
                {
                    let part = self.lessor.on_expiry_rejected(lease, renewal_index);
                    self.arm(lease, part, now);
                }
                // The rejected expiry was proposed in another term. The timers of this leader
                // continue.
                LeaseChange::ExpiryRejected { .. } => {}
            }
        }
    }

    /// Renews a lease. Before the call, the caller must check that a majority has confirmed this
    /// leader in `term` since the renewal request arrived.
    pub(crate) fn renew(&mut self, lease: LeaseId, term: u64, store: &Store) -> RenewalOutcome {
        if self.term != Some(term) {
            return RenewalOutcome::Deposed;
        }
        let renewal = self.lessor.renew(lease);
        match renewal {
            tenure_session::RenewalOutcome::Accepted { part_length: part } => {
                self.arm(lease, Some(part), Instant::now());
                store
                    .lease(lease)
                    .map_or(RenewalOutcome::Gone, |stored| RenewalOutcome::Renewed(stored.ttl))
            }
            tenure_session::RenewalOutcome::NeedsCheckpoint { ttl } => {
                RenewalOutcome::NeedsCheckpoint(ttl)
            }
            tenure_session::RenewalOutcome::Pending => RenewalOutcome::Expiring,
            tenure_session::RenewalOutcome::NotFound => RenewalOutcome::Gone,
        }
    }

    /// Returns the remaining time of a lease. Returns `None` if the lease has no timer, because
    /// this member does not lead, the expiry of the lease is proposed, or the lease does not exist.
    pub(crate) fn time_left(&self, lease: LeaseId, now: Instant) -> Option<Duration> {
        let in_part = self.deadline_of(lease)?.saturating_duration_since(now);
        self.lessor
            .remaining_at_next_checkpoint(lease)
            .map(|remaining| Duration::from_secs(remaining) + in_part)
    }

    /// Returns all leases of the store, in the order of their expiry. Leases without a timer come
    /// first.
    pub(crate) fn leases_by_expiry(&self, store: &Store) -> Vec<LeaseId> {
        let expiry = |lease| {
            let in_part = self.deadline_of(lease)?;
            let remaining = self.lessor.remaining_at_next_checkpoint(lease)?;
            Some(in_part + Duration::from_secs(remaining))
        };
        let mut leases: Vec<_> = store.leases().map(|(lease, _)| (expiry(lease), lease)).collect();
        leases.sort_unstable();
        leases.into_iter().map(|(_, lease)| lease).collect()
    }

    /// Returns the time at which the next command is due. Returns `None` if no timer runs. An
    /// expiry is due when its timer fires. A checkpoint is due [`CHECKPOINT_DELAY`] after its timer
    /// fires, so that one log entry can record many leases.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        let checkpoints = self.checkpoint_timers.next_due().map(|at| at + CHECKPOINT_DELAY);
        self.expiry_timers.next_due().into_iter().chain(checkpoints).min()
    }

    /// Returns commands for the leases whose timers have fired: a checkpoint if the checkpoint
    /// timer has fired, and an expiry if the expiry timer has fired. A command covers at most
    /// [`MAX_LEASES_PER_COMMAND`] leases; the next call returns the rest. The cost depends only on
    /// the number of fired timers.
    pub(crate) fn take_due_commands(&mut self, store: &Store, now: Instant) -> Vec<Command> {
        let Some(term) = self.term else { return Vec::new() };
        let (mut checkpoints, mut expiries) = (Vec::new(), Vec::new());
        while checkpoints.len() < MAX_LEASES_PER_COMMAND
            && expiries.len() < MAX_LEASES_PER_COMMAND
            && let Some((lease, due)) =
                self.expiry_timers.pop_due(now).or_else(|| self.checkpoint_timers.pop_due(now))
        {
            let Some(renewal_index) = store.lease(lease).map(|stored| stored.renewal_index) else {
                continue;
            };
            match self.lessor.on_timer(lease, renewal_index) {
                LeaseProposal::Checkpoint { left, part } => {
                    let from = if now - due < MAX_TIMER_DELAY { due } else { now };
                    self.arm(lease, Some(part), from);
                    checkpoints.push(LeaseCheckpoint { lease, left, renewal_index });
                }
                LeaseProposal::Expire => expiries.push(ExpiredLease { lease, renewal_index }),
                LeaseProposal::None => {}
            }
        }
        let checkpoints =
            (!checkpoints.is_empty()).then_some(Command::Checkpoint { term, leases: checkpoints });
        let expiries = (!expiries.is_empty()).then_some(Command::Expire { term, leases: expiries });
        expiries.into_iter().chain(checkpoints).collect()
    }

    /// Returns commands that record the remaining times of leases before a handover of leadership.
    /// Times are in whole seconds, rounded up. Omits a lease if the log already contains this time
    /// or a shorter time. Also omits a lease whose expiry is proposed. Returns no command if this
    /// member does not lead.
    ///
    /// After these commands, the log contains less than the full TTL of each recorded lease. If a
    /// client then renews such a lease, the renewal first needs a checkpoint with the full TTL.
    pub(crate) fn take_handover_checkpoints(
        &mut self,
        store: &Store,
        now: Instant,
    ) -> Vec<Command> {
        let Some(term) = self.term else { return Vec::new() };
        let mut checkpoints = Vec::new();
        for (lease, stored) in store.leases() {
            let Some(left) = self.time_left(lease, now) else { continue };
            let whole = left.as_secs() + u64::from(left.subsec_nanos() > 0);
            if let Some(left) = self.lessor.checkpoint_for_handover(lease, whole) {
                checkpoints.push(LeaseCheckpoint {
                    lease,
                    left,
                    renewal_index: stored.renewal_index,
                });
            }
        }
        let command = |checkpoints: &[LeaseCheckpoint]| Command::Checkpoint {
            term,
            leases: checkpoints.to_vec(),
        };
        checkpoints.chunks(MAX_LEASES_PER_COMMAND).map(command).collect()
    }

    /// Handles a checkpoint or an expiry whose proposal has failed, so that its outcome may be
    /// unknown. A lost checkpoint needs no retry, because the next checkpoint replaces it. An
    /// expiry is proposed again after [`EXPIRY_RETRY_INTERVAL`], and its lease cannot be renewed
    /// until the outcome is known.
    pub(crate) fn schedule_expiry_retry(&mut self, command: &Command, now: Instant) {
        if let Command::Expire { term, leases } = command
            && self.term == Some(*term)
        {
            for ExpiredLease { lease, .. } in leases {
                // A lease already has a timer if it was granted again, if a checkpoint recorded its
                // time, or if its expiry was rejected in the meantime.
                if self.deadline_of(*lease).is_none() {
                    self.expiry_timers.arm(*lease, now + EXPIRY_RETRY_INTERVAL);
                }
            }
        }
    }

    fn deadline_of(&self, lease: LeaseId) -> Option<Instant> {
        self.expiry_timers.due_at(lease).or_else(|| self.checkpoint_timers.due_at(lease))
    }

    fn disarm(&mut self, lease: LeaseId) {
        self.expiry_timers.disarm(lease);
        self.checkpoint_timers.disarm(lease);
    }

    fn arm(&mut self, lease: LeaseId, part: Option<u64>, from: Instant) {
        let Some(part) = part else { return };
        self.disarm(lease);
        let is_last = self.lessor.remaining_at_next_checkpoint(lease) == Some(0);
        let timers = if is_last { &mut self.expiry_timers } else { &mut self.checkpoint_timers };
        timers.arm(lease, from + Duration::from_secs(part));
    }
}
