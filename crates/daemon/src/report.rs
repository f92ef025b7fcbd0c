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

/// Event at a node, which the node reports at once. Process numbers count from 1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeEvent {
    /// The node listens, and participates in the algorithms.
    Ready {
        /// Number of the node's process.
        process: u32,
        /// Address at which the node listens.
        address: SocketAddr,
        /// Session of the node: 1 after its first start with its data directory, 2 after its second
        /// start, and so on.
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
        /// Number of the term of the leader that the node knew.
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
    /// A peer has stopped, is suspected to have crashed, or has started again. In the last case,
    /// [`NodeEvent::PeerUp`] follows.
    PeerDown {
        /// Number of the peer.
        process: u32,
    },
    /// The node is not blocked, and its disk does not hang. The node reports this event at
    /// intervals, if its options contain an interval. `tenure node` does not write this event.
    Alive,
    /// The workload entered the critical section. Reported only if the options select grants.
    Granted {
        /// Fencing token of the entry: its two halves as decimal numbers, separated by a full stop.
        fence: String,
    },
    /// Progress of the workload, a few times per second while it changes.
    Progress {
        /// Number of entries into the critical section since the node started.
        entries: u64,
        /// Number of accesses that the resource rejected, because of an old fencing token.
        refused: u64,
    },
    /// The workload is finished. The node still serves its peers until it is stopped.
    Done {
        /// Number of entries into the critical section since the node started.
        entries: u64,
        /// Number of accesses that the resource rejected, because of an old fencing token.
        refused: u64,
    },
    /// The node failed. `tenure node` then exits with status 2, 4 or 5.
    Failed {
        /// Reason why the node failed.
        reason: String,
    },
}
