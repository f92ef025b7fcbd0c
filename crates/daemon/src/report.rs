//! What a node tells the process that started it: one line of JSON each, on standard output.

use std::net::SocketAddr;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::clock::written;

/// One line from a node: `{"time":"2026-11-22T15:04:05.678Z","elected":{"leader":2,"term":4}}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// When it was told, as RFC 3339 has it, in UTC.
    pub time: String,
    /// What.
    #[serde(flatten)]
    pub report: Report,
}

impl Line {
    /// What is told now.
    pub fn now(report: Report) -> Line {
        Line { time: written(SystemTime::now()), report }
    }
}

/// What a node tells, each when it happens: one that has nothing to do says nothing.
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
    /// A peer is there: connected, and not suspected.
    Came {
        /// Its number.
        process: u32,
        /// Which boot of it.
        session: u64,
    },
    /// A peer is not there any more: it said goodbye, or is suspected to have crashed.
    Left {
        /// Its number.
        process: u32,
    },
    /// The node has entered. Told only when it is asked for.
    Granted {
        /// The fence of the entry, `TERM.COUNT`.
        fence: String,
    },
    /// How far the work has got; a few times a second, while it goes on.
    Progress {
        /// Entries so far, of this session.
        entries: u64,
        /// Accesses that the resource refused.
        refused: u64,
    },
    /// How far the log of the node has come; a few times a second, while it changes.
    Log {
        /// How many entries it has.
        stored: u64,
        /// How many of them it knows to be committed.
        committed: u64,
        /// The terms of the last entries.
        last_terms: Vec<u64>,
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
