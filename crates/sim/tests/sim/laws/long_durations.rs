//! Tests of runs with durations as long as the maximum time of a run, and of runs in which one user
//! issues very many commands.

use tenure_core::{ProcessId, TICKS_PER_TIME_UNIT, Timing};
use tenure_sim::{
    AutomaticRecovery, BackgroundTraffic, CrashTrigger, DetectorSettings, Distribution, EndReason,
    Fault, Judgement, RecoveredState, RequestPattern, Settings, Workload,
};

use super::run;
use crate::common::runs::{assert_served, crash};

/// Maximum time of a run, in ticks.
const MAX_TIME: u64 = (1 << 62) - 1;

/// Gives one kind of duration in the settings of a run this distribution.
type SetDuration = fn(&mut Settings, Distribution);

/// Kinds of durations in the settings of a run.
const DURATIONS: [(&str, SetDuration); 10] = [
    ("latency", |settings, duration| settings.network.latency = duration.into()),
    ("step", |settings, duration| settings.time.step = duration),
    ("late message", |settings, duration| {
        settings.network.latency = duration.into();
        (settings.time.timing, settings.time.gst) = (Some(Timing::Partial), MAX_TIME);
    }),
    ("hold", |settings, duration| {
        settings.workload.locking.as_mut().expect("a lock").hold = duration;
    }),
    ("think", |settings, duration| {
        let locking = settings.workload.locking.as_mut().expect("a lock");
        locking.pattern = RequestPattern::Closed { think: duration };
    }),
    ("arrivals", |settings, duration| {
        let locking = settings.workload.locking.as_mut().expect("a lock");
        locking.pattern = RequestPattern::Open { every: duration };
    }),
    ("message between users", |settings, duration| {
        settings.workload.background_traffic =
            Some(BackgroundTraffic::triggering_after_each_request(duration));
    }),
    ("detection", |settings, duration| {
        settings.detector = Some(DetectorSettings { delay: duration });
        settings.faults = vec![crash(1, CrashTrigger::At(MAX_TIME))];
    }),
    ("downtime", |settings, duration| {
        let recovery =
            AutomaticRecovery { downtime: longest(duration), memory: RecoveredState::Stable };
        let when = CrashTrigger::At(MAX_TIME);
        settings.faults =
            vec![Fault::Crash { process: ProcessId(0), when, recovery: Some(recovery) }];
    }),
    ("crash inside", |settings, duration| {
        settings.workload.locking.as_mut().expect("a lock").hold = duration;
        let when = CrashTrigger::Inside { entry: 5, after: longest(duration) };
        settings.faults = vec![crash(0, when)];
    }),
];

fn longest(duration: Distribution) -> u64 {
    duration.max_ticks().unwrap_or(MAX_TIME)
}

#[test]
fn long_durations_never_exceed_maximum_time() {
    let long_tail = Distribution::LogNormal { median: TICKS_PER_TIME_UNIT, sigma: 60.0 };
    for duration in [Distribution::Constant(MAX_TIME), Distribution::Constant(u64::MAX), long_tail]
    {
        for (name, set) in DURATIONS {
            let mut settings = Settings { workload: Workload::entries(9), ..Settings::new(3) };
            settings.beyond_assumptions = true;
            set(&mut settings, duration);
            let report = run("lamport", settings);
            assert!(report.finished_at <= MAX_TIME, "{name}, {duration}: {}", report.finished_at);
            let is_exhausted = report.ended == EndReason::TimeExhausted;
            assert_eq!(report.finished_at == MAX_TIME, is_exhausted, "{name}, {duration}");
        }
    }
}

#[test]
fn run_until_maximum_time_decides_nothing() {
    let mut settings = Settings { workload: Workload::entries(9), ..Settings::new(3) };
    let locking = settings.workload.locking.as_mut().expect("a lock");
    locking.hold = Distribution::Constant(MAX_TIME / 2);
    let report = run("central", settings);
    assert_eq!((report.ended, report.metrics.entry_count), (EndReason::TimeExhausted, 2));
    assert_eq!(report.judgement_of("starvation-freedom"), Some(Judgement::Incomplete));
    assert_eq!((report.failures().next(), report.endless_wait_kind), (None, None));
}

/// In a group of one process, each command completes in its own step.
#[test]
fn commands_that_complete_at_once_use_no_stack() {
    for name in ["dissemination-barrier", "causal-broadcast"] {
        let settings = Settings { workload: Workload::entries(20_000), ..Settings::new(1) };
        let report = run(name, settings);
        assert_served(&report, name);
        assert_eq!(report.metrics.requested_agreement_count, 20_000, "{name}");
    }
}
