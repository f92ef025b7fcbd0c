//! The store: what is replicated.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::access::{Access, Asker};
use crate::alarm::{Alarm, Alarms};
use crate::bytes::Bytes;
use crate::claim::{Claim, Share, claim_key, claim_of};
use crate::command::{Command, Enqueue, Expiry, Note, Put};
use crate::error::Error;
use crate::history::{History, Limits};
use crate::kv::KeyValue;
use crate::lease::{LONGEST_TTL, Lease, LeaseId, Leases};
use crate::outcome::{Answer, LeaseChange, Outcome};
use crate::queue::{Queue, Queues};
use crate::txn::{Revision, has_lease, keeps_something};
use crate::watch::{Forgotten, Replay, Watch};

/// Where an entry stands in the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct At {
    /// At which index.
    pub index: u64,
    /// Of which term.
    pub term: u64,
}

/// What is replicated: keys with their revisions, what changed lately, leases, and the queues of
/// locks and offices. Equal commands at equal places make equal stores.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize),
    serde(from = "crate::snapshot::Snapshot")
)]
pub struct Store {
    pub(crate) limits: Limits,
    /// The last entry that was taken.
    pub(crate) applied: At,
    pub(crate) revision: u64,
    pub(crate) keys: BTreeMap<Bytes, Arc<KeyValue>>,
    /// Counted bytes of `keys`, from which it follows.
    pub(crate) key_bytes: usize,
    pub(crate) history: History,
    pub(crate) leases: Leases,
    /// It changes seldom, and stores are copied often.
    pub(crate) access: Arc<Access>,
    pub(crate) alarms: Alarms,
    /// Follows from the keys.
    pub(crate) queues: Queues,
}

impl Default for Store {
    fn default() -> Self {
        Store::new(Limits::default())
    }
}

impl Store {
    /// An empty store, in its first revision.
    pub fn new(limits: Limits) -> Self {
        Store {
            limits,
            applied: At::default(),
            revision: 1,
            keys: BTreeMap::new(),
            key_bytes: 0,
            history: History::from(0),
            leases: Leases::default(),
            access: Arc::default(),
            alarms: Alarms::default(),
            queues: Queues::default(),
        }
    }

    /// Takes the command of an entry of the log, for somebody who may have anything done.
    ///
    /// # Panics
    ///
    /// As [`Store::apply_for`].
    pub fn apply(&mut self, at: At, command: Command) -> Outcome {
        self.apply_for(at, &Asker::Member, command)
    }

    /// Takes the command of an entry of the log, if whoever asked may have it done at this place of
    /// the log.
    ///
    /// # Panics
    ///
    /// When the entry is not later than the last one that was taken: whoever runs the log hands
    /// over each entry once, in order.
    pub fn apply_for(&mut self, at: At, asker: &Asker, command: Command) -> Outcome {
        assert!(at.index > self.applied.index, "entries are taken once, in the order of the log");
        self.applied = at;
        let mut leases = Vec::new();
        let checked = command.check(self.limits.operations);
        let checked = checked.and_then(|()| self.may(asker, &command));
        let checked = checked.and_then(|()| self.has_room(&command));
        let mut revision = Revision::of(self);
        let answer = checked.and_then(|()| revision.take(at, command, &mut leases));
        let (events, moves) = revision.end();
        let mut outcome = Outcome {
            revision: self.revision,
            answer,
            events,
            admitted: moves.admitted,
            ended: moves.ended,
            leases,
        };
        if let Ok(Answer::Enqueued { claim, inside }) = &mut outcome.answer {
            *inside = self.is_inside(claim);
        }
        outcome
    }

    /// Returns an error if a client may not have this command applied.
    pub fn may(&self, asker: &Asker, command: &Command) -> Result<(), Error> {
        self.access.may_command(asker, command, &self.leases)
    }

    /// Rejects a command that adds to the store while an alarm says that it is full.
    fn has_room(&self, command: &Command) -> Result<(), Error> {
        if self.is_full() && command.cost() > 0 { Err(Error::NoSpace) } else { Ok(()) }
    }

    /// True while an alarm is active by which the store rejects what adds to it.
    pub fn is_full(&self) -> bool {
        self.alarms.is_full()
    }

    /// Returns the active alarms, each with the number of its member.
    pub fn alarms(&self) -> impl ExactSizeIterator<Item = (u64, Alarm)> {
        self.alarms.iter()
    }

    /// Sets how many operations a transaction may have, for this store and what is applied to it.
    /// It must be equal on all members.
    pub fn allow_operations(&mut self, operations: usize) {
        self.limits.operations = operations;
    }

