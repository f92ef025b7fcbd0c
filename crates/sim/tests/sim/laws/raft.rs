//! Tests of Raft's election with many seeds: its cost, and the faults that it survives.

use tenure_core::{ChannelOrder, ProcessId, Timing};
use tenure_sim::{Chance, CrashTrigger, Distribution, RunReport, Settings, Workload};

use super::{parameters, run_with};
use crate::common::runs::{assert_hold, assert_served, crash, crash_and_recover, seeded};

fn electing(size: u32, seed: u64) -> Settings {
    let mut settings =
        seeded(size, seed, Workload::elect_by_all(), Distribution::between_time_units(0, 2));
    settings.network.order = Some(ChannelOrder::Reordered);
    settings
}

/// Runs the election twice: without and with pre-vote. Asserts that all promises hold and that no
/// term has two leaders. Calls `look` with each report.
fn held(settings: &Settings, mut look: impl FnMut(&RunReport)) {
    for variant in [None, Some("pre-vote")] {
        let mut parameters = parameters(settings);
        parameters.variants = variant.into_iter().map(str::to_owned).collect();
        let report = run_with("raft", &parameters, settings.clone());
        let context = format!("{variant:?}, n = {}, seed {}", settings.size, settings.seed);
        assert_served(&report, &context);
        assert_hold(&report, &["one-leader-per-term"], &context);
        look(&report);
    }
}

#[test]
fn uncontested_raft_takes_four_messages_per_peer() {
    for size in 2..12_u32 {
        let workload = Workload::elect_by([ProcessId(size / 2)]);
        let settings = Settings { workload, ..Settings::new(size) };
        let parameters = parameters(&settings);
        let report = run_with("raft", &parameters, settings);
        assert_eq!(report.metrics.sent, 4 * u64::from(size - 1), "n = {size}");
        // After three hops all processes know the leader. After one more hop, the leader knows
        // this.
        assert_eq!(report.finished_at_units(), 4.0, "n = {size}");
        assert_eq!(report.leaders, [ProcessId(size / 2)], "the first candidate, n = {size}");
    }
}

#[test]
fn split_vote_ends_in_later_term() {
    for size in [2, 3, 4, 5, 9] {
        for seed in 0..150 {
            held(&electing(size, seed), |report| assert_eq!(report.leaders.len(), 1));
        }
    }
}

#[test]
fn raft_survives_loss_duplication_and_reordering() {
    for seed in 0..300 {
        let mut settings = electing(5, seed);
        settings.network.loss = Chance::with_probability(0.1);
        settings.network.duplication = Chance::with_probability(0.1);
        held(&settings, |_| {});
    }
}

#[test]
fn crashed_leader_is_replaced_and_follows_after_recovery() {
    let mut deposed = 0;
    for seed in 0..200 {
        let mut settings = electing(5, seed);
        let (process, when) = ((seed % 5) as u32, CrashTrigger::At(100_000_000));
        settings.faults = vec![crash(process, when)];
        held(&settings, |report| {
            assert!(report.leaders != [ProcessId(process)], "seed {seed}");
            deposed += 1;
        });
        settings.faults = vec![crash_and_recover(process, when, 100_000_000)];
        held(&settings, |_| {});
    }
    assert!(deposed > 0);
}

/// Crashes a process before or after a save. Because of the crash, the step that makes the save has
/// no other effects. The election must still keep its promises.
#[test]
fn raft_survives_crash_during_any_save() {
    let mut crashes = 0;
    for seed in 0..120 {
        let mut settings = electing(3, seed);
        let when = CrashTrigger::Saving { save: 1 + seed / 6 % 4, is_kept: seed % 2 == 0 };
        settings.faults = vec![crash_and_recover((seed % 3) as u32, when, 1_000_000)];
        held(&settings, |report| {
            let crashed = report.faults.iter().find(|count| count.fault == "crash");
            crashes += crashed.expect("it was asked for").observed;
        });
    }
    // Half of the runs crash a process at its first or second save, which every process reaches.
    // Few processes reach the third or fourth save.
    assert!(crashes > 60, "{crashes}");
}

#[test]
fn raft_elects_after_stabilisation() {
    for seed in 0..100 {
        let mut settings = electing(4, seed);
        settings.time.timing = Some(Timing::Partial);
        settings.time.gst = 200_000_000;
        held(&settings, |_| {});
    }
}
