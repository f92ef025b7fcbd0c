//! Laws about the messages and delays that an entry to the critical section costs.

use std::sync::Arc;

use tenure_algorithms::catalogue::{self, Parameters};
use tenure_core::monitors::Bypass;
use tenure_core::quorum::QuorumKind;
use tenure_core::theory::{PredictionKind, WorkloadKind};
use tenure_core::{Layer, ProcessId, Property, Service};
use tenure_sim::{
    Distribution, EntriesPerProcess, Judgement, Latency, Moments, RequestPattern, RunReport,
    Settings, Workload, theory,
};

use super::{LOCKS, parameters, run, run_with};
use crate::by_service;
use crate::common::runs::{busy, kinds};

#[test]
fn messages_per_entry_match_literature() {
    for size in [2, 3, 5, 8] {
        for seed in 0..1000 {
            let others = u64::from(size) - 1;
            let entries = u64::from(size) * 2;
            let sent = |name| run(name, busy(size, 2, seed)).metrics.sent;
            let context = format!("n = {size}, seed {seed}");
            assert_eq!(sent("lamport"), 3 * others * entries, "lamport, {context}");
            assert_eq!(sent("ricart-agrawala"), 2 * others * entries, "ricart-agrawala, {context}");
            // The coordinator enters twice, and its own entries cost no messages.
            assert_eq!(sent("central"), 3 * (entries - 2), "central, {context}");
        }
    }
}

