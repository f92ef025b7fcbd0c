//! Runs of large groups. Tests also check that a run allocates no memory after its start.

#[path = "sim/common/mod.rs"]
mod common;

use std::collections::VecDeque;
use std::sync::atomic::AtomicBool;

use allocation_counter::{AllocationInfo, measure};
use common::{Extrema, Permission, Ring, Rule};
use tenure_algorithms::agreement::{RaftReplica, raft_log};
use tenure_core::service::log::{self, Payload};
use tenure_core::{ConstantEnvironment, EffectBuffer, Group, Input, ProcessId, Protocol, Rank};
use tenure_sim::{
    Chance, Distribution, EndReason, GroupSizeCondition, ProcessConfigs, Random, RunControls,
    Settings, Simulation, Workload,
};
use tenure_trace::RecordableProtocol;

/// Counts the allocations of a run that handles `events` events. Includes the allocations for the
/// report.
fn allocated<P: RecordableProtocol>(
    config: P::Config,
    settings: &Settings,
    events: u64,
) -> AllocationInfo {
    let mut settings = settings.clone();
    settings.limits.events = Some(events);
    let simulation = Simulation::<P>::new(config, settings);
    let info = measure(|| {
        let report = simulation.run().unwrap();
        assert_eq!((report.ended, report.metrics.events), (EndReason::EventLimit, events));
    });
    assert!(info.count_total > 0, "the counter counts");
    info
}

fn ranks(ids: &[u32]) -> Vec<Rank> {
    ids.iter().map(|id| Rank::from_id(*id)).collect()
}

fn endless(size: u32) -> Settings {
    let mut settings = Settings::new(size);
    settings.workload = Workload::entries(1_000_000);
    settings.network.latency = Distribution::between_time_units(1, 5).into();
    settings
}

#[test]
fn warm_run_allocates_nothing() {
    let same = |short: AllocationInfo, long: AllocationInfo, what: &str| {
        assert_eq!(long.count_total, short.count_total, "{what}: {short:?}, {long:?}");
    };
    let mut permission = endless(8);
    permission.monitoring.order_check = GroupSizeCondition::Never;
    permission.network.duplication = Chance::with_probability(0.01);
    permission.time.drift_ppm = 100;
    let run = |events| allocated::<Permission>(Rule::Stamps, &permission, events);
    same(run(200_000), run(600_000), "permission of all");
    let mut ring = endless(8);
    ring.network.order = Some(tenure_core::ChannelOrder::Fifo);
    ring.monitoring.order_check = GroupSizeCondition::Never;
    let run = |events| allocated::<Ring>((), &ring, events);
    same(run(200_000), run(600_000), "the token ring");
}

#[test]
fn allocation_test_can_fail() {
    // The monitors of order copy a vector clock at each request, so longer runs allocate more.
    let mut clocked = endless(4);
    clocked.monitoring.order_check = GroupSizeCondition::Always;
    let run = |events| allocated::<Permission>(Rule::Stamps, &clocked, events).count_total;
    assert!(run(60_000) > run(20_000));
}

#[test]
fn million_processes_take_under_200_bytes_each() {
    let size = 1_000_000;
    let mut settings = Settings::new(size);
    settings.workload = Workload::elect_by([ProcessId(0)]);
    let ids: Vec<u32> = Random::new(1).permutation(size);
    settings.ranks = ranks(&ids).into();
    let hops = ids.iter().position(|id| *id == size - 1).unwrap() as u32;
    let simulation = Simulation::<Extrema>::new(ProcessConfigs::Each(ids), settings);
    let mut sent = 0;
    let info = measure(|| {
        let report = simulation.run().unwrap();
        assert_eq!(report.failures().next(), None);
        assert_eq!(report.metrics.max_in_flight, 1);
        sent = report.metrics.sent;
    });
    assert_eq!(sent, u64::from(hops + 2 * size));
    let each = info.bytes_max / u64::from(size);
    assert!(each <= 200, "{each} bytes for each process");
}

#[test]
fn large_ring_matches_theory() {
    let size = 100_000;
    let ids = Random::new(3).permutation(size);
    let expected = tenure_algorithms::election::chang_roberts::predicted_message_count(&ids);
    let mut settings = Settings::new(size);
    settings.ranks = ranks(&ids).into();
    settings.workload = Workload::elect_by_all();
    settings.network.latency = Distribution::between_time_units(1, 2).into();
    settings.network.order = Some(tenure_core::ChannelOrder::Fifo);
    let report = Simulation::<Extrema>::new(ProcessConfigs::Each(ids), settings).run().unwrap();
    assert_eq!(report.metrics.sent, expected);
    assert_eq!(report.failures().next(), None);
}

/// A caller must be able to stop a run while the users issue their first requests. In large groups,
/// the first requests send very many messages.
#[test]
fn stop_flag_interrupts_initial_requests() {
    let settings = Settings { workload: Workload::entries(1), ..Settings::new(1_000) };
    let stop = AtomicBool::new(true);
    let simulation = Simulation::<Permission>::new(Rule::Stamps, settings);
    let report = simulation.run_with(RunControls::new().stopped_by(&stop)).unwrap();
    assert_eq!((report.ended, report.metrics.sent), (EndReason::Stopped, 0));
}

/// A group with a replicated log whose first process leads. Links deliver messages in order.
struct LogGroup {
    processes: Vec<RaftReplica>,
    batch: EffectBuffer<RaftReplica, ConstantEnvironment>,
    under_way: VecDeque<(ProcessId, ProcessId, raft_log::Message)>,
}

impl LogGroup {
    fn led(size: u32) -> Self {
        let mut batch = EffectBuffer::default();
        let config = raft_log::Config::with_defaults(size, 1);
        let boot =
            |me| RaftReplica::boot(Group::new(ProcessId(me), size), &config, None, &mut batch);
        let processes = (0..size).map(boot).collect();
        batch.clear();
        let mut group = LogGroup { processes, batch, under_way: VecDeque::new() };
        // The election timer of the first process fires twice, so that it stands for election and
        // leads.
        (0..2).for_each(|_| group.input(Input::Timer(raft_log::Timer::Election)));
        group
    }

    fn append(&mut self, payload: &Payload) {
        let payload = payload.clone();
        self.input(Input::Command(log::Command::Append { ticket: 1, payload }));
    }

    fn input(&mut self, input: Input<RaftReplica>) {
        self.step(ProcessId(0), input);
        while let Some((from, to, message)) = self.under_way.pop_front() {
            self.step(to, Input::Message { from, message });
        }
    }

    fn step(&mut self, at: ProcessId, input: Input<RaftReplica>) {
        self.processes[at.index()].step(input, &mut self.batch);
        let messages = self.batch.messages.drain(..);
        self.under_way.extend(messages.map(|(to, message)| (at, to, message)));
        self.batch.clear();
    }
}

/// Appends entries to a replicated log. Each message with entries may allocate one list, and each
/// log may allocate memory once per eight entries. Heartbeats must not allocate.
#[test]
fn log_allocates_only_for_entries() {
    for size in [3, 5] {
        let mut group = LogGroup::led(size);
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
