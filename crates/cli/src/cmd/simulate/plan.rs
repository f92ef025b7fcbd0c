//! A run that makes sense: from options to settings, and from a seed to a report.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::sync::Arc;

use tenure_algorithms::catalogue::Parameters;
use tenure_core::{
    Card, Detection, Need, ProcessId, Property, Rank, Service, TICKS_PER_UNIT, Timing,
};
use tenure_instances::{Head, Run, Steering, Subject, Traced};
use tenure_sim::{
    Chatter, Controls, Detector, Entries, Initiators, Latency, Locking, Pattern, Processes, Random,
    Report, RunError, Settings, SettingsError, Span, SteerError, Watched, Workload, group_options,
    replay_command, steering_options,
};

use super::options::RunOptions;
use crate::cmd::failure::Failure;
use crate::cmd::group::{EntriesAsked, different};
use crate::cmd::program::with_own_name;
use crate::cmd::property;

/// What will be run, once the options are known to make sense.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// What the algorithm assumes, costs and promises.
    pub(crate) card: Card,
    /// What its configuration depends on.
    pub(crate) parameters: Parameters,
    /// What decides the runs; ranks that are drawn are not in here.
    settings: Settings,
    draws_ids: bool,
    /// The options that settings do not have, for the command that makes a run again.
    own_options: String,
    /// The properties named by the user.
    named: Vec<Property>,
    steering: Steering,
}

/// What is judged of runs.
pub(super) fn judged() -> impl Iterator<Item = Property> {
    let judged = |it: &Property| {
        let mut agreements = Service::AGREEMENTS.iter();
        it.is_of(Service::Office) || agreements.any(|service| it.is_of(*service))
    };
    Property::ALL.into_iter().filter(judged)
}

impl Plan {
    /// The runs of one algorithm.
    pub(crate) fn new(
        algorithm: &str,
        options: &RunOptions,
        named: &[Property],
    ) -> Result<Plan, Failure> {
        let settings = settings(options)?;
        let parameters = parameters(options.group.parameters()?, &settings);
        let card = tenure_instances::card(algorithm, &parameters).map_err(Failure::usage)?;
        options.group.check_timeouts(&card)?;
        let mut plan = Plan {
            settings,
            parameters,
            draws_ids: options.group.draws_ids(),
            own_options: options.group.algorithm_options(),
            named: named.to_vec(),
            steering: Steering::default(),
            card,
        };
        plan.put_to_work(options)?;
        plan.check_properties()?;
        if options.gst.is_some() && plan.timing() != Timing::Partial {
            let says =
                "--gst means nothing without bounds that begin to hold; add --timing partial";
            return Err(Failure::usage(says));
        }
        plan.settings.check().map_err(refused)?;
        plan.settings.check_against(&plan.card).map_err(refused)?;
        Ok(plan)
    }

    /// Gives the users what the service offers.
    fn put_to_work(&mut self, options: &RunOptions) -> Result<(), Failure> {
        self.settings.workload = match self.card.service {
            Service::Election => {
                let initiators = options.group.initiators().map(<[ProcessId]>::to_vec);
                let initiators = initiators.map_or(Initiators::All, Initiators::Listed);
                Workload { initiators: Some(initiators), ..Workload::default() }
            }
            service if service.is_agreement() => {
                let locking = locking(options, self.size())?;
                let entries = asking(options, &locking.entries, self.size());
                let pattern = Pattern::Closed { think: Span::ZERO };
                Workload::locking(Locking { pattern, entries, hold: Span::ZERO })
            }
            _ => {
                let workload = Workload::locking(locking(options, self.size())?);
                let (tell, latency) = (options.app_messages, options.latency);
                let chatter = Chatter { tell, react: true, latency };
                if tell.possible() { workload.with_chatter(chatter) } else { workload }
            }
        };
        Ok(())
    }

