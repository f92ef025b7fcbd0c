//! A simple reference model of the store. It keeps the keys of every revision, and scans them to
//! answer requests.

use std::collections::{BTreeMap, BTreeSet};

use tenure_session::AccessMode;
use tenure_store::{
    AcquireLock, Bytes, Command, CommandResult, Delete, DeleteResult, Error, EventKind,
    ExpiredLease, KeySpan, KeyValue, LeaseChange, LeaseCheckpoint, LockMode, LogPosition, Put,
    PutResult, RangeRead, RangeResult, SortOrder, SortTarget, Txn, TxnOperation,
    TxnOperationResult, TxnResult, claim_key,
};

use super::comparison::holds;

/// Known mistake that a variant of the model makes. The comparison with the store must detect it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mistake {
    /// The model continues with the old version number when a deleted key is created again.
    VersionKept,
    /// The model hides the writes of a transaction from the reads of the same transaction.
    BlindReads,
    /// The model evaluates the comparisons of a nested transaction on the state after the writes
    /// that precede the nested transaction.
    LateCompare,
    /// The model makes a new revision for a deletion that finds no keys.
    EmptyDeletion,
    /// The model counts only the keys within the limit when it returns the count of a read.
    CountOfLimit,
    /// The model does not detach a key from its old lease when a write attaches the key to another
    /// lease.
    LeaseKept,
    /// The model ends a lease by an expiry even if the lease was renewed in the meantime.
    RenewalIgnored,
    /// The model lets readers overtake a waiting writer.
    ReadersOvertake,
}

impl Mistake {
    pub(crate) const ALL: [Mistake; 8] = [
        Mistake::VersionKept,
        Mistake::BlindReads,
        Mistake::LateCompare,
        Mistake::EmptyDeletion,
        Mistake::CountOfLimit,
        Mistake::LeaseKept,
        Mistake::RenewalIgnored,
        Mistake::ReadersOvertake,
    ];
}

pub(crate) type Keys = BTreeMap<Bytes, KeyValue>;
/// An event: its kind, and the key after and before the change.
pub(crate) type Change = (EventKind, KeyValue, Option<KeyValue>);

#[derive(Clone, Debug)]
pub(crate) struct ModelLease {
    pub(crate) ttl: u64,
    pub(crate) left: u64,
    pub(crate) renewal_index: u64,
    pub(crate) keys: BTreeSet<Bytes>,
}

#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) mistake: Option<Mistake>,
    /// Keys at each revision. The first element is the state of revision 1.
    pub(crate) states: Vec<Keys>,
    pub(crate) changes: Vec<(u64, Change)>,
    pub(crate) compacted: u64,
    pub(crate) leases: BTreeMap<u64, ModelLease>,
    versions: BTreeMap<Bytes, u64>,
}

#[derive(Debug, Default)]
pub(crate) struct Changes {
    pub(crate) events: Vec<Change>,
    pub(crate) leases: Vec<LeaseChange>,
}

/// Result of a command after its reads are finished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FinishedResult {
    Txn(TxnResult),
    Other(CommandResult),
}

impl FinishedResult {
    pub(crate) fn of(answer: CommandResult) -> FinishedResult {
        match answer {
            CommandResult::Txn(read) => FinishedResult::Txn(read.finish()),
            answer => FinishedResult::Other(answer),
        }
    }
}

impl Model {
    pub(crate) fn new(mistake: Option<Mistake>) -> Self {
        Model {
            mistake,
            states: vec![Keys::new()],
            changes: Vec::new(),
            compacted: 0,
            leases: BTreeMap::new(),
            versions: BTreeMap::new(),
        }
    }

    pub(crate) fn revision(&self) -> u64 {
        self.states.len() as u64
    }

    pub(crate) fn now(&self) -> &Keys {
        self.states.last().expect("there is a first revision")
    }

    fn has(&self, mistake: Mistake) -> bool {
        self.mistake == Some(mistake)
    }

    pub(crate) fn apply(
        &mut self,
        at: LogPosition,
        command: &Command,
    ) -> (Result<FinishedResult, Error>, Changes) {
        let mut step = Step {
            at,
            keys: self.now().clone(),
            changes: Changes::default(),
            has_new_revision: false,
        };
        let answer = match command {
            Command::Txn(txn) => self.transact(txn, &mut step).map(FinishedResult::Txn),
            command => self.answer(command, &mut step).map(FinishedResult::Other),
        };
        let Step { keys, changes, has_new_revision, .. } = step;
        if has_new_revision || !changes.events.is_empty() {
            self.states.push(keys);
            let revision = self.revision();
            self.changes.extend(changes.events.iter().map(|change| (revision, change.clone())));
        }
        (answer, changes)
    }

