//! How long things take, from the length of a lease.

/// The times of a session, in whatever the lease's length is given in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Times {
    /// The length of the lease, as the service has it.
    pub ttl: u64,
    /// For how long a client may claim what it has, from when it sent the renewal that was
    /// answered.
    pub claim: u64,
    /// After how long it renews.
    pub renewal: u64,
}

impl Times {
    /// Those of a lease of this length, where the rates of clocks are off by so many parts in a
    /// million at most.
    ///
    /// A clock that is slow by ρ makes `claim / (1 − ρ)` of a client's claim, and one that is fast
    /// by as much `ttl / (1 + ρ)` of the lease; the first must not be longer than the second.
    ///
    /// # Panics
    ///
    /// When clocks may be off by all there is.
    pub fn new(ttl: u64, drift_ppm: u32) -> Self {
        const MILLION: u128 = 1_000_000;
        let drift = u128::from(drift_ppm);
        assert!(drift < MILLION, "a clock that may stand still keeps no time");
        let claim = u128::from(ttl) * (MILLION - drift) / (MILLION + drift);
        let claim = u64::try_from(claim).unwrap_or(ttl);
        Times { ttl, claim, renewal: ttl / 3 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_ends_before_the_lease_however_clocks_go() {
        for (ttl, drift) in [(10_000_000_000, 10_000), (2_000, 50_000), (7, 0), (u64::MAX, 1)] {
            let Times { claim, renewal, .. } = Times::new(ttl, drift);
            let (slow, fast) = (1_000_000 - u128::from(drift), 1_000_000 + u128::from(drift));
            assert!(u128::from(claim) * fast <= u128::from(ttl) * slow, "{ttl} {drift}");
            assert!(renewal < claim, "{ttl} {drift}");
        }
        assert_eq!(Times::new(10_000, 10_000).claim, 9_801);
    }
}
