//! Detection of deadlocks among sessions, from the queues that a client can read.
//!
//! The client searches a graph of claims, which has two kinds of edges. A claim that waits for a
//! lock has an edge to each claim that holds this lock. A claim that holds a lock has an edge to
//! each waiting claim of the same session. If the search reaches a claim that the caller holds,
//! there is a cycle.
//!
//! A claim in a queue also waits for the waiting claims ahead of it. The graph has no edges for
//! these waits, because the waiting claims ahead wait for the same holders.

use std::cmp::Reverse;
use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tenure_etcd::etcdserverpb as rpc;
use tenure_etcd::mvccpb::KeyValue;
use tenure_session::AccessMode;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::barrier::double::WAITERS_KEY_SEGMENT;
use crate::error::{ClientError, WaitForEdge};
use crate::lock::access::access_of_claim_key;
use crate::lock::permit_queue::PERMITS_KEY_SEGMENT;
use crate::lock::queue_entry::transact_while_alive;
use crate::lock::read_write::{READ_KEY_SEGMENT, WRITE_KEY_SEGMENT};
use crate::lock::transactions::{self, read_keys_txn};
use crate::requests;
use crate::session::Session;
use crate::transport::REQUEST_TIMEOUT;
use crate::watch::queue_changes::LockQueueChanges;

/// Interval of the checks while the watched queues do not change. The [`DeadlockDetector`] watches
/// only the queues of the caller's locks. A new claim in any other queue may complete a cycle, and
/// only the next check finds this cycle.
const CHECK_INTERVAL: Duration = Duration::from_secs(5);

/// Shortest interval between two checks, if the watched queues change often.
const MIN_CHECK_INTERVAL: Duration = Duration::from_millis(200);

/// Time for which a cycle must exist before it is reported. A younger cycle may soon disappear,
/// because the request that releases one of its locks may be on its way.
const CONFIRM_DELAY: Duration = Duration::from_millis(100);

/// Additional wait of a session before it reports a cycle, for each claim in the cycle that is
/// newer than its own claim. The session with the newest claim therefore reports the cycle first.
const OLDER_DELAY: Duration = Duration::from_secs(2);

/// Upper bound on the waiting claims whose queues one check reads. If a check reaches more claims,
/// it finds no cycle. Also an upper bound on the claims of one session that a check reads.
const MAX_QUEUES_PER_CHECK: usize = 256;

/// Upper bound on the number of keys that the [`DeadlockDetector`] reads from one queue. The
/// detector begins with the oldest key. The oldest keys belong to the holders of the lock. If a
/// lock has more holders than this number, the detector does not see all holders.
const KEYS_PER_READ: i64 = 256;

/// Upper bound on the reads of one transaction. etcd allows 128 operations.
const KEYS_PER_TRANSACTION: usize = 100;

/// Detector of deadlocks among sessions. A deadlock is a cycle in which each session waits for the
/// next session. The detector finds only cycles that contain `own`, a waiting claim of the caller.
#[derive(Debug)]
pub(crate) struct DeadlockDetector<'a> {
    session: &'a Session,
    own: Claimed,
    /// Keys of the claims that the caller holds.
    held: Vec<Vec<u8>>,
}

/// A claim, as the detector has read it.
#[derive(Clone, Debug)]
struct Claimed {
    key: Vec<u8>,
    /// Revision in which the key was created.
    created: u64,
    /// Lease of the key, which identifies the session of the claim; 0 if the key has no lease.
    lease: i64,
}

impl From<&KeyValue> for Claimed {
    fn from(kv: &KeyValue) -> Self {
        let (key, created) = (kv.key.clone(), requests::unsigned(kv.create_revision));
        Claimed { key, created, lease: kv.lease }
    }
}

/// A waiting claim that the search has reached.
#[derive(Clone, Debug)]
struct Reached {
    waiting: Claimed,
    /// Claim through which the search reached `waiting`. This claim belongs to the same session as
    /// `waiting`, and holds the lock for which the claim at the index `previous` waits. `None` for
    /// the caller's claim, where the search starts.
    holding: Option<Claimed>,
    /// Index of the claim from which the search reached this claim. `None` for the caller's claim,
    /// where the search starts.
    previous: Option<usize>,
}

/// Lock that the [`DeadlockDetector`] supports. The detector reads the queues of such a lock, and
/// derives the holders of the lock from the order of the claims.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Lock {
    /// A lock or an election with one queue. The suffix of each key states the access mode of its
    /// claim.
    Queue(String),
    /// A read/write lock. The holders are all readers before the first writer. If the oldest claim
    /// is a writer, this writer is the only holder.
    ReadWrite(String),
}

