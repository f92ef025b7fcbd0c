//! N. Hayashibara, X. Défago, R. Yared, T. Katayama, *The φ accrual failure detector*, SRDS 2004.

use tenure_algorithms::detector::PhiAccrual;
use tenure_algorithms::detector::phi_accrual::{Config, Timer, deviations, level};
use tenure_core::{Delay, Input, LocalTime, Verdict};

use crate::support::detector::DetectorHarness;
use crate::support::p;
use tenure_trace::SplitMix64;

const UNIT: u64 = 1_000_000;

fn one() -> DetectorHarness<Config> {
    DetectorHarness::new(&Config::default())
}

/// Returns the probability that a heartbeat arrives later than `z` standard deviations after the
/// mean, by Simpson's rule.
fn tail(z: f64) -> f64 {
    let density = |x: f64| (-z * x - x * x / 2.0).exp();
    let (steps, width) = (40_000, 0.001);
    let sum: f64 = (0..=steps)
        .map(|step| {
            let weight = match step {
                0 => 1.0,
                last if last == steps => 1.0,
                odd if odd % 2 == 1 => 4.0,
                _ => 2.0,
            };
            weight * density(f64::from(step) * width)
        })
        .sum();
    (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt() * sum * width / 3.0
}

/// Returns φ at `z` standard deviations after the mean, as the paper defines it.
fn phi(z: f64) -> f64 {
    -tail(z).log10()
}

#[test]
fn level_approximates_phi() {
    for step in -190..=1200 {
        let z = f64::from(step) / 100.0;
        let found = level(i64::from(step) * 10) as f64 / 1000.0;
        assert!((found - phi(z)).abs() < 0.0045, "z = {z}: {found} and {}", phi(z));
    }
    assert_eq!((level(-2001), level(i64::MIN), level(i64::MAX)), (0, 0, 32_750));
    assert!((-3000..13_000).all(|z| level(z) <= level(z + 1)), "suspicion only grows");
}

/// The paper: a suspicion at φ = 1 is wrong in 10 % of cases, at 2 in 1 %, at 3 in 0.1 %.
#[test]
fn threshold_matches_tail_probability() {
    for (threshold, known) in [(1_000, 1.2816), (2_000, 2.3263), (3_000, 3.0902), (8_000, 5.6120)] {
        let found = deviations(threshold) as f64 / 1000.0;
        assert!((found - known).abs() < 0.02, "{threshold}: {found}");
    }
    for threshold in 100..32_700 {
        let back = level(deviations(threshold));
        assert!(back.abs_diff(threshold) <= 6, "{threshold}: {back}");
    }
    assert_eq!((deviations(0), deviations(9), deviations(u64::MAX)), (-2000, -2000, 12_000));
}

/// Compares mean, variance and timeout with floating-point results.
#[test]
fn timeout_is_where_phi_reaches_the_threshold() {
    for seed in 0..200 {
        let mut rng = SplitMix64(seed);
        let config = Config { window: 20, min_deviation: 0, ..Config::default() };
        let mut one = DetectorHarness::new(&config);
        one.heartbeat_from(p(2));
        let intervals: Vec<u64> =
            (0..60).map(|_| 10 * UNIT + rng.below(90_000_000) as u64).collect();
        for interval in &intervals {
            one.advance(*interval);
            one.heartbeat_from(p(2));
        }
        let last: Vec<f64> = intervals[40..].iter().map(|ticks| *ticks as f64).collect();
        let mean = last.iter().sum::<f64>() / 20.0;
        let deviation = (last.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / 20.0).sqrt();
        let timeout = one.timeout_of(p(2)).expect("it waits for P2").max;
        let reached = phi((timeout as f64 - mean) / deviation);
        assert!((reached - 8.0).abs() < 0.01, "seed {seed}: {reached}");
        let now = one.batch.environment.0 + timeout;
        assert!(one.process.level_of(p(2), now).abs_diff(8_000) <= 8, "seed {seed}");
    }
}

/// Accruement: the level of a silent peer never decreases. The table of the implementation limits
/// the level.
#[test]
fn level_of_silent_peer_grows() {
    let mut one = one();
    assert_eq!(one.process.level_of(p(2), LocalTime(u64::MAX)), 0, "no heartbeat known");
    one.heartbeat_from(p(2));
    for _ in 0..200 {
        one.advance(50 * UNIT);
        one.heartbeat_from(p(2));
    }
    let now = one.batch.environment.0;
    let levels: Vec<u64> =
        (0..400).map(|unit| one.process.level_of(p(2), now + unit * UNIT)).collect();
    assert!(levels.is_sorted());
    assert_eq!((levels[0], levels[399]), (0, 32_750));
    assert_eq!(levels[50], 301, "half of the heartbeats come later than the mean");
}

#[test]
fn regular_peer_is_suspected_sooner() {
    let timeout_after = |jitter: usize| {
        let mut one = one();
        let mut rng = SplitMix64(7);
        one.heartbeat_from(p(2));
        for _ in 0..200 {
            one.advance(50 * UNIT - (jitter as u64) / 2 + rng.below(jitter) as u64);
            one.heartbeat_from(p(2));
        }
        one.timeout_of(p(2)).expect("it waits for P2").max / UNIT
    };
    assert_eq!(timeout_after(1), 106, "50 and 5.6 times the least deviation");
    assert!(timeout_after(80_000_000) > 150);
}

#[test]
fn completeness_silent_peer_is_suspected_once() {
    one().check_completeness();
}

#[test]
fn accuracy_false_suspicion_adds_allowance() {
    let mut one = one();
    let config = Config::default();
    one.heartbeat_from(p(2));
    let first = one.timeout_of(p(2)).expect("it waits for P2").max;
    for mistakes in 1..=100 {
        one.advance(10_000 * UNIT);
        one.time_out(p(2));
        one.heartbeat_from(p(2));
        assert_eq!(one.verdicts(), [(p(2), Verdict::Trust)]);
        let timeout = (first + mistakes * config.increment).min(config.max_timeout);
        assert_eq!(one.timeout_of(p(2)), Some(Delay::ticks(timeout)));
    }
}

/// As in the paper, false suspicions do not increase the timeout.
#[test]
fn false_suspicion_changes_nothing_without_increment() {
    let mut one = DetectorHarness::new(&Config { increment: 0, ..Config::default() });
    one.heartbeat_from(p(2));
    let first = one.timeout_of(p(2));
    one.advance(10_000 * UNIT);
    one.time_out(p(2));
    one.heartbeat_from(p(2));
    assert_eq!(one.timeout_of(p(2)), first);
}

#[test]
fn paused_process_suspects_no_peer() {
    let mut one = one();
    one.heartbeat_from(p(2));
    let first = one.timeout_of(p(2));
    one.advance(10_000 * UNIT);
    one.step(Input::Timer(Timer::Beat));
    assert_eq!(one.timeout_of(p(2)), first, "the timeout is reset");
    one.heartbeat_from(p(2));
    assert_eq!(one.timeout_of(p(2)), first, "the pause is not counted as an interval");
}

#[test]
fn zero_threshold_suspects_at_once() {
    let mut one = DetectorHarness::new(&Config { threshold: 0, ..Config::default() });
    one.heartbeat_from(p(2));
    assert_eq!(one.timeout_of(p(2)), Some(Delay::ZERO));
}

#[test]
fn card_states_its_name() {
    use tenure_core::Algorithm;
    let card = PhiAccrual::card(&Config::default(), 5);
    assert_eq!((card.name.as_str(), card.messages.most), ("phi-accrual", Some(20)));
}
