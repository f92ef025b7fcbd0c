//! Fencing tokens: the number of an entry, sent with every access to the protected resource.

use core::fmt;

/// A fencing token: a number that strictly increases from one entry to the next.
///
/// A process sends its fence to the resource with every access. The resource must reject every
/// fence that is lower than the highest fence that it has seen. The resource is then safe from a
/// process that was paused inside the critical section and resumed late. Fences are compared by
/// their first halves, then by their second halves.
///
/// A fence has 128 bits, because a packed [`Term`](crate::Term) alone takes 64. These
/// representations keep the order:
///
/// - the number [`Fence::to_u128`], for example in a column of type `NUMERIC(39)`;
/// - the 16 bytes [`Fence::to_bytes`], for example in a column of type `BYTEA` or `BLOB`, or in the
///   key of a key-value store;
/// - the two halves in two columns, the first half compared first.
///
/// ```
/// use tenure_core::Fence;
///
/// let (earlier, later) = (Fence(7, u64::MAX), Fence(8, 0));
/// assert!(earlier < later);
/// assert!(earlier.to_u128() < later.to_u128());
/// assert!(earlier.to_bytes() < later.to_bytes());
/// assert_eq!(Fence::from_bytes(later.to_bytes()), later);
/// ```
///
/// In SQL one line compares the fence. An update that changes no row was rejected:
///
/// ```sql
/// UPDATE invoices SET total = $1, fence = $2 WHERE id = $3 AND fence <= $2
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Fence(
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::mark::packed"))] pub u64,
    pub u64,
);

impl Fence {
    /// The fence 0. An algorithm that issues no fences reports this value at each entry into the
    /// critical section. An example is an algorithm that admits several processes at the same time.
    pub const NONE: Fence = Fence(0, 0);

    /// Returns the fence as one number: the first half is the upper 64 bits. Numbers have the same
    /// order as fences.
    pub const fn to_u128(self) -> u128 {
        (self.0 as u128) << 64 | self.1 as u128
    }

    /// Returns the fence with this number. Every number is valid.
    pub const fn from_u128(number: u128) -> Fence {
        Fence((number >> 64) as u64, number as u64)
    }

    /// Returns the fence as 16 big-endian bytes. Their lexicographic order is the order of fences.
    pub const fn to_bytes(self) -> [u8; 16] {
        self.to_u128().to_be_bytes()
    }

    /// Returns the fence with these bytes. Any 16 bytes are valid.
    pub const fn from_bytes(bytes: [u8; 16]) -> Fence {
        Fence::from_u128(u128::from_be_bytes(bytes))
    }
}

impl fmt::Display for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fence_conversions_keep_order_and_round_trip() {
        let halves = [0, 1, 255, 256, u64::from(u32::MAX), 1 << 63, u64::MAX];
        let fences = halves.into_iter().flat_map(|high| halves.map(|low| Fence(high, low)));
        let fences: alloc::vec::Vec<_> = fences.collect();
        assert!(fences.is_sorted(), "the list is one of growing fences");
        assert!(fences.windows(2).all(|pair| pair[0].to_u128() < pair[1].to_u128()));
        assert!(fences.windows(2).all(|pair| pair[0].to_bytes() < pair[1].to_bytes()));
        for fence in fences {
            assert_eq!(Fence::from_u128(fence.to_u128()), fence);
            assert_eq!(Fence::from_bytes(fence.to_bytes()), fence);
        }
    }

    #[test]
    fn little_endian_bytes_lose_order() {
        let little = |fence: Fence| fence.to_u128().to_le_bytes();
        assert!(Fence(0, 255) < Fence(0, 256));
        assert!(little(Fence(0, 255)) > little(Fence(0, 256)));
    }
}
