//! The service: one committed log, the store that is built from this log, and the leader.
//!
//! The algorithm `raft-log` shows that the copies of a log are consistent, so this model of the
//! service has only one log. Nevertheless the leader of the service may change. The new leader has
//! the store and the recorded remaining times of leases. The former leader may still answer clients
//! that do not know of the change.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use tenure_core::{Effects, ProcessId};
use tenure_session::{CheckpointPolicy, LeaseProposal, Lessor, RenewalOutcome};
use tenure_store::{
    AcquireLock, Command, EventKind, ExpiredLease, KeySpan, LeaseChange, LeaseCheckpoint,
    LogPosition, RangeRead, Store, StoreLimits, claim_key,
};

use super::config::LEASE_PARTS;
use super::{Blockers, ClaimTicket, LockPolicy, Message, SessionLock, Timer};
use crate::mutex::RequestId;

/// State of the service: its store, and the volatile state of its present leader.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct LockService<L: LockPolicy> {
    pub(super) store: Store,
    /// Term of the present leader, modulo
    /// [`Config::renewal_modulus`](super::Config::renewal_modulus).
    term: u64,
    lessor: Lessor<u64>,
    /// Leases, by their ID, that have ended, but whose end is not committed yet. A lease ends when
    /// it expires, or when its owner releases it. If the lease has expired, the value is the
    /// `renewal_index` that the lease had at that moment. If the lease was released, the value is
    /// `None`.
    ends: BTreeMap<u64, Option<u64>>,
    /// For each waiting claim: the keys of earlier claims that the waiting claim watches. The
    /// service notifies the waiting claim when one of these keys is deleted.
    watches: BTreeMap<(ProcessId, L::Ticket), L::Blockers>,
    /// True if the previous leader may still answer clients.
    pub(super) has_former_leader: bool,
    /// For each lease, by its ID: number of parts that have begun since the last renewal. A change
    /// of the leader reduces this number by one. The number is used only to check that the lease
    /// ends in time.
    started: BTreeMap<u64, u64>,
}

/// Returns an empty store. The store measures leases in seconds. In this model, a lease has
/// [`LEASE_PARTS`] parts, and each part takes one second of the store's time.
pub(super) fn empty_store() -> Store {
    Store::new(StoreLimits {
        max_events: 1000,
        max_bytes: 1 << 20,
        max_revisions: 1000,
        min_ttl: 1,
        max_operations: 8,
    })
}

/// Returns the ID of a session's lease. The decimal digits of the ID show the process, the start of
/// the process and the number of the session. IDs repeat after 100,000 sessions of one start, and
/// after 1,000 starts.
pub(super) fn lease_id_of(process: ProcessId, ticket: RequestId) -> u64 {
    let (boot, number) = (ticket.boot % 1_000, ticket.number % 100_000);
    u64::from(process.display_number()) * 100_000_000 + boot * 100_000 + number
}

impl<L: LockPolicy> LockService<L> {
    pub(super) fn new(store: Store, term: u64) -> Self {
        LockService {
            store,
            term,
            lessor: Lessor::new(CheckpointPolicy::TENTHS),
            ends: BTreeMap::new(),
            watches: BTreeMap::new(),
            has_former_leader: false,
            started: BTreeMap::new(),
        }
    }

    fn apply(&mut self, command: Command) -> tenure_store::ApplyOutcome {
        let LogPosition { index, .. } = self.store.applied();
        let outcome = self.store.apply(LogPosition { index: index + 1, term: self.term }, command);
        if self.ends.is_empty() {
            self.store.reset_log_indexes();
        }
        outcome
    }

    /// Reads the queue of a claim in the state that the store had at revision `at`. Returns two
    /// values: the revision that created the claim's own key, and the keys for which the claim
    /// waits. If the claim has no key, both values are `None`. If the claim waits for no key, the
    /// second value is `None`.
    fn place(
        &self,
        kind: &L,
        from: ProcessId,
        ticket: &L::Ticket,
        at: u64,
    ) -> (Option<u64>, Option<L::Blockers>) {
        let lease = lease_id_of(from, ticket.session());
        let AcquireLock { name, mode, .. } = kind.acquire_command(from, ticket, lease);
        let key = KeySpan::single(claim_key(&name, lease, mode));
        let read = RangeRead { revision: at, ..RangeRead::at_current_revision(key) };
        let found = self.store.range(&read).ok();
        let own = found.and_then(|found| found.kvs.first().map(|kv| kv.create_revision));
        let claim = (from, ticket, lease);
        (own, own.and_then(|own| kind.blockers(&self.store, claim, own, at)))
    }
}

