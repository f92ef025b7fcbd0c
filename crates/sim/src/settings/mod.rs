//! Settings of a run.

pub(crate) mod carrier;
pub(crate) mod command_line;
pub(crate) mod configs;
pub(crate) mod cost;
pub(crate) mod distribution;
pub(crate) mod error;
pub(crate) mod fault;
pub(crate) mod latency;
pub(crate) mod workload;

use std::sync::Arc;

use tenure_core::monitors::NeighboursOnly;
use tenure_core::{Graph, Order, ProcessId, Property, Rank, TICKS_PER_UNIT, Timing};

use crate::settings::carrier::Carrier;
use tenure_trace::property::OwnProperty;

use crate::settings::distribution::Distribution;
use crate::settings::fault::{Chance, Fault};
use crate::settings::latency::Latency;
use crate::settings::workload::Workload;

/// Settings of a run, except the algorithm and its configuration.
///
/// The same settings yield the same run, to the byte of its trace, on every machine. The default
/// values are those of the command-line options.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Number of processes.
    pub size: u32,
    /// Rank of each process, for reports of leaders and for validity; empty for 1 to n.
    pub ranks: Arc<[Rank]>,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Latency, order and faults of messages.
    pub network: Network,
    /// Timing model and clocks.
    pub time: Time,
    /// Faults and their times.
    pub faults: Vec<Fault>,
    /// Processes that are down from the start.
    pub down: Vec<ProcessId>,
    /// Failure detector; `None` for no reports.
    pub detector: Option<Detector>,
    /// Requests of the users.
    pub workload: Workload,
    /// Limits that end a run early.
    pub limits: Limits,
    /// Measurements and judged properties.
    pub instrumentation: Instrumentation,
    /// True to run even if the environment is weaker than the algorithm's card demands.
    pub beyond_assumptions: bool,
}

impl Settings {
    /// Creates the settings of a quiet run of `size` processes: a latency of one unit, no faults,
    /// no requests.
    pub fn new(size: u32) -> Self {
        Settings {
            size,
            ranks: Arc::from([]),
            seed: 1,
            network: Network::default(),
            time: Time::default(),
            faults: Vec::new(),
            down: Vec::new(),
            detector: Some(Detector::default()),
            workload: Workload::default(),
            limits: Limits::default(),
            instrumentation: Instrumentation::default(),
            beyond_assumptions: false,
        }
    }

    /// Returns the rank of a process: the listed one, or its number.
    pub fn rank(&self, process: ProcessId) -> Rank {
        let listed = self.ranks.get(process.index()).copied();
        listed.unwrap_or(Rank::of_id(process.number()))
    }

    pub(crate) fn timing(&self) -> Timing {
        self.time.timing.unwrap_or(Timing::Asynchronous)
    }

    pub(crate) fn order(&self) -> Order {
        self.network.order.unwrap_or(Order::Reordered)
    }
}

/// Latency, order and faults of messages.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// Latency of messages.
    pub latency: Latency,
    /// Delivery order of a link; `None` for the weakest that the algorithm's card allows.
    pub order: Option<Order>,
    /// Loss of messages.
    pub loss: Chance,
    /// Duplication of messages.
    pub duplication: Chance,
    /// Graph that carries the messages; `None` for a link between any two processes.
    pub carrier: Option<Carrier>,
}

impl Network {
    /// Returns the largest factor by which a route multiplies a latency.
    pub fn longest_route(&self) -> u64 {
        self.carrier.as_ref().map_or(1, Carrier::longest).max(1)
    }
}

impl Default for Network {
    fn default() -> Self {
        Network {
            latency: Latency::Same(Distribution::units(1)),
            order: None,
            loss: Chance::NEVER,
            duplication: Chance::NEVER,
            carrier: None,
        }
    }
}

/// Timing model and clocks.
#[derive(Clone, Debug, PartialEq)]
pub struct Time {
    /// Timing model; `None` for the weakest that the algorithm's card allows.
    ///
    /// *Synchronous* requires bounds on latency and step. *Partial* guarantees them from `gst` on:
    /// a message sent earlier has an unbounded delay, but arrives no later than if it had been sent
    /// at `gst`. *Asynchronous* guarantees only arrival. *Rounds* is synchronous without drift: the
    /// algorithm ends a round at all processes at once, after the longest latency.
    pub timing: Option<Timing>,
    /// Global stabilisation time, in ticks. Only partial synchrony has one.
    pub gst: u64,
    /// Maximum deviation of a process's clock from real time, in parts per million. Each process
    /// draws its own rate once.
    pub drift_ppm: u32,
    /// Duration of a step. Messages leave and timers start at its end, and the steps of a process
    /// follow one another.
    pub step: Distribution,
}

