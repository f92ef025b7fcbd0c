//! Configuration, neighbours and candidates that election algorithms on rings share.

use alloc::sync::Arc;
use alloc::vec::Vec;

use tenure_core::{Delay, Group, ProcessId, ProcessSet, Rank};

use crate::catalogue_error::CatalogueError;
use crate::parameters::{FromParameters, Parameters};
use crate::rounds;
use crate::variants::{VariantId, Variants};

/// Configuration of one process, for ring algorithms that need nothing but ranks.
#[derive(Clone, Debug)]
pub struct Config {
    /// Distinct ranks in the order of the ring, clockwise.
    pub ranks: Arc<[Rank]>,
    /// Processes that failed before the ring was formed, and are therefore not on it.
    pub absent: ProcessSet,
}

impl Config {
    /// Returns a configuration in which the rank of each process is its id. The ids grow in the
    /// order of the ring.
    pub fn with_defaults(size: u32) -> Self {
        Config::with_ranks(id_ranks(size))
    }

    /// Returns a configuration with these ranks, and no failed process.
    pub fn with_ranks(ranks: Arc<[Rank]>) -> Self {
        Config { ranks, absent: ProcessSet::new() }
    }
}

impl FromParameters for Config {
    fn from_parameters(parameters: &Parameters) -> Result<Self, CatalogueError> {
        parameters.reject_variants()?;
        Ok(Config { ranks: parameters.ranks.clone(), absent: parameters.absent.clone() })
    }
}

/// Configuration of one process, for ring algorithms with variants.
#[derive(Clone, Debug)]
pub struct ConfigWithVariants<S: VariantId> {
    /// Distinct ranks in the order of the ring, clockwise.
    pub ranks: Arc<[Rank]>,
    /// Processes that failed before the ring was formed, and are therefore not on it.
    pub absent: ProcessSet,
    /// Variants that are switched on.
    pub variants: Variants<S>,
}

impl<S: VariantId> ConfigWithVariants<S> {
    /// Returns a configuration without variants. The rank of each process is its id. The ids grow
    /// in the order of the ring.
    pub fn with_defaults(size: u32) -> Self {
        Self::with_ranks(id_ranks(size), Variants::none())
    }

    /// Returns a configuration with these ranks and variants, and no failed process.
    pub fn with_ranks(ranks: Arc<[Rank]>, variants: Variants<S>) -> Self {
        ConfigWithVariants { ranks, absent: ProcessSet::new(), variants }
    }
}

impl<S: VariantId> FromParameters for ConfigWithVariants<S> {
    fn from_parameters(parameters: &Parameters) -> Result<Self, CatalogueError> {
        let (ranks, absent) = (parameters.ranks.clone(), parameters.absent.clone());
        Ok(ConfigWithVariants { ranks, absent, variants: parameters.variants()? })
    }
}

/// Configuration of one process, for ring algorithms in synchronous rounds.
#[derive(Clone, Debug)]
pub struct ConfigInRounds<S: VariantId> {
    /// Ranks of the processes, by the index of the process. Messages travel from each process to
    /// the next index. All ids are distinct. For the algorithm `time-slice`, the ids are positive.
    pub ranks: Arc<[Rank]>,
    /// Processes that failed before the ring was formed, and are therefore not on the ring.
    pub absent: ProcessSet,
    /// Duration of a round.
    pub round_duration: Delay,
    /// Variants that are switched on.
    pub variants: Variants<S>,
}

impl<S: VariantId> ConfigInRounds<S> {
    /// Returns a configuration with these ranks and variants, and rounds of one unit.
    pub fn with_ranks(ranks: Arc<[Rank]>, variants: Variants<S>) -> Self {
        ConfigInRounds {
            ranks,
            absent: ProcessSet::new(),
            round_duration: Delay::time_units(1),
            variants,
        }
    }

    /// Returns the largest identifier in the ranks of all processes, also of absent ones.
    pub(super) fn largest_id(&self) -> u32 {
        self.ranks.iter().map(|rank| rank.id).max().unwrap_or(0)
    }
}

