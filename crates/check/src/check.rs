//! Builder of a check: collects its options and the properties to check.

use std::any::type_name;
use std::ops::RangeInclusive;
use std::sync::Arc;

use tenure_core::monitors::LinksOnly;
use tenure_core::service::mutex;
use tenure_core::{
    Algorithm, ChannelOrder, ExposesLogicalClock, Monitor, ProcessId, Property, Protocol, Topology,
};
use tenure_trace::ServiceCommand;
use tenure_trace::property::ExpressionProperty;

use crate::config::CheckConfig;
use crate::liveness::Fairness;
use crate::model::bypass::BypassMonitor;
use crate::model::hooks::ProtocolHooks;
use crate::model::monitors::InternedMonitor;
use crate::model::protocol_model::ErasedMonitors;
use crate::plan::{CheckPlan, PropertyCheckKind};
use crate::reduce::shifts::ShiftFunctions;
use crate::reduce::symmetry::{Symmetric, SymmetryFunctions};
use crate::swarm::SwarmMemberConfig;
use crate::users::crashes::UserPhase;
use crate::users::entries::RequestLimits;
use crate::users::stamping::StampingFunctions;
use crate::users::user::Checkable;

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
/// Check::<P>::new(3)
///     .request_limits([2, 1, 1])
///     .max_losses(1)
///     .always(MutualExclusion::new())
///     .run()
///     .assert_holds();
/// # }
/// ```
#[must_use = "a check explores nothing until it runs"]
pub struct Check<P: Checkable> {
    pub(crate) plan: CheckPlan,
    pub(crate) protocol: P::Config,
    pub(crate) hooks: ProtocolHooks<P>,
    pub(crate) monitors: ErasedMonitors<P>,
}

impl<P: Checkable> Check<P> {
    /// Creates a check of a group of `size` processes with the default configuration.
    pub fn new(size: u32) -> Self
    where
        P::Config: Default,
    {
        Check::with_protocol_config(size, P::Config::default())
    }

    /// Creates a check of a group of `size` processes with this configuration of the protocol. All
    /// other options have the defaults of [`CheckConfig::new`].
    pub fn with_protocol_config(size: u32, protocol: P::Config) -> Self {
        let name = kebab(type_name::<P>().rsplit("::").next().unwrap_or_default());
        Check {
            plan: CheckPlan::new(CheckConfig::new(name, P::Command::SERVICE, size)),
            protocol,
            hooks: ProtocolHooks::default(),
            monitors: Vec::new(),
        }
    }

    /// Lets `change` modify the whole configuration, for options that have no method of [`Check`].
    pub fn configure(mut self, change: impl FnOnce(&mut CheckConfig)) -> Self {
        change(&mut self.plan.config);
        self
    }

    /// Sets how often each user requests to enter, or uses a service other than a lock: one number
    /// for all users, one number per process, or
    /// [`RequestLimit::Unbounded`](crate::RequestLimit::Unbounded).
    pub fn request_limits(mut self, entries: impl Into<RequestLimits>) -> Self {
        self.plan.config.model.request_limits = entries.into();
        self
    }

    /// Sets the processes whose users may start an election, or may use an agreement service. The
    /// default is all processes.
    pub fn initiators(mut self, initiators: impl IntoIterator<Item = ProcessId>) -> Self {
        self.plan.config.model.initiators = Some(initiators.into_iter().collect());
        self
    }

    /// Sets the processes that are down from the start.
    pub fn initially_down(mut self, down: impl IntoIterator<Item = ProcessId>) -> Self {
        self.plan.config.faults.initially_down = down.into_iter().collect();
        self
    }

    /// Sets the order in which each link may deliver its messages.
    pub fn channel_order(mut self, order: ChannelOrder) -> Self {
        self.plan.config.model.order = order;
        self
    }

    /// Makes every link deliver in FIFO order.
    pub fn fifo(self) -> Self {
        self.channel_order(ChannelOrder::Fifo)
    }

    /// Allows up to `max` lost messages per run.
    pub fn max_losses(mut self, max: u32) -> Self {
        self.plan.config.faults.losses = max;
        self
    }

    /// Allows up to `max` duplicated messages per run.
    pub fn max_duplicates(mut self, max: u32) -> Self {
        self.plan.config.faults.duplicates = max;
        self
    }

    /// Allows up to `max` crashes per run.
    pub fn max_crashes(mut self, max: u32) -> Self {
        self.plan.config.faults.crashes = max;
        self
    }

