//! Status of a node for operators: as JSON, as metrics, and as healthy or not.

mod metrics;
mod observer;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

#[cfg(feature = "page")]
pub(crate) use metrics::metrics;
#[cfg(feature = "node")]
pub(crate) use observer::NodeInfo;
pub use observer::Observer;

/// Status of a node at one moment, as the body of `GET /status`. Times are in UTC by RFC 3339.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeStatus {
    /// Number of its process, from 1.
    pub process: u32,
    /// Name of the cluster.
    pub cluster: String,
    /// Number of nodes of the cluster.
    pub size: u32,
    /// Mutual exclusion algorithm.
    pub mutex: String,
    /// Election algorithm.
    pub election: String,
    /// Version of Tenure that it runs.
    pub release: String,
    /// Session of this start, from 1.
    pub session: u64,
    /// Time of the status.
    pub time: String,
    /// Time since the start, in milliseconds.
    pub up_ms: u64,
    /// Leader as this node knows it; none if it knows none.
    pub leader: Option<LeaderInfo>,
    /// Number of leaders that it has learned of.
    pub elections: u64,
    /// Use of the lock at this node.
    pub lock: LockUsage,
    /// Connections to its peers, in the order of their numbers.
    pub links: Vec<LinkStatus>,
    /// Numbers of rejected connections by reason, without zeros.
    pub refused: BTreeMap<String, u64>,
    /// Messages and bytes on its connections.
    pub traffic: Traffic,
    /// Saves to the disk.
    pub saves: SaveStats,
}

/// Leader as one node knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaderInfo {
    /// Number of the leader's process.
    pub process: u32,
    /// Number of the term.
    pub term: u64,
    /// Time since when this node knows the leader.
    pub since: String,
    /// Time for which it knows the leader, in milliseconds.
    pub for_ms: u64,
}

/// Use of the lock at one node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LockUsage {
    /// `outside`, `waiting` or `inside`.
    pub state: String,
    /// Time in the current state, in milliseconds, while waiting or inside.
    pub for_ms: Option<u64>,
    /// Fencing token of the last entry: term and count.
    pub fence: Option<(u64, u64)>,
    /// Number of requests to enter.
    #[serde(rename = "asked")]
    pub requests: u64,
    /// Number of entries.
    pub entries: u64,
    /// Total time of waiting for entries, in seconds.
    pub waited_seconds: f64,
    /// Longest time of waiting for an entry, in seconds.
    pub longest_wait_seconds: f64,
}

/// Connection of a node to one of its peers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkStatus {
    /// Number of the peer's process.
    pub process: u32,
    /// Address of the peer, as configured.
    pub address: String,
    /// True if a connection carries messages.
    pub connected: bool,
    /// Time since when the connection carries messages.
    pub since: Option<String>,
    /// Latest known session of the peer.
    pub session: Option<u64>,
    /// True if the peer is suspected to have crashed.
    pub suspected: bool,
    /// Last error since the connection began.
    pub error: Option<String>,
    /// Number of messages that the peer has not confirmed yet.
    pub held_messages: u64,
    /// Total size of these messages, in bytes.
    pub held_bytes: u64,
}

/// Messages and bytes on the connections of a node since its start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// Messages that were sent, including repetitions.
    pub messages_sent: u64,
    /// Messages that were passed to the algorithm.
    pub messages_received: u64,
    /// Bytes that were sent.
    pub bytes_sent: u64,
    /// Bytes that were received.
    pub bytes_received: u64,
    /// Repeated messages that were dropped.
    pub duplicates: u64,
    /// Messages that were for an earlier session.
    pub discarded: u64,
    /// Messages that were dropped because the queue of the peer was full.
    pub overflowed: u64,
    /// Connections that were closed because a peer sent malformed bytes.
    pub malformed: u64,
    /// Messages that failed validation.
    pub implausible: u64,
    /// Connections that reached a peer.
    pub connections: u64,
    /// Connections that were not the first to their peer.
    pub reconnections: u64,
    /// Attempts to connect that failed.
    pub failed_dials: u64,
}

/// Saves to the disk since the start of a node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SaveStats {
    /// Number of saves.
    pub count: u64,
    /// Total duration of saves, in seconds.
    pub seconds: f64,
    /// Longest duration of a save, in seconds.
    pub longest_seconds: f64,
}

impl NodeStatus {
    /// Returns the reason why this node cannot serve at the moment, if there is one.
    pub fn problem(&self) -> Option<String> {
        if self.leader.is_some() {
            return None;
        }
        let up = 1 + self.links.iter().filter(|link| link.connected).count();
        Some(format!(
            "no leader known to P{}: {up} of {} nodes are connected",
            self.process, self.size
        ))
    }
}
