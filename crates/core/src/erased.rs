//! A sink whose type is forgotten.

use crate::process::ProcessId;
use crate::process_set::ProcessSet;
use crate::protocol::{Effects, Protocol};
use crate::time::{Delay, LocalTime};

/// The [`Effects`] of `P`, whatever type they are of.
///
/// A handler is compiled anew for each type of effects that it is given. Where many protocols
/// are handled in many surroundings, as in the sums of a catalogue, they are given this one, and
/// each of them is compiled once. An effect costs a call through a pointer more.
pub struct Erased<'a, P: Protocol> {
    inner: &'a mut dyn Effects<P>,
}

impl<'a, P: Protocol> Erased<'a, P> {
    /// Forgets the type of these.
    pub fn new(inner: &'a mut impl Effects<P>) -> Self {
        Erased { inner }
    }
}

impl<P: Protocol> Effects<P> for Erased<'_, P> {
    fn send(&mut self, to: ProcessId, message: P::Message) {
        self.inner.send(to, message);
    }

    fn set_timer(&mut self, timer: P::Timer, after: Delay) {
        self.inner.set_timer(timer, after);
    }

    fn cancel_timer(&mut self, timer: P::Timer) {
        self.inner.cancel_timer(timer);
    }

    fn emit(&mut self, event: P::Event) {
        self.inner.emit(event);
    }

    fn choose(&mut self, bound: u32) -> u32 {
        self.inner.choose(bound)
    }

    fn local_clock(&mut self) -> LocalTime {
        self.inner.local_clock()
    }

    fn broadcast(&mut self, to: &ProcessSet, message: P::Message) {
        self.inner.broadcast(to, message);
    }
}
