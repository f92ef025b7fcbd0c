//! Effect of one fault on each lock that does not tolerate the fault, over many seeds. Section 5.6
//! of `docs/checklist.md` lists the results.

use tenure_algorithms::catalogue::Parameters;
use tenure_core::quorum::QuorumKind;
use tenure_core::tree::TreeShape;
use tenure_core::{ChannelOrder, Layer, ProcessId, Property};
use tenure_sim::{
    AutomaticRecovery, Chance, CrashTrigger, Distribution, Fault, RecoveredState, RunReport,
    Settings, Workload,
};

use super::{LOCKS, parameters, run, run_with};
use crate::common::runs::{busy, crash, is_violated};

/// Expected effect of a fault on a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    /// Every run is safe and live.
    Fine,
    /// In some run a process waits forever. In no run are two processes inside the critical section
    /// at the same time.
    Blocked,
    /// In some run two processes are inside the critical section at the same time.
    Unsafe,
}

use Effect::{Blocked, Fine, Unsafe};

const SEEDS: u64 = 400;

/// Returns settings in which three processes enter twice each, with widely varying delays.
fn hurried(seed: u64) -> Settings {
    let mut settings = busy(3, 2, seed);
    settings.network.latency = Distribution::exponential_units(3).into();
    settings.beyond_assumptions = true;
    settings
}

/// Returns the name and the parameters of a lock. `name` may have the form `lock:option`. The
/// option is a variant, a kind of quorums or the shape of a tree.
fn configured(name: &str, settings: &Settings) -> (String, Parameters) {
    let mut parameters = parameters(settings);
    let (name, option) = name.split_once(':').unwrap_or((name, ""));
    match option {
        "" => {}
        "pairs" => parameters.quorum_kind = Some(QuorumKind::Pairs),
        "path" => parameters.tree_shape = TreeShape::Path,
        variant => parameters.variants = vec![variant.to_owned()],
    }
    (name.to_owned(), parameters)
}

/// Runs a lock with a fault, once for each seed. Returns the reports.
fn runs(name: &str, fault: &dyn Fn(&mut Settings)) -> Vec<RunReport> {
    let run = |seed| {
        let mut settings = hurried(seed);
        fault(&mut settings);
        let (name, parameters) = configured(name, &settings);
        run_with(&name, &parameters, settings)
    };
    (0..SEEDS).map(run).collect()
}

