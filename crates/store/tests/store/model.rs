//! The store as one would write it if nothing had to be fast: all keys of every revision are kept,
//! and every question is answered by looking at all of them.

use std::collections::{BTreeMap, BTreeSet};

use tenure_store::{
    Answer, At, Bytes, Command, Compare, Delete, Deleted, Done, Enqueue, Error, Expiry, Found,
    KeyValue, Kind, LeaseChange, Note, Operation, Put, Range, Relation, Reply, Share, SortOrder,
    SortTarget, Span, Target, Txn, Written, claim_key,
};

/// What a model gets wrong, to see that it is noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mistake {
    /// A key that comes back goes on with its old version.
    VersionKept,
    /// A transaction does not see what it wrote.
    BlindReads,
    /// A nested transaction compares with what was written around it.
    LateCompare,
    /// A deletion of nothing makes a revision.
    EmptyDeletion,
    /// The answer counts only what the limit let through.
    CountOfLimit,
    /// A key that gets another lease ends with the old one as well.
    LeaseKept,
    /// An expiry does not look whether there was a renewal.
    RenewalIgnored,
    /// Readers overtake a writer who waits.
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
/// A change: what was done, the key as it is, and as it was.
pub(crate) type Change = (Kind, KeyValue, Option<KeyValue>);

#[derive(Clone, Debug)]
pub(crate) struct ModelLease {
    pub(crate) ttl: u64,
    pub(crate) left: u64,
    pub(crate) renewed: u64,
    pub(crate) keys: BTreeSet<Bytes>,
}

#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) mistake: Option<Mistake>,
    /// By revision, from revision 1 on.
    pub(crate) states: Vec<Keys>,
    pub(crate) changes: Vec<(u64, Change)>,
    pub(crate) compacted: u64,
    pub(crate) leases: BTreeMap<u64, ModelLease>,
    versions: BTreeMap<Bytes, u64>,
}

/// What one command did.
#[derive(Debug, Default)]
pub(crate) struct Did {
    pub(crate) changes: Vec<Change>,
    pub(crate) leases: Vec<LeaseChange>,
}

/// What somebody is told in the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// What a transaction did.
    Done(Done),
    /// All else.
    Answer(Answer),
}

