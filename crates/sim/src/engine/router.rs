//! Decides when a message arrives: its delay and order, and whether it is lost, duplicated, or
//! stopped by a partition.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use tenure_core::{ChannelOrder, ProcessId, Timing};

use crate::engine::link_table::LinkTable;
use crate::engine::network_traffic::NetworkTraffic;
use crate::engine::random::Random;
use crate::engine::random::RandomStream;
use crate::settings::Settings;
use crate::settings::distribution::Distribution;
use crate::settings::fault::{Chance, CrashTrigger, Fault};
use crate::settings::latency::Latency;

/// Decision about a message: the ticks at which it arrives, or the reason why it never arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RoutingDecision {
    /// The message arrives once, at this time in ticks.
    Once(u64),
    /// The network duplicates the message: the copies arrive at these times in ticks.
    Twice(u64, u64),
    /// The network loses the message, or the sender crashes before the message leaves.
    Lost,
    /// A partition separates the sender from the receiver when the message leaves. The message does
    /// not arrive.
    Cut,
}

/// Router of a run: decides whether and when each message arrives.
#[derive(Debug)]
pub(crate) struct Router {
    size: u32,
    latency: Latency,
    /// Network whose edges carry the messages; `None` if each link has a latency of its own.
    pub(crate) network: Option<NetworkTraffic>,
    /// True if the latency alone determines when a message to another process arrives after its
    /// departure.
    has_only_latency: bool,
    /// Minimum delay of a message to another process, in ticks. In synchronous rounds it is 1, so
    /// that the message never arrives at the time at which it was sent. Otherwise it is 0.
    min_delay: u64,
    /// True during the step of a process that crashes while it sends its messages.
    is_sender_crashing: bool,
    /// Time of the last scheduled arrival on each link, in ticks. `None` if messages may overtake
    /// each other, or if a constant latency already keeps them in order.
    fifo: Option<LinkTable>,
    /// Time of the last scheduled arrival on each link, in ticks. The router uses it to count the
    /// messages that overtake an earlier message. `None` if the router does not count them.
    overtaking: Option<LinkTable>,
    loss: Sampler,
    duplication: Sampler,
    partitions: Option<Partitions>,
    /// Global stabilisation time, in ticks. 0 unless the timing model is *partial*.
    gst: u64,
    /// `None` if steps take no time.
    step: Option<Steps>,
    random: Random,
    pub(crate) counts: MessageFaultCounts,
}

/// Numbers of messages that the faults of the network have affected so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MessageFaultCounts {
    pub(crate) lost: u64,
    pub(crate) duplicated: u64,
    /// Number of messages that overtook an earlier message of the same link.
    pub(crate) reordered: u64,
    /// Number of messages that did not leave because their sender crashed in the middle of a step.
    pub(crate) unsent: u64,
    /// For each partition, by index: the number of messages that it stopped. A message that several
    /// partitions stop counts only for the first of them.
    pub(crate) cut: Vec<u64>,
}

