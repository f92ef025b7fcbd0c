//! The φ accrual failure detector: the suspicion level grows with the silence, relative to the
//! regularity of past heartbeats.
//!
//! N. Hayashibara, X. Défago, R. Yared, T. Katayama, *The φ accrual failure detector*, SRDS 2004.
//! The suspicion level is φ = −log₁₀ P(later). P is the probability that the next heartbeat arrives
//! later than now. Intervals are assumed to be normally distributed, with the mean and the variance
//! of the last intervals. Under this assumption, a suspicion at φ = 1 is wrong once in ten times,
//! at φ = 8 once in a hundred million. A threshold turns the level into a verdict.
//!
//! | | |
//! |---|---|
//! | assumes | partial synchrony; messages may be lost, though not all of them |
//! | messages | N − 1 per process and period |
//! | detects a crash | mean interval + z(Φ) · standard deviation after the last heartbeat |
//!
//! **Why it is right.** φ grows with time alone. So when a heartbeat arrives, the detector knows at
//! which moment φ will reach the threshold Φ: when the silence exceeds the mean interval by z(Φ)
//! standard deviations. The detector sets a timer for this moment. *Complete*: a crashed process
//! sends no more heartbeats, and its timer fires. *Eventually accurate*, beyond the paper:
//! intervals need not be normally distributed, and a threshold may stay too low. So each false
//! suspicion of a peer adds an allowance to the timeout of this peer, as in Chandra and Toueg's
//! detector. False suspicions end once the allowance exceeds the sum of period, delay and drift, if
//! `max_timeout` permits this. An `increment` of 0 gives the paper's detector. A lower bound on the
//! deviation prevents suspicions of a very regular peer after minor delays. The detector ignores an
//! interval during which the peer was suspected, because the peer may have crashed in this
//! interval.
//!
//! **Integer arithmetic.** `LEVELS` contains φ at quarters of a deviation, in thousandths; values
//! in between are interpolated linearly. So [`phi_thousandths_for_z`] is within 0.004 of φ, and
//! [`z_thousandths_for_phi`] within 0.02 of z for thresholds from 0.1. The standard deviation is
//! rounded down to a tick.

use alloc::collections::VecDeque;

use tenure_core::{Delay, LocalTime, ProcessId};

use super::heartbeat_detector::{HeartbeatDetector, TimeoutPolicy};

pub use super::heartbeat_detector::{Message, Timer};

/// One process of the detector.
pub type PhiAccrual = HeartbeatDetector<Config>;

/// Configuration of one process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    /// Interval between heartbeats.
    pub period: Delay,
    /// Φ: the level at which a peer is suspected, in thousandths.
    pub threshold_phi_thousandths: u64,
    /// Number of intervals remembered per peer; at least 2.
    pub window: usize,
    /// Assumed length of an interval before the first heartbeats, in ticks. The window starts with
    /// two intervals: half of this length, and one and a half times this length.
    pub first_interval: u64,
    /// Lower bound on the standard deviation that the detector assumes, in ticks.
    pub min_deviation: u64,
    /// Time by which each false suspicion of a peer increases the timeout of this peer, in ticks.
    /// If this time is 0, the detector behaves as in the paper.
    pub increment: u64,
    /// Upper bound on the timeout of a peer, in ticks.
    pub max_timeout: u64,
}

impl Default for Config {
    /// Returns a configuration with a period of 50 ms, and the threshold φ = 8 over the last 100
    /// intervals. The detector assumes that the first intervals are 100 ms on average. It also
    /// assumes a standard deviation of at least 10 ms. Each false suspicion adds 100 ms to the
    /// timeout, up to 5 s.
    fn default() -> Self {
        Config {
            period: Delay::time_units(50),
            threshold_phi_thousandths: 8_000,
            window: 100,
            first_interval: Delay::time_units(100).max,
            min_deviation: Delay::time_units(10).max,
            increment: Delay::time_units(100).max,
            max_timeout: Delay::time_units(5_000).max,
        }
    }
}

/// State that the detector keeps for each peer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PeerState {
    /// Intervals between the last heartbeats of the peer, oldest first, in ticks.
    intervals: VecDeque<u64>,
    /// Local time of the last heartbeat of the peer. `None` if no heartbeat has arrived yet, or
    /// none since the measurement of the silence was last restarted.
    last_heartbeat: Option<LocalTime>,
    /// Time by which false suspicions of the peer have increased its timeout, in ticks.
    allowance: u64,
}

impl PeerState {
    /// Returns the mean of the intervals, in ticks.
    fn mean(&self) -> u64 {
        self.intervals.iter().sum::<u64>() / self.intervals.len() as u64
    }

    /// Returns the standard deviation of the intervals, in ticks.
    fn deviation(&self, mean: u64) -> u64 {
        let squares = self.intervals.iter().map(|it| u128::from(it.abs_diff(mean)).pow(2));
        let variance = squares.sum::<u128>() / self.intervals.len() as u128;
        u64::try_from(variance.isqrt()).unwrap_or(u64::MAX)
    }
}

impl TimeoutPolicy for Config {
    type PeerState = PeerState;

