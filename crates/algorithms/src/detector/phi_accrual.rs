//! The φ accrual detector: suspicion grows with the silence, measured by how regular a peer was.
//!
//! N. Hayashibara, X. Défago, R. Yared, T. Katayama, *The φ accrual failure detector*, SRDS 2004.
//! The level of suspicion is φ = −log₁₀ P(later): how unlikely it is that a heartbeat comes even
//! later than now, if intervals are normally distributed with the mean and the variance of the
//! last ones. φ = 1 is wrong once in ten times, φ = 8 once in a hundred million, as long as they
//! are. Whoever wants an opinion and not a level picks a threshold.
//!
//! | | |
//! |---|---|
//! | assumes | partial synchrony; messages may be lost, though not all of them |
//! | messages | N − 1 per process and period |
//! | detects a crash | mean + z(Φ) · deviation of its intervals after its last heartbeat |
//!
//! **Why it is right.** φ grows with time alone, so the moment at which it reaches a threshold Φ
//! is known when a heartbeat comes: a timer is set for it. *Complete*: a crashed process sends no
//! more heartbeats, and its timer fires. *Eventually accurate*, beyond the paper: intervals need
//! not be normally distributed, and a threshold may be too low for ever. So each false suspicion
//! of a peer adds to what its silence is forgiven, as in Chandra and Toueg's detector; once that
//! exceeds period + delay + drift, there is none any more. An `increment` of 0 is the paper's.
//! A lower bound on the deviation keeps a peer that was very regular from being suspected for
//! a trifle, and the interval that ended a suspicion is not counted: it may have been a crash.
//!
//! **In whole numbers.** `LEVELS` has φ by quarters of a deviation, in thousandths, and what
//! is between is on a straight line. So [`level`] is within 0.004 of φ, and [`deviations`] within
//! 0.02 of z for thresholds from 0.1. The root of the variance is rounded down to a tick.

use alloc::collections::VecDeque;

use tenure_core::{Delay, LocalTime, ProcessId};

use super::beating::{Beating, Patience};

pub use super::beating::{Message, Timer};

/// One process of the detector.
pub type PhiAccrual = Beating<Config>;

/// What is fixed for life.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    /// How often to beat.
    pub period: Delay,
    /// Φ: the level at which a peer is suspected, in thousandths.
    pub threshold: u64,
    /// How many intervals are remembered of a peer; at least 2.
    pub window: usize,
    /// What the first intervals are taken to be, give or take a half, in ticks.
    pub first: u64,
    /// The least that the deviation is taken to be, in ticks.
    pub deviation_min: u64,
    /// How much more silence a false suspicion forgives, in ticks.
    pub increment: u64,
    /// No silence is borne for longer than this, in ticks.
    pub longest: u64,
}

impl Default for Config {
    /// Every 50 ms; suspected at φ = 8 by the last 100 intervals, of which the first are
    /// taken to be 100 ms; a deviation of at least 10 ms; 100 ms more after each mistake, at most
    /// 5 s.
    fn default() -> Self {
        Config {
            period: Delay::units(50),
            threshold: 8_000,
            window: 100,
            first: Delay::units(100).max,
            deviation_min: Delay::units(10).max,
            increment: Delay::units(100).max,
            longest: Delay::units(5_000).max,
        }
    }
}

/// What is remembered of a peer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Record {
    /// The last intervals between its heartbeats, in ticks.
    intervals: VecDeque<u64>,
    /// When it was last heard of, unless we were away since.
    heard: Option<LocalTime>,
    /// How much of its silence is forgiven, in ticks.
    forgiven: u64,
}

impl Record {
    /// The mean of the intervals, in ticks.
    fn mean(&self) -> u64 {
        self.intervals.iter().sum::<u64>() / self.intervals.len() as u64
    }

    /// The root of their variance, in ticks.
    fn deviation(&self, mean: u64) -> u64 {
        let squares = self.intervals.iter().map(|it| u128::from(it.abs_diff(mean)).pow(2));
        let variance = squares.sum::<u128>() / self.intervals.len() as u128;
        u64::try_from(variance.isqrt()).unwrap_or(u64::MAX)
    }
}

