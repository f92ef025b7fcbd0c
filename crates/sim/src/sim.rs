//! A simulation: a protocol with its configuration and settings, ready to run.

use std::io::Write;

use tenure_core::monitors::LinksOnly;
use tenure_core::service::{election, mutex, mutex_and_election};
use tenure_core::{
    Algorithm, Card, CostBound, ExposesLogicalClock, Monitor, ProcessId, Protocol, RequiredInput,
    Service,
};
use tenure_trace::{
    Header, RecordKind, RecordableProtocol, ServiceCommand, TraceProducer, WriteError,
};

use crate::engine::controls::RunControls;
use crate::engine::run_context::{ProvidedServices, RunContext};
use crate::engine::user_messages::ClockHooks;
use crate::engine::world::World;
use crate::judging::custom_monitor::CustomMonitor;
use crate::results::report::{EndReason, RunReport, is_decided};
use crate::settings::configs::ProcessConfigs;
use crate::settings::error::SettingsError;
use crate::settings::network_graph::NetworkGraph;
use crate::settings::{MonitoringSettings, Settings};
use crate::steer::recorder::TraceRecorder;

/// A protocol, its configuration, and everything else that determines a run.
///
/// A run does not consume or change the simulation. Every run of the simulation yields the same
/// report and trace.
#[derive(Clone)]
pub struct Simulation<P: Protocol> {
    name: String,
    service: Service,
    pub(crate) configs: ProcessConfigs<P::Config>,
    settings: Settings,
    /// Commands that [`Simulation::with_command`] has scheduled: time in ticks, process, and
    /// command.
    script: Vec<(u64, ProcessId, P::Command)>,
    monitors: Vec<CustomMonitor<P>>,
    /// Command that repeats the run. `None` if the caller has not set it.
    replay: Option<String>,
    /// Command-line options that recreate the processes, for the header of the trace.
    options: Vec<String>,
    /// True if the trace contains the states of the processes.
    states: bool,
    clock_hooks: Option<ClockHooks<P>>,
    /// Bounds that the cost of a run must meet. `None` if the run does not check its cost.
    cost_bound: Option<CostBound>,
}

/// Error of a run or of its recording.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The settings are invalid, and nothing was run.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The trace could not be written completely. There is no report, even if the run was
    /// completed.
    #[error(transparent)]
    Trace(#[from] WriteError),
}

impl<P: RecordableProtocol> Simulation<P> {
    /// Creates a simulation of a protocol, with or without a [`Card`]. The simulation checks
    /// neither the assumptions of the protocol nor its cost.
    ///
    /// The service is derived from the commands that the protocol accepts. The name is the name of
    /// the type `P`. [`Simulation::with_service`] and [`Simulation::with_name`] replace them.
    pub fn new(configs: impl Into<ProcessConfigs<P::Config>>, settings: Settings) -> Self {
        let offered = |command: mutex_and_election::Command| {
            P::Command::from_mutex_and_election(command).is_some()
        };
        let locks = offered(mutex::Command::Enter.into());
        let service = match (locks, offered(election::Command::Elect.into())) {
            (true, true) => Service::MutexAndElection,
            (true, false) => Service::Mutex,
            (false, true) => Service::Election,
            (false, false) if P::Command::SERVICE.is_agreement() => P::Command::SERVICE,
            (false, false) => Service::Other,
        };
        let name = std::any::type_name::<P>().rsplit("::").next().unwrap_or("protocol");
        Simulation {
            name: name.to_owned(),
            service,
            configs: configs.into(),
            settings,
            script: Vec::new(),
            monitors: Vec::new(),
            replay: None,
            options: Vec::new(),
            states: false,
            clock_hooks: None,
            cost_bound: None,
        }
    }

    /// Sets the name of the algorithm in reports and traces.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets the service that the protocol offers. A protocol of an agreement service needs this
    /// call, because all agreement services have the same command type.
    #[must_use]
    pub fn with_service(self, service: Service) -> Self {
        Simulation { service, ..self }
    }

    /// Sets the command that repeats the run, for the header of its trace.
    #[must_use]
    pub fn with_replay_command(mut self, command: impl Into<String>) -> Self {
        self.replay = Some(command.into());
        self
    }

    /// Sets the command-line options of the algorithm and of its group. The header of the trace
    /// contains these options, so that a reader of the trace can recreate the processes.
    #[must_use]
    pub fn with_header_options(mut self, options: Vec<String>) -> Self {
        self.options = options;
        self
    }

    /// Records the state of a process in the trace after each step that changed it.
    #[must_use]
    pub fn with_recorded_states(mut self) -> Self {
        self.states = true;
        self
    }

    /// Schedules a command that the user of `process` issues at the time `at`, in ticks. The
    /// simulation does not check whether the user may issue the command then. If the process is
    /// down at that time, the command is dropped.
    #[must_use]
    pub fn with_command(mut self, at: u64, process: ProcessId, command: P::Command) -> Self {
        self.script.push((at, process, command));
        self
    }

