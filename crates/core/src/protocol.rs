//! The contract of an algorithm. Read this file first.

use core::fmt::Debug;
use core::hash::Hash;

use alloc::vec::Vec;

use crate::label::Labelled;
use crate::lift::Lift;
use crate::process::{Group, ProcessId};
use crate::process_set::ProcessSet;
use crate::time::{Delay, LocalTime};
use crate::wrap::Wrap;

/// What may travel in a frame or be written to disk.
///
/// With the feature `serde` this asks for serialization; without it, for nothing. It is
/// implemented for every type that qualifies.
#[cfg(feature = "serde")]
pub trait Wire: serde::Serialize + serde::de::DeserializeOwned {}
#[cfg(feature = "serde")]
impl<T: serde::Serialize + serde::de::DeserializeOwned> Wire for T {}

/// What may travel in a frame or be written to disk.
///
/// With the feature `serde` this asks for serialization; without it, for nothing. It is
/// implemented for every type that qualifies.
#[cfg(not(feature = "serde"))]
pub trait Wire {}
#[cfg(not(feature = "serde"))]
impl<T> Wire for T {}

/// A distributed algorithm, written from the point of view of one process.
///
/// The value *is* the local state; the handlers are the textbook's *upon … do*. A handler
/// changes the state and says what else shall happen through [`Effects`]; nothing else leaves
/// it. Equal states given equal inputs (and equal choices) do the same thing, which is what
/// lets a simulator replay a run, a checker recognise a state it has seen, and a reader
/// believe both.
///
/// # Contract
///
/// - Handlers terminate and do no I/O.
/// - A command that the local user may not give in this state (a second `Enter` while
///   waiting) is refused by the handle or engine and never reaches `on_command`; an algorithm
///   may panic, with a sentence, if it does.
/// - A message comes from an authenticated member of the group, though perhaps from one
///   that has crashed since. It says what can be true, as far as its types and the
///   marks of its fields tell; what nobody asked for is ignored, and never a reason to panic.
/// - At most one timer of each name is armed; setting it again replaces it, and a cancelled
///   timer never fires.
pub trait Protocol: Clone + Debug + Eq + Hash + Sized + Send + Sync + 'static {
    /// Fixed for life: timeouts, quorums, topology, ranks.
    type Config: Clone + Debug + Send + Sync + 'static;
    /// What the local user may ask.
    type Command: Clone + Debug + Eq + Hash + Send + Sync + 'static;
    /// What the local user is told.
    type Event: Clone + Debug + Eq + Hash + Send + Sync + 'static;
    /// What travels between processes.
    type Message: Clone + Debug + Eq + Hash + Labelled + Wire + Send + Sync + 'static;
    /// The names of timers.
    type Timer: Clone + Debug + Eq + Hash + Ord + Send + Sync + 'static;
    /// What survives a crash; `()` if nothing does.
    type Stable: Clone + Debug + Eq + Hash + Wire + Send + Sync + 'static;

    /// Boots a process: for the first time when `stable` is `None`, else after a crash with
    /// what [`Protocol::stable`] last said and a runner made durable.
    fn boot(
        group: Group,
        config: &Self::Config,
        stable: Option<Self::Stable>,
        fx: &mut impl Effects<Self>,
    ) -> Self;

    /// The part of the state that must survive a crash.
    ///
    /// Runners save it whenever it changed, *before* they release the effects of the step, so
    /// there is no `save` for an algorithm to forget. They may take more steps before they do, and
    /// release the effects of all of them, in order, after one save.
    fn stable(&self) -> Self::Stable;

    /// What changed since `saved` was the stable part: nothing, or what [`Protocol::amend`] makes
    /// [`Protocol::stable`] of it.
    ///
    /// A change is a stable state as well, and any whole one is a change. Who has much to save (a
    /// log) says only what is new, so that a runner writes that and no more; where it is little,
    /// all of it may as well be written each time, and there is nothing to do.
    fn unsaved(&self, saved: &Self::Stable) -> Option<Self::Stable> {
        let stable = self.stable();
        (stable != *saved).then_some(stable)
    }

    /// What of that must be durable before the effects of a step leave: a change as well, to which
    /// [`Protocol::amend`] is the same.
    ///
    /// By default that is all of it. Who has let a snapshot stand for entries that are saved owes
    /// nobody to have that saved as well: a crash before leaves the entries, of which the same is
    /// made. A runner writes all there is beside such changes, when it likes, and those that come
    /// meanwhile are changes to either. It asks for this only of who [defers](Protocol::DEFERS).
    fn urgent(&self, saved: &Self::Stable) -> Option<Self::Stable> {
        self.unsaved(saved)
    }

    /// Whether something may be unsaved that is not [`Protocol::urgent`]. Of who says no nobody
    /// compares what is saved with what there is once more than need be.
    const DEFERS: bool = false;

    /// Makes of what was saved what is saved after a change to it.
    ///
    /// It is asked at boot, too, for what is on the disk: whatever change comes from there is
    /// taken, and none is a reason to panic.
    fn amend(saved: &mut Self::Stable, change: Self::Stable) {
        *saved = change;
    }

    /// The local user asks for something.
    fn on_command(&mut self, command: Self::Command, fx: &mut impl Effects<Self>);

    /// A message of a peer arrives.
    fn on_message(&mut self, from: ProcessId, message: Self::Message, fx: &mut impl Effects<Self>);

    /// An armed timer fires. It is no longer armed.
    fn on_timer(&mut self, timer: Self::Timer, fx: &mut impl Effects<Self>) {
        let _ = (timer, fx);
    }

    /// Returns what a timer is for, which says what a runner in real time does about one that is
    /// overdue or is set while the disk works. The default is [`TimerRole::Plain`].
    fn timer_role(timer: &Self::Timer) -> TimerRole {
        let _ = timer;
        TimerRole::Plain
    }

    /// Whether a message rests on something that its sender must not forget, or on what it has
    /// sent before. One that does not (a question; news that stay true whatever is lost) may leave
    /// at once, ahead of all that waits for the disk.
    fn rests_on_saves(message: &Self::Message) -> bool {
        let _ = message;
        true
    }

    /// A failure detector changes its mind about a peer. It may be wrong.
    fn on_suspicion(&mut self, peer: ProcessId, verdict: Verdict, fx: &mut impl Effects<Self>) {
        let _ = (peer, verdict, fx);
    }

    /// Dispatches one input to its handler. Engines call this; nobody overrides it.
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
/// Exploration does not depend on it: in a search a timer fires before or after any message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TimerRole {
    /// Messages that have arrived are handed over before it fires.
    #[default]
    Plain,
    /// It ends something that this process claims, such as a lease. It fires before any message is
    /// handed over, as the message may have arrived after the claim ended.
    EndsClaim,
    /// It fires because nothing arrived from a peer in time. A process that was not scheduled when
    /// this was due reads what has arrived, and waits for as long as it was late (for at most half
    /// of the timer's length), before it concludes that the peer is silent.
    MeasuresSilence,
    /// It paces messages that tell peers that this process is alive. It is armed at the end of the
    /// step that sets it, even if the other effects of that step wait for the disk.
    Paces,
}

