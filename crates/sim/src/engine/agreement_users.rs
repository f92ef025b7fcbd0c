//! Users of an agreement service. The module decides when each user issues its next command, and
//! records the events that the users received.

use tenure_core::ProcessId;
use tenure_core::service::agreement::{Command, Event, Users};

use crate::engine::random::{Random, RandomStream};
use crate::engine::run_context::ProvidedServices;
use crate::results::metrics::RunMetrics;
use crate::settings::Settings;
use crate::settings::distribution::Distribution;

/// Users of an agreement service, one per process.
#[derive(Debug)]
pub(crate) struct AgreementUsers {
    pub(crate) users: Users,
    /// True if users issue commands by themselves. False if a schedule contains all commands of the
    /// run.
    pub(crate) is_spontaneous: bool,
    /// Time in ticks for which a user uses a resource, a bottle (drinking philosophers) or a forum
    /// (group mutual exclusion).
    hold: Distribution,
    random: Random,
    /// Time at which a user issued the first command of the run, in ticks. `None` until then.
    since: Option<u64>,
    /// For each process: descriptions of the events that its user has received.
    events: Vec<Vec<String>>,
}

impl AgreementUsers {
    /// Creates the users of an agreement service. Each user issues as many commands as the workload
    /// configures entries for its process. Returns `None` if the protocol has no agreement service.
    pub(crate) fn new(settings: &Settings, services: ProvidedServices) -> Option<Self> {
        let locking = settings.workload.locking.as_ref();
        let times = |at| locking.map_or(0, |locking| locking.entries.of(at));
        let users = Users::new(services.agreement?, settings.size, times)?;
        let events = vec![Vec::new(); settings.size as usize];
        let hold = locking.map_or(Distribution::ZERO, |locking| locking.hold);
        let random = Random::stream(settings.seed, RandomStream::Workload);
        Some(AgreementUsers { users, is_spontaneous: true, hold, random, since: None, events })
    }

    /// Returns the next command that the user of `process` issues by itself. Returns `None` if the
    /// user issues no command now.
    pub(crate) fn next_command(&self, process: ProcessId) -> Option<Command> {
        self.is_spontaneous.then(|| self.users.next_command(process)).flatten()
    }

    /// Draws the time, in ticks, at which the user of `process` will release the resource, bottle
    /// or forum that it uses. Returns `None` if the user uses nothing, or issues no commands by
    /// itself.
    pub(crate) fn draw_end_of_use(&mut self, now: u64, process: ProcessId) -> Option<u64> {
        let is_using = self.is_spontaneous && self.users.is_using(process);
        is_using.then(|| now.saturating_add(self.hold.draw(&mut self.random)))
    }

    /// Records a command that the user of `at` issues.
    pub(crate) fn on_command(
        &mut self,
        now: u64,
        at: ProcessId,
        command: &Command,
        metrics: &mut RunMetrics,
    ) {
        self.users.on_command(at, command);
        metrics.requested_agreement_count = self.users.requested_agreement_count();
        self.since.get_or_insert(now);
    }

    /// Records an event that the user of `at` received, and updates the time of the agreement. If
    /// `keeps_texts` is true, also stores a description of the event. Returns true if the user has
    /// another command to issue now.
    pub(crate) fn on_event(
        &mut self,
        now: u64,
        at: ProcessId,
        event: &Event,
        metrics: &mut RunMetrics,
        keeps_texts: bool,
    ) -> bool {
        self.users.on_event(at, event);
        metrics.agreement_time = now - self.since.unwrap_or(now);
        if keeps_texts {
            self.events[at.index()].push(event.to_string());
        }
        self.users.next_command(at).is_some()
    }

    pub(crate) fn take_event_texts(&mut self) -> Vec<Vec<String>> {
        std::mem::take(&mut self.events)
    }
}
