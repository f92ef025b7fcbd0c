//! What an election costs, and who wins it.

use tenure_core::ProcessId;
use tenure_sim::{
    Fault, Memory, Moments, Random, Recovery, Settings, Span, Verdict, When, Workload, theory,
};

use crate::{ring, run};

#[test]
fn chang_roberts_costs_what_theory_says_for_every_arrangement_and_on_average() {
    let size = 12;
    let mut mean = Moments::new();
    for seed in 0..2000 {
        let ids: Vec<u32> = Random::new(seed).permutation(size).iter().map(|id| id + 1).collect();
        let report = run("chang-roberts", ring(&ids));
        assert_eq!(report.metrics.sent, theory::chang_roberts(&ids), "seed {seed}: {ids:?}");
        assert_eq!(report.finished_at_units(), 2.0 * f64::from(size), "seed {seed}");
        assert_eq!(report.failures().next(), None, "seed {seed}");
        mean.add(report.metrics.sent as f64);
    }
    let predicted = theory::chang_roberts_mean(size);
    assert!(mean.agrees_with(predicted, 4.0), "{mean:?}, not {predicted}");
}

#[test]
fn one_initiator_pays_for_its_distance_to_the_largest() {
    let size = 9;
    for start in 0..size {
        let mut settings = ring(&(1..=size).collect::<Vec<_>>());
        settings.workload = Workload::elect_by([ProcessId(start)]);
        let report = run("chang-roberts", settings);
        let hops = size - 1 - start;
        assert_eq!(report.metrics.sent, theory::chang_roberts_single(size, hops), "{start}");
    }
}

#[test]
fn hirschberg_sinclair_stays_below_its_bound_and_does_not_depend_on_the_schedule() {
    for (seed, size) in (0..300).map(|seed| (seed, 2 + (seed % 19) as u32)) {
        let ids: Vec<u32> = Random::new(seed).permutation(size).iter().map(|id| id + 1).collect();
        let sent = |latency: Span, seed| {
            let mut settings = ring(&ids);
            (settings.network.latency, settings.seed) = (latency.into(), seed);
            let report = run("hirschberg-sinclair", settings);
            assert_eq!(report.failures().next(), None, "seed {seed}: {ids:?}");
            report.metrics.sent
        };
        let plain = sent(Span::units(1), seed);
        assert_eq!(plain, sent(Span::between_units(1, 9), seed), "seed {seed}: {ids:?}");
        assert!(plain <= theory::hirschberg_sinclair_bound(size), "seed {seed}: {plain}");
    }
}

#[test]
fn the_bully_costs_n_times_n_minus_one_when_the_highest_is_down_and_the_lowest_starts() {
    for size in 3..8u32 {
        let mut settings = Settings::new(size);
        settings.workload = Workload::elect_by([ProcessId(0)]);
        settings.down = vec![ProcessId(size - 1)];
        let report = run("bully", settings);
        assert_eq!(report.metrics.sent, u64::from(size * (size - 1)), "n = {size}");
        assert_eq!(report.leaders, [ProcessId(size - 2)], "n = {size}");
        assert_eq!(report.verdict("validity"), Some(Verdict::Holds), "n = {size}");
    }
}

#[test]
fn the_bully_replaces_a_leader_that_dies_and_yields_to_one_that_returns() {
    for seed in 0..200 {
        let mut settings = Settings::new(5);
        settings.seed = seed;
        settings.workload = Workload::elect();
        settings.network.latency = Span::between_units(0, 1).into();
        let (highest, crash) = (ProcessId(4), When::At(100_000_000));
        let back = Recovery { after: 100_000_000, memory: Memory::Stable };
        settings.faults = vec![Fault::Crash { process: highest, when: crash, recovery: None }];
        let report = run("bully", settings.clone());
        assert_eq!(report.leaders, [ProcessId(3)], "seed {seed}");
        assert_eq!(report.failures().next(), None, "seed {seed}");
        settings.faults =
            vec![Fault::Crash { process: highest, when: crash, recovery: Some(back) }];
        let report = run("bully", settings);
        assert_eq!(report.leaders, [highest], "seed {seed}");
        assert_eq!(report.failures().next(), None, "seed {seed}");
    }
}