/// Durations of the steps of all processes. `span` is the distribution of the duration of a step.
/// `busy_until` contains, for each process, the time at which its last step ends, in ticks.
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
        let fifo = settings.channel_order() == ChannelOrder::Fifo;
        let (loss, duplication) = (settings.network.loss, settings.network.duplication);
        let partitions = Partitions::of(settings);
        let watched = settings.network.order.is_some() && settings.monitoring.metrics;
        let overtaking = !fifo && varies && watched && size <= 1024;
        let step = (settings.time.step != Distribution::ZERO)
            .then(|| Steps { span: settings.time.step, busy_until: vec![0; size as usize] });
        let is_sending =
            |fault: &Fault| matches!(fault, Fault::Crash { when: CrashTrigger::Sending(_), .. });
        let quiet = settings.timing() != Timing::Rounds
            && !settings.faults.iter().any(is_sending)
            && !loss.can_occur()
            && !duplication.can_occur()
            && partitions.is_none()
            && gst == 0;
        let network = settings.network.graph.clone().map(NetworkTraffic::new);
        let partition_count = partitions.as_ref().map_or(0, |partitions| partitions.spans.len());
        Router {
            size,
            has_only_latency: quiet && network.is_none() && !(fifo && varies) && !overtaking,
            min_delay: u64::from(settings.timing() == Timing::Rounds),
            is_sender_crashing: false,
            fifo: (fifo && varies).then(|| LinkTable::new(size)),
            overtaking: overtaking.then(|| LinkTable::new(size)),
            loss: Sampler::of(loss),
            duplication: Sampler::of(duplication),
            partitions,
            gst,
            step,
            random: Random::stream(settings.seed, RandomStream::Network),
            latency,
            network,
            counts: MessageFaultCounts {
                cut: vec![0; partition_count],
                ..MessageFaultCounts::default()
            },
        }
    }

    /// Begins a step of the process `at` now, or when its previous step has ended. Returns the time
    /// at which the new step ends. The effects of the step leave the process at this time.
    #[inline]
    pub(crate) fn schedule_departure(&mut self, at: ProcessId, now: u64) -> u64 {
        let Some(steps) = &mut self.step else { return now };
        let busy = &mut steps.busy_until[at.index()];
        *busy = now.max(*busy).saturating_add(steps.span.draw(&mut self.random));
        *busy
    }

    /// Decides whether and when a message that leaves `from` at the time `now` arrives at `to`.
    #[inline]
    pub(crate) fn route(&mut self, now: u64, from: ProcessId, to: ProcessId) -> RoutingDecision {
        if self.has_only_latency && from != to {
            let delay = self.latency.draw(self.size, from, to, &mut self.random);
            return RoutingDecision::Once(now.saturating_add(delay));
        }
        self.route_with_faults(now, from, to)
    }

    fn route_with_faults(&mut self, now: u64, from: ProcessId, to: ProcessId) -> RoutingDecision {
        if from == to {
            return RoutingDecision::Once(now);
        }
        if self.block_departure(now, from, to) {
            return RoutingDecision::Cut;
        }
        if self.is_sender_crashing && self.random.below(2) == 0 {
            self.counts.unsent += 1;
            return RoutingDecision::Lost;
        }
        if self.loss.hits(&mut self.random) {
            self.counts.lost += 1;
            return RoutingDecision::Lost;
        }
        let arrival = self.arrival(now, from, to);
        if self.duplication.hits(&mut self.random) {
            self.counts.duplicated += 1;
            return RoutingDecision::Twice(arrival, self.arrival(now, from, to));
        }
        RoutingDecision::Once(arrival)
    }

    /// Draws the delay of a message from `from` to `to`, in ticks. If there is a network, also
    /// counts the message on each edge of its route.
    fn delay(&mut self, from: ProcessId, to: ProcessId) -> u64 {
        match &mut self.network {
            Some(network) => network.carry_message(from, to, &self.latency, &mut self.random),
            None => self.latency.draw(self.size, from, to, &mut self.random),
        }
    }

    /// Draws the time of arrival of a message that leaves at the time `now`, in ticks. Before the
    /// global stabilisation time, a message may be delayed further. Records the arrival on its
    /// link.
    fn arrival(&mut self, now: u64, from: ProcessId, to: ProcessId) -> u64 {
        let mut delay = self.delay(from, to).max(self.min_delay);
        if now < self.gst {
            let route = self.network.as_ref().map_or(1, NetworkTraffic::heaviest_route_weight);
            let typical = (self.latency.rarely_exceeded_ticks().max(1) as f64) * route as f64;
            let late = self.random.exponential(typical * 10.0) as u64;
            delay = delay.saturating_add(late.min(self.gst - now));
        }
        let mut arrival = now.saturating_add(delay);
        if let Some(links) = &mut self.fifo {
            let last = links.value_mut(from, to);
            arrival = arrival.max(*last);
            *last = arrival;
        }
        if let Some(links) = &mut self.overtaking {
            let last = links.value_mut(from, to);
            self.counts.reordered += u64::from(arrival < *last);
            *last = arrival.max(*last);
        }
        arrival
    }

    pub(crate) fn set_sender_crashing(&mut self, is_sender_crashing: bool) {
        self.is_sender_crashing = is_sender_crashing;
    }

    /// Makes all later messages from `from` to `to` arrive at the time `until` or later. May be
    /// called only if links are FIFO, because the router keeps the order on every link from now on.
    pub(crate) fn delay_later_messages(&mut self, from: ProcessId, to: ProcessId, until: u64) {
        let last = self.fifo.get_or_insert_with(|| LinkTable::new(self.size)).value_mut(from, to);
        *last = until.max(*last);
        self.has_only_latency = false;
    }

    /// Returns true if an active partition separates `from` and `to`. In this case, also counts a
    /// message between them as stopped.
    #[inline]
    pub(crate) fn block_if_partitioned(&mut self, from: ProcessId, to: ProcessId) -> bool {
        let between = self.partitions.as_ref().map_or(0, |it| it.between(from, to));
        self.count_cut(between)
    }

    /// Returns true if a partition separates `from` and `to` at the time `departs`, at which a
    /// message leaves the sender. In this case, also counts the message as stopped.
    fn block_departure(&mut self, departs: u64, from: ProcessId, to: ProcessId) -> bool {
        let Some(partitions) = &self.partitions else { return false };
        let between = match self.step {
            None => partitions.between(from, to),
            // The message leaves at the end of the step, which may be later than now.
            Some(_) => partitions.differ(from, to) & partitions.active_at(departs),
        };
        self.count_cut(between)
    }

    /// Counts a message that the partitions in the set `between` stop, for the first partition in
    /// the set. Returns true if the set is not empty. Bit *i* of a set stands for the partition
    /// with the index *i*.
    fn count_cut(&mut self, between: u64) -> bool {
        if between == 0 {
            return false;
        }
        self.counts.cut[between.trailing_zeros() as usize] += 1;
        true
    }

    /// Returns true if an active partition separates `from` and `to`.
    pub(crate) fn is_partitioned(&self, from: ProcessId, to: ProcessId) -> bool {
        self.partitions.as_ref().is_some_and(|partitions| partitions.between(from, to) != 0)
    }

    /// Returns true if `partition` puts two processes on different sides. The partition need not be
    /// active.
    pub(crate) fn separates(&self, partition: u32, from: ProcessId, to: ProcessId) -> bool {
        self.partitions
            .as_ref()
            .is_some_and(|partitions| partitions.differ(from, to) & 1 << partition != 0)
    }

    pub(crate) fn set_partition_active(&mut self, partition: u32, is_active: bool) {
        let Some(partitions) = &mut self.partitions else { return };
        let bit = 1 << partition;
        partitions.active =
            if is_active { partitions.active | bit } else { partitions.active & !bit };
    }

    /// Divides all processes into groups: two processes are in one group if no active partition
    /// separates them. If exactly one partition is active, its first side is the first group.
    pub(crate) fn connected_groups(&self) -> Vec<Vec<ProcessId>> {
        let active_sides = |at: ProcessId| {
            self.partitions.as_ref().map_or(0, |it| it.sides[at.index()] & it.active)
        };
        let mut groups: BTreeMap<Reverse<u64>, Vec<ProcessId>> = BTreeMap::new();
        for process in (0..self.size).map(ProcessId) {
            groups.entry(Reverse(active_sides(process))).or_default().push(process);
        }
        groups.into_values().collect()
    }

    /// Returns true if the settings contain a partition, active or not. Arriving messages must then
    /// be checked against partitions.
    pub(crate) const fn has_partitions(&self) -> bool {
        self.partitions.is_some()
    }
}

