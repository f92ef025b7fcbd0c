//! A driver of one process. The driver releases the effects of a step only after the caller has
//! declared that the state of the process is saved.

use alloc::collections::VecDeque;
use alloc::vec::{Drain, Vec};

use crate::effect_buffer::{ConstantEnvironment, EffectBuffer, Environment, TimerChange};
use crate::process::{Group, ProcessId};
use crate::protocol::{Input, Protocol};

/// Driver of one process. The driver enforces the order *step, save, release*.
///
/// ```
/// # use tenure_core::{Node, Input, Protocol};
/// # fn demo<P: Protocol>(node: &mut Node<P>, input: Input<P>) {
/// let step = node.step(input);
/// if let Some(change) = step.change_before_release() {
///     // write `change` to disk and fsync, here
/// }
/// let released = step.mark_saved();
/// for (to, message) in released.messages { /* send */ }
/// for change in released.timers { /* arm or disarm */ }
/// for event in released.events { /* report to the user */ }
/// # }
/// ```
///
/// A second step does not compile before the first step is marked as saved or queued:
///
/// ```compile_fail,E0499
/// # use tenure_core::{Node, Input, Protocol};
/// # fn demo<P: Protocol>(node: &mut Node<P>, first: Input<P>, second: Input<P>) {
/// let one = node.step(first);
/// let two = node.step(second);
/// one.mark_saved();
/// # }
/// ```
///
/// Access to the messages of a step that is not marked as saved does not compile either. Only
/// [`Step::take_messages_before_save`] returns messages before the save:
///
/// ```compile_fail,E0609
/// # use tenure_core::{Node, Input, Protocol};
/// # fn demo<P: Protocol>(node: &mut Node<P>, input: Input<P>) {
/// for message in node.step(input).messages {}
/// # }
/// ```
///
/// # Steps during a save
///
/// A runner need not wait for the disk: it may queue the effects of a step and take more steps
/// during a save. A save covers all steps that are queued when the save begins. The effects of a
/// step leave only after the save that covers the step is complete, and in the order of the steps.
/// The types enforce this: only [`Node::begin_save`] returns a [`PendingSave`], and
/// [`Node::finish_save`] consumes it.
///
/// ```
/// # use tenure_core::{Node, Input, Protocol};
/// # fn demo<P: Protocol>(node: &mut Node<P>, inputs: Vec<Input<P>>) {
/// for input in inputs {
///     node.step(input).queue_effects();
/// }
/// while let Some(saving) = node.begin_save() {
///     // write `saving.change()` to disk and fsync; steps may be taken and queued meanwhile
///     node.finish_save(saving);
/// }
/// while let Some(released) = node.release() { /* send, arm, report */ }
/// # }
/// ```
///
/// # Rewriting
///
/// [`Node::begin_rewrite`] returns the complete stable state. A runner may write this state in the
/// background while it saves further changes. After [`Node::finish_rewrite`], the changes that were
/// saved before the rewrite began are not needed any more.
#[derive(Debug)]
pub struct Node<P: Protocol, E = ConstantEnvironment> {
    process: P,
    /// Stable state at the last boot, or at the beginning of the last finished rewrite, with the
    /// changes of every save that has begun since then. The last save may still be in progress.
    /// `None` if nothing was ever saved.
    written: Option<P::Stable>,
    /// Complete state that a rewrite is saving, with the changes of all saves since the rewrite
    /// began. `None` if no rewrite is in progress.
    rewriting: Option<P::Stable>,
    /// Change that must be saved before the effects of the last step may be released; `None` if
    /// there is none.
    unsaved: Option<P::Stable>,
    batch: EffectBuffer<P, E>,
    /// Effects of steps that wait for a save, oldest step first.
    queued: VecDeque<QueuedEffects<P>>,
    /// Number of queued steps whose save is complete, or that need no save. These steps are the
    /// oldest.
    releasable: usize,
    /// Number of queued steps that the current save covers; `None` if no save is in progress.
    saving: Option<usize>,
    /// Buffers that [`Step::queue_effects`] reuses. They are empty as soon as the caller has
    /// dropped the effects that [`Node::release`] returned.
    free_buffers: Vec<QueuedEffects<P>>,
}

