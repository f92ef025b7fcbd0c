//! The store: the replicated state, and the execution of commands.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;

use crate::access::{AccessControl, Principal};
use crate::alarm::{ActiveAlarms, Alarm};
use crate::bytes::Bytes;
use crate::claim::{Claim, LockMode, claim_from_key_value, claim_key};
use crate::command::{AcquireLock, Command, ExpiredLease, LeaseCheckpoint, Put};
use crate::error::Error;
use crate::history::{EventHistory, StoreLimits};
use crate::kv::KeyValue;
use crate::lease::{Lease, LeaseId, Leases, MAX_TTL_SECONDS};
use crate::outcome::{ApplyOutcome, CommandResult, LeaseChange};
use crate::queue::{LockQueue, LockQueues};
use crate::txn::{
    NextRevision, check_adopted_keys, check_kept_key_exists, check_lease_exists, new_queue_name,
};
use crate::watch::{HistoryCompacted, PastEvents, WatchFilter};

/// Position of an entry in the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LogPosition {
    /// Index of the entry.
    pub index: u64,
    /// Term of the entry.
    pub term: u64,
}

/// Replicated state: keys with revisions, recent events, leases, users and roles, alarms, and the
/// queues of locks and elections. Two stores with the same limits that applied the same commands at
/// the same log positions are equal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(from = "crate::snapshot::Snapshot")
)]
pub struct Store {
    pub(crate) limits: StoreLimits,
    pub(crate) applied: LogPosition,
    pub(crate) revision: u64,
    pub(crate) keys: BTreeMap<Bytes, Arc<KeyValue>>,
    /// Number of bytes that the quota counts for `keys`. This number is a part of
    /// [`Store::quota_usage`], and can be derived from `keys`.
    pub(crate) key_bytes: usize,
    pub(crate) history: EventHistory,
    pub(crate) leases: Leases,
    /// Users and roles. Shared between copies of the store, because they rarely change and stores
    /// are often copied.
    pub(crate) access: Arc<AccessControl>,
    pub(crate) alarms: ActiveAlarms,
    /// Queues of locks and elections. They can be derived from the keys.
    pub(crate) queues: LockQueues,
}

impl Default for Store {
    fn default() -> Self {
        Store::new(StoreLimits::default())
    }
}

impl Store {
    /// Creates an empty store. Its revision is 1, as in etcd.
    pub fn new(limits: StoreLimits) -> Self {
        Store {
            limits,
            applied: LogPosition::default(),
            revision: 1,
            keys: BTreeMap::new(),
            key_bytes: 0,
            history: EventHistory::starting_at(0),
            leases: Leases::default(),
            access: Arc::default(),
            alarms: ActiveAlarms::default(),
            queues: LockQueues::default(),
        }
    }

    /// Applies the command of a log entry, without a check of permissions.
    ///
    /// # Panics
    ///
    /// As [`Store::apply_as`].
    pub fn apply(&mut self, position: LogPosition, command: Command) -> ApplyOutcome {
        self.apply_as(position, &Principal::Member, command)
    }

    /// Applies the command of a log entry, if the principal has the permission for the command. The
    /// permissions are those after all earlier entries of the log. Without the permission, the
    /// outcome contains an error, and only the position of the last applied entry changes.
    ///
    /// # Panics
    ///
    /// If the entry is not later than the last applied one. The caller must apply each entry once,
    /// in order.
    pub fn apply_as(
        &mut self,
        position: LogPosition,
        principal: &Principal,
        command: Command,
    ) -> ApplyOutcome {
        assert!(
            position.index > self.applied.index,
            "entries are applied once, in the order of the log"
        );
        self.applied = position;
        let checked = command.validate(self.limits.max_operations);
        let checked = checked.and_then(|()| self.authorize_command(principal, &command));
        let checked = checked.and_then(|()| self.check_nospace_alarm(&command));
        let mut revision = NextRevision::new(self);
        let result = checked.and_then(|()| revision.apply(command));
        let mut outcome = revision.finish(result);
        if let Ok(CommandResult::Enqueued { claim, holds_lock: is_held }) = &mut outcome.result {
            *is_held = self.is_holder(claim);
        }
        outcome
    }

