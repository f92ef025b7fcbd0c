//! Results of one run: its end, its metrics, and the judgement of each property.

use std::sync::Arc;

use tenure_core::service::mutex;
use tenure_core::{
    CostBound, CostUnit, Layer, Observation, ProcessId, Property, Rank, ReportLevel,
    TICKS_PER_TIME_UNIT,
};

use crate::engine::agreement_users::AgreementUsers;
use crate::engine::run_context::RunContext;
use crate::results::fault_counts::{FaultCount, count_faults, fault_warnings};
use crate::results::metrics::RunMetrics;
use crate::settings::Settings;
use tenure_core::{Finding, FirstViolation, Judgement};

/// Reason why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndReason {
    /// All requests were served, no message was in flight, and no fault was pending.
    Served,
    /// No message was in flight, and no event with an effect was scheduled, so nothing could happen
    /// any more.
    Quiescent,
    /// Events continued, but there was no progress for `RunLimits::stall_timeout`.
    Stalled,
    /// The configured end time ([`RunLimits::until`](crate::RunLimits::until)) was reached.
    TimeLimit,
    /// The next event is later than the maximum time of a run, 2^62 - 1 ticks.
    TimeExhausted,
    /// The configured number of events ([`RunLimits::events`](crate::RunLimits::events)) was
    /// reached.
    EventLimit,
    /// The number of messages in flight exceeded `RunLimits::max_in_flight`, and there was no
    /// progress.
    Flooded,
    /// The caller stopped the run ([`RunControls::stopped_by`](crate::RunControls::stopped_by)).
    Stopped,
}

impl EndReason {
    /// Returns true if the final state decides properties of the whole run: all requests were
    /// served, or no further progress was possible or likely. Returns false if a limit, too many
    /// messages or the caller ended the run.
    pub const fn is_conclusive(self) -> bool {
        matches!(self, EndReason::Served | EndReason::Quiescent | EndReason::Stalled)
    }
}

/// Way in which live processes wait forever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndlessWaitKind {
    /// No request is served any more.
    Deadlock,
    /// Other requests are served again and again while one request waits. This is only a suspicion,
    /// because no finite run shows an endless wait.
    Starvation,
}

/// Results of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunReport {
    /// Name of the algorithm.
    pub algorithm: String,
    /// Number of processes.
    pub size: u32,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Rank of each process, by index. Empty if the ranks are 1 to n.
    pub ranks: Arc<[Rank]>,
    /// Reason why the run ended.
    pub ended: EndReason,
    /// Time at which the run ended, in ticks.
    pub finished_at: u64,
    /// Message counts and delays of the run.
    pub metrics: RunMetrics,
    /// Judgement on each property that the run checked, with the first violation.
    pub findings: Vec<Finding>,
    /// True if monitors of elections judged the run, or if the workload requested elections.
    pub covers_elections: bool,
    /// For each process, by index: the leader that the process believed in at the end of the run.
    /// `None` if the process was down or believed in no leader.
    pub beliefs: Vec<Option<ProcessId>>,
    /// Live processes that believed at the end of the run that they lead.
    pub leaders: Vec<ProcessId>,
    /// For each process, by index: descriptions of the events that its user received from an
    /// agreement service. Empty for other services.
    pub agreement_events: Vec<Vec<String>>,
    /// Live processes that wait forever. Empty if the run ended too early to decide this. Processes
    /// that are cut off from a majority are not included.
    pub blocked: Vec<ProcessId>,
    /// Way in which processes wait forever; `None` if no process waits forever.
    pub endless_wait_kind: Option<EndlessWaitKind>,
    /// Maximum number of times that one process entered the critical section while another process
    /// waited for a single entry. 0 if monitors were off.
    pub bypass_max: u32,
    /// The two processes of [`bypass_max`](RunReport::bypass_max). The first process entered while
    /// the second process waited. `None` if no process was bypassed.
    pub bypass_pair: Option<(ProcessId, ProcessId)>,
    /// Counts of injected and observed faults, one element per kind of fault.
    pub faults: Vec<FaultCount>,
    /// Caveats for the interpretation of the results.
    pub warnings: Vec<String>,
    /// Properties whose violation makes the run a failure. If `None`, these are the properties with
    /// [`ReportLevel::Expected`]. A violation of a custom property always makes the run a
    /// failure.
    pub failure_properties: Option<Vec<Property>>,
}

