//! An effects sink that maps each effect of a child protocol to an effect of its parent protocol.

use core::marker::PhantomData;

use crate::process::ProcessId;
use crate::protocol::{Effects, Protocol};
use crate::time::{Delay, LocalTime};

/// The [`Effects`] of a child protocol `Q` inside a parent protocol `P`. Each effect of the child
/// is immediately mapped to an effect of the parent. An event of the child may also be dropped.
///
/// Created by [`Effects::child_effects`].
pub struct MappingEffects<'a, F, P, Q, M, T, E> {
    outer: &'a mut F,
    message: M,
    timer: T,
    event: E,
    protocols: PhantomData<fn(P, Q)>,
}

impl<'a, F, P, Q, M, T, E> MappingEffects<'a, F, P, Q, M, T, E> {
    pub(crate) fn new(outer: &'a mut F, message: M, timer: T, event: E) -> Self {
        MappingEffects { outer, message, timer, event, protocols: PhantomData }
    }
}

impl<F, P, Q, M, T, E> Effects<Q> for MappingEffects<'_, F, P, Q, M, T, E>
where
    F: Effects<P>,
    P: Protocol,
    Q: Protocol,
    M: Fn(Q::Message) -> P::Message,
    T: Fn(Q::Timer) -> P::Timer,
    E: Fn(Q::Event) -> Option<P::Event>,
{
    #[inline]
    fn send(&mut self, to: ProcessId, message: Q::Message) {
        self.outer.send(to, (self.message)(message));
    }

    #[inline]
    fn set_timer(&mut self, timer: Q::Timer, after: Delay) {
        self.outer.set_timer((self.timer)(timer), after);
    }

    #[inline]
    fn cancel_timer(&mut self, timer: Q::Timer) {
        self.outer.cancel_timer((self.timer)(timer));
    }

    #[inline]
    fn emit(&mut self, event: Q::Event) {
        if let Some(event) = (self.event)(event) {
            self.outer.emit(event);
        }
    }

    #[inline]
    fn choose(&mut self, bound: u32) -> u32 {
        self.outer.choose(bound)
    }

    #[inline]
    fn local_clock(&mut self) -> LocalTime {
        self.outer.local_clock()
    }
}