#[derive(Debug)]
struct QueuedEffects<P: Protocol> {
    messages: Vec<(ProcessId, P::Message)>,
    timers: Vec<TimerChange<P::Timer>>,
    events: Vec<P::Event>,
}

/// A save in progress, returned by [`Node::begin_save`]. At most one exists at a time.
#[must_use = "messages covered by a save are sent only after the save is declared done"]
#[derive(Debug, PartialEq, Eq)]
pub struct PendingSave<S> {
    change: S,
    whole: bool,
}

impl<S> PendingSave<S> {
    /// Returns the change that the runner must make durable.
    pub fn change(&self) -> &S {
        &self.change
    }

    /// Returns true if nothing was ever saved before, so that the change is the complete stable
    /// state.
    pub fn is_complete_state(&self) -> bool {
        self.whole
    }
}

impl<P: Protocol, E: Environment> Node<P, E> {
    /// Boots a process. `stable` is the state that the process saved before a crash, or `None` on
    /// the first boot.
    ///
    /// Booting has effects, such as a timer or a greeting. The caller must release the effects of
    /// booting before any other effects, and therefore must call [`Node::boot_step`] before
    /// [`Node::step`].
    pub fn boot(
        group: Group,
        config: &P::Config,
        stable: Option<P::Stable>,
        environment: E,
    ) -> Self {
        let mut batch = EffectBuffer::new(environment);
        let written = stable.clone();
        let process = P::boot(group, config, stable, &mut batch.sink());
        let (queued, free_buffers) = (VecDeque::new(), Vec::new());
        let mut node = Node {
            process,
            written,
            rewriting: None,
            unsaved: None,
            batch,
            queued,
            releasable: 0,
            saving: None,
            free_buffers,
        };
        node.unsaved = node.change();
        node
    }

