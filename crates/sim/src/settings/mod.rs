//! Everything that decides a run.

pub(crate) mod command_line;
pub(crate) mod configs;
pub(crate) mod fault;
pub(crate) mod latency;
pub(crate) mod price;
pub(crate) mod refusal;
pub(crate) mod span;
pub(crate) mod workload;

use std::sync::Arc;

use tenure_core::{Order, ProcessId, Property, Rank, TICKS_PER_UNIT, Timing, Topology};

use crate::settings::fault::{Chance, Fault};
use crate::settings::latency::Latency;
use crate::settings::span::Span;
use crate::settings::workload::Workload;

/// Everything that decides a run, besides the algorithm and its configuration.
///
/// The same settings give the same run, to the byte of its trace, on every machine. Fields left
/// at their defaults are what the command line's options default to.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// How many processes.
    pub size: u32,
    /// The rank of each process, for naming leaders and judging validity; empty: 1 to n.
    pub ranks: Arc<[Rank]>,
    /// What decides every draw.
    pub seed: u64,
    /// How messages travel.
    pub network: Network,
    /// What is known about time.
    pub time: Time,
    /// What goes wrong, and when.
    pub faults: Vec<Fault>,
    /// Who has crashed before the start.
    pub down: Vec<ProcessId>,
    /// How crashes are noticed; `None`: nobody is told.
    pub detector: Option<Detector>,
    /// What the users ask.
    pub workload: Workload,
    /// When to stop.
    pub limits: Limits,
    /// What to measure and to judge.
    pub watch: Watch,
    /// Whether to run although the environment is weaker than the algorithm's card demands.
    pub beyond_assumptions: bool,
}

impl Settings {
    /// A quiet run of `size` processes: messages take one unit, nothing fails, nobody asks.
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
            watch: Watch::default(),
            beyond_assumptions: false,
        }
    }

    /// The rank of a process: as listed, else its number.
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

/// How messages travel.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// How long a message takes.
    pub latency: Latency,
    /// In which order a link delivers; `None`: the weakest that the algorithm's card allows.
    pub order: Option<Order>,
    /// Which messages are lost.
    pub loss: Chance,
    /// Which messages arrive twice.
    pub duplication: Chance,
}

impl Default for Network {
    fn default() -> Self {
        Network {
            latency: Latency::Same(Span::units(1)),
            order: None,
            loss: Chance::NEVER,
            duplication: Chance::NEVER,
        }
    }
}

/// What is known about time.
#[derive(Clone, Debug, PartialEq)]
pub struct Time {
    /// Which model of time this is; `None`: the weakest that the algorithm's card allows.
    ///
    /// *Synchronous* demands bounds on latency and step. *Partial* keeps them from `gst` on:
    /// a message sent before is delayed by an unbounded amount, but arrives no later than if
    /// it had been sent at `gst`. *Asynchronous* promises nothing but arrival.
    pub timing: Option<Timing>,
    /// The global stabilisation time, in ticks. Only partial synchrony has one.
    pub gst: u64,
    /// How much faster or slower than real time a process's clock may run: each process draws
    /// its own rate once, up to this many parts in a million.
    pub drift_ppm: u32,
    /// How long a process takes for one step. Its messages leave, and its timers start, at the
    /// end of it; steps of one process follow one another.
    pub step: Span,
}

impl Default for Time {
    fn default() -> Self {
        Time { timing: None, gst: 0, drift_ppm: 0, step: Span::ZERO }
    }
}

/// An oracle that tells every live process of crashes and recoveries.
///
/// It is perfect: it suspects whoever crashed until the recovery, whoever is beyond a partition
/// until that has healed, and nobody else. What it says beyond that is injected
/// ([`Fault::Suspicion`]).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Detector {
    /// How long after the crash or recovery, or the cut or its healing, each process is told.
    pub delay: Span,
}

impl Default for Detector {
    /// Told two units after: a heartbeat missed by one message's delay.
    fn default() -> Self {
        Detector { delay: Span::units(2) }
    }
}

/// When a run stops before its workload is served.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limits {
    /// Run to exactly this tick, even when all is served before.
    pub until: Option<u64>,
    /// Stop after this many events.
    pub events: Option<u64>,
    /// Give up when nobody has been served for this many ticks though somebody waits; `None`:
    /// 10,000 message delays for each process and ten more.
    pub patience: Option<u64>,
    /// Give up when so many messages are under way, and nobody has been served while as many
    /// events passed; `None`: 65,536 and 64 for each pair of processes. Where each message makes
    /// more than one, time hardly passes any more.
    pub under_way: Option<u64>,
}

/// What to measure and to judge. Everything off makes the fastest run.
#[derive(Clone, Debug, PartialEq)]
pub struct Watch {
    /// Count messages by kind and measure delays. Totals are always counted.
    pub metrics: bool,
    /// Judge every property that needs no vector clocks.
    pub monitors: bool,
    /// Whether to keep vector clocks and judge the order of entries.
    pub order: Watched,
    /// Measure messages in bytes, as they would travel between real nodes.
    pub bytes: bool,
    /// How many may be inside at once: 1, or the *k* of a k-mutex.
    pub most_inside: u32,
    /// Whether entries carry fences; a k-mutex has none.
    pub fenced: bool,
    /// The ring that messages must not leave; `None`: that of the card, where nothing fails.
    pub ring: Option<Topology>,
    /// The properties whose violation makes a run a failure; `None`: the card's promises, or
    /// without a card mutual exclusion, deadlock and starvation freedom, progress, fencing,
    /// agreement and validity.
    pub properties: Option<Vec<Property>>,
}

impl Settings {
    /// The bounds on bypass that are judged.
    pub(crate) fn bypass_bounds(&self) -> Vec<u32> {
        let properties = self.watch.properties.iter().flatten();
        let bounds = properties.filter_map(|property| match property {
            Property::Bypass(most) => *most,
            _ => None,
        });
        bounds.collect()
    }
}

impl Watch {
    /// Nothing but totals.
    pub const NOTHING: Watch = Watch {
        metrics: false,
        monitors: false,
        order: Watched::Never,
        bytes: false,
        most_inside: 1,
        fenced: true,
        ring: None,
        properties: None,
    };
}

impl Default for Watch {
    fn default() -> Self {
        Watch { metrics: true, monitors: true, order: Watched::Small, ..Watch::NOTHING }
    }
}

/// Whether to watch what costs memory for every pair of processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watched {
    /// Never.
    Never,
    /// In groups of up to 128 processes.
    Small,
    /// Always.
    Always,
}

impl Watched {
    pub(crate) const fn applies(self, size: u32) -> bool {
        match self {
            Watched::Never => false,
            Watched::Small => size <= 128,
            Watched::Always => true,
        }
    }
}

impl Limits {
    pub(crate) fn under_way(&self, size: u32) -> u64 {
        self.under_way.unwrap_or((1 << 16) + 64 * u64::from(size).pow(2))
    }

    pub(crate) fn patience(&self, size: u32, latency: &Latency) -> u64 {
        self.patience.unwrap_or_else(|| {
            let delays = 10_000 * (u64::from(size) + 10);
            delays.saturating_mul(latency.typical().max(TICKS_PER_UNIT))
        })
    }
}
