//! Buffers in which an engine collects the [`Effects`] of one step, in order.

use alloc::vec::Vec;
use core::fmt;

use crate::process::ProcessId;
use crate::protocol::{Effects, Protocol};
use crate::time::{Delay, LocalTime};

/// Source of nondeterministic choices and of clock readings for the steps of processes. Each engine
/// has its own implementation.
pub trait Environment {
    /// Returns a number below `bound`. The caller passes a `bound` of at least 1.
    fn choose(&mut self, bound: u32) -> u32;

    /// Returns the time on the clock of the process that takes the step.
    fn local_clock(&mut self) -> LocalTime;
}

/// An environment without variation: every choice is 0, and the clock stays at 0.
///
/// This environment suffices for the many algorithms that neither choose nor read a clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ConstantEnvironment;

impl Environment for ConstantEnvironment {
    fn choose(&mut self, _bound: u32) -> u32 {
        0
    }

    fn local_clock(&mut self) -> LocalTime {
        LocalTime::ZERO
    }
}

/// A change to the set of armed timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TimerChange<T> {
    /// Arms the timer with this delay. Replaces an armed timer of the same name.
    Set(T, Delay),
    /// Disarms the timer.
    Cancel(T),
}

/// Effects of a step, collected in buffers that are reused for each step.
///
/// One buffer serves any number of processes, one step at a time, so a simulated process needs no
/// buffer of its own. For real I/O use [`Node`](crate::Node): it holds back the effects of a step
/// until the stable state is saved.
#[derive(Debug)]
pub struct EffectBuffer<P: Protocol, E = ConstantEnvironment> {
    /// Messages to send, in order.
    pub messages: Vec<(ProcessId, P::Message)>,
    /// Timer changes, in order.
    pub timers: Vec<TimerChange<P::Timer>>,
    /// Events to report to the local user, in order.
    pub events: Vec<P::Event>,
    /// Source of choices and clock readings.
    pub environment: E,
}

impl<P: Protocol, E> EffectBuffer<P, E> {
    /// Creates an empty buffer.
    pub const fn new(environment: E) -> Self {
        EffectBuffer { messages: Vec::new(), timers: Vec::new(), events: Vec::new(), environment }
    }

    /// Returns true if the buffer contains no effects.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty() && self.timers.is_empty() && self.events.is_empty()
    }

    /// Removes all effects. The buffers keep their memory for the next step.
    pub fn clear(&mut self) {
        self.messages.clear();
        self.timers.clear();
        self.events.clear();
    }
}

impl<P: Protocol, E: Default> Default for EffectBuffer<P, E> {
    fn default() -> Self {
        EffectBuffer::new(E::default())
    }
}

impl<P: Protocol, E: Environment> EffectBuffer<P, E> {
    /// Returns the sink that a step writes its effects to. The sink has the same type in every
    /// engine, so an algorithm is compiled only once for all engines.
    pub fn sink(&mut self) -> BufferSink<'_, P> {
        let EffectBuffer { messages, timers, events, environment } = self;
        BufferSink { messages, timers, events, environment }
    }
}

/// Sink for the effects of one step. The sink writes the effects to an [`EffectBuffer`], and takes
/// choices and clock readings from an [`Environment`].
pub struct BufferSink<'a, P: Protocol> {
    messages: &'a mut Vec<(ProcessId, P::Message)>,
    timers: &'a mut Vec<TimerChange<P::Timer>>,
    events: &'a mut Vec<P::Event>,
    environment: &'a mut dyn Environment,
}

impl<P: Protocol> fmt::Debug for BufferSink<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BufferSink").field("messages", &self.messages).finish_non_exhaustive()
    }
}

impl<P: Protocol> Effects<P> for BufferSink<'_, P> {
    #[inline]
    fn send(&mut self, to: ProcessId, message: P::Message) {
        self.messages.push((to, message));
    }

    #[inline]
    fn set_timer(&mut self, timer: P::Timer, after: Delay) {
        self.timers.push(TimerChange::Set(timer, after));
    }

    #[inline]
    fn cancel_timer(&mut self, timer: P::Timer) {
        self.timers.push(TimerChange::Cancel(timer));
    }

    #[inline]
    fn emit(&mut self, event: P::Event) {
        self.events.push(event);
    }

    #[inline]
    fn choose(&mut self, bound: u32) -> u32 {
        assert!(bound > 0, "a choice needs at least one value to choose from");
        self.environment.choose(bound)
    }

    #[inline]
    fn local_clock(&mut self) -> LocalTime {
        self.environment.local_clock()
    }
}

/// Implements [`Effects`] for the buffer itself, so that tests and examples can pass a buffer to a
/// handler of an algorithm. Engines pass the result of [`EffectBuffer::sink`] instead.
impl<P: Protocol, E: Environment> Effects<P> for EffectBuffer<P, E> {
    #[inline]
    fn send(&mut self, to: ProcessId, message: P::Message) {
        self.sink().send(to, message);
    }

    #[inline]
    fn set_timer(&mut self, timer: P::Timer, after: Delay) {
        self.sink().set_timer(timer, after);
    }

    #[inline]
    fn cancel_timer(&mut self, timer: P::Timer) {
        self.sink().cancel_timer(timer);
    }

    #[inline]
    fn emit(&mut self, event: P::Event) {
        self.sink().emit(event);
    }

    #[inline]
    fn choose(&mut self, bound: u32) -> u32 {
        self.sink().choose(bound)
    }

    #[inline]
    fn local_clock(&mut self) -> LocalTime {
        self.sink().local_clock()
    }
}