    /// Restricts crashes to these processes. The default is all processes. [`Check::max_crashes`]
    /// sets the maximum number of crashes.
    pub fn crashing_only(mut self, processes: impl IntoIterator<Item = ProcessId>) -> Self {
        let processes = Some(processes.into_iter().collect());
        self.plan.config.faults.crash_filter.processes = processes;
        self
    }

    /// Restricts crashes to the moments when the user of the process is in this phase. The default
    /// is any moment.
    pub fn crashing_only_in(mut self, phase: UserPhase) -> Self {
        self.plan.config.faults.crash_filter.phase = Some(phase);
        self
    }

    /// Allows up to `max` recoveries per run. A process recovers with its saved state.
    pub fn max_recoveries(mut self, max: u32) -> Self {
        self.plan.config.faults.recoveries = max;
        self
    }

    /// Allows failure detectors to suspect live peers that no partition cuts off, up to `max` times
    /// per run.
    pub fn max_false_suspicions(mut self, max: u32) -> Self {
        self.plan.config.faults.false_suspicions = max;
        self
    }

    /// Allows up to `max` messages between applications. All processes share this limit. When a
    /// process receives such a message, the causal past of the sender is added to the causal past
    /// of the receiver.
    pub fn max_application_messages(mut self, max: u32) -> Self {
        self.plan.config.model.application_messages = max;
        self
    }

    /// Allows one partition, with these processes on one side. It may begin at any moment and never
    /// ends. All messages between the sides are lost: those in flight, and all later ones. If there
    /// are failure detectors, each side eventually suspects the other.
    pub fn partitioning(mut self, side: impl IntoIterator<Item = ProcessId>) -> Self {
        self.plan.config.faults.partition_side = Some(side.into_iter().collect());
        self
    }

    /// Gives every process a failure detector that eventually suspects each crashed process and
    /// each process beyond a partition.
    pub fn detecting_failures(mut self) -> Self {
        self.plan.config.model.has_detectors = true;
        self
    }

    /// Makes time synchronous. A message takes a whole number of units within `latency`, and a
    /// timer fires within its delay. By default, a step takes no time: see
    /// [`Check::steps_lasting`].
    pub fn synchronous(mut self, latency: RangeInclusive<u32>) -> Self {
        self.plan.config.model.latency = Some(latency);
        self
    }

    /// Lets all processes step together in rounds, and sets the latency to one unit: see
    /// [`ModelConfig::has_rounds`](crate::ModelConfig::has_rounds).
    pub fn in_rounds(mut self) -> Self {
        self.plan.config.model.has_rounds = true;
        self.synchronous(1..=1)
    }

    /// Makes each step take a whole number of units within `duration` in synchronous time: see
    /// [`ModelConfig::step_duration`](crate::ModelConfig::step_duration).
    pub fn steps_lasting(mut self, duration: RangeInclusive<u32>) -> Self {
        self.plan.config.model.step_duration = duration;
        self
    }

    /// Sets the greatest drift of a clock in synchronous time, in parts per million. It must be
    /// below one million: see [`ModelConfig::drift_ppm`](crate::ModelConfig::drift_ppm).
    pub fn drifting(mut self, drift_ppm: u32) -> Self {
        self.plan.config.model.drift_ppm = drift_ppm;
        self
    }

    /// Bounds the messages in flight per link to `max`, at least 1: see
    /// [`StateSpaceBounds::in_flight`](crate::StateSpaceBounds::in_flight).
    pub fn in_flight_per_link(mut self, max: usize) -> Self {
        self.plan.config.bounds.in_flight = max;
        self
    }

    /// Limits the number of states that the search stores: see
    /// [`CheckLimits::states`](crate::CheckLimits::states).
    pub fn max_states(mut self, max: u64) -> Self {
        self.plan.config.search.limits.states = Some(max);
        self
    }

    /// Sets the number of threads of the search. The result is the same for any number, unless the
    /// caller or a limit on time or memory ends the search.
    pub fn threads(mut self, threads: usize) -> Self {
        self.plan.config.search.threads = Some(threads);
        self
    }

    /// Replaces the exhaustive search by one depth-first search of a swarm: see
    /// [`SwarmMemberConfig`]. A swarm consists of independent searches, each in its own order. Each
    /// search stores only a few bits for each state, and never reports that a property holds.
    pub fn swarm_member(mut self, swarm: SwarmMemberConfig) -> Self {
        self.plan.config.search.swarm = Some(swarm);
        self
    }