    /// The options that were given and make no difference.
    pub(crate) fn idle(&self, options: &RunOptions) -> Vec<&'static str> {
        let service = self.card.service;
        let elects = service == Service::Election || service.is_agreement();
        let given = [
            ("--sequential", options.sequential.is_some()),
            ("--arrivals", options.arrivals.is_some()),
            ("--hot", options.hot.is_some()),
            ("--app-messages", options.app_messages.possible()),
        ];
        let given = given.into_iter().filter(|(_, given)| elects && *given);
        let mut idle = options.group.idle(&self.card.name, self.card.service);
        idle.extend(given.map(|(option, _)| option));
        if options.suspect_after.is_some() && self.card.detection == Detection::None {
            idle.push("--suspect-after");
        }
        let nobody_crashes = options.crash.is_empty() && options.group.down().is_empty();
        if nobody_crashes && !options.recover.is_empty() {
            idle.push("--recover");
        }
        idle
    }

    /// The same runs, each given up after so many events.
    pub(crate) fn giving_up_after(mut self, events: u64) -> Self {
        self.settings.limits.events = Some(events);
        self
    }

    /// The same run, in which somebody meddles.
    pub(crate) fn steered(mut self, steering: Steering) -> Self {
        self.steering = steering;
        self
    }

    /// What somebody does in it.
    pub(crate) fn steering(&self) -> &Steering {
        &self.steering
    }

    fn check_properties(&mut self) -> Result<(), Failure> {
        let Card { name, service, .. } = &self.card;
        if let Some(strange) = self.named.iter().find(|named| !named.is_of(*service)) {
            if let Some(says) = property::of_locks(*strange, &self.card) {
                return Err(Failure::usage(says));
            }
            let known = judged().filter(|it| it.is_of(*service)).map(Property::name);
            let known = known.collect::<Vec<_>>().join(", ");
            let says = format!("--property {strange} is not judged of {name}; there are {known}");
            return Err(Failure::usage(says));
        }
        let asked = |property| self.named.contains(&property);
        let cost = self.settings.unpriced(&self.card).filter(|_| asked(Property::Cost));
        let topology = self.settings.off_ring(&self.card).filter(|_| asked(Property::Topology));
        if let Some(why) = cost.or(topology) {
            let property = if cost.is_some() { "cost" } else { "topology" };
            let says = format!("--property {property} does not judge {name} here: {why}");
            return Err(Failure::usage(says));
        }
        self.named = self.named.iter().map(|named| self.card.meant(*named)).collect();
        if self.named.iter().any(|named| named.needs() == Need::Clocks) {
            self.settings.watch.order = Watched::Always;
        }
        let promised = self.card.promised(Some(self.settings.time.drift_ppm));
        let counted = promised.chain(self.named.iter().copied());
        self.settings.watch.properties = Some(counted.collect());
        Ok(())
    }

    fn timing(&self) -> Timing {
        self.settings.time.timing.unwrap_or(self.card.timing)
    }

    /// How many processes there are.
    pub(crate) fn size(&self) -> u32 {
        self.settings.size
    }

    /// Whether ranks are drawn anew for each run.
    pub(crate) fn draws_ids(&self) -> bool {
        self.draws_ids
    }

    /// What decides all runs alike.
    pub(crate) fn common(&self) -> &Settings {
        &self.settings
    }

    /// Whether a violation of this property is a failure.
    pub(crate) fn counts(&self, property: Property) -> bool {
        let mut promised = self.card.promised(Some(self.settings.time.drift_ppm));
        let mut named = self.named.iter().copied();
        promised.any(|promise| promise.implies(property)) || named.any(|it| it.implies(property))
    }

    /// What decides the run of a seed.
    pub(crate) fn settings(&self, seed: u64) -> Settings {
        let mut settings = Settings { seed, ..self.settings.clone() };
        if self.draws_ids {
            let drawn = Random::new(seed).permutation(settings.size);
            settings.ranks = drawn.into_iter().map(|place| Rank::of_id(place + 1)).collect();
        }
        settings
    }

    /// Makes the run of these settings, and writes its trace where it is wanted.
    pub(crate) fn run(
        &self,
        settings: Settings,
        to: Option<TraceTo<'_>>,
        controls: Controls<'_>,
    ) -> Result<Report, Failure> {
        let path = to.map_or(Path::new("a trace"), |to| to.path);
        let subject = self.subject(&settings)?;
        let trace = to.map(|TraceTo { path, states }| {
            let file = File::create(path).map_err(|error| unwritable(path, &error))?;
            Ok(Traced { to: Box::new(BufWriter::new(file)), states, head: self.head(&settings) })
        });
        let trace = trace.transpose()?;
        let run = Run { settings, steering: &self.steering, trace, controls };
        subject.simulate(run).map_err(|error| unsteerable(error, path))
    }

    /// The algorithm, as it is configured in a run of these settings.
    pub(crate) fn subject(&self, settings: &Settings) -> Result<Box<dyn Subject>, Failure> {
        let absent = settings.down.iter().copied().collect();
        let sized = Parameters { size: settings.size, absent, ..self.parameters.clone() };
        let ranks = ranks(settings, &self.parameters);
        let parameters = Parameters { ranks, ..parameters(sized, settings) };
        tenure_instances::subject(&self.card.name, &parameters).map_err(Failure::usage)
    }

    /// What stands at the head of the trace of these settings.
    pub(crate) fn head(&self, settings: &Settings) -> Head {
        Head {
            replay: Some(with_own_name(&self.replay(settings)).into_owned()),
            options: self.words(settings),
        }
    }

    /// The options that make the group of these settings again, word by word.
    fn words(&self, settings: &Settings) -> Vec<String> {
        let mut options = group_options(settings) + &self.own_options;
        if self.card.faults.absence && !settings.down.is_empty() {
            options.push_str(&format!(" --down {}", Processes(settings.down.clone())));
        }
        if different(&settings.ranks).is_err() {
            options.push_str(" --beyond-assumptions");
        }
        options.split_whitespace().map(str::to_owned).collect()
    }

    /// The command that makes the run of these settings again.
    pub(crate) fn replay(&self, settings: &Settings) -> String {
        let Steering { steers, most } = &self.steering;
        self.replay_unsteered(settings) + &steering_options(steers, *most)
    }

    /// The same without what somebody does in the run.
    pub(crate) fn replay_unsteered(&self, settings: &Settings) -> String {
        let drawn = self.draws_ids && *settings == self.settings(settings.seed);
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
    if group.loads.is_some() || group.ids.is_some() && !group.draws_ids() {
        settings.ranks = parameters.ranks;
    }
    settings.network.latency = options.latency(parameters.size)?;
    settings.network.order = group.order();
    settings.network.loss = options.lose;
    settings.network.duplication = options.duplicate;
    settings.time.timing = group.timing();
    settings.time.gst = options.gst.unwrap_or(0);
    settings.time.drift_ppm = options.drift;
    settings.time.step = options.step;
    settings.faults = options.faults()?;
    settings.down = group.down().to_vec();
    if let Some(delay) = options.suspect_after {
        settings.detector = Some(Detector { delay });
    }
    settings.limits.until = options.until;
    settings.beyond_assumptions = group.beyond_assumptions;
    Ok(settings)
}

