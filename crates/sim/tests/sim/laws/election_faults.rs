//! The fault matrix of elections (5.7), over many seeds.

use std::collections::BTreeSet;

use tenure_claims::claims;
use tenure_core::{Order, ProcessId, Timing};
use tenure_sim::{
    Chance, Fault, Judgement, Memory, Random, Recovery, Report, Settings, Span, When, Workload,
};

use super::{parameters, ring, run_late};

/// What the matrix says of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cell {
    /// All believe in the largest live rank in the end, in every run.
    Fine,
    /// Somebody learns of no leader in some run, and never do two believe in different ones.
    Stuck,
    /// Two believe in different leaders, or in a smaller one than there is, in some run.
    Unsafe,
}

use Cell::{Fine, Stuck, Unsafe};

const ELECTIONS: [&str; 8] = [
    "lelann",
    "chang-roberts",
    "hirschberg-sinclair",
    "dolev-klawe-rodeh",
    "franklin",
    "itai-rodeh",
    "bully",
    "raft",
];

/// Those that a ring has to be whole for.
const RINGS: [&str; 6] = [
    "lelann",
    "chang-roberts",
    "hirschberg-sinclair",
    "dolev-klawe-rodeh",
    "franklin",
    "itai-rodeh",
];

/// Whether the largest rank is to win.
fn is_of_the_largest(name: &str) -> bool {
    !matches!(name, "itai-rodeh" | "raft")
}

const SEEDS: u64 = 400;

/// One experiment: its settings, who starts late, and what timeouts are made of.
struct Trial {
    settings: Settings,
    late: Vec<(u64, ProcessId)>,
    /// The delay that timeouts allow for, in ticks; `None`: the longest there is.
    allowed: Option<u64>,
    variant: &'static str,
}

/// Four processes with ranks in any order; some start at once, at least one.
fn trial(name: &str, seed: u64) -> Trial {
    let mut random = Random::new(seed);
    let ids: Vec<u32> = random.permutation(4).iter().map(|id| id + 1).collect();
    let starts = 1 + random.below(15);
    let mut settings = ring(&ids);
    let starters = (0..4).filter(|place| starts & (1 << place) != 0).map(ProcessId);
    settings.workload = Workload::elect_by(starters);
    settings.seed = seed;
    settings.network.latency = Span::between_units(0, 5).into();
    settings.beyond_assumptions = true;
    if name != "bully" {
        settings.detector = None;
    }
    Trial { settings, late: Vec::new(), allowed: None, variant: "" }
}

fn runs(name: &str, change: &dyn Fn(&mut Trial)) -> Vec<Report> {
    let run = |seed| {
        let mut trial = trial(name, seed);
        change(&mut trial);
        let mut parameters = parameters(&trial.settings);
        parameters.delay = trial.allowed.unwrap_or(parameters.delay);
        parameters.variants = trial.variant.split_terminator(',').map(str::to_owned).collect();
        run_late(name, &parameters, trial.settings, trial.late)
    };
    (0..SEEDS).map(run).collect()
}

fn is_violated(report: &Report, property: &str) -> bool {
    report.verdict(property) == Some(Judgement::Violated)
}

/// Asserts a cell of the matrix. A fault that never happened proves nothing.
#[track_caller]
fn cell(name: &str, expected: Cell, change: &dyn Fn(&mut Trial)) {
    let runs = runs(name, change);
    let asked = runs.iter().flat_map(|report| &report.faults).filter(|count| count.asked);
    let observed: u64 = asked.clone().map(|count| count.observed).sum();
    assert!(observed > 0 || asked.count() == 0, "{name}: the fault never happened");
    let wrong = |report: &&Report| {
        let believed: BTreeSet<_> = report.beliefs.iter().flatten().collect();
        // To believe in the largest, who has crashed since, is to be stuck and not to be wrong.
        let misled = is_violated(report, "validity") && !report.leaders.is_empty();
        let misled = misled && is_of_the_largest(name);
        believed.len() > 1 || misled
    };
    let wrong = runs.iter().filter(wrong).count();
    let stuck = runs.iter().filter(|report| is_violated(report, "progress")).count();
    let found = match (wrong, stuck) {
        (0, 0) => Fine,
        (0, _) => Stuck,
        _ => Unsafe,
    };
    assert_eq!(found, expected, "{name}: wrong {wrong} times, stuck {stuck} of {SEEDS}");
}

