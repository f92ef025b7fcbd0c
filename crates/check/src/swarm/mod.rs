//! Swarm search: independent depth-first searches with bitstate hashing, for state spaces beyond
//! memory (Holzmann, Joshi, Groce, "Swarm verification techniques", IEEE TSE 2011).
//!
//! Each member of a swarm is one search, with its own order of steps and its own hash functions. A
//! member stores a few bits for each state, so it may omit states. Hence it proves nothing. If it
//! finds a violation, the run is real, and is replayed like the run of any other search.

pub(crate) mod report;
mod run;
mod search;
mod table;

/// Default of [`SwarmMemberConfig::table_bytes`]: 256 MiB.
const BYTES: u64 = 256 << 20;

/// Default of [`SwarmMemberConfig::depth_max`].
const DEPTH: u32 = 10_000;

/// Number of hash functions. Each state sets at most this number of bits in the table.
const HASHES: u32 = 3;

/// Configuration of one member of a swarm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwarmMemberConfig {
    /// Number of this member of the swarm, from 1. It selects the order of the steps and the hash
    /// functions.
    pub member: u64,
    /// Number of members of the swarm. It appears only in reports.
    pub members: u64,
    /// Size of the bit table, in bytes.
    pub table_bytes: u64,
    /// Maximum number of steps of a run. Steps in which only time passes count, too. The search
    /// ends a run that has reached this number of steps.
    pub depth_max: u32,
}

impl SwarmMemberConfig {
    /// Creates the default configuration of a member: a table of 256 MiB, and runs of at most
    /// 10,000 steps.
    pub const fn for_member(member: u64, members: u64) -> Self {
        SwarmMemberConfig { member, members, table_bytes: BYTES, depth_max: DEPTH }
    }
}