impl Lock {
    /// Returns the lock to which a key belongs. Returns `None` if the [`DeadlockDetector`] does not
    /// support the lock. For example, the detector does not support semaphores.
    fn of(key: &[u8]) -> Option<Lock> {
        let key = std::str::from_utf8(key).ok()?;
        let (queue, _) = key.rsplit_once('/')?;
        Some(match queue.rsplit_once('/') {
            Some((name, READ_KEY_SEGMENT | WRITE_KEY_SEGMENT)) => Lock::ReadWrite(name.to_owned()),
            Some((_, PERMITS_KEY_SEGMENT | WAITERS_KEY_SEGMENT)) => return None,
            // The key is a candidate's record, not a claim.
            _ if queue.ends_with("#election") => return None,
            _ => Lock::Queue(queue.to_owned()),
        })
    }

    fn name(&self) -> &str {
        match self {
            Lock::Queue(name) | Lock::ReadWrite(name) => name,
        }
    }

    fn queues(&self) -> Vec<String> {
        match self {
            Lock::Queue(name) => vec![name.clone()],
            Lock::ReadWrite(name) => {
                vec![format!("{name}/{READ_KEY_SEGMENT}"), format!("{name}/{WRITE_KEY_SEGMENT}")]
            }
        }
    }
}

impl<'a> DeadlockDetector<'a> {
    /// Prepares the search for deadlocks. The caller waits with the claim `key`, which was created
    /// in the revision `create_revision`, and holds the claims with the keys `held_keys`.
    pub(crate) fn new(
        session: &'a Session,
        key: Vec<u8>,
        create_revision: u64,
        held_keys: Vec<Vec<u8>>,
    ) -> DeadlockDetector<'a> {
        let own = Claimed { key, created: create_revision, lease: session.id() };
        DeadlockDetector { session, own, held: held_keys }
    }

    /// Waits until the caller's waiting claim is part of a cycle that lasts, and returns the waits
    /// of this cycle. Failed reads are repeated later.
    pub(crate) async fn wait_for_deadlock(&self) -> Vec<WaitForEdge> {
        let changed = Arc::new(Notify::new());
        let _watches = self.watch(&changed);
        loop {
            if let Ok(Some(cycle)) = self.find_cycle().await
                && self.is_permanent(&cycle).await
            {
                return cycle.iter().map(|it| step(&it.waiting)).collect();
            }
            sleep(MIN_CHECK_INTERVAL).await;
            tokio::select! {
                () = changed.notified() => {}
                () = sleep(CHECK_INTERVAL) => {}
            }
        }
    }

    /// Starts tasks that report each change in the queues of the caller's locks. The tasks end when
    /// the result is dropped.
    fn watch(&self, changed: &Arc<Notify>) -> JoinSet<()> {
        let mut watches = JoinSet::new();
        let locks = self.held.iter().chain([&self.own.key]).filter_map(|key| Lock::of(key));
        let queues: HashSet<String> = locks.flat_map(|lock| lock.queues()).collect();
        for queue in queues {
            let channel = self.session.channel().clone();
            let mut changes = LockQueueChanges::new(channel, &queue, self.own.created + 1);
            let changed = changed.clone();
            let report = async move {
                loop {
                    changes.next().await;
                    changed.notify_one();
                }
            };
            watches.spawn_on(report, self.session.runtime());
        }
        watches
    }

    /// Searches for the shortest cycle through the caller's waiting claim. Returns the waiting
    /// claims of the cycle, beginning with the claim of the caller. The last claim waits for a
    /// claim that the caller holds. Returns `None` if there is no cycle, or if the search reaches
    /// more than [`MAX_QUEUES_PER_CHECK`] claims.
    async fn find_cycle(&self) -> Result<Option<Vec<Reached>>, ClientError> {
        let start = Reached { waiting: self.own.clone(), holding: None, previous: None };
        let (mut reached, mut pending) = (vec![start], VecDeque::from([0]));
        let (mut sessions, mut queues) = (HashSet::new(), 0);
        while let Some(index) = pending.pop_front() {
            queues += 1;
            if queues > MAX_QUEUES_PER_CHECK {
                return Ok(None);
            }
            for holder in self.holders_before(&reached[index].waiting).await? {
                if self.held.contains(&holder.key) {
                    return Ok(Some(path(&reached, index, holder)));
                }
                // A key without a lease belongs to no session. Each session is visited only once.
                if holder.lease == 0 || !sessions.insert(holder.lease) {
                    continue;
                }
                for waiting in self.other_claims(&holder).await? {
                    pending.push_back(reached.len());
                    let holding = Some(holder.clone());
                    reached.push(Reached { waiting, holding, previous: Some(index) });
                }
            }
        }
        Ok(None)
    }

    /// Returns the claims that hold the lock for which `claim` waits. The list is empty if `claim`
    /// itself holds the lock, if it requests permits, or if the detector does not support the lock.
    async fn holders_before(&self, claim: &Claimed) -> Result<Vec<Claimed>, ClientError> {
        // A claim for permits need not wait for every holder, but only until enough permits are
        // free. The search therefore ends at such a claim.
        let is_permit = matches!(access_of_claim_key(&claim.key), AccessMode::Permits { .. });
        let Some(lock) = Lock::of(&claim.key).filter(|_| !is_permit) else {
            return Ok(Vec::new());
        };
        let holders = match &lock {
            Lock::Queue(name) => queue_holders(self.oldest(name).await?),
            Lock::ReadWrite(name) => {
                let readers = self.oldest(&format!("{name}/{READ_KEY_SEGMENT}")).await?;
                let writers = self.oldest(&format!("{name}/{WRITE_KEY_SEGMENT}")).await?;
                read_write_holders(readers, writers)
            }
        };
        let is_holder = holders.iter().any(|holder: &Claimed| holder.key == claim.key);
        let is_earlier = |holder: &Claimed| holder.created < claim.created;
        Ok(holders.into_iter().filter(|it| !is_holder && is_earlier(it)).collect())
    }

    /// Returns the oldest claims of a queue. Reads at most [`KEYS_PER_READ`] keys at once, so later
    /// claims may be missing.
    async fn oldest(&self, queue: &str) -> Result<Vec<Claimed>, ClientError> {
        let mut from = 0;
        loop {
            let request = transactions::read_oldest_keys_txn(queue, from, KEYS_PER_READ);
            let response = transact_while_alive(self.session, request, &mut 0).await?;
            let keys: Vec<&KeyValue> = requests::key_values(&response).collect();
            let is_full = i64::try_from(keys.len()).is_ok_and(|count| count >= KEYS_PER_READ);
            let newest = keys.iter().map(|kv| requests::unsigned(kv.create_revision)).max();
            let in_queue = keys.iter().filter(|kv| requests::is_in_queue(queue, &kv.key));
            let claims: Vec<Claimed> = in_queue.map(|kv| Claimed::from(*kv)).collect();
            match newest {
                // All keys that were read so far belong to other locks.
                Some(newest) if claims.is_empty() && is_full && newest > from => from = newest,
                _ => return Ok(claims),
            }
        }
    }

    /// Returns the claims of the session to which the claim `holder` belongs. Omits the claim
    /// `holder`, the caller's own waiting claim, and claims of unsupported locks. The list is empty
    /// if the user may not read the keys of the session.
    async fn other_claims(&self, holder: &Claimed) -> Result<Vec<Claimed>, ClientError> {
        let request = rpc::LeaseTimeToLiveRequest { id: holder.lease, keys: true };
        let path = "/etcdserverpb.Lease/LeaseTimeToLive";
        let deadline = Instant::now() + REQUEST_TIMEOUT;
        let asked = self.session.channel().call_idempotent(path, request, deadline).await;
        let lease: rpc::LeaseTimeToLiveResponse = match asked {
            Ok(lease) => lease,
            // The user may not read a key of the session.
            Err(ClientError::Rejected { .. }) => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let is_other = |key: &&Vec<u8>| **key != holder.key && **key != self.own.key;
        let keys = lease.keys.iter().filter(is_other).filter(|key| Lock::of(key).is_some());
        let keys: Vec<&Vec<u8>> = keys.take(MAX_QUEUES_PER_CHECK).collect();
        let mut claims: Vec<Claimed> = Vec::new();
        for keys in keys.chunks(KEYS_PER_TRANSACTION) {
            let response = transact_while_alive(self.session, read_keys_txn(keys), &mut 0).await?;
            claims.extend(requests::key_values(&response).map(Claimed::from));
        }
        // A session usually waits for the lock that it requested last.
        claims.sort_by_key(|claim| Reverse(claim.created));
        Ok(claims)
    }

    /// Waits for [`CONFIRM_DELAY`], and for [`OLDER_DELAY`] per newer waiting claim. Then returns
    /// true if all claims of the cycle still exist, so that the cycle is a deadlock. Returns false
    /// if the read fails.
    async fn is_permanent(&self, cycle: &[Reached]) -> bool {
        let later = cycle.iter().filter(|it| it.waiting.created > self.own.created).count();
        sleep(CONFIRM_DELAY + OLDER_DELAY * u32::try_from(later).unwrap_or(u32::MAX)).await;
        let claims = cycle.iter().flat_map(|it| [Some(&it.waiting), it.holding.as_ref()]).flatten();
        let keys: Vec<_> = claims.map(|claim| (claim.key.clone(), claim.created)).collect();
        let request = transactions::check_create_revisions_txn(&keys);
        let response = transact_while_alive(self.session, request, &mut 0).await;
        response.is_ok_and(|response| response.succeeded)
    }
}

