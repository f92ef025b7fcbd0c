//! The catalogue's numbers as laws over many seeds, with the real algorithms.

use std::sync::Arc;

use tenure_algorithms::catalogue::{Parameters, Visitor, visit};
use tenure_core::monitors::Bypass;
use tenure_core::{Algorithm, Election, Layer, Mutex, Order, ProcessId, Promise, Rank, Timing};
use tenure_sim::{
    Chance, Ended, Fault, Memory, Moments, Random, Recovery, Report, Settings, SettingsError,
    Simulation, Span, Verdict, When, Workload, theory,
};

/// Runs the protocol that a name stands for.
struct Run(Settings);

impl Visitor for Run {
    type Output = Result<Report, SettingsError>;

    fn mutex<P: Mutex + Algorithm>(self, config: P::Config) -> Self::Output {
        Simulation::<P>::of(config, self.0)?.run()
    }

    fn election<P: Election + Algorithm>(self, config: P::Config) -> Self::Output {
        Simulation::<P>::of(config, self.0)?.run()
    }
}

fn try_variant(name: &str, variant: &str, settings: Settings) -> Result<Report, SettingsError> {
    let delay = settings.network.latency.most().unwrap_or(5_000_000);
    let ranks: Arc<[Rank]> =
        (0..settings.size).map(|place| settings.rank(ProcessId(place))).collect();
    let variants = variant.split_terminator(',').map(str::to_owned).collect();
    let parameters = Parameters { ranks, variants, delay, ..Parameters::plain(settings.size) };
    visit(name, &parameters, Run(settings)).expect("the catalogue knows the name")
}

fn run(name: &str, settings: Settings) -> Report {
    let seed = settings.seed;
    try_variant(name, "", settings).unwrap_or_else(|error| panic!("{name}, seed {seed}: {error}"))
}

/// Everybody at once, again and again, over random delays.
fn busy(size: u32, entries: u32, seed: u64) -> Settings {
    let mut settings = Settings::new(size);
    settings.seed = seed;
    settings.workload = Workload::entries(entries);
    settings.network.latency = Span::between_units(1, 5).into();
    settings
}

const LOCKS: [&str; 5] = ["central", "token-ring", "lamport", "ricart-agrawala", "maekawa"];

#[test]
fn every_lock_keeps_what_its_card_promises_and_costs_what_it_says() {
    for name in LOCKS {
        for (size, seeds) in [(2, 200), (3, 400), (7, 100)] {
            for seed in 0..seeds {
                let report = run(name, busy(size, 3, seed));
                let told = format!("{name}, n = {size}, seed {seed}");
                assert_eq!(report.failures().next(), None, "{told}");
                assert_eq!(report.metrics.entered, u64::from(size) * 3, "{told}");
                assert_eq!(report.ended, Ended::Served, "{told}");
            }
        }
    }
}

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

fn ring(ids: &[u32]) -> Settings {
    let mut settings = Settings::new(u32::try_from(ids.len()).unwrap());
    settings.ranks = ids.iter().map(|id| Rank::of_id(*id)).collect();
    settings.workload = Workload::elect();
    settings
}

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

