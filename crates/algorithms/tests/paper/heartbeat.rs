//! T. D. Chandra, S. Toueg, *Unreliable failure detectors for reliable distributed systems*, JACM
//! 43(2), 1996.

use tenure_algorithms::detector::Heartbeat;
use tenure_algorithms::detector::heartbeat::{Config, Message, Timer};
use tenure_core::service::detector::Event;
use tenure_core::{
    Batch, Delay, Environment, Group, Input, LocalTime, ProcessId, Protocol, TimerChange, Verdict,
};

use crate::support::p;

/// A clock that is set by hand.
#[derive(Debug, Default)]
struct Clock(LocalTime);

impl Environment for Clock {
    fn choose(&mut self, _: u32) -> u32 {
        0
    }

    fn local_clock(&mut self) -> LocalTime {
        self.0
    }
}

/// P1 of three, and what it asked for last.
struct One {
    process: Heartbeat,
    batch: Batch<Heartbeat, Clock>,
}

impl One {
    fn new() -> Self {
        let mut batch = Batch::new(Clock::default());
        let process = Heartbeat::boot(Group::new(p(1), 3), &Config::default(), None, &mut batch);
        One { process, batch }
    }

    fn step(&mut self, input: Input<Heartbeat>) {
        self.batch.clear();
        self.process.step(input, &mut self.batch);
    }

    fn hears(&mut self, from: ProcessId) {
        self.step(Input::Message { from, message: Message::Heartbeat });
    }

    fn misses(&mut self, peer: ProcessId) {
        self.step(Input::Timer(Timer::Silence(peer)));
    }

    fn says(&self) -> Vec<(ProcessId, Verdict)> {
        self.batch.events.iter().map(|Event { peer, verdict }| (*peer, *verdict)).collect()
    }

    /// For how long it now waits for a sign of life of a peer.
    fn patience(&self, of: ProcessId) -> Option<Delay> {
        self.batch.timers.iter().find_map(|change| match change {
            TimerChange::Set(Timer::Silence(peer), after) if *peer == of => Some(*after),
            _ => None,
        })
    }
}

#[test]
fn everybody_says_regularly_that_it_is_alive() {
    let mut one = One::new();
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
    let mut one = One::new();
    one.misses(p(2));
    assert_eq!(one.says(), [(p(2), Verdict::Suspect)]);
    one.misses(p(2));
    assert_eq!(one.says(), []);
    one.step(Input::Timer(Timer::Beat));
    assert_eq!(one.patience(p(2)), None, "nothing more is expected of P2");
}

#[test]
fn accuracy_every_mistake_makes_it_more_patient_with_that_peer() {
    let mut one = One::new();
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
    let mut one = One::new();
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
    let mut batch: Batch<Heartbeat, Clock> = Batch::default();
    Heartbeat::boot(Group::new(p(1), 3), &config, None, &mut batch);
}
