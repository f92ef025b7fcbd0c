//! The contract of an algorithm. Read this file first.

use core::fmt::Debug;
use core::hash::Hash;

use alloc::vec::Vec;

use crate::label::Labelled;
use crate::lift::CollectingEffects;
use crate::process::{Group, ProcessId};
use crate::process_set::ProcessSet;
use crate::time::{Delay, LocalTime};
use crate::wrap::MappingEffects;

/// Types that can be sent in a frame or written to disk.
///
/// With the feature `serde`, every type that can be serialized and deserialized implements this
/// trait. Without this feature, every type implements it.
#[cfg(feature = "serde")]
pub trait Wire: serde::Serialize + serde::de::DeserializeOwned {}
#[cfg(feature = "serde")]
impl<T: serde::Serialize + serde::de::DeserializeOwned> Wire for T {}

/// Types that can be sent in a frame or written to disk.
///
/// With the feature `serde`, every type that can be serialized and deserialized implements this
/// trait. Without this feature, every type implements it.
#[cfg(not(feature = "serde"))]
pub trait Wire {}
#[cfg(not(feature = "serde"))]
impl<T> Wire for T {}

/// A distributed algorithm, written from the point of view of one process.
///
/// The value *is* the local state of the process, and the handlers are the textbook's *upon … do*.
/// A handler changes the state and requests everything else through [`Effects`]. If equal states
/// receive equal inputs and equal choices, they change in the same way and have equal effects.
/// Therefore a simulator can replay a run, and a checker can recognise a state that it has seen.
///
/// # Contract
///
/// - Handlers terminate and do no I/O.
/// - Callers must not pass a command that is not allowed in this state, such as a second `Enter`
///   while waiting. An algorithm may panic with a message on such a command.
/// - A message comes from an authenticated member of the group, which may have crashed since. The
///   runner has checked the types of all fields in the message, and the constraints that the module
///   `mark` defines. An algorithm ignores an unexpected message, and never panics because of a
///   message.
/// - At most one timer of each name is armed. Setting an armed timer replaces it, and a cancelled
///   timer never fires.
pub trait Protocol: Clone + Debug + Eq + Hash + Sized + Send + Sync + 'static {
    /// Immutable configuration: timeouts, quorums, topology, ranks.
    type Config: Clone + Debug + Send + Sync + 'static;
    /// Commands of the local user.
    type Command: Clone + Debug + Eq + Hash + Send + Sync + 'static;
    /// Events reported to the local user.
    type Event: Clone + Debug + Eq + Hash + Send + Sync + 'static;
    /// Messages between processes.
    type Message: Clone + Debug + Eq + Hash + Labelled + Wire + Send + Sync + 'static;
    /// Names of the timers.
    type Timer: Clone + Debug + Eq + Hash + Ord + Send + Sync + 'static;
    /// State that survives a crash; `()` if there is none.
    type Stable: Clone + Debug + Eq + Hash + Wire + Send + Sync + 'static;

    /// Boots a process. `stable` is the state that the process saved before a crash: the last
    /// result of [`Protocol::stable`] that a runner made durable. It is `None` on the first boot,
    /// or if the process has lost its saved state.
    fn boot(
        group: Group,
        config: &Self::Config,
        stable: Option<Self::Stable>,
        fx: &mut impl Effects<Self>,
    ) -> Self;

    /// Returns the part of the state that must survive a crash.
    ///
    /// Runners save this part after every change, *before* they release the effects of the step.
    /// Therefore an algorithm cannot forget to save. A runner may take more steps before it saves,
    /// and release the effects of all these steps, in order, after one save.
    fn stable(&self) -> Self::Stable;

    /// Returns the change of the stable state since `saved`, or `None` if there is none. If
    /// [`Protocol::apply_change`] applies this change to `saved`, the result is
    /// [`Protocol::stable`].
    ///
    /// A change has the same type as the stable state, and a complete stable state is a valid
    /// change. An algorithm with a large state, such as a log, returns only the new part. The
    /// runner then writes only this part. The default implementation returns the complete state.
    fn unsaved_change(&self, saved: &Self::Stable) -> Option<Self::Stable> {
        let stable = self.stable();
        (stable != *saved).then_some(stable)
    }

    /// Returns the part of [`Protocol::unsaved_change`] that must be durable before the effects of
    /// a step leave, or `None` if nothing is urgent. This part is itself a valid change. The
    /// default is the complete change.
    ///
    /// A runner saves the rest of the change later, in the background. For example, a log replaces
    /// saved entries by a snapshot. The effects need not wait until the snapshot is durable,
    /// because after a crash the saved entries yield the same state. Later changes must be
    /// applicable to the saved state with and without the rest of the change. A runner calls this
    /// method only if the algorithm [defers saves](Protocol::DEFERS_SAVES).
    fn urgent_change(&self, saved: &Self::Stable) -> Option<Self::Stable> {
        self.unsaved_change(saved)
    }

    /// True if [`Protocol::unsaved_change`] and [`Protocol::urgent_change`] can return different
    /// changes. If false, a runner skips the extra comparison with the saved state.
    const DEFERS_SAVES: bool = false;

    /// Applies a change to the saved state.
    ///
    /// Runners also call this method at boot, with the changes read from disk. An implementation
    /// accepts every change and never panics.
    fn apply_change(saved: &mut Self::Stable, change: Self::Stable) {
        *saved = change;
    }

    /// Handles a command of the local user.
    fn on_command(&mut self, command: Self::Command, fx: &mut impl Effects<Self>);

    /// Handles a message from a peer.
    fn on_message(&mut self, from: ProcessId, message: Self::Message, fx: &mut impl Effects<Self>);

    /// Handles a timer that was armed and has fired. The timer is no longer armed.
    fn on_timer(&mut self, timer: Self::Timer, fx: &mut impl Effects<Self>) {
        let _ = (timer, fx);
    }

    /// Returns the purpose of a timer. The purpose decides how a real-time runner treats a timer
    /// that is overdue or is set during a save. The default is [`TimerRole::Plain`].
    fn timer_role(timer: &Self::Timer) -> TimerRole {
        let _ = timer;
        TimerRole::Plain
    }

    /// Returns true, the default, if a message must wait until the state is saved. This is
    /// necessary in two cases: the message must not overtake earlier messages, or the message can
    /// become false when a crash destroys unsaved state. A question need not wait.
    fn must_wait_for_save(message: &Self::Message) -> bool {
        let _ = message;
        true
    }

    /// Handles a changed opinion of the failure detector about a peer. The detector may be wrong.
    fn on_suspicion(&mut self, peer: ProcessId, verdict: PeerVerdict, fx: &mut impl Effects<Self>) {
        let _ = (peer, verdict, fx);
    }

    /// Dispatches one input to its handler. Engines call this method. Algorithms do not override
    /// it.
    fn step(&mut self, input: Input<Self>, fx: &mut impl Effects<Self>) {
        match input {
            Input::Command(command) => self.on_command(command, fx),
            Input::Message { from, message } => self.on_message(from, message, fx),
            Input::Timer(timer) => self.on_timer(timer, fx),
            Input::Suspicion { peer, verdict } => self.on_suspicion(peer, verdict, fx),
        }
    }
}

