//! Seeds of runs: equal seeds give equal runs, runs of many seeds have a summary, and a failing run
//! is shrunk.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::common::runs::{crash, crash_and_recover, is_violated, parsed, seeded, traced};
use crate::common::{Extrema, Permission, Ring, Rule};
use tenure_algorithms::election::chang_roberts;
use tenure_sim::{
    AutomaticRecovery, BackgroundTraffic, CandidateResult, Chance, CrashTrigger, Distribution,
    EndReason, EntriesPerProcess, Fault, Judgement, Latency, LockWorkload, Moments, ProcessConfigs,
    Random, RecoveredState, RecoveryOption, RequestPattern, RunControls, RunStatistics, Settings,
    SettingsError, ShrunkRun, Simulation, Workload, replay_command, run_parallel, shrink, theory,
};
use tenure_trace::{RecordKind, RecordableProtocol};

fn hash_of_trace<P: RecordableProtocol>(simulation: &Simulation<P>) -> u64 {
    let mut hasher = DefaultHasher::new();
    traced(simulation).1.hash(&mut hasher);
    hasher.finish()
}

/// Returns a simulation in which every kind of setting is random.
fn eventful(seed: u64) -> Simulation<Permission> {
    let latency = Distribution::LogNormal { median: 2_000_000, sigma: 0.7 };
    let mut settings = seeded(4, seed, Workload::entries(3), latency);
    settings.network.duplication = Chance::with_probability(0.1);
    settings.time.drift_ppm = 20_000;
    settings.time.step = Distribution::exponential_units(1);
    settings.faults = vec![crash_and_recover(1, CrashTrigger::At(9), 3_000_000)];
    Simulation::new(Rule::Stamps, settings)
}

#[test]
fn seed_determines_trace_for_any_threads() {
    let hashes = |threads| {
        let mut hashes = Vec::new();
        run_parallel(
            40,
            threads,
            |seed| hash_of_trace(&eventful(seed as u64)),
            |hash| {
                hashes.push(hash);
                true
            },
        );
        hashes
    };
    let alone = hashes(1);
    assert_eq!(alone, hashes(2));
    assert_eq!(alone, hashes(5));
    let distinct: std::collections::BTreeSet<u64> = alone.iter().copied().collect();
    assert_eq!(distinct.len(), alone.len(), "other seeds must give other runs");
}

#[test]
fn recording_does_not_change_run() {
    let simulation = eventful(11);
    let (traced, text) = traced(&simulation);
    assert_eq!(traced, simulation.run().unwrap());
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["trace"], "tenure");
    let count = |kind| lines.iter().filter(|line| line["kind"] == kind).count() as u64;
    assert_eq!(count("send"), traced.metrics.sent);
    assert_eq!(count("duplicate"), traced.metrics.duplicated);
    assert_eq!(count("drop"), traced.metrics.dropped);
    let arrived: u64 = traced.metrics.kinds.iter().map(|kind| kind.received()).sum();
    assert_eq!(count("receive"), arrived);
    assert!(lines.iter().any(|line| line["clock"].is_array()));
}

#[test]
fn run_numbers_are_pinned() {
    // A change here means that every recorded seed yields another run.
    let report = eventful(1).run().unwrap();
    let found = (report.metrics.sent, report.metrics.events, report.finished_at);
    assert_eq!(found, PINNED);
}

const PINNED: (u64, u64, u64) = (34, 46, 24_558_907);

#[test]
fn summary_is_same_for_any_threads() {
    let summary = |threads| {
        let mut summary = RunStatistics::new();
        let run = |seed| eventful(seed as u64).run().unwrap();
        run_parallel(60, threads, run, |report| {
            summary.add(&report);
            true
        });
        summary
    };
    let alone = summary(1);
    assert_eq!(alone, summary(3));
    let total = alone.measurement("messages.total").unwrap();
    assert_eq!(total.count(), 60);
    assert!(total.standard_deviation() > Some(0.0));
    let json = serde_json::to_value(&alone).unwrap();
    assert_eq!(json["messages"]["total"]["mean"], total.mean());
    for key in ["mean", "stddev", "min", "max"] {
        assert!(json["delays"]["entry"]["mean"][key].is_number(), "{key}");
    }
}

