//! The fault matrix of locks (5.6): what one fault does to each of those that were not made for
//! it, over many seeds.

use tenure_algorithms::catalogue::Parameters;
use tenure_claims::claims;
use tenure_core::quorum::Kind;
use tenure_core::tree::Shape;
use tenure_core::{Layer, Order, ProcessId, Property};
use tenure_sim::{
    Chance, Fault, Judgement, Memory, Recovery, Report, Settings, Span, When, Workload,
};

use super::{LOCKS, busy, parameters, run, run_with};

/// What the matrix says of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cell {
    /// Safe and live in every run.
    Fine,
    /// Somebody waits for ever in some run, and never are two inside.
    Blocked,
    /// Two are inside in some run.
    Unsafe,
}

use Cell::{Blocked, Fine, Unsafe};

const SEEDS: u64 = 400;

/// Three processes that enter twice each, over delays that differ a lot.
fn hurried(seed: u64) -> Settings {
    let mut settings = busy(3, 2, seed);
    settings.network.latency = Span::exponential_units(3).into();
    settings.beyond_assumptions = true;
    settings
}

/// A lock by its name, and behind a colon a variant, a sort of quorums or a tree.
fn configured(name: &str, settings: &Settings) -> (String, Parameters) {
    let mut parameters = parameters(settings);
    let (name, option) = name.split_once(':').unwrap_or((name, ""));
    match option {
        "" => {}
        "pairs" => parameters.quorums = Kind::Pairs,
        "path" => parameters.tree = Shape::Path,
        variant => parameters.variants = vec![variant.to_owned()],
    }
    (name.to_owned(), parameters)
}

/// Runs a lock with a fault, by seed.
fn runs(name: &str, fault: &dyn Fn(&mut Settings)) -> Vec<Report> {
    let run = |seed| {
        let mut settings = hurried(seed);
        fault(&mut settings);
        let (name, parameters) = configured(name, &settings);
        run_with(&name, &parameters, settings)
    };
    (0..SEEDS).map(run).collect()
}

fn is_violated(report: &Report, property: &str) -> bool {
    report.verdict(property) == Some(Judgement::Violated)
}

/// Asserts a row of the matrix. A fault that never happened proves nothing.
#[track_caller]
fn row(fault: &dyn Fn(&mut Settings), cells: &[(&str, Cell)]) {
    for (name, expected) in cells {
        let runs = runs(name, fault);
        // A single token has nobody to overtake.
        let asked = runs.iter().flat_map(|report| &report.faults);
        let asked = asked.filter(|count| count.asked && count.fault != "reordering");
        let observed: u64 = asked.clone().map(|count| count.observed).sum();
        assert!(observed > 0 || asked.count() == 0, "{name}: the fault never happened");
        let count = |property| runs.iter().filter(|run| is_violated(run, property)).count();
        let (two_inside, blocked) = (count("mutual-exclusion"), count("starvation-freedom"));
        let found = match (two_inside, blocked) {
            (0, 0) => Fine,
            (0, _) => Blocked,
            _ => Unsafe,
        };
        let times = format!("two inside {two_inside} times, blocked {blocked} of {SEEDS}");
        assert_eq!(found, *expected, "{name}: {times}");
    }
}

fn crash(process: u32, when: When) -> impl Fn(&mut Settings) {
    move |settings| {
        let process = ProcessId(process);
        settings.faults = vec![Fault::Crash { process, when, recovery: None }];
    }
}

#[claims("5.6-none")]
#[test]
fn without_a_fault_all_are_fine() {
    let none = |settings: &mut Settings| settings.network.order = Some(Order::Fifo);
    row(&none, &LOCKS.map(|name| (name, Fine)));
}