    /// Returns the effects of booting. The caller must mark this step as saved, or queue its
    /// effects, like any other step.
    pub fn boot_step(&mut self) -> Step<'_, P, E> {
        Step { node: self }
    }

    /// Passes one input to the process. The caller must mark the returned step as saved, or queue
    /// its effects.
    ///
    /// # Panics
    ///
    /// If an earlier step was dropped without [`Step::mark_saved`] or [`Step::queue_effects`],
    /// because the effects of the earlier step would be lost.
    pub fn step(&mut self, input: Input<P>) -> Step<'_, P, E> {
        assert!(
            self.unsaved.is_none() && self.batch.is_empty(),
            "a node is stepped only after the effects of its last step were released"
        );
        self.process.step(input, &mut self.batch.sink());
        // If earlier steps are queued, a later save covers this step as well. The change is then
        // computed when that save begins.
        if self.queued.is_empty() {
            self.unsaved = self.change();
        }
        Step { node: self }
    }

    /// Returns the state of the process, for inspection.
    pub fn process(&self) -> &P {
        &self.process
    }

    /// Returns the stable state that the current save writes. If no save is in progress, returns
    /// the state that was saved last. Returns `None` if nothing was ever saved.
    pub fn latest_save_state(&self) -> Option<&P::Stable> {
        self.written.as_ref()
    }

    /// Returns a complete state that may replace everything saved so far. Returns `None` if nothing
    /// was ever saved, and during a rewrite (from [`Node::begin_rewrite`] to
    /// [`Node::finish_rewrite`]).
    ///
    /// During a rewrite no such state exists: the saved changes may lack the deferred part of the
    /// state, which only the rewrite saves.
    pub fn full_saved_state(&self) -> Option<&P::Stable> {
        self.written.as_ref().filter(|_| self.rewriting.is_none())
    }

    /// Returns the source of choices and clock readings.
    pub fn environment(&mut self) -> &mut E {
        &mut self.batch.environment
    }

    /// Begins a save of all queued steps that no save covers yet. Returns `None` if another save is
    /// in progress, if there are no such steps, or if these steps changed nothing that must be
    /// saved. In the last case, [`Node::release`] returns their effects without a save.
    pub fn begin_save(&mut self) -> Option<PendingSave<P::Stable>> {
        if self.saving.is_some() || self.releasable == self.queued.len() {
            return None;
        }
        let Some(change) = self.change() else {
            self.releasable = self.queued.len();
            return None;
        };
        self.saving = Some(self.queued.len());
        let whole = self.written.is_none();
        self.write(change.clone());
        Some(PendingSave { change, whole })
    }

    /// Returns true if the runner should begin a rewrite. Three conditions must hold: the protocol
    /// [defers saves](Protocol::DEFERS_SAVES), no rewrite is in progress, and no save has written
    /// some change of the stable state.
    pub fn needs_rewrite(&self) -> bool {
        let unsaved = |written| self.process.unsaved_change(written).is_some();
        P::DEFERS_SAVES && self.rewriting.is_none() && self.written.as_ref().is_some_and(unsaved)
    }

    /// Begins a rewrite and returns the complete stable state. The runner writes this state while
    /// it continues to save changes. Returns `None` if a rewrite is in progress, or if a change has
    /// to be saved first.
    pub fn begin_rewrite(&mut self) -> Option<P::Stable> {
        if self.rewriting.is_some() || self.change().is_some() {
            return None;
        }
        let whole = self.whole(self.written.as_ref()?);
        self.rewriting = Some(whole.clone());
        Some(whole)
    }

    /// Declares that the rewritten state is durable and replaces everything that was saved before
    /// the rewrite began.
    ///
    /// # Panics
    ///
    /// If no rewrite is in progress.
    pub fn finish_rewrite(&mut self) {
        self.written = Some(self.rewriting.take().expect("something was being written"));
    }

    /// Declares that a save is durable. The steps that the save covers become releasable.
    pub fn finish_save(&mut self, _: PendingSave<P::Stable>) {
        let covered = self.saving.take().expect("a save that has begun");
        self.releasable = self.releasable.max(covered);
    }

    /// Returns the effects of the oldest queued step. Returns `None` if no step is queued, or if
    /// the effects of this step must wait for a save.
    pub fn release(&mut self) -> Option<ReleasedEffects<'_, P>> {
        self.releasable = self.releasable.checked_sub(1)?;
        self.saving = self.saving.map(|covered| covered - 1);
        let queued = self.queued.pop_front().expect("a releasable step is queued");
        self.free_buffers.push(queued);
        let QueuedEffects { messages, timers, events } = self.free_buffers.last_mut()?;
        Some(ReleasedEffects {
            messages: messages.drain(..),
            timers: timers.drain(..),
            events: events.drain(..),
        })
    }

    /// Returns true if effects are queued or a save is in progress.
    pub fn has_pending_effects(&self) -> bool {
        !self.queued.is_empty() || self.saving.is_some()
    }

    /// Returns the change that must be saved before effects may be released. Returns the complete
    /// stable state if nothing was ever saved, and `None` if nothing has to be saved.
    fn change(&self) -> Option<P::Stable> {
        if size_of::<P::Stable>() == 0 {
            return None;
        }
        match &self.written {
            Some(written) if P::DEFERS_SAVES => self.process.urgent_change(written),
            Some(written) => self.process.unsaved_change(written),
            None => Some(self.process.stable()),
        }
    }
}

impl<P: Protocol, E> Node<P, E> {
    /// Applies a change to `written` and, during a rewrite, also to `rewriting`. In a debug build,
    /// panics if `written` with all later changes differs from the stable state of the process.
    fn write(&mut self, change: P::Stable) {
        if let Some(rewriting) = &mut self.rewriting {
            P::apply_change(rewriting, change.clone());
        }
        match &mut self.written {
            Some(written) => P::apply_change(written, change),
            None => self.written = Some(change),
        }
        debug_assert!(
            self.written
                .iter()
                .chain(&self.rewriting)
                .all(|it| self.whole(it) == self.process.stable()),
            "the saved state plus later changes must equal the stable state"
        );
    }

    /// Returns the complete stable state of the process: `saved` with all later changes. The later
    /// changes include those whose save may be deferred.
    fn whole(&self, saved: &P::Stable) -> P::Stable {
        let mut whole = saved.clone();
        if let Some(rest) = self.process.unsaved_change(saved) {
            P::apply_change(&mut whole, rest);
        }
        whole
    }
}

