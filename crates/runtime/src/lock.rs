//! Lock handles, guards and election handles, through which users access a node.

use std::time::Duration;

use tenure_core::{Fence, LockName, Term};
use thiserror::Error;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::timeout;

use crate::transport::Eviction;

/// Default time limit of [`Lock::try_acquire`].
const TRY_ACQUIRE_TIMEOUT: Duration = Duration::from_millis(80);

/// Handle of a lock that many tasks of this process can share. At most one task of the whole group
/// holds the lock, unless a process was paused for longer than its lease. Such a process may still
/// believe that it holds the lock; see [`Guard::fence`].
///
/// Cheap to clone. Waiters of this node are served in the order of their requests. The algorithm
/// determines the order between nodes.
#[derive(Clone, Debug)]
pub struct Lock {
    /// Name of the lock. `None` if the node has a single lock.
    name: Option<LockName>,
    try_acquire_timeout: Duration,
    requests: mpsc::UnboundedSender<LockRequest>,
}

/// Right to use a lock that this process has acquired. Dropping the guard releases the lock.
#[derive(Debug)]
#[must_use = "dropping the guard releases the lock at once"]
pub struct Guard {
    pub(crate) fence: Fence,
    pub(crate) name: Option<LockName>,
    /// Number of this acquisition of the lock by this node, from 1.
    pub(crate) entry: u64,
    /// Receives the reason for which the lock is lost. If the node stops without a failure, the
    /// channel is closed without a reason.
    pub(crate) loss: watch::Receiver<Option<LockLossReason>>,
    pub(crate) requests: mpsc::UnboundedSender<LockRequest>,
}

/// Handle of the election. It reports the leader that this process knows, and can start an
/// election.
#[derive(Clone, Debug)]
pub struct ElectionHandle {
    pub(crate) requests: mpsc::UnboundedSender<LockRequest>,
    pub(crate) leader: watch::Receiver<Option<Term>>,
}

/// Reason why a lock was lost before its guard was dropped. Another process may hold the lock now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum LockLossReason {
    /// The lease expired because it was not renewed in time. This node was paused, or the network
    /// cut it off from the leader or from a quorum.
    #[error("the lease expired because it was not renewed in time")]
    LeaseExpired,
    /// The leader under which this lock was acquired was deposed, and no new leader confirmed the
    /// lease before it expired.
    #[error("the lease expired because its leader was deposed and no new leader confirmed it")]
    LeaderDeposed,
    /// Peers reject this node permanently, usually because a newer boot of its process has replaced
    /// it. The node has stopped.
    #[error("this node was evicted from its group: {0}")]
    Evicted(Eviction),
    /// The node has stopped, on request or after a failure.
    #[error("the node has stopped")]
    NodeStopped,
}

/// Error of a handle whose node has stopped, or whose node has no lock with the name of the handle.
/// The handle can acquire no lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the node has stopped, or has no lock with this name")]
pub struct NodeStopped;

/// Request that a handle sends to its [`LockApplication`](crate::LockApplication).
#[derive(Debug)]
pub struct LockRequest(pub(crate) LockRequestKind);

#[derive(Debug)]
pub(crate) enum LockRequestKind {
    Enter {
        name: Option<LockName>,
        waiter: GuardSender,
        /// True if the request must fail immediately when another local user holds or awaits the
        /// lock.
        is_try: bool,
    },
    /// Releases the lock that acquisition number `entry` obtained. Has no effect if this
    /// acquisition has already ended.
    Exit {
        name: Option<LockName>,
        entry: u64,
    },
    Elect,
    Shutdown,
}

/// Channel to a user that has requested the lock. When the node has obtained the lock for this
/// user, the channel passes the guard. When [`Lock::try_acquire`] fails because another local user
/// holds or awaits the lock, the channel passes `None`.
pub(crate) type GuardSender = oneshot::Sender<Option<Guard>>;

impl Lock {
    pub(crate) fn new(requests: mpsc::UnboundedSender<LockRequest>) -> Self {
        Lock { name: None, try_acquire_timeout: TRY_ACQUIRE_TIMEOUT, requests }
    }

    /// Returns the lock with this name on the same node. If the node has no named locks, every
    /// attempt to enter returns [`NodeStopped`].
    #[must_use]
    pub fn named(&self, name: LockName) -> Lock {
        Lock { name: Some(name), ..self.clone() }
    }

    /// Sets the time limit of [`Lock::try_acquire`]. The default is 80 ms.
    #[must_use]
    pub fn with_try_acquire_timeout(self, timeout: Duration) -> Lock {
        Lock { try_acquire_timeout: timeout, ..self }
    }

    /// Returns the name that [`Lock::named`] set. `None` for the handle that
    /// [`LockApplication::new`](crate::LockApplication::new) returned, which denotes the single
    /// lock of a node.
    pub fn name(&self) -> Option<&LockName> {
        self.name.as_ref()
    }

