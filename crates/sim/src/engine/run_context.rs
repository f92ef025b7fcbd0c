//! The part of the simulator that does not depend on the protocol. It is therefore compiled only
//! once.

use tenure_core::service::{mutex, mutex_and_election};
use tenure_core::{Layer, MessageLabel, ProcessId, Service};
use tenure_trace::RecordKind;

use crate::engine::agreement_users::AgreementUsers;
use crate::engine::clocks::LocalClocks;
use crate::engine::detector::DetectorOracle;
use crate::engine::fault_injector::FaultInjector;
use crate::engine::live_processes::LiveProcesses;
use crate::engine::lock_users::LockUsers;
use crate::engine::router::Router;
use crate::engine::scheduled_event::{EventQueue, ScheduledEvent};
use crate::engine::tracer::Tracer;
use crate::engine::user_messages::UserTraffic;
use crate::judging::beliefs::LeaderBeliefs;
use crate::judging::causality::VectorClocks;
use crate::judging::monitors::Monitors;
use crate::results::elections::{ElectionChange, ElectionCostCounter};
use crate::results::load::RunLoad;
use crate::results::metrics::RunMetrics;
use crate::settings::Settings;
use crate::settings::distribution::MAX_TIME;
use crate::settings::fault::{CrashTrigger, Fault, RecoveredState};
use crate::steer::recorder::TraceRecorder;

/// The state of a run, except the processes, their messages and their timers.
#[derive(Debug)]
pub(crate) struct RunContext {
    pub(crate) settings: Settings,
    pub(crate) now: u64,
    /// Last time of the run, in ticks. No event after this time is handled.
    pub(crate) end_time: u64,
    pub(crate) live_processes: LiveProcesses,
    pub(crate) router: Router,
    pub(crate) clocks: LocalClocks,
    /// Queue of configured faults. If a fault and the arrival of a message have the same time, the
    /// fault occurs first.
    pub(crate) fault_queue: EventQueue,
    /// Queue of the events that are neither faults nor arrivals of protocol messages. If such an
    /// event and the arrival of a message have the same time, the message arrives first.
    pub(crate) event_queue: EventQueue,
    pub(crate) faults: FaultInjector,
    /// True if the settings contain a fault or a process that is down, or if the caller may crash
    /// processes. If false, the run skips all checks for such faults.
    pub(crate) has_faults: bool,
    pub(crate) detector: DetectorOracle,
    pub(crate) lock_users: Option<LockUsers>,
    pub(crate) agreement_users: Option<AgreementUsers>,
    pub(crate) user_traffic: UserTraffic,
    /// Process whose user issues its next command at the end of the present step. `None` if no user
    /// does.
    pub(crate) next_user: Option<ProcessId>,
    /// Number of commands of [`Simulation::with_command`](crate::Simulation::with_command) that are
    /// not issued yet.
    pub(crate) script_left: usize,
    pub(crate) beliefs: LeaderBeliefs,
    pub(crate) monitors: Monitors,
    pub(crate) tracer: Tracer,
    pub(crate) metrics: RunMetrics,
    pub(crate) elections: ElectionCostCounter,
    /// Time at which the newest election started, in ticks.
    pub(crate) election_start: u64,
    /// Time of the last exit from the critical section, in ticks, until the next entry. `None` if
    /// no process waited for the lock at this exit, or if all waiting processes have crashed.
    pub(crate) last_exit: Option<u64>,
    pub(crate) progress: LastProgress,
    /// Number of messages to other processes that are in flight at the end of the run. 0 until
    /// then.
    pub(crate) in_flight_at_end: u64,
    /// Time without progress, in ticks, after which the run ends as stalled.
    /// [`Self::note_progress`] defines progress.
    pub(crate) stall_timeout: u64,
}

/// Moment of the last progress: the time in ticks, and the number of events handled until then.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LastProgress {
    pub(crate) time: u64,
    pub(crate) events: u64,
}

/// Services of the protocol that workloads and monitors use. `agreement` is `None` if the protocol
/// offers no agreement service.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProvidedServices {
    pub(crate) mutex: bool,
    pub(crate) election: bool,
    pub(crate) agreement: Option<Service>,
}

