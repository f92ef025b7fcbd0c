//! Guards of several locks at once. A caller may also take further locks while it holds some.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use futures_util::future::{FutureExt, select_all};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::error::{ClientError, LossReason};
use crate::lock::deadlock::DeadlockDetector;
use crate::lock::guard::Guard;
use crate::lock::queue_entry::{HandOverEvent, QueueEntry};
use crate::requests;
use crate::session::{DeadlineChanges, Session};

/// Several locks that a session holds. Dropping this value releases all locks. The locks are also
/// released when the session ends.
#[must_use = "dropping this releases the locks"]
#[derive(Debug)]
pub struct MultiGuard {
    session: Session,
    /// Names of the locks with their guards, in ascending order of the names.
    locks: Vec<(String, Guard)>,
}

impl Session {
    /// Waits until this session holds all locks of `names`. If the future is dropped, the session
    /// releases the locks that it has acquired, and leaves the queue of the next lock.
    ///
    /// The session takes the locks one after another, in the order of their names as bytes. If a
    /// name is given twice, the lock is taken once. A caller that takes locks only by this method,
    /// and holds no other lock, causes no deadlock. If other callers cause a deadlock, it is
    /// detected as described at [`Session::lock_detecting_deadlock`].
    ///
    /// # Errors
    ///
    /// As [`Session::lock`], and [`ClientError::WouldDeadlock`]. Also [`ClientError::Lost`] if a
    /// lock is lost while the session waits for a later one. After an error, the session releases
    /// all acquired locks in the background.
    pub async fn lock_all(
        &self,
        names: impl IntoIterator<Item: AsRef<str>>,
    ) -> Result<MultiGuard, ClientError> {
        let mut locks: Vec<(String, Guard)> = Vec::new();
        for name in in_order(names) {
            let held: Vec<&Guard> = locks.iter().map(|(_, guard)| guard).collect();
            let guard = self.lock_detecting_deadlock(&name, &held).await?;
            locks.push((name, guard));
        }
        // Another client may have deleted the key of a lock during the wait for a later lock.
        if let [earlier @ .., _] = &locks[..] {
            for (_, guard) in earlier {
                guard.confirm().await?;
            }
        }
        Ok(MultiGuard { session: self.clone(), locks })
    }

    /// Acquires all locks of `names`. If another client holds or awaits one of the locks, returns
    /// `None`. If the future is dropped, the session releases the locks that it has acquired.
    ///
    /// The session takes the locks one after another. If the result is `None`, other clients may
    /// have seen some locks held for a moment.
    ///
    /// # Errors
    ///
    /// As [`Session::try_lock`]. After an error, the session releases all acquired locks in the
    /// background.
    pub async fn try_lock_all(
        &self,
        names: impl IntoIterator<Item: AsRef<str>>,
    ) -> Result<Option<MultiGuard>, ClientError> {
        let mut locks = Vec::new();
        for name in in_order(names) {
            let Some(guard) = self.try_lock(&name).await? else { return Ok(None) };
            locks.push((name, guard));
        }
        Ok(Some(MultiGuard { session: self.clone(), locks }))
    }

    /// Acquires all locks of `names` within the time `within`, or returns `None`. If the time
    /// expires or the future is dropped, the session releases the locks that it has acquired. The
    /// session also leaves the queue in which it waits.
    ///
    /// # Errors
    ///
    /// As [`Session::lock_all`].
    pub async fn lock_all_within(
        &self,
        names: impl IntoIterator<Item: AsRef<str>>,
        within: Duration,
    ) -> Result<Option<MultiGuard>, ClientError> {
        timeout(within, self.lock_all(names)).await.ok().transpose()
    }

