//! Durations of a session, derived from the TTL.

/// Durations of a session, all in the unit of the TTL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SessionDurations {
    /// TTL of the lease at the service.
    pub ttl: u64,
    /// Time for which the client relies on a confirmed renewal, counted from the moment when the
    /// client sent the renewal request.
    pub validity: u64,
    /// Time from one renewal request to the next.
    pub renewal_interval: u64,
}

impl SessionDurations {
    /// Computes the durations of a session from the TTL. Each clock may run fast or slow by at most
    /// `drift_ppm` parts per million.
    ///
    /// Let ρ be `drift_ppm` / 1,000,000. If the client's clock is slow, `validity` on this clock
    /// takes up to `validity / (1 − ρ)` of real time. If the service's clock is fast, the lease
    /// takes at least `ttl / (1 + ρ)` of real time. The validity must end before the lease, so
    /// `validity / (1 − ρ)` must not exceed `ttl / (1 + ρ)`.
    ///
    /// # Panics
    ///
    /// If `drift_ppm` is a million or more.
    pub fn new(ttl: u64, drift_ppm: u32) -> Self {
        const MILLION: u128 = 1_000_000;
        let drift = u128::from(drift_ppm);
        assert!(drift < MILLION, "drift must be below one million ppm");
        let validity = u128::from(ttl) * (MILLION - drift) / (MILLION + drift);
        let validity = u64::try_from(validity).unwrap_or(ttl);
        SessionDurations { ttl, validity, renewal_interval: ttl / 3 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn validity_ends_before_lease_despite_clock_drift() {
        for (ttl, drift) in [(10_000_000_000, 10_000), (2_000, 50_000), (7, 0), (u64::MAX, 1)] {
            let SessionDurations { validity, renewal_interval, .. } =
                SessionDurations::new(ttl, drift);
            let (slow, fast) = (1_000_000 - u128::from(drift), 1_000_000 + u128::from(drift));
            assert!(u128::from(validity) * fast <= u128::from(ttl) * slow, "{ttl} {drift}");
            assert!(renewal_interval < validity, "{ttl} {drift}");
        }
        assert_eq!(SessionDurations::new(10_000, 10_000).validity, 9_801);
    }
}