    /// Returns an error if the command could make the store larger, and an active alarm forbids
    /// this.
    fn check_nospace_alarm(&self, command: &Command) -> Result<(), Error> {
        if self.has_nospace_alarm() && command.estimated_growth() > 0 {
            Err(Error::NoSpace)
        } else {
            Ok(())
        }
    }

    /// Returns true if an active alarm makes the store reject commands that put keys or grant
    /// leases.
    pub fn has_nospace_alarm(&self) -> bool {
        self.alarms.has_nospace_alarm()
    }

    /// Returns the active alarms, each with the ID of the member that it concerns.
    pub fn alarms(&self) -> impl ExactSizeIterator<Item = (u64, Alarm)> {
        self.alarms.iter()
    }

    /// Sets the maximum number of operations in a transaction. All members must set the same
    /// maximum.
    pub fn set_max_txn_operations(&mut self, operations: usize) {
        self.limits.max_operations = operations;
    }

    /// Returns the current revision.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Returns the position of the last applied entry.
    pub fn applied(&self) -> LogPosition {
        self.applied
    }

    /// Returns the oldest revision that can be read or watched. Returns 0 while no revision has
    /// been discarded.
    pub fn oldest_revision(&self) -> u64 {
        self.history.oldest_revision()
    }

    /// Returns the number of keys.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Returns true if the store contains no key.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Returns the number of events in the history.
    pub fn event_count(&self) -> usize {
        self.history.len()
    }

    /// Returns the size of the history in bytes, as [`StoreLimits::max_bytes`] counts it.
    pub fn event_bytes(&self) -> usize {
        self.history.bytes()
    }

    /// Returns the users, the roles and their permissions.
    pub fn access_control(&self) -> &AccessControl {
        &self.access
    }

    /// Returns the limits of the store.
    pub fn limits(&self) -> &StoreLimits {
        &self.limits
    }

    /// Returns a lease. `None` if the lease does not exist.
    pub fn lease(&self, lease: LeaseId) -> Option<&Lease> {
        self.leases.0.get(&lease)
    }

    /// Returns all leases with their ids, in the order of the ids.
    pub fn leases(&self) -> impl ExactSizeIterator<Item = (LeaseId, &Lease)> {
        self.leases.0.iter().map(|(lease, value)| (*lease, value))
    }

    /// Returns the queue of a lock or an election. Returns `None` if there is no claim on this
    /// name.
    pub fn queue(&self, name: &[u8]) -> Option<&LockQueue> {
        self.queues.get(name)
    }

    /// Returns all queues with their names, in the order of the names.
    pub fn queues(&self) -> impl Iterator<Item = (&Bytes, &LockQueue)> {
        self.queues.iter()
    }

    /// Returns true if this claim exists and holds its lock.
    pub fn is_holder(&self, claim: &Claim) -> bool {
        let kv = self.keys.get(&claim.key).filter(|kv| kv.create_revision == claim.fence);
        let queue = self.queues.get(&claim.name);
        kv.zip(queue).is_some_and(|(kv, queue)| queue.is_holder(kv))
    }