    /// Waits for a lock like [`Session::lock`], while the caller holds the locks of the guards
    /// `held`. Fails if the wait would complete a cycle of sessions that wait for each other. If
    /// the future is dropped, the session leaves the queue and the caller keeps its guards.
    ///
    /// A deadlock is a cycle: the caller waits for a lock, and the session that holds this lock
    /// waits for another lock. At the end of the cycle, a session waits for a lock of one of the
    /// guards. To find a cycle, the client reads the queues when the wait begins, and every five
    /// seconds. It also reads the queues after each change in the queues of this lock and of the
    /// guards. If several sessions search for the same cycle, the session that began to wait last
    /// fails first.
    ///
    /// **Detected:** cycles of exclusive and shared locks, of read/write locks and of elections.
    /// The cycle may contain clients that use other libraries of etcd with keys `NAME/SEGMENT`. If
    /// one of the guards holds the requested lock, the session waits for itself, which is a cycle
    /// as well.
    ///
    /// **Not detected:** waits for semaphores, for [`LockMode::Slots`](crate::LockMode::Slots),
    /// for barriers and for anything outside of the service. Also not detected are waits in queues
    /// that the user may not read, and cycles of sessions that hold hundreds of locks. Without
    /// guards the method is the same as [`Session::lock`].
    ///
    /// **Possibly detected by mistake:** a cycle with a session that several tasks share. While one
    /// of the tasks waits, another task could still release the lock. Use a separate session for
    /// each task that holds a lock while it waits for another lock. A lock is treated as held until
    /// its release has reached the service.
    ///
    /// # Errors
    ///
    /// As [`Session::lock`], and [`ClientError::WouldDeadlock`]. After an error, the session is not
    /// in the queue, and the caller still holds its guards. The caller should release the guards,
    /// and then acquire all locks again.
    pub async fn lock_detecting_deadlock(
        &self,
        name: &str,
        held: &[&Guard],
    ) -> Result<Guard, ClientError> {
        if held.is_empty() {
            return self.lock(name).await;
        }
        self.check_alive()?;
        let key = self.new_claim_key(name);
        let request = requests::enqueue_txn(name, &key, Vec::new(), self.id());
        let entry = QueueEntry::prepare(self, name, key.clone(), request);
        let mut entry = entry.with_hand_over(HandOverEvent::OnRelease);
        let wait = async {
            let (own, _) = entry.start_waiting().await?;
            let held = held.iter().map(|guard| guard.key().to_vec()).collect();
            let detector = DeadlockDetector::new(self, key, own, held);
            tokio::select! {
                biased;
                fence = entry.resume_waiting(own) => fence,
                cycle = detector.wait_for_deadlock() => Err(ClientError::WouldDeadlock { cycle }),
            }
        };
        let fence = self.while_alive(wait).await?;
        Ok(Guard::new(entry.into_claim(fence)))
    }
}

/// Returns the names of locks in the order in which every caller acquires them. Each name occurs
/// once.
fn in_order(names: impl IntoIterator<Item: AsRef<str>>) -> BTreeSet<String> {
    names.into_iter().map(|name| name.as_ref().to_owned()).collect()
}

impl MultiGuard {
    /// Returns the names of the locks in ascending order. Each name occurs once.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.locks.iter().map(|(name, _)| &name[..])
    }

    /// Returns the names and the guards of the locks, in the order of the names.
    pub fn guards(&self) -> impl Iterator<Item = (&str, &Guard)> {
        self.locks.iter().map(|(name, guard)| (&name[..], guard))
    }

    /// Returns the fencing token of the lock with this name. Returns `None` if this guard does not
    /// hold such a lock.
    ///
    /// Each lock has its own sequence of tokens. A request to a resource must carry the token of
    /// the lock that protects the resource.
    pub fn fence(&self, name: &str) -> Option<u64> {
        self.guards().find(|(it, _)| *it == name).map(|(_, guard)| guard.fence())
    }

    /// Returns the time at which all locks are lost if the session is not renewed until then.
    /// Returns `None` if the session has already ended. The deadline does not change if another
    /// client deletes the key of a lock. [`MultiGuard::lost`] detects the deletion.
    pub fn deadline(&self) -> Option<Instant> {
        self.session.deadline()
    }

    /// Returns the receiver of the session's deadlines. Each successful renewal sets a new
    /// deadline.
    pub fn deadline_changes(&self) -> DeadlineChanges {
        self.session.deadline_changes()
    }

    /// Waits until one of the locks is lost and returns the reason, as [`Guard::lost`] does.
    /// Dropping the future has no effect.
    pub async fn lost(&self) -> LossReason {
        let guards = self.locks.iter().map(|(_, guard)| guard.lost().boxed());
        select_all(std::iter::once(self.session.lost().boxed()).chain(guards)).await.0
    }

    /// Releases all locks and waits until the releases are committed. Dropping the future does not
    /// cancel the releases.
    ///
    /// # Errors
    ///
    /// [`ClientError::Unavailable`] if no member confirms a release within ten seconds, and
    /// [`ClientError::Rejected`] if the service rejects a release. In both cases, the session
    /// repeats the request in the background until it succeeds or the session ends.
    pub async fn release(self) -> Result<(), ClientError> {
        let mut releases = JoinSet::new();
        for (_, guard) in self.locks {
            releases.spawn_on(guard.release(), self.session.runtime());
        }
        let mut result = Ok(());
        while let Some(released) = releases.join_next().await {
            // A task fails to join only while the runtime shuts down.
            result = result.and(released.unwrap_or(Ok(())));
        }
        result
    }
}