#[claims("5.6-reorder")]
#[test]
fn reordering_lets_two_in_with_lamport_alone() {
    let reorder = |settings: &mut Settings| settings.network.order = Some(Order::Reordered);
    let cells = [
        ("central", Fine),
        ("token-ring", Fine),
        ("lamport", Unsafe),
        ("ricart-agrawala", Fine),
        ("carvalho-roucairol", Fine),
        ("maekawa", Fine),
        ("maekawa:pairs", Fine),
        ("suzuki-kasami", Fine),
        ("raymond", Fine),
        ("raymond:path", Fine),
        ("naimi-trehel", Fine),
    ];
    row(&reorder, &cells);
    for name in ["central", "lamport", "ricart-agrawala", "carvalho-roucairol", "maekawa"] {
        let overtaken = runs(name, &reorder).into_iter().flat_map(|report| report.faults);
        let overtaken = overtaken.filter(|count| count.fault == "reordering");
        assert!(overtaken.map(|count| count.observed).sum::<u64>() > 100, "{name}");
    }
}

/// None tolerates it, and none becomes unsafe by it.
#[claims("5.6-loss", "I-40")]
#[test]
fn a_lost_message_blocks_every_lock_and_lets_nobody_in() {
    let lose = |settings: &mut Settings| settings.network.loss = Chance::at_most(0.2, 1);
    row(&lose, &LOCKS.map(|name| (name, Blocked)));
}

fn duplicate(settings: &mut Settings) {
    settings.network.duplication = Chance::at_most(0.2, 1);
}

/// Channels in order: what names its request is safe, and
/// what does not is not.
#[claims("5.6-duplicate")]
#[test]
fn a_duplicate_lets_two_in_where_messages_do_not_name_their_request() {
    let in_order = |settings: &mut Settings| {
        duplicate(settings);
        settings.workload = Workload::entries(4);
        settings.network.order = Some(Order::Fifo);
    };
    let cells = [
        ("central", Fine),
        ("central:untagged-grant", Unsafe),
        ("token-ring", Unsafe),
        ("lamport", Fine),
        ("ricart-agrawala", Fine),
        ("ricart-agrawala:bare-counter", Unsafe),
        ("ricart-agrawala:untagged-reply", Unsafe),
        ("carvalho-roucairol", Unsafe),
        ("maekawa", Fine),
        ("maekawa:pairs", Fine),
        ("suzuki-kasami", Unsafe),
        ("raymond", Unsafe),
        ("raymond:path", Unsafe),
        ("naimi-trehel", Unsafe),
    ];
    row(&in_order, &cells);
}

/// Where channels reorder as well.
#[claims("5.6-duplicate")]
#[test]
fn a_late_duplicate_does_no_harm_to_those_that_need_no_order() {
    let reordered = |settings: &mut Settings| {
        duplicate(settings);
        settings.workload = Workload::entries(4);
        settings.network.order = Some(Order::Reordered);
    };
    let cells = [("central", Fine), ("lamport", Unsafe), ("ricart-agrawala", Fine)];
    row(&reordered, &cells);
}

/// Only the coordinator's clients may go.
#[claims("5.6-crash-idle", "I-40")]
#[test]
fn the_crash_of_an_idle_process_hurts_whoever_needs_it() {
    let idle = |settings: &mut Settings| {
        crash(1, When::At(0))(settings);
        settings.workload = Workload::hot(3, ProcessId(2), 3, 0);
    };
    let cells = [
        ("central", Fine),
        ("token-ring", Blocked),
        ("lamport", Blocked),
        ("ricart-agrawala", Blocked),
        ("carvalho-roucairol", Blocked),
        ("maekawa", Blocked),
        ("suzuki-kasami", Fine),
        ("raymond", Fine),
        ("raymond:path", Blocked),
        ("naimi-trehel", Fine),
    ];
    row(&idle, &cells);
    // With pairs, P1 asks P2 and nobody else.
    let unneeded = |settings: &mut Settings| {
        crash(2, When::At(0))(settings);
        settings.workload = Workload::hot(3, ProcessId(0), 3, 0);
    };
    let needed = |settings: &mut Settings| {
        crash(1, When::At(0))(settings);
        settings.workload = Workload::hot(3, ProcessId(0), 3, 0);
    };
    // And P1 has the permission of everybody at first.
    row(&unneeded, &[("maekawa:pairs", Fine), ("carvalho-roucairol", Fine)]);
    row(&needed, &[("maekawa:pairs", Blocked)]);
}

