//! Result of running a handler once.

use tenure_core::ProcessId;
use tenure_trace::RandomChoice;

use crate::model::monitors::OwnedObservation;
use crate::users::user::Checkable;
use crate::world::local::LocalState;

/// Effects of one run of a handler, before they are interned.
pub(crate) struct HandlerRun<P: Checkable> {
    /// Local state after the run.
    pub(crate) local: LocalState<P>,
    /// Messages that leave the process at once, each with its receiver.
    pub(crate) messages: Vec<(ProcessId, P::Message)>,
    pub(crate) events: Vec<P::Event>,
    /// Observations that this step gives to the monitors, in order.
    pub(super) seen: Vec<OwnedObservation<P::Command, P::Event>>,
    /// Receiver of the application message that the step sends. `None` if the step sends no
    /// application message.
    pub(super) application: Option<u32>,
    /// Choices that the handler made, without readings of the clock.
    pub(crate) choices: Vec<RandomChoice>,
    /// Causal past that the messages of the run carry. `None` if the messages carry the causal past
    /// that `local` contains.
    pub(super) past: Option<Vec<u32>>,
}

impl<P: Checkable> HandlerRun<P> {
    /// Creates a run that leads to the local state `local` and has no effects.
    pub(super) fn without_effects(local: LocalState<P>) -> Self {
        let (messages, events, seen) = (Vec::new(), Vec::new(), Vec::new());
        let (application, past) = (None, None);
        HandlerRun { local, messages, events, seen, application, choices: Vec::new(), past }
    }
}
