//! Builder of a check: collects its options and the properties to check.

use std::any::type_name;
use std::ops::RangeInclusive;
use std::sync::Arc;

use tenure_core::monitors::LinksOnly;
use tenure_core::service::{agreement, mutex};
use tenure_core::{
    Algorithm, Layer, Monitor, Order, ProcessId, Property, Protocol, Requirement, Timestamped,
    Topology,
};
use tenure_trace::ServiceCommand;
use tenure_trace::property::CustomProperty;

use crate::config::CheckConfig;
use crate::limits::StopSignal;
use crate::liveness::Fairness;
use crate::measure::MeasureConfig;
use crate::model::bypass::BypassMonitor;
use crate::model::causality::Causality;
use crate::model::monitors::InternedMonitor;
use crate::model::processes::{ErasedMonitors, MonitorNeeds, ProtocolHooks};
use crate::reduce::shifts::Shifts;
use crate::reduce::symmetry::{Symmetric, Symmetry};
use crate::swarm::SwarmConfig;
use crate::users::crashes::UserPhase;
use crate::users::entries::EntryLimits;
use crate::users::stamping::Stamping;
use crate::users::user::Checkable;
use crate::world::Layout;

/// Exhaustive check of a protocol: the schedules to explore, the properties to judge, and the
/// limits of the search.
///
/// ```
/// use tenure_check::Check;
/// use tenure_core::monitors::MutualExclusion;
/// # fn check<P>()
/// # where
/// #     P: tenure_core::Mutex,
/// #     P::Config: Default,
/// # {
/// Check::<P>::of(3)
///     .entries([2, 1, 1])
///     .losing(1)
///     .always(MutualExclusion::new())
///     .run()
///     .assert_holds();
/// # }
/// ```
#[must_use = "a check explores nothing until it runs"]
pub struct Check<P: Checkable> {
    pub(crate) config: CheckConfig,
    pub(crate) protocol: P::Config,
    pub(crate) hooks: ProtocolHooks<P>,
    /// Commands to the agreement service, if the check executes a given schedule. `None` if it
    /// searches.
    pub(crate) schedule: Option<Vec<(ProcessId, agreement::Command)>>,
    pub(crate) monitors: ErasedMonitors<P>,
    pub(crate) needs: MonitorNeeds,
    pub(crate) selected: Vec<SelectedProperty>,
    /// Index of the monitor that measures bypass, and the number of entries at which the monitor
    /// stops counting. `None` if bypass is not measured.
    pub(crate) bypass_cap: Option<(usize, u32)>,
    /// Index of the monitor that collects facts for the properties written as expressions. `None`
    /// if no such property needs facts.
    pub(crate) custom_fold: Option<usize>,
    /// Measure whose minimum and maximum the check determines. `None` for a check of properties.
    pub(crate) measure: Option<MeasureConfig>,
    pub(crate) stop: StopSignal,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SelectedProperty {
    pub(crate) property: Property,
    pub(crate) kind: CheckKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CheckKind {
    /// The monitor at this index checks every state.
    Always(usize),
    /// The monitor at this index checks every state. It also decides in which states a run may end.
    AlwaysAndAtEnd(usize),
    /// Checks that every waiting process is eventually served or informed.
    Progress,
    /// Checks that, while processes wait for a lock, some process enters again and again.
    DeadlockFreedom,
    /// Checks that every process that waits for a lock eventually enters.
    StarvationFreedom,
    /// Evaluates the expression at this index in every state.
    CustomSafety(usize),
    /// Checks that every fair run satisfies the expression at this index.
    CustomLiveness(usize),
}

impl CheckKind {
    /// Returns the bit that stands for the property among the violated properties of a step.
    /// Returns 0 if no step can violate the property, because it is judged only after the search.
    pub(crate) fn step_bits(self, layout: Layout) -> u32 {
        match self {
            CheckKind::Always(index) | CheckKind::AlwaysAndAtEnd(index) => 1 << index,
            CheckKind::CustomSafety(index) => 1 << (layout.monitors + index),
            CheckKind::Progress
            | CheckKind::DeadlockFreedom
            | CheckKind::StarvationFreedom
            | CheckKind::CustomLiveness(_) => 0,
        }
    }
}

impl<P: Checkable> Check<P> {
    /// Creates a check of a group of `size` processes with the default configuration.
    pub fn of(size: u32) -> Self
    where
        P::Config: Default,
    {
        Check::with(size, P::Config::default())
    }

    /// Creates a check of a group of `size` processes with this configuration of the protocol. All
    /// other options have the defaults of [`CheckConfig::new`].
    pub fn with(size: u32, protocol: P::Config) -> Self {
        let name = kebab(type_name::<P>().rsplit("::").next().unwrap_or_default());
        Check {
            config: CheckConfig::new(name, P::Command::SERVICE, size),
            protocol,
            hooks: ProtocolHooks::default(),
            schedule: None,
            monitors: Vec::new(),
            needs: MonitorNeeds::default(),
            selected: Vec::new(),
            bypass_cap: None,
            custom_fold: None,
            measure: None,
            stop: StopSignal::default(),
        }
    }

    /// Lets `change` modify the whole configuration, for options that have no method of [`Check`].
    pub fn configure(mut self, change: impl FnOnce(&mut CheckConfig)) -> Self {
        change(&mut self.config);
        self
    }

    /// Sets how often each user requests to enter: one number for all users, one number per
    /// process, or [`Entries::Unbounded`](crate::Entries::Unbounded).
    pub fn entries(self, entries: impl Into<EntryLimits>) -> Self {
        self.configure(|config| config.model.entries = entries.into())
    }

    /// Sets the processes whose users start an election. The default is all processes.
    pub fn initiators(self, initiators: impl IntoIterator<Item = ProcessId>) -> Self {
        self.configure(|config| config.model.initiators = Some(initiators.into_iter().collect()))
    }

    /// Sets the processes that are down from the start.
    pub fn down(self, down: impl IntoIterator<Item = ProcessId>) -> Self {
        self.configure(|config| config.faults.down = down.into_iter().collect())
    }

    /// Sets the order in which each link may deliver its messages.
    pub fn channel(self, order: Order) -> Self {
        self.configure(|config| config.model.order = order)
    }

    /// Makes every link deliver in FIFO order.
    pub fn fifo(self) -> Self {
        self.channel(Order::Fifo)
    }

    /// Allows up to `max` lost messages per run.
    pub fn losing(self, max: u32) -> Self {
        self.configure(|config| config.faults.losses = max)
    }

    /// Allows up to `max` duplicated messages per run.
    pub fn duplicating(self, max: u32) -> Self {
        self.configure(|config| config.faults.duplicates = max)
    }

    /// Allows up to `max` crashes per run.
    pub fn crashing(self, max: u32) -> Self {
        self.configure(|config| config.faults.crashes = max)
    }

    /// Restricts crashes to these processes. The default is all processes. [`Check::crashing`] sets
    /// the maximum number of crashes.
    pub fn crashing_at(self, processes: impl IntoIterator<Item = ProcessId>) -> Self {
        let processes = Some(processes.into_iter().collect());
        self.configure(|config| config.faults.crash_filter.at = processes)
    }

    /// Restricts crashes to the moments when the user of the process is in this phase. The default
    /// is any moment.
    pub fn crashing_while(self, phase: UserPhase) -> Self {
        self.configure(|config| config.faults.crash_filter.during = Some(phase))
    }

    /// Allows up to `max` recoveries per run. A process recovers with its saved state.
    pub fn recovering(self, max: u32) -> Self {
        self.configure(|config| config.faults.recoveries = max)
    }

    /// Allows failure detectors to suspect live peers, up to `max` times per run.
    pub fn suspecting_falsely(self, max: u32) -> Self {
        self.configure(|config| config.faults.false_suspicions = max)
    }

    /// Allows the applications of all processes together to send up to `max` messages. When a
    /// process receives such a message, its causal past is extended by the causal past of the
    /// sender.
    pub fn application_messages(self, max: u32) -> Self {
        self.configure(|config| config.model.application_messages = max)
    }

    /// Allows one partition, at any moment and forever, with these processes on one side. All
    /// messages between the sides are lost: those in flight, and all later ones. If there are
    /// failure detectors, each side eventually suspects the other.
    pub fn partitioning(self, side: impl IntoIterator<Item = ProcessId>) -> Self {
        self.configure(|config| config.faults.partition = Some(side.into_iter().collect()))
    }

    /// Gives every process a failure detector that eventually suspects each crashed process and
    /// each process beyond a partition.
    pub fn detecting(self) -> Self {
        self.configure(|config| config.model.has_detectors = true)
    }

    /// Makes time synchronous. A message takes a whole number of units within `latency`, and a
    /// timer fires within its delay. A step takes no time unless [`Check::stepping`] sets its
    /// duration.
    pub fn synchronous(self, latency: RangeInclusive<u32>) -> Self {
        self.configure(|config| config.model.latency = Some(latency))
    }

    /// Lets all processes step together in rounds: see
    /// [`ModelConfig::has_rounds`](crate::ModelConfig::has_rounds).
    pub fn in_rounds(self) -> Self {
        self.synchronous(1..=1).configure(|config| config.model.has_rounds = true)
    }

    /// Makes each step take a whole number of units within `step` in synchronous time: see
    /// [`ModelConfig::step`](crate::ModelConfig::step).
    pub fn stepping(self, step: RangeInclusive<u32>) -> Self {
        self.configure(|config| config.model.step = step)
    }

    /// Sets the greatest drift of a clock in synchronous time, in parts per million. It must be
    /// below one million: see [`ModelConfig::drift_ppm`](crate::ModelConfig::drift_ppm).
    pub fn drifting(self, drift_ppm: u32) -> Self {
        self.configure(|config| config.model.drift_ppm = drift_ppm)
    }

    /// Bounds the messages in flight per link to `max`, at least 1: see
    /// [`BoundConfig::in_flight`](crate::BoundConfig::in_flight).
    pub fn in_flight(self, max: usize) -> Self {
        self.configure(|config| config.bounds.in_flight = max)
    }

    /// Limits the number of states that the search stores. The search may store a few more.
    pub fn max_states(self, max: u64) -> Self {
        self.configure(|config| config.search.limits.states = Some(max))
    }

    /// Sets the number of threads of the search. The result does not depend on it, unless a limit
    /// on memory ends the search.
    pub fn threads(self, threads: usize) -> Self {
        self.configure(|config| config.search.threads = Some(threads))
    }

    /// Replaces the exhaustive search by a swarm search. `swarm` configures one member of the
    /// swarm. The search stores a few bits for each state, and never reports that a property holds:
    /// see [`SwarmConfig`].
    pub fn swarm(self, swarm: SwarmConfig) -> Self {
        self.configure(|config| config.search.swarm = Some(swarm))
    }

    /// Adds the property of this monitor. The check judges it in every state.
    pub fn always<M>(mut self, monitor: M) -> Self
    where
        M: Monitor<P::Command, P::Event> + Send + Sync + 'static,
    {
        let property = monitor.property();
        let index = self.judge(monitor, false);
        self.select(property, CheckKind::Always(index))
    }

    /// Adds the property of this monitor. The check judges it in every state, and again in every
    /// state in which a run can end or stay forever.
    pub fn always_and_at_end<M>(mut self, monitor: M) -> Self
    where
        M: Monitor<P::Command, P::Event> + Send + Sync + 'static,
    {
        let property = monitor.property();
        let index = self.judge(monitor, true);
        self.select(property, CheckKind::AlwaysAndAtEnd(index))
    }

    /// Checks that processes send messages only to their neighbours on this ring. The check stores
    /// no additional states as long as this holds.
    pub fn on_ring(self, ring: Topology) -> Self {
        let links = LinksOnly::of(ring, self.config.size);
        self.on_links(links)
    }

    /// Checks that processes send messages only along these links. The check stores no additional
    /// states as long as this holds.
    pub fn on_links(mut self, links: LinksOnly) -> Self {
        self.needs.links = Some(links.clone());
        self.always(links)
    }

    /// Adds a property that the user has written as an expression.
    pub fn custom(self, property: CustomProperty) -> Self {
        self.configure(|config| config.custom.push(Arc::new(property)))
    }

    /// Sets the fairness under which liveness is judged. The default is weak fairness.
    pub fn under(self, fairness: Fairness) -> Self {
        self.configure(|config| config.fairness = fairness)
    }

    /// Checks that every user that waits for a response, an outcome or a leader eventually gets it,
    /// under weak fairness unless [`Check::under`] sets another. For a lock, see
    /// [`Check::starvation_free`] and [`Check::deadlock_free`].
    pub fn progress(self) -> Self {
        self.select(Property::Progress, CheckKind::Progress)
    }

    /// Checks starvation freedom of a lock (also called lockout freedom): if every holder exits,
    /// every waiting process enters. Fairness is weak unless [`Check::under`] sets another.
    pub fn starvation_free(self) -> Self {
        self.select(Property::StarvationFreedom, CheckKind::StarvationFreedom)
    }

    /// Checks deadlock freedom of a lock: if every holder exits, some process enters again and
    /// again while processes wait. Fairness is weak unless [`Check::under`] sets another.
    pub fn deadlock_free(self) -> Self {
        self.select(Property::DeadlockFreedom, CheckKind::DeadlockFreedom)
    }

    fn select(mut self, property: Property, kind: CheckKind) -> Self {
        self.selected.push(SelectedProperty { property, kind });
        self
    }

    fn judge<M>(&mut self, monitor: M, ends: bool) -> usize
    where
        M: Monitor<P::Command, P::Event> + Send + Sync + 'static,
    {
        let (property, needs) = (monitor.property(), &mut self.needs);
        let counts_only = matches!(property, Property::MutualExclusion | Property::AtMost(_));
        needs.names |= !counts_only;
        if property.requires() == Requirement::Clocks {
            needs.causality = Causality::Requests;
        }
        if property.requires() == Requirement::Messages {
            needs.layer = P::Command::SERVICE.layer().or(Some(Layer::Agreement));
            needs.all_messages |= property != Property::Topology;
        }
        let index = self.monitors.len();
        self.monitors.push(Box::new(InternedMonitor::new(monitor, index, ends)));
        index
    }

    /// Enables partial-order reduction by ample sets.
    ///
    /// The search takes only one delivery in a state if this delivery commutes with every other
    /// step. The reduction applies only if every process sends messages to its successor alone,
    /// links are FIFO, no faults are allowed, and time is asynchronous. Otherwise it has no effect.
    ///
    /// The judgements and counterexamples are the same with and without the reduction, because
    /// after a violation the search is repeated without it.
    pub fn ample(self) -> Self {
        self.configure(|config| config.search.uses_ample_sets = true)
    }

    /// Enables partial-order reduction by commuting deliveries.
    ///
    /// The search takes only one delivery in a state if this delivery commutes with every later
    /// step of its receiver. When the search chooses a delivery, it knows only the steps that the
    /// receiver can take at once. So the later steps are examined after the search. If a chosen
    /// delivery does not commute with them, the search is repeated without this choice. If
    /// repetition does not help, the check runs without the reduction.
    ///
    /// The reduction applies only if requests are bounded, no faults are allowed, time is
    /// asynchronous, and no property depends on the order of messages. Otherwise it has no effect.
    ///
    /// The judgements and counterexamples are the same with and without the reduction, because
    /// after a violation the search is repeated without it.
    pub fn commuting(self) -> Self {
        self.configure(|config| config.search.uses_commuting_deliveries = true)
    }

    /// Bounds the term of every process to `max`. The function `term` returns the term of a
    /// process. The search prunes states with a higher term, and the report lists the bound.
    pub fn term_max_by(mut self, term: fn(&P) -> u64, max: u64) -> Self {
        self.hooks.term = Some(term);
        self.configure(|config| config.bounds.term_max = Some(max))
    }
}

impl<P: Algorithm + Checkable> Check<P> {
    /// Creates a check of an algorithm. `protocol` configures the algorithm, and `config` the
    /// check.
    pub fn for_algorithm(protocol: P::Config, config: CheckConfig) -> Self {
        let check = Self::with(config.size, protocol);
        let hooks = ProtocolHooks {
            term: Some(P::highest_term),
            shifts: P::can_shift_timestamps(&check.protocol).then(Shifts::new),
            forget_clock: Some(P::forget_clock),
            ..ProtocolHooks::default()
        };
        Check { config, hooks, ..check }
    }

    /// Merges states that differ only by a shift of all timestamps. A search with an unbounded
    /// number of requests needs this option. The judgements are the same with and without it.
    ///
    /// The option has no effect if the protocol defines no such shifts, or if processes may
    /// recover: the clock of a recovered process may restart at zero.
    pub fn rebasing(mut self) -> Self {
        self.hooks.shifts = P::can_shift_timestamps(&self.protocol).then(Shifts::new);
        self.configure(|config| config.search.shifts_timestamps = true)
    }

    /// Bounds the term of every process to `max`. The search prunes states with a higher term, and
    /// the report lists the bound.
    ///
    /// If processes recover, the search may never end without this bound: a process may suspect one
    /// leader after the other, and start an election with a higher term each time.
    pub fn term_max(self, max: u64) -> Self {
        self.term_max_by(P::highest_term, max)
    }
}

impl<P: Timestamped + Checkable> Check<P> {
    /// Makes every application message carry its sender's logical clock, which the receiver
    /// observes. States that differ only by a shift of all timestamps are then not merged.
    pub fn stamping_application_messages(mut self) -> Self {
        self.hooks.stamping = Some(Stamping::new());
        self
    }
}

impl<P: Symmetric + Checkable> Check<P> {
    /// Merges states that differ only by a permutation of the names of these processes. Mutual
    /// exclusion must be the only property of the check. If the check selects another one,
    /// [`Check::try_run`] returns an error.
    pub fn symmetric_in(mut self, processes: impl IntoIterator<Item = ProcessId>) -> Self {
        let exchanged: Vec<ProcessId> = processes.into_iter().collect();
        self.hooks.symmetry = Some(Symmetry::new(self.config.size, &exchanged));
        self
    }
}

impl<P> Check<P>
where
    P: Protocol<Command = mutex::Command, Event = mutex::Event>,
{
    /// Measures the exact bypass bound over all schedules: the greatest number of entries of one
    /// process during one wait of another. Counting stops at `cap`, so that the search is finite.
    pub fn measuring_bypass(mut self, cap: u32) -> Self {
        let index = self.judge(BypassMonitor::new(self.config.size, cap), false);
        self.bypass_cap = Some((index, cap));
        self
    }
}

/// Converts the name of a Rust type to the spelling of the command line: lower case, with hyphens.
fn kebab(name: &str) -> String {
    let mut kebab = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !kebab.is_empty() {
            kebab.push('-');
        }
        kebab.extend(letter.to_lowercase());
    }
    kebab
}