#[test]
fn ring_elections_match_theory() {
    let size = 16;
    let mut mean = Moments::new();
    for seed in 0..2000 {
        let ids = Random::new(seed).permutation(size);
        let mut settings = Settings { workload: Workload::elect_by_all(), ..Settings::new(size) };
        settings.ranks = ids.iter().map(|id| tenure_core::Rank::from_id(*id)).collect();
        let configs = ProcessConfigs::Each(ids.clone());
        let report = Simulation::<Extrema>::new(configs, settings).run().unwrap();
        assert_eq!(
            report.metrics.sent,
            chang_roberts::predicted_message_count(&ids),
            "seed {seed}"
        );
        assert_eq!(report.failures().next(), None, "seed {seed}");
        mean.add(report.metrics.sent as f64);
    }
    let predicted = f64::from(size) * (theory::harmonic_number(size) + 1.0);
    assert!(mean.agrees_with(predicted, 4.0), "{mean:?}");
    assert!(!mean.agrees_with(predicted * 1.05, 4.0), "{mean:?}");
}

#[test]
fn shrinks_failing_seed() {
    let mut settings = Settings { workload: Workload::entries(5), ..Settings::new(7) };
    settings.network.latency = Distribution::exponential_units(3).into();
    settings.network.duplication = Chance::with_probability(0.05);
    settings.network.loss = Chance::with_probability(0.0001);
    let run = |settings: &Settings| {
        let report = Simulation::<Ring>::new((), settings.clone()).run().unwrap();
        match is_violated(&report, "mutual-exclusion") {
            true => CandidateResult::Fails(Box::new(report)),
            false => CandidateResult::Passes,
        }
    };
    let large = |seed| Settings { seed, ..settings.clone() };
    let fails = |seed: &u64| run(&large(*seed)) != CandidateResult::Passes;
    let seed = (1000..2000).find(fails).expect("some seed fails");
    let shrunk = shrink(&large(seed), 5_000, run).expect("it was just seen to fail");
    assert!(shrunk.settings.size == 2, "{:?}", shrunk.settings);
    assert!(shrunk.report.metrics.entry_count <= 4, "{:?}", shrunk.settings);
    assert!(shrunk.settings.seed <= 32, "{:?}", shrunk.settings);
    assert_eq!(shrunk.settings.network.loss, Chance::NEVER);
    assert_eq!(run(&shrunk.settings), CandidateResult::Fails(Box::new(shrunk.report)));
    assert_eq!(shrink(&Settings::new(3), 10, run), None);
}

/// Returns the result of shrinking a run that fails, and the settings of all candidates. `run`
/// returns the results of the candidates after the given settings.
fn shrink_with(run: impl Fn(&Settings) -> CandidateResult) -> (ShrunkRun, Vec<Settings>) {
    let settings = Settings { workload: Workload::entries(5), ..Settings::new(7) };
    let report = Simulation::<Ring>::new((), settings.clone()).run().unwrap();
    let mut tried = Vec::new();
    let shrunk = shrink(&settings, usize::MAX, |candidate| {
        tried.push(candidate.clone());
        match tried.len() {
            1 => CandidateResult::Fails(Box::new(report.clone())),
            _ => run(candidate),
        }
    });
    (shrunk.expect("the given run fails"), tried)
}

#[test]
fn caller_stops_shrinking() {
    let (shrunk, tried) = shrink_with(|_| CandidateResult::Stopped);
    assert_eq!(tried.len(), 2);
    assert_eq!(shrunk.settings, tried[0]);
}

#[test]
fn shrinking_tries_settings_that_cannot_run_only_once() {
    let (shrunk, tried) = shrink_with(|candidate| match candidate.size {
        3 => CandidateResult::CannotRun,
        _ => CandidateResult::Passes,
    });
    let count = |size| tried.iter().filter(|candidate| candidate.size == size).count();
    assert_eq!(count(3), 1);
    assert!(count(6) > 1);
    assert_eq!(shrunk.runs, tried.len() - 1, "the settings that cannot be run do not count");
}

#[test]
fn formats_replay_command() {
    let p = |number: u32| tenure_core::ProcessId(number - 1);
    let mut settings =
        seeded(4, 9, Workload::entries(2), Distribution::Uniform { min: 500_000, max: 2_000_000 });
    settings.network.loss = Chance::with_probability(0.25);
    settings.time.drift_ppm = 1500;
    settings.beyond_assumptions = true;
    settings.faults = vec![
        crash(2, CrashTrigger::At(10_000_000)),
        Fault::Recover { process: p(3), at: 50_500_000, memory: RecoveredState::Stable },
        Fault::Partition { side: vec![p(1), p(2)], from: 10_000_000, until: Some(50_000_000) },
    ];
    let expected = "tenure simulate token-ring -n 4 --entries 2 --latency 0.5..2 --lose 0.25 \
                    --drift 0.0015 --crash 3@10 --recover 3@50.5 --partition 1,2@10..50 \
                    --seed 9 --beyond-assumptions";
    assert_eq!(replay_command("token-ring", &settings), expected);
    assert_eq!(tenure_sim::inexpressible_settings(&settings), [""; 0]);
}

