//! Verification of agreement services by their monitors.

use tenure_core::service::agreement::{Command, Event, Users};
use tenure_core::{AgreementMonitorSet, Finding, MonitorConfig, Observation, ProcessId, Service};

/// Verification of an agreement service by monitors, with a model of the users of the service. A
/// service of any other kind has neither monitors nor users here, and is not verified.
#[derive(Clone, Debug)]
pub(super) struct AgreementVerifier {
    monitors: AgreementMonitorSet,
    users: Option<Users>,
}

impl AgreementVerifier {
    pub(super) fn new(service: Service, config: &MonitorConfig) -> Self {
        // Any recorded command is permitted.
        let users = Users::new(service, config.size, |_| u32::MAX);
        AgreementVerifier { monitors: AgreementMonitorSet::new(service, config), users }
    }

    pub(super) fn on_command(&mut self, time: u64, at: ProcessId, command: &Command) {
        if let Some(users) = &mut self.users {
            users.on_command(at, command);
        }
        self.monitors.observe(time, at, Observation::Command { command, clock: None });
    }

    pub(super) fn on_event(&mut self, time: u64, at: ProcessId, event: &Event) {
        if let Some(users) = &mut self.users {
            users.on_event(at, event);
        }
        self.monitors.observe(time, at, Observation::Event(event));
    }

    pub(super) fn on_crash(&mut self, time: u64, at: ProcessId) {
        if let Some(users) = &mut self.users {
            users.on_crash(at);
        }
        self.monitors.observe(time, at, Observation::Crashed);
    }

    pub(super) fn on_recovery(&mut self, time: u64, at: ProcessId) {
        self.monitors.observe(time, at, Observation::Recovered);
    }

    /// Handles the end of the run. `has_settled` is true if the group has had enough time to agree
    /// since the last disturbance, such as a crash.
    pub(super) fn judge_end(&mut self, time: u64, has_settled: bool) {
        self.monitors.judge_end(time, has_settled);
    }

    pub(super) fn findings(&self) -> Vec<Finding> {
        self.monitors.findings()
    }

    /// Returns the live processes whose users wait for a result of the service.
    pub(super) fn waiting_processes(&self, is_up: impl Fn(ProcessId) -> bool) -> Vec<ProcessId> {
        self.users.as_ref().map_or_else(Vec::new, |users| users.waiting_processes(is_up))
    }
}