impl RunReport {
    /// Creates the report of a run that ended for the reason `ended`. `decided` is the result of
    /// [`is_decided`] for the run.
    pub(crate) fn from_run(
        algorithm: String,
        mut run: RunContext,
        ended: EndReason,
        decided: bool,
    ) -> Self {
        let blocked = if decided { blocked(&run) } else { Vec::new() };
        let endless_wait_kind = endless_wait_kind(&run, decided, &blocked);
        let faults = count_faults(&run);
        if run.settings.monitoring.metrics {
            let sent = run.metrics.sent_in_layer(Layer::Election);
            run.metrics.elections = std::mem::take(&mut run.elections).finish(sent);
        }
        run.metrics.network = run.router.network.as_ref().map(|it| Box::new(it.load()));
        let findings = findings(&mut run, decided, &blocked);
        let bypass = run.monitors.mutex.as_ref().map(|mutex| mutex.bypass_meter());
        RunReport {
            algorithm,
            size: run.settings.size,
            seed: run.settings.seed,
            ended,
            finished_at: run.now,
            findings,
            covers_elections: run.monitors.election.is_some()
                || run.settings.workload.initiators.is_some(),
            beliefs: (0..run.live_processes.up_flags().len())
                .map(|place| run.beliefs.leader_of(ProcessId::from_index(place)))
                .collect(),
            leaders: run.beliefs.self_declared_leaders(run.live_processes.up_flags()).collect(),
            agreement_events: run
                .agreement_users
                .as_mut()
                .map_or_else(Vec::new, AgreementUsers::take_event_texts),
            blocked,
            endless_wait_kind,
            bypass_max: bypass.map_or(0, |bypass| bypass.max_bypass()),
            bypass_pair: bypass.and_then(|bypass| bypass.max_bypass_pair()),
            warnings: fault_warnings(&run, &faults),
            faults,
            metrics: run.metrics,
            ranks: run.settings.ranks,
            failure_properties: run.settings.monitoring.properties,
        }
    }

    /// Returns the judgement on the property with the name `property`. Returns `None` if the run
    /// did not check the property.
    pub fn judgement_of(&self, property: &str) -> Option<Judgement> {
        self.finding(property).map(|finding| finding.judgement)
    }

    /// Returns the finding on the property with the name `property`. Returns `None` if the run did
    /// not check the property.
    pub fn finding(&self, property: &str) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.property.name() == property)
    }

    /// Returns the findings about violated properties that make the run a failure: the properties
    /// in [`failure_properties`](RunReport::failure_properties) or implied by them, and custom
    /// properties.
    pub fn failures(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| {
            finding.judgement == Judgement::Violated && self.is_failure_property(finding.property)
        })
    }

    /// Returns true if [`failures`](RunReport::failures) is not empty.
    pub fn has_failed(&self) -> bool {
        self.failures().next().is_some()
    }

    /// Returns the rank of a process. If [`RunReport::ranks`] is empty, the rank is the number of
    /// the process.
    pub fn rank(&self, process: ProcessId) -> Rank {
        let listed = self.ranks.get(process.index()).copied();
        listed.unwrap_or(Rank::from_id(process.display_number()))
    }

    /// Returns the time at which the run ended, in units.
    pub fn finished_at_units(&self) -> f64 {
        ticks_to_units(self.finished_at as f64)
    }

    /// Returns the number of entries to the critical section per unit of time; 0 if the run ended
    /// at time 0.
    pub fn throughput(&self) -> f64 {
        let units = self.finished_at_units();
        if units > 0.0 { self.metrics.entry_count as f64 / units } else { 0.0 }
    }

    /// Compares the cost of the run with `bound`. If the run contradicts the bound, the finding is
    /// a violation. Otherwise, it is [`Judgement::Holds`] if all requests were served, and
    /// [`Judgement::Incomplete`] if not.
    pub(crate) fn cost_finding(&self, bound: &CostBound) -> Finding {
        let lock = self.judgement_of(Property::StarvationFreedom.name());
        let all = lock.or_else(|| self.judgement_of(Property::Progress.name()));
        let served = all == Some(Judgement::Holds);
        let contradiction = match bound.cost.per {
            // Each election must meet the bound. A mean would hide an expensive election among
            // cheap ones.
            CostUnit::Election => self.metrics.elections.iter().find_map(|election| {
                let complete = u64::from(served && election.is_complete);
                bound.contradiction(election.messages, complete, 1)
            }),
            per => {
                let entered = self.metrics.entry_count;
                // In a deadlock, each process has at most one request that was not served.
                let started = if served { entered } else { entered + u64::from(self.size) };
                let sent = per.counted_layer().map_or(0, |layer| self.metrics.sent_in_layer(layer));
                bound.contradiction(sent, entered, started)
            }
        };
        match contradiction {
            Some(message) => {
                Finding::violated(Property::Cost, self.finished_at, ProcessId(0), message)
            }
            None if served => Finding::without_violation(Property::Cost, Judgement::Holds),
            None => Finding::without_violation(Property::Cost, Judgement::Incomplete),
        }
    }

    /// Returns true if a violation of the property is a failure.
    pub(crate) fn is_failure_property(&self, property: Property) -> bool {
        match (&self.failure_properties, property) {
            (_, Property::Custom(_)) => true,
            (Some(counted), _) => counted.iter().any(|promise| promise.implies(property)),
            (None, _) => property.report_level() == ReportLevel::Expected,
        }
    }
}