/// Purpose of a timer, for runners in real time.
///
/// A checker ignores the purpose: in a search, a timer may fire before or after any message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TimerRole {
    /// Once the timer is due, the runner first delivers the messages that have arrived, and then
    /// fires the timer.
    #[default]
    Plain,
    /// The timer ends a claim of this process, such as a lease. Once the timer is due, the runner
    /// fires it before it delivers any message or command, because these may have arrived after the
    /// claim ended. The runner arms the timer at the end of the step, so that the claim also ends
    /// while other effects of this step wait for the disk. If the clock of the runner stops while
    /// the machine is suspended, the timer fires too late.
    EndsClaim,
    /// The timer fires if no message of a peer arrives in time. Once the timer is due, the runner
    /// delays it, so that messages that have arrived can be delivered first. If the timer is
    /// overdue because the process was not scheduled, the runner delays it by at least the same
    /// time. All delays of a timer together are at most half of the timer's length.
    MeasuresSilence,
    /// The timer paces messages that tell peers that this process is alive. The runner arms the
    /// timer at the end of the step, although other effects of this step may still wait for the
    /// disk. Once the timer is due, the runner fires it before it delivers any message or command.
    PacesHeartbeats,
}

impl TimerRole {
    /// Returns true if a runner in real time fires the timer, once it is due, before every message
    /// and every command.
    pub fn precedes_messages(self) -> bool {
        matches!(self, TimerRole::EndsClaim | TimerRole::PacesHeartbeats)
    }
}

