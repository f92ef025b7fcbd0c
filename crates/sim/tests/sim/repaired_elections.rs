//! Laws over many seeds of the election on a ring that mends itself.

use std::sync::Arc;

use tenure_algorithms::Variants;
use tenure_algorithms::election::{
    ChangRoberts, RepairedChangRoberts, chang_roberts, repaired_chang_roberts,
};
use tenure_core::{Order, ProcessId, Rank};
use tenure_sim::{
    Fault, Judgement, Memory, Random, Recovery, Report, Settings, Simulation, Span, When, Workload,
};

const SIZES: [u32; 3] = [5, 8, 16];

/// A ring in any order, where some start at once, at least one, over random delays.
fn any_ring(size: u32, seed: u64) -> (Settings, Random) {
    let mut random = Random::new(seed ^ 0x5eed);
    let ids = random.permutation(size);
    let mut settings = Settings::new(size);
    settings.ranks = ids.iter().map(|id| Rank::of_id(id + 1)).collect();
    settings.seed = seed;
    settings.network.latency = Span::between_units(0, 7).into();
    let first = random.below(u64::from(size)) as u32;
    let mut starts = |place: &u32| *place == first || random.below(3) == 0;
    let starters: Vec<ProcessId> = (0..size).filter(&mut starts).map(ProcessId).collect();
    settings.workload = Workload::elect_by(starters);
    (settings, random)
}

fn repaired(settings: Settings) -> Report {
    let config = repaired_chang_roberts::Config::of(Arc::clone(&settings.ranks));
    Simulation::<RepairedChangRoberts>::of(config, settings).unwrap().run().unwrap()
}

fn plain(settings: Settings) -> Report {
    let ranks = Arc::clone(&settings.ranks);
    let config = chang_roberts::Config::of(ranks, Variants::none());
    Simulation::<ChangRoberts>::of(config, settings).unwrap().run().unwrap()
}

/// How many messages of each kind were sent.
fn sent(report: &Report) -> Vec<(&str, u64)> {
    report.metrics.kinds.iter().map(|kind| (kind.label.kind, kind.sent)).collect()
}

/// Everything that an election promises.
fn holds(report: &Report, told: &str) {
    for property in ["agreement", "validity", "progress", "uniqueness"] {
        assert_eq!(report.verdict(property), Some(Judgement::Holds), "{told}: {property}");
    }
}

/// Somebody crashes at any time, and perhaps comes back.
fn crash(process: u32, random: &mut Random, comes_back: bool) -> Fault {
    let recovery = comes_back
        .then(|| Recovery { after: random.below(60) * 1_000_000, memory: Memory::Stable });
    let when = match random.below(2) {
        0 => When::OnMessage(1 + random.below(4)),
        _ => When::At(random.below(80) * 1_000_000),
    };
    Fault::Crash { process: ProcessId(process), when, recovery }
}

#[test]
fn without_a_crash_it_sends_what_chang_roberts_sends_over_the_same_delays() {
    for seed in 0..1000 {
        let size = SIZES[seed as usize % 3];
        let (mut settings, _) = any_ring(size, seed);
        settings.network.order = Some(Order::Fifo);
        let told = format!("n = {size}, seed {seed}");
        let (first, second) = (plain(settings.clone()), repaired(settings));
        holds(&second, &told);
        assert_eq!(sent(&first), sent(&second), "{told}");
        assert_eq!(first.beliefs, second.beliefs, "{told}");
    }
}

#[test]
fn whoever_crashes_the_largest_of_the_rest_leads_and_all_of_them_know() {
    for seed in 0..1000 {
        let size = SIZES[seed as usize % 3];
        let (mut settings, mut random) = any_ring(size, seed);
        let crashes = 1 + random.below(u64::from(size) - 1) as usize;
        let doomed = random.permutation(size);
        settings.faults =
            doomed[..crashes].iter().map(|it| crash(*it, &mut random, false)).collect();
        // Whoever starts may be the first to crash.
        settings.workload = Workload::elect();
        let (report, told) = (repaired(settings), format!("n = {size}, seed {seed}"));
        holds(&report, &told);
        assert_eq!(report.verdict("one-leader-per-term"), Some(Judgement::Holds), "{told}");
    }
}

#[test]
fn the_largest_leads_also_when_it_comes_back_and_the_others_suspect_each_other_in_vain() {
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

/// The same crashes, and the detector's word for nothing.
#[test]
fn without_repair_most_crashes_leave_somebody_without_a_leader_that_is_alive() {
    let harmed = (0..300).filter(|seed| {
        let (mut settings, mut random) = any_ring(5, *seed);
        settings.faults = vec![crash(random.below(5) as u32, &mut random, false)];
        settings.workload = Workload::elect();
        settings.beyond_assumptions = true;
        settings.network.order = Some(Order::Fifo);
        let report = plain(settings);
        let is_violated = |it| report.verdict(it) == Some(Judgement::Violated);
        is_violated("progress") || is_violated("validity")
    });
    let harmed = harmed.count();
    assert!(harmed > 150, "{harmed} of 300");
}
