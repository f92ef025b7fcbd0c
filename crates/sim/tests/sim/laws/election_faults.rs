//! Effect of one fault on each election, over many seeds. Section 5.7 of `docs/checklist.md` lists
//! the results.

use std::collections::BTreeSet;

use tenure_core::{ChannelOrder, ProcessId, Timing};
use tenure_sim::{
    AutomaticRecovery, Chance, CrashTrigger, Distribution, Fault, Random, RecoveredState,
    RunReport, Settings, Workload,
};

use super::{RINGS, parameters, ring, run_late};
use crate::common::runs::{is_violated, shuffled};

/// Expected effect of a fault on an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    /// In every run, all live processes believe in the same leader at the end. This leader has the
    /// largest rank if the algorithm elects by rank.
    Fine,
    /// In some run a process never learns of a leader. In no run do two processes believe in
    /// different leaders.
    Blocked,
    /// In some run two processes believe in different leaders, or a process believes in a leader
    /// that does not have the largest rank.
    Unsafe,
}

use Effect::{Blocked, Fine, Unsafe};

fn elections() -> impl Iterator<Item = &'static str> {
    RINGS.into_iter().chain(["bully", "raft"])
}

fn elects_largest_rank(name: &str) -> bool {
    !matches!(name, "itai-rodeh" | "raft")
}

const SEEDS: u64 = 400;

/// One experiment: the settings of a run, the elections that start during the run, and the delay
/// from which the algorithm derives its timeouts.
struct Trial {
    settings: Settings,
    late: Vec<(u64, ProcessId)>,
    /// Upper bound on message delays that the algorithm assumes, in ticks. The algorithm derives
    /// its timeouts from this bound. If the field is `None`, the algorithm uses the actual bound of
    /// the settings.
    allowed: Option<u64>,
    variant: &'static str,
}

/// Returns an experiment with four processes whose ranks are in a random order. At least one
/// process starts immediately.
fn trial(name: &str, seed: u64) -> Trial {
    let mut random = Random::new(seed);
    let ids = shuffled(4, &mut random);
    let starts = 1 + random.below(15);
    let mut settings = ring(&ids);
    let starters = (0..4).filter(|place| starts & (1 << place) != 0).map(ProcessId);
    settings.workload = Workload::elect_by(starters);
    settings.seed = seed;
    settings.network.latency = Distribution::between_time_units(0, 5).into();
    settings.beyond_assumptions = true;
    if name != "bully" {
        settings.detector = None;
    }
    Trial { settings, late: Vec::new(), allowed: None, variant: "" }
}

