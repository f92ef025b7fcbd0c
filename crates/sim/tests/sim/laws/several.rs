//! Users that need several locks at the same time. Over many seeds, their deadlocks are detected or
//! prevented.

use std::sync::Arc;

use tenure_algorithms::catalogue::Parameters;
use tenure_algorithms::compose::keyed::LockName;
use tenure_algorithms::compose::{LockSequence, lock_sequence};
use tenure_algorithms::mutex::{Central, central};
use tenure_sim::{EndReason, RunReport};

use super::{parameters, run_with};
use crate::common::runs::{assert_served, busy, sent_of, simulate};

fn edge_chasing(size: u32, seed: u64, variants: &[&str]) -> RunReport {
    let settings = busy(size, 3, seed);
    let variants = variants.iter().map(|name| name.to_string()).collect();
    let parameters = Parameters { variants, ..parameters(&settings) };
    run_with("edge-chasing", &parameters, settings)
}

/// Every deadlock must be broken, so that all requests are served. The numbers of messages must
/// equal fixed values.
#[test]
fn every_deadlock_is_broken() {
    let totals = [2, 3, 5].map(|size| {
        let mut totals = [0; 3];
        for seed in 0..1000 {
            let report = edge_chasing(size, seed, &[]);
            let context = format!("n = {size}, seed {seed}");
            assert_served(&report, &context);
            assert_eq!(report.metrics.entry_count, u64::from(size) * 3, "{context}");
            totals[0] += report.metrics.sent;
            totals[1] += sent_of(&report, "probe");
            totals[2] += sent_of(&report, "abort");
        }
        totals
    });
    // Number of messages, of probes and of aborts, for each group size.
    assert_eq!(
        totals,
        [[62_623, 17_699, 4_030], [78_356, 28_096, 4_608], [219_808, 76_093, 9_797]]
    );
}

#[test]
fn ordered_requests_avoid_deadlock() {
    let deadlocks = [2, 3, 5].map(|size: u32| {
        let mut blocked = 0;
        for seed in 0..1000 {
            let report = edge_chasing(size, seed, &["no-detection"]);
            blocked += u32::from(report.ended != EndReason::Served);
            let report = edge_chasing(size, seed, &["ordered"]);
            let context = format!("n = {size}, seed {seed}");
            assert_eq!(report.failures().next(), None, "{context}");
            // An entry takes six messages. A process that manages one of its two locks needs none
            // for that lock.
            let (managers, others) = (u64::from(size.min(3)), u64::from(size.max(3) - 3));
            assert_eq!(report.metrics.sent, 3 * (3 * managers + 6 * others), "{context}");
        }
        blocked
    });
    assert_eq!(deadlocks, [1000; 3], "of 1000 runs");
}

/// Runs a group in which all processes use the same three locks. If `opposite` is true, every
/// second process requests the locks in the opposite order. The names of the locks contain letters
/// of several writing systems.
fn named(size: u32, seed: u64, opposite: bool) -> RunReport {
    let sorted = ["büro", "办公室", "🔒"].map(|name| LockName::new(name).unwrap()).to_vec();
    let list = |process| {
        let mut names = sorted.clone();
        if opposite && process % 2 == 1 {
            names.reverse();
        }
        names
    };
    let names: Arc<[Vec<LockName>]> = (0..size).map(list).collect();
    let config =
        lock_sequence::Config { lock_names_by_process: names, inner: central::Config::default() };
    simulate::<LockSequence<Central>>(config, busy(size, 3, seed))
}

#[test]
fn opposite_lock_orders_deadlock() {
    let mut blocked = 0;
    for seed in 0..1000 {
        let report = named(4, seed, false);
        assert_served(&report, &format!("seed {seed}"));
        // An entry takes three messages for each of three locks, except an entry of the
        // coordinator.
        assert_eq!(report.metrics.sent, 3 * 3 * 3 * 3, "seed {seed}");
        blocked += u32::from(named(4, seed, true).ended != EndReason::Served);
    }
    assert_eq!(blocked, 1000, "of 1000");
}
