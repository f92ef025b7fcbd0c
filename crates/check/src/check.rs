//! Configuration of a check.

use std::any::type_name;
use std::ops::RangeInclusive;

use tenure_core::monitors::NeighboursOnly;
use tenure_core::service::{agreement, mutex};
use tenure_core::{
    Algorithm, Card, Layer, Monitor, Order, ProcessId, Property, Protocol, Requirement, Service,
    Timestamped, Topology,
};
use tenure_trace::{Action, ServiceCommand};

use crate::limits::{Limits, Progress, StopSignal};
use crate::model::bypass::BypassMonitor;
use crate::model::monitors::{ErasedMonitor, InternedMonitor};
use crate::model::processes::TermBound;
use crate::reduce::shifts::Shifts;
use crate::reduce::symmetry::{Symmetric, Symmetry};
use crate::users::crashes::{CrashFilter, Saving, UserPhase};
use crate::users::entries::Entries;
use crate::users::entries::EntryLimits;
use crate::users::stamping::Stamping;
use crate::users::user::Checkable;
use crate::world::{Fault, Faults, MAX_FAULTS};

/// Exhaustive check of a protocol: the schedules to explore, the properties to judge, and the
/// limits.
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
pub struct Check<P: Checkable> {
    pub(crate) name: String,
    pub(crate) size: u32,
    /// Service of the protocol, for command types that several services share.
    pub(crate) service: Service,
    pub(crate) config: P::Config,
    pub(crate) entries: EntryLimits,
    pub(crate) initiators: Option<Vec<ProcessId>>,
    pub(crate) down: Vec<ProcessId>,
    pub(crate) order: Order,
    /// Least and greatest latency of a message, in units of synchronous time.
    pub(crate) synchronous: Option<(u32, u32)>,
    pub(crate) budget: Faults,
    pub(crate) crashes: CrashFilter,
    /// Order of saving a state and releasing the effects of a step.
    pub(crate) saving: Saving,
    /// Processes on one side of the partition.
    pub(crate) partition_side: Vec<ProcessId>,
    pub(crate) has_detectors: bool,
    /// True if peers detect a restart by the new session of the process.
    pub(crate) detects_restarts: bool,
    /// Commands of the users of an agreement service when the check follows a schedule.
    pub(crate) schedule: Option<Vec<(ProcessId, agreement::Command)>>,
    pub(crate) in_flight: usize,
    /// True if states with a full link are pruned although messages may be lost.
    pub(crate) prunes_full_links: bool,
    /// Actions taken before the search begins.
    pub(crate) prefix: Vec<Action>,
    pub(crate) term: Option<TermBound<P>>,
    pub(crate) clock_readings: u32,
    pub(crate) shifts: Option<Shifts<P>>,
    pub(crate) symmetry: Option<Symmetry<P>>,
    pub(crate) is_symmetric: bool,
    pub(crate) ample: bool,
    /// True if a monitor stores process names that do not follow from the processes' states.
    pub(crate) has_name_dependent_monitor: bool,
    pub(crate) monitors: Vec<Box<dyn ErasedMonitor<P::Command, P::Event>>>,
    pub(crate) selected: Vec<SelectedProperty>,
    pub(crate) causality: bool,
    pub(crate) application_causality: bool,
    /// Layer whose messages the monitors observe, if any.
    pub(crate) observed_layer: Option<Layer>,
    /// True if the monitors observe every message of that layer.
    pub(crate) observes_all_messages: bool,
    /// Ring topology, if the monitors observe only messages that leave the ring.
    pub(crate) ring: Option<Topology>,
    /// Clock carried by application messages, if they are stamped.
    pub(crate) stamping: Option<Stamping<P>>,
    pub(crate) accepts_unbounded_entries: bool,
    pub(crate) bypass_cap: Option<(usize, u32)>,
    /// Card whose assumptions the check must not exceed.
    pub(crate) assumed_card: Option<Card>,
    pub(crate) exact: bool,
    pub(crate) threads: usize,
    pub(crate) limits: Limits,
    pub(crate) stop: StopSignal,
    pub(crate) on_progress: Option<OnProgress>,
}

/// Callback for progress reports.
pub(crate) type OnProgress = Box<dyn FnMut(&Progress) + Send>;

/// A property to check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SelectedProperty {
    pub(crate) property: Property,
    pub(crate) kind: CheckKind,
}

/// How a property is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CheckKind {
    /// The monitor at this index checks every state.
    Always(usize),
    /// The monitor at this index checks every state and every end of a run.
    InTheEnd(usize),
    /// Every waiting process is eventually served or informed.
    Progress,
    /// While processes wait for a lock, some process enters again and again.
    DeadlockFreedom,
    /// Every process that waits for a lock eventually enters.
    StarvationFreedom,
}