#[claims("5.6-crash-waiting")]
#[test]
fn the_crash_of_a_waiting_process_blocks_every_lock() {
    let when = When::Waiting { request: 1, after: 1_000_000 };
    row(&crash(1, when), &LOCKS.map(|name| (name, Blocked)));
}

#[claims("5.6-crash-inside")]
#[test]
fn the_crash_of_a_process_inside_blocks_every_lock() {
    let when = When::Inside { entry: 1, after: 500_000 };
    row(&crash(1, when), &LOCKS.map(|name| (name, Blocked)));
}

#[claims("5.6-crash-holder")]
#[test]
fn the_crash_of_the_coordinator_or_of_the_idle_holder_stops_everybody() {
    row(&crash(0, When::OnMessage(2)), &[("central", Blocked)]);
    // P1 has the token from the start, and does not want to enter.
    let holder = |settings: &mut Settings| {
        crash(0, When::At(0))(settings);
        settings.workload = Workload::hot(3, ProcessId(2), 3, 0);
    };
    for name in ["token-ring", "suzuki-kasami", "raymond", "naimi-trehel"] {
        row(&holder, &[(name, Blocked)]);
        for report in runs(name, &holder) {
            assert_eq!(report.metrics.entered, 0, "{name}, seed {}", report.seed);
        }
    }
}

fn partition(until: Option<u64>) -> impl Fn(&mut Settings) {
    move |settings| {
        let side = vec![ProcessId(0), ProcessId(1)];
        settings.faults = vec![Fault::Partition { side, from: 0, until }];
    }
}

/// Central serves the side of its coordinator and no other, and the
/// side that has the token, or each other's permissions, goes on as long as it needs nobody else.
#[claims("5.6-partition")]
#[test]
fn a_partition_leaves_a_lock_to_the_side_with_the_coordinator() {
    row(&partition(None), &LOCKS.map(|name| (name, Blocked)));
    let one_side = ["central", "carvalho-roucairol", "suzuki-kasami", "raymond", "naimi-trehel"];
    for name in one_side {
        for report in runs(name, &partition(None)) {
            assert_eq!(report.blocked, [ProcessId(2)], "{name}, seed {}", report.seed);
            assert_eq!(report.metrics.entered, 4, "{name}, seed {}", report.seed);
        }
    }
    for name in ["lamport", "ricart-agrawala"] {
        for report in runs(name, &partition(None)) {
            assert_eq!(report.blocked.len(), 3, "{name}, seed {}", report.seed);
            assert_eq!(report.metrics.entered, 0, "{name}, seed {}", report.seed);
        }
    }
    let often = |settings: &mut Settings| {
        partition(None)(settings);
        settings.workload = Workload::entries(6);
    };
    for report in runs("token-ring", &often) {
        assert_eq!(report.blocked.len(), 3, "seed {}: the token got lost", report.seed);
    }
}

/// Maekawa serves a side that holds a full quorum.
#[claims("5.6-partition")]
#[test]
fn a_partition_leaves_maekawa_to_a_side_with_a_full_quorum() {
    let alone = |process| {
        move |settings: &mut Settings| {
            partition(None)(settings);
            settings.workload = Workload::hot(3, ProcessId(process), 3, 0);
        }
    };
    // The quorums are P1 P2, P2 P3 and P1 P3; the partition keeps P1 and P2 together. Nothing
    // stops P1's messages, so that fault is inert there, as it should be.
    for report in runs("maekawa:pairs", &alone(0)) {
        assert_eq!((report.blocked.len(), report.metrics.entered), (0, 3), "{}", report.seed);
    }
    row(&alone(1), &[("maekawa:pairs", Blocked)]);
    row(&alone(2), &[("maekawa:pairs", Blocked)]);
}

