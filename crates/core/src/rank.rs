//! The rank that decides an election.

use core::fmt;
use core::num::NonZeroU32;

/// The pair of numbers that decides an election. Ranks are compared by weight. If the weights are
/// equal, the ids are compared. The largest rank wins, except in elections whose paper lets the
/// smallest rank win.
///
/// Ranks are configured. They are independent of the positions of the processes on the ring. A rank
/// that is only an id has weight 0. With [`Rank::from_load`], the least loaded process has the
/// largest rank.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Rank {
    /// First key of the comparison: the rank with the larger weight is larger.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::mark::any"))]
    pub weight: u64,
    /// Identifier, which is unique in the group. If two weights are equal, the identifiers are
    /// compared.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::mark::any"))]
    pub id: u32,
}

impl Rank {
    /// Creates a rank of weight 0 with this id.
    pub const fn from_id(id: u32) -> Self {
        Rank { weight: 0, id }
    }

    /// Creates the rank `<1/load, id>`. A process with a smaller load has a larger rank. If two
    /// loads are equal, the process with the larger id has the larger rank.
    ///
    /// The weight is the integer `(2^64 − 1) / load`. Any two different 32-bit loads have different
    /// weights, in spite of rounding.
    pub const fn from_load(load: NonZeroU32, id: u32) -> Self {
        Rank { weight: u64::MAX / load.get() as u64, id }
    }
}

impl fmt::Display for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.weight {
            0 => write!(f, "{}", self.id),
            weight => write!(f, "<1/{}, {}>", u64::MAX / weight, self.id),
        }
    }
}

impl fmt::Debug for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(load: u32, id: u32) -> Rank {
        Rank::from_load(NonZeroU32::new(load).unwrap(), id)
    }

    #[test]
    fn least_load_wins_and_larger_id_breaks_ties() {
        let ranks = [load(50, 1), load(25, 2), load(25, 3)];
        assert_eq!(ranks.iter().max(), Some(&ranks[2]));
    }

    #[test]
    fn neighbouring_loads_rank_differently() {
        for small in [1, 2, 1_000, 1 << 20, u32::MAX - 1] {
            assert!(load(small, 1) > load(small + 1, 2), "{small}");
        }
    }
}