/// Default limit of messages in flight per link.
const IN_FLIGHT: usize = 4;

impl<P: Checkable> Check<P> {
    /// Creates a check of a group of `size` processes with the default configuration.
    pub fn of(size: u32) -> Self
    where
        P::Config: Default,
    {
        Check::with(size, P::Config::default())
    }

    /// Creates a check of a group of `size` processes.
    ///
    /// Defaults: one entry per process, reordering channels, no faults, asynchronous time, at most
    /// 4 messages in flight per link, no limits, and one thread per core.
    pub fn with(size: u32, config: P::Config) -> Self {
        let name = kebab(type_name::<P>().rsplit("::").next().unwrap_or_default());
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        Check {
            name,
            size,
            service: P::Command::SERVICE,
            config,
            entries: EntryLimits::Same(Entries::AtMost(1)),
            initiators: None,
            down: Vec::new(),
            order: Order::Reordered,
            synchronous: None,
            budget: Faults::default(),
            crashes: CrashFilter::default(),
            saving: Saving::default(),
            partition_side: Vec::new(),
            has_detectors: false,
            detects_restarts: false,
            schedule: None,
            in_flight: IN_FLIGHT,
            prunes_full_links: false,
            prefix: Vec::new(),
            term: None,
            clock_readings: 1,
            shifts: None,
            symmetry: None,
            is_symmetric: false,
            ample: false,
            has_name_dependent_monitor: false,
            monitors: Vec::new(),
            selected: Vec::new(),
            causality: false,
            application_causality: true,
            observed_layer: None,
            observes_all_messages: false,
            ring: None,
            stamping: None,
            accepts_unbounded_entries: false,
            bypass_cap: None,
            assumed_card: None,
            exact: false,
            threads,
            limits: Limits::default(),
            stop: StopSignal::default(),
            on_progress: None,
        }
    }

    /// Sets the name of the algorithm in reports.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets the service, for the agreement services that share one command type.
    #[must_use]
    pub fn serving(mut self, service: Service) -> Self {
        self.service = service;
        self
    }

    /// Sets how often each user requests to enter: one number for all, one per process, or
    /// [`Entries::Unbounded`].
    #[must_use]
    pub fn entries(mut self, entries: impl Into<EntryLimits>) -> Self {
        self.entries = entries.into();
        self
    }

    /// Sets the processes whose users start an election, each once and at any moment. The default
    /// is all processes.
    #[must_use]
    pub fn initiators(mut self, initiators: impl IntoIterator<Item = ProcessId>) -> Self {
        self.initiators = Some(initiators.into_iter().collect());
        self
    }

    /// Sets the processes that are down from the start.
    #[must_use]
    pub fn down(mut self, down: impl IntoIterator<Item = ProcessId>) -> Self {
        self.down = down.into_iter().collect();
        self
    }

    /// Sets the order in which a link may deliver its messages.
    #[must_use]
    pub fn channel(mut self, order: Order) -> Self {
        self.order = order;
        self
    }

    /// Makes every link deliver in FIFO order.
    #[must_use]
    pub fn fifo(self) -> Self {
        self.channel(Order::Fifo)
    }

    /// Allows up to `max` lost messages.
    #[must_use]
    pub fn losing(self, max: u32) -> Self {
        self.budget_of(Fault::Loss, max)
    }

    /// Allows up to `max` duplicated messages.
    #[must_use]
    pub fn duplicating(self, max: u32) -> Self {
        self.budget_of(Fault::Duplication, max)
    }

    /// Allows up to `max` crashes.
    #[must_use]
    pub fn crashing(self, max: u32) -> Self {
        self.budget_of(Fault::Crash, max)
    }

    /// Restricts crashes to these processes. The default is all processes; [`Check::crashing`] sets
    /// how many crashes there may be.
    #[must_use]
    pub fn crashing_at(mut self, processes: impl IntoIterator<Item = ProcessId>) -> Self {
        self.crashes.at = Some(processes.into_iter().collect());
        self
    }

    /// Restricts crashes to the moments when the user of the process is in this phase. The default
    /// is any moment.
    #[must_use]
    pub fn crashing_while(mut self, phase: UserPhase) -> Self {
        self.crashes.during = Some(phase);
        self
    }

    /// Sets which crashes are explored around a save. The default is [`Saving::Atomic`].
    #[must_use]
    pub fn saving(mut self, saving: Saving) -> Self {
        self.saving = saving;
        self
    }

    /// Allows up to `max` recoveries. A process recovers with its saved state.
    #[must_use]
    pub fn recovering(self, max: u32) -> Self {
        self.budget_of(Fault::Recovery, max)
    }