    /// Returns the events that match the watch, from the revision `from_revision` on. If
    /// `from_revision` is 0, the result has no events, and the watch continues at the next
    /// revision. The result contains all matching events of a revision, or none of them. It ends
    /// after the first revision at which it has at least `max_events` events. The value 0 of
    /// `max_events` acts as 1.
    ///
    /// # Errors
    ///
    /// [`HistoryCompacted`] if the history no longer contains the events of the revision
    /// `from_revision`.
    pub fn past_events(
        &self,
        watch: &WatchFilter,
        from_revision: u64,
        max_events: usize,
    ) -> Result<PastEvents, HistoryCompacted> {
        let from = if from_revision == 0 { self.revision + 1 } else { from_revision };
        let first = self.history.oldest_revision();
        if from < first {
            return Err(HistoryCompacted { oldest_revision: first });
        }
        let filter = |event: &_| watch.filter_event(event);
        let (events, next) = self.history.past_events(from, self.revision, max_events, filter);
        Ok(PastEvents { events, next_revision: next.max(from) })
    }

    /// Sets the index of the last applied entry and [`Lease::renewal_index`] of all leases to 0, as
    /// for a new log. No [`Command::Expire`] and no [`Command::Checkpoint`] may be in flight,
    /// because these commands contain renewal indexes.
    ///
    /// Model checkers need this method. Without it, two stores that differ only in these indexes
    /// would be different states.
    pub fn reset_log_indexes(&mut self) {
        self.applied.index = 0;
        self.leases.0.values_mut().for_each(|lease| lease.renewal_index = 0);
    }

    /// Turns the store into the store of a new cluster with an empty log. Adds `revision_offset` to
    /// the revision, so that no fencing token is used twice. The offset must be larger than the
    /// number of revisions that the old cluster made after the revision of this store. A watch that
    /// starts at a revision of the old cluster fails, as after a compaction.
    pub fn into_new_cluster(mut self, revision_offset: u64) -> Self {
        self.applied.term = 0;
        self.revision = self.revision.saturating_add(revision_offset);
        self.history = EventHistory::starting_at(self.revision);
        // Alarms belong to members of the old cluster. The new members check their own quotas.
        self.alarms = ActiveAlarms::default();
        self.reset_log_indexes();
        self
    }
}