/// Partitions of a run. `sides` has one number for each process. Bit *i* of this number is set if
/// the process is on the first side of the partition *i*. Bit *i* of `active` is set if the
/// partition *i* is active.
#[derive(Debug)]
struct Partitions {
    sides: Vec<u64>,
    active: u64,
    /// For each partition, the times at which it begins and ends, in ticks. The end is `u64::MAX`
    /// if the partition never ends.
    spans: Vec<(u64, u64)>,
}

impl Partitions {
    fn of(settings: &Settings) -> Option<Self> {
        let (sides, count) = settings.partition_sides(|_, _| true);
        let span = |fault: &Fault| match *fault {
            Fault::Partition { from, until, .. } => Some((from, until.unwrap_or(u64::MAX))),
            _ => None,
        };
        let spans = settings.faults.iter().filter_map(span).collect();
        (count > 0).then_some(Partitions { sides, active: 0, spans })
    }

    /// Returns the set of the partitions that are active at a time, in ticks.
    fn active_at(&self, time: u64) -> u64 {
        let spans = self.spans.iter().enumerate();
        let active = spans.filter(|(_, (from, until))| (*from..*until).contains(&time));
        active.fold(0, |set, (partition, _)| set | 1 << partition)
    }

    /// Returns the set of the active partitions that separate `from` and `to`.
    fn between(&self, from: ProcessId, to: ProcessId) -> u64 {
        self.differ(from, to) & self.active
    }

    /// Returns the set of the partitions, active or not, that put `from` and `to` on different
    /// sides.
    fn differ(&self, from: ProcessId, to: ProcessId) -> u64 {
        self.sides[from.index()] ^ self.sides[to.index()]
    }
}

/// Sampler of a random fault: decides for each message whether the fault occurs. The chance is
/// converted to an integer threshold once, so that each decision is fast.
#[derive(Debug)]
struct Sampler {
    /// Largest 64-bit random number at which the fault occurs. `None` if the fault cannot occur.
    threshold: Option<u64>,
    /// Number of further occurrences that the chance permits.
    left: u64,
}

impl Sampler {
    fn of(chance: Chance) -> Self {
        // For a probability of 1, the product is 2^64, which does not fit. The cast then saturates
        // to the maximum, at which the fault always occurs.
        let threshold = (chance.probability * 18_446_744_073_709_551_616.0) as u64;
        let threshold = chance.can_occur().then_some(threshold);
        Sampler { threshold, left: chance.max_occurrences.unwrap_or(u64::MAX) }
    }

    #[inline]
    fn hits(&mut self, random: &mut Random) -> bool {
        let Some(threshold) = self.threshold else { return false };
        let hit = random.next_u64() <= threshold && self.left > 0;
        self.left -= u64::from(hit);
        hit
    }
}