    /// Allows failure detectors to suspect a live peer up to `max` times.
    #[must_use]
    pub fn suspecting_falsely(self, max: u32) -> Self {
        self.budget_of(Fault::FalseSuspicion, max)
    }

    /// Allows applications to exchange up to `max` messages, which carry causality.
    #[must_use]
    pub fn application_messages(self, max: u32) -> Self {
        self.budget_of(Fault::ApplicationMessage, max)
    }

    /// Allows one partition, at any moment and for ever, with these processes on one side. All
    /// messages in flight between the sides, and all later ones, are lost. If there are failure
    /// detectors, each side eventually suspects the other.
    #[must_use]
    pub fn partitioning(mut self, side: impl IntoIterator<Item = ProcessId>) -> Self {
        self.partition_side = side.into_iter().collect();
        self.budget_of(Fault::Partition, 1)
    }

    fn budget_of(mut self, fault: Fault, max: u32) -> Self {
        assert!(max <= MAX_FAULTS, "a budget of faults is at most {MAX_FAULTS}");
        self.budget = self.budget.with(fault, max);
        self
    }

    /// Gives every process a failure detector that eventually suspects each crashed process and
    /// each process beyond a partition.
    #[must_use]
    pub fn detecting(mut self) -> Self {
        self.has_detectors = true;
        self
    }

    /// Lets live processes detect the restart of a peer by its new session, as the runtime does.
    ///
    /// At any moment after the restart each live process receives a suspicion of that peer, and
    /// trust again before any other input. This does not depend on its failure detector, which may
    /// have reported the crash before, or never.
    #[must_use]
    pub fn detecting_restarts(mut self) -> Self {
        self.detects_restarts = true;
        self
    }

    /// Makes time synchronous. A step takes no time, a message takes a whole number of units within
    /// `latency`, and a timer fires within its delay.
    #[must_use]
    pub fn synchronous(mut self, latency: RangeInclusive<u32>) -> Self {
        let latency = (*latency.start(), *latency.end());
        assert!(latency.0 <= latency.1, "the least latency must not exceed the greatest");
        self.synchronous = Some(latency);
        self
    }

    /// Bounds the messages in flight per link to `max`. If messages may be lost, a link drops any
    /// further message; otherwise the state is pruned, and the report lists the bound.
    #[must_use]
    pub fn in_flight(mut self, max: usize) -> Self {
        assert!(max > 0, "a link holds at least one message");
        self.in_flight = max;
        self
    }

    /// Prunes states with a full link although messages may be lost. Only losses within the budget
    /// are explored then, which leaves fewer states.
    #[must_use]
    pub fn pruning_full_links(mut self) -> Self {
        self.prunes_full_links = true;
        self
    }

    /// Takes these steps before the search begins. They count towards all budgets.
    #[must_use]
    pub fn after(mut self, steps: impl IntoIterator<Item = Action>) -> Self {
        self.prefix = steps.into_iter().collect();
        self
    }

    /// Lets a local clock read any value below `units`.
    #[must_use]
    pub fn clock_readings(mut self, units: u32) -> Self {
        self.clock_readings = units;
        self
    }

    /// Checks the monitor in every state.
    #[must_use]
    pub fn always<M>(mut self, monitor: M) -> Self
    where
        M: Monitor<P::Command, P::Event> + Send + Sync + 'static,
    {
        let property = monitor.property();
        let index = self.judge(monitor, false);
        self.selected.push(SelectedProperty { property, kind: CheckKind::Always(index) });
        self
    }

    /// Checks the monitor in every state, and wherever a run can end or continue for ever.
    #[must_use]
    pub fn always_and_at_end<M>(mut self, monitor: M) -> Self
    where
        M: Monitor<P::Command, P::Event> + Send + Sync + 'static,
    {
        let property = monitor.property();
        let index = self.judge(monitor, true);
        self.selected.push(SelectedProperty { property, kind: CheckKind::InTheEnd(index) });
        self
    }

    /// Checks that messages go only to neighbours on a ring. Costs nothing while they do.
    #[must_use]
    pub fn on_ring(mut self, ring: Topology) -> Self {
        self.ring = Some(ring);
        let neighbours = NeighboursOnly::of(ring, self.size);
        self.always(neighbours)
    }

    /// Checks, under weak fairness, that every process that waits for an answer, an outcome or a
    /// leader gets it. For a lock, see [`Check::starvation_free`] and [`Check::deadlock_free`].
    #[must_use]
    pub fn progress(self) -> Self {
        self.select(Property::Progress, CheckKind::Progress)
    }

    /// Checks starvation freedom of a lock (also called lockout freedom): under weak fairness, and
    /// if every holder exits, every waiting process enters.
    #[must_use]
    pub fn starvation_free(self) -> Self {
        self.select(Property::StarvationFreedom, CheckKind::StarvationFreedom)
    }

