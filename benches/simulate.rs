//! Speed of the simulator, compared with a bare loop that only delivers messages.
//!
//! `cargo bench -p tenure-sim` prints the table; `-- --quick` omits the largest rings. The bare
//! loop consists of a binary heap, random delays and the protocol: no faults, monitors, metrics or
//! link order. Simulator and loop deliver the same messages. A figure is the number of messages
//! delivered per second, the best of several interleaved runs.

#![allow(clippy::print_stdout, reason = "a benchmark prints its table")]

#[path = "../crates/sim/tests/sim/common/mod.rs"]
mod common;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::time::Instant;

use common::{Extrema, Permission, Ring, Rule};
use tenure_algorithms::election::{HirschbergSinclair, hirschberg_sinclair};
use tenure_core::service::{election, mutex};
use tenure_core::{EffectBuffer, Effects, Group, Input, ProcessId, Protocol, Rank, TimerChange};
use tenure_sim::{
    Chance, Distribution, EntriesPerProcess, GroupSizeCondition, LockWorkload, MonitoringSettings,
    ProcessConfigs, Random, RequestPattern, Settings, Simulation, Workload,
};
use tenure_trace::RecordableProtocol;

/// Every message delay is between one and two units of simulated time.
const DELAY: (u64, u64) = (1_000_000, 2_000_000);

/// Every critical section lasts one unit of simulated time.
const HOLD: u64 = 1_000_000;

fn main() {
    let quick = std::env::args().any(|argument| argument == "--quick");
    println!("messages delivered per second, in millions; ratios to the bare loop\n");
    println!(
        "{:<34}{:>10}{:>8}{:>8}{:>7}{:>8}{:>7}",
        "", "messages", "bare", "sim", "ratio", "judged", "ratio"
    );
    for (size, entries) in [(5, 10_000), (50, 100), (500, 4)] {
        contention(size, entries);
    }
    token_ring(50, 2_000);
    for size in [1_000, 10_000, 100_000, 1_000_000] {
        if size < 1_000_000 || !quick {
            largest_wins(size);
        }
    }
    let largest = if quick { 100_000 } else { 1_000_000 };
    hirschberg_sinclair_ring(largest);
    println!("\nRicart–Agrawala at n = 50 with more features of the simulator:\n");
    extras();
    println!("\nnanoseconds per message by the number of messages in flight (1,000 processes):\n");
    println!("{:<34}{:>10}{:>16}{:>16}", "", "bare", "uniform delay", "constant delay");
    for each in [1, 10, 100, 1000] {
        messages_in_flight(each);
    }
}

/// Measures the simulation of a large ring, without the bare loop.
fn hirschberg_sinclair_ring(size: u32) {
    let ids = Random::new(9).permutation(size);
    let ranks: Arc<[Rank]> = ids.iter().map(|id| Rank::from_id(*id)).collect();
    let mut settings = Settings::new(size);
    settings.workload = Workload::elect_by_all();
    settings.ranks = ranks.clone();
    let config = hirschberg_sinclair::Config::with_ranks(ranks);
    let simulation = Simulation::<HirschbergSinclair>::new(config, settings);
    let start = Instant::now();
    let report = simulation.run().expect("valid settings");
    let speed = report.metrics.sent as f64 / start.elapsed().as_secs_f64() / 1e6;
    let name = format!("Hirschberg–Sinclair, n = {size}");
    assert!(!report.has_failed(), "{:?}", report.findings);
    println!("{name:<34}{:>10}{:>8}{:>8}{:>7}{speed:>8.1}", report.metrics.sent, "", "", "");
}

fn messages_in_flight(each: u32) {
    let messages = 3_000_000;
    let size = 1000;
    let bare = best(|| {
        let mut bare = BareLoop::<Forwarder>::new(size, |_| each);
        bare.drain(messages)
    });
    let sim = |latency: Distribution| {
        let mut settings = Settings::new(size);
        settings.network.latency = latency.into();
        settings.monitoring = MonitoringSettings::NOTHING;
        settings.limits.events = Some(messages);
        let simulation = Simulation::<Forwarder>::new(each, settings);
        best(|| simulation.run().expect("valid settings").metrics.events)
    };
    let uniform = sim(Distribution::Uniform { min: DELAY.0, max: DELAY.1 });
    let constant = sim(Distribution::Constant(DELAY.0));
    let cost = |(speed, _): (f64, u64)| 1e3 / speed;
    let name = format!("{} in flight", each * size);
    println!("{name:<34}{:>10.0}{:>16.0}{:>16.0}", cost(bare), cost(uniform), cost(constant));
}

fn contention(size: u32, entries: u32) {
    let settings = locking_settings(size, entries);
    let bare = || {
        let mut bare = BareLoop::<Permission>::new(size, |_| Rule::Stamps);
        bare.mutex(entries)
    };
    let name = format!("Ricart–Agrawala, n = {size}");
    row(&name, bare, &Simulation::<Permission>::new(Rule::Stamps, settings));
}