impl Default for Time {
    fn default() -> Self {
        Time { timing: None, gst: 0, drift_ppm: 0, step: Distribution::ZERO }
    }
}

/// A failure detector that reports crashes and recoveries to every live process.
///
/// It is perfect: it suspects exactly the processes that are down or behind a partition. Mistakes
/// are injected ([`Fault::Suspicion`]).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Detector {
    /// Delay from a crash, a recovery, a partition or its end to the report.
    pub delay: Distribution,
}

impl Default for Detector {
    /// Returns a delay of two units: one missed heartbeat and the delay of a message.
    fn default() -> Self {
        Detector { delay: Distribution::units(2) }
    }
}

/// Limits that end a run before its workload is served.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limits {
    /// Time to run to, in ticks, even if everything is served earlier.
    pub until: Option<u64>,
    /// Maximum number of events.
    pub events: Option<u64>,
    /// Ticks without a served request, while one waits, after which the run gives up. `None` stands
    /// for 10,000 message delays per process and ten more.
    pub stall_timeout: Option<u64>,
    /// Number of messages in flight at which the run gives up if as many events pass without a
    /// served request. `None` stands for 65,536 and 64 for each pair of processes. Time hardly
    /// advances when messages multiply.
    pub max_in_flight: Option<u64>,
}

/// Measurements and judged properties. With everything off, a run is fastest.
#[derive(Clone, Debug, PartialEq)]
pub struct Instrumentation {
    /// True to count messages by kind and measure delays. Totals are always counted.
    pub metrics: bool,
    /// True to judge every property that needs no vector clocks.
    pub monitors: bool,
    /// Use of vector clocks, to judge the order of entries.
    pub order: Tracking,
    /// True to measure the size of messages as between real nodes.
    pub bytes: bool,
    /// True to measure the load of each process and each link.
    pub load: bool,
    /// Number of processes that may be inside at the same time: 1, or the *k* of a k-mutex.
    pub most_inside: u32,
    /// Graph whose neighbours must not be inside at the same time; `None` for that of the card.
    pub conflicts: Option<Arc<Graph>>,
    /// True if entries carry fences; those of a k-mutex do not.
    pub fenced: bool,
    /// Links that messages must not leave; `None` for those of the card, if there are no faults.
    pub links: Option<NeighboursOnly>,
    /// Properties whose violation makes a run a failure. `None` stands for the card's promises.
    /// Without a card these are mutual exclusion, deadlock and starvation freedom, progress,
    /// fencing, agreement and validity.
    pub properties: Option<Vec<Property>>,
    /// Properties that are expressions. A violation makes a run a failure.
    pub own: Vec<Arc<OwnProperty>>,
}

impl Settings {
    /// Returns true if a violation of the property makes a run a failure.
    pub(crate) fn judges(&self, property: Property) -> bool {
        self.instrumentation.properties.iter().flatten().any(|it| *it == property)
    }

    /// Returns the bounds on bypass to judge.
    pub(crate) fn bypass_bounds(&self) -> Vec<u32> {
        let properties = self.instrumentation.properties.iter().flatten();
        let bounds = properties.filter_map(|property| match property {
            Property::Bypass(most) => *most,
            _ => None,
        });
        bounds.collect()
    }
}

impl Instrumentation {
    /// Instrumentation that counts only totals.
    pub const NOTHING: Instrumentation = Instrumentation {
        metrics: false,
        monitors: false,
        order: Tracking::Never,
        bytes: false,
        load: false,
        most_inside: 1,
        conflicts: None,
        fenced: true,
        links: None,
        properties: None,
        own: Vec::new(),
    };
}

impl Default for Instrumentation {
    fn default() -> Self {
        Instrumentation {
            metrics: true,
            monitors: true,
            order: Tracking::Small,
            ..Instrumentation::NOTHING
        }
    }
}

/// Use of measurements that need memory for every pair of processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tracking {
    /// Never collected.
    Never,
    /// Enabled in groups of up to 128 processes.
    Small,
    /// On in all groups.
    Always,
}

impl Tracking {
    pub(crate) const fn applies(self, size: u32) -> bool {
        match self {
            Tracking::Never => false,
            Tracking::Small => size <= 128,
            Tracking::Always => true,
        }
    }
}

impl Limits {
    pub(crate) fn max_in_flight(&self, size: u32) -> u64 {
        self.max_in_flight.unwrap_or((1 << 16) + 64 * u64::from(size).pow(2))
    }

    pub(crate) fn stall_timeout(&self, size: u32, network: &Network) -> u64 {
        self.stall_timeout.unwrap_or_else(|| {
            let delays = 10_000 * (u64::from(size) + 10);
            let typical = network.latency.typical().max(TICKS_PER_UNIT);
            delays.saturating_mul(typical.saturating_mul(network.longest_route()))
        })
    }
}
