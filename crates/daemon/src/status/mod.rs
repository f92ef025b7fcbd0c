//! How a node is, for whoever operates it: as JSON, as metrics, and in one word.

mod metrics;
mod observer;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

#[cfg(feature = "page")]
pub(crate) use metrics::metrics;
pub use observer::Observer;
#[cfg(feature = "node")]
pub(crate) use observer::Subject;

/// Everything that a node tells of itself at one moment, as `GET /status` has it. Moments are
/// written as RFC 3339 has them, in UTC.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeStatus {
    /// The number of its process, from 1.
    pub process: u32,
    /// The name of its cluster.
    pub cluster: String,
    /// How many nodes the cluster has.
    pub size: u32,
    /// Its lock.
    pub mutex: String,
    /// Its election.
    pub election: String,
    /// The release that it runs.
    pub release: String,
    /// Which boot of its process this is, from 1.
    pub session: u64,
    /// The moment.
    pub time: String,
    /// For how long it runs, in milliseconds.
    pub up_ms: u64,
    /// Who leads, as far as this node was told; nothing while nobody does.
    pub leader: Option<Leading>,
    /// How often it was told of a leader.
    pub elections: u64,
    /// How the lock is used here.
    pub lock: Usage,
    /// How it is connected with each of its peers, in order.
    pub links: Vec<LinkStatus>,
    /// Those whom it refused, by reason; reasons never met are absent.
    pub refused: BTreeMap<String, u64>,
    /// What passed over its connections.
    pub traffic: Traffic,
    /// How it saved.
    pub saves: Saving,
}

/// Who leads, as seen by one node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leading {
    /// The number of the leader's process.
    pub process: u32,
    /// The number of the term.
    pub term: u64,
    /// Since when this node knows.
    pub since: String,
    /// For how long, in milliseconds.
    pub for_ms: u64,
}

/// How the lock is used at one node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// `outside`, `waiting` or `inside`.
    pub state: String,
    /// For how long it waits or is inside, in milliseconds.
    pub for_ms: Option<u64>,
    /// The fence of its last entry, term and count.
    pub fence: Option<(u64, u64)>,
    /// How often it asked.
    pub asked: u64,
    /// How often it entered.
    pub entries: u64,
    /// How long it waited for its entries in all, in seconds.
    pub waited_seconds: f64,
    /// How long it waited for one of them at most, in seconds.
    pub longest_wait_seconds: f64,
}

/// How a node is connected with one of its peers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkStatus {
    /// The number of the peer's process.
    pub process: u32,
    /// Where it is, as configured.
    pub address: String,
    /// Whether a connection carries messages.
    pub connected: bool,
    /// When a connection last began to.
    pub since: Option<String>,
    /// The newest session that was seen of the peer.
    pub session: Option<u64>,
    /// Whether it is suspected to have crashed.
    pub suspected: bool,
    /// What went wrong last, if anything did since that connection began.
    pub error: Option<String>,
    /// How many messages are kept for it until it confirms them.
    pub held_messages: u64,
    /// The bytes of those.
    pub held_bytes: u64,
}

/// What passed over the connections of a node, from its start on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// Messages written to a connection, those written again included.
    pub messages_sent: u64,
    /// Messages handed to the algorithm.
    pub messages_received: u64,
    /// Bytes written, and read.
    pub bytes_sent: u64,
    /// Bytes read.
    pub bytes_received: u64,
    /// Messages that came again and were dropped.
    pub duplicates: u64,
    /// Messages that were for a session which had ended.
    pub discarded: u64,
    /// Messages that were dropped because the queue of the peer was full.
    pub overflowed: u64,
    /// Connections of peers that were closed for bytes which made no sense.
    pub malformed: u64,
    /// Messages that were not believed.
    pub implausible: u64,
    /// Connections that reached a peer.
    pub connections: u64,
    /// Those of them that were not the first to that peer.
    pub reconnections: u64,
    /// Attempts to reach a peer that came to nothing.
    pub failed_dials: u64,
}

/// How a node saved, from its start on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Saving {
    /// How often a state was made durable.
    pub count: u64,
    /// How long that took in all, in seconds.
    pub seconds: f64,
    /// How long the slowest took, in seconds.
    pub longest_seconds: f64,
}

impl NodeStatus {
    /// Why this node is of no use to anybody at this moment, if it is.
    pub fn ailment(&self) -> Option<String> {
        if self.leader.is_some() {
            return None;
        }
        let up = 1 + self.links.iter().filter(|link| link.connected).count();
        Some(format!(
            "nobody leads, as far as P{} knows; it sees {up} of {}",
            self.process, self.size
        ))
    }
}