/// Returns the path of the search from the caller's claim to the claim with the index `index`.
///
/// The path is a cycle of waits, because its last claim waits for `closing`, a claim that the
/// caller holds. The function therefore stores `closing` in the field `holding` of the first claim.
fn path(reached: &[Reached], index: usize, closing: Claimed) -> Vec<Reached> {
    let mut path = Vec::new();
    let mut next = Some(index);
    while let Some(index) = next {
        path.push(reached[index].clone());
        next = reached[index].previous;
    }
    path.reverse();
    if let Some(first) = path.first_mut() {
        first.holding = Some(closing);
    }
    path
}

/// Returns the holders of a read/write lock: the oldest claim if it is a writer, otherwise all
/// readers before the first writer.
fn read_write_holders(readers: Vec<Claimed>, writers: Vec<Claimed>) -> Vec<Claimed> {
    let Some(writer) = writers.into_iter().next() else { return readers };
    let earlier: Vec<Claimed> =
        readers.into_iter().filter(|reader| reader.created < writer.created).collect();
    if earlier.is_empty() { vec![writer] } else { earlier }
}

/// Returns the claims of a queue that hold the lock. A claim holds the lock if it need not wait for
/// any earlier claim.
fn queue_holders(mut claims: Vec<Claimed>) -> Vec<Claimed> {
    let waits = |index: &usize| {
        let earlier = claims[..*index].iter().rev();
        let earlier = earlier.map(|claim| (&claim.key, access_of_claim_key(&claim.key)));
        !access_of_claim_key(&claims[*index].key).blocking_claims(earlier).is_empty()
    };
    let holders = (0..claims.len()).find(waits).unwrap_or(claims.len());
    claims.truncate(holders);
    claims
}

