//! How fast the simulator is, beside a bare loop that does nothing but deliver.
//!
//! `cargo bench -p tenure-sim` prints the table; `-- --quick` leaves out the largest rings.
//! The bare loop is a binary heap, random delays and the protocol: no faults, no monitors, no
//! metrics, no order on a link. Both deliver the same messages of the same protocols; a figure
//! counts messages delivered per second, the best of several runs taken in turns.

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
use tenure_core::{Batch, Effects, Group, Input, ProcessId, Protocol, Rank, TimerChange};
use tenure_sim::{
    Chance, Configs, Entries, Locking, Pattern, Random, Settings, Simulation, Span, Watch, Watched,
    Workload,
};
use tenure_trace::Recorded;

/// Every delay is between one unit and two.
const DELAY: (u64, u64) = (1_000_000, 2_000_000);

/// Every entry lasts one unit.
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
    two_ways(largest);
    println!("\nRicart–Agrawala at n = 50 with more asked of the simulator:\n");
    extras();
    println!("\nnanoseconds a message, as messages under way grow (1,000 processes):\n");
    println!("{:<34}{:>10}{:>16}{:>16}", "", "bare", "uniform delay", "constant delay");
    for each in [1, 10, 100, 1000] {
        crowded(each);
    }
}

/// Hirschberg–Sinclair, for size; the bare loop would do no better or worse than above.
fn two_ways(size: u32) {
    let ids = Random::new(9).permutation(size);
    let ranks: Arc<[Rank]> = ids.iter().map(|id| Rank::of_id(*id)).collect();
    let mut settings = Settings::new(size);
    settings.workload = Workload::elect();
    settings.ranks = ranks.clone();
    let config = hirschberg_sinclair::Config::of(ranks);
    let simulation = Simulation::<HirschbergSinclair>::new(config, settings);
    let start = Instant::now();
    let report = simulation.run().expect("the settings make sense");
    let speed = report.metrics.sent as f64 / start.elapsed().as_secs_f64() / 1e6;
    let name = format!("Hirschberg–Sinclair, n = {size}");
    assert!(!report.has_failed(), "{:?}", report.findings);
    println!("{name:<34}{:>10}{:>8}{:>8}{:>7}{speed:>8.1}", report.metrics.sent, "", "", "");
}

fn crowded(each: u32) {
    let messages = 3_000_000;
    let size = 1000;
    let bare = best(|| {
        let mut bare = Bare::<Thrower>::new(size, |_| each);
        bare.drain(messages)
    });
    let sim = |latency: Span| {
        let mut settings = Settings::new(size);
        settings.network.latency = latency.into();
        settings.watch = Watch::NOTHING;
        settings.limits.events = Some(messages);
        let simulation = Simulation::<Thrower>::new(each, settings);
        best(|| simulation.run().expect("the settings make sense").metrics.events)
    };
    let uniform = sim(Span::Uniform { min: DELAY.0, max: DELAY.1 });
    let constant = sim(Span::Constant(DELAY.0));
    let cost = |(speed, _): (f64, u64)| 1e3 / speed;
    let name = format!("{} under way", each * size);
    println!("{name:<34}{:>10.0}{:>16.0}{:>16.0}", cost(bare), cost(uniform), cost(constant));
}

fn contention(size: u32, entries: u32) {
    let settings = locking(size, entries);
    let bare = || {
        let mut loop_ = Bare::<Permission>::new(size, |_| Rule::Stamps);
        loop_.mutex(entries)
    };
    let name = format!("Ricart–Agrawala, n = {size}");
    row(&name, bare, &Simulation::<Permission>::new(Rule::Stamps, settings));
}

fn token_ring(size: u32, entries: u32) {
    let bare = || Bare::<Ring>::new(size, |_| ()).mutex(entries);
    let name = format!("token ring, n = {size}");
    row(&name, bare, &Simulation::<Ring>::new((), locking(size, entries)));
}

