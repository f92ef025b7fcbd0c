use tenure_core::{Order, ProcessId, Timing};

use crate::engine::freight::Freight;
use crate::engine::links::Links;
use crate::engine::random::Random;
use crate::engine::random::Stream;
use crate::settings::Settings;
use crate::settings::distribution::Distribution;
use crate::settings::fault::{Chance, CrashTrigger, Fault};
use crate::settings::latency::Latency;

/// Outcome of the transmission of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// The message arrives at this tick.
    Once(u64),
    /// The message is duplicated and arrives at both ticks.
    Twice(u64, u64),
    /// The message is lost.
    Lost,
    /// A partition stops it.
    Cut,
}

/// Decides the fate of messages according to the settings.
#[derive(Debug)]
pub(crate) struct Router {
    size: u32,
    latency: Latency,
    /// Edges below the links, if they are modelled.
    pub(crate) freight: Option<Freight>,
    /// True if only the latency matters.
    plain: bool,
    /// Minimum delay of a message, in ticks. In synchronous rounds it is 1, so that no message
    /// arrives in the round before that in which it was sent.
    least: u64,
    /// True while a process sends that crashes in the middle of its step.
    is_cut_short: bool,
    /// Last arrival on each link, if messages must not overtake.
    fifo: Option<Links>,
    /// Last arrival on each link, if overtaking is counted.
    overtaking: Option<Links>,
    loss: Sampler,
    duplication: Sampler,
    cuts: Option<Partitions>,
    gst: u64,
    step: Option<Steps>,
    random: Random,
    pub(crate) counts: NetworkCounts,
}

/// Number of messages affected by each network fault.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NetworkCounts {
    pub(crate) lost: u64,
    pub(crate) duplicated: u64,
    pub(crate) reordered: u64,
    /// Number of stopped messages, by partition.
    pub(crate) cut: Vec<u64>,
}

/// Time until which each process is busy with its steps.
#[derive(Debug)]
struct Steps {
    span: Distribution,
    busy_until: Vec<u64>,
}

impl Router {
    pub(crate) fn new(settings: &Settings) -> Self {
        let size = settings.size;
        let latency = settings.network.latency.clone();
        let gst = if settings.timing() == Timing::Partial { settings.time.gst } else { 0 };
        let varies = !latency.is_constant() || gst > 0;
        let fifo = settings.order() == Order::Fifo;
        let (loss, duplication) = (settings.network.loss, settings.network.duplication);
        let cuts = Partitions::of(settings);
        let watched = settings.network.order.is_some() && settings.instrumentation.metrics;
        let overtaking = !fifo && varies && watched && size <= 1024;
        let step = (settings.time.step != Distribution::ZERO)
            .then(|| Steps { span: settings.time.step, busy_until: vec![0; size as usize] });
        let is_sending =
            |fault: &Fault| matches!(fault, Fault::Crash { when: CrashTrigger::Sending(_), .. });
        let quiet = settings.timing() != Timing::Rounds
            && !settings.faults.iter().any(is_sending)
            && !loss.possible()
            && !duplication.possible()
            && cuts.is_none()
            && gst == 0;
        let freight = settings.network.carrier.clone().map(Freight::new);
        let partitions = cuts.as_ref().map_or(0, |cuts| cuts.partitions);
        Router {
            size,
            plain: quiet && freight.is_none() && !(fifo && varies) && !overtaking,
            least: u64::from(settings.timing() == Timing::Rounds),
            is_cut_short: false,
            fifo: (fifo && varies).then(|| Links::new(size)),
            overtaking: overtaking.then(|| Links::new(size)),
            loss: Sampler::of(loss),
            duplication: Sampler::of(duplication),
            cuts,
            gst,
            step,
            random: Random::stream(settings.seed, Stream::Network),
            latency,
            freight,
            counts: NetworkCounts { cut: vec![0; partitions], ..NetworkCounts::default() },
        }
    }

    /// Returns the time at which the effects of a step taken now leave the process.
    #[inline]
    pub(crate) fn departure(&mut self, at: ProcessId, now: u64) -> u64 {
        let Some(steps) = &mut self.step else { return now };
        let busy = &mut steps.busy_until[at.index()];
        *busy = now.max(*busy) + steps.span.draw(&mut self.random);
        *busy
    }

    /// Routes a message that is sent at `now`.
    #[inline]
    pub(crate) fn route(&mut self, now: u64, from: ProcessId, to: ProcessId) -> Route {
        if self.plain && from != to {
            return Route::Once(now + self.latency.draw(self.size, from, to, &mut self.random));
        }
        self.route_with_faults(now, from, to)
    }

    fn route_with_faults(&mut self, now: u64, from: ProcessId, to: ProcessId) -> Route {
        if from == to {
            return Route::Once(now);
        }
        if self.blocks(from, to) {
            return Route::Cut;
        }
        if self.is_cut_short && self.random.below(2) == 0 {
            return Route::Lost;
        }
        if self.loss.hits(&mut self.random) {
            self.counts.lost += 1;
            return Route::Lost;
        }
        let arrival = self.arrival(now, from, to);
        if self.duplication.hits(&mut self.random) {
            self.counts.duplicated += 1;
            return Route::Twice(arrival, self.arrival(now, from, to));
        }
        Route::Once(arrival)
    }

