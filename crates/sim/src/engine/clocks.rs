//! Local clocks of the processes. Each clock has its own offset and its own rate.

use tenure_core::{LocalTime, ProcessId};

use crate::engine::random::splitmix64;
use crate::settings::Settings;

/// Local clocks of the processes. Each clock starts at its own reading. If clocks drift, each also
/// has its own rate.
///
/// Start and rate are computed from the seed on demand, so clocks need no memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LocalClocks {
    seed: u64,
    drift_ppm: u32,
}

const MILLION: u128 = 1_000_000;

impl LocalClocks {
    pub(crate) const fn new(settings: &Settings) -> Self {
        LocalClocks { seed: settings.seed, drift_ppm: settings.time.drift_ppm }
    }

    /// Returns the reading of the clock of `process` at the time `now`, which is in ticks.
    pub(crate) fn local_time(&self, process: ProcessId, now: u64) -> LocalTime {
        let start = splitmix64(self.seed ^ splitmix64(u64::from(process.0))) >> 24;
        let shown = u128::from(now) * self.rate(process) / MILLION;
        LocalTime(start.saturating_add(u64::try_from(shown).unwrap_or(u64::MAX)))
    }

    /// Returns the real time, in ticks, in which the clock of `process` advances by `ticks`.
    #[inline]
    pub(crate) fn real_ticks(&self, process: ProcessId, ticks: u64) -> u64 {
        if self.drift_ppm == 0 {
            return ticks;
        }
        let real = u128::from(ticks) * MILLION / self.rate(process);
        u64::try_from(real).unwrap_or(u64::MAX)
    }

    /// Returns the rate of the clock of `process`, in parts per million of real time. A clock
    /// without drift has the rate 1,000,000.
    fn rate(&self, process: ProcessId) -> u128 {
        let width = u64::from(self.drift_ppm) * 2 + 1;
        let drawn =
            splitmix64(self.seed.rotate_left(32) ^ splitmix64(u64::from(process.0) | 1 << 40))
                % width;
        MILLION + u128::from(drawn) - u128::from(self.drift_ppm)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_differ_within_drift() {
        let mut settings = Settings::new(50);
        settings.time.drift_ppm = 1000;
        let clocks = LocalClocks::new(&settings);
        let waits = (0..50).map(|place| clocks.real_ticks(ProcessId(place), 1_000_000));
        let waits: std::collections::BTreeSet<u64> = waits.collect();
        assert!(waits.len() > 30, "{waits:?}");
        assert!(waits.iter().all(|wait| (999_000..=1_001_002).contains(wait)), "{waits:?}");
    }

    #[test]
    fn wait_without_drift_is_exact() {
        let clocks = LocalClocks::new(&Settings::new(2));
        assert_eq!(clocks.real_ticks(ProcessId(1), 12_345), 12_345);
        let later = clocks.local_time(ProcessId(1), 700) - clocks.local_time(ProcessId(1), 200);
        assert_eq!(later, 500);
    }
}
