//! A single process with a failure detector, whose clock and timers the test controls.

use tenure_algorithms::detector::HeartbeatDetector;
use tenure_algorithms::detector::heartbeat_detector::{Message, TimeoutPolicy, Timer};
use tenure_core::service::detector::Event;
use tenure_core::{
    Delay, EffectBuffer, Environment, Group, Input, LocalTime, PeerVerdict, ProcessId, Protocol,
    TimerChange,
};

use super::p;

/// A clock that the test sets.
#[derive(Debug, Default)]
pub(crate) struct Clock(pub(crate) LocalTime);

impl Environment for Clock {
    fn choose(&mut self, _: u32) -> u32 {
        0
    }

    fn local_clock(&mut self) -> LocalTime {
        self.0
    }
}

/// P1 of three processes, with its failure detector and the effects of its last step.
pub(crate) struct DetectorHarness<C: TimeoutPolicy> {
    pub(crate) process: HeartbeatDetector<C>,
    pub(crate) batch: EffectBuffer<HeartbeatDetector<C>, Clock>,
}

impl<C: TimeoutPolicy> DetectorHarness<C> {
    pub(crate) fn new(config: &C) -> Self {
        let mut batch = EffectBuffer::new(Clock::default());
        let process = HeartbeatDetector::boot(Group::new(p(1), 3), config, None, &mut batch);
        DetectorHarness { process, batch }
    }

    pub(crate) fn step(&mut self, input: Input<HeartbeatDetector<C>>) {
        self.batch.clear();
        self.process.step(input, &mut self.batch);
    }

    pub(crate) fn advance(&mut self, ticks: u64) {
        self.batch.environment.0 = self.batch.environment.0 + ticks;
    }

    pub(crate) fn heartbeat_from(&mut self, from: ProcessId) {
        self.step(Input::Message { from, message: Message::Heartbeat });
    }

    pub(crate) fn time_out(&mut self, peer: ProcessId) {
        self.step(Input::Timer(Timer::Silence(peer)));
    }

    pub(crate) fn verdicts(&self) -> Vec<(ProcessId, PeerVerdict)> {
        self.batch.events.iter().map(|Event { peer, verdict }| (*peer, *verdict)).collect()
    }

    /// Checks completeness: a crashed peer is suspected, whatever the timeout policy.
    #[track_caller]
    pub(crate) fn check_completeness(&mut self) {
        self.time_out(p(2));
        assert_eq!(self.verdicts(), [(p(2), PeerVerdict::Suspect)]);
        self.time_out(p(2));
        assert_eq!(self.verdicts(), []);
        self.step(Input::Timer(Timer::Beat));
        assert_eq!(self.timeout_of(p(2)), None, "the timer of P2 is not set again");
    }

    /// Returns the timeout for the next heartbeat of a peer. `None` if no timer is set.
    pub(crate) fn timeout_of(&self, of: ProcessId) -> Option<Delay> {
        self.batch.timers.iter().find_map(|change| match change {
            TimerChange::Set(Timer::Silence(peer), after) if *peer == of => Some(*after),
            _ => None,
        })
    }
}