impl Told {
    pub(crate) fn of(answer: Answer) -> Told {
        match answer {
            Answer::Txn(read) => Told::Done(read.found()),
            answer => Told::Answer(answer),
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

    pub(crate) fn take(&mut self, at: At, command: &Command) -> (Result<Told, Error>, Did) {
        let mut step = Step { keys: self.now().clone(), did: Did::default(), revises: false };
        let answer = match command {
            Command::Txn(txn) => self.transact(txn, &mut step).map(Told::Done),
            command => self.answer(at, command, &mut step).map(Told::Answer),
        };
        let Step { keys, did, revises } = step;
        if revises || !did.changes.is_empty() {
            self.states.push(keys);
            let revision = self.revision();
            self.changes.extend(did.changes.iter().map(|change| (revision, change.clone())));
        }
        (answer, did)
    }

    fn answer(&mut self, at: At, command: &Command, step: &mut Step) -> Result<Answer, Error> {
        match command {
            Command::Put(put) => {
                check_put(put)?;
                self.has_lease(put)?;
                has_kept(step, put)?;
                Ok(Answer::Put(self.put(put, step)))
            }
            Command::Delete(delete) => {
                has_key(&delete.span)?;
                Ok(Answer::Delete(self.delete(delete, step)))
            }
            Command::Compact { revision } if *revision <= self.compacted => Err(Error::Compacted),
            Command::Compact { revision } if *revision > self.revision() => {
                Err(Error::FutureRevision)
            }
            Command::Compact { revision } => {
                self.compacted = *revision;
                Ok(Answer::Compacted)
            }
            Command::Grant { ttl, .. } if *ttl > 9_000_000_000 => Err(Error::TtlTooLarge),
            Command::Grant { lease, .. } if self.leases.contains_key(lease) || *lease == 0 => {
                Err(Error::LeaseExists)
            }
            Command::Grant { lease, ttl } => {
                let (lease, ttl) = (*lease, (*ttl).max(2));
                let keys = BTreeSet::new();
                let value = ModelLease { ttl, left: ttl, renewed: at.index, keys };
                self.leases.insert(lease, value);
                step.did.leases.push(LeaseChange::Left { lease, seconds: ttl });
                Ok(Answer::Granted { lease, ttl })
            }
            Command::Txn(txn) => unreachable!("{txn:?} is taken by `transact`"),
            Command::Access(change) => unreachable!("{change:?} is not drawn: see `access`"),
            Command::Alarm(change) => unreachable!("{change:?} is not drawn: see `quota`"),
            Command::Revoke { lease } => match self.end(*lease, step) {
                true => Ok(Answer::Revoked),
                false => Err(Error::LeaseNotFound),
            },
            Command::Expire { term, leases } => {
                Ok(Answer::Expired { leases: self.expire(at, *term, leases, step) })
            }
            Command::Checkpoint { term, leases } => {
                for Note { lease, left, renewed } in leases.iter().filter(|_| *term == at.term) {
                    let known = self.leases.get(lease).map(|it| (it.ttl, it.renewed));
                    if known.is_some_and(|(ttl, since)| *left >= ttl || since <= *renewed) {
                        self.note(at, *lease, *left, step);
                    }
                }
                Ok(Answer::Checkpointed)
            }
            Command::Enqueue(enqueue) => self.enqueue(at, enqueue, step),
        }
    }

    fn expire(&mut self, at: At, term: u64, leases: &[Expiry], step: &mut Step) -> u64 {
        let mut ended = 0;
        for Expiry { lease, renewed } in leases {
            let Some(known) = self.leases.get(lease) else { continue };
            let fresh = known.renewed > *renewed && !self.has(Mistake::RenewalIgnored);
            if term != at.term || fresh {
                let (lease, renewed) = (*lease, *renewed);
                step.did.leases.push(LeaseChange::Spared { lease, term, renewed });
            } else {
                ended += u64::from(self.end(*lease, step));
            }
        }
        ended
    }

    fn enqueue(&mut self, at: At, enqueue: &Enqueue, step: &mut Step) -> Result<Answer, Error> {
        let lease = enqueue.lease;
        let ttl = self.leases.get(&lease).ok_or(Error::LeaseNotFound)?.ttl;
        self.note(at, lease, ttl, step);
        let share = match enqueue.share {
            Share::Slots(0) => Share::Slots(1),
            share => share,
        };
        let (key, value) = (claim_key(&enqueue.name, lease, share), enqueue.value.clone());
        let same = |kv: &KeyValue| kv.value == value && kv.lease == lease;
        if !step.keys.get(&key).is_some_and(same) {
            self.put(&Put { key: key.clone(), value, lease, ..Put::default() }, step);
        }
        let fence = step.keys[&key].create_revision;
        let name = enqueue.name.clone();
        let claim = tenure_store::Claim { name, key, lease, share, fence };
        let inside = self.inside(&step.keys, &claim.name).contains(&claim.key);
        Ok(Answer::Enqueued { claim, inside })
    }

    fn note(&mut self, at: At, lease: u64, left: u64, step: &mut Step) {
        let Some(known) = self.leases.get_mut(&lease) else { return };
        known.left = left.min(known.ttl);
        if known.left == known.ttl {
            known.renewed = at.index;
        }
        step.did.leases.push(LeaseChange::Left { lease, seconds: known.left });
    }

    fn end(&mut self, lease: u64, step: &mut Step) -> bool {
        let Some(ended) = self.leases.remove(&lease) else { return false };
        for key in ended.keys {
            self.delete(&Delete { span: Span::one(key), prev_kv: false }, step);
        }
        step.did.leases.push(LeaseChange::Ended { lease });
        true
    }

    fn has_lease(&self, put: &Put) -> Result<(), Error> {
        let has = put.lease == 0 || self.leases.contains_key(&put.lease);
        has.then_some(()).ok_or(Error::LeaseNotFound)
    }

    fn put(&mut self, put: &Put, step: &mut Step) -> Written {
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
        step.did.changes.push((Kind::Put, kv, was.clone()));
        Written { revision, prev: was.filter(|_| put.prev_kv).map(Into::into) }
    }

    fn delete(&mut self, delete: &Delete, step: &mut Step) -> Deleted {
        let keys: Vec<Bytes> =
            step.keys.keys().filter(|key| delete.span.has(key)).cloned().collect();
        let mut deleted = Deleted::default();
        for key in keys {
            let was = step.keys.remove(&key).expect("it is there");
            self.leases.values_mut().for_each(|lease| {
                lease.keys.remove(&key);
            });
            let mod_revision = self.revision() + 1;
            let kv = KeyValue { key, mod_revision, ..KeyValue::default() };
            step.did.changes.push((Kind::Delete, kv, Some(was.clone())));
            deleted.count += 1;
            deleted.prev.extend(delete.prev_kv.then(|| was.into()));
        }
        step.revises |= self.has(Mistake::EmptyDeletion);
        deleted.revision = self.revision() + u64::from(!step.did.changes.is_empty());
        deleted
    }

    fn check_way(&self, txn: &Txn, before: &Keys, step: &Step) -> Result<(), Error> {
        // First all writes, then all reads, as etcd does.
        self.check_each(txn, before, &|operation| match operation {
            Operation::Put(put) => {
                has_kept(step, put)?;
                self.has_lease(put)
            }
            _ => Ok(()),
        })?;
        self.check_each(txn, before, &|operation| match operation {
            Operation::Range(range) if range.revision > self.revision() => {
                Err(Error::FutureRevision)
            }
            Operation::Range(range) if range.revision > 0 && range.revision < self.compacted => {
                Err(Error::Compacted)
            }
            _ => Ok(()),
        })
    }

    fn check_each(
        &self,
        txn: &Txn,
        before: &Keys,
        check: &dyn Fn(&Operation) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let holds = txn.compare.iter().all(|compare| holds(before, compare));
        for operation in if holds { &txn.success } else { &txn.failure } {
            check(operation)?;
            if let Operation::Txn(txn) = operation {
                self.check_each(txn, before, check)?;
            }
        }
        Ok(())
    }

    fn transact(&mut self, txn: &Txn, step: &mut Step) -> Result<Done, Error> {
        check_txn(txn)?;
        let before = step.keys.clone();
        self.check_way(txn, &before, step)?;
        Ok(self.txn(txn, &before, step))
    }

    fn txn(&mut self, txn: &Txn, before: &Keys, step: &mut Step) -> Done {
        let late = self.has(Mistake::LateCompare);
        let seen = if late { step.keys.clone() } else { before.clone() };
        let succeeded = txn.compare.iter().all(|compare| holds(&seen, compare));
        let mut replies = Vec::new();
        for operation in if succeeded { &txn.success } else { &txn.failure } {
            replies.push(match operation {
                Operation::Put(put) => Reply::Put(self.put(put, step)),
                Operation::Delete(delete) => Reply::Delete(self.delete(delete, step)),
                Operation::Txn(txn) => Reply::Txn(self.txn(txn, before, step)),
                Operation::Range(range) => {
                    let now = self.revision() + u64::from(!step.did.changes.is_empty());
                    let blind = self.has(Mistake::BlindReads);
                    let keys = match range.revision {
                        0 if !blind => &step.keys,
                        0 => before,
                        revision => &self.states[revision as usize - 1],
                    };
                    Reply::Range(self.found(range, keys, now))
                }
            });
        }
        let revision = self.revision() + u64::from(!step.did.changes.is_empty());
        Done { revision, succeeded, replies }
    }

    pub(crate) fn range(&self, range: &Range) -> Result<Found, Error> {
        has_key(&range.span)?;
        match range.revision {
            0 => Ok(self.found(range, self.now(), self.revision())),
            future if future > self.revision() => Err(Error::FutureRevision),
            past if past < self.compacted => Err(Error::Compacted),
            at => Ok(self.found(range, &self.states[at as usize - 1], self.revision())),
        }
    }

    fn found(&self, range: &Range, keys: &Keys, revision: u64) -> Found {
        let all: Vec<&KeyValue> = keys.values().filter(|kv| range.span.has(&kv.key)).collect();
        let count = all.len() as u64;
        if range.count_only {
            return Found { revision, count, ..Found::default() };
        }
        let admits = |kv: &&KeyValue| {
            let most = |number, most| most == 0 || number <= most;
            kv.mod_revision >= range.min_mod_revision
                && most(kv.mod_revision, range.max_mod_revision)
                && kv.create_revision >= range.min_create_revision
                && most(kv.create_revision, range.max_create_revision)
        };
        let bounds = [range.min_mod_revision, range.max_mod_revision];
        let others = [range.min_create_revision, range.max_create_revision];
        let looks_at_all = range.order != SortOrder::None || bounds != [0; 2] || others != [0; 2];
        let mut kvs: Vec<KeyValue> = all.into_iter().filter(admits).cloned().collect();
        if !looks_at_all && range.limit > 0 {
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
        Found { revision, kvs, more, count }
    }

    /// The keys below a name that are inside, counted from the head of its queue.
    pub(crate) fn inside(&self, keys: &Keys, name: &Bytes) -> Vec<Bytes> {
        let below = [&name[..], b"/"].concat();
        let mut queue: Vec<&KeyValue> =
            keys.values().filter(|kv| kv.key.starts_with(&below)).collect();
        queue.sort_by_key(|kv| (kv.create_revision, kv.key.clone()));
        let mut inside: Vec<&KeyValue> = Vec::new();
        for kv in queue {
            let kind = inside.first().map(|first| share_of(&first.key, name));
            if share_of(&kv.key, name).may_join(inside.len() as u64, kind) {
                inside.push(kv);
            } else if !self.has(Mistake::ReadersOvertake) {
                break;
            }
        }
        inside.into_iter().map(|kv| kv.key.clone()).collect()
    }
}

/// How a key shares the lock of this name, by its form.
fn share_of(key: &Bytes, name: &Bytes) -> Share {
    let last = String::from_utf8_lossy(&key[name.len() + 1..]).into_owned();
    match last.split_once('.') {
        Some((digits, "shared")) if is_lease(digits) => Share::Shared,
        Some((digits, "slots-2")) if is_lease(digits) => Share::Slots(2),
        _ => Share::Exclusive,
    }
}

fn is_lease(digits: &str) -> bool {
    matches!(digits, "1" | "2" | "3" | "9")
}

/// The claims that there are on all names, as names, keys and fences.
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
    keys: Keys,
    did: Did,
    revises: bool,
}

fn has_key(span: &Span) -> Result<(), Error> {
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
        if [&txn.success, &txn.failure].iter().any(|list| list.len() > most)
            || txn.compare.len() > most
        {
            return Err(Error::TooManyOperations);
        }
        let size = txn.compare.len().max(txn.success.len()).max(txn.failure.len());
        txn.compare.iter().try_for_each(|compare| has_key(&compare.span))?;
        txn.success.iter().chain(&txn.failure).try_for_each(|operation| match operation {
            Operation::Range(range) => has_key(&range.span),
            Operation::Delete(delete) => has_key(&delete.span),
            Operation::Put(put) => check_put(put),
            Operation::Txn(txn) => sizes(txn, most - size),
        })
    }
    sizes(txn, 6)?;
    // No way through the transaction puts a key twice, or puts and deletes one.
    for way in ways(txn) {
        for (at, one) in &way {
            let Operation::Put(put) = one else { continue };
            let clashes = way.iter().any(|(other, two)| match two {
                Operation::Put(two) => other != at && two.key == put.key,
                Operation::Delete(two) => two.span.has(&put.key),
                _ => false,
            });
            if clashes {
                return Err(Error::DuplicateKey);
            }
        }
    }
    Ok(())
}

/// What is done on a way, each with its place in the list, and in the lists around that.
type Way<'a> = Vec<(Vec<usize>, &'a Operation)>;

