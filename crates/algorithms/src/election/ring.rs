//! What elections on rings have in common.

use alloc::sync::Arc;

use tenure_core::{Group, ProcessId, Rank};

use crate::catalogue::{Configured, Parameters, Unknown};

/// What is fixed for life, where that is the ranks.
#[derive(Clone, Debug)]
pub struct Config {
    /// By place on the ring, clockwise. All different.
    pub ranks: Arc<[Rank]>,
}

impl Config {
    /// Plain ids as ranks, in the order of the ring.
    pub fn plain(size: u32) -> Self {
        Config { ranks: plain(size) }
    }
}

impl Configured for Config {
    fn configured(parameters: &Parameters) -> Result<Self, Unknown> {
        parameters.no_variants()?;
        Ok(Config { ranks: parameters.ranks.clone() })
    }
}

/// Plain ids as ranks, in the order of the ring.
pub(super) fn plain(size: u32) -> Arc<[Rank]> {
    (1..=size).map(Rank::of_id).collect()
}

/// The rank of this process.
pub(super) fn rank(ranks: &[Rank], group: Group) -> Rank {
    assert!(ranks.len() == group.size() as usize, "every process needs a rank");
    ranks[group.me().index()]
}

/// Who might lead: compared by rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Candidate {
    /// What decides.
    pub rank: Rank,
    /// Whose rank it is.
    pub process: ProcessId,
}

/// In which direction a message travels round the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Direction {
    /// From each process to its successor.
    Clockwise,
    /// From each process to its predecessor.
    Counterclockwise,
}

impl Direction {
    /// Clockwise first.
    pub(super) const BOTH: [Self; 2] = [Direction::Clockwise, Direction::Counterclockwise];

    /// The other one.
    pub(super) fn back(self) -> Self {
        match self {
            Direction::Clockwise => Direction::Counterclockwise,
            Direction::Counterclockwise => Direction::Clockwise,
        }
    }

    /// The neighbour to whom this leads.
    pub(super) fn neighbour(self, group: Group) -> ProcessId {
        match self {
            Direction::Clockwise => group.successor(),
            Direction::Counterclockwise => group.predecessor(),
        }
    }
}
