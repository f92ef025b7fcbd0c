//! Locks with an access mode: exclusive, shared, or with a limited number of holders.
//!
//! All modes of a lock share one queue with [`Session::lock`]. The suffix of a key states the mode:
//! `NAME/LEASE.shared`, or `NAME/LEASE.slots-3` for up to three holders. A key without a suffix is
//! exclusive. The libraries of etcd create keys without a suffix, and wait for all earlier keys.
//! Their exclusive locks therefore exclude shared holders as well.

use std::str::from_utf8;

use tenure_etcd::mvccpb::KeyValue;
use tenure_session::{AccessMode, parse_claim_name};

use crate::error::{ClientError, LossReason};
use crate::lock::acquire::{acquire, try_acquire};
use crate::lock::claim::Claim;
use crate::lock::guard::Guard;
use crate::lock::queue_entry::{HandOverEvent, QueueEntry};
use crate::lock::queue_pages::QueueRead;
use crate::requests;
use crate::session::Session;
use crate::transport::retry::Backoff;
use crate::watch::watcher::Watcher;

/// Access mode in which a client holds a lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LockMode {
    /// No other client holds the lock at the same time.
    #[default]
    Exclusive,
    /// Other clients with shared access may hold the lock at the same time.
    Shared,
    /// Up to this many clients with this access hold the lock at the same time. All these clients
    /// must request the same number, which is at least 1.
    Slots(u32),
}

/// Options of a request for a lock: the access mode, and the value to store in the key of the
/// client's claim.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LockOptions {
    access: LockMode,
    value: Vec<u8>,
}

impl LockOptions {
    /// Creates options with an empty value.
    pub const fn new(access: LockMode) -> LockOptions {
        LockOptions { access, value: Vec::new() }
    }

    /// Sets the value of the claim's key, such as a description of the client. Every user that may
    /// read the key can read the value.
    #[must_use]
    pub fn value(self, value: impl Into<Vec<u8>>) -> LockOptions {
        LockOptions { value: value.into(), ..self }
    }
}

/// A claim for shared access or for a slot, which waits in the queue of the lock `name`.
struct Waiting<'a> {
    session: &'a Session,
    name: &'a str,
    access: AccessMode,
    entry: QueueEntry,
    /// Revision in which the key of the claim was created.
    own: u64,
}

/// The claims for which a waiting claim waits, as of one read of the queue.
struct Blockers {
    /// Keys of the blocking claims. Empty if the waiting claim holds the lock.
    keys: Vec<Vec<u8>>,
    /// Revision of the store at the time of the read.
    revision: u64,
}

impl Session {
    /// Waits until this session holds a lock with the requested access. If the future is dropped,
    /// the session leaves the queue.
    ///
    /// All modes of a name share one queue with [`Session::lock`]. Claims with different modes
    /// therefore exclude each other. Claims are granted in the order of the queue: a shared claim
    /// does not overtake a waiting exclusive claim. A resource can reject old holders by their
    /// fencing tokens only if the access is exclusive.
    ///
    /// # Errors
    ///
    /// As [`Session::lock`]. Also returns [`ClientError::InvalidPermits`] for 0 slots, and
    /// [`ClientError::PermitsMismatch`] if an earlier claim has a different number of slots. After
    /// an error, the session is not in the queue.
    pub async fn lock_with(&self, name: &str, request: &LockOptions) -> Result<Guard, ClientError> {
        let value = request.value.clone();
        let claim = match request.access {
            LockMode::Exclusive => acquire(self, name, value, HandOverEvent::OnRelease).await?,
            access => {
                self.while_alive(async {
                    Waiting::enqueue(self, name, access, value).await?.acquire().await
                })
                .await?
            }
        };
        Ok(Guard::new(claim))
    }

    /// Acquires a lock with the requested access without waiting. Returns `None` if earlier claims
    /// exclude this access. Another client may see the claim in the queue for a moment although the
    /// result is `None`. If the future is dropped, the session does not hold the lock.
    ///
    /// # Errors
    ///
    /// As [`Session::lock_with`].
    pub async fn try_lock_with(
        &self,
        name: &str,
        request: &LockOptions,
    ) -> Result<Option<Guard>, ClientError> {
        let value = request.value.clone();
        let claim = match request.access {
            LockMode::Exclusive => try_acquire(self, name, value).await?,
            access => {
                self.while_alive(async {
                    let mut waiting = Waiting::enqueue(self, name, access, value).await?;
                    let is_free = waiting.blockers().await?.keys.is_empty();
                    Ok(is_free.then(|| waiting.into_claim()))
                })
                .await?
            }
        };
        Ok(claim.map(Guard::new))
    }
}

