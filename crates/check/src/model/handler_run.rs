//! Result of running a handler once.

use tenure_core::ProcessId;
use tenure_trace::Choice;

use crate::model::monitors::OwnedObservation;
use crate::users::user::Checkable;
use crate::world::local::LocalState;

/// One run of a handler, before it is interned.
pub(crate) struct HandlerRun<P: Checkable> {
    pub(crate) local: LocalState<P>,
    pub(crate) messages: Vec<(ProcessId, P::Message)>,
    pub(crate) events: Vec<P::Event>,
    /// Observations for the monitors.
    pub(super) seen: Vec<OwnedObservation<P::Command, P::Event>>,
    /// Receiver of an application message, if one is sent.
    pub(super) application: Option<u32>,
    /// Values that the handler chose.
    pub(crate) choices: Vec<Choice>,
}

impl<P: Checkable> HandlerRun<P> {
    /// Creates a run without effects.
    pub(super) fn without_effects(local: LocalState<P>) -> Self {
        let (messages, events, seen) = (Vec::new(), Vec::new(), Vec::new());
        HandlerRun { local, messages, events, seen, application: None, choices: Vec::new() }
    }
}
