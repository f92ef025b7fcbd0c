//! Laws about the messages and the winner of elections.

use tenure_algorithms::catalogue::{Parameters, predicted_messages};
use tenure_algorithms::election::chang_roberts::predicted_message_count;
use tenure_core::theory::WorkloadKind;
use tenure_core::{ProcessId, TICKS_PER_TIME_UNIT};
use tenure_sim::{
    Chance, CrashTrigger, Distribution, Fault, Judgement, Latency, Moments, Random, RecoveredState,
    RunReport, Settings, Workload, theory,
};

use super::{parameters, ring, run, run_with};
use crate::common::runs::{assert_hold, crash, crash_and_recover, seeded, sent_of, shuffled};

#[test]
fn chang_roberts_cost_matches_theory() {
    let size = 12;
    let mut mean = Moments::new();
    for seed in 0..2000 {
        let ids = shuffled(size, &mut Random::new(seed));
        let report = run("chang-roberts", ring(&ids));
        assert_eq!(report.metrics.sent, predicted_message_count(&ids), "seed {seed}: {ids:?}");
        assert_eq!(report.finished_at_units(), 2.0 * f64::from(size), "seed {seed}");
        assert_eq!(report.failures().next(), None, "seed {seed}");
        mean.add(report.metrics.sent as f64);
    }
    let predicted = f64::from(size) * (theory::harmonic_number(size) + 1.0);
    assert!(mean.agrees_with(predicted, 4.0), "{mean:?}, not {predicted}");
}

#[test]
fn single_initiator_cost_depends_on_distance() {
    let size = 9;
    for start in 0..size {
        let mut settings = ring(&(1..=size).collect::<Vec<_>>());
        settings.workload = Workload::elect_by([ProcessId(start)]);
        let report = run("chang-roberts", settings);
        let hops = size - 1 - start;
        assert_eq!(report.metrics.sent, u64::from(hops + 2 * size), "{start}");
    }
}

#[test]
fn hirschberg_sinclair_stays_below_bound() {
    for (seed, size) in (0..1000).map(|seed| (seed, 2 + (seed % 19) as u32)) {
        let ids = shuffled(size, &mut Random::new(seed));
        let sent = |latency: Distribution, seed| {
            let mut settings = ring(&ids);
            (settings.network.latency, settings.seed) = (latency.into(), seed);
            let report = run("hirschberg-sinclair", settings);
            assert_eq!(report.failures().next(), None, "seed {seed}: {ids:?}");
            report.metrics.sent
        };
        let plain = sent(Distribution::time_units(1), seed);
        assert_eq!(
            plain,
            sent(Distribution::between_time_units(1, 9), seed),
            "seed {seed}: {ids:?}"
        );
        let bound = predicted_messages(
            "hirschberg-sinclair",
            &Parameters::with_defaults(size),
            WorkloadKind::AllStartRandomRanks,
        );
        let bound = bound.unwrap().expect("theory has a bound").messages.numerator;
        assert!(plain <= bound, "seed {seed}: {plain}");
    }
}

#[test]
fn bully_worst_case_is_quadratic() {
    for size in 3..8u32 {
        let mut settings = Settings::new(size);
        settings.workload = Workload::elect_by([ProcessId(0)]);
        settings.down = vec![ProcessId(size - 1)];
        let report = run("bully", settings);
        assert_eq!(report.metrics.sent, u64::from(size * (size - 1)), "n = {size}");
        assert_eq!(report.leaders, [ProcessId(size - 2)], "n = {size}");
        assert_eq!(report.judgement_of("validity"), Some(Judgement::Holds), "n = {size}");
    }
}

#[test]
fn bully_replaces_and_restores_leader() {
    for seed in 0..1000 {
        let mut settings =
            seeded(5, seed, Workload::elect_by_all(), Distribution::between_time_units(0, 1));
        let when = CrashTrigger::At(100_000_000);
        settings.faults = vec![crash(4, when)];
        let report = run("bully", settings.clone());
        assert_eq!(report.leaders, [ProcessId(3)], "seed {seed}");
        assert_eq!(report.failures().next(), None, "seed {seed}");
        settings.faults = vec![crash_and_recover(4, when, 100_000_000)];
        let report = run("bully", settings);
        assert_eq!(report.leaders, [ProcessId(4)], "seed {seed}");
        assert_eq!(report.failures().next(), None, "seed {seed}");
    }
}