fn token_ring(size: u32, entries: u32) {
    let bare = || BareLoop::<Ring>::new(size, |_| ()).mutex(entries);
    let name = format!("token ring, n = {size}");
    row(&name, bare, &Simulation::<Ring>::new((), locking_settings(size, entries)));
}

fn largest_wins(size: u32) {
    let ids = Random::new(7).permutation(size);
    let mut settings = Settings::new(size);
    settings.ranks = ids.iter().map(|id| Rank::from_id(*id)).collect();
    settings.workload = Workload::elect_by_all();
    settings.network.latency = Distribution::Uniform { min: DELAY.0, max: DELAY.1 }.into();
    let bare = || {
        let mut bare = BareLoop::<Extrema>::new(size, |process| ids[process.index()]);
        bare.elect()
    };
    let configs = ProcessConfigs::Each(ids.clone());
    let name = format!("Chang–Roberts, n = {size}");
    row(&name, bare, &Simulation::<Extrema>::new(configs, settings));
}

fn locking_settings(size: u32, entries: u32) -> Settings {
    let mut settings = Settings::new(size);
    settings.network.latency = Distribution::Uniform { min: DELAY.0, max: DELAY.1 }.into();
    settings.workload = Workload::locking(LockWorkload {
        pattern: RequestPattern::Closed { think: Distribution::ZERO },
        entries: EntriesPerProcess::Each(entries),
        hold: Distribution::Constant(HOLD),
    });
    settings
}

fn row<P: RecordableProtocol>(name: &str, bare: impl Fn() -> u64, simulation: &Simulation<P>) {
    let plain = simulation.with_instrumentation(MonitoringSettings::NOTHING);
    let judged = simulation.with_instrumentation(MonitoringSettings {
        order_check: GroupSizeCondition::Never,
        ..MonitoringSettings::default()
    });
    let run = |simulation: &Simulation<P>| simulation.run().expect("valid settings").metrics.sent;
    let (mut best, mut messages) = ([0.0; 3], 0);
    let start = Instant::now();
    for round in 0..200 {
        // The runs are interleaved, so that a busy moment of the machine affects all of them.
        let (speed, sent) = once(&bare);
        messages = sent;
        let speeds = [speed, once(|| run(&plain)).0, once(|| run(&judged)).0];
        for (best, speed) in best.iter_mut().zip(speeds) {
            *best = speed.max(*best);
        }
        if round > 0 && start.elapsed().as_secs() >= 6 {
            break;
        }
    }
    let [bare, speed, monitored] = best;
    let (ratio, judged) = (speed / bare, monitored / bare);
    println!(
        "{name:<34}{messages:>10}{bare:>8.1}{speed:>8.1}{ratio:>7.2}{monitored:>8.1}{judged:>7.2}"
    );
}

fn extras() {
    let watched = |order, bytes| MonitoringSettings {
        order_check: order,
        bytes,
        ..MonitoringSettings::default()
    };
    let base = locking_settings(50, 400);
    let with = |change: fn(&mut Settings)| {
        let mut settings = base.clone();
        settings.monitoring = watched(GroupSizeCondition::Never, false);
        change(&mut settings);
        settings
    };
    let cases = [
        ("metrics and monitors", with(|_| {})),
        ("and vector clocks", with(|s| s.monitoring.order_check = GroupSizeCondition::Always)),
        ("and bytes", with(|s| s.monitoring.bytes = true)),
        (
            "and channels in order",
            with(|s| s.network.order = Some(tenure_core::ChannelOrder::Fifo)),
        ),
        ("and duplication", with(|s| s.network.duplication = Chance::with_probability(0.001))),
        (
            "and exponential delays",
            with(|s| s.network.latency = Distribution::exponential_units(1).into()),
        ),
    ];
    for (name, settings) in cases {
        let simulation = Simulation::<Permission>::new(Rule::Stamps, settings);
        let (speed, _) = best(|| simulation.run().expect("valid settings").metrics.sent);
        println!("{name:<34}{speed:>26.1}");
    }
}

/// Returns the best speed of several runs, in millions of messages per second, and the number of
/// messages of a run. `run` returns that number.
fn best(run: impl Fn() -> u64) -> (f64, u64) {
    let runs = (0..4).map(|_| once(&run));
    runs.max_by(|one, other| one.0.total_cmp(&other.0)).expect("at least one run")
}

/// Returns the speed of one run, in millions of messages per second, and its number of messages.
fn once(run: impl Fn() -> u64) -> (f64, u64) {
    let start = Instant::now();
    let counted = run();
    (counted as f64 / start.elapsed().as_secs_f64() / 1e6, counted)
}

/// Forwards every message to a fixed process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Forwarder {
    next: ProcessId,
}

impl Protocol for Forwarder {
    /// Number of messages that each process starts with.
    type Config = u32;
    type Command = ();
    type Event = ();
    type Message = ();
    type Timer = ();
    type Stable = ();

    fn boot(group: Group, message_count: &u32, _: Option<()>, fx: &mut impl Effects<Self>) -> Self {
        let next = ProcessId((group.me().0 * 7 + 3) % group.size());
        (0..*message_count).for_each(|_| fx.send(next, ()));
        Forwarder { next }
    }

