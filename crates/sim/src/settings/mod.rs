//! Settings of a run.

pub(crate) mod command_line;
pub(crate) mod configs;
pub(crate) mod cost;
pub(crate) mod distribution;
pub(crate) mod error;
pub(crate) mod fault;
pub(crate) mod latency;
pub(crate) mod network_graph;
pub(crate) mod without_option;
pub(crate) mod workload;

use std::sync::Arc;

use tenure_core::monitors::LinksOnly;
use tenure_core::{ChannelOrder, Graph, ProcessId, Property, Rank, TICKS_PER_TIME_UNIT, Timing};

use crate::settings::network_graph::NetworkGraph;
use tenure_trace::property::ExpressionProperty;

use crate::settings::distribution::Distribution;
use crate::settings::fault::{Chance, Fault};
use crate::settings::latency::Latency;
use crate::settings::workload::Workload;

/// Settings of a run, except the algorithm and its configuration.
///
/// The same settings yield the same run, to the byte of its trace, on every machine.
/// [`Settings::new`] sets the defaults of the command-line options, except the workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Number of processes.
    pub size: u32,
    /// Rank of each process, by index. Reports name the leader by its rank, and the ranks decide
    /// which leaders are valid. Empty if the ranks are 1 to n.
    pub ranks: Arc<[Rank]>,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Latency, order and faults of messages.
    pub network: NetworkSettings,
    /// Timing model and clocks.
    pub time: TimeSettings,
    /// Faults and their times.
    pub faults: Vec<Fault>,
    /// Processes that are down from the start.
    pub down: Vec<ProcessId>,
    /// Failure detector of the processes. `None` if the processes receive no reports about crashes
    /// and partitions.
    pub detector: Option<DetectorSettings>,
    /// Requests of the users.
    pub workload: Workload,
    /// Limits that end a run early.
    pub limits: RunLimits,
    /// Measurements of the run, and properties that are checked.
    pub monitoring: MonitoringSettings,
    /// True if the run is allowed although the environment is weaker than the
    /// [`Card`](tenure_core::Card) of the algorithm demands.
    pub beyond_assumptions: bool,
}

impl Settings {
    /// Creates the settings of a run of `size` processes without faults and requests. The latency
    /// is one unit, and the seed is 1.
    pub fn new(size: u32) -> Self {
        Settings {
            size,
            ranks: Arc::from([]),
            seed: 1,
            network: NetworkSettings::default(),
            time: TimeSettings::default(),
            faults: Vec::new(),
            down: Vec::new(),
            detector: Some(DetectorSettings::default()),
            workload: Workload::default(),
            limits: RunLimits::default(),
            monitoring: MonitoringSettings::default(),
            beyond_assumptions: false,
        }
    }

    /// Returns the rank of a process. If [`Settings::ranks`] is empty, the rank is the number of
    /// the process.
    pub fn rank(&self, process: ProcessId) -> Rank {
        let listed = self.ranks.get(process.index()).copied();
        listed.unwrap_or(Rank::from_id(process.display_number()))
    }

    pub(crate) fn timing(&self) -> Timing {
        self.time.timing.unwrap_or(Timing::Asynchronous)
    }

    pub(crate) fn channel_order(&self) -> ChannelOrder {
        self.network.order.unwrap_or(ChannelOrder::Reordered)
    }
}

/// Latency, order and faults of messages.
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkSettings {
    /// Latency of messages.
    pub latency: Latency,
    /// Delivery order of a link. `None` for the weakest order that the algorithm's
    /// [`Card`](tenure_core::Card) allows.
    pub order: Option<ChannelOrder>,
    /// Chance that a message is lost.
    pub loss: Chance,
    /// Chance that a message is duplicated.
    pub duplication: Chance,
    /// Graph along whose edges messages travel. `None` if each process has a direct link to every
    /// other process.
    pub graph: Option<NetworkGraph>,
}

impl NetworkSettings {
    /// Returns the total weight of the edges of the heaviest route, at least 1. The latency of a
    /// message is multiplied by the weight of its route. Returns 1 if there is no graph.
    pub fn heaviest_route_weight(&self) -> u64 {
        self.graph.as_ref().map_or(1, NetworkGraph::heaviest_route_weight).max(1)
    }
}