    /// Adds a monitor. The report contains the finding of the monitor under the property name
    /// `property`. Each run starts with a copy of `monitor`. Runs that follow a schedule, such as
    /// [`Simulation::run_schedule`], do not use the monitor.
    #[must_use]
    pub fn with_monitor<M>(mut self, property: &'static str, monitor: M) -> Self
    where
        M: Monitor<P::Command, P::Event> + Send + Sync + 'static,
    {
        self.monitors.push(CustomMonitor::new(property, monitor));
        self
    }

    /// Returns a copy of the simulation with these monitoring settings.
    #[must_use]
    pub fn with_instrumentation(&self, monitoring: MonitoringSettings) -> Self {
        let settings = Settings { monitoring, ..self.settings.clone() };
        Simulation { settings, ..self.clone() }
    }

    /// Returns the settings of the simulation.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Runs the simulation once.
    ///
    /// # Errors
    ///
    /// [`SettingsError`] if the settings are invalid; nothing was run.
    pub fn run(&self) -> Result<RunReport, SettingsError> {
        self.run_with(RunControls::new())
    }

    /// Runs the simulation once, with progress reports and a stop flag.
    ///
    /// # Errors
    ///
    /// As [`Simulation::run`].
    pub fn run_with(&self, controls: RunControls<'_>) -> Result<RunReport, SettingsError> {
        self.run_recorded(None, controls).map(|(report, ..)| report)
    }

    /// Runs the simulation once. Returns the report and the processes in their final states. If a
    /// process is down at the end, its state is the one before its crash.
    ///
    /// # Errors
    ///
    /// As [`Simulation::run`].
    pub fn run_and_inspect(&self) -> Result<(RunReport, Vec<P>), SettingsError> {
        let ran = self.run_recorded(None, RunControls::new());
        ran.map(|(report, processes, _)| (report, processes))
    }

    /// Runs the simulation once and writes all events to `to` as a trace.
    ///
    /// # Errors
    ///
    /// [`RunError::Settings`] if the settings are invalid; nothing was run. [`RunError::Trace`] if
    /// the trace could not be written completely.
    pub fn run_traced(
        &self,
        to: impl Write + Send + 'static,
        controls: RunControls<'_>,
    ) -> Result<RunReport, RunError> {
        self.check_settings()?;
        let (report, _, recorder) = self.run_recorded(Some(self.create_recorder(to)?), controls)?;
        recorder.map_or(Ok(()), TraceRecorder::finish)?;
        Ok(report)
    }

    pub(crate) fn build_recorded_world(
        &self,
        to: impl Write + Send + 'static,
    ) -> Result<World<'_, P>, RunError> {
        self.check_settings()?;
        let run = RunContext::new(
            self.settings.clone(),
            self.provided_services(),
            Some(self.create_recorder(to)?),
        );
        let monitors = self.monitors.clone();
        Ok(World::new(run, &self.configs, &self.script, monitors, self.clock_hooks))
    }

    pub(crate) fn create_recorder(
        &self,
        to: impl Write + Send + 'static,
    ) -> Result<TraceRecorder, WriteError> {
        let recorder = TraceRecorder::new(Box::new(to), &self.trace_header(), self.states)?;
        Ok(recorder.judging_custom_properties(&self.settings, self.service))
    }

    /// Checks that a run with the settings and the configurations of this simulation is possible.
    pub(crate) fn check_settings(&self) -> Result<(), SettingsError> {
        self.settings.check()?;
        let size = self.settings.size;
        // Checks that the processes, the largest allocation at the start, fit into memory. Later, a
        // failed allocation would abort the program.
        let room = Vec::<P>::new().try_reserve_exact(size as usize);
        room.map_err(|_| SettingsError::TooLarge { size })?;
        for (_, process, _) in &self.script {
            SettingsError::check_process("a command", *process, size)?;
        }
        self.configs.check_count(size)
    }

    fn run_recorded(
        &self,
        recorder: Option<TraceRecorder>,
        mut controls: RunControls<'_>,
    ) -> Result<(RunReport, Vec<P>, Option<TraceRecorder>), SettingsError> {
        self.check_settings()?;
        let recorder = recorder.or_else(|| {
            let judged = !self.settings.monitoring.custom.is_empty();
            judged.then(|| {
                TraceRecorder::without_writer(false)
                    .judging_custom_properties(&self.settings, self.service)
            })
        });
        let run = RunContext::new(self.settings.clone(), self.provided_services(), recorder);
        let monitors = self.monitors.clone();
        let mut world = World::new(run, &self.configs, &self.script, monitors, self.clock_hooks);
        let ended = world.run(&mut controls);
        let (mut report, processes, recorder) = self.finish_run(world, ended);
        self.judge_cost(&mut report);
        Ok((report, processes, recorder))
    }

    /// Compares the cost of a run with its bounds and adds the result to the findings of `report`.
    /// Does nothing if the cost has no bounds, if metrics are off, or if the simulation has
    /// scheduled commands.
    pub(crate) fn judge_cost(&self, report: &mut RunReport) {
        // The bounds apply to requests of the workload. Scripted commands have costs of their own.
        let counted = self.script.is_empty() && self.settings.monitoring.metrics;
        let cost_bound = self.cost_bound.as_ref().filter(|_| counted);
        report.findings.extend(cost_bound.map(|cost_bound| report.cost_finding(cost_bound)));
    }

