//! Validates the options of simulations, converts them into settings, and performs runs.

use std::io::BufWriter;
use std::path::Path;
use std::sync::Arc;

use tenure_algorithms::catalogue::Parameters;
use tenure_core::{
    Card, Graph, ProcessId, Property, Rank, RequiredInput, Service, Timing, Topology,
};
use tenure_instances::{
    AnyAlgorithm, InterventionPlan, RunParameters, TraceHeaderFields, TraceOutput,
};
use tenure_sim::{
    BackgroundTraffic, DetectorSettings, Distribution, EntriesPerProcess, GroupSizeCondition,
    Initiators, LockWorkload, NetworkGraph, PlannedRunError, ProcessList, Random, RequestPattern,
    RunControls, RunError, RunReport, Settings, SettingsError, Workload,
    group_command_line_options, replay_command, steering_command_line_options,
};
use tenure_trace::files;

use super::options::RunOptions;
use crate::cmd::custom_property::CustomPropertyOptions;
use crate::cmd::failure::Failure;
use crate::cmd::group::{EntriesOption, check_distinct_ranks};
use crate::cmd::program::replace_program_name;
use crate::cmd::property::check_requested_properties;

#[derive(Clone, Debug)]
pub(crate) struct SimulationPlan {
    pub(crate) card: Card,
    pub(crate) parameters: Parameters,
    /// Settings that are common to all runs. They contain no ranks if the user gives none, or if
    /// each run draws its own ranks.
    settings: Settings,
    pub(crate) has_random_ids: bool,
    /// Options of the algorithm, as on a command line, for replay commands. These options are not
    /// contained in `settings`.
    own_options: String,
    /// Names of the vertices in the file of `--topology`; empty if the vertices have only numbers.
    pub(crate) vertex_names: Vec<String>,
    /// Options of the algorithm, as on a command line, for headers of traces. If an option names a
    /// file, the text contains the contents of the file instead of the name.
    header_options: String,
    /// Properties that the user requests by name.
    named: Vec<Property>,
    pub(crate) intervention_plan: InterventionPlan,
}

pub(super) fn supported_properties() -> impl Iterator<Item = Property> {
    let is_supported = |it: &Property| {
        let mut agreements = Service::AGREEMENTS.iter();
        it.applies_to(Service::MutexAndElection)
            || agreements.any(|service| it.applies_to(*service))
    };
    let own = tenure_instances::custom_properties(Service::MutexAndElection);
    Property::ALL.into_iter().filter(is_supported).chain(own)
}

/// Splits a name such as `ricart-agrawala+clock-only-defer` into the algorithm and its variants.
pub(crate) fn split_variants(algorithm: &str) -> (&str, impl Iterator<Item = &str>) {
    let mut parts = algorithm.split('+');
    (parts.next().unwrap_or_default(), parts)
}

impl SimulationPlan {
    /// Creates a plan for an algorithm. The user can select variants of the algorithm by options,
    /// and by a `+` after the name of the algorithm.
    pub(crate) fn new(
        algorithm: &str,
        options: &RunOptions,
        requested_properties: &[Property],
    ) -> Result<SimulationPlan, Failure> {
        let (algorithm, variants) = split_variants(algorithm);
        let mut options = options.clone();
        options.group.variant.extend(variants.map(str::to_owned));
        SimulationPlan::of(algorithm, &options, requested_properties)
    }