impl<L: LockPolicy> SessionLock<L> {
    /// Starts the countdowns of all leases when the term of a new leader begins. Each lease expires
    /// after the remaining time that the log records for it. Also starts the timer of the next
    /// change of the leader.
    pub(super) fn start_lease_countdowns(&mut self, fx: &mut impl Effects<Self>) {
        let Some(service) = &self.service else { return };
        fx.set_timer(Timer::Change, self.config.service_config().leader_change_delay);
        let leases: Vec<(u64, u64)> =
            service.store.leases().map(|(lease, value)| (lease, value.left)).collect();
        for (lease, left) in leases {
            let left = self.remaining_parts_after_failover(left);
            let part = self
                .service
                .as_mut()
                .and_then(|it| it.lessor.start_countdown(lease, left, LEASE_PARTS));
            self.set_part_timer(lease, part, fx);
        }
    }

    /// Replaces the leader of the service. The new leader keeps the store, but not the watches and
    /// the ends of leases that are not committed yet. The next change is possible only after the
    /// end of another part of a lease.
    pub(super) fn change_leader(&mut self, fx: &mut impl Effects<Self>) {
        let modulus = self.config.service_config().renewal_modulus;
        let Some(service) = &mut self.service else { return };
        let store = service.store.clone();
        let ends = core::mem::take(&mut service.ends);
        ends.into_keys().for_each(|lease| fx.cancel_timer(Timer::Commit(lease)));
        let mut next = LockService::new(store, (service.term + 1) % modulus.max(1));
        next.store.reset_log_indexes();
        next.has_former_leader = true;
        // Each change may delay the end of a lease by one part.
        let started = core::mem::take(&mut service.started).into_iter();
        next.started = started.map(|(lease, parts)| (lease, parts.saturating_sub(1))).collect();
        self.service = Some(next);
        self.start_lease_countdowns(fx);
        fx.cancel_timer(Timer::Change);
    }

    /// Commits a log entry, applies it to the store, and notifies the clients whose watched keys
    /// the entry deletes.
    fn commit(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        let Some(service) = &mut self.service else { return };
        let outcome = service.apply(command);
        for change in outcome.lease_changes {
            let Some(service) = &mut self.service else { return };
            let lessor = &mut service.lessor;
            match change {
                LeaseChange::Remaining { lease, seconds } => {
                    let part = lessor.start_countdown(lease, seconds, LEASE_PARTS);
                    if seconds == LEASE_PARTS {
                        service.started.remove(&lease);
                    }
                    self.set_part_timer(lease, part, fx);
                }
                LeaseChange::Ended { lease } => {
                    lessor.remove(lease);
                    service.started.remove(&lease);
                    fx.cancel_timer(Timer::Part(lease));
                }
                LeaseChange::ExpiryRejected { lease, term, renewal_index } => {
                    let part = (term == service.term)
                        .then(|| lessor.on_expiry_rejected(lease, renewal_index))
                        .flatten();
                    if part.is_some() {
                        service.started.remove(&lease);
                    }
                    self.set_part_timer(lease, part, fx);
                }
            }
        }
        let Some(service) = &mut self.service else { return };
        let deleted = outcome.events.iter().filter(|event| event.kind == EventKind::Delete);
        let deleted: Vec<u64> =
            deleted.filter_map(|event| event.prev.as_ref().map(|was| was.lease)).collect();
        let is_deleted = |keys: &L::Blockers| deleted.iter().any(|lease| keys.contains(*lease));
        let notified: Vec<_> = service.watches.extract_if(.., |_, keys| is_deleted(keys)).collect();
        let revision = service.store.revision();
        for ((process, ticket), key) in notified {
            self.send(process, Message::Deleted { ticket, key, revision }, fx);
        }
    }