    /// Draws the delay of a message, in ticks.
    fn delay(&mut self, from: ProcessId, to: ProcessId) -> u64 {
        match &mut self.freight {
            Some(freight) => freight.carry(from, to, &self.latency, &mut self.random),
            None => self.latency.draw(self.size, from, to, &mut self.random),
        }
    }

    fn arrival(&mut self, now: u64, from: ProcessId, to: ProcessId) -> u64 {
        let mut delay = self.delay(from, to).max(self.least);
        if now < self.gst {
            let route = self.freight.as_ref().map_or(1, Freight::longest_route);
            let typical = (self.latency.typical().max(1) as f64) * route as f64;
            let late = self.random.exponential(typical * 10.0) as u64;
            delay += late.min(self.gst - now);
        }
        let mut arrival = now + delay;
        if let Some(links) = &mut self.fifo {
            let last = links.of(from, to);
            arrival = arrival.max(*last);
            *last = arrival;
        }
        if let Some(links) = &mut self.overtaking {
            let last = links.of(from, to);
            self.counts.reordered += u64::from(arrival < *last);
            *last = arrival.max(*last);
        }
        arrival
    }

    /// Begins or ends a step in the middle of which its process crashes.
    pub(crate) fn cut_short(&mut self, is_cut_short: bool) {
        self.is_cut_short = is_cut_short;
    }

    /// Delays later messages on a FIFO link until `until`.
    pub(crate) fn hold_back(&mut self, from: ProcessId, to: ProcessId, until: u64) {
        let last = self.fifo.get_or_insert_with(|| Links::new(self.size)).of(from, to);
        *last = until.max(*last);
        self.plain = false;
    }

    /// Returns true if a partition separates two processes now, and counts the stopped message.
    #[inline]
    pub(crate) fn blocks(&mut self, from: ProcessId, to: ProcessId) -> bool {
        let Some(cuts) = &self.cuts else { return false };
        let between = cuts.between(from, to);
        if between == 0 {
            return false;
        }
        self.counts.cut[between.trailing_zeros() as usize] += 1;
        true
    }

    /// Returns true if a partition separates two processes now.
    pub(crate) fn is_partitioned(&self, from: ProcessId, to: ProcessId) -> bool {
        self.cuts.as_ref().is_some_and(|cuts| cuts.between(from, to) != 0)
    }

    /// Returns true if two processes are on different sides of a partition, active or not.
    pub(crate) fn separates(&self, partition: u32, from: ProcessId, to: ProcessId) -> bool {
        self.cuts.as_ref().is_some_and(|cuts| cuts.differ(from, to) & 1 << partition != 0)
    }

    /// Begins or ends a partition.
    pub(crate) fn set_partition(&mut self, partition: u32, begins: bool) {
        let Some(cuts) = &mut self.cuts else { return };
        let bit = 1 << partition;
        cuts.active = if begins { cuts.active | bit } else { cuts.active & !bit };
    }

    /// Returns true if arriving messages must be checked against partitions.
    pub(crate) const fn has_partitions(&self) -> bool {
        self.cuts.is_some()
    }
}

/// Side of each process in each partition, one bit per partition.
#[derive(Debug)]
struct Partitions {
    sides: Vec<u64>,
    active: u64,
    partitions: usize,
}

impl Partitions {
    fn of(settings: &Settings) -> Option<Self> {
        let mut sides = vec![0; settings.size as usize];
        let mut partitions = 0;
        for fault in &settings.faults {
            let Fault::Partition { side, .. } = fault else { continue };
            for process in side {
                sides[process.index()] |= 1 << partitions;
            }
            partitions += 1;
        }
        (partitions > 0).then_some(Partitions { sides, active: 0, partitions })
    }

    fn between(&self, from: ProcessId, to: ProcessId) -> u64 {
        self.differ(from, to) & self.active
    }

    fn differ(&self, from: ProcessId, to: ProcessId) -> u64 {
        self.sides[from.index()] ^ self.sides[to.index()]
    }
}

/// A chance, prepared for frequent draws.
#[derive(Debug)]
struct Sampler {
    /// Upper bound of draws that hit; `None` if the chance is zero.
    threshold: Option<u64>,
    left: u64,
}

impl Sampler {
    fn of(chance: Chance) -> Self {
        // 2^64 itself does not fit. The cast saturates, as a probability of 1 requires.
        let threshold = (chance.probability * 18_446_744_073_709_551_616.0) as u64;
        let threshold = chance.possible().then_some(threshold);
        Sampler { threshold, left: chance.most.unwrap_or(u64::MAX) }
    }

    #[inline]
    fn hits(&mut self, random: &mut Random) -> bool {
        let Some(threshold) = self.threshold else { return false };
        let hit = random.bits() <= threshold && self.left > 0;
        self.left -= u64::from(hit);
        hit
    }
}