impl<S: VariantId> ConfigInRounds<S> {
    /// Returns the configuration that these parameters describe. Returns an error for an unknown
    /// variant.
    pub(super) fn new(parameters: &Parameters) -> Result<Self, CatalogueError> {
        let (ranks, absent) = (Arc::clone(&parameters.ranks), parameters.absent.clone());
        let (round, variants) = (rounds::round_duration(parameters)?, parameters.variants()?);
        Ok(ConfigInRounds { ranks, absent, round_duration: round, variants })
    }
}

/// The ring as one process sees it: the process knows its neighbours, but not the size of the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Ring {
    me: ProcessId,
    next: ProcessId,
    previous: ProcessId,
}

impl Ring {
    /// Returns the ring as seen by this process, without the processes that had failed before the
    /// ring was formed.
    pub(super) fn without_absent(absent: &ProcessSet, group: Group) -> Self {
        let (me, size) = (group.me(), group.size());
        let is_on_it = |place: &ProcessId| *place == me || !absent.contains(*place);
        let mut clockwise = (1..=size).map(|step| ProcessId((me.0 + step) % size));
        let mut opposite = (1..=size).map(|step| ProcessId((me.0 + size - step) % size));
        Ring {
            me,
            next: clockwise.find(is_on_it).unwrap_or(me),
            previous: opposite.find(is_on_it).unwrap_or(me),
        }
    }

    pub(super) const fn me(self) -> ProcessId {
        self.me
    }

    /// Returns the next process clockwise. If this process is alone, returns this process.
    pub(super) const fn successor(self) -> ProcessId {
        self.next
    }

    pub(super) fn is_alone(self) -> bool {
        self.next == self.me
    }
}

/// Returns the number of processes on the ring, at least 1. The group has `size` processes, and the
/// processes in `absent` are not on the ring.
pub(super) fn ring_size(absent: &ProcessSet, size: u32) -> u32 {
    size.saturating_sub(absent.len()).max(1)
}

/// Returns the ranks of the processes on the ring, in clockwise order from the process `from`.
/// `ranks` contains the ranks of all processes, by index. The processes in `absent` are not on the
/// ring.
pub(super) fn live_ranks(ranks: &[Rank], absent: &ProcessSet, from: ProcessId) -> Vec<Rank> {
    let size = ranks.len();
    let places = (0..size).map(|step| (from.index() + step) % size);
    places
        .filter(|place| !absent.contains(ProcessId::from_index(*place)))
        .map(|it| ranks[it])
        .collect()
}

/// Returns ranks for `size` processes: the rank of each process is its number, counted from 1.
pub(super) fn id_ranks(size: u32) -> Arc<[Rank]> {
    (1..=size).map(Rank::from_id).collect()
}

/// Returns the rank of this process. Panics if `ranks` does not have one rank for each process.
pub(super) fn own_rank(ranks: &[Rank], group: Group) -> Rank {
    assert!(ranks.len() == group.size() as usize, "every process needs a rank");
    ranks[group.me().index()]
}

/// A process that may become the leader. Candidates are compared by rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Candidate {
    /// The rank by which candidates are compared.
    pub rank: Rank,
    /// Owner of the rank.
    pub process: ProcessId,
}

/// Direction in which a message travels around the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Direction {
    /// From each process to its successor.
    Clockwise,
    /// From each process to its predecessor.
    Counterclockwise,
}

impl Direction {
    pub(super) const BOTH: [Self; 2] = [Direction::Clockwise, Direction::Counterclockwise];

    pub(super) fn opposite(self) -> Self {
        match self {
            Direction::Clockwise => Direction::Counterclockwise,
            Direction::Counterclockwise => Direction::Clockwise,
        }
    }

    pub(super) fn neighbour(self, ring: Ring) -> ProcessId {
        match self {
            Direction::Clockwise => ring.next,
            Direction::Counterclockwise => ring.previous,
        }
    }
}