impl NextRevision<'_> {
    fn apply(&mut self, command: Command) -> Result<CommandResult, Error> {
        match command {
            Command::Put(put) => {
                check_lease_exists(self.store, &put)?;
                check_kept_key_exists(self.store, &put)?;
                check_adopted_keys(self.store, new_queue_name(self.store, &put))?;
                Ok(CommandResult::Put(self.put(&put)))
            }
            Command::Delete(delete) => Ok(CommandResult::Delete(self.delete(&delete))),
            Command::Txn(txn) => self.run_txn(&txn).map(CommandResult::Txn),
            Command::Compact { revision } => self.compact(revision),
            Command::Grant { lease, ttl } => self.grant(lease, ttl),
            Command::Revoke { lease } => match self.end_lease(lease) {
                true => Ok(CommandResult::Revoked),
                false => Err(Error::LeaseNotFound),
            },
            Command::Expire { term, leases } => {
                let ended = leases.iter().filter(|expiry| self.expire(term, expiry));
                Ok(CommandResult::Expired { ended_lease_count: ended.count() as u64 })
            }
            Command::Checkpoint { term, leases } => {
                if term == self.store.applied.term {
                    leases.iter().for_each(|checkpoint| self.apply_checkpoint(checkpoint));
                }
                Ok(CommandResult::Checkpointed)
            }
            Command::AcquireLock(enqueue) => self.enqueue(&enqueue),
            Command::Access(change) => Arc::make_mut(&mut self.store.access)
                .apply(change)
                .map(|()| CommandResult::AccessChanged),
            Command::Alarm(change) => {
                Ok(CommandResult::Alarm { has_changed: self.store.alarms.apply(change) })
            }
        }
    }

    fn compact(&mut self, revision: u64) -> Result<CommandResult, Error> {
        if revision <= self.store.history.oldest_revision() {
            return Err(Error::Compacted);
        }
        self.store.history.check_revision_readable(revision, self.store.revision)?;
        self.store.history.discard_before(revision);
        Ok(CommandResult::Compacted)
    }

    fn grant(&mut self, lease: LeaseId, ttl: u64) -> Result<CommandResult, Error> {
        if ttl > MAX_TTL_SECONDS {
            return Err(Error::TtlTooLarge);
        }
        if lease == 0 || self.store.leases.exists(lease) {
            return Err(Error::LeaseExists);
        }
        let ttl = ttl.max(self.store.limits.min_ttl);
        let renewal_index = self.store.applied.index;
        let value = Lease { ttl, left: ttl, renewal_index, keys: BTreeSet::new() };
        self.store.leases.0.insert(lease, value);
        self.lease_changes.push(LeaseChange::Remaining { lease, seconds: ttl });
        Ok(CommandResult::Granted { lease, ttl })
    }

    /// Ends a lease and deletes its keys. Returns false if the lease does not exist.
    fn end_lease(&mut self, lease: LeaseId) -> bool {
        let Some(ended) = self.store.leases.0.remove(&lease) else { return false };
        for key in &ended.keys {
            if let Some(kv) = self.store.keys.get(key).cloned() {
                self.delete_key(&kv);
            }
        }
        self.lease_changes.push(LeaseChange::Ended { lease });
        true
    }

    /// Ends a lease that has expired. Returns false if the lease does not exist, or if the lease
    /// continues. The lease continues if it was renewed after the leader detected the expiry. The
    /// lease also continues if `term` differs from the term of the log entry that contains this
    /// command.
    fn expire(&mut self, term: u64, &ExpiredLease { lease, renewal_index }: &ExpiredLease) -> bool {
        let Some(known) = self.store.leases.0.get(&lease) else { return false };
        if term == self.store.applied.term && known.renewal_index <= renewal_index {
            return self.end_lease(lease);
        }
        self.lease_changes.push(LeaseChange::ExpiryRejected { lease, term, renewal_index });
        false
    }

    /// Records the remaining time of a lease. If the lease was renewed after the leader read this
    /// time, the time is outdated and is ignored. There is one exception: a time of at least the
    /// full TTL is itself a renewal, and is never ignored.
    fn apply_checkpoint(&mut self, checkpoint: &LeaseCheckpoint) {
        let LeaseCheckpoint { lease, left, renewal_index } = *checkpoint;
        let known = self.store.leases.0.get(&lease);
        if known.is_some_and(|known| left >= known.ttl || known.renewal_index <= renewal_index) {
            self.set_remaining(lease, left);
        }
    }

    fn set_remaining(&mut self, lease: LeaseId, left: u64) {
        let Some(known) = self.store.leases.0.get_mut(&lease) else { return };
        known.left = left.min(known.ttl);
        if known.left == known.ttl {
            known.renewal_index = self.store.applied.index;
        }
        self.lease_changes.push(LeaseChange::Remaining { lease, seconds: known.left });
    }

    fn enqueue(
        &mut self,
        AcquireLock { name, lease, mode, value }: &AcquireLock,
    ) -> Result<CommandResult, Error> {
        let Some(ttl) = self.store.leases.0.get(lease).map(|lease| lease.ttl) else {
            return Err(Error::LeaseNotFound);
        };
        if self.store.queue(name).is_none() {
            check_adopted_keys(self.store, [&name[..]])?;
        }
        self.set_remaining(*lease, ttl);
        let mode = match *mode {
            LockMode::Slots(slots) => LockMode::Slots(slots.max(1)),
            mode => mode,
        };
        let key = claim_key(name, *lease, mode);
        let there = self.store.keys.get(&key);
        if there.is_none_or(|kv| kv.value != *value || kv.lease != *lease) {
            let (key, value) = (key.clone(), value.clone());
            self.put(&Put { key, value, lease: *lease, ..Put::default() });
        }
        let claim = self.store.keys.get(&key).and_then(|kv| claim_from_key_value(kv));
        let claim = claim.expect("the key of a claim is a claim");
        Ok(CommandResult::Enqueued { claim, holds_lock: false })
    }
}