fn ways(txn: &Txn) -> Vec<Way<'_>> {
    let mut all = Vec::new();
    for list in [&txn.success, &txn.failure] {
        let mut ways: Vec<Way<'_>> = vec![Vec::new()];
        for (at, operation) in list.iter().enumerate() {
            let more = match operation {
                Operation::Txn(txn) => {
                    let mut inner = self::ways(txn);
                    inner.iter_mut().flatten().for_each(|(place, _)| place.insert(0, at));
                    inner
                }
                other => vec![vec![(vec![at], other)]],
            };
            ways = ways
                .iter()
                .flat_map(|way| more.iter().map(|more| [&way[..], &more[..]].concat()))
                .collect();
        }
        all.extend(ways);
    }
    all
}

fn holds(keys: &Keys, Compare { span, relation, target }: &Compare) -> bool {
    let found: Vec<&KeyValue> = keys.values().filter(|kv| span.has(&kv.key)).collect();
    let nothing = KeyValue::default();
    let found = match (found.is_empty(), target) {
        (true, Target::Value(_)) => return false,
        (true, _) => vec![&nothing],
        _ => found,
    };
    found.iter().all(|kv| {
        let order = match target {
            Target::Version(number) => kv.version.cast_signed().cmp(number),
            Target::Create(number) => kv.create_revision.cast_signed().cmp(number),
            Target::Mod(number) => kv.mod_revision.cast_signed().cmp(number),
            Target::Lease(number) => kv.lease.cast_signed().cmp(number),
            Target::Value(value) => kv.value.cmp(value),
        };
        match relation {
            Relation::Equal => order.is_eq(),
            Relation::NotEqual => order.is_ne(),
            Relation::Greater => order.is_gt(),
            Relation::Less => order.is_lt(),
        }
    })
}