impl RunContext {
    pub(crate) fn new(
        settings: Settings,
        services: ProvidedServices,
        recorder: Option<TraceRecorder>,
    ) -> Self {
        let size = settings.size;
        let has_faults = !settings.faults.is_empty() || !settings.down.is_empty();
        let live_processes = LiveProcesses::new(&settings, has_faults);
        let order = settings.monitoring.order_check;
        let has_clocks = order.is_met_by(size) && (services.mutex || recorder.is_some());
        let locking = settings.workload.locking.clone().filter(|_| services.mutex);
        let lock_users =
            locking.map(|locking| LockUsers::new(locking, &settings, live_processes.up_flags()));
        let metrics = reserved_metrics(&settings, services, lock_users.as_ref());
        let mut run = RunContext {
            now: 0,
            end_time: settings.limits.until.map_or(MAX_TIME, |until| until.min(MAX_TIME)),
            live_processes,
            router: Router::new(&settings),
            clocks: LocalClocks::new(&settings),
            fault_queue: EventQueue::new(),
            event_queue: EventQueue::new(),
            faults: FaultInjector::new(&settings.faults),
            has_faults,
            detector: DetectorOracle::new(settings.seed),
            lock_users,
            agreement_users: AgreementUsers::new(&settings, services),
            user_traffic: UserTraffic::new(settings.seed),
            next_user: None,
            script_left: 0,
            beliefs: LeaderBeliefs::new(if services.election { size } else { 0 }),
            monitors: Monitors::new(&settings, services, has_clocks),
            tracer: Tracer::new(has_clocks.then(|| VectorClocks::new(size)), recorder),
            metrics,
            elections: ElectionCostCounter::default(),
            election_start: 0,
            last_exit: None,
            progress: LastProgress::default(),
            in_flight_at_end: 0,
            stall_timeout: settings.limits.stall_timeout(size, &settings.network),
            settings,
        };
        run.schedule_faults();
        run
    }

    /// Returns true if the workload has requests, and all of them are served. Processes that are
    /// down or cut off from a majority need not be served.
    pub(crate) fn is_served(&self) -> bool {
        let elects = self.settings.workload.initiators.is_some();
        let locked = self.lock_users.as_ref().is_none_or(LockUsers::is_served);
        let has_requests = elects || self.lock_users.is_some() || self.agreement_users.is_some();
        let live = self.live_processes.connected_count();
        let elected = !elects || self.beliefs.is_unanimous_about_term(live);
        has_requests && locked && self.is_agreed() && elected
    }

    fn is_agreed(&self) -> bool {
        let is_connected = |at: ProcessId| self.live_processes.is_connected(at);
        self.agreement_users.as_ref().is_none_or(|it| it.users.are_all_served(is_connected))
    }

    /// Returns true if the run is complete once no message is in flight. This is the case if all
    /// requests are served, and no fault, scheduled command or report of the failure detector is
    /// pending. A run with a configured end time is never complete before this time.
    pub(crate) fn is_complete_when_idle(&self) -> bool {
        self.settings.limits.until.is_none()
            && self.fault_queue.is_empty()
            && self.script_left == 0
            && !self.detector.has_pending_report()
            && self.is_served()
    }

    /// Returns true if an event other than a timer and the arrival of a protocol message is
    /// scheduled: a fault, a command of a user, a message between users or a report of the failure
    /// detector.
    pub(crate) fn is_external_event_pending(&self) -> bool {
        let is_timer = |event: &ScheduledEvent| matches!(event, ScheduledEvent::Timer { .. });
        !self.fault_queue.is_empty() || !self.event_queue.iter().all(is_timer)
    }

    /// Returns a new tag for a message that `from` sends now. See [`Tracer`] for tags.
    pub(crate) fn new_message_tag(&mut self, from: ProcessId) -> u32 {
        self.tracer.new_message_tag(from, self.live_processes.session(from))
    }

    #[cold]
    pub(crate) fn count_dropped(&mut self, label: MessageLabel) {
        self.metrics.dropped += 1;
        if self.settings.monitoring.metrics {
            self.metrics.counts_of_kind(label).dropped += 1;
        }
    }

    #[cold]
    pub(crate) fn count_duplicated(&mut self, label: MessageLabel) {
        self.metrics.duplicated += 1;
        if self.settings.monitoring.metrics {
            self.metrics.counts_of_kind(label).duplicated += 1;
        }
    }

    /// Writes a trace record about a process, with its vector clock if clocks are kept. Does not
    /// advance the clock.
    #[cold]
    pub(crate) fn trace_without_tick(&mut self, process: ProcessId, kind: RecordKind) {
        self.tracer.record(self.now, process, self.live_processes.session(process), kind);
    }

    /// Advances the vector clock of a process because of an event, and writes a trace record of the
    /// event.
    #[cold]
    pub(crate) fn trace_event(&mut self, process: ProcessId, kind: RecordKind) {
        self.tracer.tick(process);
        self.trace_without_tick(process, kind);
    }