#[test]
fn replay_command_contains_every_option() {
    let p = |number: u32| tenure_core::ProcessId(number - 1);
    let mut settings = Settings::new(3);
    let pattern = RequestPattern::Open { every: Distribution::exponential_units(4) };
    let locking = LockWorkload {
        pattern,
        entries: EntriesPerProcess::Listed(vec![1, 9, 1]),
        hold: Distribution::time_units(1),
    };
    let background_traffic = BackgroundTraffic {
        send_chance: Chance::with_probability(0.5),
        triggers_request: true,
        latency: Distribution::time_units(2),
    };
    settings.workload = Workload::locking(locking).with_background_traffic(background_traffic);
    let mut spans = vec![Distribution::time_units(2); 9];
    spans[1] = Distribution::between_time_units(5, 9);
    settings.network.latency = Latency::Links(spans.into());
    let forgetting = Some(AutomaticRecovery { downtime: 5_500_000, memory: RecoveredState::Lost });
    let inside = CrashTrigger::Inside { entry: 2, after: 500_000 };
    settings.faults = vec![
        Fault::Crash { process: p(3), when: inside, recovery: forgetting },
        crash(1, CrashTrigger::OnMessage(4)),
        Fault::Recover { process: p(2), at: 50_000_000, memory: RecoveredState::Lost },
        Fault::Partition { side: vec![p(1)], from: 10_000_000, until: None },
    ];
    let expected = "tenure simulate central -n 3 --entries 1,9,1 --arrivals exp:4 --latency 2 \
                    --link-latency 1-2=5..9 --app-messages 0.5 --crash 3@inside:2+0.5 \
                    --crash 2@message:4 --recover 2@50:forgetful --partition 1@10.. \
                    --recover 3@+5.5:forgetful --seed 1";
    assert_eq!(replay_command("central", &settings), expected);
    assert_eq!(tenure_sim::inexpressible_settings(&settings), [""; 0]);
    settings.faults.push(crash(2, inside));
    assert_eq!(tenure_sim::inexpressible_settings(&settings).len(), 1);
}

/// A recovery at a given time is a fault of its own. It has an effect only if the process is down
/// then. A recovery that follows a crash is a part of the crash.
#[test]
fn recovery_as_a_fault_follows_its_own_time() {
    let recovery = |text: &str| text.parse::<RecoveryOption>().unwrap();
    let mut without_crash = Vec::new();
    let error = recovery("2@+5").add_to(&mut without_crash).unwrap_err();
    assert_eq!(error, SettingsError::NoCrash { process: tenure_core::ProcessId(1) });
    assert_eq!(without_crash, []);
    let crashing = crash(1, CrashTrigger::At(4_000_000));
    let run = |text: &str| {
        let mut faults = vec![crashing.clone()];
        recovery(text).add_to(&mut faults).unwrap();
        let settings = Settings { faults: faults.clone(), ..Settings::new(3) };
        let simulation = Simulation::<Permission>::new(Rule::Stamps, settings);
        let (report, trace) = traced(&simulation);
        let of = |kind| report.faults.iter().find(|count| count.fault == kind).unwrap();
        let counts = [of("crash"), of("recovery")].map(|it| (it.injected, it.observed));
        let records = parsed(&trace).records;
        let recovered = records.iter().find(|it| matches!(it.kind, RecordKind::Recover));
        (faults.len(), counts, recovered.map(|record| record.time), report.warnings)
    };
    let never = "the recovery of P2 never occurred".to_owned();
    assert_eq!(run("2@9"), (2, [(1, 1), (1, 1)], Some(9_000_000), Vec::new()));
    assert_eq!(run("2@+9"), (1, [(1, 1), (1, 1)], Some(13_000_000), Vec::new()));
    assert_eq!(run("2@3"), (2, [(1, 1), (0, 0)], None, vec![never]), "it comes before the crash");
}

#[test]
fn long_run_reports_progress_and_stops() {
    let mut settings = Settings::new(3);
    settings.limits.until = Some(u64::MAX / 4);
    let stop = AtomicBool::new(false);
    let mut reports = 0;
    let controls = RunControls::new().stopped_by(&stop).reporting(|progress| {
        reports += 1;
        assert!(progress.events <= 210_000);
        stop.store(progress.events > 200_000, Ordering::Relaxed);
    });
    let report = Simulation::<Ring>::new((), settings).run_with(controls).unwrap();
    assert_eq!(report.ended, EndReason::Stopped);
    assert!(report.metrics.events > 200_000 && report.metrics.sent > 50_000);
    assert_eq!(report.judgement_of("starvation-freedom"), Some(Judgement::Incomplete));
    assert!(reports > 10);
}
