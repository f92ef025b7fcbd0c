//! Settings, faults and assertions that many tests share.

use tenure_core::{Algorithm, ProcessId};
use tenure_sim::{
    AutomaticRecovery, BackgroundTraffic, CrashTrigger, Distribution, EndReason, EntriesPerProcess,
    Fault, Judgement, LockWorkload, NetworkSettings, Random, RecoveredState, RequestPattern,
    RunControls, RunReport, Settings, Simulation, Workload,
};
use tenure_trace::{RecordableProtocol, Trace, TraceBuffer};

pub fn seeded(size: u32, seed: u64, workload: Workload, latency: Distribution) -> Settings {
    let network = NetworkSettings { latency: latency.into(), ..NetworkSettings::default() };
    Settings { seed, workload, network, ..Settings::new(size) }
}

/// Returns settings with random message delays. All processes request the lock at the start of the
/// run, and again after each exit.
pub fn busy(size: u32, entries: u32, seed: u64) -> Settings {
    seeded(size, seed, Workload::entries(entries), Distribution::between_time_units(1, 5))
}

/// Returns a workload in which each user thinks before each request, and sends a message to another
/// user after each request. The receiver then requests the lock immediately.
pub fn talkative(entries: u32, think: Distribution) -> Workload {
    let (pattern, hold) = (RequestPattern::Closed { think }, Distribution::time_units(1));
    let locking = LockWorkload { pattern, entries: EntriesPerProcess::Each(entries), hold };
    let traffic = BackgroundTraffic::triggering_after_each_request(Distribution::time_units(1));
    Workload::locking(locking).with_background_traffic(traffic)
}

/// Returns the ids from 1 to `size` in a random order.
pub fn shuffled(size: u32, random: &mut Random) -> Vec<u32> {
    random.permutation(size).iter().map(|id| id + 1).collect()
}

pub fn crash(process: u32, when: CrashTrigger) -> Fault {
    Fault::Crash { process: ProcessId(process), when, recovery: None }
}

/// Returns a crash of a process that recovers after `after` ticks and keeps its stable state.
pub fn crash_and_recover(process: u32, when: CrashTrigger, after: u64) -> Fault {
    let recovery = Some(AutomaticRecovery { downtime: after, memory: RecoveredState::Stable });
    Fault::Crash { process: ProcessId(process), when, recovery }
}

pub fn kinds(report: &RunReport) -> Vec<(&'static str, u64)> {
    report.metrics.kinds.iter().map(|kind| (kind.label.kind, kind.sent)).collect()
}

pub fn sent_of(report: &RunReport, kind: &str) -> u64 {
    kinds(report).iter().filter(|(name, _)| *name == kind).map(|(_, sent)| sent).sum()
}

/// Runs an algorithm. The settings must meet the assumptions of the algorithm.
#[track_caller]
pub fn simulate<P: Algorithm + RecordableProtocol>(
    config: P::Config,
    settings: Settings,
) -> RunReport {
    let seed = settings.seed;
    let ran = Simulation::<P>::for_algorithm(config, settings).and_then(|it| it.run());
    ran.unwrap_or_else(|error| panic!("seed {seed}: {error}"))
}

#[track_caller]
pub fn traced<P: RecordableProtocol>(simulation: &Simulation<P>) -> (RunReport, String) {
    let buffer = TraceBuffer::default();
    let report = simulation.run_traced(buffer.clone(), RunControls::new()).unwrap();
    (report, text(&buffer))
}

/// Empties the buffer and returns the trace that it contained.
pub fn text(buffer: &TraceBuffer) -> String {
    String::from_utf8(buffer.take_bytes()).unwrap()
}

#[track_caller]
pub fn parsed(trace: &str) -> Trace {
    Trace::parse(trace.as_bytes(), "memory").unwrap()
}

/// Asserts that a run violates no promise and serves all requests.
#[track_caller]
pub fn assert_served(report: &RunReport, context: &str) {
    assert_eq!(report.failures().next(), None, "{context}");
    assert_eq!(report.ended, EndReason::Served, "{context}");
}

/// Asserts that these properties were judged in a run, and that they hold.
#[track_caller]
pub fn assert_hold(report: &RunReport, properties: &[&str], context: &str) {
    for property in properties {
        assert_eq!(report.judgement_of(property), Some(Judgement::Holds), "{context}: {property}");
    }
}

pub fn is_violated(report: &RunReport, property: &str) -> bool {
    report.judgement_of(property) == Some(Judgement::Violated)
}
