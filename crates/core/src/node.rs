//! One process, driven by hand: save, then release.

use alloc::collections::VecDeque;
use alloc::vec::{Drain, Vec};

use crate::batch::{Batch, Environment, Still, TimerChange};
use crate::process::{Group, ProcessId};
use crate::protocol::{Input, Protocol};

/// A driver of one process that keeps the order *step, save, release*.
///
/// ```
/// # use tenure_core::{Node, Input, Protocol};
/// # fn demo<P: Protocol>(node: &mut Node<P>, input: Input<P>) {
/// let step = node.step(input);
/// if let Some(change) = step.unsaved() {
///     // write `change` to disk and fsync, here
/// }
/// let released = step.saved();
/// for (to, message) in released.messages { /* send */ }
/// for change in released.timers { /* arm or disarm */ }
/// for event in released.events { /* tell the user */ }
/// # }
/// ```
///
/// Stepping again before the effects are drained does not compile:
///
/// ```compile_fail,E0499
/// # use tenure_core::{Node, Input, Protocol};
/// # fn demo<P: Protocol>(node: &mut Node<P>, first: Input<P>, second: Input<P>) {
/// let one = node.step(first);
/// let two = node.step(second);
/// one.saved();
/// # }
/// ```
///
/// Nor does reaching the messages of a step that was not declared saved:
///
/// ```compile_fail,E0609
/// # use tenure_core::{Node, Input, Protocol};
/// # fn demo<P: Protocol>(node: &mut Node<P>, input: Input<P>) {
/// for message in node.step(input).messages {}
/// # }
/// ```
///
/// # While the disk works
///
/// Whoever does not want to wait for the disk keeps effects back. One save covers all steps that
/// are kept back when it begins; more may be taken until it is done. Effects leave in the order of
/// their steps, and none before the save that covers its step: a [`Saving`] is handed out by
/// [`Node::save`] alone, and [`Node::saved`] takes it away.
///
/// ```
/// # use tenure_core::{Node, Input, Protocol};
/// # fn demo<P: Protocol>(node: &mut Node<P>, inputs: Vec<Input<P>>) {
/// for input in inputs {
///     node.step(input).keep_back();
/// }
/// while let Some(saving) = node.save() {
///     // write `saving.change()` to disk and fsync; steps may be taken and kept back meanwhile
///     node.saved(saving);
/// }
/// while let Some(released) = node.release() { /* send, arm, tell */ }
/// # }
/// ```
///
/// # Beside that
///
/// [`Node::rewrite`] gives all there is as one, to be written beside the changes that come from
/// then on, however long it takes; after [`Node::rewritten`] those before are not needed any more.
#[derive(Debug)]
pub struct Node<P: Protocol, E = Still> {
    process: P,
    /// What is durable, or on its way to the disk.
    written: Option<P::Stable>,
    /// What is being written as one, with the changes that came since.
    rewriting: Option<P::Stable>,
    /// By what it must be changed before the effects of the step just taken may leave.
    unsaved: Option<P::Stable>,
    batch: Batch<P, E>,
    /// The effects that were kept back, by step.
    kept: VecDeque<Kept<P>>,
    /// Of how many of these steps the save is done.
    free: usize,
    /// How many of them the save under way covers; nothing while none is.
    saving: Option<usize>,
    /// Buffers that nothing is kept in.
    spare: Vec<Kept<P>>,
}

/// What one step asked for.
#[derive(Debug)]
struct Kept<P: Protocol> {
    messages: Vec<(ProcessId, P::Message)>,
    timers: Vec<TimerChange<P::Timer>>,
    events: Vec<P::Event>,
}

/// A save that has begun. It comes from [`Node::save`], and there is one at a time.
#[must_use = "what a save covers leaves only when it is declared done"]
#[derive(Debug, PartialEq, Eq)]
pub struct Saving<S> {
    change: S,
    whole: bool,
}

impl<S> Saving<S> {
    /// What is to be made durable.
    pub fn change(&self) -> &S {
        &self.change
    }

    /// Whether nothing was saved before, so that this is all there is.
    pub fn is_whole(&self) -> bool {
        self.whole
    }
}