/// Returns the number of messages that an election has sent by a certain time. `tenths` is this
/// time in tenths of a unit. Every message takes one unit.
fn sent_by(name: &str, ids: &[u32], tenths: u64) -> u64 {
    let mut settings = ring(ids);
    settings.limits.until = Some(tenths * 100_000);
    run(name, settings).metrics.sent
}

fn decreasing(size: u32) -> Vec<u32> {
    (1..=size).rev().collect()
}

/// Counts the messages of Chang and Roberts after each round. On the ring, the ids decrease in the
/// direction of the messages. This order costs the most messages. The counts must equal those in a
/// lecture.
#[test]
fn worst_ring_of_five_matches_lecture_counts() {
    let rounds = [0, 1, 2, 3, 4].map(|round| sent_by("chang-roberts", &decreasing(5), 10 * round));
    assert_eq!(rounds, [5, 9, 12, 14, 15]);
    assert_eq!(run("chang-roberts", ring(&decreasing(5))).metrics.sent, 20);
}

/// Checks the number of messages for the worst and the best order of ids. This number includes the
/// messages that announce the leader.
#[test]
fn chang_roberts_reaches_worst_and_best_case() {
    for size in 2..60 {
        let (n, messages) =
            (u64::from(size), |ids: &[u32]| run("chang-roberts", ring(ids)).metrics);
        assert_eq!(messages(&decreasing(size)).sent, n * (n + 1) / 2 + n, "n = {size}");
        let increasing: Vec<u32> = (1..=size).collect();
        assert_eq!(messages(&increasing).sent, 2 * n - 1 + n, "n = {size}");
    }
}

#[test]
fn owner_of_returned_id_announces() {
    for seed in 0..1000 {
        let mut ids: Vec<u32> = Random::new(seed).permutation(27).into_iter().take(6).collect();
        let place = (seed % 7) as usize;
        ids.insert(place, 28);
        let report = run("chang-roberts", ring(&ids));
        assert_eq!(report.leaders, [ProcessId::from_index(place)], "seed {seed}: {ids:?}");
        assert_eq!(report.judgement_of("validity"), Some(Judgement::Holds), "seed {seed}");
    }
}

#[test]
fn any_initiators_agree_on_the_largest() {
    for seed in 0..2000 {
        let mut random = Random::new(seed);
        let size = 2 + random.below(7) as u32;
        let ids = shuffled(size, &mut random);
        let starts = 1 + random.below((1 << size) - 1);
        let starters = (0..size).filter(|place| starts & (1 << place) != 0).map(ProcessId);
        let starters: Vec<ProcessId> = starters.collect();
        for name in ["chang-roberts", "hirschberg-sinclair", "bully"] {
            let mut settings = ring(&ids);
            settings.seed = seed;
            settings.network.latency = Distribution::between_time_units(1, 4).into();
            settings.workload = Workload::elect_by(starters.clone());
            let report = run(name, settings);
            assert_eq!(report.failures().next(), None, "{name}, seed {seed}: {ids:?}");
            let largest = ids.iter().position(|id| *id == size).unwrap();
            assert_eq!(report.leaders, [ProcessId::from_index(largest)], "{name}, seed {seed}");
        }
    }
}

/// If one uniformly drawn process starts the election, the election takes 2N + (N − 1)/2 messages
/// on average, and at most 3N − 1 messages.
#[test]
fn single_initiator_mean_cost_matches_theory() {
    let (size, mut mean) = (11, Moments::new());
    for seed in 0..4000 {
        let mut random = Random::new(seed);
        let ids = shuffled(size, &mut random);
        let mut settings = ring(&ids);
        settings.workload = Workload::elect_by([ProcessId(random.below(u64::from(size)) as u32)]);
        let report = run("chang-roberts", settings);
        assert_eq!(report.finished_at_units(), report.metrics.sent as f64, "one after the other");
        mean.add(report.metrics.sent as f64);
    }
    let n = f64::from(size);
    assert!(mean.agrees_with(2.0 * n + (n - 1.0) / 2.0, 4.0), "{mean:?}");
    assert_eq!((mean.min(), mean.max()), (2.0 * n, 3.0 * n - 1.0));
}

/// Returns the two upper bounds of a lecture on the number of messages of the algorithm of
/// Hirschberg and Sinclair. `n` is the number of processes. The first bound is a sum over the
/// phases. The second bound is a simpler formula with a larger value.
fn lecture_bounds(n: f64) -> (f64, f64) {
    let phases = (n - 1.0).log2().ceil() as i32 + 1;
    let later = (1..=phases).map(|k| 4.0 * 2f64.powi(k) * n / (2f64.powi(k - 1) + 1.0));
    (4.0 * n + n + later.sum::<f64>(), 8.0 * n * (n.log2() + 2.0) + 5.0 * n)
}

