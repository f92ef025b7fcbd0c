//! Status of a node for operators: as JSON, as metrics, and as a check of its health.

mod metrics;
mod observer;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

#[cfg(feature = "page")]
pub(crate) use metrics::metrics_text;
#[cfg(feature = "node")]
pub(crate) use observer::NodeInfo;
pub use observer::NodeObserver;

/// Status of a node at one moment: the body of `GET /status`. Times are in UTC by RFC 3339.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeStatus {
    /// Number of the node's process, from 1.
    pub process: u32,
    /// Name of the cluster.
    pub cluster: String,
    /// Number of nodes of the cluster.
    pub size: u32,
    /// Mutual exclusion algorithm.
    pub mutex: String,
    /// Election algorithm.
    pub election: String,
    /// Version of Tenure that the node runs.
    pub release: String,
    /// Session of the node: 1 after its first start with its data directory, 2 after its second
    /// start, and so on.
    pub session: u64,
    /// Time to which this status refers.
    pub time: String,
    /// Time since the node started, in milliseconds.
    pub up_ms: u64,
    /// Leader that this node knows; `None` if it knows none.
    pub leader: Option<LeaderInfo>,
    /// Number of leaders that this node has learned of since it started.
    pub elections: u64,
    /// Statistics of the lock on this node.
    pub lock: LockUsage,
    /// Connections to the peers, ordered by the numbers of the peers.
    pub links: Vec<LinkStatus>,
    /// Numbers of rejected connections, by the name of the reason. Reasons that did not occur are
    /// omitted.
    pub refused: BTreeMap<String, u64>,
    /// Numbers of messages and bytes on the connections of the node.
    pub traffic: TrafficStats,
    /// Number and durations of the saves to the disk.
    pub saves: SaveStats,
}

/// Leader as one node knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaderInfo {
    /// Number of the leader's process.
    pub process: u32,
    /// Number of the leader's term.
    pub term: u64,
    /// Time at which this node learned of the leader.
    pub since: String,
    /// Time since this node learned of the leader, in milliseconds.
    pub for_ms: u64,
}

/// Use of the lock by one node: its current state, and statistics.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LockUsage {
    /// State of this node: `outside`, `waiting` or `inside` the critical section.
    pub state: String,
    /// Time since the node entered its current state, in milliseconds. `None` in the state
    /// `outside`.
    pub for_ms: Option<u64>,
    /// Two halves of the fencing token of the last entry. If a leader grants the lock, the first
    /// half is the result of [`Term::packed`](tenure_core::Term::packed). The second half is then
    /// the number of the entry within this term. `None` before the first entry.
    pub fence: Option<(u64, u64)>,
    /// Number of requests to enter the critical section.
    pub requests: u64,
    /// Number of entries into the critical section.
    pub entries: u64,
    /// Total time for which this node waited to enter, in seconds.
    pub waited_seconds: f64,
    /// Longest time for which this node waited to enter, in seconds.
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
    /// Time at which the last connection was established; `None` if there was none.
    pub since: Option<String>,
    /// Latest session of the peer that this node knows: 1 after the first start of the peer, 2
    /// after the second start, and so on. `None` if no session is known.
    pub session: Option<u64>,
    /// True if the peer is suspected to have crashed.
    pub suspected: bool,
    /// Last error of a connection with the peer; `None` if a connection was established after the
    /// error.
    pub error: Option<String>,
    /// Number of messages to the peer that are not confirmed yet. These include messages that were
    /// not sent yet.
    pub held_messages: u64,
    /// Total size in bytes of the messages to the peer that are not confirmed yet. These include
    /// messages that were not sent yet.
    pub held_bytes: u64,
}

/// Numbers of messages and bytes on the connections of a node since it started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrafficStats {
    /// Number of messages that were sent, including repetitions.
    pub messages_sent: u64,
    /// Number of messages that were passed to the algorithm.
    pub messages_received: u64,
    /// Number of bytes that were sent after the handshakes.
    pub bytes_sent: u64,
    /// Number of bytes that were received after the handshakes.
    pub bytes_received: u64,
    /// Number of repeated messages that the node received and dropped.
    pub duplicates: u64,
    /// Number of messages that this node dropped because they were addressed to an earlier session
    /// of a peer.
    pub discarded: u64,
    /// Number of messages that were dropped because the queue of the peer was full.
    pub overflowed: u64,
    /// Number of connections that were closed because a peer sent malformed bytes.
    pub malformed: u64,
    /// Number of received messages that failed validation.
    pub implausible: u64,
    /// Number of connections to a peer that were established.
    pub connections: u64,
    /// Number of connections to a peer that had been connected before.
    pub reconnections: u64,
    /// Number of attempts to connect that failed.
    pub failed_dials: u64,
}

/// Number and durations of the successful saves of the state since the node started. Rewrites in
/// the background are not included.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SaveStats {
    /// Number of successful saves, including the save that began the session.
    pub count: u64,
    /// Total duration of saves, in seconds.
    pub seconds: f64,
    /// Longest duration of a save, in seconds.
    pub longest_seconds: f64,
}

impl NodeStatus {
    /// Returns the reason why this node cannot serve clients at the moment: it knows no leader.
    /// `None` if it knows a leader.
    pub fn unavailable_reason(&self) -> Option<String> {
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