/// One thing that happens to a process: the unit of atomicity everywhere in Tenure.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Input<P: Protocol> {
    /// The local user asks.
    Command(P::Command),
    /// A message arrives.
    Message {
        /// Who sent it.
        from: ProcessId,
        /// What it says.
        message: P::Message,
    },
    /// An armed timer fires.
    Timer(P::Timer),
    /// A failure detector speaks.
    Suspicion {
        /// Whom it speaks of.
        peer: ProcessId,
        /// What it says now.
        verdict: Verdict,
    },
}

/// What a failure detector says of a peer. Either verdict may be revoked by the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Verdict {
    /// The peer seems to have crashed.
    Suspect,
    /// The peer seems to be alive after all.
    Trust,
}

/// Where a handler puts what shall happen: the only way out of an algorithm.
pub trait Effects<P: Protocol> {
    /// Sends `message` to `to`. Whether it arrives, and in what order, is the channel's affair.
    fn send(&mut self, to: ProcessId, message: P::Message);

    /// Arms `timer` to fire once, at some moment within `after` from now. Re-arming replaces.
    fn set_timer(&mut self, timer: P::Timer, after: Delay);

    /// Disarms `timer`: it will not fire. Harmless when it is not armed.
    fn cancel_timer(&mut self, timer: P::Timer);

    /// Tells the local user.
    fn emit(&mut self, event: P::Event);

    /// Some number below `bound`: seeded in simulation, every value in turn in the checker,
    /// from the operating system in the runtime. `bound` is at least 1.
    fn choose(&mut self, bound: u32) -> u32;

    /// This process's own clock, which may drift. Only detectors and applications may read it.
    fn local_clock(&mut self) -> LocalTime;

    /// Sends a copy of `message` to every member of `to`, in ascending order.
    fn broadcast(&mut self, to: &ProcessSet, message: P::Message) {
        for peer in to {
            self.send(peer, message.clone());
        }
    }

    /// Runs a handler of a child protocol `Q` inside this one: its messages and timers are
    /// wrapped by `message` and `timer` and pass through; its events are returned.
    fn lift<Q: Protocol, R, M, T>(
        &mut self,
        message: M,
        timer: T,
        run: impl FnOnce(&mut Lift<'_, Self, P, Q, M, T>) -> R,
    ) -> (R, Vec<Q::Event>)
    where
        Self: Sized,
        M: Fn(Q::Message) -> P::Message,
        T: Fn(Q::Timer) -> P::Timer,
    {
        let mut child = Lift::new(self, message, timer);
        let result = run(&mut child);
        (result, child.into_events())
    }

    /// The effects of a child protocol `Q` inside this one, where the child's events need no
    /// attention: each is turned into one of this protocol by `event`, or into none.
    fn wrap<Q: Protocol, M, T, E>(
        &mut self,
        message: M,
        timer: T,
        event: E,
    ) -> Wrap<'_, Self, P, Q, M, T, E>
    where
        Self: Sized,
        M: Fn(Q::Message) -> P::Message,
        T: Fn(Q::Timer) -> P::Timer,
        E: Fn(Q::Event) -> Option<P::Event>,
    {
        Wrap::new(self, message, timer, event)
    }
}
