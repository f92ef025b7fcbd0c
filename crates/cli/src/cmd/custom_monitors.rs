//! Judges recorded runs by additional monitors. A program that embeds Tenure supplies these
//! monitors.

use tenure_core::service::mutex_and_election;
use tenure_core::{Finding, MonitorRun, Observation, ProcessId};
use tenure_instances::{CustomMonitor, custom_monitors};
use tenure_trace::{MergedTrace, ProcessStateChange, ProcessStates, RecordKind, Verification};

/// Judges a run by the additional monitors of this program, and adds the findings of these monitors
/// to `verification`. `ended` is true if the run is complete, so that the monitors also judge its
/// end.
pub(crate) fn add_custom_findings(
    merged: &MergedTrace,
    ended: bool,
    verification: &mut Verification,
) {
    let start = merged.records.first().map_or(0, |record| record.time);
    for monitor in custom_monitors(merged.header.service) {
        verification.add_finding(finding(monitor, merged, ended), start);
    }
}

fn finding(monitor: &CustomMonitor, merged: &MergedTrace, ended: bool) -> Finding {
    let mut run = MonitorRun::new(monitor.clone());
    let mut states = ProcessStates::default();
    let is_member = |at: &ProcessId| at.0 < merged.header.n;
    let (records, _) = merged.records_until_run_end();
    for record in records {
        let Some(at) = record.process.process().filter(is_member) else { continue };
        let mut observe =
            |seen: Observation<'_, mutex_and_election::Command, mutex_and_election::Event>| {
                run.observe(record.time, at, seen);
            };
        for change in states.apply_record(record) {
            match change {
                ProcessStateChange::Crashes | ProcessStateChange::Terminates => {
                    observe(Observation::Crashed)
                }
                ProcessStateChange::Recovers => observe(Observation::Recovered),
                _ => {}
            }
        }
        if states.state(at).is_crashed_or_ended() {
            continue;
        }
        match &record.kind {
            RecordKind::Command(command) => {
                let mutex = command.mutex().copied().map(mutex_and_election::Command::Mutex);
                let election =
                    || command.election().copied().map(mutex_and_election::Command::Election);
                if let Some(command) = &mutex.or_else(election) {
                    let clock = record.clock.as_ref();
                    observe(Observation::Command { command, clock });
                }
            }
            RecordKind::Event(event) => {
                let mutex = event.mutex().copied().map(mutex_and_election::Event::Mutex);
                let election =
                    || event.election().copied().map(mutex_and_election::Event::Election);
                if let Some(event) = &mutex.or_else(election) {
                    observe(Observation::Event(event));
                }
            }
            _ => {}
        }
    }
    if ended {
        let time = records.last().map_or(0, |record| record.time);
        run.judge_end::<mutex_and_election::Command, mutex_and_election::Event>(time, true);
    }
    run.finding_so_far::<mutex_and_election::Command, mutex_and_election::Event>()
}