    /// Ends a run for the reason `ended`. Returns its report, the processes in their final states,
    /// and the recorder of the trace.
    pub(crate) fn finish_run(
        &self,
        mut world: World<'_, P>,
        ended: EndReason,
    ) -> (RunReport, Vec<P>, Option<TraceRecorder>) {
        world.finish_measurements();
        let (mut run, processes, monitors) = world.into_parts();
        // A run that was cut short has no end record in its trace, because a reader of the trace
        // would take each request that is not served yet for one that is never served.
        let decided = is_decided(&run, ended);
        if decided {
            run.trace_group(RecordKind::End);
        }
        let mut recorder = run.tracer.recorder.take();
        let mut report = RunReport::from_run(self.name.clone(), run, ended, decided);
        let judged = recorder.as_mut().map(|it| it.finish_custom_judging(decided));
        report.findings.extend(judged.into_iter().flatten());
        for monitor in monitors {
            report.findings.push(monitor.into_finding(report.finished_at, decided));
        }
        (report, processes, recorder)
    }

    pub(crate) fn provided_services(&self) -> ProvidedServices {
        ProvidedServices {
            agreement: Some(self.service).filter(|service| service.is_agreement()),
            mutex: P::Command::from_mutex_and_election(mutex::Command::Enter.into()).is_some(),
            election: P::Command::from_mutex_and_election(election::Command::Elect.into())
                .is_some(),
        }
    }

    pub(crate) fn trace_header(&self) -> Header {
        let (size, monitoring) = (self.settings.size, &self.settings.monitoring);
        let most_bypass = self.settings.bypass_bounds().into_iter().min();
        let promises = monitoring.properties.iter().flatten();
        let carried = self.settings.network.graph.as_ref().map(NetworkGraph::graph);
        let links = monitoring.allowed_links.as_ref();
        let graph = carried.or_else(|| links.and_then(LinksOnly::graph));
        // Omits promises about the number of messages. The simulator itself judges these promises,
        // because a reader of the trace judges only events.
        let promises =
            promises.filter(|promise| promise.required_input() != RequiredInput::Messages);
        let promises = promises.map(|promise| promise.name().to_owned());
        Header {
            fenced: monitoring.fenced,
            max_inside: monitoring.max_inside,
            ranks: Some(self.settings.ranks.to_vec()),
            promises: promises.collect(),
            most_bypass,
            options: self.options.clone(),
            seed: Some(self.settings.seed),
            replay: self.replay.clone(),
            graph: graph.map(|graph| graph.as_ref().into()),
            ..Header::new(self.name.clone(), self.service, size, TraceProducer::Simulator)
        }
    }
}

impl<P: ExposesLogicalClock> Simulation<P>
where
    P: RecordableProtocol,
{
    /// Makes each message between users ([`BackgroundTraffic`](crate::BackgroundTraffic)) carry the
    /// logical clock of its sender's protocol. The receiver's protocol observes this clock.
    /// Therefore the next request of the receiver has a larger timestamp than the earlier requests
    /// of the sender.
    #[must_use]
    pub fn with_timestamped_traffic(mut self) -> Self {
        self.clock_hooks = Some(ClockHooks::new());
        self
    }
}

impl<P: Algorithm> Simulation<P>
where
    P: RecordableProtocol,
{
    /// Creates a simulation of an algorithm with a [`Card`]. The card supplies the settings that
    /// are not set explicitly. If the processes have different configurations, the card is that of
    /// the first process.
    ///
    /// # Errors
    ///
    /// [`SettingsError`] if the settings are invalid, if the number of configurations is wrong, or
    /// if the environment does not meet an assumption of the algorithm.
    pub fn for_algorithm(
        configs: impl Into<ProcessConfigs<P::Config>>,
        settings: Settings,
    ) -> Result<Self, SettingsError> {
        let configs = configs.into();
        settings.check()?;
        configs.check_count(settings.size)?;
        let card: Card = P::card(configs.of(ProcessId(0)), settings.size);
        settings.check_against(&card)?;
        let mut settings = settings.with_card_defaults(&card);
        if let Some(service_time) = P::max_waiting_time(configs.of(ProcessId(0)), settings.size) {
            let default = settings.limits.stall_timeout(settings.size, &settings.network);
            let timeout = default.max(service_time.saturating_mul(2));
            settings.limits.stall_timeout.get_or_insert(timeout);
        }
        let cost_bound = settings.cost_check_skip_reason(&card).is_none().then(|| {
            let workload = settings
                .workload_kind(card.service, false)
                .filter(|_| settings.allows_prediction(&card));
            let predict =
                |workload| P::predicted_messages(configs.of(ProcessId(0)), settings.size, workload);
            CostBound { cost: card.messages.clone(), prediction: workload.and_then(predict) }
        });
        let simulation = Simulation::new(configs, settings);
        Ok(Simulation { service: card.service, cost_bound, ..simulation.with_name(card.name) })
    }
}