pub(crate) fn ticks_to_units(ticks: f64) -> f64 {
    ticks / TICKS_PER_TIME_UNIT as f64
}

/// Returns true if the final state of the run decides liveness properties. This is the case if
/// [`EndReason::is_conclusive`] returns true. If the run ended at its end time, this is the case if
/// all requests were served, or if the workload has no requests.
pub(crate) fn is_decided(run: &RunContext, ended: EndReason) -> bool {
    match ended {
        EndReason::TimeLimit => run.is_served() || !has_requests(&run.settings),
        _ => ended.is_conclusive(),
    }
}

/// Returns true if the workload requests locks or elections.
fn has_requests(settings: &Settings) -> bool {
    settings.workload.locking.is_some() || settings.workload.initiators.is_some()
}

/// Returns the processes whose users wait to enter the critical section or to complete their exit.
/// Leaves out processes that are down or cut off from a majority.
fn waiting_lock_users(run: &RunContext) -> Vec<ProcessId> {
    run.lock_users.iter().flat_map(|users| users.waiting_users()).collect()
}

/// Returns the live processes that wait for something: the lock, a leader, or an event of an
/// agreement service. Leaves out processes that are cut off from a majority.
fn blocked(run: &RunContext) -> Vec<ProcessId> {
    let mut blocked = waiting_lock_users(run);
    if run.settings.workload.initiators.is_some() && has_election_started(run) {
        blocked.extend(run.beliefs.unsettled_processes(run.live_processes.connected_flags()));
    }
    if let Some(agreement) = &run.agreement_users {
        let is_connected = |at: ProcessId| run.live_processes.is_connected(at);
        blocked.extend(agreement.users.waiting_processes(is_connected));
    }
    blocked.sort_unstable();
    blocked.dedup();
    blocked
}

/// Returns true if an election may have started: a user has requested one, a process has sent a
/// message, or a process believes in a leader. If the result is false, no process waits for a
/// leader.
fn has_election_started(run: &RunContext) -> bool {
    let mut processes = (0..run.settings.size).map(ProcessId);
    run.metrics.election_request_count > 0
        || run.metrics.sent > 0
        || processes.any(|process| run.beliefs.leader_of(process).is_some())
}

/// Returns the way in which processes wait forever. `decided` is the result of [`is_decided`], and
/// `blocked` contains the waiting processes.
fn endless_wait_kind(
    run: &RunContext,
    decided: bool,
    blocked: &[ProcessId],
) -> Option<EndlessWaitKind> {
    if decided {
        return (!blocked.is_empty()).then_some(EndlessWaitKind::Deadlock);
    }
    let waiting = !waiting_lock_users(run).is_empty();
    let passed =
        run.monitors.mutex.as_ref().map_or(0, |mutex| mutex.bypass_meter().current_bypass());
    (waiting && passed >= STARVATION_THRESHOLD).then_some(EndlessWaitKind::Starvation)
}