#[claims("5.7-none")]
#[test]
fn without_a_fault_all_are_fine() {
    for name in ELECTIONS {
        cell(name, Fine, &|trial| trial.settings.network.order = Some(Order::Fifo));
    }
}

/// One that starts late waits for ever, and all agree.
#[claims("5.7-reorder", "I-63")]
#[test]
fn reordering_leaves_a_late_starter_of_chang_roberts_waiting() {
    let late = |order| {
        move |trial: &mut Trial| {
            let mut random = Random::new(trial.settings.seed ^ 1);
            let (time, process) = (random.below(25_000_000), ProcessId(random.below(4) as u32));
            trial.late = vec![(time, process)];
            trial.settings.network.order = Some(order);
        }
    };
    cell("chang-roberts", Stuck, &late(Order::Reordered));
    cell("chang-roberts", Fine, &late(Order::Fifo));
    for name in ["hirschberg-sinclair", "franklin", "itai-rodeh", "bully", "raft"] {
        cell(name, Fine, &late(Order::Reordered));
    }
}

#[claims("5.7-reorder")]
#[test]
fn reordering_misleads_lelann_and_leaves_dolev_klawe_and_rodeh_waiting() {
    let reorder = |trial: &mut Trial| trial.settings.network.order = Some(Order::Reordered);
    cell("lelann", Unsafe, &reorder);
    cell("dolev-klawe-rodeh", Stuck, &reorder);
}

/// A lost message of the bully makes a lower one believe in itself.
#[claims("5.7-loss")]
#[test]
fn a_lost_message_leaves_a_ring_waiting_and_misleads_the_bully() {
    let lose = |trial: &mut Trial| trial.settings.network.loss = Chance::at_most(0.2, 1);
    cell("lelann", Unsafe, &lose);
    for name in &RINGS[1..] {
        cell(name, Stuck, &lose);
    }
    cell("raft", Fine, &lose);
    // With terms a lower one leads for a while, until it hears of one above; one that missed the
    // announcement waits. Where lower ones are believed, it stays.
    cell("bully", Stuck, &lose);
    assert!(runs("bully", &lose).iter().any(|run| two_at_a_time(&run)));
    cell("bully", Unsafe, &|trial| {
        lose(trial);
        trial.variant = "no-terms,accept-lower";
    });
}

#[claims("5.7-duplicate")]
#[test]
fn a_duplicate_harms_no_election() {
    for name in ELECTIONS {
        cell(name, Fine, &|trial| {
            trial.settings.network.duplication = Chance::at_most(0.2, 1);
            trial.settings.network.order = Some(Order::Fifo);
        });
    }
}

/// Who is down has to be left out of a ring; the bully notices.
#[claims("5.7-crash-before")]
#[test]
fn a_crash_before_the_start_needs_the_ring_repaired_and_the_bully_nothing() {
    let down = |trial: &mut Trial| {
        let settings = &mut trial.settings;
        settings.down = vec![ProcessId((settings.seed % 4) as u32)];
        settings.workload = Workload::elect();
    };
    for name in RINGS {
        cell(name, Stuck, &down);
    }
    cell("bully", Fine, &down);
    cell("raft", Fine, &down);
    // The repaired ring is the ring of the others.
    let repaired = |trial: &mut Trial| {
        let settings = &mut trial.settings;
        settings.size = 3;
        settings.ranks = settings.ranks[..3].into();
        settings.workload = Workload::elect();
    };
    for name in RINGS {
        cell(name, Fine, &repaired);
    }
}