    fn answer(&mut self, command: &Command, step: &mut Step) -> Result<CommandResult, Error> {
        match command {
            Command::Put(put) => {
                check_put(put)?;
                self.has_lease(put)?;
                has_kept(step, put)?;
                Ok(CommandResult::Put(self.put(put, step)))
            }
            Command::Delete(delete) => {
                has_key(&delete.span)?;
                Ok(CommandResult::Delete(self.delete(delete, step)))
            }
            Command::Compact { revision } if *revision <= self.compacted => Err(Error::Compacted),
            Command::Compact { revision } if *revision > self.revision() => {
                Err(Error::FutureRevision)
            }
            Command::Compact { revision } => {
                self.compacted = *revision;
                Ok(CommandResult::Compacted)
            }
            Command::Grant { ttl, .. } if *ttl > 9_000_000_000 => Err(Error::TtlTooLarge),
            Command::Grant { lease, .. } if self.leases.contains_key(lease) || *lease == 0 => {
                Err(Error::LeaseExists)
            }
            Command::Grant { lease, ttl } => {
                let (lease, ttl) = (*lease, (*ttl).max(2));
                let keys = BTreeSet::new();
                let value = ModelLease { ttl, left: ttl, renewal_index: step.at.index, keys };
                self.leases.insert(lease, value);
                step.changes.leases.push(LeaseChange::Remaining { lease, seconds: ttl });
                Ok(CommandResult::Granted { lease, ttl })
            }
            Command::Txn(txn) => unreachable!("{txn:?} is handled by `transact`"),
            Command::Access(change) => unreachable!("{change:?} is not generated: see `access`"),
            Command::Alarm(change) => unreachable!("{change:?} is not generated: see `quota`"),
            Command::Revoke { lease } => match self.end(*lease, step) {
                true => Ok(CommandResult::Revoked),
                false => Err(Error::LeaseNotFound),
            },
            Command::Expire { term, leases } => {
                Ok(CommandResult::Expired { ended_lease_count: self.expire(*term, leases, step) })
            }
            Command::Checkpoint { term, leases } => {
                let is_current = *term == step.at.term;
                for LeaseCheckpoint { lease, left, renewal_index } in
                    leases.iter().filter(|_| is_current)
                {
                    let known = self.leases.get(lease).map(|it| (it.ttl, it.renewal_index));
                    if known.is_some_and(|(ttl, since)| *left >= ttl || since <= *renewal_index) {
                        self.note(*lease, *left, step);
                    }
                }
                Ok(CommandResult::Checkpointed)
            }
            Command::AcquireLock(enqueue) => self.enqueue(enqueue, step),
        }
    }

    fn expire(&mut self, term: u64, leases: &[ExpiredLease], step: &mut Step) -> u64 {
        let mut ended = 0;
        for &ExpiredLease { lease, renewal_index } in leases {
            let Some(known) = self.leases.get(&lease) else { continue };
            let fresh = known.renewal_index > renewal_index && !self.has(Mistake::RenewalIgnored);
            if term != step.at.term || fresh {
                let rejected = LeaseChange::ExpiryRejected { lease, term, renewal_index };
                step.changes.leases.push(rejected);
            } else {
                ended += u64::from(self.end(lease, step));
            }
        }
        ended
    }

    fn enqueue(&mut self, enqueue: &AcquireLock, step: &mut Step) -> Result<CommandResult, Error> {
        let lease = enqueue.lease;
        let ttl = self.leases.get(&lease).ok_or(Error::LeaseNotFound)?.ttl;
        self.note(lease, ttl, step);
        let mode = match enqueue.mode {
            LockMode::Slots(0) => LockMode::Slots(1),
            mode => mode,
        };
        let (key, value) = (claim_key(&enqueue.name, lease, mode), enqueue.value.clone());
        let same = |kv: &KeyValue| kv.value == value && kv.lease == lease;
        if !step.keys.get(&key).is_some_and(same) {
            self.put(&Put { key: key.clone(), value, lease, ..Put::default() }, step);
        }
        let fence = step.keys[&key].create_revision;
        let name = enqueue.name.clone();
        let claim = tenure_store::Claim { name, key, lease, mode, fence };
        let inside = self.holders(&step.keys, &claim.name).contains(&claim.key);
        Ok(CommandResult::Enqueued { claim, holds_lock: inside })
    }

    fn note(&mut self, lease: u64, left: u64, step: &mut Step) {
        let Some(known) = self.leases.get_mut(&lease) else { return };
        known.left = left.min(known.ttl);
        if known.left == known.ttl {
            known.renewal_index = step.at.index;
        }
        step.changes.leases.push(LeaseChange::Remaining { lease, seconds: known.left });
    }

