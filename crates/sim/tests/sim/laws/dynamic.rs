//! Tests of locks in which the last user keeps the permission or the token. The tests compare
//! message counts, delays and bypasses with predictions, over many seeds.

use tenure_algorithms::catalogue::{self, Parameters};
use tenure_core::theory::WorkloadKind;
use tenure_core::{Card, Layer};
use tenure_sim::{Distribution, Moments, Settings, Workload, theory};

use super::{run, run_with};
use crate::common::runs::{busy, seeded};

const LOCKS: [&str; 4] = ["carvalho-roucairol", "suzuki-kasami", "raymond", "naimi-trehel"];

fn card(name: &str, size: u32) -> Card {
    catalogue::card(name, &Parameters::with_defaults(size)).expect("the catalogue knows the name")
}

/// Returns settings in which processes enter the critical section `total` times, one after the
/// other. The process of each entry is drawn uniformly. Channels may reorder messages.
fn sequential(size: u32, total: u64, seed: u64) -> Settings {
    seeded(size, seed, Workload::sequential(total), Distribution::exponential_units(3))
}

/// Returns the moments of the number of messages per entry, over `seeds` runs with `total`
/// sequential entries each.
fn mean(name: &str, parameters: &Parameters, total: u64, seeds: u64) -> Moments {
    let mut moments = Moments::default();
    for seed in 0..seeds {
        let report = run_with(name, parameters, sequential(parameters.size, total, seed));
        assert_eq!(report.failures().next(), None, "{name}, {parameters:?}, seed {seed}");
        moments.add(report.metrics.sent as f64 / total as f64);
    }
    moments
}

/// Asserts that the mean number of messages per entry lies within four standard errors of
/// `predicted`.
fn assert_mean(name: &str, parameters: &Parameters, predicted: f64) {
    let measured = mean(name, parameters, 2000, 50);
    let context = format!("{name}, {parameters:?}: {measured:?}, not {predicted}");
    assert!(measured.agrees_with(predicted, 4.0), "{context}");
}

#[test]
fn mean_cost_stays_within_card() {
    for name in LOCKS {
        for (size, seeds) in [(1, 5), (2, 300), (3, 600), (7, 200)] {
            for seed in 0..seeds {
                let report = run(name, busy(size, 3, seed));
                let context = format!("{name}, n = {size}, seed {seed}");
                assert_eq!(report.failures().next(), None, "{context}");
                let most = card(name, size).messages.most.expect("they have a bound");
                assert!(report.metrics.sent <= most * report.metrics.entry_count, "{context}");
            }
        }
    }
}

fn predicted(name: &str, parameters: &Parameters) -> f64 {
    let expected =
        catalogue::predicted_messages(name, parameters, WorkloadKind::OneAtATime).unwrap();
    theory::quantity_to_f64(expected.expect("theory has a mean").messages)
}

#[test]
#[ignore = "long: 8 s"]
fn sequential_mean_costs_match_literature() {
    for size in [2, 3, 7] {
        let plain = Parameters::with_defaults(size);
        for name in ["carvalho-roucairol", "suzuki-kasami", "naimi-trehel"] {
            assert_mean(name, &plain, predicted(name, &plain));
        }
        for (_, tree) in catalogue::TREE_SHAPES {
            let on_it = Parameters { tree_shape: *tree, ..plain.clone() };
            assert_mean("raymond", &on_it, predicted("raymond", &on_it));
        }
    }
}

/// Negative control: the comparison must reject a prediction that differs from the mean by 0.04
/// messages per entry.
#[test]
fn wrong_mean_is_rejected() {
    let measured = mean("naimi-trehel", &Parameters::with_defaults(10), 2000, 50);
    let predicted = predicted("naimi-trehel", &Parameters::with_defaults(10));
    assert!(!measured.agrees_with(predicted + 0.04, 4.0), "{measured:?}");
    assert!(!measured.agrees_with(predicted - 0.04, 4.0), "{measured:?}");
}

/// Raymond 1989: if all processes request constantly, an entry takes about four messages. While
/// each process enters once, the token crosses each edge of the tree twice, once in each direction.
/// Before each crossing of the token, a request crosses the same edge in the opposite direction.
#[test]
fn raymond_takes_about_four_messages_under_load() {
    for (name, tree) in catalogue::TREE_SHAPES {
        for size in [7, 15, 31] {
            let parameters = Parameters { tree_shape: *tree, ..Parameters::with_defaults(size) };
            let mut settings = Settings { workload: Workload::entries(20), ..Settings::new(size) };
            settings.workload.locking.as_mut().expect("they lock").hold =
                Distribution::time_units(5);
            let report = run_with("raymond", &parameters, settings);
            let per_entry = report.metrics.messages_per_entry(Layer::Mutex);
            assert!((3.2..=4.0).contains(&per_entry), "{name} of {size}: {per_entry}");
        }
    }
}

#[test]
fn unit_delays_match_comparison_table() {
    for name in LOCKS {
        let alone = Settings { workload: Workload::sequential(60), ..Settings::new(5) };
        let crowd = Settings { workload: Workload::entries(2), ..Settings::new(5) };
        let (alone, crowd) = (run(name, alone).metrics, run(name, crowd).metrics);
        // Longest entry delay and synchronisation delay, in hops. Messages of Raymond pass the
        // centre of the star, and a request of Naimi and Trehel may visit up to N processes.
        let (farthest, handing) = match name {
            "raymond" => (4, 2),
            "naimi-trehel" => (5, 1),
            _ => (2, 1),
        };
        let entry = alone.entry_delay;
        assert!((2..=farthest).contains(&(entry.longest / 1_000_000)), "{name}: {entry:?}");
        assert!(entry.total < u128::from(entry.longest) * 60, "{name}: sometimes nothing at all");
        assert_eq!(crowd.synchronisation_delay.longest, handing * 1_000_000, "{name}");
        assert_eq!(crowd.exit_delay.longest, 0, "{name}: leaving takes no time");
    }
}

#[test]
fn slow_request_can_be_overtaken_repeatedly() {
    for name in LOCKS {
        let worst = (0..100).map(|seed| {
            let mut settings = busy(3, 6, seed);
            settings.network.latency = Distribution::exponential_units(8).into();
            run(name, settings).bypass_max
        });
        assert!(worst.max() >= Some(5), "{name}");
    }
}
