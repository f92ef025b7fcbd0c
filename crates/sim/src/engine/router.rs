use tenure_core::{Order, ProcessId, Timing};

use crate::engine::links::Links;
use crate::engine::random::Random;
use crate::engine::random::Stream;
use crate::settings::Settings;
use crate::settings::fault::{Chance, Fault};
use crate::settings::latency::Latency;
use crate::settings::span::Span;

/// What becomes of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// It arrives at this tick.
    Once(u64),
    /// It arrives at both.
    Twice(u64, u64),
    /// It does not arrive.
    Lost,
    /// It is stopped by a partition.
    Cut,
}

/// Decides what becomes of messages, as the settings say.
#[derive(Debug)]
pub(crate) struct Router {
    size: u32,
    latency: Latency,
    /// Whether nothing but the latency is to be looked at.
    plain: bool,
    /// The last arrival on each link, where messages must not overtake.
    fifo: Option<Links>,
    /// The last arrival on each link, where overtaking is counted.
    overtaking: Option<Links>,
    loss: Dice,
    duplication: Dice,
    cuts: Option<Cuts>,
    gst: u64,
    step: Option<Steps>,
    random: Random,
    pub(crate) happened: Happened,
}

/// How often the network did something to a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Happened {
    pub(crate) lost: u64,
    pub(crate) duplicated: u64,
    pub(crate) reordered: u64,
    /// By partition.
    pub(crate) cut: Vec<u64>,
}

/// How long each process is still busy with the steps it has begun.
#[derive(Debug)]
struct Steps {
    span: Span,
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
        let cuts = Cuts::of(settings);
        let watched = settings.network.order.is_some() && settings.watch.metrics;
        let overtaking = !fifo && varies && watched && size <= 1024;
        let step = (settings.time.step != Span::ZERO)
            .then(|| Steps { span: settings.time.step, busy_until: vec![0; size as usize] });
        let quiet = !loss.possible() && !duplication.possible() && cuts.is_none() && gst == 0;
        let partitions = cuts.as_ref().map_or(0, |cuts| cuts.partitions);
        Router {
            size,
            plain: quiet && !(fifo && varies) && !overtaking,
            fifo: (fifo && varies).then(|| Links::new(size)),
            overtaking: overtaking.then(|| Links::new(size)),
            loss: Dice::of(loss),
            duplication: Dice::of(duplication),
            cuts,
            gst,
            step,
            random: Random::stream(settings.seed, Stream::Network),
            latency,
            happened: Happened { cut: vec![0; partitions], ..Happened::default() },
        }
    }

    /// When the effects of a step that a process takes now leave it.
    #[inline]
    pub(crate) fn departure(&mut self, at: ProcessId, now: u64) -> u64 {
        let Some(steps) = &mut self.step else { return now };
        let busy = &mut steps.busy_until[at.index()];
        *busy = now.max(*busy) + steps.span.draw(&mut self.random);
        *busy
    }

    /// Sends a message off at `now`.
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
        if self.is_cut(from, to) {
            return Route::Cut;
        }
        if self.loss.falls(&mut self.random) {
            self.happened.lost += 1;
            return Route::Lost;
        }
        let arrival = self.arrival(now, from, to);
        if self.duplication.falls(&mut self.random) {
            self.happened.duplicated += 1;
            return Route::Twice(arrival, self.arrival(now, from, to));
        }
        Route::Once(arrival)
    }

    fn arrival(&mut self, now: u64, from: ProcessId, to: ProcessId) -> u64 {
        let mut delay = self.latency.draw(self.size, from, to, &mut self.random);
        if now < self.gst {
            let typical = self.latency.typical().max(1) as f64;
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
            self.happened.reordered += u64::from(arrival < *last);
            *last = arrival.max(*last);
        }
        arrival
    }

    /// From now on, nothing overtakes what arrives at `until`, where messages keep their order.
    pub(crate) fn hold_back(&mut self, from: ProcessId, to: ProcessId, until: u64) {
        let last = self.fifo.get_or_insert_with(|| Links::new(self.size)).of(from, to);
        *last = until.max(*last);
        self.plain = false;
    }

    /// Whether a partition stands between two processes now; counts what it stops.
    #[inline]
    pub(crate) fn is_cut(&mut self, from: ProcessId, to: ProcessId) -> bool {
        let Some(cuts) = &self.cuts else { return false };
        let between = cuts.between(from, to);
        if between == 0 {
            return false;
        }
        self.happened.cut[between.trailing_zeros() as usize] += 1;
        true
    }

    /// Whether a partition stands between two processes now.
    pub(crate) fn parts(&self, from: ProcessId, to: ProcessId) -> bool {
        self.cuts.as_ref().is_some_and(|cuts| cuts.between(from, to) != 0)
    }

    /// Whether two processes are on different sides of a partition, begun or not.
    pub(crate) fn is_between(&self, partition: u32, from: ProcessId, to: ProcessId) -> bool {
        self.cuts.as_ref().is_some_and(|cuts| cuts.differ(from, to) & 1 << partition != 0)
    }

    /// Begins or ends a partition.
    pub(crate) fn cut(&mut self, partition: u32, begins: bool) {
        let Some(cuts) = &mut self.cuts else { return };
        let bit = 1 << partition;
        cuts.active = if begins { cuts.active | bit } else { cuts.active & !bit };
    }

    /// Whether partitions must be looked at when a message arrives.
    pub(crate) const fn may_cut(&self) -> bool {
        self.cuts.is_some()
    }
}

/// Who is on which side of which partition, a bit for each.
#[derive(Debug)]
struct Cuts {
    sides: Vec<u64>,
    active: u64,
    partitions: usize,
}

impl Cuts {
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
        (partitions > 0).then_some(Cuts { sides, active: 0, partitions })
    }

    fn between(&self, from: ProcessId, to: ProcessId) -> u64 {
        self.differ(from, to) & self.active
    }

    fn differ(&self, from: ProcessId, to: ProcessId) -> u64 {
        self.sides[from.index()] ^ self.sides[to.index()]
    }
}

/// A chance made ready to be drawn often.
#[derive(Debug)]
struct Dice {
    /// A draw at or below it is a hit; `None`: never.
    threshold: Option<u64>,
    left: u64,
}

impl Dice {
    fn of(chance: Chance) -> Self {
        // 2^64 itself does not fit; the cast saturates, which is what a probability of 1 wants.
        let threshold = (chance.probability * 18_446_744_073_709_551_616.0) as u64;
        let threshold = chance.possible().then_some(threshold);
        Dice { threshold, left: chance.most.unwrap_or(u64::MAX) }
    }

    #[inline]
    fn falls(&mut self, random: &mut Random) -> bool {
        let Some(threshold) = self.threshold else { return false };
        let hit = random.bits() <= threshold && self.left > 0;
        self.left -= u64::from(hit);
        hit
    }
}
