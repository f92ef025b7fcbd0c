//! N. Hayashibara, X. Défago, R. Yared, T. Katayama, *The φ accrual failure detector*, SRDS 2004.

use tenure_algorithms::detector::PhiAccrual;
use tenure_algorithms::detector::phi_accrual::{Config, Timer, deviations, level};
use tenure_core::{Delay, Input, LocalTime, Verdict};

use crate::support::detector::One;
use crate::support::p;
use tenure_trace::Dice;

const UNIT: u64 = 1_000_000;

fn one() -> One<Config> {
    One::new(&Config::default())
}

/// P(later than z deviations after the mean), by Simpson's rule.
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

/// φ as the paper has it.
fn phi(z: f64) -> f64 {
    -tail(z).log10()
}

#[test]
fn the_level_is_the_negative_logarithm_of_the_normal_tail_within_four_thousandths() {
    for step in -190..=1200 {
        let z = f64::from(step) / 100.0;
        let found = level(i64::from(step) * 10) as f64 / 1000.0;
        assert!((found - phi(z)).abs() < 0.0045, "z = {z}: {found} and {}", phi(z));
    }
    assert_eq!((level(-2001), level(i64::MIN), level(i64::MAX)), (0, 0, 32_750));
    assert!((-3000..13_000).all(|z| level(z) <= level(z + 1)), "suspicion only grows");
}

/// The paper: φ = 1 is a mistake of 10 %, 2 of 1 %, 3 of 0.1 %.
#[test]
fn a_threshold_is_so_many_deviations_that_the_tail_is_a_tenth_to_that_power() {
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

/// Every mean, variance and timeout beside the same in floating point.
#[test]
fn the_timeout_is_where_phi_of_the_last_intervals_reaches_the_threshold() {
    for seed in 0..200 {
        let mut dice = Dice(seed);
        let config = Config { window: 20, deviation_min: 0, ..Config::default() };
        let mut one = One::new(&config);
        one.hears(p(2));
        let intervals: Vec<u64> =
            (0..60).map(|_| 10 * UNIT + dice.below(90_000_000) as u64).collect();
        for interval in &intervals {
            one.waits(*interval);
            one.hears(p(2));
        }
        let last: Vec<f64> = intervals[40..].iter().map(|ticks| *ticks as f64).collect();
        let mean = last.iter().sum::<f64>() / 20.0;
        let deviation = (last.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / 20.0).sqrt();
        let timeout = one.patience(p(2)).expect("it waits for P2").max;
        let reached = phi((timeout as f64 - mean) / deviation);
        assert!((reached - 8.0).abs() < 0.01, "seed {seed}: {reached}");
        let now = one.batch.environment.0 + timeout;
        assert!(one.process.level_of(p(2), now).abs_diff(8_000) <= 8, "seed {seed}");
    }
}

/// Accruement: the level of a silent peer only grows, and without bound but that of the table.
#[test]
fn suspicion_of_the_silent_accrues() {
    let mut one = one();
    assert_eq!(one.process.level_of(p(2), LocalTime(u64::MAX)), 0, "never heard of");
    one.hears(p(2));
    for _ in 0..200 {
        one.waits(50 * UNIT);
        one.hears(p(2));
    }
    let now = one.batch.environment.0;
    let levels: Vec<u64> =
        (0..400).map(|unit| one.process.level_of(p(2), now + unit * UNIT)).collect();
    assert!(levels.is_sorted());
    assert_eq!((levels[0], levels[399]), (0, 32_750));
    assert_eq!(levels[50], 301, "half of the heartbeats come later than the mean");
}

#[test]
fn whoever_is_regular_is_missed_sooner_than_whoever_is_not() {
    let patience = |jitter: usize| {
        let mut one = one();
        let mut dice = Dice(7);
        one.hears(p(2));
        for _ in 0..200 {
            one.waits(50 * UNIT - (jitter as u64) / 2 + dice.below(jitter) as u64);
            one.hears(p(2));
        }
        one.patience(p(2)).expect("it waits for P2").max / UNIT
    };
    assert_eq!(patience(1), 106, "50 and 5.6 times the least deviation");
    assert!(patience(80_000_000) > 150);
}

#[test]
fn completeness_whoever_falls_silent_is_suspected_once_and_for_ever() {
    one().suspects_whoever_falls_silent_once_and_for_ever();
}

#[test]
fn accuracy_every_mistake_is_forgiven_and_is_no_interval() {
    let mut one = one();
    let config = Config::default();
    one.hears(p(2));
    let first = one.patience(p(2)).expect("it waits for P2").max;
    for mistakes in 1..=100 {
        one.waits(10_000 * UNIT);
        one.misses(p(2));
        one.hears(p(2));
        assert_eq!(one.says(), [(p(2), Verdict::Trust)]);
        let patience = (first + mistakes * config.increment).min(config.longest);
        assert_eq!(one.patience(p(2)), Some(Delay::ticks(patience)));
    }
}

/// The paper's own: nothing is learnt from mistakes.
#[test]
fn without_an_increment_a_mistake_changes_nothing() {
    let mut one = One::new(&Config { increment: 0, ..Config::default() });
    one.hears(p(2));
    let first = one.patience(p(2));
    one.waits(10_000 * UNIT);
    one.misses(p(2));
    one.hears(p(2));
    assert_eq!(one.patience(p(2)), first);
}

#[test]
fn a_process_that_was_stopped_itself_accuses_nobody_and_learns_nothing() {
    let mut one = one();
    one.hears(p(2));
    let first = one.patience(p(2));
    one.waits(10_000 * UNIT);
    one.step(Input::Timer(Timer::Beat));
    assert_eq!(one.patience(p(2)), first, "a fresh timeout");
    one.hears(p(2));
    assert_eq!(one.patience(p(2)), first, "its own absence was no interval of P2");
}

#[test]
fn a_threshold_of_zero_suspects_at_once() {
    let mut one = One::new(&Config { threshold: 0, ..Config::default() });
    one.hears(p(2));
    assert_eq!(one.patience(p(2)), Some(Delay::NONE));
}

#[test]
fn its_card_says_its_name() {
    use tenure_core::Algorithm;
    let card = PhiAccrual::card(&Config::default(), 5);
    assert_eq!((card.name.as_str(), card.messages.most), ("phi-accrual", Some(20)));
}
