//! What elections on rings have in common.

use tenure_core::{Group, ProcessId, Rank};

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
