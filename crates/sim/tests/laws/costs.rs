//! What an entry costs, and how long it takes.

use tenure_core::Layer;
use tenure_core::monitors::Bypass;
use tenure_sim::{Settings, Simulation, Span, Verdict, Workload};

use crate::{LOCKS, busy, run};

#[test]
fn messages_per_entry_are_those_of_the_books() {
    for size in [2, 3, 5, 8] {
        for seed in 0..100 {
            let others = u64::from(size) - 1;
            let entries = u64::from(size) * 2;
            let sent = |name| run(name, busy(size, 2, seed)).metrics.sent;
            let told = format!("n = {size}, seed {seed}");
            assert_eq!(sent("lamport"), 3 * others * entries, "lamport, {told}");
            assert_eq!(sent("ricart-agrawala"), 2 * others * entries, "ricart-agrawala, {told}");
            // The coordinator's own entries cost nothing.
            assert_eq!(sent("central"), 3 * (entries - 2), "central, {told}");
            let report = run("maekawa", busy(size, 2, seed));
            let per_entry = report.metrics.messages_per_entry(Layer::Mutex);
            assert!(per_entry > 0.0, "{told}");
        }
    }
}

#[test]
fn unit_delays_give_the_delays_of_the_comparison_table() {
    let delays = |name: &str, settings| {
        let report = run(name, settings);
        let metrics = &report.metrics;
        let (entry, handing) = (metrics.entry_delay.longest, metrics.synchronisation_delay);
        (entry / 1_000_000, handing.longest / 1_000_000, metrics.exit_delay.longest)
    };
    let alone = |size| Settings { workload: Workload::sequential(30), ..Settings::new(size) };
    let crowd = |size| Settings { workload: Workload::entries(2), ..Settings::new(size) };
    for name in ["lamport", "ricart-agrawala"] {
        assert_eq!(delays(name, alone(5)).0, 2, "{name}: request and reply");
        assert_eq!(delays(name, crowd(5)).1, 1, "{name}: one message hands on");
    }
    assert_eq!(delays("central", alone(5)).0, 2, "request and grant");
    assert_eq!(delays("central", crowd(5)).1, 2, "release and grant");
    assert!(delays("token-ring", alone(5)).0 <= 5 + 1, "at most a lap and an idle hop");
    for name in LOCKS {
        assert_eq!(delays(name, crowd(4)).2, 0, "{name}: leaving takes no time");
    }
}

#[test]
fn bypass_is_bounded_as_the_catalogue_says_and_metered_as_the_monitor_does() {
    for (name, bound) in [("token-ring", 1), ("lamport", 2), ("ricart-agrawala", 2)] {
        for seed in 0..300 {
            let mut settings = busy(3, 4, seed);
            if name != "lamport" {
                settings.network.latency = Span::exponential_units(3).into();
            }
            let report = run(name, settings);
            let told = format!("{name}, seed {seed}");
            assert!(report.bypass_max <= bound, "{told}: {}", report.bypass_max);
            let violated = report.verdict("no-starvation") == Some(Verdict::Violated);
            assert_eq!(violated, report.bypass_max > 1, "{told}");
        }
    }
    let worst = (0..100).map(|seed| {
        let mut settings = busy(3, 6, seed);
        settings.network.latency = Span::exponential_units(8).into();
        metered(settings)
    });
    let worst = worst.max().unwrap_or(0);
    assert!(worst >= 3, "a slow request to a coordinator is overtaken often, not {worst} times");
}

/// The bypass that the run reports, after comparing it with the monitor of the core.
fn metered(settings: Settings) -> u32 {
    use tenure_algorithms::mutex::{Central, central};
    let seed = settings.seed;
    let simulation = || {
        let config = central::Config::default();
        Simulation::<Central>::of(config, settings.clone()).unwrap()
    };
    let report = simulation().run().unwrap();
    let most = report.bypass_max;
    let judged = simulation().watch("at most", Bypass::at_most(most)).run().unwrap();
    assert_eq!(judged.verdict("at most"), Some(Verdict::Holds), "seed {seed}");
    if most > 0 {
        let below = simulation().watch("below", Bypass::at_most(most - 1)).run().unwrap();
        assert_eq!(below.verdict("below"), Some(Verdict::Violated), "seed {seed}");
    }
    most
}