    fn stable(&self) {}

    fn on_command(&mut self, (): (), _: &mut impl Effects<Self>) {}

    fn on_message(&mut self, _: ProcessId, (): (), fx: &mut impl Effects<Self>) {
        fx.send(self.next, ());
    }
}

type QueuedInput<P> = Reverse<(u64, u64, usize, Unordered<P>)>;

/// Wrapper whose values all compare equal, so that the heap does not compare messages.
struct Unordered<P: Protocol>(ProcessId, Input<P>);

impl<P: Protocol> PartialEq for Unordered<P> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
impl<P: Protocol> Eq for Unordered<P> {}
impl<P: Protocol> PartialOrd for Unordered<P> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<P: Protocol> Ord for Unordered<P> {
    fn cmp(&self, _: &Self) -> std::cmp::Ordering {
        std::cmp::Ordering::Equal
    }
}

struct BareLoop<P: Protocol> {
    processes: Vec<P>,
    batch: EffectBuffer<P>,
    heap: BinaryHeap<QueuedInput<P>>,
    random: Random,
    now: u64,
    sequence: u64,
    messages: u64,
}

impl<P: Protocol> BareLoop<P> {
    fn new(size: u32, config: impl Fn(ProcessId) -> P::Config) -> Self {
        let mut bare = BareLoop {
            processes: Vec::with_capacity(size as usize),
            batch: EffectBuffer::default(),
            heap: BinaryHeap::new(),
            random: Random::new(1),
            now: 0,
            sequence: 0,
            messages: 0,
        };
        for process in (0..size).map(ProcessId) {
            let (group, config) = (Group::new(process, size), config(process));
            bare.processes.push(P::boot(group, &config, None, &mut bare.batch));
            bare.send(process);
        }
        bare
    }

    fn send(&mut self, from: ProcessId) {
        for (to, message) in self.batch.messages.drain(..) {
            let time = self.now + self.random.between(DELAY.0, DELAY.1);
            self.sequence += 1;
            self.messages += 1;
            let input = Unordered(to, Input::Message { from, message });
            self.heap.push(Reverse((time, self.sequence, 0, input)));
        }
        for change in self.batch.timers.drain(..) {
            // Cancellations are ignored. This suffices for the token ring, where a cancelled timer
            // finds no token.
            if let TimerChange::Set(timer, after) = change {
                let time = self.now + self.random.between(after.min, after.max);
                self.sequence += 1;
                let input = Unordered(from, Input::Timer(timer));
                self.heap.push(Reverse((time, self.sequence, 0, input)));
            }
        }
    }

    fn step(&mut self, at: ProcessId, input: Input<P>) {
        self.processes[at.index()].step(input, &mut self.batch);
        self.send(at);
    }

    fn next(&mut self) -> Option<ProcessId> {
        let Reverse((time, _, _, Unordered(at, input))) = self.heap.pop()?;
        self.now = time;
        self.step(at, input);
        Some(at)
    }
}

impl BareLoop<Forwarder> {
    fn drain(&mut self, messages: u64) -> u64 {
        for _ in 0..messages {
            self.next();
        }
        messages
    }
}

impl<P: Protocol<Command = mutex::Command, Event = mutex::Event>> BareLoop<P> {
    /// Each process enters `entries` times, for one unit of time each. Returns the number of
    /// messages.
    fn mutex(&mut self, entries: u32) -> u64 {
        let mut left = vec![entries; self.processes.len()];
        let mut unfinished = self.processes.len();
        for process in (0..self.processes.len()).map(ProcessId::from_index) {
            self.step(process, Input::Command(mutex::Command::Enter));
            self.handle_events(process, &mut left, &mut unfinished);
        }
        while unfinished > 0 {
            let Some(at) = self.next() else { break };
            self.handle_events(at, &mut left, &mut unfinished);
        }
        self.messages
    }

    fn handle_events(&mut self, at: ProcessId, left: &mut [u32], unfinished: &mut usize) {
        while let Some(event) = self.batch.events.pop() {
            match event {
                mutex::Event::Entered { .. } => {
                    self.sequence += 1;
                    let input = Unordered(at, Input::Command(mutex::Command::Exit));
                    self.heap.push(Reverse((self.now + HOLD, self.sequence, 0, input)));
                }
                mutex::Event::Exited => {
                    left[at.index()] -= 1;
                    if left[at.index()] > 0 {
                        self.step(at, Input::Command(mutex::Command::Enter));
                    } else {
                        *unfinished -= 1;
                    }
                }
            }
        }
    }
}

impl<P: Protocol<Command = election::Command, Event = election::Event>> BareLoop<P> {
    /// Each process starts an election. Returns the number of messages.
    fn elect(&mut self) -> u64 {
        for process in (0..self.processes.len()).map(ProcessId::from_index) {
            self.step(process, Input::Command(election::Command::Elect));
        }
        while self.next().is_some() {
            self.batch.events.clear();
        }
        self.messages
    }
}
