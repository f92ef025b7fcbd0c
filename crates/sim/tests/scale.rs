//! Large groups, and no allocation once a run has warmed up.

#[path = "sim/common/mod.rs"]
mod common;

use std::collections::VecDeque;
use std::sync::atomic::AtomicBool;

use allocation_counter::{AllocationInfo, measure};
use common::{Extrema, Permission, Ring, Rule};
use tenure_algorithms::agreement::{RaftLog, raft_log};
use tenure_core::service::log::{self, Payload};
use tenure_core::{Batch, Group, Input, ProcessId, Protocol, Rank, Still};
use tenure_sim::{
    Chance, Configs, Controls, Ended, Random, Settings, Simulation, Span, Watched, Workload,
};
use tenure_trace::Recorded;

/// What a run of so many events allocates, its report included.
fn allocated<P: Recorded>(config: P::Config, settings: &Settings, events: u64) -> AllocationInfo {
    let mut settings = settings.clone();
    settings.limits.events = Some(events);
    let simulation = Simulation::<P>::new(config, settings);
    let info = measure(|| {
        let report = simulation.run().unwrap();
        assert_eq!((report.ended, report.metrics.events), (Ended::Events, events));
    });
    assert!(info.count_total > 0, "the counter counts");
    info
}

fn ranks(ids: &[u32]) -> Vec<Rank> {
    ids.iter().map(|id| Rank::of_id(*id)).collect()
}

fn endless(size: u32) -> Settings {
    let mut settings = Settings::new(size);
    settings.workload = Workload::entries(1_000_000);
    settings.network.latency = Span::between_units(1, 5).into();
    settings
}

#[test]
fn a_warm_run_allocates_nothing() {
    let same = |short: AllocationInfo, long: AllocationInfo, what: &str| {
        assert_eq!(long.count_total, short.count_total, "{what}: {short:?}, {long:?}");
    };
    let mut permission = endless(8);
    permission.watch.order = Watched::Never;
    permission.network.duplication = Chance::of(0.01);
    permission.time.drift_ppm = 100;
    let run = |events| allocated::<Permission>(Rule::Stamps, &permission, events);
    same(run(200_000), run(600_000), "asking everybody");
    let mut ring = endless(8);
    ring.network.order = Some(tenure_core::Order::Fifo);
    ring.watch.order = Watched::Never;
    let run = |events| allocated::<Ring>((), &ring, events);
    same(run(200_000), run(600_000), "the token ring");
}

#[test]
fn the_allocation_test_can_fail() {
    // Vector clocks are copied for the monitors of order at each request.
    let mut clocked = endless(4);
    clocked.watch.order = Watched::Always;
    let run = |events| allocated::<Permission>(Rule::Stamps, &clocked, events).count_total;
    assert!(run(60_000) > run(20_000));
}

#[test]
fn a_million_processes_take_less_than_200_bytes_each() {
    let size = 1_000_000;
    let mut settings = Settings::new(size);
    settings.workload = Workload::elect_by([ProcessId(0)]);
    let ids: Vec<u32> = Random::new(1).permutation(size);
    settings.ranks = ranks(&ids).into();
    let hops = ids.iter().position(|id| *id == size - 1).unwrap() as u32;
    let simulation = Simulation::<Extrema>::new(Configs::Each(ids), settings);
    let mut sent = 0;
    let info = measure(|| {
        let report = simulation.run().unwrap();
        assert_eq!(report.failures().next(), None);
        assert_eq!(report.metrics.in_flight_most, 1);
        sent = report.metrics.sent;
    });
    assert_eq!(sent, u64::from(hops + 2 * size));
    let each = info.bytes_max / u64::from(size);
    assert!(each <= 200, "{each} bytes for each process");
}

#[test]
fn a_large_ring_costs_what_theory_says() {
    let size = 100_000;
    let ids = Random::new(3).permutation(size);
    let expected = tenure_algorithms::election::chang_roberts::messages(&ids);
    let mut settings = Settings::new(size);
    settings.ranks = ranks(&ids).into();
    settings.workload = Workload::elect();
    settings.network.latency = Span::between_units(1, 2).into();
    settings.network.order = Some(tenure_core::Order::Fifo);
    let report = Simulation::<Extrema>::new(Configs::Each(ids), settings).run().unwrap();
    assert_eq!(report.metrics.sent, expected);
    assert_eq!(report.failures().next(), None);
}

/// Those who ask at the beginning send as many messages as there are pairs.
#[test]
fn whoever_stops_a_large_group_does_not_wait_until_all_have_asked() {
    let settings = Settings { workload: Workload::entries(1), ..Settings::new(1_000) };
    let stop = AtomicBool::new(true);
    let simulation = Simulation::<Permission>::new(Rule::Stamps, settings);
    let report = simulation.run_with(Controls::new().stopped_by(&stop)).unwrap();
    assert_eq!((report.ended, report.metrics.sent), (Ended::Stopped, 0));
}

/// A group that keeps a log, its messages carried one after the other; the first of it leads.
struct Keepers {
    processes: Vec<RaftLog>,
    batch: Batch<RaftLog, Still>,
    under_way: VecDeque<(ProcessId, ProcessId, raft_log::Message)>,
}

impl Keepers {
    fn led(size: u32) -> Self {
        let mut batch = Batch::default();
        let config = raft_log::Config::plain(size, 1);
        let boot = |me| RaftLog::boot(Group::new(ProcessId(me), size), &config, None, &mut batch);
        let processes = (0..size).map(boot).collect();
        batch.clear();
        let mut group = Keepers { processes, batch, under_way: VecDeque::new() };
        // The first misses its leader, then asks.
        (0..2).for_each(|_| group.input(Input::Timer(raft_log::Timer::Election)));
        group
    }

    fn append(&mut self, payload: &Payload) {
        let payload = payload.clone();
        self.input(Input::Command(log::Command::Append { ticket: 1, payload }));
    }

    fn input(&mut self, input: Input<RaftLog>) {
        self.step(ProcessId(0), input);
        while let Some((from, to, message)) = self.under_way.pop_front() {
            self.step(to, Input::Message { from, message });
        }
    }

    fn step(&mut self, at: ProcessId, input: Input<RaftLog>) {
        self.processes[at.index()].step(input, &mut self.batch);
        let messages = self.batch.messages.drain(..);
        self.under_way.extend(messages.map(|(to, message)| (at, to, message)));
        self.batch.clear();
    }
}

/// What an entry allocates is a list in each message, which owns what it carries, and room in each
/// log for 64 at a time.
#[test]
fn a_log_allocates_nothing_but_for_its_entries_and_for_those_that_it_sends() {
    for size in [3, 5] {
        let mut group = Keepers::led(size);
        let payload = Payload::new([7; 16]);
        (0..1000).for_each(|_| group.append(&payload));
        let beat = || (0..1000).for_each(|_| group.input(Input::Timer(raft_log::Timer::Heartbeat)));
        assert_eq!(measure(beat).count_total, 0, "nothing is appended");
        let entries = 6400;
        let appended = measure(|| (0..entries).for_each(|_| group.append(&payload)));
        let others = u64::from(size) - 1;
        let of_messages = entries * others;
        let of_logs = appended.count_total - of_messages;
        assert!(of_logs > 0 && of_logs <= entries * u64::from(size) / 8, "{size}: {of_logs}");
    }
}