    /// Sets the timer of a lease. `part` is the time until the timer fires, measured in parts: a
    /// lease consists of [`LEASE_PARTS`] parts. Also adds 1 to the number of parts that have begun
    /// since the last renewal. Does nothing if `part` is `None`.
    fn set_part_timer(&mut self, lease: u64, part: Option<u64>, fx: &mut impl Effects<Self>) {
        let (Some(part), Some(service)) = (part, &mut self.service) else { return };
        *service.started.entry(lease).or_default() += 1;
        fx.set_timer(Timer::Part(lease), self.config.service_config().duration_of_parts(part));
    }

    pub(super) fn on_open(
        &mut self,
        from: ProcessId,
        ticket: L::Ticket,
        round: u64,
        fx: &mut impl Effects<Self>,
    ) {
        let lease = lease_id_of(from, ticket.session());
        let known = self.service.as_ref().is_some_and(|it| it.store.lease(lease).is_some());
        if known {
            return self.on_renew(from, ticket, round, fx);
        }
        self.commit(Command::Grant { lease, ttl: LEASE_PARTS }, fx);
        self.send(from, Message::Alive { ticket, round }, fx);
    }

    pub(super) fn on_renew(
        &mut self,
        from: ProcessId,
        ticket: L::Ticket,
        round: u64,
        fx: &mut impl Effects<Self>,
    ) {
        let (lease, honours) = (lease_id_of(from, ticket.session()), self.renewals_extend_leases());
        let confirms = self.confirms_leadership();
        let Some(service) = &mut self.service else { return };
        if service.has_former_leader && from != self.me && fx.choose(2) == 0 {
            // The previous leader receives the request. If this leader asks a majority for
            // confirmation, it learns that it was deposed, and does not answer.
            service.has_former_leader = !confirms;
            if !confirms && service.store.lease(lease).is_some() {
                self.send(from, Message::Alive { ticket, round }, fx);
            }
            return;
        }
        let mut ignored = service.lessor.clone();
        let lessor = if honours { &mut service.lessor } else { &mut ignored };
        match lessor.renew(lease) {
            RenewalOutcome::Pending => return,
            RenewalOutcome::Accepted { .. } | RenewalOutcome::NeedsCheckpoint { .. }
                if !honours => {}
            RenewalOutcome::NotFound => return self.send(from, Message::Gone { ticket }, fx),
            RenewalOutcome::Accepted { part_length: part } => {
                service.started.remove(&lease);
                self.set_part_timer(lease, Some(part), fx);
            }
            RenewalOutcome::NeedsCheckpoint { ttl } => self.commit_remaining(lease, ttl, fx),
        }
        self.send(from, Message::Alive { ticket, round }, fx);
    }

    pub(super) fn on_look(
        &mut self,
        from: ProcessId,
        ticket: L::Ticket,
        at: u64,
        fx: &mut impl Effects<Self>,
    ) {
        let lease = lease_id_of(from, ticket.session());
        let is_alive = self.service.as_ref().is_some_and(|it| it.store.lease(lease).is_some());
        if is_alive && at == 0 {
            let enqueue = self.config.acquire_command(from, &ticket, lease);
            self.commit(Command::AcquireLock(enqueue), fx);
        }
        let honours = self.notices_session_end();
        let Some(service) = &self.service else { return };
        let revision = if at == 0 { service.store.revision() } else { at };
        let kind = &*self.config;
        let (mut own, mut ahead) = service.place(kind, from, &ticket, revision);
        if !honours && own.is_none() {
            let claim = (from, &ticket, lease);
            ahead = kind.blockers(&service.store, claim, revision + 1, revision);
            own = Some(revision);
        }
        self.send(from, Message::Place { ticket, revision, own, ahead }, fx);
    }

    pub(super) fn on_watch(
        &mut self,
        from: ProcessId,
        ticket: L::Ticket,
        key: L::Blockers,
        revision: u64,
        fx: &mut impl Effects<Self>,
    ) {
        let Some(service) = &mut self.service else { return };
        if self.config.is_any_deleted_since(&service.store, &key, revision) {
            let revision = service.store.revision();
            return self.send(from, Message::Deleted { ticket, key, revision }, fx);
        }
        service.watches.insert((from, ticket), key);
    }

