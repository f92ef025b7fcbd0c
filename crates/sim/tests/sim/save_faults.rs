//! Crashes in the middle of a save. The trace records the lost data, and a replay repeats the loss.

use tenure_algorithms::Variants;
use tenure_algorithms::election::{RaftElection, raft};
use tenure_core::{ProcessId, TICKS_PER_TIME_UNIT};
use tenure_sim::{CrashTrigger, Fault, RunControls, Settings, Workload};
use tenure_trace::{Record, RecordKind, RecordSubject, Schedule, ScriptAction, TraceBuffer};

use crate::by_service::{ServiceSimulation, unchecked};
use crate::common::runs::{crash_and_recover, parsed, text, traced};

/// Returns a simulation with these faults, in which three processes elect a leader.
fn three(faults: Vec<Fault>) -> ServiceSimulation<RaftElection> {
    let mut settings = Settings { workload: Workload::elect_by_all(), faults, ..Settings::new(3) };
    settings.limits.until = Some(20 * TICKS_PER_TIME_UNIT);
    let plain = raft::Config::with_defaults(3, TICKS_PER_TIME_UNIT);
    unchecked::<RaftElection>(raft::Config { variants: Variants::none(), ..plain }, settings)
}

/// Returns a fault in which P1 crashes during its save number `save`, and recovers.
fn crash(save: u64, is_kept: bool) -> Fault {
    crash_and_recover(0, CrashTrigger::Saving { save, is_kept }, 5 * TICKS_PER_TIME_UNIT)
}

/// Returns the subject and the kind of each record. The result omits the times, so that traces with
/// different times can be compared.
fn happened(records: &[Record]) -> Vec<(RecordSubject, RecordKind)> {
    records.iter().map(|it| (it.process, it.kind.clone())).collect()
}

/// Performs a schedule and returns the subject and the kind of each record. Returns `None` if the
/// schedule is impossible.
fn along(schedule: &Schedule) -> Option<Vec<(RecordSubject, RecordKind)>> {
    let buffer = TraceBuffer::default();
    three(Vec::new()).run_schedule(schedule, buffer.clone()).ok()?;
    Some(happened(&parsed(&text(&buffer)).records))
}

#[test]
fn replay_reproduces_crash_during_save() {
    for (save, is_kept) in [(1, true), (1, false), (2, true), (2, false)] {
        let trace = parsed(&traced(&three(vec![crash(save, is_kept)])).1);
        let crashes = trace.records.iter().filter(|it| it.kind == RecordKind::Crash).count();
        assert_eq!(crashes, 1, "{save} {is_kept}");
        let mutes = trace.records.iter().filter(|it| it.kind == RecordKind::Mute).count();
        assert_eq!(mutes, usize::from(is_kept), "only a saved step is recorded");
        let schedule = Schedule::from_trace(&trace).unwrap();
        let wanted = Some(happened(&trace.records));
        assert!(along(&schedule) == wanted, "{save} {is_kept}: {:?}", along(&schedule));
        let mut context = schedule.clone();
        context.actions.retain(|action| !matches!(action, ScriptAction::Mute(_)));
        assert_eq!(along(&context) != wanted, is_kept, "the lost effects change the run");
    }
}

/// A process that an intervention has made mute is not mute any more after a configured crash.
#[test]
fn configured_crash_ends_a_save_fault() {
    let crashing =
        crash_and_recover(0, CrashTrigger::At(2 * TICKS_PER_TIME_UNIT), TICKS_PER_TIME_UNIT);
    let buffer = TraceBuffer::default();
    let mute = ["0 mute p1".parse().unwrap()];
    let simulation = three(vec![crashing]);
    simulation.run_with_interventions(&mute, None, buffer.clone(), RunControls::new()).unwrap();
    let records = parsed(&text(&buffer)).records;
    let recovery = records.iter().position(|it| it.kind == RecordKind::Recover).unwrap();
    let p1 = RecordSubject::from(ProcessId(0));
    let is_send = |it: &&Record| it.process == p1 && matches!(it.kind, RecordKind::Send(_));
    assert_eq!(records[..recovery].iter().find(is_send), None);
    assert_ne!(records[recovery..].iter().find(is_send), None);
}