fn largest_wins(size: u32) {
    let ids = Random::new(7).permutation(size);
    let mut settings = Settings::new(size);
    settings.ranks = ids.iter().map(|id| Rank::of_id(*id)).collect();
    settings.workload = Workload::elect();
    settings.network.latency = Span::Uniform { min: DELAY.0, max: DELAY.1 }.into();
    let bare = || {
        let mut loop_ = Bare::<Extrema>::new(size, |process| ids[process.index()]);
        loop_.elect()
    };
    let configs = Configs::Each(ids.clone());
    let name = format!("Chang–Roberts, n = {size}");
    row(&name, bare, &Simulation::<Extrema>::new(configs, settings));
}

fn locking(size: u32, entries: u32) -> Settings {
    let mut settings = Settings::new(size);
    settings.network.latency = Span::Uniform { min: DELAY.0, max: DELAY.1 }.into();
    settings.workload = Workload::locking(Locking {
        pattern: Pattern::Closed { think: Span::ZERO },
        entries: Entries::Each(entries),
        hold: Span::Constant(HOLD),
    });
    settings
}

fn row<P: Recorded>(name: &str, bare: impl Fn() -> u64, simulation: &Simulation<P>) {
    let plain = simulation.watching(Watch::NOTHING);
    let judged = simulation.watching(Watch { order: Watched::Never, ..Watch::default() });
    let run = |simulation: &Simulation<P>| {
        simulation.run().expect("the settings make sense").metrics.sent
    };
    let (mut best, mut messages) = ([0.0; 3], 0);
    let start = Instant::now();
    for round in 0..200 {
        // In turns, so that a busy moment of the machine hits all of them.
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
    let [bare, speed, slower] = best;
    let (ratio, judged) = (speed / bare, slower / bare);
    println!(
        "{name:<34}{messages:>10}{bare:>8.1}{speed:>8.1}{ratio:>7.2}{slower:>8.1}{judged:>7.2}"
    );
}

fn extras() {
    let watched = |order, bytes| Watch { order, bytes, ..Watch::default() };
    let base = locking(50, 400);
    let with = |change: fn(&mut Settings)| {
        let mut settings = base.clone();
        settings.watch = watched(Watched::Never, false);
        change(&mut settings);
        settings
    };
    let cases = [
        ("metrics and monitors", with(|_| {})),
        ("and vector clocks", with(|s| s.watch.order = Watched::Always)),
        ("and bytes", with(|s| s.watch.bytes = true)),
        ("and channels in order", with(|s| s.network.order = Some(tenure_core::Order::Fifo))),
        ("and duplication", with(|s| s.network.duplication = Chance::of(0.001))),
        ("and exponential delays", with(|s| s.network.latency = Span::exponential_units(1).into())),
    ];
    for (name, settings) in cases {
        let simulation = Simulation::<Permission>::new(Rule::Stamps, settings);
        let (speed, _) = best(|| simulation.run().expect("the settings make sense").metrics.sent);
        println!("{name:<34}{speed:>26.1}");
    }
}

/// The best speed of a few runs, in millions a second, and what a run counted.
fn best(run: impl Fn() -> u64) -> (f64, u64) {
    let runs = (0..4).map(|_| once(&run));
    runs.max_by(|one, other| one.0.total_cmp(&other.0)).expect("there are runs")
}

/// The speed of one run, in millions a second, and what it counted.
fn once(run: impl Fn() -> u64) -> (f64, u64) {
    let start = Instant::now();
    let counted = run();
    (counted as f64 / start.elapsed().as_secs_f64() / 1e6, counted)
}

/// Throws every ball on, always to the same place.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Thrower {
    next: ProcessId,
}

impl Protocol for Thrower {
    /// How many balls each process starts with.
    type Config = u32;
    type Command = ();
    type Event = ();
    type Message = ();
    type Timer = ();
    type Stable = ();

    fn boot(group: Group, balls: &u32, _: Option<()>, fx: &mut impl Effects<Self>) -> Self {
        let next = ProcessId((group.me().0 * 7 + 3) % group.size());
        (0..*balls).for_each(|_| fx.send(next, ()));
        Thrower { next }
    }

    fn stable(&self) {}

    fn on_command(&mut self, (): (), _: &mut impl Effects<Self>) {}