impl<'a> Waiting<'a> {
    async fn enqueue(
        session: &'a Session,
        name: &'a str,
        access: LockMode,
        value: Vec<u8>,
    ) -> Result<Waiting<'a>, ClientError> {
        let access = match access {
            LockMode::Exclusive => AccessMode::Exclusive,
            LockMode::Shared => AccessMode::Shared,
            LockMode::Slots(0) => {
                return Err(ClientError::InvalidPermits { requested: 0, permits: u32::MAX });
            }
            LockMode::Slots(slots) => AccessMode::Permits { weight: 1, capacity: slots },
        };
        let mut key = session.new_claim_key(name);
        key.extend(access.claim_name_suffix().bytes());
        let request = requests::enqueue_txn(name, &key, value, session.id());
        let mut entry = QueueEntry::prepare(session, name, key, request);
        let own = entry.wait_for_create_revision().await?.ok_or(LossReason::KeyDeleted)?;
        Ok(Waiting { session, name, access, entry, own })
    }

    async fn acquire(mut self) -> Result<Claim, ClientError> {
        let mut backoff = Backoff::default();
        loop {
            let blockers = self.blockers().await?;
            if blockers.keys.is_empty() {
                return Ok(self.into_claim());
            }
            let (channel, from) = (self.session.channel().clone(), blockers.revision + 1);
            let own = self.entry.key();
            let mut watcher = match &blockers.keys[..] {
                [key] => Watcher::of_key(channel, key, from).with_deletion_of(own),
                _ => Watcher::of_range(channel, requests::queue_range(self.name), from),
            };
            let is_awaited =
                |deleted: &[u8]| deleted == own || blockers.keys.iter().any(|key| key == deleted);
            watcher.wait_for_deletion(is_awaited, &mut backoff).await;
        }
    }

    fn into_claim(self) -> Claim {
        self.entry.into_claim(self.own).with_concurrent_holders()
    }

    /// Returns the earlier claims in the queue that this claim waits for.
    ///
    /// The method takes `&mut self` because [`QueueEntry`] is not `Sync`. With `&self`, the future
    /// would not be `Send`.
    async fn blockers(&mut self) -> Result<Blockers, ClientError> {
        let read = QueueRead {
            name: self.name,
            key: self.entry.key(),
            max_create_revision: self.own.saturating_sub(1),
            is_keys_only: true,
        };
        let queue = read.perform(self.session).await?;
        if queue.own_create_revision != Some(self.own) {
            return Err(self.session.query_key_deletion_reason().await.into());
        }
        let with_access = |kv: KeyValue| {
            let access = access_of_claim_key(&kv.key);
            (kv.key, access)
        };
        let earlier: Vec<(Vec<u8>, AccessMode)> =
            queue.others.into_iter().map(with_access).collect();
        self.check_slots(&earlier)?;
        Ok(Blockers { keys: self.access.blocking_claims(earlier), revision: queue.revision })
    }

    /// Returns [`ClientError::PermitsMismatch`] if this claim and an earlier claim disagree about
    /// the number of clients that may hold the lock at the same time.
    fn check_slots(&self, earlier: &[(Vec<u8>, AccessMode)]) -> Result<(), ClientError> {
        let AccessMode::Permits { capacity: requested, .. } = self.access else { return Ok(()) };
        let other = earlier.iter().find_map(|(_, access)| match access {
            AccessMode::Permits { capacity, .. } if *capacity != requested => Some(*capacity),
            _ => None,
        });
        let semaphore = self.name.to_owned();
        other.map_or(Ok(()), |permits| {
            let permits = permits.to_string();
            Err(ClientError::PermitsMismatch { semaphore, requested, permits })
        })
    }
}

/// Returns the access mode of a claim. The last segment of the claim's key states the access mode,
/// for example with `.shared`. If the segment states no access mode, the claim is exclusive,
/// because clients of etcd may use any key.
pub(crate) fn access_of_claim_key(key: &[u8]) -> AccessMode {
    let slash = key.iter().rposition(|byte| *byte == b'/');
    let name = slash.and_then(|slash| from_utf8(&key[slash + 1..]).ok());
    name.and_then(parse_claim_name).map_or(AccessMode::Exclusive, |(_, access)| access)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_of_a_claim_contains_its_access() {
        let slots = |capacity| AccessMode::Permits { weight: 1, capacity };
        for (key, access) in [
            ("a/1f", AccessMode::Exclusive),
            ("a/1f.2", AccessMode::Exclusive),
            ("a/1f.shared", AccessMode::Shared),
            ("a/1f.2.shared", AccessMode::Shared),
            ("a/b/1f.slots-3", slots(3)),
            ("a/1f.2.slots-30", slots(30)),
        ] {
            assert_eq!(access_of_claim_key(key.as_bytes()), access, "{key}");
        }
        for key in ["a/x.shared", "a/1F.shared", "a/1.slots-0", "a/1.slots-03", "a/1.shared.2"] {
            assert_eq!(access_of_claim_key(key.as_bytes()), AccessMode::Exclusive, "{key}");
        }
        for key in ["a/1.2.3.shared", "a/1.02.shared", "a/.shared", "a/1.shared-1", "a.shared"] {
            assert_eq!(access_of_claim_key(key.as_bytes()), AccessMode::Exclusive, "{key}");
        }
    }
}
