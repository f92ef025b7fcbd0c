//! N. Hayashibara, X. Défago, R. Yared, T. Katayama, *The φ accrual failure detector*, SRDS 2004.

use tenure_algorithms::detector::PhiAccrual;
use tenure_algorithms::detector::phi_accrual::{
    Config, Timer, phi_thousandths_for_z, z_thousandths_for_phi,
};
use tenure_core::{Delay, Input, LocalTime, PeerVerdict};

use crate::support::detector::DetectorHarness;
use crate::support::p;
use tenure_trace::SplitMix64;

const UNIT: u64 = 1_000_000;

fn one() -> DetectorHarness<Config> {
    DetectorHarness::new(&Config::default())
}

/// Returns the probability that a heartbeat arrives later than `z` standard deviations after the
/// mean. The function computes this probability by Simpson's rule.
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
        let found = phi_thousandths_for_z(i64::from(step) * 10) as f64 / 1000.0;
        assert!((found - phi(z)).abs() < 0.0045, "z = {z}: {found} and {}", phi(z));
    }
    assert_eq!(
        (
            phi_thousandths_for_z(-2001),
            phi_thousandths_for_z(i64::MIN),
            phi_thousandths_for_z(i64::MAX)
        ),
        (0, 0, 32_750)
    );
    assert!(
        (-3000..13_000).all(|z| phi_thousandths_for_z(z) <= phi_thousandths_for_z(z + 1)),
        "suspicion only grows"
    );
}

/// The paper states how often a suspicion is wrong. If the threshold for φ is 1, 10 % of the
/// suspicions are wrong. If the threshold is 2, 1 % are wrong, and if it is 3, 0.1 % are wrong.
#[test]
fn threshold_matches_tail_probability() {
    for (threshold, known) in [(1_000, 1.2816), (2_000, 2.3263), (3_000, 3.0902), (8_000, 5.6120)] {
        let found = z_thousandths_for_phi(threshold) as f64 / 1000.0;
        assert!((found - known).abs() < 0.02, "{threshold}: {found}");
    }
    for threshold in 100..32_700 {
        let back = phi_thousandths_for_z(z_thousandths_for_phi(threshold));
        assert!(back.abs_diff(threshold) <= 6, "{threshold}: {back}");
    }
    assert_eq!(
        (z_thousandths_for_phi(0), z_thousandths_for_phi(9), z_thousandths_for_phi(u64::MAX)),
        (-2000, -2000, 12_000)
    );
}

/// Lets heartbeats arrive at random intervals, and computes φ at the timeout with floating-point
/// numbers. This φ equals the threshold 8, so the integer arithmetic of the detector is exact
/// enough.
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
        assert!(one.process.phi_thousandths_of(p(2), now).abs_diff(8_000) <= 8, "seed {seed}");
    }
}

/// Accruement: the suspicion level φ of a silent peer never decreases. It stops growing at 32.75,
/// because the table from which the implementation reads the level ends there.
#[test]
fn level_of_silent_peer_grows() {
    let mut one = one();
    assert_eq!(one.process.phi_thousandths_of(p(2), LocalTime(u64::MAX)), 0, "no heartbeat known");
    one.heartbeat_from(p(2));
    for _ in 0..200 {
        one.advance(50 * UNIT);
        one.heartbeat_from(p(2));
    }
    let now = one.batch.environment.0;
    let levels: Vec<u64> =
        (0..400).map(|unit| one.process.phi_thousandths_of(p(2), now + unit * UNIT)).collect();
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
        assert_eq!(one.verdicts(), [(p(2), PeerVerdict::Trust)]);
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
    let mut one =
        DetectorHarness::new(&Config { threshold_phi_thousandths: 0, ..Config::default() });
    one.heartbeat_from(p(2));
    assert_eq!(one.timeout_of(p(2)), Some(Delay::ZERO));
}

#[test]
fn card_states_its_name() {
    use tenure_core::Algorithm;
    let card = PhiAccrual::card(&Config::default(), 5);
    assert_eq!((card.name.as_str(), card.messages.most), ("phi-accrual", Some(20)));
}
