//! Tests of partitions that never end.

use tenure_core::{ProcessId, TICKS_PER_TIME_UNIT};
use tenure_sim::{
    AutomaticRecovery, CrashTrigger, Fault, Judgement, RecoveredState, Settings, Workload,
};

use super::{run, try_run};
use crate::common::runs::{assert_hold, assert_served};

/// Returns settings with a partition for each element of `sides`. The partitions never end.
fn partitioned(size: u32, sides: &[&[u32]], workload: Workload) -> Settings {
    let mut settings = Settings { workload, ..Settings::new(size) };
    settings.limits.stall_timeout = Some(1000 * TICKS_PER_TIME_UNIT);
    let partition = |side: &&[u32]| Fault::Partition {
        side: side.iter().map(|number| ProcessId(number - 1)).collect(),
        from: TICKS_PER_TIME_UNIT,
        until: None,
    };
    settings.faults = sides.iter().map(partition).collect();
    settings
}

#[test]
fn processes_cut_off_for_ever_need_no_leader() {
    let many = [&[1][..]; 64];
    let sides: [&[&[u32]]; 6] =
        [&[&[1]], &[&[5]], &[&[2, 3, 4, 5]], &[&[1, 2]], &[&[1], &[2]], &many];
    for sides in sides {
        let context = format!("{sides:?}");
        let election = || partitioned(5, sides, Workload::elect_by_all());
        assert_served(&run("raft", election()), &context);
        let report = run("invitation", election());
        assert_eq!(report.failures().next(), None, "{context}");
        assert_hold(&report, &["agreement", "progress"], &context);
        let log = run("raft-log", partitioned(5, sides, Workload::entries(1)));
        assert_served(&log, &context);
    }
}

#[test]
fn lock_run_ends_when_connected_users_are_served() {
    // The cut-off process need not enter. In a sequential pattern, other processes enter instead.
    for (workload, least) in [(Workload::entries(5), 20), (Workload::sequential(25), 25)] {
        let settings = partitioned(5, &[&[1]], workload);
        let until_stall = settings.limits.stall_timeout.expect("set above");
        let report = run("fifo:coordinated:raft", settings);
        assert_served(&report, "fifo:coordinated:raft");
        assert!(report.finished_at < until_stall, "{}", report.finished_at);
        assert!(report.metrics.entry_count >= least, "{}", report.metrics.entry_count);
    }
}

#[test]
fn endless_partition_must_leave_majority() {
    let refusal = |name: &str, settings: Settings| match try_run(name, settings) {
        Ok(report) => panic!("{name}: {:?}", report.ended),
        Err(error) => error.to_string(),
    };
    let election = |size, sides| partitioned(size, sides, Workload::elect_by_all());
    let message = refusal("raft", election(4, &[&[1, 2]]));
    assert!(message.contains("never end leave no majority of 4 processes"), "{message}");
    let message = refusal("raft", partitioned(5, &[&[1][..]; 70], Workload::elect_by_all()));
    assert!(message.contains("70 partitions are more than the 64"), "{message}");
    let message = refusal("restarting-chang-roberts", election(5, &[&[1]]));
    assert!(message.contains("a partition that never ends cuts off a process"), "{message}");
}

#[test]
fn processes_that_stay_down_must_leave_majority() {
    let crash = |number: u32, recovery| Fault::Crash {
        process: ProcessId(number - 1),
        when: CrashTrigger::At(TICKS_PER_TIME_UNIT),
        recovery,
    };
    let settings = |faults: &[Fault]| {
        let mut settings = partitioned(5, &[], Workload::elect_by_all());
        settings.faults = faults.to_vec();
        settings
    };
    let recovery =
        AutomaticRecovery { downtime: TICKS_PER_TIME_UNIT, memory: RecoveredState::Stable };
    let three = [crash(1, None), crash(2, None), crash(3, None)];
    for name in ["raft", "raft-log", "majority"] {
        let error = try_run(name, settings(&three)).expect_err("no majority");
        let message = error.to_string();
        assert!(message.contains("3 of 5 processes stay down"), "{name}: {message}");
    }
    assert_served(&run("raft", settings(&three[..2])), "two of five");
    let one_returns = [crash(1, None), crash(2, None), crash(3, Some(recovery))];
    assert_served(&run("raft", settings(&one_returns)), "three of five, and one recovers");
    let recover =
        |ticks| Fault::Recover { process: ProcessId(2), at: ticks, memory: RecoveredState::Stable };
    let with_recovery = |ticks| [&three[..], &[recover(ticks)]].concat();
    let later = run("raft", settings(&with_recovery(2 * TICKS_PER_TIME_UNIT)));
    assert_served(&later, "one recovers at a given time");
    let earlier = try_run("raft", settings(&with_recovery(TICKS_PER_TIME_UNIT / 2)));
    let message = earlier.expect_err("it crashes after the recovery").to_string();
    assert!(message.contains("3 of 5 processes stay down"), "{message}");
    assert_served(&run("bully", settings(&three)), "bully needs no majority");
    let cut_off = partitioned(5, &[&[1]], Workload::elect_by_all());
    let mut two_more = cut_off.clone();
    two_more.faults.extend([crash(2, None), crash(3, None)]);
    assert!(try_run("raft", two_more).is_err(), "one is cut off and two stay down");
}

#[test]
fn cut_off_process_waits_beyond_assumptions() {
    let mut settings = partitioned(5, &[&[1]], Workload::elect_by_all());
    settings.beyond_assumptions = true;
    let report = run("raft", settings);
    assert_eq!(report.judgement_of("progress"), Some(Judgement::Violated));
    assert_eq!(report.blocked, [ProcessId(0)]);
}
