//! Several locks for one entry: deadlocks counted over many seeds, found and prevented.

use std::sync::Arc;

use tenure_algorithms::catalogue::Parameters;
use tenure_algorithms::compose::keyed::Name;
use tenure_algorithms::compose::{InTurn, in_turn};
use tenure_algorithms::mutex::{Central, central};
use tenure_sim::{Ended, Report, Simulation};

use super::{busy, parameters, run_with};

fn edge_chasing(size: u32, seed: u64, variants: &[&str]) -> Report {
    let settings = busy(size, 3, seed);
    let variants = variants.iter().map(|name| name.to_string()).collect();
    let parameters = Parameters { variants, ..parameters(&settings) };
    run_with("edge-chasing", &parameters, settings)
}

/// How many messages of a kind were sent.
fn sent(report: &Report, kind: &str) -> u64 {
    let kinds = report.metrics.kinds.iter();
    kinds.filter(|count| count.label.kind == kind).map(|count| count.sent).sum()
}

/// A count that changes is a changed algorithm.
#[test]
fn every_deadlock_is_found_and_broken() {
    let totals = [2, 3, 5].map(|size| {
        let mut totals = [0; 3];
        for seed in 0..1000 {
            let report = edge_chasing(size, seed, &[]);
            let told = format!("n = {size}, seed {seed}");
            assert_eq!(report.failures().next(), None, "{told}");
            assert_eq!(report.ended, Ended::Served, "{told}");
            assert_eq!(report.metrics.entered, u64::from(size) * 3, "{told}");
            totals[0] += report.metrics.sent;
            totals[1] += sent(&report, "probe");
            totals[2] += sent(&report, "abort");
        }
        totals
    });
    // Messages, probes and aborts.
    assert_eq!(
        totals,
        [[62_623, 17_699, 4_030], [78_356, 28_096, 4_608], [219_808, 76_093, 9_797]]
    );
}

#[test]
fn without_detection_every_run_ends_in_a_deadlock_and_in_one_order_none() {
    let deadlocks = [2, 3, 5].map(|size: u32| {
        let mut blocked = 0;
        for seed in 0..1000 {
            let report = edge_chasing(size, seed, &["no-detection"]);
            blocked += u32::from(report.ended != Ended::Served);
            let report = edge_chasing(size, seed, &["ordered"]);
            let told = format!("n = {size}, seed {seed}");
            assert_eq!(report.failures().next(), None, "{told}");
            // Six for each entry; a manager asks itself for one of its two locks.
            let (managers, others) = (u64::from(size.min(3)), u64::from(size.max(3) - 3));
            assert_eq!(report.metrics.sent, 3 * (3 * managers + 6 * others), "{told}");
        }
        blocked
    });
    assert_eq!(deadlocks, [1000; 3], "of 1000 runs");
}

/// Names in any script, of the same locks for everybody.
fn named(size: u32, seed: u64, opposite: bool) -> Report {
    let sorted = ["büro", "办公室", "🔒"].map(|name| Name::new(name).unwrap()).to_vec();
    let list = |process| {
        let mut names = sorted.clone();
        if opposite && process % 2 == 1 {
            names.reverse();
        }
        names
    };
    let names: Arc<[Vec<Name>]> = (0..size).map(list).collect();
    let config = in_turn::Config { names, inner: central::Config::default() };
    Simulation::<InTurn<Central>>::of(config, busy(size, 3, seed)).unwrap().run().unwrap()
}

#[test]
fn named_locks_in_one_order_serve_everybody_and_in_opposite_orders_they_do_not() {
    let mut blocked = 0;
    for seed in 0..1000 {
        let report = named(4, seed, false);
        assert_eq!(report.failures().next(), None, "seed {seed}");
        assert_eq!(report.ended, Ended::Served, "seed {seed}");
        // Three messages for each of three locks; the coordinator's own entries cost nothing.
        assert_eq!(report.metrics.sent, 3 * 3 * 3 * 3, "seed {seed}");
        blocked += u32::from(named(4, seed, true).ended != Ended::Served);
    }
    assert_eq!(blocked, 1000, "of 1000");
}