    fn period(&self) -> Delay {
        self.period
    }

    fn initial_peer_state(&self) -> PeerState {
        assert!(self.window >= 2, "one interval has no deviation");
        let intervals =
            [self.first_interval / 2, self.first_interval + self.first_interval / 2].into();
        PeerState { intervals, last_heartbeat: None, allowance: 0 }
    }

    fn timeout(&self, of: &PeerState) -> u64 {
        if self.threshold_phi_thousandths == 0 {
            return 0;
        }
        let mean = of.mean();
        let deviation = of.deviation(mean).max(self.min_deviation);
        let margin = i128::from(z_thousandths_for_phi(self.threshold_phi_thousandths))
            * i128::from(deviation)
            / 1000;
        let silence = i128::from(mean + of.allowance) + margin;
        u64::try_from(silence).unwrap_or(0).min(self.max_timeout)
    }

    fn on_heartbeat(&self, of: &mut PeerState, now: LocalTime, suspected: bool) {
        if suspected {
            of.allowance = (of.allowance + self.increment).min(self.max_timeout);
        } else if let Some(before) = of.last_heartbeat {
            if of.intervals.len() == self.window {
                of.intervals.pop_front();
            }
            of.intervals.push_back(now - before);
        }
        of.last_heartbeat = Some(now);
    }

    fn restart_silence_measurement(&self, of: &mut PeerState) {
        of.last_heartbeat = None;
    }

    fn name_title_and_paper(&self) -> [&'static str; 3] {
        [
            "phi-accrual",
            "suspect a process whose silence is unlikely given its past intervals",
            "Hayashibara et al., SRDS 2004",
        ]
    }
}

impl PhiAccrual {
    /// Returns φ of a peer at the local time `now`, in thousandths. Returns 0 while the time of the
    /// last heartbeat is unknown.
    pub fn phi_thousandths_of(&self, peer: ProcessId, now: LocalTime) -> u64 {
        let record = &self.records[peer.index()];
        let Some(last_heartbeat) = record.last_heartbeat else { return 0 };
        let mean = record.mean();
        let deviation = record.deviation(mean).max(self.config.min_deviation).max(1);
        let late = i128::from(now - last_heartbeat) - i128::from(mean + record.allowance);
        let deviations = late * 1000 / i128::from(deviation);
        phi_thousandths_for_z(i64::try_from(deviations).unwrap_or(i64::MAX))
    }
}

/// Values of φ, in thousandths, for growing silences. The first silence is two standard deviations
/// shorter than the mean interval. Each next silence is a quarter of a deviation longer.
const LEVELS: [u64; 57] = [
    10, 18, 30, 48, 75, 112, 160, 223, 301, 397, 511, 645, 800, 976, 1175, 1397, 1643, 1913, 2207,
    2526, 2870, 3239, 3633, 4053, 4499, 4971, 5469, 5993, 6543, 7119, 7721, 8350, 9006, 9688,
    10396, 11131, 11893, 12681, 13496, 14338, 15206, 16101, 17023, 17972, 18947, 19950, 20979,
    22035, 23118, 24228, 25365, 26528, 27719, 28936, 30181, 31452, 32750,
];

/// Lateness of the first entry of `LEVELS`, in thousandths of a standard deviation. The lateness is
/// the silence minus the mean interval. From one entry to the next, the lateness increases by
/// `LATENESS_STEP`.
const FIRST_LATENESS: i64 = -2000;
const LATENESS_STEP: i64 = 250;

/// Returns φ, in thousandths, for a late heartbeat. The argument is the lateness: the time since
/// the mean interval ended, in thousandths of a standard deviation. The result is at most 32 750.
/// For a lateness below −2000, the result is 0.
pub fn phi_thousandths_for_z(deviation_thousandths: i64) -> u64 {
    let Ok(offset) = u64::try_from(deviation_thousandths.saturating_sub(FIRST_LATENESS)) else {
        return 0;
    };
    let (place, rest) = (offset / LATENESS_STEP as u64, offset % LATENESS_STEP as u64);
    match LEVELS.get(place as usize..) {
        Some([low, high, ..]) => low + (high - low) * rest / LATENESS_STEP as u64,
        _ => LEVELS[LEVELS.len() - 1],
    }
}

/// Returns the lateness at which φ reaches the value `phi_thousandths`: the inverse of
/// [`phi_thousandths_for_z`]. The lateness is the time since the mean interval ended, in
/// thousandths of a standard deviation. The result is between −2000 and 12 000.
pub fn z_thousandths_for_phi(phi_thousandths: u64) -> i64 {
    let place = LEVELS.partition_point(|it| *it <= phi_thousandths);
    match (place.checked_sub(1), LEVELS.get(place)) {
        (Some(before), Some(high)) => {
            let low = LEVELS[before];
            let rest = LATENESS_STEP as u64 * (phi_thousandths - low) / (high - low);
            FIRST_LATENESS + LATENESS_STEP * before as i64 + rest as i64
        }
        (None, _) => FIRST_LATENESS,
        (Some(last), None) => FIRST_LATENESS + LATENESS_STEP * last as i64,
    }
}