impl Patience for Config {
    type Record = Record;

    fn period(&self) -> Delay {
        self.period
    }

    fn unknown(&self) -> Record {
        assert!(self.window >= 2, "one interval has no deviation");
        let intervals = [self.first / 2, self.first + self.first / 2].into();
        Record { intervals, heard: None, forgiven: 0 }
    }

    fn timeout(&self, of: &Record) -> u64 {
        if self.threshold == 0 {
            return 0;
        }
        let mean = of.mean();
        let deviation = of.deviation(mean).max(self.deviation_min);
        let margin = i128::from(deviations(self.threshold)) * i128::from(deviation) / 1000;
        let silence = i128::from(mean + of.forgiven) + margin;
        u64::try_from(silence).unwrap_or(0).min(self.longest)
    }

    fn hear(&self, of: &mut Record, now: LocalTime, suspected: bool) {
        if suspected {
            of.forgiven = (of.forgiven + self.increment).min(self.longest);
        } else if let Some(before) = of.heard {
            if of.intervals.len() == self.window {
                of.intervals.pop_front();
            }
            of.intervals.push_back(now - before);
        }
        of.heard = Some(now);
    }

    fn forget_silence(&self, of: &mut Record) {
        of.heard = None;
    }

    fn names(&self) -> [&'static str; 3] {
        [
            "phi-accrual",
            "suspect whoever is silent for longer than its past makes likely",
            "Hayashibara et al., SRDS 2004",
        ]
    }
}

impl PhiAccrual {
    /// φ of a peer at a moment of our own clock, in thousandths; 0 while nothing was heard of it.
    pub fn level_of(&self, peer: ProcessId, now: LocalTime) -> u64 {
        let record = &self.records[peer.index()];
        let Some(heard) = record.heard else { return 0 };
        let mean = record.mean();
        let deviation = record.deviation(mean).max(self.config.deviation_min).max(1);
        let late = i128::from(now - heard) - i128::from(mean + record.forgiven);
        let deviations = late * 1000 / i128::from(deviation);
        level(i64::try_from(deviations).unwrap_or(i64::MAX))
    }
}

/// φ from two deviations before the mean on, by quarters of a deviation, in thousandths.
const LEVELS: [u64; 57] = [
    10, 18, 30, 48, 75, 112, 160, 223, 301, 397, 511, 645, 800, 976, 1175, 1397, 1643, 1913, 2207,
    2526, 2870, 3239, 3633, 4053, 4499, 4971, 5469, 5993, 6543, 7119, 7721, 8350, 9006, 9688,
    10396, 11131, 11893, 12681, 13496, 14338, 15206, 16101, 17023, 17972, 18947, 19950, 20979,
    22035, 23118, 24228, 25365, 26528, 27719, 28936, 30181, 31452, 32750,
];

/// Where the table begins, and its step, in thousandths of a deviation.
const FIRST: i64 = -2000;
const STEP: i64 = 250;

/// φ of something that comes so much later than the mean, in thousandths of a deviation and of φ.
/// 0 from two deviations before the mean, and no more than 32.75.
pub fn level(deviations: i64) -> u64 {
    let Ok(offset) = u64::try_from(deviations.saturating_sub(FIRST)) else { return 0 };
    let (place, rest) = (offset / STEP as u64, offset % STEP as u64);
    match LEVELS.get(place as usize..) {
        Some([low, high, ..]) => low + (high - low) * rest / STEP as u64,
        _ => LEVELS[LEVELS.len() - 1],
    }
}

/// z: how many deviations later than the mean φ has this value, both in thousandths; the inverse
/// of [`level`]. Between −2 and 12.
pub fn deviations(level: u64) -> i64 {
    let place = LEVELS.partition_point(|it| *it <= level);
    match (place.checked_sub(1), LEVELS.get(place)) {
        (Some(before), Some(high)) => {
            let low = LEVELS[before];
            let rest = STEP as u64 * (level - low) / (high - low);
            FIRST + STEP * before as i64 + rest as i64
        }
        (None, _) => FIRST,
        (Some(last), None) => FIRST + STEP * last as i64,
    }
}