    fn of(
        algorithm: &str,
        options: &RunOptions,
        named: &[Property],
    ) -> Result<SimulationPlan, Failure> {
        let settings = settings(options)?;
        let parameters = parameters(options.group.parameters()?, &settings);
        let card = tenure_instances::card(algorithm, &parameters).map_err(Failure::usage)?;
        options.group.check_timeout_names(&card)?;
        let mut plan = SimulationPlan {
            settings,
            parameters,
            has_random_ids: options.group.has_random_ids(),
            own_options: options.group.algorithm_options(),
            vertex_names: options.group.vertex_names().to_vec(),
            header_options: options.group.inlined_algorithm_options(),
            named: named.to_vec(),
            intervention_plan: InterventionPlan::default(),
            card,
        };
        plan.set_network()?;
        plan.set_workload(options)?;
        plan.check_properties()?;
        if options.gst.is_some() && plan.timing() != Timing::Partial {
            let message = "--gst requires --timing partial";
            return Err(Failure::usage(message));
        }
        plan.settings.check().map_err(settings_failure)?;
        plan.settings.check_against(&plan.card).map_err(settings_failure)?;
        Ok(plan)
    }

    /// If the user gives a graph, makes it the network of the run. Some algorithms send only along
    /// the edges of the graph. The messages of other algorithms are routed along the edges.
    /// Timeouts follow from the longest route.
    fn set_network(&mut self) -> Result<(), Failure> {
        let Some(graph) = &self.parameters.graph else { return Ok(()) };
        let graph = Arc::clone(graph);
        self.settings.network.graph = Some(match self.card.topology {
            Topology::Graph => NetworkGraph::direct(graph),
            _ => NetworkGraph::underlay(graph).map_err(Failure::usage)?,
        });
        let parameters = parameters(self.parameters.clone(), &self.settings);
        self.card = tenure_instances::card(&self.card.name, &parameters).map_err(Failure::usage)?;
        self.parameters = parameters;
        Ok(())
    }

    fn set_workload(&mut self, options: &RunOptions) -> Result<(), Failure> {
        self.settings.workload = match self.card.service {
            Service::Election => {
                let initiators = options.group.initiators().map(<[ProcessId]>::to_vec);
                let initiators = initiators.map_or(Initiators::All, Initiators::Listed);
                Workload { initiators: Some(initiators), ..Workload::default() }
            }
            service if service.is_agreement() => {
                let entries = entries(options, self.size())?;
                let entries = proposals(options, &entries, self.size());
                let pattern = RequestPattern::Closed { think: Distribution::ZERO };
                // The replay command must not name a time that has no effect on the service.
                let hold =
                    if has_hold_time(service) { options.hold } else { Distribution::time_units(1) };
                Workload::locking(LockWorkload { pattern, entries, hold })
            }
            _ => {
                let workload = Workload::locking(locking(options, self.size())?);
                let (send_chance, latency) = (options.app_messages, options.default_latency());
                let chatter = BackgroundTraffic { send_chance, triggers_request: true, latency };
                if send_chance.can_occur() {
                    workload.with_background_traffic(chatter)
                } else {
                    workload
                }
            }
        };
        Ok(())
    }

    /// Returns a warning if `--k` admits more holders than the group has processes.
    pub(crate) fn excess_holders_warning(&self, options: &RunOptions) -> Option<String> {
        let (k, size) = (options.group.k?.get(), self.size());
        let is_used = !options.unused_options(&self.card).contains(&"--k");
        (k > size && is_used).then(|| {
            format!("--k {k} has the effect of --k {size}, because the group has {size} processes")
        })
    }

    pub(crate) fn with_event_limit(mut self, events: u64) -> Self {
        self.settings.limits.events = Some(events);
        self
    }

    pub(crate) fn with_custom_properties(
        mut self,
        own: &CustomPropertyOptions,
    ) -> Result<Self, Failure> {
        if !own.is_empty() {
            let algorithm = self.build_algorithm(&self.settings)?;
            let own = own.parse_with_sample_runs(&self.card, &*algorithm, self.size())?;
            self.settings.monitoring.custom = own;
        }
        Ok(self)
    }

