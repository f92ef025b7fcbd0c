//! Tests of the decision that a run makes no progress any more.

use tenure_core::{ProcessId, TICKS_PER_TIME_UNIT};
use tenure_sim::{
    CrashTrigger, Distribution, EndReason, Judgement, RequestPattern, Settings, Workload,
};

use super::{ring, run};
use crate::common::runs::{assert_served, crash};

#[test]
fn election_time_depends_on_identifiers() {
    assert_served(&run("time-slice", ring(&[70_000, 80_000])), "time-slice");
    assert_served(&run("variable-speeds", ring(&[17, 18])), "variable-speeds");
}

/// Returns settings of a run that is stalled after 1000 units without progress.
fn impatient(size: u32, workload: Workload) -> Settings {
    let mut settings = Settings { workload, ..Settings::new(size) };
    settings.limits.stall_timeout = Some(1000 * TICKS_PER_TIME_UNIT);
    settings
}

#[test]
fn pending_fault_prevents_stall() {
    let mut settings = impatient(3, Workload::elect_by_all());
    settings.faults = vec![crash(2, CrashTrigger::At(20_000 * TICKS_PER_TIME_UNIT))];
    let report = run("raft", settings);
    assert_served(&report, "raft");
    assert_eq!(report.warnings, [""; 0]);
    assert!(report.finished_at_units() >= 20_000.0, "{}", report.finished_at_units());
}

#[test]
fn thinking_users_prevent_stall() {
    let mut settings = impatient(3, Workload::entries(2));
    let locking = settings.workload.locking.as_mut().expect("a lock");
    locking.pattern = RequestPattern::Closed { think: Distribution::time_units(20_000) };
    let report = run("token-ring", settings);
    assert_served(&report, "token-ring");
    assert_eq!(report.metrics.entry_count, 6);
}

#[test]
fn endless_election_is_violation() {
    let mut settings = impatient(3, Workload::elect_by_all());
    (settings.down, settings.beyond_assumptions) = (vec![ProcessId(1), ProcessId(2)], true);
    let report = run("raft", settings);
    assert_eq!(report.ended, EndReason::Stalled);
    assert_eq!(report.judgement_of("progress"), Some(Judgement::Violated));
}
