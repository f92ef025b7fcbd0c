//! An effects sink behind dynamic dispatch.

use crate::process::ProcessId;
use crate::process_set::ProcessSet;
use crate::protocol::{Effects, Protocol};
use crate::time::{Delay, LocalTime};

/// The [`Effects`] of `P`, behind dynamic dispatch.
///
/// The handlers of `P` are generic over the effects sink, so the compiler generates a copy of each
/// handler for each sink type. A handler that takes this type is compiled only once for all sinks.
/// In return, each effect costs one indirect call.
pub struct DynEffects<'a, P: Protocol> {
    inner: &'a mut dyn Effects<P>,
}

impl<'a, P: Protocol> DynEffects<'a, P> {
    /// Wraps an effects sink of any type.
    pub fn new(inner: &'a mut impl Effects<P>) -> Self {
        DynEffects { inner }
    }
}

impl<P: Protocol> Effects<P> for DynEffects<'_, P> {
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