/// 5.6, a partition that heals: what it stopped is lost, unless a channel sends it again.
#[test]
fn a_partition_that_heals_blocks_what_does_not_send_again() {
    let healing = |settings: &mut Settings| {
        let start = settings.seed % 12;
        let side = vec![ProcessId(0), ProcessId(1)];
        let (from, until) = (start * 1_000_000, Some((start + 6) * 1_000_000));
        settings.faults = vec![Fault::Partition { side, from, until }];
    };
    row(&healing, &LOCKS.map(|name| (name, Blocked)));
    let reliable = LOCKS.map(|name| format!("fifo:{name}"));
    for name in &reliable {
        for seed in 0..100 {
            let mut settings = busy(3, 2, seed);
            healing(&mut settings);
            settings.watch.properties =
                Some(vec![Property::MutualExclusion, Property::StarvationFreedom]);
            let report = run(name, settings);
            assert_eq!(report.failures().next(), None, "{name}, seed {seed}");
            assert_eq!(report.metrics.entered, 6, "{name}, seed {seed}");
        }
    }
}

/// Whoever forgets what others count on lets two in.
#[claims("5.6-recovery")]
#[test]
fn forgetting_is_unsafe_where_others_count_on_it() {
    let forget = |settings: &mut Settings| {
        let process = ProcessId((settings.seed % 3) as u32);
        let when = match settings.seed % 2 {
            0 => When::OnMessage(1 + settings.seed / 6 % 8),
            _ => When::At(settings.seed / 6 % 40 * 1_000_000),
        };
        let recovery = Some(Recovery { after: 1, memory: Memory::Lost });
        settings.workload = Workload::entries(4);
        settings.faults = vec![Fault::Crash { process, when, recovery }];
    };
    // Any two of pairs meet in one process, so that one forgotten vote is enough.
    let locks = ["central", "token-ring", "lamport", "ricart-agrawala", "maekawa:pairs"];
    row(&forget, &locks.map(|name| (name, Unsafe)));
    row(&forget, &[("carvalho-roucairol", Unsafe)]);
    // The first process makes a token when it boots for what it believes to be the first time.
    let tokens = ["suzuki-kasami", "raymond", "naimi-trehel"];
    row(&forget, &tokens.map(|name| (name, Unsafe)));
    let remember = |settings: &mut Settings| {
        forget(settings);
        for fault in &mut settings.faults {
            if let Fault::Crash { recovery: Some(recovery), .. } = fault {
                recovery.memory = Memory::Stable;
            }
        }
    };
    row(&remember, &tokens.map(|name| (name, Blocked)));
    let coordinator = |settings: &mut Settings| {
        let when = When::OnMessage(1 + settings.seed % 8);
        let recovery = Some(Recovery { after: 1, memory: Memory::Lost });
        settings.workload = Workload::entries(4);
        settings.faults = vec![Fault::Crash { process: ProcessId(0), when, recovery }];
    };
    row(&coordinator, &[("central", Unsafe)]);
}

/// 3.1: over the reliable channel the rows of loss, duplication and reordering are fine.
#[test]
fn fifo_makes_loss_duplication_and_reordering_harmless() {
    for name in LOCKS {
        for seed in 0..40 {
            let mut settings = busy(3, 2, seed);
            settings.network.loss = Chance::of(0.1);
            settings.network.duplication = Chance::of(0.1);
            let name = format!("fifo:{name}");
            // Not the order of entries: a message sent anew carries news of a later request.
            let (safe, live) = (Property::MutualExclusion, Property::StarvationFreedom);
            settings.watch.properties = Some(vec![safe, live, Property::Fencing]);
            let report = run(&name, settings);
            assert_eq!(report.failures().next(), None, "{name}, seed {seed}");
            assert_eq!(report.metrics.entered, 6, "{name}, seed {seed}");
            let channel = report.metrics.sent_in(Layer::Channel);
            assert!(channel > 0 || report.metrics.dropped > 0, "{name}, seed {seed}");
        }
    }
}