    /// Waits until this task holds the lock. The wait continues while the algorithm makes no
    /// progress. Possible causes are a missing majority, or a crash that the algorithm does not
    /// tolerate.
    ///
    /// Dropping the future gives up the place in the queue. Algorithms cannot withdraw a request
    /// that was sent, so this process may still obtain the lock. The lock then goes to the next
    /// waiter of this process. If no task waits, the process releases the lock immediately.
    ///
    /// # Errors
    ///
    /// [`NodeStopped`]; the lock is not held.
    pub async fn acquire(&self) -> Result<Guard, NodeStopped> {
        let guard = self.request_entry(false).await?;
        Ok(guard.expect("a request that may wait always receives a guard"))
    }

    /// Tries to acquire the lock within a short time, by default 80 ms; see
    /// [`Lock::with_try_acquire_timeout`]. Returns `None` if this process did not obtain the lock
    /// in time. For instance, another process holds the lock, or the processes that grant the lock
    /// cannot be reached.
    ///
    /// Returns `None` at once, without sending a message, if this process already holds the lock or
    /// has requested it, for any task. In an algorithm with a token, the attempt may fail although
    /// the lock is free, because another process has the token. If the future is dropped or the
    /// grant arrives late, the lock goes to the next waiter or is released, as with
    /// [`Lock::acquire`].
    ///
    /// # Errors
    ///
    /// [`NodeStopped`]; the lock is not held.
    pub async fn try_acquire(&self) -> Result<Option<Guard>, NodeStopped> {
        timeout(self.try_acquire_timeout, self.request_entry(true)).await.unwrap_or(Ok(None))
    }

    /// Waits until this task holds the lock, for at most `within`. Returns `None` after this time.
    /// If the future is dropped or the grant arrives late, the lock goes to the next waiter or is
    /// released, as with [`Lock::acquire`].
    ///
    /// # Errors
    ///
    /// [`NodeStopped`]; the lock is not held.
    pub async fn acquire_within(&self, within: Duration) -> Result<Option<Guard>, NodeStopped> {
        timeout(within, self.request_entry(false)).await.unwrap_or(Ok(None))
    }

    /// Shuts the node down, even if handles still exist. The node first hands over leadership if it
    /// leads, and delivers the messages that it has already sent. Both steps have time limits.
    /// Waiters receive [`NodeStopped`], and guards are lost as if this node had crashed. Without a
    /// call of this method, the node shuts down when all handles and guards are dropped.
    pub fn stop_node(&self) {
        // The send fails only if the node has already stopped.
        let _ = self.requests.send(LockRequest(LockRequestKind::Shutdown));
    }

    async fn request_entry(&self, is_try: bool) -> Result<Option<Guard>, NodeStopped> {
        let (waiter, answer) = oneshot::channel();
        let kind = LockRequestKind::Enter { name: self.name.clone(), waiter, is_try };
        self.requests.send(LockRequest(kind)).map_err(|_| NodeStopped)?;
        answer.await.map_err(|_| NodeStopped)
    }
}

impl Guard {
    /// Returns the fence (fencing token) of this entry, which must accompany every access to the
    /// protected resource.
    ///
    /// A process can be paused for longer than its lease and still believe that it holds the lock.
    /// The lock is safe only if the resource stores the highest fence that it has seen and rejects
    /// lower ones.
    pub fn fence(&self) -> Fence {
        self.fence
    }

    /// Waits until the lock is lost, and returns the reason: the lease expired, the node stopped or
    /// failed, or its peers evicted it. The holder must then stop using the resource.
    ///
    /// Dropping the future loses nothing, and the method can be called again.
    pub async fn lost(&self) -> LockLossReason {
        let mut loss = self.loss.clone();
        let reason = loss.wait_for(Option::is_some).await;
        reason.ok().and_then(|reason| *reason).unwrap_or(LockLossReason::NodeStopped)
    }

    /// Returns true if the lock is lost. [`Guard::lost`] then returns immediately.
    pub fn is_lost(&self) -> bool {
        self.loss.borrow().is_some() || self.loss.has_changed().is_err()
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // The send fails only if the node has stopped. It then no longer holds the lock.
        let _ = self.requests.send(LockRequest(LockRequestKind::Exit {
            name: self.name.clone(),
            entry: self.entry,
        }));
    }
}

impl ElectionHandle {
    /// Returns the current term as far as this process knows. `None` if there is no leader or the
    /// node has stopped.
    pub fn leader_term(&self) -> Option<Term> {
        *self.leader.borrow()
    }

    /// Waits until the leader changes and returns the new term, or `None` if there is no leader any
    /// more. If the leader changes several times quickly, the method may return only the last term.
    /// After a stop of the node, the first call may return `None`.
    ///
    /// # Errors
    ///
    /// [`NodeStopped`], after the node has stopped.
    pub async fn wait_for_leader_change(&mut self) -> Result<Option<Term>, NodeStopped> {
        self.leader.changed().await.map_err(|_| NodeStopped)?;
        Ok(*self.leader.borrow_and_update())
    }

    /// Requests an election. Has no effect if the protocol has no election. Users of a lock need
    /// not call this method: entering a lock that depends on a leader starts an election by itself.
    ///
    /// # Errors
    ///
    /// [`NodeStopped`], after the node has stopped.
    pub fn start_election(&self) -> Result<(), NodeStopped> {
        self.requests.send(LockRequest(LockRequestKind::Elect)).map_err(|_| NodeStopped)
    }
}
