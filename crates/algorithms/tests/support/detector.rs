//! One process of a detector, moved by hand.

use tenure_algorithms::detector::Beating;
use tenure_algorithms::detector::beating::{Message, Patience, Timer};
use tenure_core::service::detector::Event;
use tenure_core::{
    Batch, Delay, Environment, Group, Input, LocalTime, ProcessId, Protocol, TimerChange, Verdict,
};

use super::p;

/// A clock that is set by hand.
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

/// P1 of three, and what it asked for last.
pub(crate) struct One<C: Patience> {
    pub(crate) process: Beating<C>,
    pub(crate) batch: Batch<Beating<C>, Clock>,
}

impl<C: Patience> One<C> {
    pub(crate) fn new(config: &C) -> Self {
        let mut batch = Batch::new(Clock::default());
        let process = Beating::boot(Group::new(p(1), 3), config, None, &mut batch);
        One { process, batch }
    }

    pub(crate) fn step(&mut self, input: Input<Beating<C>>) {
        self.batch.clear();
        self.process.step(input, &mut self.batch);
    }

    /// The clock goes on by so many ticks.
    pub(crate) fn waits(&mut self, ticks: u64) {
        self.batch.environment.0 = self.batch.environment.0 + ticks;
    }

    pub(crate) fn hears(&mut self, from: ProcessId) {
        self.step(Input::Message { from, message: Message::Heartbeat });
    }

    pub(crate) fn misses(&mut self, peer: ProcessId) {
        self.step(Input::Timer(Timer::Silence(peer)));
    }

    pub(crate) fn says(&self) -> Vec<(ProcessId, Verdict)> {
        self.batch.events.iter().map(|Event { peer, verdict }| (*peer, *verdict)).collect()
    }

    /// Completeness, whatever its patience.
    #[track_caller]
    pub(crate) fn suspects_whoever_falls_silent_once_and_for_ever(&mut self) {
        self.misses(p(2));
        assert_eq!(self.says(), [(p(2), Verdict::Suspect)]);
        self.misses(p(2));
        assert_eq!(self.says(), []);
        self.step(Input::Timer(Timer::Beat));
        assert_eq!(self.patience(p(2)), None, "nothing more is expected of P2");
    }

    /// For how long it now waits for a sign of life of a peer.
    pub(crate) fn patience(&self, of: ProcessId) -> Option<Delay> {
        self.batch.timers.iter().find_map(|change| match change {
            TimerChange::Set(Timer::Silence(peer), after) if *peer == of => Some(*after),
            _ => None,
        })
    }
}
