//! Locks whose permission or token stays where it was used last, over many seeds: what they
//! cost, how long they take, and whom they let overtake.

use tenure_algorithms::catalogue::{self, Parameters};
use tenure_core::Card;
use tenure_sim::{Moments, Settings, Span, Workload, theory};

use crate::{busy, run};

const LOCKS: [&str; 1] = ["carvalho-roucairol"];

fn card(name: &str, size: u32) -> Card {
    catalogue::card(name, &Parameters::plain(size)).expect("the catalogue knows the name")
}

/// Entries one after the other, by processes drawn uniformly; channels in any order.
fn sequential(size: u32, total: u64, seed: u64) -> Settings {
    let mut settings = Settings::new(size);
    settings.seed = seed;
    settings.workload = Workload::sequential(total);
    settings.network.latency = Span::exponential_units(3).into();
    settings
}

/// The mean messages per entry of sequential runs, by seed.
fn mean(name: &str, size: u32, total: u64, seeds: u64) -> Moments {
    let mut moments = Moments::default();
    for seed in 0..seeds {
        let report = run(name, sequential(size, total, seed));
        assert_eq!(report.failures().next(), None, "{name}, n = {size}, seed {seed}");
        moments.add(report.metrics.sent as f64 / total as f64);
    }
    moments
}

#[test]
fn an_entry_costs_on_average_no_more_than_the_card_says() {
    for name in LOCKS {
        for (size, seeds) in [(1, 5), (2, 300), (3, 600), (7, 200)] {
            for seed in 0..seeds {
                let report = run(name, busy(size, 3, seed));
                let told = format!("{name}, n = {size}, seed {seed}");
                assert_eq!(report.failures().next(), None, "{told}");
                let most = card(name, size).messages.most.expect("they have a bound");
                assert!(report.metrics.sent <= most * report.metrics.entered, "{told}");
            }
        }
    }
}

#[test]
fn carvalho_roucairol_asks_on_average_for_half_of_the_permissions_one_at_a_time() {
    for size in [2, 3, 5, 10] {
        let measured = mean("carvalho-roucairol", size, 400, 200);
        let predicted = theory::carvalho_roucairol_mean(size);
        assert!(measured.agrees_with(predicted, 4.0), "n = {size}: {measured:?}, not {predicted}");
    }
}

#[test]
fn unit_delays_give_the_delays_of_the_comparison_table() {
    for name in LOCKS {
        let alone = Settings { workload: Workload::sequential(60), ..Settings::new(5) };
        let crowd = Settings { workload: Workload::entries(2), ..Settings::new(5) };
        let (alone, crowd) = (run(name, alone).metrics, run(name, crowd).metrics);
        let entry = alone.entry_delay;
        assert_eq!(entry.longest, 2_000_000, "{name}: request and answer");
        assert!(entry.total < 2_000_000 * 60, "{name}: sometimes nothing at all");
        assert_eq!(crowd.synchronisation_delay.longest, 1_000_000, "{name}: one message");
        assert_eq!(crowd.exit_delay.longest, 0, "{name}: leaving takes no time");
    }
}

#[test]
fn whoever_has_what_it_takes_overtakes_a_slow_request_as_often_as_it_likes() {
    for name in LOCKS {
        let worst = (0..100).map(|seed| {
            let mut settings = busy(3, 6, seed);
            settings.network.latency = Span::exponential_units(8).into();
            run(name, settings).bypass_max
        });
        assert!(worst.max() >= Some(5), "{name}");
    }
}
