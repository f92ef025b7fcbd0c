//! Waits for a leader, and decides which failed requests are sent again.

use std::time::Duration;

use tenure_core::ProcessId;
use tenure_core::service::log::DeclineReason;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use crate::log::request::ProposeError;
use crate::log::state::LeaderStatus;
use crate::member::Member;
use crate::rpc::error::RpcError;

/// Longest pause before a waiting request is sent again. A change of the leader ends the pause
/// earlier.
const RETRY_INTERVAL: Duration = Duration::from_millis(10);

impl Member {
    pub(crate) async fn wait_for_known_leader(&self, deadline: Instant) -> Result<(), RpcError> {
        known_leader(&mut self.shared.leader_status.subscribe(), deadline).await.map(drop)
    }

    /// Waits until this member leads, or can send a request to the leader: the leader is connected,
    /// and the queue of messages to the leader is at most half full. `leader_status` is the
    /// receiver in which the caller sees later changes of the leader.
    ///
    /// A request that waits here after a crash of the leader is later sent to the next leader. If
    /// the member forwarded the request to the crashed leader, the outcome of the request would
    /// remain unknown. The outcome would also remain unknown if a full queue dropped the request.
    ///
    /// # Errors
    ///
    /// [`RpcError::TOO_MANY_REQUESTS`] at the deadline, if the leader is connected and its queue
    /// has no room. [`RpcError::NO_LEADER`] at the deadline, if no leader is known or connected.
    /// [`RpcError::STOPPED`] if the member has stopped. The request was not sent.
    pub(crate) async fn wait_for_reachable_leader(
        &self,
        leader_status: &mut watch::Receiver<LeaderStatus>,
        deadline: Instant,
    ) -> Result<(), RpcError> {
        loop {
            let leader = known_leader(leader_status, deadline).await?;
            let process = ProcessId::from_index(leader);
            if leader == self.config.me || self.mesh_handle.has_room_for(process) {
                return Ok(());
            }
            if Instant::now() >= deadline {
                return Err(match self.mesh_handle.is_connected(process) {
                    true => RpcError::TOO_MANY_REQUESTS,
                    false => RpcError::NO_LEADER,
                });
            }
            change_or_retry(leader_status).await;
        }
    }
}

/// Waits until a leader is known, and returns the index of its process. Fails with
/// [`RpcError::NO_LEADER`] at the deadline.
async fn known_leader(
    leader_status: &mut watch::Receiver<LeaderStatus>,
    deadline: Instant,
) -> Result<usize, RpcError> {
    let known = leader_status.wait_for(|it| it.leader.is_some());
    let known = timeout_at(deadline, known).await.map_err(|_| RpcError::NO_LEADER)?;
    known.map_err(|_| RpcError::STOPPED)?.leader.ok_or(RpcError::NO_LEADER)
}

/// Waits until the leader or the term changes, but at most for [`RETRY_INTERVAL`].
async fn change_or_retry(leader_status: &mut watch::Receiver<LeaderStatus>) {
    let _ = timeout_at(Instant::now() + RETRY_INTERVAL, leader_status.changed()).await;
}

/// Handles the failure of a request. If the request certainly had no effect and `deadline` has not
/// passed, pauses for a short time and returns `Ok`. The caller can then send the request again.
/// Otherwise, or if the log has no room for the request, returns an error.
///
/// The pause ends early when `leader_status` reports a change. If the leader or the term has
/// already changed since the caller last read `leader_status`, there is no pause.
pub(crate) async fn pause_if_retryable(
    error: ProposeError,
    leader_status: &mut watch::Receiver<LeaderStatus>,
    deadline: Instant,
) -> Result<(), RpcError> {
    match error {
        ProposeError::Unknown => Err(RpcError::LEADER_FAILED),
        ProposeError::Declined(DeclineReason::Full) => Err(RpcError::TOO_MANY_REQUESTS),
        ProposeError::Declined(_) if Instant::now() >= deadline => Err(RpcError::LEADER_CHANGED),
        ProposeError::Declined(_) => {
            change_or_retry(leader_status).await;
            Ok(())
        }
    }
}
