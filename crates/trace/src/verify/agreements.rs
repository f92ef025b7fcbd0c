//! What users of a service of agreement ask and are told, judged by the monitors of the service.

use tenure_core::service::agreement::{Command, Event, Users};
use tenure_core::{AgreementJury, Charge, Finding, Observed, ProcessId, Service};

/// Judges a trace of such a service; of others it says nothing.
#[derive(Clone, Debug)]
pub(super) struct Agreements {
    jury: AgreementJury,
    users: Option<Users>,
}

impl Agreements {
    /// Before anything happened.
    pub(super) fn new(service: Service, charge: &Charge) -> Self {
        // Whatever is asked was asked for a reason.
        let users = Users::of(service, charge.size, |_| u32::MAX);
        Agreements { jury: AgreementJury::new(service, charge), users }
    }

    /// A user asks.
    pub(super) fn asked(&mut self, time: u64, at: ProcessId, command: &Command) {
        if let Some(users) = &mut self.users {
            users.asked(at, command);
        }
        self.jury.observe(time, at, Observed::Command { command, clock: None });
    }

    /// A user is told.
    pub(super) fn told(&mut self, time: u64, at: ProcessId, event: &Event) {
        if let Some(users) = &mut self.users {
            users.told(at, event);
        }
        self.jury.observe(time, at, Observed::Event(event));
    }

    /// A process crashed.
    pub(super) fn crashed(&mut self, time: u64, at: ProcessId) {
        if let Some(users) = &mut self.users {
            users.crashed(at);
        }
        self.jury.observe(time, at, Observed::Crashed);
    }

    /// A process came back.
    pub(super) fn recovered(&mut self, time: u64, at: ProcessId) {
        self.jury.observe(time, at, Observed::Recovered);
    }

    /// The run is over, `calm` if there had been time to agree.
    pub(super) fn end(&mut self, time: u64, calm: bool) {
        self.jury.end(time, calm);
    }

    /// What was found so far.
    pub(super) fn findings(&self) -> Vec<Finding> {
        self.jury.findings()
    }

    /// Of those who are up, who waits.
    pub(super) fn waiting(&self, is_up: impl Fn(ProcessId) -> bool) -> Vec<ProcessId> {
        self.users.as_ref().map_or_else(Vec::new, |users| users.waiting(is_up))
    }
}