/// One input of a process. A process handles each input in one atomic step.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Input<P: Protocol> {
    /// A command of the local user.
    Command(P::Command),
    /// A message arrives.
    Message {
        /// Sender of the message.
        from: ProcessId,
        /// Content of the message.
        message: P::Message,
    },
    /// An armed timer fires.
    Timer(P::Timer),
    /// The failure detector reports an opinion about a peer.
    Suspicion {
        /// Peer that the failure detector suspects or trusts.
        peer: ProcessId,
        /// Latest verdict of the failure detector about the peer.
        verdict: PeerVerdict,
    },
}

/// Verdict of a failure detector about a peer. The detector may change its verdict at any time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum PeerVerdict {
    /// The peer seems to have crashed.
    Suspect,
    /// The peer seems to be alive.
    Trust,
}

/// Sink for the effects of a handler: the only output of an algorithm.
pub trait Effects<P: Protocol> {
    /// Sends `message` to `to`. The channel decides whether the message arrives, and in which order
    /// messages arrive.
    fn send(&mut self, to: ProcessId, message: P::Message);

    /// Arms `timer` to fire once, after a delay in the range `after`. If the timer is already
    /// armed, the new delay, which begins now, replaces the old one.
    fn set_timer(&mut self, timer: P::Timer, after: Delay);

    /// Disarms `timer`, so that it does not fire. Has no effect if the timer is not armed.
    fn cancel_timer(&mut self, timer: P::Timer);

    /// Reports an event to the local user.
    fn emit(&mut self, event: P::Event);

    /// Returns a number below `bound`. The caller passes a `bound` of at least 1. The simulator
    /// draws the number from the seed, the checker tries every number, and the runtime asks the
    /// operating system.
    fn choose(&mut self, bound: u32) -> u32;

    /// Returns the time on the clock of this process, which may drift. Among the protocols, only
    /// failure detectors and applications may read this clock.
    fn local_clock(&mut self) -> LocalTime;

    /// Sends a copy of `message` to every member of `to`, in ascending order.
    fn broadcast(&mut self, to: &ProcessSet, message: P::Message) {
        for peer in to {
            self.send(peer, message.clone());
        }
    }

    /// Runs the handler `run` of a child protocol `Q` inside this protocol. `message` and `timer`
    /// convert the child's messages and timers to those of this protocol. The converted messages
    /// and timers become effects of this protocol. Returns the result of `run` and the child's
    /// events.
    fn run_child<Q: Protocol, R, M, T>(
        &mut self,
        message: M,
        timer: T,
        run: impl FnOnce(&mut CollectingEffects<'_, Self, P, Q, M, T>) -> R,
    ) -> (R, Vec<Q::Event>)
    where
        Self: Sized,
        M: Fn(Q::Message) -> P::Message,
        T: Fn(Q::Timer) -> P::Timer,
    {
        let mut child = CollectingEffects::new(self, message, timer);
        let result = run(&mut child);
        (result, child.into_events())
    }

    /// Returns an effects sink for a child protocol `Q` that runs inside this protocol. The sink
    /// converts each effect of the child to an effect of this protocol. `message` converts
    /// messages, `timer` converts timers, and `event` converts events. If `event` returns `None`,
    /// the event is dropped. If this protocol must handle the events itself, use
    /// [`Effects::run_child`].
    fn child_effects<Q: Protocol, M, T, E>(
        &mut self,
        message: M,
        timer: T,
        event: E,
    ) -> MappingEffects<'_, Self, P, Q, M, T, E>
    where
        Self: Sized,
        M: Fn(Q::Message) -> P::Message,
        T: Fn(Q::Timer) -> P::Timer,
        E: Fn(Q::Event) -> Option<P::Event>,
    {
        MappingEffects::new(self, message, timer, event)
    }
}