impl<P: Protocol, E: Environment> Node<P, E> {
    /// Boots a process with what was saved of its last life, if it had one.
    ///
    /// Booting has effects too (a timer, a greeting). They are pending: the first call must be
    /// [`Node::pending`].
    pub fn boot(
        group: Group,
        config: &P::Config,
        stable: Option<P::Stable>,
        environment: E,
    ) -> Self {
        let mut batch = Batch::new(environment);
        let written = stable.clone();
        let process = P::boot(group, config, stable, &mut batch.effects());
        let (kept, spare) = (VecDeque::new(), Vec::new());
        let mut node = Node {
            process,
            written,
            rewriting: None,
            unsaved: None,
            batch,
            kept,
            free: 0,
            saving: None,
            spare,
        };
        node.unsaved = node.change();
        node
    }

    /// The effects that are waiting to be released: those of booting.
    pub fn pending(&mut self) -> Step<'_, P, E> {
        Step { node: self }
    }

    /// Gives the process one input.
    ///
    /// # Panics
    ///
    /// When an earlier step was dropped without [`Step::saved`] or [`Step::keep_back`]: its effects
    /// would be lost.
    pub fn step(&mut self, input: Input<P>) -> Step<'_, P, E> {
        assert!(
            self.unsaved.is_none() && self.batch.is_empty(),
            "a node is stepped only after the effects of its last step were released"
        );
        self.process.step(input, &mut self.batch.effects());
        // The save that lets the steps before it go covers this one, or the one after that.
        if self.kept.is_empty() {
            self.unsaved = self.change();
        }
        Step { node: self }
    }

    /// The state of the process, to look at.
    pub fn process(&self) -> &P {
        &self.process
    }

    /// All that is durable, or will be when the save under way is done.
    pub fn written(&self) -> Option<&P::Stable> {
        self.written.as_ref()
    }

    /// What may be written in the place of all that was saved so far; nothing while
    /// [`Node::rewrite`] goes on. Changes that come then are changes to that whole as well, and may
    /// leave out what only it says.
    pub fn replacement(&self) -> Option<&P::Stable> {
        self.written.as_ref().filter(|_| self.rewriting.is_none())
    }

    /// Where choices and clocks come from.
    pub fn environment(&mut self) -> &mut E {
        &mut self.batch.environment
    }

    /// Begins a save of all that is kept back and not covered yet; nothing where there is nothing
    /// to write, or another save is under way. What needs no save may leave then.
    pub fn save(&mut self) -> Option<Saving<P::Stable>> {
        if self.saving.is_some() || self.free == self.kept.len() {
            return None;
        }
        let Some(change) = self.change() else {
            self.free = self.kept.len();
            return None;
        };
        self.saving = Some(self.kept.len());
        let whole = self.written.is_none();
        self.write(change.clone());
        Some(Saving { change, whole })
    }

    /// Whether what was saved says more than it needs to: [`Node::rewrite`] makes it shorter.
    pub fn is_long(&self) -> bool {
        let unsaved = |written| self.process.unsaved(written).is_some();
        P::DEFERS && self.rewriting.is_none() && self.written.as_ref().is_some_and(unsaved)
    }

    /// All there is, to be written as one beside the changes that are saved from now on; nothing
    /// where another is being written, or a change has to be saved first.
    pub fn rewrite(&mut self) -> Option<P::Stable> {
        if self.rewriting.is_some() || self.change().is_some() {
            return None;
        }
        let whole = self.whole(self.written.as_ref()?);
        self.rewriting = Some(whole.clone());
        Some(whole)
    }

    /// Declares that what was rewritten is durable, in the place of what was saved before.
    pub fn rewritten(&mut self) {
        self.written = Some(self.rewriting.take().expect("something was being written"));
    }

    /// Declares that a save is durable: what it covers may leave.
    pub fn saved(&mut self, _: Saving<P::Stable>) {
        let covered = self.saving.take().expect("a save that has begun");
        self.free = self.free.max(covered);
    }

    /// The effects of the next step that was kept back, if they may leave.
    pub fn release(&mut self) -> Option<Released<'_, P>> {
        self.free = self.free.checked_sub(1)?;
        self.saving = self.saving.map(|covered| covered - 1);
        let kept = self.kept.pop_front().expect("whatever is free was kept back");
        self.spare.push(kept);
        let Kept { messages, timers, events } = self.spare.last_mut()?;
        Some(Released {
            messages: messages.drain(..),
            timers: timers.drain(..),
            events: events.drain(..),
        })
    }

    /// Whether effects are kept back, or a save is under way.
    pub fn is_waiting(&self) -> bool {
        !self.kept.is_empty() || self.saving.is_some()
    }

    fn change(&self) -> Option<P::Stable> {
        if size_of::<P::Stable>() == 0 {
            return None;
        }
        match &self.written {
            Some(written) if P::DEFERS => self.process.urgent(written),
            Some(written) => self.process.unsaved(written),
            None => Some(self.process.stable()),
        }
    }
}