    /// Writes a trace record about the whole group.
    pub(crate) fn trace_group(&mut self, kind: RecordKind) {
        self.tracer.record_group(self.now, kind);
    }

    /// Records the present time as the time of the last progress. Progress is an entry to or an
    /// exit from the critical section, the result of an election at a process, an event of an
    /// agreement service, a crash, a recovery, or the beginning or end of a partition.
    pub(crate) fn note_progress(&mut self) {
        self.progress = LastProgress { time: self.now, events: self.metrics.events };
    }

    fn schedule_faults(&mut self) {
        let mut partition = 0;
        for (fault, configured) in self.settings.faults.clone().into_iter().enumerate() {
            let fault = u32::try_from(fault).expect("fewer than 2^32 faults");
            self.schedule_fault(fault, configured, &mut partition);
        }
    }

    fn schedule_fault(&mut self, fault: u32, configured: Fault, partition: &mut u32) {
        match configured {
            Fault::Crash { process, when: CrashTrigger::At(at), .. } => {
                self.fault_queue.push(at, ScheduledEvent::Crash { fault, process });
            }
            // Other crashes have no fixed time. The fault injector counts the messages and saves at
            // which they occur. A crash inside the critical section or during a wait is scheduled
            // at the entry or the request.
            Fault::Crash { .. } => {}
            Fault::Recover { process, at, memory } => {
                let lost = memory == RecoveredState::Lost;
                self.fault_queue.push(at, ScheduledEvent::Recover { fault, process, lost });
            }
            Fault::Partition { from, until, .. } => {
                let begins = ScheduledEvent::PartitionBegins { fault, partition: *partition };
                self.fault_queue.push(from, begins);
                if let Some(until) = until {
                    let heals = ScheduledEvent::PartitionHeals { partition: *partition };
                    self.fault_queue.push(until, heals);
                }
                *partition += 1;
            }
            Fault::Suspicion { observer, peer, from, until } => {
                let opinion =
                    |suspect| ScheduledEvent::FalseSuspicion { fault, observer, peer, suspect };
                self.fault_queue.push(from, opinion(true));
                if let Some(until) = until {
                    self.fault_queue.push(until, opinion(false));
                }
            }
        }
    }

    /// Updates the elections after an event that may make a new election necessary, such as a
    /// crash.
    pub(crate) fn note_election_disturbance(&mut self) {
        self.track_elections();
        self.monitors.allow_new_election();
    }

    /// Updates the measurements of elections after an event. If the event started an election,
    /// records the time of the start. If the event completed the election, records the duration of
    /// the election.
    pub(crate) fn track_elections(&mut self) {
        if !self.beliefs.elects_leaders() {
            return;
        }
        let agreed = self.beliefs.is_unanimous(self.live_processes.connected_count());
        let sent = || self.metrics.sent_in_layer(Layer::Election);
        match self.elections.observe(agreed, sent) {
            Some(ElectionChange::Started) => self.election_start = self.now,
            Some(ElectionChange::Completed) => {
                self.metrics.election_time.add(self.now - self.election_start);
            }
            None => {}
        }
    }

    /// Passes a command for a lock or an election to the built-in monitors.
    pub(crate) fn judge_command(&mut self, at: ProcessId, command: mutex_and_election::Command) {
        if matches!(command, mutex_and_election::Command::Election(_)) {
            self.monitors.allow_new_election();
        }
        let Some(mutex) = &mut self.monitors.mutex else { return };
        if command != mutex_and_election::Command::Mutex(mutex::Command::Enter) {
            return;
        }
        let clocks = self.tracer.request_clocks(at);
        mutex.on_request(self.now, at, clocks.as_ref().map(|[protocol, all]| [protocol, all]));
    }
}

/// Creates the metrics of a run. Reserves room for the expected entries, so that counting rarely
/// allocates.
fn reserved_metrics(
    settings: &Settings,
    services: ProvidedServices,
    users: Option<&LockUsers>,
) -> RunMetrics {
    let mut metrics = RunMetrics::default();
    if services.election {
        metrics.is_election_participant = vec![false; settings.size as usize];
    }
    metrics.load = settings.monitoring.load.then(|| Box::new(RunLoad::new(settings.size)));
    let expected = users.map_or(0, LockUsers::remaining_entries).min(1 << 24);
    if settings.monitoring.metrics {
        metrics.entering_processes.reserve(usize::try_from(expected).unwrap_or(0));
    }
    metrics
}