fn crash(trial: &mut Trial, recovery: Option<Recovery>) {
    let settings = &mut trial.settings;
    let process = ProcessId((settings.seed % 4) as u32);
    let when = When::At(settings.seed / 4 % 20 * 1_000_000);
    settings.faults = vec![Fault::Crash { process, when, recovery }];
    settings.workload = Workload::elect();
}

/// The bully's next lower one takes over.
#[claims("5.7-crash-during", "I-67")]
#[test]
fn a_crash_during_the_election_breaks_the_ring_and_not_the_bully() {
    for name in RINGS {
        cell(name, Stuck, &|trial| crash(trial, None));
    }
    cell("bully", Fine, &|trial| crash(trial, None));
    cell("raft", Fine, &|trial| crash(trial, None));
}

/// A ring has none, so that a false alarm only costs another election.
#[claims("5.7-timeouts")]
#[test]
fn a_false_alarm_on_a_ring_is_one_more_election_with_the_same_winner() {
    let calm = |trial: &mut Trial| trial.settings.network.order = Some(Order::Fifo);
    let alarm = |trial: &mut Trial| {
        calm(trial);
        let process = ProcessId((trial.settings.seed % 4) as u32);
        trial.late = vec![(100_000_000, process)];
    };
    for name in RINGS.into_iter().filter(|name| is_of_the_largest(name)) {
        cell(name, Fine, &alarm);
        for (once, again) in runs(name, &calm).iter().zip(runs(name, &alarm)) {
            let told = format!("{name}, seed {}", again.seed);
            assert!(again.metrics.sent > once.metrics.sent, "{told}");
            assert_eq!(again.leaders, once.leaders, "{told}");
        }
    }
}

fn too_short(trial: &mut Trial) {
    trial.settings.time.timing = Some(Timing::Asynchronous);
    trial.allowed = Some(500_000);
}

fn two_at_a_time(report: &&Report) -> bool {
    is_violated(report, "one-leader-at-a-time")
}

/// Two bullies at a time, and where lower ones are believed for
/// ever.
#[claims("5.7-timeouts", "Q-30")]
#[test]
fn wrong_timeouts_make_two_bullies_and_terms_settle_it() {
    assert!(runs("bully", &too_short).iter().any(|run| two_at_a_time(&run)), "too early");
    assert_eq!(runs("bully", &|_| {}).iter().filter(two_at_a_time).count(), 0);
    cell("bully", Fine, &too_short);
    cell("bully", Unsafe, &|trial| {
        too_short(trial);
        trial.variant = "no-terms,accept-lower";
    });
}

/// Raft only wastes terms, as long as a heartbeat is now and then answered before the next.
#[claims("5.7-timeouts", "5.7-restart")]
#[test]
fn wrong_timeouts_and_restarts_cost_raft_terms_and_nothing_else() {
    let restart = |trial: &mut Trial| {
        let after = 1 + trial.settings.seed % 40 * 1_000_000;
        crash(trial, Some(Recovery { after, memory: Memory::Stable }));
    };
    cell("raft", Fine, &|trial| trial.allowed = Some(1_500_000));
    cell("raft", Fine, &restart);
    let sent = |change: &dyn Fn(&mut Trial)| {
        runs("raft", change).iter().map(|report| report.metrics.sent).sum::<u64>()
    };
    assert!(sent(&|trial| trial.allowed = Some(1_500_000)) > sent(&|_| {}));
}

#[claims("5.7-restart")]
#[test]
fn a_restart_within_the_election_misleads_a_bully_without_terms() {
    let restart = |variant| {
        move |trial: &mut Trial| {
            let after = 1 + trial.settings.seed % 40 * 1_000_000;
            crash(trial, Some(Recovery { after, memory: Memory::Stable }));
            trial.variant = variant;
        }
    };
    cell("bully", Fine, &restart(""));
    assert!(runs("bully", &restart("")).iter().any(|run| two_at_a_time(&run)));
    for rule in ["no-terms,accept-lower", "no-terms,ignore-lower"] {
        cell("bully", Unsafe, &restart(rule));
    }
}
