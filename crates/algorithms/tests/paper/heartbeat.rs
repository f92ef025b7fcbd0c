//! T. D. Chandra, S. Toueg, *Unreliable failure detectors for reliable distributed systems*, JACM
//! 43(2), 1996.

use tenure_algorithms::detector::heartbeat::{Config, Timer};
use tenure_core::{Delay, Input, LocalTime, TimerChange, Verdict};

use crate::support::detector::One;
use crate::support::p;

fn one() -> One<Config> {
    One::new(&Config::default())
}

#[test]
fn everybody_says_regularly_that_it_is_alive() {
    let mut one = one();
    for _ in 0..3 {
        let to: Vec<_> = one.batch.messages.iter().map(|(to, _)| *to).collect();
        assert_eq!(to, [p(2), p(3)]);
        let period = Config::default().period;
        assert!(one.batch.timers.contains(&TimerChange::Set(Timer::Beat, period)));
        one.step(Input::Timer(Timer::Beat));
    }
}

#[test]
fn completeness_whoever_falls_silent_is_suspected_once_and_for_ever() {
    one().suspects_whoever_falls_silent_once_and_for_ever();
}

/// A new session of a peer says that it is alive, and the peer may be dead again by then.
#[test]
fn completeness_whoever_is_said_to_be_back_and_is_silent_is_suspected_again() {
    let mut one = one();
    one.misses(p(2));
    one.step(Input::Suspicion { peer: p(2), verdict: Verdict::Suspect });
    one.step(Input::Suspicion { peer: p(2), verdict: Verdict::Trust });
    assert_eq!(one.says(), [], "nobody has to be told what they say themselves");
    assert_eq!(one.patience(p(2)), Some(Delay::ticks(Config::default().timeout)));
    one.misses(p(2));
    assert_eq!(one.says(), [(p(2), Verdict::Suspect)]);
}

#[test]
fn accuracy_every_mistake_makes_it_more_patient_with_that_peer() {
    let mut one = one();
    let config = Config::default();
    for mistakes in 1..=100 {
        one.misses(p(2));
        one.hears(p(2));
        assert_eq!(one.says(), [(p(2), Verdict::Trust)]);
        let patience = (config.timeout + mistakes * config.increment).min(config.longest);
        assert_eq!(one.patience(p(2)), Some(Delay::ticks(patience)));
    }
    one.hears(p(3));
    assert_eq!(one.patience(p(3)), Some(Delay::ticks(config.timeout)), "P3 has been punctual");
}

#[test]
fn a_process_that_was_stopped_itself_accuses_nobody() {
    let mut one = one();
    one.batch.environment.0 = LocalTime::ZERO + Delay::units(10_000).max;
    one.step(Input::Timer(Timer::Beat));
    assert!(one.patience(p(2)).is_some() && one.patience(p(3)).is_some());
    one.batch.environment.0 = one.batch.environment.0 + Config::default().period.max;
    one.step(Input::Timer(Timer::Beat));
    assert_eq!(one.patience(p(2)), None, "it was punctual this time");
}

#[test]
#[should_panic(expected = "accuses everybody")]
fn a_timeout_below_the_period_is_refused() {
    let config = Config { timeout: Delay::units(1).max, ..Config::default() };
    One::new(&config);
}
