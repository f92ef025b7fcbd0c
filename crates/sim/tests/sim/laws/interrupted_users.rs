//! Tests of users whose processes crash and recover, or are cut off from a majority.

use tenure_core::TICKS_PER_TIME_UNIT;
use tenure_sim::{
    CrashTrigger, Distribution, EntriesPerProcess, Fault, LockWorkload, RequestPattern, RunReport,
    Settings, Workload,
};

use super::run;
use crate::common::runs::{assert_served, crash, crash_and_recover};

/// Runs the lock with leases, which tolerates crashes, in a group of three processes.
fn lease(workload: Workload, faults: Vec<Fault>) -> RunReport {
    run("lease", Settings { workload, faults, ..Settings::new(3) })
}

#[test]
fn sequential_requests_continue_after_crash_of_waiter() {
    let when = CrashTrigger::Waiting { request: 1, after: 0 };
    for fault in [crash(1, when), crash_and_recover(1, when, 5 * TICKS_PER_TIME_UNIT)] {
        let context = format!("{fault:?}");
        let report = lease(Workload::sequential(20), vec![fault]);
        assert_served(&report, &context);
        assert_eq!(report.metrics.entry_count, 20, "{context}");
    }
}

#[test]
fn crash_of_waiter_occurs_once() {
    for after in [0, TICKS_PER_TIME_UNIT] {
        let when = CrashTrigger::Waiting { request: 1, after };
        let fault = crash_and_recover(1, when, 5 * TICKS_PER_TIME_UNIT);
        let report = lease(Workload::entries(5), vec![fault]);
        assert_served(&report, "lease");
        assert_eq!(report.metrics.entry_count, 15);
        let crash = report.faults.iter().find(|count| count.fault == "crash");
        assert_eq!(crash.map(|count| count.observed), Some(1));
    }
}

#[test]
fn arrivals_keep_their_rate_after_recovery() {
    let every = Distribution::time_units(30);
    let locking = LockWorkload {
        pattern: RequestPattern::Open { every },
        entries: EntriesPerProcess::Listed(vec![0, 20, 0]),
        hold: Distribution::time_units(1),
    };
    let crash = CrashTrigger::At(5 * TICKS_PER_TIME_UNIT);
    let report =
        lease(Workload::locking(locking), vec![crash_and_recover(1, crash, TICKS_PER_TIME_UNIT)]);
    assert_served(&report, "lease");
    // After the recovery at 6, the last of 20 requests arrives at 606. One chain of arrivals before
    // the crash and one after it would halve this time.
    assert!(report.finished_at_units() >= 606.0, "{}", report.finished_at_units());
}