    /// Adds the property of this monitor. The check judges it in every state.
    pub fn always<M>(mut self, monitor: M) -> Self
    where
        M: Monitor<P::Command, P::Event> + Send + Sync + 'static,
    {
        let property = monitor.property();
        let index = self.judge(monitor, false);
        self.select(property, PropertyCheckKind::Always(index))
    }

    /// Adds the property of this monitor. The check judges the property in every state, and also at
    /// the end of each run: the monitor determines the states in which a run must not end. A run
    /// also violates the property if it can stay in such states forever under weak fairness.
    pub fn always_and_at_end<M>(mut self, monitor: M) -> Self
    where
        M: Monitor<P::Command, P::Event> + Send + Sync + 'static,
    {
        let property = monitor.property();
        let index = self.judge(monitor, true);
        self.select(property, PropertyCheckKind::AlwaysAndAtEnd(index))
    }

    /// Checks that processes send messages only to their neighbours on this ring. As long as no
    /// message leaves the ring, the property adds no states to the search.
    pub fn always_on_ring(self, ring: Topology) -> Self {
        let links = LinksOnly::in_topology(ring, self.plan.config.size);
        self.always_on_links(links)
    }

    /// Checks that processes send messages only along these links. As long as no message uses
    /// another link, the property adds no states to the search.
    pub fn always_on_links(mut self, links: LinksOnly) -> Self {
        self.plan.needs.links = Some(links.clone());
        self.always(links)
    }

    /// Adds a property that the user has written as an expression. A measurement does not judge it.
    pub fn custom_property(mut self, property: ExpressionProperty) -> Self {
        self.plan.config.custom_properties.push(Arc::new(property));
        self
    }

    /// Sets the fairness under which liveness is judged. The default is weak fairness.
    pub fn fairness(mut self, fairness: Fairness) -> Self {
        self.plan.config.fairness = fairness;
        self
    }

    /// Checks that no user waits forever for a response, an outcome or a leader. The default
    /// fairness is weak: see [`Check::fairness`]. For a lock, see
    /// [`Check::check_starvation_freedom`] and [`Check::check_deadlock_freedom`].
    pub fn check_progress(self) -> Self {
        self.select(Property::Progress, PropertyCheckKind::Progress)
    }

    /// Checks starvation freedom of a lock (also called lockout freedom): if every holder exits,
    /// every waiting process eventually enters. The default fairness is weak: see
    /// [`Check::fairness`].
    pub fn check_starvation_freedom(self) -> Self {
        self.select(Property::StarvationFreedom, PropertyCheckKind::StarvationFreedom)
    }

    /// Checks deadlock freedom of a lock: if processes wait and every holder exits, some process
    /// eventually enters. The default fairness is weak: see [`Check::fairness`].
    pub fn check_deadlock_freedom(self) -> Self {
        self.select(Property::DeadlockFreedom, PropertyCheckKind::DeadlockFreedom)
    }

    fn select(mut self, property: Property, kind: PropertyCheckKind) -> Self {
        self.plan.select_property(property, kind);
        self
    }

    fn judge<M>(&mut self, monitor: M, ends: bool) -> usize
    where
        M: Monitor<P::Command, P::Event> + Send + Sync + 'static,
    {
        self.plan.add_needs_of(monitor.property(), P::Command::SERVICE);
        let index = self.monitors.len();
        self.monitors.push(Box::new(InternedMonitor::new(monitor, index, ends)));
        index
    }

    /// Enables partial-order reduction by ample sets.
    ///
    /// If one delivery commutes with every other step that is possible in a state, the search takes
    /// only this delivery. The reduction has an effect only if all of these conditions hold:
    ///
    /// - Every process sends messages only to its successor on the ring of all processes.
    /// - Links are FIFO.
    /// - No faults, failure detectors or application messages are allowed.
    /// - Time is asynchronous.
    /// - The search merges no states that differ by a symmetry or by a shift of timestamps.
    /// - The check has no properties written as expressions, and does not measure bypass.
    ///
    /// The judgements and counterexamples are the same with and without the reduction, because
    /// after a violation the search is repeated without it.
    pub fn reducing_by_ample_sets(mut self) -> Self {
        self.plan.config.search.uses_ample_sets = true;
        self
    }

