//! What elections on rings have in common.

use alloc::sync::Arc;
use alloc::vec::Vec;

use tenure_core::{Group, ProcessId, ProcessSet, Rank};

use crate::catalogue::{Configured, Parameters, Unknown};

/// What is fixed for life, where that is the ranks.
#[derive(Clone, Debug)]
pub struct Config {
    /// By place on the ring, clockwise. All different.
    pub ranks: Arc<[Rank]>,
    /// Who had failed before the ring was formed: it is a ring of the others.
    pub absent: ProcessSet,
}

impl Config {
    /// Plain ids as ranks, in the order of the ring.
    pub fn plain(size: u32) -> Self {
        Config::of(plain(size))
    }

    /// These ranks, and nobody has failed.
    pub fn of(ranks: Arc<[Rank]>) -> Self {
        Config { ranks, absent: ProcessSet::new() }
    }
}

impl Configured for Config {
    fn configured(parameters: &Parameters) -> Result<Self, Unknown> {
        parameters.no_variants()?;
        Ok(Config { ranks: parameters.ranks.clone(), absent: parameters.absent.clone() })
    }
}

/// The ring as a process on it sees it: its neighbours, and not how many there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Ring {
    me: ProcessId,
    next: ProcessId,
    previous: ProcessId,
}

impl Ring {
    /// The ring of those who had not failed before it was formed.
    pub(super) fn without(absent: &ProcessSet, group: Group) -> Self {
        let (me, size) = (group.me(), group.size());
        let is_on_it = |place: &ProcessId| *place == me || !absent.contains(*place);
        let mut clockwise = (1..=size).map(|step| ProcessId((me.0 + step) % size));
        let mut back = (1..=size).map(|step| ProcessId((me.0 + size - step) % size));
        Ring {
            me,
            next: clockwise.find(is_on_it).unwrap_or(me),
            previous: back.find(is_on_it).unwrap_or(me),
        }
    }

    /// The process whose view this is.
    pub(super) const fn me(self) -> ProcessId {
        self.me
    }

    /// The next process clockwise: this one itself, if it is alone.
    pub(super) const fn successor(self) -> ProcessId {
        self.next
    }

    /// Whether nobody else is on it.
    pub(super) fn is_alone(self) -> bool {
        self.next == self.me
    }
}

/// How many are on the ring of a group.
pub(super) fn length(absent: &ProcessSet, size: u32) -> u32 {
    size.saturating_sub(absent.len()).max(1)
}

/// The ranks of those who are on the ring, from this place on, in the direction of messages.
pub(super) fn living(ranks: &[Rank], absent: &ProcessSet, from: ProcessId) -> Vec<Rank> {
    let size = ranks.len();
    let places = (0..size).map(|step| (from.index() + step) % size);
    places.filter(|place| !absent.contains(ProcessId::at(*place))).map(|it| ranks[it]).collect()
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
    pub(super) fn neighbour(self, ring: Ring) -> ProcessId {
        match self {
            Direction::Clockwise => ring.next,
            Direction::Counterclockwise => ring.previous,
        }
    }
}
