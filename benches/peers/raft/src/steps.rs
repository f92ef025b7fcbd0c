//! Steps per second of `raft-log` and `raft` in a bare loop, and of `raft-log` in the simulator.
//!
//! The leader of three processes appends one entry after the other. The bare loop only delivers
//! messages in the order of sending. The simulator also draws delays, sets timers, collects
//! metrics, and checks all properties of a log at each event.

use std::collections::VecDeque;
use std::hint::black_box;

use tenure_algorithms::agreement::{RaftReplica, raft_log};
use tenure_core::service::log::{Command, Payload};
use tenure_core::{ConstantEnvironment, EffectBuffer, Group, Input, ProcessId};
use tenure_sim::{
    Distribution, EntriesPerProcess, GroupSizeCondition, LockWorkload, MonitoringSettings,
    RequestPattern, Settings, Simulation, Workload,
};

use crate::differ::Forced;
use crate::peer::{self, Peer};

const SIZE: u32 = 3;
const ENTRIES: u32 = 100_000;
const REPETITIONS: usize = 5;

/// Returns the CPU time of this thread in nanoseconds, which excludes other processes.
fn clock() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux");
    let first = text.split_whitespace().next();
    first.and_then(|word| word.parse().ok()).expect("a number of nanoseconds")
}

/// Returns the number of messages per second of CPU time. `since` is the CPU time at the start of
/// the measurement, in nanoseconds.
fn rate(messages: u64, since: u64) -> f64 {
    messages as f64 * 1e9 / (clock() - since) as f64
}

pub fn main() {
    let theirs = peer::Config { tick: None, pre_vote: true };
    let ours = raft_log::Config::with_defaults(SIZE, 1);
    let mut rates = [const { Vec::new() }; 6];
    for _ in 0..REPETITIONS {
        rates[0].push(bare::<Peer>(&theirs));
        rates[1].push(bare::<RaftReplica>(&ours));
        let judged = MonitoringSettings {
            order_check: GroupSizeCondition::Never,
            ..MonitoringSettings::default()
        };
        let simulated = [MonitoringSettings::NOTHING, judged].map(simulated).concat();
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
    let mut batch = EffectBuffer::<P, ConstantEnvironment>::default();
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
    let started = clock();
    for ticket in 0..u64::from(ENTRIES) {
        let payload = payload.clone();
        input(ProcessId(0), Input::Command(Command::Append { ticket, payload }));
    }
    rate(messages, started)
}

/// Returns two rates per second of CPU time: received messages, and events. Events are the messages
/// and the commands of users.
fn simulated(monitoring: MonitoringSettings) -> [f64; 2] {
    let mut settings = Settings::new(SIZE);
    settings.network.latency = Distribution::between_time_units(1, 2).into();
    settings.workload = Workload::locking(LockWorkload {
        pattern: RequestPattern::Closed { think: Distribution::ZERO },
        entries: EntriesPerProcess::Each(ENTRIES),
        hold: Distribution::ZERO,
    });
    settings.limits.events = Some(u64::from(ENTRIES) * 5);
    settings.monitoring = monitoring;
    let config = raft_log::Config::with_defaults(SIZE, 2_000_000);
    let simulation = Simulation::<RaftReplica>::new(config, settings);
    let started = clock();
    let report = simulation.run().expect("valid settings");
    let took = clock() - started;
    assert!(!report.has_failed(), "{:?}", report.findings);
    assert!(report.metrics.received > u64::from(ENTRIES), "{:?}", report.ended);
    let metrics = &report.metrics;
    [metrics.received, metrics.events].map(|count| count as f64 * 1e9 / took as f64)
}