/// Runs several locks with one fault. For each lock, asserts the expected effect of the fault.
/// Fails if the fault occurred in no run.
#[track_caller]
fn assert_effects(fault: &dyn Fn(&mut Settings), effects: &[(&str, Effect)]) {
    for (name, expected) in effects {
        let runs = runs(name, fault);
        // Reordering cannot be observed with a lock whose only message is a token, because the
        // token can overtake no other message.
        let requested_faults = runs.iter().flat_map(|report| &report.faults);
        let requested_faults =
            requested_faults.filter(|count| count.requested && count.fault != "reordering");
        let observed: u64 = requested_faults.clone().map(|count| count.observed).sum();
        assert!(observed > 0 || requested_faults.count() == 0, "{name}: the fault never happened");
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

fn crashing(process: u32, when: CrashTrigger) -> impl Fn(&mut Settings) {
    move |settings| settings.faults = vec![crash(process, when)]
}

/// Crashes a process at the start, and lets only the process `user` enter.
fn crashing_with_user(process: u32, user: u32) -> impl Fn(&mut Settings) {
    move |settings| {
        crashing(process, CrashTrigger::At(0))(settings);
        settings.workload = Workload::with_hot_process(3, ProcessId(user), 3, 0);
    }
}

#[test]
fn no_fault_no_violation() {
    let none = |settings: &mut Settings| settings.network.order = Some(ChannelOrder::Fifo);
    assert_effects(&none, &LOCKS.map(|name| (name, Fine)));
}

#[test]
fn reordering_breaks_only_lamport() {
    let reorder = |settings: &mut Settings| settings.network.order = Some(ChannelOrder::Reordered);
    let effects = [
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
    assert_effects(&reorder, &effects);
    for name in ["central", "lamport", "ricart-agrawala", "carvalho-roucairol", "maekawa"] {
        let overtaken = runs(name, &reorder).into_iter().flat_map(|report| report.faults);
        let overtaken = overtaken.filter(|count| count.fault == "reordering");
        assert!(overtaken.map(|count| count.observed).sum::<u64>() > 100, "{name}");
    }
}

#[test]
fn lost_message_blocks_but_keeps_exclusion() {
    let lose =
        |settings: &mut Settings| settings.network.loss = Chance::with_max_occurrences(0.2, 1);
    assert_effects(&lose, &LOCKS.map(|name| (name, Blocked)));
}

fn duplicating(order: ChannelOrder) -> impl Fn(&mut Settings) {
    move |settings| {
        settings.network.duplication = Chance::with_max_occurrences(0.2, 1);
        settings.network.order = Some(order);
        settings.workload = Workload::entries(4);
    }
}

/// Lets messages arrive twice on FIFO channels. If the messages of a lock do not identify the
/// request to which they belong, the duplicates must break the lock.
#[test]
fn duplicates_break_locks_without_request_ids() {
    let effects = [
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
    assert_effects(&duplicating(ChannelOrder::Fifo), &effects);
}

/// Lets messages arrive twice on channels that reorder messages, so a duplicate may arrive late.
/// Locks that need no message order must stay correct. Lamport's lock must fail, because it needs
/// FIFO channels.
#[test]
fn late_duplicates_spare_locks_for_any_order() {
    let effects = [("central", Fine), ("lamport", Unsafe), ("ricart-agrawala", Fine)];
    assert_effects(&duplicating(ChannelOrder::Reordered), &effects);
}

/// Crashes a process that never requests the lock. The crash must block each lock whose users
/// depend on this process. Users of the central lock depend only on the coordinator.
#[test]
fn idle_crash_blocks_dependents() {
    let effects = [
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
    assert_effects(&crashing_with_user(1, 2), &effects);
    // P1 does not depend on P3. With pairs, P1 asks only P2. In the algorithm of Carvalho and
    // Roucairol, P1 has the permissions of all others from the start.
    assert_effects(
        &crashing_with_user(2, 0),
        &[("maekawa:pairs", Fine), ("carvalho-roucairol", Fine)],
    );
    assert_effects(&crashing_with_user(1, 0), &[("maekawa:pairs", Blocked)]);
}

#[test]
fn waiting_crash_blocks_every_lock() {
    let when = CrashTrigger::Waiting { request: 1, after: 1_000_000 };
    assert_effects(&crashing(1, when), &LOCKS.map(|name| (name, Blocked)));
}

#[test]
fn crash_inside_blocks_every_lock() {
    let when = CrashTrigger::Inside { entry: 1, after: 500_000 };
    assert_effects(&crashing(1, when), &LOCKS.map(|name| (name, Blocked)));
}

#[test]
fn coordinator_or_holder_crash_blocks_all() {
    assert_effects(&crashing(0, CrashTrigger::OnMessage(2)), &[("central", Blocked)]);
    // P1 has the token from the start and issues no request.
    let holder = crashing_with_user(0, 2);
    for name in ["token-ring", "suzuki-kasami", "raymond", "naimi-trehel"] {
        assert_effects(&holder, &[(name, Blocked)]);
        for report in runs(name, &holder) {
            assert_eq!(report.metrics.entry_count, 0, "{name}, seed {}", report.seed);
        }
    }
}

fn partition(until: Option<u64>) -> impl Fn(&mut Settings) {
    move |settings| {
        let side = vec![ProcessId(0), ProcessId(1)];
        settings.faults = vec![Fault::Partition { side, from: 0, until }];
    }
}

/// Separates P3 from P1 and P2 for the whole run. If the token or the permissions of a lock stay
/// with P1 and P2, only P3 must wait forever. If a lock asks all processes, all of them must wait.
/// A token ring must lose its token.
#[test]
fn partition_serves_side_of_coordinator() {
    assert_effects(&partition(None), &LOCKS.map(|name| (name, Blocked)));
    let one_side = ["central", "carvalho-roucairol", "suzuki-kasami", "raymond", "naimi-trehel"];
    for name in one_side {
        for report in runs(name, &partition(None)) {
            assert_eq!(report.blocked, [ProcessId(2)], "{name}, seed {}", report.seed);
            assert_eq!(report.metrics.entry_count, 4, "{name}, seed {}", report.seed);
        }
    }
    for name in ["lamport", "ricart-agrawala"] {
        for report in runs(name, &partition(None)) {
            assert_eq!(report.blocked.len(), 3, "{name}, seed {}", report.seed);
            assert_eq!(report.metrics.entry_count, 0, "{name}, seed {}", report.seed);
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

#[test]
fn partition_serves_maekawa_side_with_quorum() {
    let alone = |process| {
        move |settings: &mut Settings| {
            partition(None)(settings);
            settings.workload = Workload::with_hot_process(3, ProcessId(process), 3, 0);
        }
    };
    // The quorums are P1 P2, P2 P3 and P1 P3. The partition keeps P1 and P2 together. P1 needs only
    // P2, so the partition stops no message of P1 and has no effect on its entries.
    for report in runs("maekawa:pairs", &alone(0)) {
        assert_eq!((report.blocked.len(), report.metrics.entry_count), (0, 3), "{}", report.seed);
    }
    assert_effects(&alone(1), &[("maekawa:pairs", Blocked)]);
    assert_effects(&alone(2), &[("maekawa:pairs", Blocked)]);
}

/// Separates the processes for a while. Without a reliable channel, the partition loses messages,
/// and a process must wait forever even after the partition heals. Over a reliable channel, which
/// repeats messages, all must be served.
#[test]
fn healed_partition_blocks_locks_without_retransmission() {
    let healing = |settings: &mut Settings| {
        let start = settings.seed % 12;
        let side = vec![ProcessId(0), ProcessId(1)];
        let (from, until) = (start * 1_000_000, Some((start + 6) * 1_000_000));
        settings.faults = vec![Fault::Partition { side, from, until }];
    };
    assert_effects(&healing, &LOCKS.map(|name| (name, Blocked)));
    let reliable = LOCKS.map(|name| format!("fifo:{name}"));
    for name in &reliable {
        for seed in 0..100 {
            let mut settings = busy(3, 2, seed);
            healing(&mut settings);
            settings.monitoring.properties =
                Some(vec![Property::MutualExclusion, Property::StarvationFreedom]);
            let report = run(name, settings);
            assert_eq!(report.failures().next(), None, "{name}, seed {seed}");
            assert_eq!(report.metrics.entry_count, 6, "{name}, seed {seed}");
        }
    }
}

#[test]
fn amnesia_breaks_locks_that_rely_on_memory() {
    let restarting = |memory| {
        move |settings: &mut Settings| {
            let process = ProcessId((settings.seed % 3) as u32);
            let when = match settings.seed % 2 {
                0 => CrashTrigger::OnMessage(1 + settings.seed / 6 % 8),
                _ => CrashTrigger::At(settings.seed / 6 % 40 * 1_000_000),
            };
            let recovery = Some(AutomaticRecovery { downtime: 1, memory });
            settings.workload = Workload::entries(4);
            settings.faults = vec![Fault::Crash { process, when, recovery }];
        }
    };
    let forget = restarting(RecoveredState::Lost);
    // In Maekawa's lock with pairs, two quorums share a single process. If this process forgets its
    // vote, two processes enter.
    let locks = ["central", "token-ring", "lamport", "ricart-agrawala", "maekawa:pairs"];
    assert_effects(&forget, &locks.map(|name| (name, Unsafe)));
    assert_effects(&forget, &[("carvalho-roucairol", Unsafe)]);
    // After a restart without saved state, the first process believes that it boots for the first
    // time, and creates a second token.
    let tokens = ["suzuki-kasami", "raymond", "naimi-trehel"];
    assert_effects(&forget, &tokens.map(|name| (name, Unsafe)));
    assert_effects(&restarting(RecoveredState::Stable), &tokens.map(|name| (name, Blocked)));
    let coordinator = |settings: &mut Settings| {
        let when = CrashTrigger::OnMessage(1 + settings.seed % 8);
        let recovery = Some(AutomaticRecovery { downtime: 1, memory: RecoveredState::Lost });
        settings.workload = Workload::entries(4);
        settings.faults = vec![Fault::Crash { process: ProcessId(0), when, recovery }];
    };
    assert_effects(&coordinator, &[("central", Unsafe)]);
}

#[test]
fn fifo_masks_loss_duplication_and_reordering() {
    for name in LOCKS {
        for seed in 0..40 {
            let mut settings = busy(3, 2, seed);
            settings.network.loss = Chance::with_probability(0.1);
            settings.network.duplication = Chance::with_probability(0.1);
            let name = format!("fifo:{name}");
            // The order of entries is not judged, because a repeated message may carry news of a
            // later request.
            let (safe, live) = (Property::MutualExclusion, Property::StarvationFreedom);
            settings.monitoring.properties = Some(vec![safe, live, Property::Fencing]);
            let report = run(&name, settings);
            assert_eq!(report.failures().next(), None, "{name}, seed {seed}");
            assert_eq!(report.metrics.entry_count, 6, "{name}, seed {seed}");
            let channel = report.metrics.sent_in_layer(Layer::Channel);
            assert!(channel > 0 || report.metrics.dropped > 0, "{name}, seed {seed}");
        }
    }
}
