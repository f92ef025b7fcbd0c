//! Laws over many seeds: locks that admit several processes at the same time, and token rings that
//! repair themselves without a failure detector.

use std::num::NonZeroU32;

use tenure_algorithms::mutex::{
    KMutex, KStateTokenRing, MisraRing, dijkstra_ring, k_mutex, misra_ring,
};
use tenure_core::Layer;
use tenure_sim::{Chance, EndReason, Judgement, Random};

use crate::by_service::simulate;
use crate::common::runs::{assert_hold, assert_served, busy, is_violated};

fn places(most: u32) -> k_mutex::Config {
    k_mutex::Config::with_max_inside(NonZeroU32::new(most).unwrap())
}

#[test]
fn k_mutex_admits_k_at_card_cost() {
    for (size, most, seeds) in [(3, 2, 400), (7, 3, 200), (4, 1, 100)] {
        let mut several = 0;
        for seed in 0..seeds {
            let report = simulate::<KMutex>(places(most), busy(size, 3, seed));
            let context = format!("n = {size}, k = {most}, seed {seed}");
            assert_served(&report, &context);
            let per_entry = report.metrics.messages_per_entry(Layer::Mutex);
            let (least, most_sent) = (2 * size - most - 1, 2 * (size - 1));
            assert!(
                per_entry >= f64::from(least) && per_entry <= f64::from(most_sent),
                "{context}"
            );
            let held = (most > 1).then_some(Judgement::Holds);
            assert_eq!(report.judgement_of("at-most-k"), held, "{context}");
            assert_eq!(report.judgement_of("fencing"), None, "{context}: there are no fences");
            several += u32::from(is_violated(&report, "mutual-exclusion"));
        }
        assert_eq!(several > 0, most > 1, "n = {size}, k = {most}: more than one is inside");
    }
}

#[test]
fn misra_tokens_survive_loss_with_fences() {
    for (size, seeds) in [(2, 200), (5, 200), (9, 50)] {
        for seed in 0..seeds {
            let mut settings = busy(size, 4, seed);
            settings.network.loss = Chance::with_max_occurrences(0.05, 1);
            settings.beyond_assumptions = true;
            let report = simulate::<MisraRing>(misra_ring::Config::default(), settings);
            let context = format!("n = {size}, seed {seed}");
            let promises = ["mutual-exclusion", "fencing", "starvation-freedom"];
            assert_hold(&report, &promises, &context);
            assert_eq!(report.ended, EndReason::Served, "{context}");
            assert!(report.bypass_max <= 2, "{context}: {}", report.bypass_max);
        }
    }
}

#[test]
fn dijkstra_ring_locks_under_loss_from_any_state() {
    for seed in 0..300 {
        let size = 2 + u32::try_from(seed % 6).unwrap();
        let mut settings = busy(size, 3, seed);
        settings.network.loss = Chance::with_probability(0.1);
        let plain = dijkstra_ring::Config::with_defaults(5_000_000);
        let report = simulate::<KStateTokenRing>(plain.clone(), settings.clone());
        assert_eq!(report.failures().next(), None, "seed {seed}");
        assert!(report.bypass_max <= 1, "seed {seed}");
        let drawn = Random::new(seed).permutation(2 * size);
        let state = |it: &[u32]| dijkstra_ring::State { own: it[0], left: it[1] };
        let start = drawn.chunks(2).map(state).collect();
        let config = dijkstra_ring::Config { initial_states: start, ..plain };
        let report = simulate::<KStateTokenRing>(config, settings);
        assert_hold(&report, &["starvation-freedom"], &format!("seed {seed}"));
    }
}
