//! Postpones events: a user receives an event in a later step than the one in which its process
//! emits the event. Also erases clocks that no later request reads. Both happen only in a search
//! with the reduction by commuting deliveries.
//!
//! If events are postponed, more deliveries commute. For example, a process enters when it receives
//! the last of several replies, and any of the replies can be the last. If this delivery also
//! informed the user, it would not commute with the delivery of another reply. Hence a separate
//! step informs the user.

use std::sync::atomic::Ordering;

use crate::model::handler_run::HandlerRun;
use crate::model::monitors::OwnedObservation;
use crate::model::protocol_model::ProtocolModel;
use crate::users::entries::RequestLimit;
use crate::users::user::{Checkable, CheckableCommand, User, UserWorkload};
use crate::world::local::{Lifecycle, LocalState};

impl UserWorkload {
    /// Returns true if each user makes at most one request.
    pub(crate) fn has_single_requests(&self) -> bool {
        let is_single = |entries: &RequestLimit| matches!(entries, RequestLimit::AtMost(0 | 1));
        self.entries.iter().all(is_single)
    }
}

impl<P: Checkable> ProtocolModel<P> {
    /// Postpones an event of a process, and returns true. If an earlier event of the process is
    /// still postponed, postpones every event. Returns false if the search does not postpone
    /// events, or if this event must not be postponed. The user must then receive the event now.
    pub(super) fn postpone_event(&self, local: &mut LocalState<P>, event: &P::Event) -> bool {
        if !self.is_reducing.load(Ordering::Relaxed) {
            return false;
        }
        match &mut local.lifecycle {
            Lifecycle::Postponed { events, .. } => {
                events.push(event.clone());
                true
            }
            Lifecycle::Up(process) if P::Command::may_postpone(event) => {
                let (process, events) = (process.clone(), vec![event.clone()]);
                local.lifecycle = Lifecycle::Postponed { process, events };
                true
            }
            _ => false,
        }
    }

    /// Returns the run in which the user of a process receives the postponed events.
    pub(super) fn notification_run(&self, local: &LocalState<P>) -> HandlerRun<P> {
        let mut local = local.clone();
        let Lifecycle::Postponed { process, events } = local.lifecycle else {
            panic!("{} has postponed no event", local.at)
        };
        local.lifecycle = Lifecycle::Up(process);
        for event in &events {
            local.user.on_event(event);
        }
        let seen = events.iter().cloned().map(OwnedObservation::Event).collect();
        HandlerRun { seen, events, ..HandlerRun::without_effects(local) }
    }

    /// Erases the logical clock of a process if no later request reads the clock. This is the case
    /// if each user makes at most one request, and the user of this process has finished. States
    /// that differ only in erased clocks become equal. Has an effect only in a search with the
    /// reduction by commuting deliveries.
    pub(super) fn forget_clock(&self, local: &mut LocalState<P>) {
        let Some(forget) = self.hooks.forget_clock else { return };
        let is_reducing = self.is_reducing.load(Ordering::Relaxed);
        let is_read = !self.workload.has_single_requests() || !local.user.has_finished();
        if let Some(process) = local.lifecycle.process_mut().filter(|_| is_reducing && !is_read) {
            forget(process);
        }
    }
}