#[test]
fn an_algorithm_for_any_delay_is_right_in_synchrony_and_in_partial_synchrony() {
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

/// How often a property is violated over some seeds, by one fault that the card excludes.
fn violated(name: &str, property: &str, change: impl Fn(&mut Settings)) -> usize {
    let run = |seed| {
        let mut settings = busy(3, 2, seed);
        settings.beyond_assumptions = true;
        change(&mut settings);
        run(name, settings).verdict(property) == Some(Verdict::Violated)
    };
    (0..300).filter(|seed| run(*seed)).count()
}

#[test]
fn the_fault_matrix_appears_under_the_faults_that_it_names() {
    let lose = |settings: &mut Settings| settings.network.loss = Chance::at_most(0.2, 1);
    let duplicate =
        |settings: &mut Settings| settings.network.duplication = Chance::at_most(0.2, 1);
    let reorder = |settings: &mut Settings| {
        settings.network.order = Some(Order::Reordered);
        settings.network.latency = Span::exponential_units(3).into();
    };
    for name in LOCKS {
        assert!(violated(name, "progress", lose) > 0, "{name} survives the loss of one message");
        assert_eq!(violated(name, "mutual-exclusion", lose), 0, "{name}: loss is not unsafe");
    }
    assert!(violated("token-ring", "mutual-exclusion", duplicate) > 0, "two tokens");
    assert_eq!(violated("ricart-agrawala", "mutual-exclusion", duplicate), 0, "tags help");
    assert!(violated("lamport", "mutual-exclusion", reorder) > 0, "it needs channels in order");
    for name in ["central", "token-ring", "ricart-agrawala"] {
        assert_eq!(violated(name, "mutual-exclusion", reorder), 0, "{name}");
        assert_eq!(violated(name, "progress", reorder), 0, "{name}");
    }
}

#[test]
fn a_crash_blocks_as_the_fault_matrix_says() {
    let crash = |when| {
        move |settings: &mut Settings| {
            let process = ProcessId(1);
            settings.faults = vec![Fault::Crash { process, when, recovery: None }];
        }
    };
    let inside = When::Inside { entry: 1, after: 1 };
    let waiting = When::Waiting { request: 2, after: 1 };
    for name in LOCKS {
        for when in [inside, waiting] {
            assert!(violated(name, "progress", crash(when)) > 0, "{name}, {when:?}");
            assert_eq!(violated(name, "mutual-exclusion", crash(when)), 0, "{name}, {when:?}");
        }
    }
    let idle = |settings: &mut Settings| {
        crash(When::At(0))(settings);
        settings.workload = Workload::hot(3, ProcessId(2), 3, 0);
    };
    assert_eq!(violated("central", "progress", idle), 0, "central survives an idle client");
    for name in ["token-ring", "lamport", "ricart-agrawala"] {
        assert!(violated(name, "progress", idle) > 0, "{name} needs everybody");
    }
}

#[test]
fn forgetting_is_unsafe_where_others_count_on_it() {
    let forget = |process, when| {
        move |settings: &mut Settings| {
            let recovery = Some(Recovery { after: 1, memory: Memory::Lost });
            settings.workload = Workload::entries(6);
            settings.faults = vec![Fault::Crash { process, when, recovery }];
        }
    };
    let coordinator = forget(ProcessId(0), When::OnMessage(2));
    assert!(violated("central", "mutual-exclusion", coordinator) > 0, "it forgets the holder");
    let waiter = forget(ProcessId(1), When::Waiting { request: 1, after: 1_000_000 });
    let seen = violated("ricart-agrawala", "mutual-exclusion-strict", waiter)
        + violated("ricart-agrawala", "progress", waiter);
    assert!(seen > 0, "it forgets whom it deferred");
}

#[test]
fn fifo_makes_loss_duplication_and_reordering_harmless() {
    for name in LOCKS {
        for seed in 0..40 {
            let mut settings = busy(3, 2, seed);
            settings.network.loss = Chance::of(0.1);
            settings.network.duplication = Chance::of(0.1);
            let name = format!("fifo:{name}");
            // Not the order of entries: a message sent anew carries news of a later request.
            let (safe, live) = (Promise::MutualExclusion, Promise::Progress);
            settings.watch.properties = Some(vec![safe, live, Promise::Fencing]);
            let report = run(&name, settings);
            assert_eq!(report.failures().next(), None, "{name}, seed {seed}");
            assert_eq!(report.metrics.entered, 6, "{name}, seed {seed}");
            let channel = report.metrics.sent_in(Layer::Channel);
            assert!(channel > 0 || report.metrics.dropped > 0, "{name}, seed {seed}");
        }
    }
}

#[test]
fn an_environment_weaker_than_the_card_is_refused_with_a_sentence() {
    let refused = |name: &str, change: &dyn Fn(&mut Settings)| {
        let mut settings = busy(3, 1, 1);
        change(&mut settings);
        let error = try_variant(name, "", settings.clone()).unwrap_err();
        assert!(matches!(error, SettingsError::Weaker { .. }), "{error}");
        settings.beyond_assumptions = true;
        assert!(try_variant(name, "", settings).is_ok());
        error.to_string()
    };
    let lose = |settings: &mut Settings| settings.network.loss = Chance::of(0.5);
    let says = refused("ricart-agrawala", &lose);
    assert!(says.starts_with("ricart-agrawala: ") && says.contains("messages are lost"), "{says}");
    let reorder = |settings: &mut Settings| settings.network.order = Some(Order::Reordered);
    let says = refused("lamport", &reorder);
    assert!(says.contains("needs channels in order"), "{says}");
    let late = |settings: &mut Settings| {
        settings.time.timing = Some(Timing::Asynchronous);
        settings.workload = Workload::elect();
    };
    assert!(refused("bully", &late).contains("needs synchronous timing"));
    let crash = |settings: &mut Settings| {
        let (process, when) = (ProcessId(0), When::At(1));
        settings.faults = vec![Fault::Crash { process, when, recovery: None }];
    };
    assert!(refused("token-ring", &crash).contains("a process crashes"));
}

#[test]
fn only_what_the_card_promises_makes_a_run_a_failure() {
    let mut settings = busy(3, 4, 3);
    settings.network.latency = Span::exponential_units(6).into();
    let found = (0..200).find_map(|seed| {
        let report = run("central", Settings { seed, ..settings.clone() });
        (report.verdict("no-starvation") == Some(Verdict::Violated)).then_some(report)
    });
    let report = found.expect("the coordinator serves in order of arrival, not of asking");
    assert!(!report.has_failed(), "central promises no such thing");
    settings.seed = report.seed;
    settings.watch.properties = Some(vec![Promise::NoStarvation]);
    assert!(run("central", settings).has_failed(), "whoever asks for it gets a failure");
}