    fn check_properties(&mut self) -> Result<(), Failure> {
        let (card, settings) = (&self.card, &self.settings);
        let expected = || {
            let known = supported_properties().filter(|it| it.applies_to(card.service));
            format!("expected {}", known.map(Property::name).collect::<Vec<_>>().join(", "))
        };
        let (cost, topology) =
            (settings.cost_check_skip_reason(card), settings.link_check_skip_reason(card));
        check_requested_properties(&self.named, card, expected, cost, topology)?;
        let judged = |named: &Property| match self.card.resolve_max_inside(*named) {
            Property::KExclusion(1) => Property::MutualExclusion,
            property => property,
        };
        self.named = self.named.iter().map(judged).collect();
        if self.named.iter().any(|named| named.required_input() == RequiredInput::Clocks) {
            self.settings.monitoring.order_check = GroupSizeCondition::Always;
        }
        if self.named.contains(&Property::LocalMutualExclusion) {
            // Without a graph, any two processes are neighbours.
            let complete = || Arc::new(Graph::complete(self.settings.size));
            let conflicts = self.card.graph.clone().unwrap_or_else(complete);
            self.settings.monitoring.conflicts = Some(conflicts);
        }
        let promised = self.card.promises_under_drift(Some(self.settings.time.drift_ppm));
        let counted = promised.chain(self.named.iter().copied());
        self.settings.monitoring.properties = Some(counted.collect());
        Ok(())
    }

    fn timing(&self) -> Timing {
        self.settings.time.timing.unwrap_or(self.card.timing)
    }

    pub(crate) fn size(&self) -> u32 {
        self.settings.size
    }

    pub(crate) fn with_load_measurement(mut self, is_measured: bool) -> Self {
        self.settings.monitoring.load = is_measured;
        self
    }

    /// Disables vector clocks, except if a required property needs them. Without vector clocks, the
    /// run cannot decide the properties about the order of entries.
    pub(crate) fn without_unneeded_vector_clocks(mut self) -> Self {
        let ordered = [Property::FirstComeFirstServed, Property::OrderWithMessages];
        if !ordered.into_iter().any(|property| self.is_required(property)) {
            self.settings.monitoring.order_check = GroupSizeCondition::Never;
        }
        self
    }

    pub(crate) fn common_settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns true if a violation of this property is a failure. This is the case if the algorithm
    /// promises the property, the user requests it, or the program that embeds Tenure adds it.
    pub(crate) fn is_required(&self, property: Property) -> bool {
        let mut promised = self.card.promises_under_drift(Some(self.settings.time.drift_ppm));
        let mut named = self.named.iter().copied();
        let is_own = matches!(property, Property::Custom(_));
        is_own
            || promised.any(|promise| promise.implies(property))
            || named.any(|it| it.implies(property))
    }

    pub(crate) fn settings_for_seed(&self, seed: u64) -> Settings {
        let mut settings = Settings { seed, ..self.settings.clone() };
        if self.has_random_ids {
            let drawn = Random::new(seed).permutation(settings.size);
            settings.ranks = drawn.into_iter().map(|place| Rank::from_id(place + 1)).collect();
        }
        settings
    }

    pub(crate) fn simulate_run(
        &self,
        settings: Settings,
        trace_file: Option<TraceFile<'_>>,
        controls: RunControls<'_>,
    ) -> Result<RunReport, Failure> {
        let algorithm = self.build_algorithm(&settings)?;
        self.simulate_algorithm(&*algorithm, settings, trace_file, controls)
    }

    /// Simulates a run of an algorithm. The caller gets `algorithm` from [`Self::build_algorithm`],
    /// with the same settings. If `trace_file` is given, writes a trace of the run.
    pub(crate) fn simulate_algorithm(
        &self,
        algorithm: &dyn AnyAlgorithm,
        settings: Settings,
        trace_file: Option<TraceFile<'_>>,
        controls: RunControls<'_>,
    ) -> Result<RunReport, Failure> {
        let path = trace_file.map_or(Path::new("a trace"), |file| file.path);
        let trace = trace_file.map(|TraceFile { path, has_states: states }| {
            let file = files::create(path).map_err(Failure::cannot_write(path))?;
            Ok(TraceOutput {
                writer: Box::new(BufWriter::new(file)),
                has_states: states,
                header: self.trace_header(&settings),
            })
        });
        let trace = trace.transpose()?;
        let run =
            RunParameters { settings, intervention_plan: &self.intervention_plan, trace, controls };
        algorithm.simulate(run).map_err(|error| steering_failure(error, path))
    }