    /// How many revisions there were.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// The last entry that was taken.
    pub fn applied(&self) -> At {
        self.applied
    }

    /// The oldest revision that can be asked for.
    pub fn compacted(&self) -> u64 {
        self.history.first()
    }

    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// How many changes are kept for watchers.
    pub fn changes(&self) -> usize {
        self.history.len()
    }

    /// How many bytes those take.
    pub fn change_bytes(&self) -> usize {
        self.history.bytes()
    }

    /// Users and roles.
    pub fn access(&self) -> &Access {
        &self.access
    }

    /// What is fixed about it.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// A lease, if it is there.
    pub fn lease(&self, lease: LeaseId) -> Option<&Lease> {
        self.leases.0.get(&lease)
    }

    /// Checks that somebody may renew a lease: every key that ends with it has to be writable.
    ///
    /// # Errors
    ///
    /// [`Error::UserEmpty`] or [`Error::PermissionDenied`].
    pub fn may_renew(&self, asker: &Asker, lease: LeaseId) -> Result<(), Error> {
        self.access.named(asker)?;
        self.access.may_end(asker, lease, &self.leases)
    }

    /// Checks that somebody may list all leases: every key that ends with one has to be readable.
    ///
    /// # Errors
    ///
    /// [`Error::UserEmpty`] or [`Error::PermissionDenied`].
    pub fn may_list_leases(&self, asker: &Asker) -> Result<(), Error> {
        self.access.may_list(asker, &self.leases)
    }

    /// All leases, by their names.
    pub fn leases(&self) -> impl ExactSizeIterator<Item = (LeaseId, &Lease)> {
        self.leases.0.iter().map(|(lease, value)| (*lease, value))
    }

    /// The queue of a lock or an office, if anybody claims it.
    pub fn queue(&self, name: &[u8]) -> Option<&Queue> {
        self.queues.get(name)
    }

    /// All queues, by their names.
    pub fn queues(&self) -> impl Iterator<Item = (&Bytes, &Queue)> {
        self.queues.iter()
    }

    /// Whether a claim is there and inside.
    pub fn is_inside(&self, claim: &Claim) -> bool {
        let kv = self.keys.get(&claim.key).filter(|kv| kv.create_revision == claim.fence);
        let queue = self.queues.get(&claim.name);
        kv.zip(queue).is_some_and(|(kv, queue)| queue.has_inside(kv))
    }

    /// What a watcher missed from a revision on: `most` changes or a few more, so that no revision
    /// is torn apart.
    pub fn replay(&self, watch: &Watch, from: u64, most: usize) -> Result<Replay, Forgotten> {
        let from = if from == 0 { self.revision + 1 } else { from };
        let first = self.history.first();
        if from < first {
            return Err(Forgotten { first });
        }
        let show = |event: &_| watch.shows(event);
        let (events, next) = self.history.replay(from, self.revision, most, show);
        Ok(Replay { events, next: next.max(from) })
    }

    /// Counts entries from the beginning again, as for a log that begins anew: for searches, to
    /// which a number that only grows would be ever another state. No expiry may be under way.
    pub fn recounted(&mut self) {
        self.applied.index = 0;
        self.leases.0.values_mut().for_each(|lease| lease.renewed = 0);
    }

    /// The store of a new cluster, made of that of an old one: its log begins anew, and its
    /// revision is higher by so much, that no fence is ever handed out twice. It has to be more
    /// than the revisions that the old cluster may have made since. Whoever watches from an
    /// earlier revision is told that this is forgotten.
    pub fn restored(mut self, bump: u64) -> Self {
        self.applied.term = 0;
        self.revision = self.revision.saturating_add(bump);
        self.history = History::from(self.revision);
        // They are of members of the old cluster. The new members compare with their own quota.
        self.alarms = Alarms::default();
        self.recounted();
        self
    }
}

