//! An effects sink for one protocol that runs inside another.

use core::marker::PhantomData;

use alloc::vec::Vec;

use crate::process::ProcessId;
use crate::protocol::{Effects, Protocol};
use crate::time::{Delay, LocalTime};

/// The [`Effects`] of a child protocol `Q` that runs inside a parent protocol `P`. Created by
/// [`Effects::run_child`].
///
/// Messages and timers of the child are converted and passed to the effects of the parent
/// immediately, in order. Events of the child are collected for the parent to handle.
pub struct CollectingEffects<'a, F, P, Q: Protocol, M, T> {
    outer: &'a mut F,
    message: M,
    timer: T,
    events: Vec<Q::Event>,
    parent: PhantomData<fn(P)>,
}

impl<'a, F, P, Q: Protocol, M, T> CollectingEffects<'a, F, P, Q, M, T> {
    pub(crate) fn new(outer: &'a mut F, message: M, timer: T) -> Self {
        CollectingEffects { outer, message, timer, events: Vec::new(), parent: PhantomData }
    }

    pub(crate) fn into_events(self) -> Vec<Q::Event> {
        self.events
    }
}

impl<F, P, Q, M, T> Effects<Q> for CollectingEffects<'_, F, P, Q, M, T>
where
    F: Effects<P>,
    P: Protocol,
    Q: Protocol,
    M: Fn(Q::Message) -> P::Message,
    T: Fn(Q::Timer) -> P::Timer,
{
    fn send(&mut self, to: ProcessId, message: Q::Message) {
        self.outer.send(to, (self.message)(message));
    }

    fn set_timer(&mut self, timer: Q::Timer, after: Delay) {
        self.outer.set_timer((self.timer)(timer), after);
    }

    fn cancel_timer(&mut self, timer: Q::Timer) {
        self.outer.cancel_timer((self.timer)(timer));
    }

    fn emit(&mut self, event: Q::Event) {
        self.events.push(event);
    }

    fn choose(&mut self, bound: u32) -> u32 {
        self.outer.choose(bound)
    }

    fn local_clock(&mut self) -> LocalTime {
        self.outer.local_clock()
    }
}
