//! The runner's side of [`Effects`]: what one step asked for, in order.

use alloc::vec::Vec;
use core::fmt;

use crate::process::ProcessId;
use crate::protocol::{Effects, Protocol};
use crate::time::{Delay, LocalTime};

/// Where choices and clocks come from. Each engine has its own.
pub trait Environment {
    /// Some number below `bound`, which is at least 1.
    fn choose(&mut self, bound: u32) -> u32;

    /// The clock of the process that is being stepped.
    fn local_clock(&mut self) -> LocalTime;
}

/// An environment in which nothing varies: every choice is 0, the clock stands at 0.
///
/// Enough for the many algorithms that neither choose nor read a clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Still;

impl Environment for Still {
    fn choose(&mut self, _bound: u32) -> u32 {
        0
    }

    fn local_clock(&mut self) -> LocalTime {
        LocalTime::ZERO
    }
}

/// One change to the set of armed timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TimerChange<T> {
    /// Arm it, replacing an armed one of the same name.
    Set(T, Delay),
    /// Disarm it.
    Cancel(T),
}

/// What a step asked for, collected in buffers that are reused from step to step.
///
/// One batch serves any number of processes, one step at a time: this is how the simulator
/// keeps a million of them. Whoever does real I/O uses [`Node`](crate::Node) instead, which
/// does not let effects out before the stable state is saved.
#[derive(Debug)]
pub struct Batch<P: Protocol, E = Still> {
    /// Messages to send, in order.
    pub messages: Vec<(ProcessId, P::Message)>,
    /// Changes to timers, in order.
    pub timers: Vec<TimerChange<P::Timer>>,
    /// What to tell the local user, in order.
    pub events: Vec<P::Event>,
    /// Where choices and clocks come from.
    pub environment: E,
}

impl<P: Protocol, E> Batch<P, E> {
    /// An empty batch.
    pub const fn new(environment: E) -> Self {
        Batch { messages: Vec::new(), timers: Vec::new(), events: Vec::new(), environment }
    }

    /// Whether nothing was asked for since the batch was last cleared or drained.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty() && self.timers.is_empty() && self.events.is_empty()
    }

    /// Forgets what was asked for; keeps the memory.
    pub fn clear(&mut self) {
        self.messages.clear();
        self.timers.clear();
        self.events.clear();
    }
}

impl<P: Protocol, E: Default> Default for Batch<P, E> {
    fn default() -> Self {
        Batch::new(E::default())
    }
}

impl<P: Protocol, E: Environment> Batch<P, E> {
    /// What a step is given to write to. It is the same type in every engine, so that an algorithm
    /// is compiled once however many of them step it.
    pub fn effects(&mut self) -> Stepping<'_, P> {
        let Batch { messages, timers, events, environment } = self;
        Stepping { messages, timers, events, environment }
    }
}

/// One step that is being taken: it writes to a [`Batch`] and asks an [`Environment`].
pub struct Stepping<'a, P: Protocol> {
    messages: &'a mut Vec<(ProcessId, P::Message)>,
    timers: &'a mut Vec<TimerChange<P::Timer>>,
    events: &'a mut Vec<P::Event>,
    environment: &'a mut dyn Environment,
}

impl<P: Protocol> fmt::Debug for Stepping<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stepping").field("messages", &self.messages).finish_non_exhaustive()
    }
}

impl<P: Protocol> Effects<P> for Stepping<'_, P> {
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

/// For a test or an example that steps one algorithm by hand. An engine steps [`Batch::effects`].
impl<P: Protocol, E: Environment> Effects<P> for Batch<P, E> {
    #[inline]
    fn send(&mut self, to: ProcessId, message: P::Message) {
        self.effects().send(to, message);
    }

    #[inline]
    fn set_timer(&mut self, timer: P::Timer, after: Delay) {
        self.effects().set_timer(timer, after);
    }

    #[inline]
    fn cancel_timer(&mut self, timer: P::Timer) {
        self.effects().cancel_timer(timer);
    }

    #[inline]
    fn emit(&mut self, event: P::Event) {
        self.effects().emit(event);
    }

    #[inline]
    fn choose(&mut self, bound: u32) -> u32 {
        self.effects().choose(bound)
    }

    #[inline]
    fn local_clock(&mut self) -> LocalTime {
        self.effects().local_clock()
    }
}
