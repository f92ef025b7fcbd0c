//! Tests that algorithms keep their promises. The card of an algorithm lists the properties that it
//! promises, and the assumptions under which it promises them.

use tenure_algorithms::catalogue::{self, ELECTIONS, Parameters};
use tenure_core::{ChannelOrder, Property, Timing};
use tenure_sim::{Chance, CrashTrigger, Distribution, Random, Settings, SettingsError, Workload};

use super::{LOCKS, ring, run, try_run};
use crate::common::runs::{assert_served, busy, crash, shuffled};

#[test]
fn every_lock_keeps_card_promises() {
    for name in LOCKS {
        for (size, seeds) in [(2, 200), (3, 400), (7, 100)] {
            for seed in 0..seeds {
                let report = run(name, busy(size, 3, seed));
                let context = format!("{name}, n = {size}, seed {seed}");
                assert_served(&report, &context);
                assert_eq!(report.metrics.entry_count, u64::from(size) * 3, "{context}");
            }
        }
    }
}

/// Every election must keep the promises on its card. In this test, all processes start at the same
/// time, and their order on the ring is random.
#[test]
fn every_election_keeps_card_promises() {
    for name in ELECTIONS {
        for (size, seeds) in [(2, 300), (3, 500), (7, 400)] {
            let cost = catalogue::card(name, &Parameters::with_defaults(size)).unwrap().messages;
            for seed in 0..seeds {
                let ids = shuffled(size, &mut Random::new(seed));
                let mut settings = ring(&ids);
                settings.seed = seed;
                settings.network.latency = Distribution::between_time_units(0, 4).into();
                let report = run(name, settings);
                let context = format!("{name}, {ids:?}, seed {seed}");
                assert_served(&report, &context);
                assert_eq!(report.leaders.len(), 1, "{context}");
                let sent = report.metrics.sent;
                assert!(sent >= cost.least, "{context}: {sent}");
                assert!(cost.most.is_none_or(|most| sent <= most), "{context}: {sent}");
            }
        }
    }
}

#[test]
fn asynchronous_algorithms_work_under_stronger_timing() {
    for name in LOCKS {
        for timing in [Timing::Synchronous, Timing::Partial] {
            for seed in 0..60 {
                let mut settings = busy(4, 2, seed);
                settings.time.timing = Some(timing);
                settings.time.gst = 20_000_000;
                let report = run(name, settings);
                assert_eq!(report.failures().next(), None, "{name}, {timing:?}, seed {seed}");
            }
        }
    }
}

#[test]
fn rejects_environment_weaker_than_card() {
    let refused = |name: &str, change: &dyn Fn(&mut Settings)| {
        let mut settings = busy(3, 1, 1);
        change(&mut settings);
        let error = try_run(name, settings.clone()).unwrap_err();
        assert!(matches!(error, SettingsError::UnmetAssumption { .. }), "{error}");
        settings.beyond_assumptions = true;
        assert!(try_run(name, settings).is_ok());
        error.to_string()
    };
    let lose = |settings: &mut Settings| settings.network.loss = Chance::with_probability(0.5);
    let description = refused("ricart-agrawala", &lose);
    assert!(
        description.starts_with("ricart-agrawala: ") && description.contains("messages are lost"),
        "{description}"
    );
    let reorder = |settings: &mut Settings| settings.network.order = Some(ChannelOrder::Reordered);
    let description = refused("lamport", &reorder);
    assert!(description.contains("needs channels in order"), "{description}");
    let late = |settings: &mut Settings| {
        settings.time.timing = Some(Timing::Asynchronous);
        settings.workload = Workload::elect_by_all();
    };
    assert!(refused("bully", &late).contains("needs synchronous timing"));
    let crash = |settings: &mut Settings| settings.faults = vec![crash(0, CrashTrigger::At(1))];
    assert!(refused("token-ring", &crash).contains("a process crashes"));
}

#[test]
fn only_promised_properties_make_failure() {
    let mut settings = busy(3, 4, 3);
    settings.network.latency = Distribution::exponential_units(6).into();
    let found = (0..200).find_map(|seed| {
        let report = run("central", Settings { seed, ..settings.clone() });
        (report.bypass_max > 1).then_some(report)
    });
    let report = found.expect("the coordinator serves in order of arrival, not of asking");
    assert!(!report.has_failed(), "central promises no such thing");
    settings.seed = report.seed;
    settings.monitoring.properties = Some(vec![Property::Bypass(Some(1))]);
    assert!(run("central", settings).has_failed(), "a requested property counts as a failure");
}
