//! Laws over many seeds: locks for several processes, and rings that repair themselves without a
//! detector.

use std::num::NonZeroU32;

use tenure_algorithms::mutex::{
    DijkstraRing, KMutex, MisraRing, dijkstra_ring, k_mutex, misra_ring,
};
use tenure_core::Layer;
use tenure_sim::{
    Chance, Distribution, EndReason, Judgement, Random, Settings, Simulation, Workload,
};

/// Returns settings in which all processes request the lock at the same time and again after each
/// exit, with random delays.
fn busy(size: u32, entries: u32, seed: u64) -> Settings {
    let mut settings = Settings::new(size);
    settings.seed = seed;
    settings.workload = Workload::entries(entries);
    settings.network.latency = Distribution::between_units(1, 5).into();
    settings
}

fn places(most: u32) -> k_mutex::Config {
    k_mutex::Config::at_most(NonZeroU32::new(most).unwrap())
}

#[test]
fn k_mutex_admits_k_at_card_cost() {
    for (size, most, seeds) in [(3, 2, 400), (7, 3, 200), (4, 1, 100)] {
        let mut several = 0;
        for seed in 0..seeds {
            let settings = busy(size, 3, seed);
            let report =
                Simulation::<KMutex>::for_algorithm(places(most), settings).unwrap().run().unwrap();
            let context = format!("n = {size}, k = {most}, seed {seed}");
            assert_eq!(report.failures().next(), None, "{context}");
            assert_eq!(report.ended, EndReason::Served, "{context}");
            let per_entry = report.metrics.messages_per_entry(Layer::Mutex);
            let (least, most_sent) = (2 * size - most - 1, 2 * (size - 1));
            assert!(
                per_entry >= f64::from(least) && per_entry <= f64::from(most_sent),
                "{context}"
            );
            let held = (most > 1).then_some(Judgement::Holds);
            assert_eq!(report.judgement("at-most-k"), held, "{context}");
            assert_eq!(report.judgement("fencing"), None, "{context}: there are no fences");
            several += u32::from(report.judgement("mutual-exclusion") == Some(Judgement::Violated));
        }
        assert_eq!(several > 0, most > 1, "n = {size}, k = {most}: more than one is inside");
    }
}

#[test]
fn misra_tokens_survive_loss_with_fences() {
    for (size, seeds) in [(2, 200), (5, 200), (9, 50)] {
        for seed in 0..seeds {
            let mut settings = busy(size, 4, seed);
            settings.network.loss = Chance::at_most(0.05, 1);
            settings.beyond_assumptions = true;
            let config = misra_ring::Config::default();
            let report =
                Simulation::<MisraRing>::for_algorithm(config, settings).unwrap().run().unwrap();
            let context = format!("n = {size}, seed {seed}");
            for property in ["mutual-exclusion", "fencing", "starvation-freedom"] {
                assert_eq!(
                    report.judgement(property),
                    Some(Judgement::Holds),
                    "{context}: {property}"
                );
            }
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
        settings.network.loss = Chance::of(0.1);
        let run = |config, settings| {
            Simulation::<DijkstraRing>::for_algorithm(config, settings).unwrap().run().unwrap()
        };
        let report = run(dijkstra_ring::Config::of(5_000_000), settings.clone());
        assert_eq!(report.failures().next(), None, "seed {seed}");
        assert!(report.bypass_max <= 1, "seed {seed}");
        let drawn = Random::new(seed).permutation(2 * size);
        let state = |it: &[u32]| dijkstra_ring::State { own: it[0], left: it[1] };
        let start = drawn.chunks(2).map(state).collect();
        let config = dijkstra_ring::Config { start, ..dijkstra_ring::Config::of(5_000_000) };
        let report = run(config, settings);
        assert_eq!(report.judgement("starvation-freedom"), Some(Judgement::Holds), "seed {seed}");
    }
}
