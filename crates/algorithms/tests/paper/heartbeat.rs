//! T. D. Chandra, S. Toueg, *Unreliable failure detectors for reliable distributed systems*, JACM
//! 43(2), 1996.

use tenure_algorithms::detector::heartbeat::{Config, Timer};
use tenure_core::{Delay, Input, LocalTime, PeerVerdict, TimerChange};

use crate::support::detector::DetectorHarness;
use crate::support::p;

fn one() -> DetectorHarness<Config> {
    DetectorHarness::new(&Config::default())
}

#[test]
fn sends_heartbeats_periodically() {
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
fn completeness_silent_peer_is_suspected_once() {
    one().check_completeness();
}

/// The runtime reports that a suspected peer is alive in a new session. If the peer then sends no
/// heartbeat, it is suspected again.
#[test]
fn completeness_silent_peer_is_suspected_after_restart() {
    let mut one = one();
    one.time_out(p(2));
    one.step(Input::Suspicion { peer: p(2), verdict: PeerVerdict::Suspect });
    one.step(Input::Suspicion { peer: p(2), verdict: PeerVerdict::Trust });
    assert_eq!(one.verdicts(), [], "external verdicts are not reported back");
    assert_eq!(one.timeout_of(p(2)), Some(Delay::ticks(Config::default().initial_timeout)));
    one.time_out(p(2));
    assert_eq!(one.verdicts(), [(p(2), PeerVerdict::Suspect)]);
}

#[test]
fn accuracy_false_suspicion_lengthens_timeout() {
    let mut one = one();
    let config = Config::default();
    for mistakes in 1..=100 {
        one.time_out(p(2));
        one.heartbeat_from(p(2));
        assert_eq!(one.verdicts(), [(p(2), PeerVerdict::Trust)]);
        let timeout =
            (config.initial_timeout + mistakes * config.increment).min(config.max_timeout);
        assert_eq!(one.timeout_of(p(2)), Some(Delay::ticks(timeout)));
    }
    one.heartbeat_from(p(3));
    assert_eq!(
        one.timeout_of(p(3)),
        Some(Delay::ticks(config.initial_timeout)),
        "P3 was never suspected"
    );
}

#[test]
fn paused_process_suspects_no_peer() {
    let mut one = one();
    one.batch.environment.0 = LocalTime::ZERO + Delay::time_units(10_000).max;
    one.step(Input::Timer(Timer::Beat));
    assert!(one.timeout_of(p(2)).is_some() && one.timeout_of(p(3)).is_some());
    one.batch.environment.0 = one.batch.environment.0 + Config::default().period.max;
    one.step(Input::Timer(Timer::Beat));
    assert_eq!(one.timeout_of(p(2)), None, "the process was not paused this time");
}

#[test]
#[should_panic(expected = "longer than the period")]
fn rejects_timeout_below_period() {
    let config = Config { initial_timeout: Delay::time_units(1).max, ..Config::default() };
    DetectorHarness::new(&config);
}