    fn end(&mut self, lease: u64, step: &mut Step) -> bool {
        let Some(ended) = self.leases.remove(&lease) else { return false };
        for key in ended.keys {
            self.delete(&Delete { span: KeySpan::single(key), prev_kv: false }, step);
        }
        step.changes.leases.push(LeaseChange::Ended { lease });
        true
    }

    fn has_lease(&self, put: &Put) -> Result<(), Error> {
        let has = put.lease == 0 || self.leases.contains_key(&put.lease);
        has.then_some(()).ok_or(Error::LeaseNotFound)
    }

    fn put(&mut self, put: &Put, step: &mut Step) -> PutResult {
        let revision = self.revision() + 1;
        let was = step.keys.get(&put.key).cloned();
        let mut kv = was.clone().unwrap_or(KeyValue {
            key: put.key.clone(),
            create_revision: revision,
            ..KeyValue::default()
        });
        if was.is_none() && self.has(Mistake::VersionKept) {
            kv.version = self.versions.get(&put.key).copied().unwrap_or(0);
        }
        kv.mod_revision = revision;
        kv.version += 1;
        if !put.ignore_value {
            kv.value = put.value.clone();
        }
        if !put.ignore_lease {
            kv.lease = put.lease;
        }
        self.versions.insert(put.key.clone(), kv.version);
        if !self.has(Mistake::LeaseKept) {
            self.leases.values_mut().for_each(|lease| {
                lease.keys.remove(&put.key);
            });
        }
        if let Some(lease) = self.leases.get_mut(&kv.lease) {
            lease.keys.insert(put.key.clone());
        }
        step.keys.insert(put.key.clone(), kv.clone());
        step.changes.events.push((EventKind::Put, kv, was.clone()));
        PutResult { revision, prev: was.filter(|_| put.prev_kv).map(Into::into) }
    }

    fn delete(&mut self, delete: &Delete, step: &mut Step) -> DeleteResult {
        let keys: Vec<Bytes> =
            step.keys.keys().filter(|key| delete.span.contains(key)).cloned().collect();
        let mut deleted = DeleteResult::default();
        for key in keys {
            let was = step.keys.remove(&key).expect("the key exists");
            self.leases.values_mut().for_each(|lease| {
                lease.keys.remove(&key);
            });
            let mod_revision = self.revision() + 1;
            let kv = KeyValue { key, mod_revision, ..KeyValue::default() };
            step.changes.events.push((EventKind::Delete, kv, Some(was.clone())));
            deleted.count += 1;
            deleted.prev.extend(delete.prev_kv.then(|| was.into()));
        }
        step.has_new_revision |= self.has(Mistake::EmptyDeletion);
        deleted.revision = self.revision() + u64::from(!step.changes.events.is_empty());
        deleted
    }

    fn check_path(&self, txn: &Txn, before: &Keys, step: &Step) -> Result<(), Error> {
        // The model checks all writes before all reads, as etcd does.
        self.check_each(txn, before, &|operation| match operation {
            TxnOperation::Put(put) => {
                has_kept(step, put)?;
                self.has_lease(put)
            }
            _ => Ok(()),
        })?;
        self.check_each(txn, before, &|operation| match operation {
            TxnOperation::Range(range) if range.revision > self.revision() => {
                Err(Error::FutureRevision)
            }
            TxnOperation::Range(range) if range.revision > 0 && range.revision < self.compacted => {
                Err(Error::Compacted)
            }
            _ => Ok(()),
        })
    }

    fn check_each(
        &self,
        txn: &Txn,
        before: &Keys,
        check: &dyn Fn(&TxnOperation) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let holds = txn.compare.iter().all(|compare| holds(before, compare));
        for operation in if holds { &txn.success } else { &txn.failure } {
            check(operation)?;
            if let TxnOperation::Txn(txn) = operation {
                self.check_each(txn, before, check)?;
            }
        }
        Ok(())
    }

    fn transact(&mut self, txn: &Txn, step: &mut Step) -> Result<TxnResult, Error> {
        check_txn(txn)?;
        let before = step.keys.clone();
        self.check_path(txn, &before, step)?;
        Ok(self.txn(txn, &before, step))
    }

