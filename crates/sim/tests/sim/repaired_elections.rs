//! Laws over many seeds: the election on a ring that repairs itself.

use std::sync::Arc;

use tenure_algorithms::Variants;
use tenure_algorithms::election::{
    ChangRoberts, FaultTolerantChangRoberts, chang_roberts, repaired_chang_roberts,
};
use tenure_core::{ChannelOrder, ProcessId, Rank};
use tenure_sim::{CrashTrigger, Distribution, Fault, Random, RunReport, Settings, Workload};

use crate::by_service::simulate;
use crate::common::runs::{assert_hold, crash, crash_and_recover, is_violated, kinds, seeded};

const SIZES: [u32; 3] = [5, 8, 16];

/// Returns settings for a ring in a random order with random delays. At least one process requests
/// an election.
fn any_ring(size: u32, seed: u64) -> (Settings, Random) {
    let mut random = Random::new(seed ^ 0x5eed);
    let ids = random.permutation(size);
    let mut settings =
        seeded(size, seed, Workload::default(), Distribution::between_time_units(0, 7));
    settings.ranks = ids.iter().map(|id| Rank::from_id(id + 1)).collect();
    let first = random.below(u64::from(size)) as u32;
    let mut starts = |place: &u32| *place == first || random.below(3) == 0;
    let starters: Vec<ProcessId> = (0..size).filter(&mut starts).map(ProcessId).collect();
    settings.workload = Workload::elect_by(starters);
    (settings, random)
}

fn repaired(settings: Settings) -> RunReport {
    let config = repaired_chang_roberts::Config::with_ranks(Arc::clone(&settings.ranks));
    simulate::<FaultTolerantChangRoberts>(config, settings)
}

fn plain(settings: Settings) -> RunReport {
    let config = chang_roberts::Config::with_ranks(Arc::clone(&settings.ranks), Variants::none());
    simulate::<ChangRoberts>(config, settings)
}

/// Asserts that a run has the properties of a correct election.
fn holds(report: &RunReport, context: &str) {
    assert_hold(report, &["agreement", "validity", "progress", "uniqueness"], context);
}

/// Returns a crash at a random time, or at the arrival of a random message. The process recovers if
/// `comes_back` is true.
fn random_crash(process: u32, random: &mut Random, comes_back: bool) -> Fault {
    let after = comes_back.then(|| random.below(60) * 1_000_000);
    let when = match random.below(2) {
        0 => CrashTrigger::OnMessage(1 + random.below(4)),
        _ => CrashTrigger::At(random.below(80) * 1_000_000),
    };
    match after {
        Some(after) => crash_and_recover(process, when, after),
        None => crash(process, when),
    }
}

#[test]
fn repaired_ring_matches_chang_roberts_without_crash() {
    for seed in 0..1000 {
        let size = SIZES[seed as usize % 3];
        let (mut settings, _) = any_ring(size, seed);
        settings.network.order = Some(ChannelOrder::Fifo);
        let context = format!("n = {size}, seed {seed}");
        let (first, second) = (plain(settings.clone()), repaired(settings));
        holds(&second, &context);
        assert_eq!(kinds(&first), kinds(&second), "{context}");
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
        let crash = |it: &u32| random_crash(*it, &mut random, false);
        settings.faults = doomed[..crashes].iter().map(crash).collect();
        // The initiator may be the first to crash.
        settings.workload = Workload::elect_by_all();
        let (report, context) = (repaired(settings), format!("n = {size}, seed {seed}"));
        holds(&report, &context);
        assert_hold(&report, &["one-leader-per-term"], &context);
    }
}

#[test]
fn largest_leads_after_recovery_and_false_suspicions() {
    for seed in 0..1000 {
        let size = SIZES[seed as usize % 3];
        let (mut settings, mut random) = any_ring(size, seed);
        let crashes = 1 + random.below(u64::from(size)) as usize;
        let doomed = random.permutation(size);
        let crash = |it: &u32| random_crash(*it, &mut random, true);
        settings.faults = doomed[..crashes].iter().map(crash).collect();
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
        settings.workload = Workload::elect_by_all();
        holds(&repaired(settings), &format!("n = {size}, seed {seed}"));
    }
}

/// Negative control of the tests with a failure detector. A process crashes, and the other
/// processes do not use the detector. In more than half of the runs, the group must end without a
/// valid leader.
#[test]
fn crashes_without_repair_leave_processes_leaderless() {
    let harmed = (0..300).filter(|seed| {
        let (mut settings, mut random) = any_ring(5, *seed);
        settings.faults = vec![random_crash(random.below(5) as u32, &mut random, false)];
        settings.workload = Workload::elect_by_all();
        settings.beyond_assumptions = true;
        settings.network.order = Some(ChannelOrder::Fifo);
        let report = plain(settings);
        is_violated(&report, "progress") || is_violated(&report, "validity")
    });
    let harmed = harmed.count();
    assert!(harmed > 150, "{harmed} of 300");
}
