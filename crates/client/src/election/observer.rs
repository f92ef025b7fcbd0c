//! Observers that follow the leader of an election.

use std::sync::Arc;

use tenure_etcd::etcdserverpb as rpc;
use tenure_etcd::mvccpb::KeyValue;
use tokio::time::{Instant, sleep};

use crate::error::ClientError;
use crate::requests;
use crate::transport::REQUEST_TIMEOUT;
use crate::transport::channel::Channel;
use crate::transport::retry::Backoff;
use crate::watch::watcher::{WatchEvent, Watcher};

/// State of an election.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ElectionState {
    /// The election has no leader.
    NoLeader,
    /// The election has a leader.
    Leader {
        /// Key of the leader's claim in the store of the service.
        key: Vec<u8>,
        /// Value that the leader proclaimed last.
        value: Vec<u8>,
        /// Fencing token of the leadership.
        fence: u64,
    },
}

/// Observer of the leader of an election. [`ElectionObserver::next_state`] waits for the next state
/// of the election.
pub struct ElectionObserver {
    channel: Arc<Channel>,
    name: String,
    watcher: Option<Watcher>,
    state: Option<ElectionState>,
    backoff: Backoff,
}

impl ElectionObserver {
    pub(crate) fn new(channel: Arc<Channel>, name: &str) -> Self {
        let name = name.to_owned();
        ElectionObserver { channel, name, watcher: None, state: None, backoff: Backoff::default() }
    }

    /// Waits for a change and returns the new state. The first call returns the current state.
    ///
    /// If the state changes several times between two calls, some of the intermediate states may be
    /// skipped. Each call returns a later state than the previous call, and never the same state
    /// twice in a row. The call continues to wait while no member responds. Dropping the future
    /// loses no change.
    ///
    /// The reported leader is the first candidate in the queue. If the first candidate used
    /// [`Session::campaign_with`](crate::Session::campaign_with), it may yield to a preferred
    /// candidate. The first candidate is then reported for a moment, although it does not lead.
    ///
    /// # Errors
    ///
    /// [`ClientError::Rejected`] if the service rejects a read.
    pub async fn next_state(&mut self) -> Result<ElectionState, ClientError> {
        loop {
            let Some(watcher) = &mut self.watcher else {
                match self.read_leader().await {
                    Ok(state) if self.state.as_ref() == Some(&state) => continue,
                    Ok(state) => {
                        self.state = Some(state.clone());
                        return Ok(state);
                    }
                    Err(ClientError::Unavailable { .. }) => continue,
                    Err(error) => return Err(error),
                }
            };
            let event = watcher.next().await;
            let leader = match &self.state {
                Some(ElectionState::Leader { key, .. }) => Some(key),
                _ => None,
            };
            match event {
                WatchEvent::Put(kv) if Some(&kv.key) == leader => {
                    self.backoff = Backoff::default();
                    let state = leader_state(kv);
                    if self.state.as_ref() != Some(&state) {
                        self.state = Some(state.clone());
                        return Ok(state);
                    }
                }
                // A change of a candidate behind the leader does not change the leader.
                WatchEvent::Put(_) if leader.is_some() => {}
                WatchEvent::Put(kv) if !requests::is_in_queue(&self.name, &kv.key) => {}
                WatchEvent::Released => {}
                WatchEvent::Deleted(deleted) if Some(&deleted.key) != leader => {}
                WatchEvent::Put(_) | WatchEvent::Deleted(_) => self.watcher = None,
                WatchEvent::HistoryCompacted | WatchEvent::Rejected | WatchEvent::Disconnected => {
                    self.watcher = None;
                    sleep(self.backoff.next_pause()).await;
                }
            }
        }
    }

    /// Reads the current leader, and starts a watch at the revision after this read.
    async fn read_leader(&mut self) -> Result<ElectionState, ClientError> {
        let channel = self.channel.clone();
        let deadline = Instant::now() + REQUEST_TIMEOUT;
        let (mut from, mut limit) = (0, 1);
        loop {
            let oldest = requests::oldest_keys_range(&self.name, from, limit);
            let range: rpc::RangeResponse =
                channel.call_idempotent("/etcdserverpb.KV/Range", oldest, deadline).await?;
            let newest = range.kvs.iter().map(|kv| requests::unsigned(kv.create_revision)).max();
            let is_full = i64::try_from(range.kvs.len()).is_ok_and(|count| count >= limit);
            let leader =
                range.kvs.into_iter().find(|kv| requests::is_in_queue(&self.name, &kv.key));
            // The keys that were read so far belong to other elections. The search continues with
            // newer keys.
            if let Some(newest) = newest.filter(|_| leader.is_none() && is_full) {
                limit = if newest == from { limit * 2 } else { limit.max(8) };
                from = newest;
                continue;
            }
            let revision = range.header.map_or(0, |header| requests::unsigned(header.revision));
            let range = requests::queue_range(&self.name);
            self.watcher = Some(Watcher::of_range(channel, range, revision + 1));
            return Ok(leader.map_or(ElectionState::NoLeader, leader_state));
        }
    }
}

fn leader_state(kv: KeyValue) -> ElectionState {
    let fence = requests::unsigned(kv.create_revision);
    ElectionState::Leader { fence, key: kv.key, value: kv.value }
}