    fn txn(&mut self, txn: &Txn, before: &Keys, step: &mut Step) -> TxnResult {
        let late = self.has(Mistake::LateCompare);
        let seen = if late { step.keys.clone() } else { before.clone() };
        let succeeded = txn.compare.iter().all(|compare| holds(&seen, compare));
        let mut results = Vec::new();
        for operation in if succeeded { &txn.success } else { &txn.failure } {
            results.push(match operation {
                TxnOperation::Put(put) => TxnOperationResult::Put(self.put(put, step)),
                TxnOperation::Delete(delete) => {
                    TxnOperationResult::Delete(self.delete(delete, step))
                }
                TxnOperation::Txn(txn) => TxnOperationResult::Txn(self.txn(txn, before, step)),
                TxnOperation::Range(range) => {
                    let now = self.revision() + u64::from(!step.changes.events.is_empty());
                    let blind = self.has(Mistake::BlindReads);
                    let keys = match range.revision {
                        0 if !blind => &step.keys,
                        0 => before,
                        revision => &self.states[revision as usize - 1],
                    };
                    TxnOperationResult::Range(self.found(range, keys, now))
                }
            });
        }
        let revision = self.revision() + u64::from(!step.changes.events.is_empty());
        TxnResult { revision, succeeded, results }
    }

    pub(crate) fn range(&self, range: &RangeRead) -> Result<RangeResult, Error> {
        has_key(&range.span)?;
        match range.revision {
            0 => Ok(self.found(range, self.now(), self.revision())),
            future if future > self.revision() => Err(Error::FutureRevision),
            past if past < self.compacted => Err(Error::Compacted),
            at => Ok(self.found(range, &self.states[at as usize - 1], self.revision())),
        }
    }

    fn found(&self, range: &RangeRead, keys: &Keys, revision: u64) -> RangeResult {
        let all: Vec<&KeyValue> = keys.values().filter(|kv| range.span.contains(&kv.key)).collect();
        let count = all.len() as u64;
        if range.count_only {
            return RangeResult { revision, count, ..RangeResult::default() };
        }
        let is_in_bounds = |kv: &&KeyValue| {
            let at_most = |number, most| most == 0 || number <= most;
            kv.mod_revision >= range.min_mod_revision
                && at_most(kv.mod_revision, range.max_mod_revision)
                && kv.create_revision >= range.min_create_revision
                && at_most(kv.create_revision, range.max_create_revision)
        };
        let bounds = [range.min_mod_revision, range.max_mod_revision];
        let others = [range.min_create_revision, range.max_create_revision];
        let needs_full_scan =
            range.order != SortOrder::None || bounds != [0; 2] || others != [0; 2];
        let mut kvs: Vec<KeyValue> = all.into_iter().filter(is_in_bounds).cloned().collect();
        if !needs_full_scan && range.limit > 0 {
            kvs.truncate(range.limit as usize + 1);
        }
        let rank = |kv: &KeyValue| match range.target {
            SortTarget::Key => (0, kv.key.clone()),
            SortTarget::Version => (kv.version, Bytes::default()),
            SortTarget::Create => (kv.create_revision, Bytes::default()),
            SortTarget::Mod => (kv.mod_revision, Bytes::default()),
            SortTarget::Value => (0, kv.value.clone()),
        };
        match range.order {
            SortOrder::None | SortOrder::Ascend => kvs.sort_by_key(rank),
            SortOrder::Descend => kvs.sort_by_key(|kv| std::cmp::Reverse(rank(kv))),
        }
        let more = range.limit > 0 && kvs.len() as u64 > range.limit;
        if range.limit > 0 {
            kvs.truncate(range.limit as usize);
        }
        if range.keys_only {
            kvs.iter_mut().for_each(|kv| kv.value = Bytes::default());
        }
        let kvs: Vec<_> = kvs.into_iter().map(Into::into).collect();
        let count = if self.has(Mistake::CountOfLimit) { kvs.len() as u64 } else { count };
        RangeResult { revision, kvs, more, count }
    }

    /// Returns the keys that hold the lock `name`, in the order of the queue.
    pub(crate) fn holders(&self, keys: &Keys, name: &Bytes) -> Vec<Bytes> {
        let below = [&name[..], b"/"].concat();
        let mut queue: Vec<&KeyValue> =
            keys.values().filter(|kv| kv.key.starts_with(&below)).collect();
        queue.sort_by_key(|kv| (kv.create_revision, kv.key.clone()));
        let mut holders: Vec<&KeyValue> = Vec::new();
        for kv in queue {
            // Uses the rule of clients: a claim holds the lock if no earlier holder blocks the
            // claim.
            let earlier = holders.iter().rev().map(|kv| ((), mode_of(&kv.key, name).into()));
            if AccessMode::from(mode_of(&kv.key, name)).blocking_claims(earlier).is_empty() {
                holders.push(kv);
            } else if !self.has(Mistake::ReadersOvertake) {
                break;
            }
        }
        holders.into_iter().map(|kv| kv.key.clone()).collect()
    }
}