impl Default for NetworkSettings {
    fn default() -> Self {
        NetworkSettings {
            latency: Latency::Same(Distribution::time_units(1)),
            order: None,
            loss: Chance::NEVER,
            duplication: Chance::NEVER,
            graph: None,
        }
    }
}

/// Timing model and clocks.
#[derive(Clone, Debug, PartialEq)]
pub struct TimeSettings {
    /// Timing model. `None` for the weakest model that the algorithm's [`Card`](tenure_core::Card)
    /// allows.
    ///
    /// - *Synchronous* requires bounds on message latency and on the duration of a step.
    /// - *Partial* guarantees these bounds from the time `gst` on. A message that is sent before
    ///   `gst` may be delayed further, but it arrives no later than if it were sent at `gst`.
    /// - *Asynchronous* guarantees only that messages arrive.
    /// - *Rounds* is synchronous without drift. All processes end a round at the same time, after
    ///   the longest latency.
    pub timing: Option<Timing>,
    /// Global stabilisation time, in ticks. Only the timing model *partial* uses it.
    pub gst: u64,
    /// Maximum deviation of the rate of a process's clock from real time, in parts per million. The
    /// rate of each clock is drawn once per run.
    pub drift_ppm: u32,
    /// Duration of a step of a process. Messages leave and timers start at the end of the step. The
    /// steps of a process follow one another.
    pub step: Distribution,
}

impl Default for TimeSettings {
    fn default() -> Self {
        TimeSettings { timing: None, gst: 0, drift_ppm: 0, step: Distribution::ZERO }
    }
}

/// A failure detector that reports crashes and recoveries to every live process.
///
/// The detector is perfect: after a delay, it suspects exactly the processes that are down or
/// behind a partition. False suspicions are injected as faults ([`Fault::Suspicion`]).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DetectorSettings {
    /// Time until the detector reports a crash, a recovery, or the start or end of a partition.
    pub delay: Distribution,
}

impl Default for DetectorSettings {
    /// Returns a detector with a delay of two units: one for a missed heartbeat, and one for the
    /// latency of a message.
    fn default() -> Self {
        DetectorSettings { delay: Distribution::time_units(2) }
    }
}

/// Limits that end a run before all requests of its workload are served.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunLimits {
    /// Time at which the run ends, in ticks. The run continues until this time even if all requests
    /// are served earlier, unless no event is left. `None` if the run ends when all requests are
    /// served.
    pub until: Option<u64>,
    /// Maximum number of events that the run handles, as counted by
    /// [`RunMetrics::events`](crate::RunMetrics::events); `None` for no limit.
    pub events: Option<u64>,
    /// Time without progress, in ticks, after which the run ends as
    /// [`EndReason::Stalled`](crate::EndReason::Stalled). Progress is an entry to or an exit from
    /// the critical section, the result of an election at a process, an event of an agreement
    /// service, a crash, a recovery, or the beginning or end of a partition. The limit has no
    /// effect if `until` is set, or while a fault, a command, a user message or a detector report
    /// is pending.
    ///
    /// `None` means 10,000 · (n + 10) message delays in a group of n processes. A message delay is
    /// one that few messages exceed. If the simulation is created by
    /// [`Simulation::for_algorithm`](crate::Simulation::for_algorithm), the time is at least twice
    /// the [`Algorithm::max_waiting_time`](tenure_core::Algorithm::max_waiting_time), if the
    /// algorithm has one.
    pub stall_timeout: Option<u64>,
    /// Maximum number *m* of messages in flight. The run ends as
    /// [`EndReason::Flooded`](crate::EndReason::Flooded) if more than *m* messages are in flight,
    /// and more than *m* events were handled without progress. The field `stall_timeout` defines
    /// progress. If `None`, *m* is 65,536 + 64 · n² in a group of n processes.
    pub max_in_flight: Option<u64>,
}

