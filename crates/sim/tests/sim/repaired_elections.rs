//! Laws over many seeds: the election on a ring that repairs itself.

use std::sync::Arc;

use tenure_algorithms::Variants;
use tenure_algorithms::election::{
    ChangRoberts, RepairedChangRoberts, chang_roberts, repaired_chang_roberts,
};
use tenure_core::{Order, ProcessId, Rank};
use tenure_sim::{
    CrashTrigger, Distribution, Fault, Judgement, Memory, Random, Recovery, Report, Settings,
    Simulation, Workload,
};

const SIZES: [u32; 3] = [5, 8, 16];

/// Returns settings for a ring in a random order with random delays. At least one process requests
/// an election.
fn any_ring(size: u32, seed: u64) -> (Settings, Random) {
    let mut random = Random::new(seed ^ 0x5eed);
    let ids = random.permutation(size);
    let mut settings = Settings::new(size);
    settings.ranks = ids.iter().map(|id| Rank::of_id(id + 1)).collect();
    settings.seed = seed;
    settings.network.latency = Distribution::between_units(0, 7).into();
    let first = random.below(u64::from(size)) as u32;
    let mut starts = |place: &u32| *place == first || random.below(3) == 0;
    let starters: Vec<ProcessId> = (0..size).filter(&mut starts).map(ProcessId).collect();
    settings.workload = Workload::elect_by(starters);
    (settings, random)
}

fn repaired(settings: Settings) -> Report {
    let config = repaired_chang_roberts::Config::of(Arc::clone(&settings.ranks));
    Simulation::<RepairedChangRoberts>::for_algorithm(config, settings).unwrap().run().unwrap()
}

fn plain(settings: Settings) -> Report {
    let ranks = Arc::clone(&settings.ranks);
    let config = chang_roberts::Config::of(ranks, Variants::none());
    Simulation::<ChangRoberts>::for_algorithm(config, settings).unwrap().run().unwrap()
}

/// Returns the number of messages of each kind.
fn sent(report: &Report) -> Vec<(&str, u64)> {
    report.metrics.kinds.iter().map(|kind| (kind.label.kind, kind.sent)).collect()
}

/// Asserts that a run keeps all promises of an election.
fn holds(report: &Report, context: &str) {
    for property in ["agreement", "validity", "progress", "uniqueness"] {
        assert_eq!(report.judgement(property), Some(Judgement::Holds), "{context}: {property}");
    }
}

/// Returns a crash at a random time, or at the arrival of a random message. The process recovers if
/// `comes_back` is true.
fn crash(process: u32, random: &mut Random, comes_back: bool) -> Fault {
    let recovery = comes_back
        .then(|| Recovery { after: random.below(60) * 1_000_000, memory: Memory::Stable });
    let when = match random.below(2) {
        0 => CrashTrigger::OnMessage(1 + random.below(4)),
        _ => CrashTrigger::At(random.below(80) * 1_000_000),
    };
    Fault::Crash { process: ProcessId(process), when, recovery }
}

#[test]
fn repaired_ring_matches_chang_roberts_without_crash() {
    for seed in 0..1000 {
        let size = SIZES[seed as usize % 3];
        let (mut settings, _) = any_ring(size, seed);
        settings.network.order = Some(Order::Fifo);
        let context = format!("n = {size}, seed {seed}");
        let (first, second) = (plain(settings.clone()), repaired(settings));
        holds(&second, &context);
        assert_eq!(sent(&first), sent(&second), "{context}");
        assert_eq!(first.beliefs, second.beliefs, "{context}");
    }
}

#[test]
fn largest_survivor_leads_after_crash() {
    for seed in 0..1000 {
        let size = SIZES[seed as usize % 3];
        let (mut settings, mut random) = any_ring(size, seed);
        let crashes = 1 + random.below(u64::from(size) - 1) as usize;
        let doomed = random.permutation(size);
        settings.faults =
            doomed[..crashes].iter().map(|it| crash(*it, &mut random, false)).collect();
        // The initiator may be the first to crash.
        settings.workload = Workload::elect();
        let (report, context) = (repaired(settings), format!("n = {size}, seed {seed}"));
        holds(&report, &context);
        assert_eq!(report.judgement("one-leader-per-term"), Some(Judgement::Holds), "{context}");
    }
}

#[test]
fn largest_leads_after_recovery_and_false_suspicions() {
    for seed in 0..1000 {
        let size = SIZES[seed as usize % 3];
        let (mut settings, mut random) = any_ring(size, seed);
        let crashes = 1 + random.below(u64::from(size)) as usize;
        let doomed = random.permutation(size);
        settings.faults =
            doomed[..crashes].iter().map(|it| crash(*it, &mut random, true)).collect();
        for _ in 0..3 {
            let observer = random.below(u64::from(size)) as u32;
            let peer = (observer + 1 + random.below(u64::from(size) - 1) as u32) % size;
            let from = random.below(60) * 1_000_000;
            settings.faults.push(Fault::Suspicion {
                observer: ProcessId(observer),
                peer: ProcessId(peer),
                from,
                until: Some(from + random.below(40) * 1_000_000),
            });
        }
        settings.workload = Workload::elect();
        holds(&repaired(settings), &format!("n = {size}, seed {seed}"));
    }
}

/// Runs the same crashes, but processes ignore the failure detector.
#[test]
fn crashes_without_repair_leave_processes_leaderless() {
    let harmed = (0..300).filter(|seed| {
        let (mut settings, mut random) = any_ring(5, *seed);
        settings.faults = vec![crash(random.below(5) as u32, &mut random, false)];
        settings.workload = Workload::elect();
        settings.beyond_assumptions = true;
        settings.network.order = Some(Order::Fifo);
        let report = plain(settings);
        let is_violated = |it| report.judgement(it) == Some(Judgement::Violated);
        is_violated("progress") || is_violated("validity")
    });
    let harmed = harmed.count();
    assert!(harmed > 150, "{harmed} of 300");
}