    pub(crate) fn build_algorithm(
        &self,
        settings: &Settings,
    ) -> Result<Box<dyn AnyAlgorithm>, Failure> {
        let absent = settings.down.iter().copied().collect();
        let sized = Parameters { size: settings.size, absent, ..self.parameters.clone() };
        let ranks = ranks(settings, &self.parameters);
        let parameters = Parameters { ranks, ..parameters(sized, settings) };
        tenure_instances::algorithm(&self.card.name, &parameters).map_err(Failure::usage)
    }

    pub(crate) fn trace_header(&self, settings: &Settings) -> TraceHeaderFields {
        TraceHeaderFields {
            replay: Some(replace_program_name(&self.replay_command(settings)).into_owned()),
            options: self.option_words(settings),
        }
    }

    fn option_words(&self, settings: &Settings) -> Vec<String> {
        let mut options = group_command_line_options(settings) + &self.header_options;
        if self.card.faults.absence && !settings.down.is_empty() {
            options.push_str(&format!(" --down {}", ProcessList(settings.down.clone())));
        }
        if check_distinct_ranks(&settings.ranks).is_err() {
            options.push_str(" --beyond-assumptions");
        }
        options.split_whitespace().map(str::to_owned).collect()
    }

    pub(crate) fn replay_command(&self, settings: &Settings) -> String {
        let InterventionPlan { interventions, max_steps } = &self.intervention_plan;
        self.unsteered_replay_command(settings)
            + &steering_command_line_options(interventions, *max_steps)
    }

    /// Returns the command that replays a run without the interventions of the user.
    pub(crate) fn unsteered_replay_command(&self, settings: &Settings) -> String {
        let drawn = self.has_random_ids && *settings == self.settings_for_seed(settings.seed);
        let command = if drawn {
            let settings = Settings { ranks: [].into(), ..settings.clone() };
            replay_command(&self.card.name, &settings) + " --ids random"
        } else {
            replay_command(&self.card.name, settings)
        };
        let mut command = command + &self.own_options;
        if !self.named.is_empty() {
            let names: Vec<String> = self.named.iter().map(Property::to_string).collect();
            command.push_str(&format!(" --property {}", names.join(",")));
        }
        command
    }
}

fn settings(options: &RunOptions) -> Result<Settings, Failure> {
    let group = &options.group;
    let parameters = group.parameters()?;
    let mut settings = Settings::new(parameters.size);
    settings.seed = options.seed;
    if group.loads.is_some() || group.ids.is_some() && !group.has_random_ids() {
        settings.ranks = parameters.ranks;
    }
    settings.network.latency = options.latency(parameters.size)?;
    settings.network.order = group.channel_order();
    settings.network.loss = options.lose;
    settings.network.duplication = options.duplicate;
    settings.time.timing = group.timing();
    settings.time.gst = options.gst.unwrap_or(0);
    settings.time.drift_ppm = options.drift;
    settings.time.step = options.step;
    settings.faults = options.faults()?;
    settings.down = group.down_processes().to_vec();
    if let Some(delay) = options.suspect_after {
        settings.detector = Some(DetectorSettings { delay });
    }
    settings.limits.until = options.until;
    settings.beyond_assumptions = group.beyond_assumptions;
    Ok(settings)
}