/// Measurements of a run, and properties that the run checks. Each measurement and each check makes
/// the run slower.
#[derive(Clone, Debug, PartialEq)]
pub struct MonitoringSettings {
    /// True if the run counts messages by kind, and records the order of the entries and the cost
    /// of each election. Totals and delays are always measured.
    pub metrics: bool,
    /// True if the built-in monitors check the run. Without them, the run still checks links,
    /// expressions and the monitors of the caller.
    pub monitors: bool,
    /// Groups in which monitors check the order of entries. The check needs
    /// [`MonitoringSettings::monitors`] and vector clocks, which take memory for every pair of
    /// processes.
    pub order_check: GroupSizeCondition,
    /// True if the run measures the size of messages in the encoding of real nodes. The measurement
    /// needs [`MonitoringSettings::metrics`].
    pub bytes: bool,
    /// True if the run measures the load of each process and each link.
    pub load: bool,
    /// Number of processes that may be inside the critical section at the same time: 1, or the *k*
    /// of a k-mutex. The number on the algorithm's [`Card`](tenure_core::Card) replaces a smaller
    /// one.
    pub max_inside: u32,
    /// Graph of conflicts: neighbours must not be inside the critical section at the same time. If
    /// `None`, the graph on the algorithm's [`Card`](tenure_core::Card) is used, if there is one.
    pub conflicts: Option<Arc<Graph>>,
    /// True if each entry to the critical section has a fence, and monitors check that fences grow.
    /// Entries of a k-mutex have no fences. A [`Card`](tenure_core::Card) without fences turns the
    /// check off.
    pub fenced: bool,
    /// Links that messages are allowed to use. `Some` is checked in every run. `None` selects the
    /// links on the algorithm's [`Card`](tenure_core::Card), if the card names a ring or a graph,
    /// and if [`Settings::is_fault_free`] returns true. Otherwise, the run does not check links.
    pub allowed_links: Option<LinksOnly>,
    /// Properties whose violation makes a run a failure. If `None`, these are the properties that
    /// the algorithm's [`Card`](tenure_core::Card) promises. Without a card, they are the
    /// properties with [`ReportLevel::Expected`](tenure_core::ReportLevel::Expected), such
    /// as mutual exclusion and agreement.
    pub properties: Option<Vec<Property>>,
    /// Properties that the user wrote as expressions. A violation makes a run a failure.
    pub custom: Vec<Arc<ExpressionProperty>>,
}

impl Settings {
    /// Returns true if [`MonitoringSettings::properties`] lists `property`. Returns false if the
    /// field is `None`.
    pub(crate) fn lists_property(&self, property: Property) -> bool {
        self.monitoring.properties.iter().flatten().any(|it| *it == property)
    }

    /// Returns each bound *k* for which [`MonitoringSettings::properties`] lists the property that
    /// the bypass is at most *k*.
    pub(crate) fn bypass_bounds(&self) -> Vec<u32> {
        let properties = self.monitoring.properties.iter().flatten();
        let bounds = properties.filter_map(|property| match property {
            Property::Bypass(most) => *most,
            _ => None,
        });
        bounds.collect()
    }
}

impl MonitoringSettings {
    /// Monitoring settings with everything off: the run counts only totals.
    pub const NOTHING: MonitoringSettings = MonitoringSettings {
        metrics: false,
        monitors: false,
        order_check: GroupSizeCondition::Never,
        bytes: false,
        load: false,
        max_inside: 1,
        conflicts: None,
        fenced: true,
        allowed_links: None,
        properties: None,
        custom: Vec::new(),
    };
}

impl Default for MonitoringSettings {
    fn default() -> Self {
        MonitoringSettings {
            metrics: true,
            monitors: true,
            order_check: GroupSizeCondition::Small,
            ..MonitoringSettings::NOTHING
        }
    }
}

/// Groups in which a check is enabled, by group size. Some checks need memory for every pair of
/// processes, so users may want them only in small groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupSizeCondition {
    /// Enabled in no group.
    Never,
    /// Enabled in groups of up to 128 processes.
    Small,
    /// Enabled in all groups.
    Always,
}

impl GroupSizeCondition {
    pub(crate) const fn is_met_by(self, size: u32) -> bool {
        match self {
            GroupSizeCondition::Never => false,
            GroupSizeCondition::Small => size <= 128,
            GroupSizeCondition::Always => true,
        }
    }
}

impl RunLimits {
    pub(crate) fn max_in_flight(&self, size: u32) -> u64 {
        self.max_in_flight.unwrap_or((1 << 16) + 64 * u64::from(size).pow(2))
    }

    pub(crate) fn stall_timeout(&self, size: u32, network: &NetworkSettings) -> u64 {
        self.stall_timeout.unwrap_or_else(|| {
            let delays = 10_000 * (u64::from(size) + 10);
            let typical = network.latency.rarely_exceeded_ticks().max(TICKS_PER_TIME_UNIT);
            delays.saturating_mul(typical.saturating_mul(network.heaviest_route_weight()))
        })
    }
}