    /// Enables partial-order reduction by commuting deliveries.
    ///
    /// If one delivery commutes with every later step of its receiver, the search takes only this
    /// delivery. The search chooses the delivery before it knows all later steps, and examines
    /// these steps at the end. If a later step does not commute, the search is repeated, and
    /// does not choose this delivery again. If repeated searches fail, the check runs without the
    /// reduction.
    ///
    /// The reduction has an effect only if all of these conditions hold:
    ///
    /// - Requests are bounded.
    /// - No faults, failure detectors or application messages are allowed.
    /// - Time is asynchronous.
    /// - The search merges no symmetric states, and processes do not detect restarts.
    /// - The check prescribes no actions, has no properties written as expressions, and does not
    ///   measure bypass.
    ///
    /// The judgements and counterexamples are the same with and without the reduction, because
    /// after a violation the search is repeated without it.
    pub fn reducing_by_commuting_deliveries(mut self) -> Self {
        self.plan.config.search.uses_commuting_deliveries = true;
        self
    }

    /// Bounds the term of every process to `max`. The function `term` returns the term of a
    /// process. The search prunes states with a higher term, and the report lists the bound.
    pub fn max_term_of(mut self, term: fn(&P) -> u64, max: u64) -> Self {
        self.hooks.term = Some(term);
        self.plan.config.bounds.term_max = Some(max);
        self
    }
}

impl<P: Algorithm + Checkable> Check<P> {
    /// Creates a check of an algorithm. `protocol` configures the algorithm, and `config` the
    /// check.
    pub fn for_algorithm(protocol: P::Config, config: CheckConfig) -> Self {
        let hooks = ProtocolHooks {
            term: Some(P::highest_term),
            shifts: P::can_shift_timestamps(&protocol).then(ShiftFunctions::new),
            forget_clock: Some(P::forget_clock),
            ..ProtocolHooks::default()
        };
        Check { plan: CheckPlan::new(config), protocol, hooks, monitors: Vec::new() }
    }

    /// Merges states that differ only by a shift of all timestamps. A search with an unbounded
    /// number of requests needs this option, unless
    /// [`accepts_unbounded_entries`](crate::StateSpaceBounds::accepts_unbounded_entries) is true.
    /// The judgements are the same with and without it.
    ///
    /// The option has no effect if the protocol defines no such shifts, or if processes may
    /// recover. After a recovery, a clock may restart at zero, which differs from a timestamp that
    /// a shift has decreased to zero. The option also has no effect if application messages carry a
    /// clock, or if an expression depends on timestamps.
    pub fn reducing_by_timestamp_shifts(mut self) -> Self {
        self.hooks.shifts = P::can_shift_timestamps(&self.protocol).then(ShiftFunctions::new);
        self.plan.config.search.shifts_timestamps = true;
        self
    }

    /// Bounds the term of every process to `max`. The search prunes states with a higher term, and
    /// the report lists the bound.
    ///
    /// If processes recover, the search may never end without this bound: a process may suspect one
    /// leader after the other, and start an election with a higher term each time.
    pub fn max_term(self, max: u64) -> Self {
        self.max_term_of(P::highest_term, max)
    }
}

impl<P: ExposesLogicalClock + Checkable> Check<P> {
    /// Makes every application message carry the logical clock of its sender. The receiver observes
    /// this clock. States that differ only by a shift of all timestamps are then not merged.
    pub fn timestamping_application_messages(mut self) -> Self {
        self.hooks.stamping = Some(StampingFunctions::new());
        self
    }
}

impl<P: Symmetric + Checkable> Check<P> {
    /// Merges states that differ only by a permutation of the names of these processes. The only
    /// properties of monitors that permit this are mutual exclusion and a maximum number of
    /// processes inside. [`Check::try_run`] returns an error if the check selects another such
    /// property, judges liveness, detects restarts, or names processes in a partition or in
    /// [`Check::crashing_only`]. If an expression depends on the names of processes, the search
    /// merges no states.
    pub fn reducing_by_symmetry(mut self, processes: impl IntoIterator<Item = ProcessId>) -> Self {
        let exchanged: Vec<ProcessId> = processes.into_iter().collect();
        self.hooks.symmetry = Some(SymmetryFunctions::new(self.plan.config.size, &exchanged));
        self
    }
}

impl<P> Check<P>
where
    P: Protocol<Command = mutex::Command, Event = mutex::Event>,
{
    /// Measures the exact bypass bound over all schedules: the greatest number of entries by one
    /// process during one wait of another process. Counting stops at `cap`, so that the search is
    /// finite. If the bound reaches `cap`, the report contains a lower bound.
    pub fn measuring_bypass(mut self, cap: u32) -> Self {
        let index = self.judge(BypassMonitor::new(self.plan.config.size, cap), false);
        self.plan.bypass_cap = Some((index, cap));
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