fn runs(name: &str, change: &dyn Fn(&mut Trial)) -> Vec<RunReport> {
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

/// Runs an algorithm with the fault in `change`, and asserts that the fault has the effect
/// `expected`. Fails if the fault occurred in no run.
#[track_caller]
fn assert_effect(name: &str, expected: Effect, change: &dyn Fn(&mut Trial)) {
    let runs = runs(name, change);
    let requested_faults =
        runs.iter().flat_map(|report| &report.faults).filter(|count| count.requested);
    let observed: u64 = requested_faults.clone().map(|count| count.observed).sum();
    assert!(observed > 0 || requested_faults.count() == 0, "{name}: the fault never happened");
    let wrong = |report: &&RunReport| {
        let believed: BTreeSet<_> = report.beliefs.iter().flatten().collect();
        // Processes may still believe in a leader that has crashed. The election is then stuck, but
        // not unsafe.
        let misled = is_violated(report, "validity") && !report.leaders.is_empty();
        let misled = misled && elects_largest_rank(name);
        believed.len() > 1 || misled
    };
    let wrong = runs.iter().filter(wrong).count();
    let stuck = runs.iter().filter(|report| is_violated(report, "progress")).count();
    let found = match (wrong, stuck) {
        (0, 0) => Fine,
        (0, _) => Blocked,
        _ => Unsafe,
    };
    assert_eq!(found, expected, "{name}: wrong {wrong} times, stuck {stuck} of {SEEDS}");
}

#[test]
fn no_fault_no_violation() {
    for name in elections() {
        assert_effect(name, Fine, &|trial| trial.settings.network.order = Some(ChannelOrder::Fifo));
    }
}

/// Reorders messages and lets one process start its election late. On the ring of Chang and
/// Roberts, the late process must wait forever in at least one run. In all other elections, every
/// process must learn the result in every run.
#[test]
fn reordering_blocks_late_starter_of_chang_roberts() {
    let late = |order| {
        move |trial: &mut Trial| {
            let mut random = Random::new(trial.settings.seed ^ 1);
            let (time, process) = (random.below(25_000_000), ProcessId(random.below(4) as u32));
            trial.late = vec![(time, process)];
            trial.settings.network.order = Some(order);
        }
    };
    assert_effect("chang-roberts", Blocked, &late(ChannelOrder::Reordered));
    assert_effect("chang-roberts", Fine, &late(ChannelOrder::Fifo));
    for name in ["hirschberg-sinclair", "franklin", "itai-rodeh", "bully", "raft"] {
        assert_effect(name, Fine, &late(ChannelOrder::Reordered));
    }
}

#[test]
fn reordering_misleads_lelann_and_blocks_dolev_klawe_rodeh() {
    let reorder = |trial: &mut Trial| trial.settings.network.order = Some(ChannelOrder::Reordered);
    assert_effect("lelann", Unsafe, &reorder);
    assert_effect("dolev-klawe-rodeh", Blocked, &reorder);
}

#[test]
fn lost_message_blocks_ring_and_misleads_bully() {
    let lose =
        |trial: &mut Trial| trial.settings.network.loss = Chance::with_max_occurrences(0.2, 1);
    assert_effect("lelann", Unsafe, &lose);
    for name in &RINGS[1..] {
        assert_effect(name, Blocked, &lose);
    }
    assert_effect("raft", Fine, &lose);
    // In the bully algorithm with terms, a lower leader steps down when it receives a message of a
    // higher process. A process that missed the announcement waits for ever. In the variant that
    // accepts lower leaders, the lower process continues to lead.
    assert_effect("bully", Blocked, &lose);
    assert!(runs("bully", &lose).iter().any(|run| two_at_a_time(&run)));
    assert_effect("bully", Unsafe, &|trial| {
        lose(trial);
        trial.variant = "no-terms,accept-lower";
    });
}

#[test]
fn duplicates_harm_no_election() {
    for name in elections() {
        assert_effect(name, Fine, &|trial| {
            trial.settings.network.duplication = Chance::with_max_occurrences(0.2, 1);
            trial.settings.network.order = Some(ChannelOrder::Fifo);
        });
    }
}

/// One process is down from the start. An election on a ring must not end, because the ring
/// contains the crashed process. The bully algorithm, Raft, and a ring without this process must
/// elect a leader.
#[test]
fn initial_crash_breaks_only_unrepaired_ring() {
    let down = |trial: &mut Trial| {
        let settings = &mut trial.settings;
        settings.down = vec![ProcessId((settings.seed % 4) as u32)];
        settings.workload = Workload::elect_by_all();
    };
    for name in RINGS {
        assert_effect(name, Blocked, &down);
    }
    assert_effect("bully", Fine, &down);
    assert_effect("raft", Fine, &down);
    // The repaired ring consists of the other processes.
    let repaired = |trial: &mut Trial| {
        let settings = &mut trial.settings;
        settings.size = 3;
        settings.ranks = settings.ranks[..3].into();
        settings.workload = Workload::elect_by_all();
    };
    for name in RINGS {
        assert_effect(name, Fine, &repaired);
    }
}

fn crash(trial: &mut Trial, recovery: Option<AutomaticRecovery>) {
    let settings = &mut trial.settings;
    let process = ProcessId((settings.seed % 4) as u32);
    let when = CrashTrigger::At(settings.seed / 4 % 20 * 1_000_000);
    settings.faults = vec![Fault::Crash { process, when, recovery }];
    settings.workload = Workload::elect_by_all();
}

/// Makes one process crash during an election. Elections on a ring may then not end. With the bully
/// algorithm and with Raft, the other processes must elect a leader.
#[test]
fn crash_during_election_breaks_ring_not_bully() {
    for name in RINGS {
        assert_effect(name, Blocked, &|trial| crash(trial, None));
    }
    assert_effect("bully", Fine, &|trial| crash(trial, None));
    assert_effect("raft", Fine, &|trial| crash(trial, None));
}

/// One process starts another election although the leader lives. The election must cost messages
/// and elect the same leader.
#[test]
fn false_alarm_repeats_election_with_same_winner() {
    let calm = |trial: &mut Trial| trial.settings.network.order = Some(ChannelOrder::Fifo);
    let alarm = |trial: &mut Trial| {
        calm(trial);
        let process = ProcessId((trial.settings.seed % 4) as u32);
        trial.late = vec![(100_000_000, process)];
    };
    for name in RINGS.into_iter().filter(|name| elects_largest_rank(name)) {
        assert_effect(name, Fine, &alarm);
        for (once, again) in runs(name, &calm).iter().zip(runs(name, &alarm)) {
            let context = format!("{name}, seed {}", again.seed);
            assert!(again.metrics.sent > once.metrics.sent, "{context}");
            assert_eq!(again.leaders, once.leaders, "{context}");
        }
    }
}

fn too_short(trial: &mut Trial) {
    trial.settings.time.timing = Some(Timing::Asynchronous);
    trial.allowed = Some(500_000);
}

fn two_at_a_time(report: &&RunReport) -> bool {
    is_violated(report, "one-leader-at-a-time")
}

/// Gives the bully algorithm timeouts that are shorter than some message delays. Two processes may
/// then lead at the same time, but in the end all must agree on one leader. In the variant without
/// terms, two leaders may remain.
#[test]
fn short_timeouts_create_two_bullies_without_terms() {
    assert!(runs("bully", &too_short).iter().any(|run| two_at_a_time(&run)), "too early");
    assert_eq!(runs("bully", &|_| {}).iter().filter(two_at_a_time).count(), 0);
    assert_effect("bully", Fine, &too_short);
    assert_effect("bully", Unsafe, &|trial| {
        too_short(trial);
        trial.variant = "no-terms,accept-lower";
    });
}

/// Gives Raft timeouts that are shorter than some message delays, or restarts a process. An
/// election must still succeed in every run. The short timeouts must cost additional messages.
#[test]
fn short_timeouts_cost_raft_only_terms() {
    let restart = |trial: &mut Trial| {
        let after = 1 + trial.settings.seed % 40 * 1_000_000;
        crash(trial, Some(AutomaticRecovery { downtime: after, memory: RecoveredState::Stable }));
    };
    assert_effect("raft", Fine, &|trial| trial.allowed = Some(1_500_000));
    assert_effect("raft", Fine, &restart);
    let sent = |change: &dyn Fn(&mut Trial)| {
        runs("raft", change).iter().map(|report| report.metrics.sent).sum::<u64>()
    };
    assert!(sent(&|trial| trial.allowed = Some(1_500_000)) > sent(&|_| {}));
}

#[test]
fn restart_during_election_misleads_bully_without_terms() {
    let restart = |variant| {
        move |trial: &mut Trial| {
            let after = 1 + trial.settings.seed % 40 * 1_000_000;
            crash(
                trial,
                Some(AutomaticRecovery { downtime: after, memory: RecoveredState::Stable }),
            );
            trial.variant = variant;
        }
    };
    assert_effect("bully", Fine, &restart(""));
    assert!(runs("bully", &restart("")).iter().any(|run| two_at_a_time(&run)));
    for rule in ["no-terms,accept-lower", "no-terms,ignore-lower"] {
        assert_effect("bully", Unsafe, &restart(rule));
    }
}