#[test]
fn hirschberg_sinclair_stays_below_lecture_bounds() {
    let figures =
        [(4, 82.93, 148.0), (8, 222.76, 360.0), (16, 565.98, 848.0), (32, 1380.2, 1952.0)];
    for (size, summed, rounded) in figures {
        let (sum, round) = lecture_bounds(f64::from(size));
        assert!((sum - summed).abs() < 0.05 && round == rounded, "n = {size}: {sum}, {round}");
        let mut largest = 0;
        for seed in 0..1000 {
            let ids = shuffled(size, &mut Random::new(seed));
            largest = largest.max(run("hirschberg-sinclair", ring(&ids)).metrics.sent);
        }
        assert!((largest as f64) < sum, "n = {size}: {largest}");
        // The bound is close to the measured numbers: less than four times the largest of them.
        assert!(largest as f64 > sum / 4.0, "n = {size}: {largest} of {sum}");
    }
}

/// Phase 0 takes 3n messages: every process sends two probes, and one reply is sent on each edge.
/// The last phase takes 2n messages: the only remaining process sends two probes, and each of them
/// travels once around the ring.
#[test]
fn first_phase_takes_3n_and_last_2n() {
    for seed in 0..1000 {
        let size = 3 + (seed % 20) as u32;
        let ids = shuffled(size, &mut Random::new(seed));
        let n = u64::from(size);
        // Probes of phase 0 leave at time 0, their replies at 1, and the probes of phase 1 at 2.
        assert_eq!(sent_by("hirschberg-sinclair", &ids, 15), 3 * n, "seed {seed}: {ids:?}");
        let (first, last) = last_phase(size);
        // The replies of phase k arrive 2·2^k units after the probes of this phase have left.
        let before = sent_by("hirschberg-sinclair", &ids, first * 10 - 5);
        let after = sent_by("hirschberg-sinclair", &ids, last * 10 - 5);
        assert_eq!(after - before, 2 * n, "seed {seed}: {ids:?}");
    }
}

/// Returns the start and the end of the last phase, in units, if every message takes one unit. The
/// last phase has the number ⌈log₂ n⌉, and takes as long as a message needs to travel around the
/// ring.
fn last_phase(size: u32) -> (u64, u64) {
    let phase = size.next_power_of_two().trailing_zeros();
    let begins = (0..phase).map(|phase| 2 << phase).sum();
    (begins, begins + u64::from(size))
}

/// Checks all orders of eight processes on a ring. Process 8 must lead after phase 3. The phases 0
/// to 2 take 14 units. Phase 3 takes 8 units, which is one lap of the ring. The announcement takes
/// one more lap.
#[test]
fn largest_of_eight_leads_in_phase_three() {
    let mut rest: Vec<u32> = (1..8).collect();
    let mut rings = 0;
    permute(&mut rest, 0, &mut |rest| {
        let ids: Vec<u32> = [8].iter().chain(rest).copied().collect();
        let report = run("hirschberg-sinclair", ring(&ids));
        assert_eq!(report.leaders, [ProcessId(0)], "{ids:?}");
        assert_eq!(report.finished_at_units(), 2.0 + 4.0 + 8.0 + 8.0 + 8.0, "{ids:?}");
        rings += 1;
    });
    assert_eq!(rings, 5040);
}

fn permute(ids: &mut [u32], from: usize, visit: &mut impl FnMut(&[u32])) {
    if from == ids.len() {
        return visit(ids);
    }
    for place in from..ids.len() {
        ids.swap(from, place);
        permute(ids, from + 1, visit);
        ids.swap(from, place);
    }
}

/// Returns the number of messages of the kinds election, answer and coordinator.
fn by_kind(report: &RunReport) -> [u64; 3] {
    ["election", "answer", "coordinator"].map(|kind| sent_of(report, kind))
}

fn bully(size: u32, initiators: &[u32], down: &[u32]) -> RunReport {
    let mut settings = Settings::new(size);
    settings.workload = Workload::elect_by(initiators.iter().map(|number| ProcessId(number - 1)));
    settings.down = down.iter().map(|number| ProcessId(number - 1)).collect();
    run("bully", settings)
}

