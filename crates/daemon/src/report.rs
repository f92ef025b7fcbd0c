//! What a node tells the process that started it: one line of JSON each, on standard output.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

/// One line from a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Report {
    /// The node listens and takes part.
    Ready {
        /// Its process's number.
        process: u32,
        /// Where it listens.
        address: SocketAddr,
        /// Which boot of the process this is.
        session: u64,
    },
    /// The node serves a page on which a browser shows what it does.
    Page {
        /// What to open.
        url: String,
    },
    /// The node was told of a leader.
    Elected {
        /// The leader's number.
        leader: u32,
        /// The number of the term.
        term: u64,
    },
    /// The node was told that nobody leads.
    Deposed {
        /// The number of the term that ended.
        term: u64,
    },
    /// How far the work has got; a few times a second.
    Progress {
        /// Entries so far, of this session.
        entries: u64,
        /// Accesses that the resource refused.
        refused: u64,
    },
    /// The work is done: the node enters no more, but goes on serving its peers until standard
    /// input ends.
    Done {
        /// Entries of this session.
        entries: u64,
        /// Accesses that the resource refused.
        refused: u64,
    },
    /// The node could not go on; it exits with status 4.
    Failed {
        /// Why, in a sentence.
        says: String,
    },
}