/// Threshold for the suspicion of starvation. A run is suspicious if one process has entered at
/// least this many times since the oldest open request.
const STARVATION_THRESHOLD: u32 = 10;

/// Returns the findings of the built-in monitors, and the findings on progress that follow from the
/// waiting processes.
fn findings(run: &mut RunContext, decided: bool, blocked: &[ProcessId]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let progress = progress(run, decided, blocked);
    if let Some(mutex) = &run.monitors.mutex {
        findings = mutex.findings();
        let waiting = if decided { waiting_lock_users(run) } else { Vec::new() };
        let starvation = starvation_freedom(run, decided, &waiting);
        findings.splice(1..1, [deadlock_freedom(&starvation, &waiting), starvation]);
    }
    if let Some(election) = &mut run.monitors.election {
        if decided {
            for process in run.live_processes.cut_off_processes() {
                election.observe(run.now, process, Observation::Crashed);
            }
            election.judge_end(run.now, true);
        }
        let requested = run.settings.monitoring.properties.as_deref().unwrap_or_default();
        let mut found = election.findings();
        found.retain(|it| {
            it.property.report_level() > ReportLevel::OnRequest || requested.contains(&it.property)
        });
        found.insert(2, progress);
        findings.append(&mut found);
    }
    if let Some(agreement) = &mut run.monitors.agreement {
        if decided {
            for process in run.live_processes.cut_off_processes() {
                agreement.observe(run.now, process, Observation::Crashed);
            }
            agreement.judge_end(run.now, true);
        }
        findings.append(&mut agreement.findings());
        findings.push(self::progress(run, decided, blocked));
    }
    if let Some(links) = &run.monitors.links {
        findings.push(links.finding_so_far::<mutex::Command, mutex::Event>());
    }
    findings
}

/// Returns the finding on starvation freedom: each process that waits for the lock finally enters.
/// If `decided` is false, the run ended too early, and the judgement is [`Judgement::Incomplete`].
fn starvation_freedom(run: &RunContext, decided: bool, waiting: &[ProcessId]) -> Finding {
    let property = Property::StarvationFreedom;
    Finding { property, ..progress(run, decided, waiting) }
}

/// Returns the finding on deadlock freedom: while processes wait for the lock, some process finally
/// enters. If a process still waits at the end of a conclusive run, no process enters any more. So
/// the judgement is the same as on starvation freedom. `waiting` contains the waiting processes.
fn deadlock_freedom(starvation: &Finding, waiting: &[ProcessId]) -> Finding {
    let property = Property::DeadlockFreedom;
    let who = match waiting {
        [] => "a process waits".to_owned(),
        [one] => format!("{one} waits"),
        [first, _] => format!("{first} and one other wait"),
        [first, others @ ..] => format!("{first} and {} others wait", others.len()),
    };
    let message = format!("{who}, and no process enters any more");
    let violation = starvation.violation.clone().map(|first| FirstViolation { message, ..first });
    Finding { property, violation, ..starvation.clone() }
}

/// Returns the finding on progress: no live process waits forever. If `decided` is false, the
/// judgement is [`Judgement::Incomplete`].
fn progress(run: &RunContext, decided: bool, blocked: &[ProcessId]) -> Finding {
    let waits = run.lock_users.is_none() && run.metrics.waiting.current() > 0;
    match blocked.first() {
        Some(first) => {
            let others = blocked.len() - 1;
            let message = match others {
                0 => format!("{first} waits for ever"),
                1 => format!("{first} and one other wait for ever"),
                _ => format!("{first} and {others} others wait for ever"),
            };
            Finding::violated(Property::Progress, run.now, *first, message)
        }
        None if !decided => Finding::without_violation(Property::Progress, Judgement::Incomplete),
        None if waits => {
            let message = "a process waits for ever".to_owned();
            Finding::violated(Property::Progress, run.now, ProcessId(0), message)
        }
        None => Finding::without_violation(Property::Progress, Judgement::Holds),
    }
}