fn entries(options: &RunOptions, size: u32) -> Result<EntriesPerProcess, Failure> {
    let entries = match &options.group.entries {
        None => EntriesPerProcess::Each(1),
        Some(EntriesOption::Of(entries)) => entries.clone(),
        Some(EntriesOption::Unbounded) => {
            let message = "--entries unbounded is supported by `tenure check` only: give a number";
            return Err(Failure::usage(message));
        }
    };
    let Some(hot) = options.hot else { return Ok(entries) };
    if hot.process.0 >= size {
        let message = format!("--hot names {}, but the group is P1 to P{size}", hot.process);
        return Err(Failure::usage(message));
    }
    hot.applied_to(&entries, size).ok_or_else(|| {
        let most = u32::MAX;
        Failure::usage(format!(
            "--hot {hot} is ten times the largest number of --entries: expected at most {most} \
             entries, as in --hot {hot}:50"
        ))
    })
}

fn locking(options: &RunOptions, size: u32) -> Result<LockWorkload, Failure> {
    let (pattern, entries) = match (options.sequential, options.arrivals) {
        (Some(total), _) => {
            (RequestPattern::Sequential { total: total.get() }, EntriesPerProcess::Each(0))
        }
        (None, Some(every)) => (RequestPattern::Open { every }, entries(options, size)?),
        (None, None) => (RequestPattern::Closed { think: options.think }, entries(options, size)?),
    };
    Ok(LockWorkload { pattern, entries, hold: options.hold })
}

/// Returns true if users of the service hold something for a time and then give it back.
pub(super) fn has_hold_time(service: Service) -> bool {
    if service.is_agreement() { service.has_hold_time() } else { service != Service::Election }
}

/// Returns the number of proposals of each user. The number is 0 for a process that is not among
/// the given initiators.
fn proposals(options: &RunOptions, entries: &EntriesPerProcess, size: u32) -> EntriesPerProcess {
    let Some(initiators) = options.group.initiators() else { return entries.clone() };
    let times = |at: ProcessId| if initiators.contains(&at) { entries.of(at) } else { 0 };
    EntriesPerProcess::Listed((0..size).map(ProcessId).map(times).collect())
}

/// Returns the parameters with the delays of `settings`. The algorithm derives its timeouts from
/// these delays.
fn parameters(parameters: Parameters, settings: &Settings) -> Parameters {
    let (latency, step) = longest_message_and_step(settings);
    parameters.with_timing_bounds(latency, step, settings.time.drift_ppm)
}

fn ranks(settings: &Settings, otherwise: &Parameters) -> Arc<[Rank]> {
    match (settings.ranks.is_empty(), settings.size == otherwise.size) {
        (false, _) => settings.ranks.clone(),
        (true, true) => otherwise.ranks.clone(),
        (true, false) => Parameters::with_defaults(settings.size).ranks,
    }
}

/// Returns the longest latency of a message on the longest route, and the longest duration of a
/// step, in ticks. For an unbounded distribution, uses ten times its mean or median.
fn longest_message_and_step(settings: &Settings) -> (u64, u64) {
    let longest = |span: &Distribution| match *span {
        Distribution::Exponential { mean } => mean.saturating_mul(10),
        Distribution::LogNormal { median, .. } => median.saturating_mul(10),
        Distribution::Constant(ticks) | Distribution::Uniform { max: ticks, .. } => ticks,
    };
    let latency = settings.network.latency.link_distributions().map(longest).max().unwrap_or(0);
    (latency.saturating_mul(settings.network.heaviest_route_weight()), longest(&settings.time.step))
}

fn settings_failure(error: SettingsError) -> Failure {
    match error {
        SettingsError::UnmetAssumption { algorithm, weakness } => {
            Failure::unmet_assumption(&algorithm, &weakness)
        }
        error => Failure::usage(error),
    }
}

/// File to which the trace of a run is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TraceFile<'a> {
    pub(crate) path: &'a Path,
    /// True if the trace contains the states of the processes.
    pub(crate) has_states: bool,
}

fn steering_failure(error: PlannedRunError, path: &Path) -> Failure {
    match error {
        PlannedRunError::Run(RunError::Settings(error)) => settings_failure(error),
        PlannedRunError::Run(RunError::Trace(error)) => Failure::cannot_write(path)(error),
        error => Failure::usage(format!("--steer: {error}")),
    }
}