impl Revision<'_> {
    fn take(
        &mut self,
        at: At,
        command: Command,
        changes: &mut Vec<LeaseChange>,
    ) -> Result<Answer, Error> {
        match command {
            Command::Put(put) => {
                has_lease(self.store, &put)?;
                keeps_something(self.store, &put)?;
                Ok(Answer::Put(self.put(&put)))
            }
            Command::Delete(delete) => Ok(Answer::Delete(self.delete(&delete))),
            Command::Txn(txn) => self.txn(&txn).map(Answer::Txn),
            Command::Compact { revision } => self.compact(revision),
            Command::Grant { lease, ttl } => self.grant(at, lease, ttl, changes),
            Command::Revoke { lease } => match self.end_lease(lease, changes) {
                true => Ok(Answer::Revoked),
                false => Err(Error::LeaseNotFound),
            },
            Command::Expire { term, leases } => {
                let ended = leases.iter().filter(|expiry| self.expire(at, term, expiry, changes));
                Ok(Answer::Expired { leases: ended.count() as u64 })
            }
            Command::Checkpoint { term, leases } => {
                let leases = if term == at.term { leases } else { Vec::new() };
                for note in leases {
                    self.note_left(at, &note, changes);
                }
                Ok(Answer::Checkpointed)
            }
            Command::Enqueue(enqueue) => self.enqueue(at, &enqueue, changes),
            Command::Access(change) => {
                Arc::make_mut(&mut self.store.access).take(change).map(|()| Answer::Access)
            }
            Command::Alarm(change) => {
                Ok(Answer::Alarm { has_changed: self.store.alarms.change(change) })
            }
        }
    }

    fn compact(&mut self, revision: u64) -> Result<Answer, Error> {
        if revision <= self.store.history.first() {
            return Err(Error::Compacted);
        }
        self.store.history.check(revision, self.store.revision)?;
        self.store.history.forget_before(revision);
        Ok(Answer::Compacted)
    }

    fn grant(
        &mut self,
        at: At,
        lease: LeaseId,
        ttl: u64,
        changes: &mut Vec<LeaseChange>,
    ) -> Result<Answer, Error> {
        if ttl > LONGEST_TTL {
            return Err(Error::TtlTooLarge);
        }
        if lease == 0 || self.store.leases.exists(lease) {
            return Err(Error::LeaseExists);
        }
        let ttl = ttl.max(self.store.limits.least_ttl);
        let value = Lease { ttl, left: ttl, renewed: at.index, keys: BTreeSet::new() };
        self.store.leases.0.insert(lease, value);
        changes.push(LeaseChange::Left { lease, seconds: ttl });
        Ok(Answer::Granted { lease, ttl })
    }

    /// Ends a lease, if it is there, and its keys.
    fn end_lease(&mut self, lease: LeaseId, changes: &mut Vec<LeaseChange>) -> bool {
        let Some(ended) = self.store.leases.0.remove(&lease) else { return false };
        for key in &ended.keys {
            if let Some(kv) = self.store.keys.get(key).cloned() {
                self.delete_one(&kv);
            }
        }
        changes.push(LeaseChange::Ended { lease });
        true
    }

    /// Ends a lease that was not renewed. Tells whether it did.
    fn expire(
        &mut self,
        at: At,
        term: u64,
        &Expiry { lease, renewed }: &Expiry,
        changes: &mut Vec<LeaseChange>,
    ) -> bool {
        let Some(known) = self.store.leases.0.get(&lease) else { return false };
        if term == at.term && known.renewed <= renewed {
            return self.end_lease(lease, changes);
        }
        changes.push(LeaseChange::Spared { lease, term, renewed });
        false
    }

    /// Notes what is left of a lease, unless it was renewed since that was seen.
    fn note_left(&mut self, at: At, note: &Note, changes: &mut Vec<LeaseChange>) {
        let Note { lease, left, renewed } = *note;
        let known = self.store.leases.0.get(&lease);
        if known.is_some_and(|known| left >= known.ttl || known.renewed <= renewed) {
            self.checkpoint(at, lease, left, changes);
        }
    }

    fn checkpoint(&mut self, at: At, lease: LeaseId, left: u64, changes: &mut Vec<LeaseChange>) {
        let Some(known) = self.store.leases.0.get_mut(&lease) else { return };
        known.left = left.min(known.ttl);
        if known.left == known.ttl {
            known.renewed = at.index;
        }
        changes.push(LeaseChange::Left { lease, seconds: known.left });
    }

    fn enqueue(
        &mut self,
        at: At,
        Enqueue { name, lease, share, value }: &Enqueue,
        changes: &mut Vec<LeaseChange>,
    ) -> Result<Answer, Error> {
        let Some(ttl) = self.store.leases.0.get(lease).map(|lease| lease.ttl) else {
            return Err(Error::LeaseNotFound);
        };
        self.checkpoint(at, *lease, ttl, changes);
        let share = match *share {
            Share::Slots(slots) => Share::Slots(slots.max(1)),
            share => share,
        };
        let key = claim_key(name, *lease, share);
        let there = self.store.keys.get(&key);
        if there.is_none_or(|kv| kv.value != *value || kv.lease != *lease) {
            let (key, value) = (key.clone(), value.clone());
            self.put(&Put { key, value, lease: *lease, ..Put::default() });
        }
        let claim = self.store.keys.get(&key).and_then(|kv| claim_of(kv));
        let claim = claim.expect("a key that was made as a claim is one");
        Ok(Answer::Enqueued { claim, inside: false })
    }
}
