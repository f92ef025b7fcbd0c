//! One process, driven by hand: save, then release.

use alloc::vec::Drain;

use crate::batch::{Batch, Environment, Still, TimerChange};
use crate::process::{Group, ProcessId};
use crate::protocol::{Input, Protocol};

/// A driver of one process that keeps the order *step, save, release*.
///
/// ```
/// # use tenure_core::{Node, Input, Protocol};
/// # fn demo<P: Protocol>(node: &mut Node<P>, input: Input<P>) {
/// let step = node.step(input);
/// if let Some(stable) = step.unsaved() {
///     // write `stable` to disk and fsync, here
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
#[derive(Debug)]
pub struct Node<P: Protocol, E = Still> {
    process: P,
    /// What the last [`Step::saved`] vouched for.
    durable: Option<P::Stable>,
    /// What must become durable before the pending effects may leave.
    unsaved: Option<P::Stable>,
    batch: Batch<P, E>,
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
        let durable = stable.clone();
        let process = P::boot(group, config, stable, &mut batch);
        let mut node = Node { process, durable, unsaved: None, batch };
        node.note_unsaved();
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
    /// When an earlier step was dropped without [`Step::saved`]: its effects would be lost.
    pub fn step(&mut self, input: Input<P>) -> Step<'_, P, E> {
        assert!(
            self.unsaved.is_none() && self.batch.is_empty(),
            "a node is stepped only after the effects of its last step were released"
        );
        self.process.step(input, &mut self.batch);
        self.note_unsaved();
        Step { node: self }
    }

    /// The state of the process, to look at.
    pub fn process(&self) -> &P {
        &self.process
    }

    /// Where choices and clocks come from.
    pub fn environment(&mut self) -> &mut E {
        &mut self.batch.environment
    }

    fn note_unsaved(&mut self) {
        if size_of::<P::Stable>() == 0 {
            return;
        }
        let stable = self.process.stable();
        if self.durable.as_ref() != Some(&stable) {
            self.unsaved = Some(stable);
        }
    }
}

/// One step, taken but not yet released.
#[must_use = "a step's effects are lost unless it is declared saved and drained"]
#[derive(Debug)]
pub struct Step<'a, P: Protocol, E = Still> {
    node: &'a mut Node<P, E>,
}

impl<'a, P: Protocol, E> Step<'a, P, E> {
    /// What must be durable before the effects may leave; `None` when nothing changed.
    pub fn unsaved(&self) -> Option<&P::Stable> {
        self.node.unsaved.as_ref()
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
    pub fn saved(self) -> Released<'a, P> {
        if let Some(stable) = self.node.unsaved.take() {
            self.node.durable = Some(stable);
        }
        let batch = &mut self.node.batch;
        Released {
            messages: batch.messages.drain(..),
            timers: batch.timers.drain(..),
            events: batch.events.drain(..),
        }
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