    fn on_message(&mut self, _: ProcessId, (): (), fx: &mut impl Effects<Self>) {
        fx.send(self.next, ());
    }
}

/// What is to happen, by time.
type Due<P> = Reverse<(u64, u64, usize, Sealed<P>)>;

/// Keeps a heap from comparing messages.
struct Sealed<P: Protocol>(ProcessId, Input<P>);

impl<P: Protocol> PartialEq for Sealed<P> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
impl<P: Protocol> Eq for Sealed<P> {}
impl<P: Protocol> PartialOrd for Sealed<P> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<P: Protocol> Ord for Sealed<P> {
    fn cmp(&self, _: &Self) -> std::cmp::Ordering {
        std::cmp::Ordering::Equal
    }
}

/// The bare loop: a heap, random delays, and the protocol.
struct Bare<P: Protocol> {
    processes: Vec<P>,
    batch: Batch<P>,
    heap: BinaryHeap<Due<P>>,
    random: Random,
    now: u64,
    sequence: u64,
    messages: u64,
}

impl<P: Protocol> Bare<P> {
    fn new(size: u32, config: impl Fn(ProcessId) -> P::Config) -> Self {
        let mut bare = Bare {
            processes: Vec::with_capacity(size as usize),
            batch: Batch::default(),
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
            let input = Input::Message { from, message };
            let sealed = Sealed(to, input);
            self.heap.push(Reverse((time, self.sequence, 0, sealed)));
        }
        for change in self.batch.timers.drain(..) {
            // Good enough for the token ring: a timer that was cancelled finds no token.
            if let TimerChange::Set(timer, after) = change {
                let time = self.now + self.random.between(after.min, after.max);
                self.sequence += 1;
                let sealed = Sealed(from, Input::Timer(timer));
                self.heap.push(Reverse((time, self.sequence, 0, sealed)));
            }
        }
    }

    fn step(&mut self, at: ProcessId, input: Input<P>) {
        self.processes[at.index()].step(input, &mut self.batch);
        self.send(at);
    }

    fn next(&mut self) -> Option<ProcessId> {
        let Reverse((time, _, _, Sealed(at, input))) = self.heap.pop()?;
        self.now = time;
        self.step(at, input);
        Some(at)
    }
}

impl Bare<Thrower> {
    fn drain(&mut self, messages: u64) -> u64 {
        for _ in 0..messages {
            self.next();
        }
        messages
    }
}

impl<P: Protocol<Command = mutex::Command, Event = mutex::Event>> Bare<P> {
    /// Everybody enters so often, for one unit. Returns the messages sent.
    fn mutex(&mut self, entries: u32) -> u64 {
        let mut left = vec![entries; self.processes.len()];
        let mut unserved = self.processes.len();
        for process in (0..self.processes.len()).map(ProcessId::at) {
            self.step(process, Input::Command(mutex::Command::Enter));
            self.users(process, &mut left, &mut unserved);
        }
        while unserved > 0 {
            let Some(at) = self.next() else { break };
            self.users(at, &mut left, &mut unserved);
        }
        self.messages
    }

    fn users(&mut self, at: ProcessId, left: &mut [u32], unserved: &mut usize) {
        while let Some(event) = self.batch.events.pop() {
            match event {
                mutex::Event::Entered { .. } => {
                    self.sequence += 1;
                    let sealed = Sealed(at, Input::Command(mutex::Command::Exit));
                    self.heap.push(Reverse((self.now + HOLD, self.sequence, 0, sealed)));
                }
                mutex::Event::Exited => {
                    left[at.index()] -= 1;
                    if left[at.index()] > 0 {
                        self.step(at, Input::Command(mutex::Command::Enter));
                    } else {
                        *unserved -= 1;
                    }
                }
            }
        }
    }
}

impl<P: Protocol<Command = election::Command, Event = election::Event>> Bare<P> {
    /// Everybody starts an election. Returns the messages sent.
    fn elect(&mut self) -> u64 {
        for process in (0..self.processes.len()).map(ProcessId::at) {
            self.step(process, Input::Command(election::Command::Elect));
        }
        while self.next().is_some() {
            self.batch.events.clear();
        }
        self.messages
    }
}