    /// Checks deadlock freedom of a lock: under weak fairness, and if every holder exits, some
    /// process enters again and again while processes wait.
    #[must_use]
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
        let property = monitor.property();
        let counts_only = matches!(property, Property::MutualExclusion | Property::AtMost(_));
        self.has_name_dependent_monitor |= !counts_only;
        self.causality |= property.requires() == Requirement::Clocks;
        if property.requires() == Requirement::Messages {
            self.observed_layer = P::Command::SERVICE.layer();
            self.observes_all_messages |= property != Property::Topology;
        }
        let index = self.monitors.len();
        self.monitors.push(Box::new(InternedMonitor::new(monitor, index, ends)));
        index
    }

    /// Enables partial-order reduction by ample sets.
    ///
    /// It explores a single delivery wherever that delivery commutes with every other step. It
    /// applies only if every process sends to its successor alone, links are FIFO, there are no
    /// faults, and time is asynchronous; otherwise it has no effect. Judgements do not depend on
    /// it. Neither do counterexamples, because the search is repeated without the reduction after a
    /// violation.
    #[must_use]
    pub fn ample(mut self) -> Self {
        self.ample = true;
        self
    }

    /// Bounds the term of every process. States beyond the bound are pruned, and the report lists
    /// the bound.
    #[must_use]
    pub fn term_max_by(mut self, term: fn(&P) -> u64, max: u64) -> Self {
        self.term = Some((term, max));
        self
    }

    /// Accepts an unbounded number of requests. The states of the protocol must not grow with them.
    #[must_use]
    pub fn accepting_endless_requests(mut self) -> Self {
        self.accepts_unbounded_entries = true;
        self
    }

    /// Excludes application messages from causality; only the protocol's own messages count.
    #[must_use]
    pub fn ignoring_application_causality(mut self) -> Self {
        self.application_causality = false;
        self
    }

    /// Stores whole states instead of fingerprints.
    #[must_use]
    pub fn exact(mut self) -> Self {
        self.exact = true;
        self
    }

    /// Sets the number of threads. The result does not depend on it.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads.max(1);
        self
    }

    /// Sets a callback that receives the progress of the search at intervals.
    #[must_use]
    pub fn on_progress(mut self, watch: impl FnMut(&Progress) + Send + 'static) -> Self {
        self.on_progress = Some(Box::new(watch));
        self
    }
}

impl<P: Algorithm + Checkable> Check<P> {
    /// Merges states that differ only by a shift of all timestamps, if the protocol defines such
    /// shifts.
    ///
    /// An unbounded number of requests needs it. Judgements do not depend on it. Timestamps are not
    /// shifted if processes may recover, because their clocks may restart at zero.
    #[must_use]
    pub fn rebasing(mut self) -> Self {
        if P::can_shift_timestamps(&self.config) {
            self.shifts = Some(Shifts::new());
        }
        self
    }

    /// Bounds the term of every process. States beyond the bound are pruned, and the report lists
    /// the bound. If processes recover, the search may be infinite without it: a process that
    /// learns of a leader that it suspects starts new elections with ever higher terms.
    #[must_use]
    pub fn term_max(self, max: u64) -> Self {
        self.term_max_by(P::highest_term, max)
    }
}

impl<P: Timestamped + Checkable> Check<P> {
    /// Makes every application message carry its sender's logical clock, which the receiver
    /// observes. Disables shifting of timestamps.
    #[must_use]
    pub fn stamping_application_messages(mut self) -> Self {
        self.stamping = Some(Stamping::new());
        self
    }
}

impl<P: Symmetric + Checkable> Check<P> {
    /// Merges states that differ only by a permutation of the names of these processes. Only mutual
    /// exclusion can be checked then.
    #[must_use]
    pub fn symmetric_in(mut self, processes: impl IntoIterator<Item = ProcessId>) -> Self {
        let exchanged: Vec<ProcessId> = processes.into_iter().collect();
        self.symmetry = Some(Symmetry::new(self.size, &exchanged));
        self.is_symmetric = true;
        self
    }
}

impl<P> Check<P>
where
    P: Protocol<Command = mutex::Command, Event = mutex::Event>,
{
    /// Measures the exact bypass bound over all schedules: the greatest number of entries of one
    /// process during one wait of another. Counts stop at `cap` to keep the search finite.
    #[must_use]
    pub fn measuring_bypass(mut self, cap: u32) -> Self {
        let index = self.judge(BypassMonitor::new(self.size, cap), false);
        self.bypass_cap = Some((index, cap));
        self
    }
}

/// Converts the name of a type to the command line's spelling.
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
