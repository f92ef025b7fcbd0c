//! Several locks at once, and locks that a caller takes while it holds others.

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
use crate::session::{Deadlines, Session};

/// Several locks that a session holds. Dropping this value releases all of them. They are also
/// released when the session ends.
#[must_use = "dropping this releases the locks"]
#[derive(Debug)]
pub struct MultiGuard {
    session: Session,
    /// Names of the locks with their guards, in ascending order of the names.
    locks: Vec<(String, Guard)>,
}

impl Session {
    /// Waits until this session holds all these locks. If the future is dropped, the session
    /// releases the locks that it has acquired, and leaves the queue of the next lock.
    ///
    /// The locks are taken one after the other, in the order of their names as bytes. A name that
    /// is given twice is taken once. Callers that take all their locks by this method, and hold no
    /// other lock meanwhile, cannot deadlock. Deadlocks with other callers are detected as
    /// described at [`Session::lock_while_holding`].
    ///
    /// # Errors
    ///
    /// Those of [`Session::lock`] and [`ClientError::WouldDeadlock`]. The session then releases all
    /// these locks in the background, as after dropping a [`Guard`].
    pub async fn lock_all(
        &self,
        names: impl IntoIterator<Item: AsRef<str>>,
    ) -> Result<MultiGuard, ClientError> {
        let mut locks: Vec<(String, Guard)> = Vec::new();
        for name in in_order(names) {
            let held: Vec<&Guard> = locks.iter().map(|(_, guard)| guard).collect();
            let guard = self.lock_while_holding(&name, &held).await?;
            locks.push((name, guard));
        }
        Ok(MultiGuard { session: self.clone(), locks })
    }

    /// Acquires all these locks, if no other client holds one of them or waits for it. Returns
    /// `None` otherwise. If the future is dropped, the session releases the locks that it has
    /// acquired.
    ///
    /// The locks are taken one after the other, so that other clients may see some of them held for
    /// a moment although the result is `None`.
    ///
    /// # Errors
    ///
    /// Those of [`Session::try_lock`]. The session then releases all these locks in the background.
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

    /// Acquires all these locks within this time. Otherwise releases the locks that the session has
    /// acquired, leaves the queue of the next lock, and returns `None`. If the future is dropped,
    /// the session also releases these locks and leaves this queue.
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

    /// Waits for a lock like [`Session::lock`], while the caller holds the locks of these guards.
    /// Fails if the wait would complete a cycle of sessions that wait for each other. If the future
    /// is dropped, the session leaves the queue and the caller keeps its guards.
    ///
    /// A deadlock is a cycle: the caller waits for a lock, and the session that holds this lock
    /// waits for another lock. At the end of the cycle, a session waits for a lock of one of the
    /// guards. To find a cycle, the client reads the queues when the wait begins, and every five
    /// seconds. It also reads the queues after each change in the queues of this lock and of the
    /// guards. If several sessions of a cycle search for it, the session that began to wait last
    /// fails first.
    ///
    /// **Detected:** cycles of exclusive and shared locks, of read/write locks and of elections.
    /// The cycle may contain clients that use other libraries of etcd with keys `NAME/SEGMENT`. If
    /// one of the guards holds the requested lock, the session waits for itself, which is a cycle
    /// as well.
    ///
    /// **Not detected:** waits for semaphores, barriers and anything outside of the service; waits
    /// in queues that the user may not read; cycles of sessions that hold hundreds of locks.
    /// Without guards the method is the same as [`Session::lock`].
    ///
    /// **Possibly detected by mistake:** a cycle with a session that several tasks share. One of
    /// these tasks waits, but another of these tasks would release the lock. Use a separate session
    /// for each task that holds a lock while it waits for another lock. A lock whose release has
    /// not reached the service counts as held.
    ///
    /// # Errors
    ///
    /// Those of [`Session::lock`], and [`ClientError::WouldDeadlock`]. After an error, the session
    /// is not in the queue, and the caller still holds its guards. It should release the guards and
    /// begin anew.
    pub async fn lock_while_holding(
        &self,
        name: &str,
        held: &[&Guard],
    ) -> Result<Guard, ClientError> {
        if held.is_empty() {
            return self.lock(name).await;
        }
        let key = self.new_claim_key(name);
        let request = requests::enqueue(name, &key, Vec::new(), self.id());
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
    /// Each lock has its own sequence of tokens. Pass a resource the token of the lock that guards
    /// it.
    pub fn fence(&self, name: &str) -> Option<u64> {
        self.guards().find(|(it, _)| *it == name).map(|(_, guard)| guard.fence())
    }

    /// Returns the time at which all locks are lost if the session is not renewed. `None` if they
    /// are already lost.
    pub fn deadline(&self) -> Option<Instant> {
        self.session.deadline()
    }

    /// Returns the receiver of the session's deadlines. Each successful renewal sets a new
    /// deadline.
    pub fn deadlines(&self) -> Deadlines {
        self.session.deadlines()
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
    /// [`ClientError::Unavailable`] if no member confirms a release within ten seconds. The session
    /// then repeats the request until it succeeds or the session ends.
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