/// A step whose effects are neither released nor queued yet.
#[must_use = "a step's effects are lost unless it is declared saved and drained, or queued back"]
#[derive(Debug)]
pub struct Step<'a, P: Protocol, E = ConstantEnvironment> {
    node: &'a mut Node<P, E>,
}

impl<'a, P: Protocol, E> Step<'a, P, E> {
    /// Returns the change that must be saved before the effects may leave. The first change is the
    /// complete stable state. Each later change is relative to the saved state. Returns `None` if
    /// nothing must be saved, or if earlier steps are queued. In the second case,
    /// [`Node::begin_save`] later returns the changes of all these steps.
    pub fn change_before_release(&self) -> Option<&P::Stable> {
        self.node.unsaved.as_ref()
    }

    /// Returns true if the effects of the step may leave immediately: there is nothing to save, no
    /// earlier step is queued, and no save is in progress.
    pub fn can_release(&self) -> bool {
        self.node.unsaved.is_none() && self.node.queued.is_empty() && self.node.saving.is_none()
    }

    /// Returns the state of the process after the step.
    pub fn process(&self) -> &P {
        &self.node.process
    }

    /// Returns the source of choices and clock readings.
    pub fn environment(&mut self) -> &mut E {
        &mut self.node.batch.environment
    }

    /// Declares that the change [`Step::change_before_release`] is durable, and returns the effects
    /// of the step.
    ///
    /// # Panics
    ///
    /// If the effects of an earlier step are queued, because they must be released first.
    pub fn mark_saved(self) -> ReleasedEffects<'a, P> {
        let node = self.node;
        assert!(
            node.queued.is_empty() && node.saving.is_none(),
            "the effects of a step leave after those of the steps before it"
        );
        if let Some(change) = node.unsaved.take() {
            node.write(change);
        }
        let batch = &mut node.batch;
        ReleasedEffects {
            messages: batch.messages.drain(..),
            timers: batch.timers.drain(..),
            events: batch.events.drain(..),
        }
    }

    /// Returns the timer changes of the step, for inspection.
    pub fn timer_changes(&self) -> &[TimerChange<P::Timer>] {
        &self.node.batch.timers
    }

    /// Returns the events of the step, for inspection.
    pub fn events(&self) -> &[P::Event] {
        &self.node.batch.events
    }

    /// Returns an iterator over the messages that need not wait for a save and that `is_wanted`
    /// accepts, in order. The iterator removes each message that it returns from the effects of the
    /// step.
    pub fn take_messages_before_save(
        &mut self,
        is_wanted: impl Fn(&P::Message) -> bool,
    ) -> impl Iterator<Item = (ProcessId, P::Message)> {
        let is_early =
            move |message: &P::Message| !P::must_wait_for_save(message) && is_wanted(message);
        self.node.batch.messages.extract_if(.., move |(_, message)| is_early(message))
    }

    /// Queues the effects of the step. [`Node::release`] returns them after a save that covers the
    /// step.
    pub fn queue_effects(self) {
        let node = self.node;
        node.unsaved = None;
        let mut queued = node.free_buffers.pop().unwrap_or_else(|| QueuedEffects {
            messages: Vec::new(),
            timers: Vec::new(),
            events: Vec::new(),
        });
        core::mem::swap(&mut queued.messages, &mut node.batch.messages);
        core::mem::swap(&mut queued.timers, &mut node.batch.timers);
        core::mem::swap(&mut queued.events, &mut node.batch.events);
        node.queued.push_back(queued);
    }
}

/// Released effects of a step, for the runner to perform. The change of the step is saved, and the
/// effects of all earlier steps have been released.
#[must_use = "effects that are not drained are dropped"]
#[derive(Debug)]
pub struct ReleasedEffects<'a, P: Protocol> {
    /// Messages to send, in order.
    pub messages: Drain<'a, (ProcessId, P::Message)>,
    /// Timer changes, in order.
    pub timers: Drain<'a, TimerChange<P::Timer>>,
    /// Events to report to the local user, in order.
    pub events: Drain<'a, P::Event>,
}

#[cfg(test)]
mod tests;