impl<P: Protocol, E> Node<P, E> {
    /// Takes note of a change that is durable, or on its way to the disk.
    fn write(&mut self, change: P::Stable) {
        if let Some(rewriting) = &mut self.rewriting {
            P::amend(rewriting, change.clone());
        }
        match &mut self.written {
            Some(written) => P::amend(written, change),
            None => self.written = Some(change),
        }
        debug_assert!(
            self.written
                .iter()
                .chain(&self.rewriting)
                .all(|it| self.whole(it) == self.process.stable()),
            "what was saved and what changed since make the stable state"
        );
    }

    /// What was saved, together with what need not be.
    fn whole(&self, saved: &P::Stable) -> P::Stable {
        let mut whole = saved.clone();
        if let Some(rest) = self.process.unsaved(saved) {
            P::amend(&mut whole, rest);
        }
        whole
    }
}

/// One step, taken but not yet released.
#[must_use = "a step's effects are lost unless it is declared saved and drained, or kept back"]
#[derive(Debug)]
pub struct Step<'a, P: Protocol, E = Still> {
    node: &'a mut Node<P, E>,
}

impl<'a, P: Protocol, E> Step<'a, P, E> {
    /// What must be durable before the effects may leave; `None` when nothing changed. The first
    /// is the whole of the stable state, and each after it a change to it.
    pub fn unsaved(&self) -> Option<&P::Stable> {
        self.node.unsaved.as_ref()
    }

    /// Whether nothing keeps the effects from leaving: nothing is to be saved, and no step before
    /// it is kept back.
    pub fn may_leave(&self) -> bool {
        self.node.unsaved.is_none() && self.node.kept.is_empty() && self.node.saving.is_none()
    }

    /// The state after the step.
    pub fn process(&self) -> &P {
        &self.node.process
    }

    /// Where choices and clocks come from.
    pub fn environment(&mut self) -> &mut E {
        &mut self.node.batch.environment
    }

    /// Declares that [`Step::unsaved`] is durable, and hands out the effects.
    ///
    /// # Panics
    ///
    /// When an earlier step is kept back: its effects come first.
    pub fn saved(self) -> Released<'a, P> {
        let node = self.node;
        assert!(
            node.kept.is_empty() && node.saving.is_none(),
            "the effects of a step leave after those of the steps before it"
        );
        if let Some(change) = node.unsaved.take() {
            node.write(change);
        }
        let batch = &mut node.batch;
        Released {
            messages: batch.messages.drain(..),
            timers: batch.timers.drain(..),
            events: batch.events.drain(..),
        }
    }

    /// What the step does to timers, to look at.
    pub fn timers(&self) -> &[TimerChange<P::Timer>] {
        &self.node.batch.timers
    }

    /// What the step tells the local user, to look at.
    pub fn events(&self) -> &[P::Event] {
        &self.node.batch.events
    }

    /// Takes out the messages that need not wait for a save, in order.
    pub fn hurry(&mut self) -> impl Iterator<Item = (ProcessId, P::Message)> {
        self.node.batch.messages.extract_if(.., |(_, message)| !P::rests_on_saves(message))
    }

    /// Keeps the effects back, for [`Node::release`] to hand out after a save that covers them.
    pub fn keep_back(self) {
        let node = self.node;
        node.unsaved = None;
        let mut kept = node.spare.pop().unwrap_or_else(|| Kept {
            messages: Vec::new(),
            timers: Vec::new(),
            events: Vec::new(),
        });
        core::mem::swap(&mut kept.messages, &mut node.batch.messages);
        core::mem::swap(&mut kept.timers, &mut node.batch.timers);
        core::mem::swap(&mut kept.events, &mut node.batch.events);
        node.kept.push_back(kept);
    }
}

/// The effects of a step that may now leave.
#[must_use = "effects that are not drained are dropped"]
#[derive(Debug)]
pub struct Released<'a, P: Protocol> {
    /// Messages to send, in order.
    pub messages: Drain<'a, (ProcessId, P::Message)>,
    /// Changes to timers, in order.
    pub timers: Drain<'a, TimerChange<P::Timer>>,
    /// What to tell the local user, in order.
    pub events: Drain<'a, P::Event>,
}

#[cfg(test)]
mod tests;
