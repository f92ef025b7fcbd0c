//! Events that a node writes for its parent process: one JSON object per line, on standard output.

use std::net::SocketAddr;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::clock::format_rfc3339;

/// Event with its time: `{"time":"2026-11-22T15:04:05.678Z","elected":{"leader":2,"term":4}}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeEventLine {
    /// Time of the event, in UTC by RFC 3339.
    pub time: String,
    /// Event, whose fields are inlined in JSON.
    #[serde(flatten)]
    pub report: NodeEvent,
}

impl NodeEventLine {
    /// Creates a line with the current time.
    pub fn now(report: NodeEvent) -> NodeEventLine {
        NodeEventLine { time: format_rfc3339(SystemTime::now()), report }
    }
}

/// Event at a node, written when it happens. An idle node writes none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeEvent {
    /// The node listens, and participates in the algorithms.
    Ready {
        /// Number of the node's process.
        process: u32,
        /// Address at which the node listens.
        address: SocketAddr,
        /// Session of the node: 1 after its first start, 2 after its second start, and so on.
        session: u64,
    },
    /// The node serves a page for a browser.
    Page {
        /// URL of the live page of this node.
        url: String,
    },
    /// The node learned of a leader.
    Elected {
        /// Number of the leader's process.
        leader: u32,
        /// Number of the leader's term.
        term: u64,
    },
    /// The node knows no leader any more.
    Deposed {
        /// Number of the term that ended.
        term: u64,
    },
    /// A peer is connected and not suspected.
    PeerUp {
        /// Number of the peer.
        process: u32,
        /// Session of the peer: 1 after the first start of the peer, 2 after its second start, and
        /// so on.
        session: u64,
    },
    /// A peer stopped, or is suspected to have crashed.
    PeerDown {
        /// Number of the peer.
        process: u32,
    },
    /// The node is not blocked, and its disk does not hang. The node reports this event at
    /// intervals, if its options contain an interval. `tenure node` does not write this event.
    Alive,
    /// The workload entered the critical section. Sent only if grants are reported.
    Granted {
        /// Fencing token of the entry, as `TERM.COUNT`.
        fence: String,
    },
    /// Progress of the workload, a few times per second while it changes.
    Progress {
        /// Number of entries into the critical section since the node started.
        entries: u64,
        /// Number of accesses that the resource rejected, because of an old fencing token.
        refused: u64,
    },
    /// The workload is finished. The node still serves its peers, until its standard input ends.
    Done {
        /// Number of entries into the critical section since the node started.
        entries: u64,
        /// Number of accesses that the resource rejected, because of an old fencing token.
        refused: u64,
    },
    /// The node failed. Its process exits with status 2, 4 or 5.
    Failed {
        /// Reason why the node failed.
        reason: String,
    },
}