/// Returns the lock mode of a key in the queue of `name`. The mode of a key that is not a claim is
/// exclusive.
fn mode_of(key: &Bytes, name: &Bytes) -> LockMode {
    let last = String::from_utf8_lossy(&key[name.len() + 1..]).into_owned();
    match last.split_once('.') {
        Some((digits, "shared")) if is_lease(digits) => LockMode::Shared,
        Some((digits, "slots-2")) if is_lease(digits) => LockMode::Slots(2),
        _ => LockMode::Exclusive,
    }
}

fn is_lease(digits: &str) -> bool {
    matches!(digits, "1" | "2" | "3" | "9")
}

/// Returns all claims: the name, the key and the fencing token of each.
pub(crate) fn claims(keys: &Keys) -> BTreeSet<(Bytes, Bytes, u64)> {
    let mut claims = BTreeSet::new();
    for kv in keys.values() {
        let Some(slash) = kv.key.iter().rposition(|byte| *byte == b'/') else { continue };
        let last = String::from_utf8_lossy(&kv.key[slash + 1..]).into_owned();
        let digits = last.strip_suffix(".shared").or_else(|| last.strip_suffix(".slots-2"));
        let digits = digits.unwrap_or(&last);
        if is_lease(digits) && digits.parse() == Ok(kv.lease) {
            let name = Bytes::from(&kv.key[..slash]);
            claims.insert((name, kv.key.clone(), kv.create_revision));
        }
    }
    claims
}

struct Step {
    at: LogPosition,
    keys: Keys,
    changes: Changes,
    has_new_revision: bool,
}

fn has_key(span: &KeySpan) -> Result<(), Error> {
    (!span.key.is_empty()).then_some(()).ok_or(Error::EmptyKey)
}

fn check_put(put: &Put) -> Result<(), Error> {
    if put.key.is_empty() {
        Err(Error::EmptyKey)
    } else if put.ignore_value && !put.value.is_empty() {
        Err(Error::ValueProvided)
    } else if put.ignore_lease && put.lease != 0 {
        Err(Error::LeaseProvided)
    } else {
        Ok(())
    }
}

fn has_kept(step: &Step, put: &Put) -> Result<(), Error> {
    let keeps = put.ignore_value || put.ignore_lease;
    (!keeps || step.keys.contains_key(&put.key)).then_some(()).ok_or(Error::KeyNotFound)
}

fn check_txn(txn: &Txn) -> Result<(), Error> {
    fn sizes(txn: &Txn, most: usize) -> Result<(), Error> {
        let size = txn.compare.len().max(txn.success.len()).max(txn.failure.len());
        if size > most {
            return Err(Error::TooManyOperations);
        }
        txn.compare.iter().try_for_each(|compare| has_key(&compare.span))?;
        txn.success.iter().chain(&txn.failure).try_for_each(|operation| match operation {
            TxnOperation::Range(range) => has_key(&range.span),
            TxnOperation::Delete(delete) => has_key(&delete.span),
            TxnOperation::Put(put) => check_put(put),
            TxnOperation::Txn(txn) => sizes(txn, most - size),
        })
    }
    sizes(txn, 6)?;
    // Rejects the transaction if a path puts a key twice, or puts and deletes the same key.
    for path in paths(txn) {
        for one in &path {
            let TxnOperation::Put(put) = one else { continue };
            let clashes = path.iter().any(|two| match two {
                TxnOperation::Put(two) => !std::ptr::eq(two, put) && two.key == put.key,
                TxnOperation::Delete(two) => two.span.contains(&put.key),
                _ => false,
            });
            if clashes {
                return Err(Error::DuplicateKey);
            }
        }
    }
    Ok(())
}

/// One possible sequence of the operations that a transaction executes. The sequence depends on the
/// branch that runs in the transaction, and on the branch that runs in each nested transaction.
type Path<'a> = Vec<&'a TxnOperation>;

fn paths(txn: &Txn) -> Vec<Path<'_>> {
    let mut all = Vec::new();
    for list in [&txn.success, &txn.failure] {
        let mut paths: Vec<Path<'_>> = vec![Vec::new()];
        for operation in list {
            let more = match operation {
                TxnOperation::Txn(txn) => self::paths(txn),
                other => vec![vec![other]],
            };
            paths = paths
                .iter()
                .flat_map(|path| more.iter().map(|more| [&path[..], &more[..]].concat()))
                .collect();
        }
        all.extend(paths);
    }
    all
}