/// Counts the messages of bully elections. The number is quadratic if only the lowest process
/// starts, and if all live processes start. The number is a little smaller if the highest process
/// is down. The number is about n if only the highest live process starts.
#[test]
fn bully_cost_ranges_from_n_to_square() {
    for size in 3..12 {
        let n = u64::from(size);
        let all: Vec<u32> = (1..=size).collect();
        let worst = [n * (n - 1) / 2, n * (n - 1) / 2, n - 1];
        assert_eq!(by_kind(&bully(size, &[1], &[])), worst, "n = {size}");
        assert_eq!(by_kind(&bully(size, &all, &[])), worst, "n = {size}");
        let worst = [n * (n - 1) / 2, (n - 1) * (n - 2) / 2, n - 1];
        assert_eq!(by_kind(&bully(size, &[1], &[size])), worst, "n = {size}");
        let all: Vec<u32> = (1..size).collect();
        assert_eq!(by_kind(&bully(size, &all, &[size])), worst, "n = {size}");
        // The second highest process asks the highest one in vain, and then informs all n − 1
        // others.
        assert_eq!(by_kind(&bully(size, &[size - 1], &[size])), [1, 0, n - 1], "n = {size}");
        assert_eq!(by_kind(&bully(size, &[size], &[])), [0, 0, n - 1], "the highest only tells");
    }
}

/// Repeats a worked example of the bully algorithm from a lecture. The leader P4 crashes together
/// with P1. Then P1 recovers, and later P4 recovers. The run takes 22 messages, if the three
/// messages of the first election are not counted.
#[test]
fn lecture_example_takes_22_messages() {
    let story = |variant: &str| {
        let mut settings = Settings::new(4);
        settings.workload = Workload::elect_by([ProcessId(3)]);
        let crash = |process, at: u64| crash(process, CrashTrigger::At(at * 1_000_000));
        let recover = |process, at: u64| {
            let at = at * 1_000_000;
            Fault::Recover { process: ProcessId(process), at, memory: RecoveredState::Stable }
        };
        settings.faults = vec![crash(0, 100), crash(3, 100), recover(0, 200), recover(3, 300)];
        let mut parameters = parameters(&settings);
        parameters.variants = variant.split_terminator(',').map(str::to_owned).collect();
        run_with("bully", &parameters, settings)
    };
    let report = story("no-terms");
    let [elections, answers, coordinators] = by_kind(&report);
    assert_eq!([elections, answers, coordinators - 3], [9, 4, 9]);
    assert_eq!(report.metrics.sent - 3, 22);
    assert_eq!(report.leaders, [ProcessId(3)]);
    assert_eq!(report.beliefs, [Some(ProcessId(3)); 4]);
    // Without the variant `no-terms`, messages have terms. P4 therefore learns that its term is
    // outdated, and announces itself once more.
    let report = story("");
    assert_eq!(by_kind(&report), [9, 4 + 3, 3 + 9 + 3]);
    assert_eq!(report.beliefs, [Some(ProcessId(3)); 4]);
}

#[test]
fn run_ends_only_when_all_processes_agree_on_the_term() {
    for seed in 0..40 {
        let mut settings =
            Settings { seed, workload: Workload::elect_by_all(), ..Settings::new(8) };
        settings.network.loss = Chance::with_probability(0.1);
        settings.network.latency = Latency::Same(Distribution::between_time_units(1, 4));
        let report = run("invitation", settings);
        assert_hold(&report, &["agreement"], &format!("seed {seed}"));
    }
}

/// On channels without order, the announcement may overtake a rank, which then travels less far.
/// Before the global stabilisation time, messages are late, and the initiator starts again although
/// no message is lost. The predicted number of messages must admit both.
#[test]
fn prediction_admits_overtaken_and_late_messages() {
    let sent = |ids: &[u32], latency, gst, seed| {
        let mut settings = ring(ids);
        settings.network.latency = Distribution::between_time_units(1, latency).into();
        (settings.time.gst, settings.seed) = (gst * TICKS_PER_TIME_UNIT, seed);
        let report = run("restarting-chang-roberts", settings);
        assert_eq!(report.failures().next(), None, "{ids:?}, gst {gst}, seed {seed}");
        report.metrics.sent
    };
    let least = (2300..2400).map(|seed| sent(&[2, 1, 3], 100, 0, seed)).min();
    assert_eq!((least, predicted_message_count(&[2, 1, 3])), (Some(8), 9));
    let most = (0..100).map(|seed| sent(&[1, 2, 3, 4, 5], 30, 300, seed)).max();
    assert!(most > Some(predicted_message_count(&[1, 2, 3, 4, 5])), "{most:?}");
}