    pub(super) fn on_release(
        &mut self,
        from: ProcessId,
        ticket: L::Ticket,
        was_inside: bool,
        fx: &mut impl Effects<Self>,
    ) {
        let (lease, is_early) = (lease_id_of(from, ticket.session()), self.releases_early());
        if let Some(service) = &mut self.service {
            service.watches.remove(&(from, ticket));
            if is_early {
                return self.release_early(from, ticket, was_inside, fx);
            }
            service.ends.remove(&lease);
            fx.cancel_timer(Timer::Commit(lease));
        }
        self.commit(Command::Revoke { lease }, fx);
    }

    /// Handles a release by the process `from`, and starts the commit of the log entry that ends
    /// the lease of `from`. If the release shows that no process is inside, at once grants the lock
    /// to each process that waits only for `from` and can take over the lock.
    fn release_early(
        &mut self,
        from: ProcessId,
        ticket: L::Ticket,
        was_inside: bool,
        fx: &mut impl Effects<Self>,
    ) {
        let leaves_none_inside = self.leaves_none_inside(was_inside);
        let lease = lease_id_of(from, ticket.session());
        let kind = &*self.config;
        let Some(service) = &mut self.service else { return };
        if service.store.lease(lease).is_none() {
            return;
        }
        service.ends.insert(lease, None);
        fx.set_timer(Timer::Commit(lease), kind.service_config().lease_end_commit_delay);
        let at = service.store.revision();
        let is_next = |process: ProcessId, waiting: &L::Ticket| {
            let blockers = service.place(kind, process, waiting, at).1;
            blockers.and_then(|keys| keys.only()) == Some(lease)
                && kind.acquires_on_release((process, waiting), (from, &ticket))
        };
        let waiting = service.watches.iter().filter(|(_, keys)| keys.only() == Some(lease));
        let waiting = waiting.filter(|((process, ticket), _)| is_next(*process, ticket));
        let next: Vec<_> = waiting.map(|(waiter, keys)| (*waiter, keys.clone())).collect();
        for ((process, ticket), key) in next.into_iter().filter(|_| leaves_none_inside) {
            self.send(process, Message::Released { ticket, key }, fx);
        }
    }

    /// Handles the end of a part of a lease: commits the time that remains or, after the last part,
    /// starts the commit of the end of the lease. A lease consists of [`LEASE_PARTS`] parts. Also
    /// restarts the timer of the next change of the leader.
    ///
    /// A change of the leader may delay the end of a lease by at most one part. If the delay is
    /// longer, the service has a mistake, and this function never ends the lease. The checker then
    /// reports a violation of `starvation-freedom`.
    pub(super) fn on_lease_part_elapsed(&mut self, lease: u64, fx: &mut impl Effects<Self>) {
        let Some(service) = &mut self.service else { return };
        fx.set_timer(Timer::Change, self.config.service_config().leader_change_delay);
        if service.started.get(&lease).is_some_and(|parts| *parts > LEASE_PARTS) {
            return;
        }
        let renewal_index = service.store.lease(lease).map_or(0, |lease| lease.renewal_index);
        match service.lessor.on_timer(lease, renewal_index) {
            LeaseProposal::None => {}
            LeaseProposal::Checkpoint { left, part } => {
                self.set_part_timer(lease, Some(part), fx);
                if self.records_remaining_time() {
                    self.commit_remaining(lease, left, fx);
                }
            }
            LeaseProposal::Expire => {
                service.ends.insert(lease, Some(renewal_index));
                fx.set_timer(
                    Timer::Commit(lease),
                    self.config.service_config().lease_end_commit_delay,
                );
            }
        }
    }

    fn commit_remaining(&mut self, lease: u64, left: u64, fx: &mut impl Effects<Self>) {
        let Some(LockService { store, term, .. }) = &self.service else { return };
        let renewal_index = store.lease(lease).map_or(0, |lease| lease.renewal_index);
        let leases = [LeaseCheckpoint { lease, left, renewal_index }].into();
        self.commit(Command::Checkpoint { term: *term, leases }, fx);
    }

    pub(super) fn on_lease_end_committed(&mut self, lease: u64, fx: &mut impl Effects<Self>) {
        let Some(service) = &mut self.service else { return };
        let Some(renewal_index) = service.ends.remove(&lease) else { return };
        let term = service.term;
        let end = match renewal_index {
            Some(renewal_index) => {
                Command::Expire { term, leases: [ExpiredLease { lease, renewal_index }].into() }
            }
            None => Command::Revoke { lease },
        };
        self.commit(end, fx);
    }
}
