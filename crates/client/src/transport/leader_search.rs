//! Search for the leader. By default a client connects to the leader, because a request to any
//! other member takes two more messages.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tenure_etcd::etcdserverpb as rpc;
use tenure_etcd::frames;
use tokio::time::Instant;
use tonic::Status;

use crate::transport::channel::Channel;
use crate::transport::connection::{Connection, connect_without_authentication};

/// Time limit for a member's report about the leader. A member that does not report in time is
/// treated as unreachable.
const STATUS_TIMEOUT: Duration = Duration::from_secs(1);

/// Minimum time between two searches in the same term. A second search is useful because the client
/// may have lost its connection to the leader.
const SEARCH_INTERVAL: Duration = Duration::from_secs(60);

/// Limits the searches for the leader to one per term in each [`SEARCH_INTERVAL`]. Contains the
/// term and the time of the last search. `None` if the next search is due at once.
#[derive(Debug, Default)]
pub(crate) struct LeaderSearchLimiter(Mutex<Option<(u64, Instant)>>);

impl LeaderSearchLimiter {
    /// Returns true if a search in this term is due, and then records the search.
    fn try_begin(&self, term: u64, now: Instant) -> bool {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = last.is_none_or(|(then, at)| then != term || now - at >= SEARCH_INTERVAL);
        if is_due {
            *last = Some((term, now));
        }
        is_due
    }

    /// Makes the next search due, because the last search found no leader.
    fn reset(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl Channel {
    /// Reads the term in a response, and starts a search for the leader if a search is due. During
    /// the search, requests use the same connection as before.
    pub(crate) fn start_due_leader_search(self: &Arc<Self>, header: Option<&rpc::ResponseHeader>) {
        let Some(header) = header else { return };
        if self.prefers_leader()
            && self.leader_search_limiter.try_begin(header.raft_term, Instant::now())
        {
            tokio::spawn(move_to_leader(self.clone()));
        }
    }
}

async fn move_to_leader(channel: Arc<Channel>) {
    let found = match channel.current_connection().await {
        Some((current, at)) => {
            member_and_leader(&current).await.map(|(member, leader)| (current, at, member, leader))
        }
        None => Err(Status::unavailable("there is no connection")),
    };
    let Ok((current, at, member, leader @ 1..)) = found else {
        // Makes another search due at the next response. The member that sends this response may
        // know a leader.
        return channel.leader_search_limiter.reset();
    };
    if member == leader {
        return;
    }
    let count = channel.endpoints().len();
    for index in (at + 1..at + count).map(|index| index % count) {
        // An endpoint that cannot be reached is skipped, even if it is the leader.
        if let Ok(Some(connection)) = connect_to_leader(&channel, index, leader).await {
            return channel.replace_if_current(&current, connection, index).await;
        }
    }
}

/// Connects to an endpoint. Returns the connection if the member at the endpoint is `leader` and
/// reports that it leads. Otherwise, returns `None`.
async fn connect_to_leader(
    channel: &Channel,
    index: usize,
    leader: u64,
) -> Result<Option<Connection>, Status> {
    let (endpoint, options) = (&channel.endpoints()[index], channel.options());
    let connection = connect_without_authentication(endpoint, options).await?;
    match member_and_leader(&connection).await? == (leader, leader) {
        // The user is authenticated only now, because a member takes long to verify a password.
        true => connection.into_authenticated(options).await.map(Some),
        false => Ok(None),
    }
}

/// Returns the ID of the member at a connection, and the ID of the leader that the member knows. If
/// the member knows no leader, the second ID is 0.
async fn member_and_leader(connection: &Connection) -> Result<(u64, u64), Status> {
    let request = frames::encode(&rpc::StatusRequest {});
    let path = "/etcdserverpb.Maintenance/Status";
    let response = connection.unary(path, request, STATUS_TIMEOUT).await?;
    let rpc::StatusResponse { header, leader, .. } = frames::decode(response)?;
    Ok((header.unwrap_or_default().member_id, leader))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leader_is_searched_once_per_term_and_minute() {
        let (limiter, now) = (LeaderSearchLimiter::default(), Instant::now());
        let terms = [3, 3, 4, 4].map(|term| limiter.try_begin(term, now));
        assert_eq!(terms, [true, false, true, false]);
        limiter.reset();
        assert!(limiter.try_begin(4, now), "the last search found no leader");
        assert!(!limiter.try_begin(4, now + SEARCH_INTERVAL / 2));
        assert!(limiter.try_begin(4, now + SEARCH_INTERVAL));
    }
}