fn locking(options: &RunOptions, size: u32) -> Result<Locking, Failure> {
    let mut entries = match &options.group.entries {
        None => Entries::Each(1),
        Some(EntriesAsked::Of(entries)) => entries.clone(),
        Some(EntriesAsked::Unbounded) => {
            let says = "--entries unbounded is for `tenure check`; a run needs a number";
            return Err(Failure::usage(says));
        }
    };
    if let Some(hot) = options.hot {
        if hot.process.0 >= size {
            let says = format!("--hot names {}, but the group is P1 to P{size}", hot.process);
            return Err(Failure::usage(says));
        }
        let mut listed: Vec<u32> = (0..size).map(|place| entries.of(ProcessId(place))).collect();
        listed[hot.process.index()] = hot.entries;
        entries = Entries::Listed(listed);
    }
    let pattern = match (options.sequential, options.arrivals) {
        (Some(total), _) => {
            entries = Entries::Each(0);
            Pattern::Sequential { total }
        }
        (None, Some(every)) => Pattern::Open { every },
        (None, None) => Pattern::Closed { think: options.think },
    };
    Ok(Locking { pattern, entries, hold: options.hold })
}

/// How often each user asks for an agreement: nobody but the initiators, where they are named.
fn asking(options: &RunOptions, entries: &Entries, size: u32) -> Entries {
    let Some(initiators) = options.group.initiators() else { return entries.clone() };
    let times = |at: ProcessId| if initiators.contains(&at) { entries.of(at) } else { 0 };
    Entries::Listed((0..size).map(ProcessId).map(times).collect())
}

/// Timeouts follow from the delays of the settings.
fn parameters(parameters: Parameters, settings: &Settings) -> Parameters {
    let drift_ppm = settings.time.drift_ppm;
    Parameters { delay: longest_delay(settings), drift_ppm, ..parameters }
}

fn ranks(settings: &Settings, otherwise: &Parameters) -> Arc<[Rank]> {
    match (settings.ranks.is_empty(), settings.size == otherwise.size) {
        (false, _) => settings.ranks.clone(),
        (true, true) => otherwise.ranks.clone(),
        (true, false) => Parameters::plain(settings.size).ranks,
    }
}

/// The longest that a message takes until it was handled, steps of everybody else included, as a
/// clock that runs too fast sees it. What has no bound is taken to be ten times its mean.
fn longest_delay(settings: &Settings) -> u64 {
    let longest = |span: &Span| match *span {
        Span::Exponential { mean } => mean.saturating_mul(10),
        Span::LogNormal { median, .. } => median.saturating_mul(10),
        Span::Constant(ticks) | Span::Uniform { max: ticks, .. } => ticks,
    };
    let latency = match &settings.network.latency {
        Latency::Same(span) => longest(span),
        Latency::Links(spans) => spans.iter().map(longest).max().unwrap_or(0),
    };
    let steps = longest(&settings.time.step).saturating_mul(u64::from(settings.size) + 1);
    let delay = latency.saturating_add(steps).min(1 << 40);
    let drift = u64::from(settings.time.drift_ppm);
    let fast = delay * (TICKS_PER_UNIT + drift) / (TICKS_PER_UNIT - drift.min(999_999));
    fast.max(1)
}

/// What the simulator refuses, in the words of the command line.
fn refused(error: SettingsError) -> Failure {
    match error {
        SettingsError::Weaker { algorithm, weakness } => Failure::weaker(&algorithm, &weakness),
        error => Failure::usage(error),
    }
}

/// Where a trace is written, and how much of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TraceTo<'a> {
    /// The file.
    pub(crate) path: &'a Path,
    /// Whether with what processes hold.
    pub(crate) states: bool,
}

fn unwritable(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::environment(format!("cannot write {}: {error}", path.display()))
}

fn unsteerable(error: SteerError, path: &Path) -> Failure {
    match error {
        SteerError::Run(RunError::Settings(error)) => refused(error),
        SteerError::Run(RunError::Trace(error)) => unwritable(path, &error),
        error => Failure::usage(format!("--steer: {error}")),
    }
}