#[test]
fn unit_delays_match_comparison_table() {
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
fn bypass_meter_matches_monitor_and_catalogue() {
    for (name, bound) in [("token-ring", 1), ("lamport", 2), ("ricart-agrawala", 2)] {
        for seed in 0..1000 {
            let mut settings = busy(3, 4, seed);
            if name != "lamport" {
                settings.network.latency = Distribution::exponential_units(3).into();
            }
            settings.monitoring.properties = Some(vec![Property::Bypass(Some(1))]);
            let report = run(name, settings);
            let context = format!("{name}, seed {seed}");
            assert!(report.bypass_max <= bound, "{context}: {}", report.bypass_max);
            let violated = report.judgement_of("bounded-bypass") == Some(Judgement::Violated);
            assert_eq!(violated, report.bypass_max > 1, "{context}");
        }
    }
    let worst = (0..100).map(|seed| {
        let mut settings = busy(3, 6, seed);
        settings.network.latency = Distribution::exponential_units(8).into();
        metered(settings)
    });
    let worst = worst.max().unwrap_or(0);
    assert!(worst >= 3, "a slow request to a coordinator is overtaken often, not {worst} times");
}

/// Runs a simulation and returns the maximum bypass in its report. Asserts that the monitor of
/// bypass agrees with this number.
fn metered(settings: Settings) -> u32 {
    use tenure_algorithms::mutex::{Central, central};
    let seed = settings.seed;
    let simulation =
        || by_service::simulation::<Central>(central::Config::default(), settings.clone());
    let report = simulation().run().unwrap();
    let most = report.bypass_max;
    let judged = simulation().with_monitor("at most", Bypass::at_most(most)).run().unwrap();
    assert_eq!(judged.judgement_of("at most"), Some(Judgement::Holds), "seed {seed}");
    if most > 0 {
        let below = simulation().with_monitor("below", Bypass::at_most(most - 1)).run().unwrap();
        assert_eq!(below.judgement_of("below"), Some(Judgement::Violated), "seed {seed}");
    }
    most
}

/// Returns settings in which the processes with the numbers `numbers` enter once each. All of them
/// request the lock at the same time.
fn simultaneous_entries(size: u32, numbers: &[u32]) -> Settings {
    let mut settings = Settings { workload: Workload::entries(1), ..Settings::new(size) };
    let entries = (1..=size).map(|number| u32::from(numbers.contains(&number)));
    settings.workload.locking.as_mut().unwrap().entries =
        EntriesPerProcess::Listed(entries.collect());
    settings
}

/// Sets the delays of some links. An element of `slow` contains the sender, the receiver and the
/// delay in units. All other links take one unit.
fn links(settings: &mut Settings, slow: &[(u32, u32, u64)]) {
    let size = settings.size as usize;
    let mut spans = vec![Distribution::time_units(1); size * size];
    for (from, to, units) in slow {
        spans[(*from as usize - 1) * size + *to as usize - 1] = Distribution::time_units(*units);
    }
    settings.network.latency = Latency::Links(Arc::from(spans));
}

fn at_coordinator(number: u32, settings: Settings) -> RunReport {
    let coordinator = ProcessId(number - 1);
    let parameters = Parameters { coordinator, ..parameters(&settings) };
    run_with("central", &parameters, settings)
}

#[test]
fn uncontended_coordinator_entry_takes_three_messages() {
    let report = at_coordinator(5, simultaneous_entries(5, &[2]));
    assert_eq!(kinds(&report), [("request", 1), ("grant", 1), ("release", 1)]);
    assert_eq!(report.metrics.entering_processes, [ProcessId(1)]);
    let delays = &report.metrics;
    assert_eq!((delays.entry_delay.longest, delays.exit_delay.longest), (2_000_000, 0));
}

/// While P2 is inside the critical section, the request of Pn arrives before the request of P1. The
/// coordinator must serve Pn first.
#[test]
fn coordinator_serves_by_arrival() {
    let mut settings = simultaneous_entries(5, &[1, 2, 4]);
    links(&mut settings, &[(4, 5, 2), (1, 5, 3)]);
    settings.workload.locking.as_mut().unwrap().hold = Distribution::time_units(10);
    let report = at_coordinator(5, settings);
    assert_eq!(report.metrics.entering_processes, [ProcessId(1), ProcessId(3), ProcessId(0)]);
    assert_eq!(report.metrics.sent, 9);
    let handing = report.metrics.synchronisation_delay;
    assert_eq!(handing.total, (1 + 1 + 2 + 1) * 1_000_000, "two releases, one slow, two grants");
}

#[test]
fn lamport_waits_for_all_replies() {
    for slow in [1, 4, 20] {
        let mut settings = simultaneous_entries(3, &[1]);
        links(&mut settings, &[(3, 1, slow)]);
        let report = run("lamport", settings);
        assert_eq!(report.metrics.entry_delay.longest, (1 + slow) * 1_000_000, "{slow}");
    }
}

#[test]
fn ricart_agrawala_waits_only_for_process_inside() {
    let mut settings = simultaneous_entries(3, &[1, 2]);
    // P1's request arrives before the other processes request. P2's request arrives while P1 is
    // inside.
    links(&mut settings, &[(2, 1, 5), (2, 3, 5)]);
    settings.workload.locking.as_mut().unwrap().hold = Distribution::time_units(30);
    let report = run("ricart-agrawala", settings);
    assert_eq!(report.metrics.entering_processes, [ProcessId(0), ProcessId(1)]);
    assert_eq!(report.metrics.synchronisation_delay.longest, 1_000_000, "one reply");
    assert!(report.metrics.entry_delay.longest >= 30_000_000);
}

/// Two concurrent requests with equal clocks must take 2·2(N − 1) messages. The process with the
/// smaller number must enter first.
#[test]
fn two_concurrent_ricart_agrawala_requests_take_eight_messages() {
    let report = run("ricart-agrawala", simultaneous_entries(3, &[2, 3]));
    assert_eq!(kinds(&report), [("request", 4), ("reply", 4)]);
    assert_eq!(report.metrics.entering_processes, [ProcessId(1), ProcessId(2)]);
}

#[test]
fn every_entry_sends_same_kinds() {
    for seed in 0..1000 {
        let size = 2 + (seed % 6) as u32;
        let entries = u64::from(size) * 2;
        let each = entries * (u64::from(size) - 1);
        let report = run("lamport", busy(size, 2, seed));
        let expected = [("request", each), ("reply", each), ("release", each)];
        assert_eq!(kinds(&report), expected, "n = {size}, seed {seed}");
        let report = run("ricart-agrawala", busy(size, 2, seed));
        assert_eq!(kinds(&report), [("request", each), ("reply", each)], "seed {seed}");
    }
}

/// Runs a variant of Lamport's lock in which a process sends fewer replies. If the process has
/// already sent a request of its own, this request serves as the reply. If requests are concurrent,
/// the variant must save up to one message in three. Otherwise the variant must save none.
#[test]
fn suppressed_replies_save_up_to_a_third() {
    let mut saved = 0;
    for seed in 0..1000 {
        let suppressed = |settings: Settings| {
            let variants = vec!["suppressed-replies".to_owned()];
            let parameters = Parameters { variants, ..parameters(&settings) };
            run_with("lamport", &parameters, settings)
        };
        let report = suppressed(busy(4, 2, seed));
        assert_eq!(report.failures().next(), None, "seed {seed}");
        let sent = report.metrics.sent;
        assert!((2 * 3 * 8..=3 * 3 * 8).contains(&sent), "seed {seed}: {sent}");
        saved += 3 * 3 * 8 - sent;
        let alone = suppressed(Settings { seed, ..simultaneous_entries(4, &[2]) });
        assert_eq!(alone.metrics.sent, 9, "seed {seed}");
    }
    assert!(saved > 500, "{saved} replies in 500 runs");
}

/// While no process requests the lock, the token circulates and causes one message per hop. While a
/// process is inside the critical section, the token causes no messages.
#[test]
fn idle_token_circulates_except_during_entry() {
    let idle = |size, units: u64| {
        let mut settings = Settings { workload: Workload::entries(0), ..Settings::new(size) };
        settings.limits.until = Some(units * 1_000_000);
        run("token-ring", settings).metrics.sent
    };
    for (size, units) in [(2, 100), (5, 1000), (20, 10_000)] {
        // The token travels for one unit and rests for a uniformly drawn time of up to one unit. A
        // hop takes 1.5 units on average, with a standard deviation of 1/√12 units.
        let expected = units as f64 / 1.5;
        let error = expected.sqrt() / 12f64.sqrt() / 1.5;
        let sent = idle(size, units) as f64;
        assert!((sent - expected).abs() < 4.0 * error + 1.0, "n = {size}: {sent}, not {expected}");
    }
    let mut settings = simultaneous_entries(5, &[3]);
    settings.workload.locking.as_mut().unwrap().hold = Distribution::time_units(900);
    settings.limits.until = Some(800_000_000);
    assert_eq!(run("token-ring", settings).metrics.sent, 2, "P1 to P2 to P3, and no further");
}

/// Counts the messages of the token ring. Each hop of the token is one message. If another process
/// enters next, the number of messages must be the distance to this process. If the same process
/// enters again, the number must be N. In runs with random pauses, each wait must end within one
/// lap.
#[test]
fn ring_passes_token_within_lap() {
    for size in 2..12u32 {
        for distance in 1..size {
            let report = run("token-ring", simultaneous_entries(size, &[1, 1 + distance]));
            // One more message passes the token on from the last process that entered.
            assert_eq!(report.metrics.sent, u64::from(distance) + 1, "n = {size}, {distance}");
        }
        let mut again = simultaneous_entries(size, &[1]);
        again.workload.locking.as_mut().unwrap().entries = EntriesPerProcess::Listed(vec![2]);
        let report = run("token-ring", again);
        assert_eq!(report.metrics.sent, u64::from(size) + 1, "n = {size}: a full lap");
        let all = run("token-ring", busy(size, 2, 1));
        assert_eq!(all.metrics.sent, 2 * u64::from(size), "one for each entry when all want to");
        let unit = run("token-ring", Settings { seed: 1, ..simultaneous_entries(size, &[1]) });
        assert_eq!(unit.metrics.entry_delay.longest, 0, "the token is just here");
    }
    for seed in 0..1000 {
        let size = 2 + (seed % 7) as u32;
        let mut settings = busy(size, 3, seed);
        settings.network.latency = Distribution::time_units(1).into();
        settings.workload.locking.as_mut().unwrap().pattern =
            RequestPattern::Closed { think: Distribution::between_time_units(0, 30) };
        let report = run("token-ring", settings);
        let (context, metrics) = (format!("n = {size}, seed {seed}"), &report.metrics);
        // A lap has N hops of one unit. Each other process may keep the token for one unit and then
        // be inside for one unit.
        let lap = (u64::from(size) * 3 - 2) * 1_000_000;
        assert!(metrics.synchronisation_delay.longest <= lap, "{context}");
        assert!(metrics.entry_delay.longest <= lap, "{context}");
        assert_eq!(metrics.exit_delay.longest, 0, "{context}");
    }
}

fn maekawa(kind: QuorumKind, settings: Settings) -> RunReport {
    let parameters = Parameters { quorum_kind: Some(kind), ..parameters(&settings) };
    run_with("maekawa", &parameters, settings)
}

/// Quorum systems and their costs. Each row contains the kind, the group size N, and two numbers of
/// messages per entry. The first number is 3(K − 1), where K is the size of a quorum. The second
/// number is the mean that was measured under saturation.
const QUORUMS: [(QuorumKind, u32, u64, f64); 5] = [
    (QuorumKind::Pairs, 3, 3, 3.6),
    (QuorumKind::Plane, 7, 6, 7.9),
    (QuorumKind::Grid, 4, 6, 7.9),
    (QuorumKind::Grid, 9, 12, 16.1),
    (QuorumKind::Grid, 16, 18, 24.2),
];

/// Maekawa 1985: if requests come one at a time, each entry takes exactly 3(K − 1) messages, where
/// K is the size of a quorum.
#[test]
fn uncontended_maekawa_takes_three_messages_per_member() {
    for (kind, size, messages, _) in QUORUMS {
        for seed in 0..1000 {
            let workload = Workload::sequential(10);
            let report = maekawa(kind, Settings { seed, workload, ..busy(size, 0, seed) });
            assert_eq!(report.metrics.sent, 10 * messages, "{kind:?}, n = {size}, seed {seed}");
            assert_eq!(report.failures().next(), None, "{kind:?}, n = {size}, seed {seed}");
        }
    }
}

/// Maekawa 1985: if all processes request constantly, an entry takes from 3(K − 1) to 6(K − 1)
/// messages, where K is the size of a quorum. The mean is about 4(K − 1).
#[test]
fn saturated_maekawa_takes_about_four_messages_per_member() {
    for (kind, size, least, expected) in QUORUMS {
        let mut mean = Moments::new();
        for seed in 0..200 {
            let mut settings = busy(size, 20, seed);
            settings.network.latency = Distribution::exponential_units(1).into();
            let report = maekawa(kind, settings);
            let context = format!("{kind:?}, n = {size}, seed {seed}");
            assert_eq!(report.failures().next(), None, "{context}");
            let each = report.metrics.messages_per_entry(Layer::Mutex);
            assert!(each >= least as f64 && each <= 2.0 * least as f64, "{context}: {each}");
            mean.add(each);
        }
        assert!((mean.mean() - expected).abs() < 0.04 * expected, "{kind:?}, {size}: {mean:?}");
    }
}

/// Runs each composition that is a lock, while all processes request constantly. The mean number of
/// messages per entry must lie within the bounds on the card. This number includes the inquiries of
/// a new leader, and the requests that waiting processes repeat.
#[test]
fn contended_compositions_stay_within_the_bounds_of_their_cards() {
    let is_lock = |service| matches!(service, Service::Mutex | Service::MutexAndElection);
    let mut checked = 0;
    for name in catalogue::composition_names() {
        for (size, entries) in [(3, 1), (5, 1), (9, 5)] {
            let cost = match catalogue::card(name, &Parameters::with_defaults(size)) {
                Ok(card) if is_lock(card.service) => card.messages,
                _ => continue,
            };
            let mut settings = busy(size, entries, 1);
            settings.network.latency = Distribution::time_units(1).into();
            let report = run(name, settings);
            let each = report.metrics.messages_per_entry(Layer::Mutex);
            let context = format!("{name}, n = {size}: {each} messages, {cost:?}");
            assert!(each >= cost.least as f64, "{context}");
            assert!(cost.most.is_none_or(|most| each <= most as f64), "{context}");
            checked += 1;
        }
    }
    assert!(checked > 20, "{checked}");
}

/// A prediction must not contradict the card of its algorithm. An upper bound of theory must not
/// exceed the bound on the card, either.
#[test]
fn predictions_lie_within_the_bounds_of_the_cards() {
    let workloads = [
        WorkloadKind::OneAtATime,
        WorkloadKind::AllEquallyOften,
        WorkloadKind::AllStart,
        WorkloadKind::AllStartRandomRanks,
        WorkloadKind::OneStarts(ProcessId(0)),
    ];
    let (mut checked, mut upper_bounds, mut contradictions) = (0, 0, Vec::new());
    for (name, size) in catalogue::names().flat_map(|name| (1..=17).map(move |size| (name, size))) {
        let parameters = Parameters::with_defaults(size);
        let Ok(card) = catalogue::card(name, &parameters) else { continue };
        let cost = card.messages;
        for workload in workloads {
            let predicted = catalogue::predicted_messages(name, &parameters, workload);
            let Some(predicted) = predicted.ok().flatten() else { continue };
            let messages = theory::quantity_to_f64(predicted.messages);
            let is_below = messages < cost.least as f64 - 1e-9;
            let is_above = cost.most.is_some_and(|most| messages > most as f64 + 1e-9);
            if is_below || is_above {
                contradictions.push(format!("{name}, n = {size}, {workload:?}: {messages}"));
            }
            checked += 1;
            upper_bounds += u32::from(predicted.precision == PredictionKind::Most);
        }
    }
    assert_eq!(contradictions, [""; 0]);
    assert!(checked > 500 && upper_bounds > 15, "{checked}, {upper_bounds}");
}
