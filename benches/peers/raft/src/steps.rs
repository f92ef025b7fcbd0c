//! How many steps a second are taken: by both in a bare loop, and by ours in the simulator.
//!
//! One of three processes leads and is asked for one entry after the other. The bare loop carries
//! messages in the order in which they were sent, and does nothing else; the simulator draws
//! delays, sets timers, counts, and has every property of a log judged at each event.

use std::collections::VecDeque;
use std::hint::black_box;

use tenure_algorithms::agreement::{RaftLog, raft_log};
use tenure_core::service::log::{Command, Payload};
use tenure_core::{Batch, Group, Input, ProcessId, Still};
use tenure_sim::{Entries, Locking, Pattern, Settings, Simulation, Span, Watch, Watched, Workload};

use crate::differ::Forced;
use crate::peer::{self, Peer};

const SIZE: u32 = 3;
const ENTRIES: u32 = 100_000;
const REPETITIONS: usize = 5;

/// How many nanoseconds this thread has run, from the system: others may be busy, too.
fn clock() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux");
    let first = text.split_whitespace().next();
    first.and_then(|word| word.parse().ok()).expect("a number of nanoseconds")
}

/// So many a second of this thread's time since then.
fn rate(messages: u64, since: u64) -> f64 {
    messages as f64 * 1e9 / (clock() - since) as f64
}

pub fn main() {
    let theirs = peer::Config { tick: None, pre_vote: true };
    let ours = raft_log::Config::plain(SIZE, 1);
    let mut rates = [const { Vec::new() }; 6];
    for _ in 0..REPETITIONS {
        rates[0].push(bare::<Peer>(&theirs));
        rates[1].push(bare::<RaftLog>(&ours));
        let judged = Watch { order: Watched::Never, ..Watch::default() };
        let simulated = [Watch::NOTHING, judged].map(simulated).concat();
        rates[2..].iter_mut().zip(simulated).for_each(|(rates, rate)| rates.push(rate));
    }
    println!(
        "{ENTRIES} entries, {SIZE} processes; million messages a second of one core, medians\n"
    );
    let names = [
        "raft 0.7, bare",
        "raft-log, bare",
        "raft-log, simulated",
        "  its events",
        "the same, judged",
        "  its events",
    ];
    for (name, rates) in names.into_iter().zip(rates) {
        println!("{name:<24}{:>8.2}", crate::median(rates) / 1e6);
    }
}

fn bare<P: Forced>(config: &P::Config) -> f64 {
    let mut batch = Batch::<P, Still>::default();
    let boot = |me| P::boot(Group::new(ProcessId(me), SIZE), config, None, &mut batch);
    let mut processes: Vec<P> = (0..SIZE).map(boot).collect();
    batch.clear();
    let payload = Payload::new([7; 16]);
    let mut under_way = VecDeque::new();
    let mut messages = 0_u64;
    let mut input = |at: ProcessId, input: Input<P>| {
        let mut next = Some((at, input));
        while let Some((at, input)) = next {
            processes[at.index()].step(input, &mut batch);
            let sent = batch.messages.drain(..);
            under_way.extend(sent.map(|(to, message)| (at, to, message)));
            black_box(&batch.events);
            batch.clear();
            next = under_way.pop_front().map(|(from, to, message)| {
                messages += 1;
                (to, Input::Message { from, message })
            });
        }
    };
    input(ProcessId(0), Input::Timer(P::ELECTION));
    let begun = clock();
    for ticket in 0..u64::from(ENTRIES) {
        let payload = payload.clone();
        input(ProcessId(0), Input::Command(Command::Append { ticket, payload }));
    }
    rate(messages, begun)
}

/// How many messages a second are received, and how many events happen: messages, and what users
/// ask.
fn simulated(watch: Watch) -> [f64; 2] {
    let mut settings = Settings::new(SIZE);
    settings.network.latency = Span::between_units(1, 2).into();
    settings.workload = Workload::locking(Locking {
        pattern: Pattern::Closed { think: Span::ZERO },
        entries: Entries::Each(ENTRIES),
        hold: Span::ZERO,
    });
    settings.limits.events = Some(u64::from(ENTRIES) * 5);
    settings.watch = watch;
    let config = raft_log::Config::plain(SIZE, 2_000_000);
    let simulation = Simulation::<RaftLog>::new(config, settings);
    let begun = clock();
    let report = simulation.run().expect("the settings make sense");
    let took = clock() - begun;
    assert!(!report.has_failed(), "{:?}", report.findings);
    assert!(report.metrics.received > u64::from(ENTRIES), "{:?}", report.ended);
    let metrics = &report.metrics;
    [metrics.received, metrics.events].map(|count| count as f64 * 1e9 / took as f64)
}
