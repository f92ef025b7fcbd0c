//! Laws over many seeds of the locks for several, and of the rings that mend themselves without a
//! detector.

use std::num::NonZeroU32;

use tenure_algorithms::mutex::{
    DijkstraRing, KMutex, MisraRing, dijkstra_ring, k_mutex, misra_ring,
};
use tenure_core::Layer;
use tenure_sim::{Chance, Ended, Judgement, Random, Settings, Simulation, Span, Workload};

/// Everybody at once, again and again, over random delays.
fn busy(size: u32, entries: u32, seed: u64) -> Settings {
    let mut settings = Settings::new(size);
    settings.seed = seed;
    settings.workload = Workload::entries(entries);
    settings.network.latency = Span::between_units(1, 5).into();
    settings
}

fn places(most: u32) -> k_mutex::Config {
    k_mutex::Config::at_most(NonZeroU32::new(most).unwrap())
}

#[test]
fn a_k_mutex_lets_k_in_and_costs_what_its_card_says() {
    for (size, most, seeds) in [(3, 2, 400), (7, 3, 200), (4, 1, 100)] {
        let mut several = 0;
        for seed in 0..seeds {
            let settings = busy(size, 3, seed);
            let report = Simulation::<KMutex>::of(places(most), settings).unwrap().run().unwrap();
            let told = format!("n = {size}, k = {most}, seed {seed}");
            assert_eq!(report.failures().next(), None, "{told}");
            assert_eq!(report.ended, Ended::Served, "{told}");
            let per_entry = report.metrics.messages_per_entry(Layer::Mutex);
            let (least, most_sent) = (2 * size - most - 1, 2 * (size - 1));
            assert!(per_entry >= f64::from(least) && per_entry <= f64::from(most_sent), "{told}");
            let held = (most > 1).then_some(Judgement::Holds);
            assert_eq!(report.verdict("at-most-k"), held, "{told}");
            assert_eq!(report.verdict("fencing"), None, "{told}: there are no fences");
            several += u32::from(report.verdict("mutual-exclusion") == Some(Judgement::Violated));
        }
        assert_eq!(several > 0, most > 1, "n = {size}, k = {most}: more than one is inside");
    }
}

#[test]
fn the_two_tokens_of_misra_survive_a_loss_and_keep_their_fences() {
    for (size, seeds) in [(2, 200), (5, 200), (9, 50)] {
        for seed in 0..seeds {
            let mut settings = busy(size, 4, seed);
            settings.network.loss = Chance::at_most(0.05, 1);
            settings.beyond_assumptions = true;
            let config = misra_ring::Config::default();
            let report = Simulation::<MisraRing>::of(config, settings).unwrap().run().unwrap();
            let told = format!("n = {size}, seed {seed}");
            for property in ["mutual-exclusion", "fencing", "starvation-freedom"] {
                assert_eq!(report.verdict(property), Some(Judgement::Holds), "{told}: {property}");
            }
            assert_eq!(report.ended, Ended::Served, "{told}");
            assert!(report.bypass_max <= 2, "{told}: {}", report.bypass_max);
        }
    }
}

#[test]
fn the_ring_of_dijkstra_is_a_lock_under_loss_and_serves_everybody_from_any_start() {
    for seed in 0..300 {
        let size = 2 + u32::try_from(seed % 6).unwrap();
        let mut settings = busy(size, 3, seed);
        settings.network.loss = Chance::of(0.1);
        let run = |config, settings| {
            Simulation::<DijkstraRing>::of(config, settings).unwrap().run().unwrap()
        };
        let report = run(dijkstra_ring::Config::of(5_000_000), settings.clone());
        assert_eq!(report.failures().next(), None, "seed {seed}");
        assert!(report.bypass_max <= 1, "seed {seed}");
        let drawn = Random::new(seed).permutation(2 * size);
        let state = |it: &[u32]| dijkstra_ring::State { own: it[0], left: it[1] };
        let start = drawn.chunks(2).map(state).collect();
        let config = dijkstra_ring::Config { start, ..dijkstra_ring::Config::of(5_000_000) };
        let report = run(config, settings);
        assert_eq!(report.verdict("starvation-freedom"), Some(Judgement::Holds), "seed {seed}");
    }
}