fn step(claim: &Claimed) -> WaitForEdge {
    let lock = Lock::of(&claim.key);
    let lock = lock.map_or_else(String::new, |lock| lock.name().to_owned());
    WaitForEdge { session: claim.lease, lock }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holders_of_queue_follow_the_access_of_their_keys() {
        let holders = |keys: &[&str]| {
            let claim = |key: &&str| Claimed { key: key.as_bytes().to_vec(), created: 1, lease: 1 };
            queue_holders(keys.iter().map(claim).collect()).len()
        };
        assert_eq!(holders(&["a/1", "a/2"]), 1);
        assert_eq!(holders(&["a/1.shared", "a/2.shared", "a/3", "a/4.shared"]), 2);
        assert_eq!(holders(&["a/1.slots-2", "a/2.slots-2", "a/3.slots-2"]), 2);
        assert_eq!(holders(&[]), 0);
    }

    fn claims(created: &[u64]) -> Vec<Claimed> {
        let claim = |created: &u64| Claimed { key: Vec::new(), created: *created, lease: 1 };
        created.iter().map(claim).collect()
    }

    #[test]
    fn keys_name_their_locks() {
        let queue = |name: &str| Some(Lock::Queue(name.to_owned()));
        let read_write = |name: &str| Some(Lock::ReadWrite(name.to_owned()));
        for (key, expected) in [
            ("a/1", queue("a")),
            ("a/b/1.2", queue("a/b")),
            ("a/b/read/1", read_write("a/b")),
            ("a/write/1", read_write("a")),
            ("read/1", queue("read")),
            ("a/permits/1", None),
            ("a/waiters/1", None),
            ("a#election/candidate-1", None),
            ("a", None),
        ] {
            assert_eq!(Lock::of(key.as_bytes()), expected, "{key}");
        }
    }

    #[test]
    fn holders_of_read_write_lock_are_its_head() {
        let holders = |readers: &[u64], writers: &[u64]| -> Vec<u64> {
            read_write_holders(claims(readers), claims(writers))
                .iter()
                .map(|claim| claim.created)
                .collect()
        };
        assert_eq!(holders(&[2, 3, 6], &[5, 7]), [2, 3]);
        assert_eq!(holders(&[6], &[5]), [5]);
        assert_eq!(holders(&[2, 3], &[]), [2, 3]);
        assert_eq!(holders(&[], &[]), [0; 0]);
    }
}
