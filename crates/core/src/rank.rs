//! What decides an election.

use core::fmt;
use core::num::NonZeroU32;

/// What decides an election: compared by weight, then by id; the largest wins.
///
/// A rank is configuration and not a place on the ring. Plain ids have weight 0; the least
/// loaded process wins with [`Rank::of_load`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Rank {
    /// Compared first.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::mark::any"))]
    pub weight: u64,
    /// Breaks ties; unique in the group.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::mark::any"))]
    pub id: u32,
}

impl Rank {
    /// A rank that is a plain id.
    pub const fn of_id(id: u32) -> Self {
        Rank { weight: 0, id }
    }

    /// The rank `<1/load, id>`: the smaller the load the higher; equal loads go to the larger id.
    ///
    /// The reciprocal is kept as `(2^64 − 1) / load` in whole numbers, which tells any two loads
    /// of 32 bits apart, so no rounding ever makes two different loads equal.
    pub const fn of_load(load: NonZeroU32, id: u32) -> Self {
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
        Rank::of_load(NonZeroU32::new(load).unwrap(), id)
    }

    #[test]
    fn the_least_loaded_wins_and_equal_loads_go_to_the_larger_id() {
        let ranks = [load(50, 1), load(25, 2), load(25, 3)];
        assert_eq!(ranks.iter().max(), Some(&ranks[2]));
    }

    #[test]
    fn no_two_neighbouring_loads_become_equal() {
        for small in [1, 2, 1_000, 1 << 20, u32::MAX - 1] {
            assert!(load(small, 1) > load(small + 1, 2), "{small}");
        }
    }
}
