//! Sets of monitors, one set for each kind of service. Each monitor stops at its first violation.

use core::fmt;

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::card::Service;
use crate::clock::VectorClock;
use crate::graph::Graph;
use crate::monitor::{ElectionObservation, Monitor, MutexObservation, Observation};
use crate::monitors::{
    AgreementMonitor, BestRankLeads, BypassMeter, Fencing, IncreasingOwnTerms, LeaderAgreement,
    LeaderChangesNeedCause, LeaderScope, LocalMutualExclusion, MutualExclusion, OneLeader,
    OneLeaderAtEnd, OneLeaderPerGroup, RequestOrder, SteadyLeader,
};
use crate::process::ProcessId;
use crate::property::Property;
use crate::rank::Rank;
use crate::service::{agreement, mutex};

/// Judgement on a property. A single run never *proves* a property, because another run may violate
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "kebab-case"))]
pub enum Judgement {
    /// No violation: in this run, or in every run within the bounds of a check.
    Holds,
    /// Violated: at least one run violates the property.
    Violated,
    /// Not decided: a run or a search ended before it could show or exclude a violation.
    Incomplete,
}

impl Judgement {
    /// Returns the word for this judgement in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Judgement::Holds => "holds",
            Judgement::Violated => "violated",
            Judgement::Incomplete => "incomplete",
        }
    }
}

impl fmt::Display for Judgement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Judgement on one property, with the first violation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Property that was judged.
    pub property: Property,
    /// Outcome: holds, violated or incomplete.
    pub judgement: Judgement,
    /// First violation. `None` if the judgement is not [`Judgement::Violated`].
    pub violation: Option<FirstViolation>,
}

/// Time, process and description of the first violation of a property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstViolation {
    /// Time of the violation, in the unit of the engine that reports it, such as ticks or steps.
    pub time: u64,
    /// Process whose step made the violation certain.
    pub at: ProcessId,
    /// Description of the violation, in one sentence.
    pub message: String,
}

impl Finding {
    /// Creates the finding of a violated property.
    pub fn violated(property: Property, time: u64, at: ProcessId, message: String) -> Self {
        let violation = Some(FirstViolation { time, at, message });
        Finding { property, judgement: Judgement::Violated, violation }
    }

    /// Creates the finding of a property without a violation.
    pub const fn without_violation(property: Property, judgement: Judgement) -> Self {
        Finding { property, judgement, violation: None }
    }
}

/// A monitor that stops at its first violation.
#[derive(Clone, Debug)]
pub struct MonitorRun<M> {
    monitor: M,
    violation: Option<FirstViolation>,
    /// Judgement at the end of the run. `None` before [`MonitorRun::judge_end`], and if the
    /// property was violated earlier.
    ending: Option<Judgement>,
}

impl<M> MonitorRun<M> {
    /// Creates the run of `monitor`, which must be in its initial state.
    pub const fn new(monitor: M) -> Self {
        MonitorRun { monitor, violation: None, ending: None }
    }

    /// Returns the monitor with mutable access, so that the caller can change the state of the
    /// monitor.
    pub const fn monitor_mut(&mut self) -> &mut M {
        &mut self.monitor
    }

    /// Processes one observation. Has no effect after a violation.
    pub fn observe<C, E>(&mut self, time: u64, at: ProcessId, seen: Observation<'_, C, E>)
    where
        M: Monitor<C, E>,
    {
        if self.violation.is_none()
            && let Err(violation) = self.monitor.observe(at, seen)
        {
            self.violation =
                Some(FirstViolation { time, at: violation.at, message: violation.message });
        }
    }

    /// Judges the end of the run. `has_settled` is true if the processes had time to react to the
    /// last fault. In that case, a wrong final state is a violation. Otherwise, the judgement of a
    /// wrong final state is [`Judgement::Incomplete`]. Has no effect after a violation, or if the
    /// end was already judged.
    pub fn judge_end<C, E>(&mut self, time: u64, has_settled: bool)
    where
        M: Monitor<C, E>,
    {
        if self.violation.is_some() || self.ending.is_some() {
            return;
        }
        self.ending = Some(match self.monitor.check_final_state() {
            Ok(()) => Judgement::Holds,
            Err(violation) if has_settled => {
                let (at, message) = (violation.at, violation.message);
                self.violation = Some(FirstViolation { time, at, message });
                Judgement::Violated
            }
            Err(_) => Judgement::Incomplete,
        });
    }

    /// Returns the finding so far. If the run has not ended and shows no violation, the judgement
    /// depends on the property. It is [`Judgement::Incomplete`] if only the end of a run decides
    /// the property, and [`Judgement::Holds`] otherwise.
    pub fn finding_so_far<C, E>(&self) -> Finding
    where
        M: Monitor<C, E>,
    {
        let property = self.monitor.property();
        let judgement = match (&self.violation, self.ending) {
            (Some(_), _) => Judgement::Violated,
            (None, Some(ending)) => ending,
            (None, None) if property.is_decided_at_end() => Judgement::Incomplete,
            (None, None) => Judgement::Holds,
        };
        Finding { property, judgement, violation: self.violation.clone() }
    }
}

/// Facts about a group and its lock or election that the monitors need in advance.
#[derive(Clone, Debug)]
pub struct MonitorConfig {
    /// Number of processes.
    pub size: u32,
    /// Number of processes that may be inside the critical section at the same time.
    pub max_inside: u32,
    /// Graph of conflicts: neighbours must not be inside the critical section at the same time.
    /// `None` if the lock has no such graph. Then any processes may be inside together, up to
    /// [`MonitorConfig::max_inside`].
    pub conflicts: Option<Arc<Graph>>,
    /// True if entries to the critical section carry fences.
    pub has_fences: bool,
    /// True if [`Property::MutualExclusionStrict`] is also judged. Under this property, a process
    /// that crashes inside the critical section stays inside until it recovers.
    pub judges_strict_exclusion: bool,
    /// Bounds on bypass that the monitors check. Each bound is the number of times that one process
    /// may enter while another process waits.
    pub bypass_bounds: Vec<u32>,
    /// True if the engine provides vector clocks of the requests.
    pub has_vector_clocks: bool,
    /// Rank of each process. Empty if the rank of each process equals its number, from 1. `None` if
    /// ranks are not known.
    pub ranks: Option<Arc<[Rank]>>,
    /// True if the process with the smallest rank must lead. If false, the process with the largest
    /// rank must lead.
    pub smallest_leads: bool,
    /// True if [`Property::OneLeaderPerGroup`] is also judged. Under this property, processes may
    /// follow different leaders at the same time, as in a partition.
    pub judges_groups: bool,
    /// Processes that are down from the start.
    pub down: Vec<ProcessId>,
    /// Graph of the links between processes. `None` if the graph is not known.
    pub graph: Option<Arc<Graph>>,
}

/// Monitors of a lock. They judge mutual exclusion, fences, the order of entries, and bypass.
#[derive(Clone, Debug)]
pub struct MutexMonitorSet {
    /// Up to three monitors. The first allows one process inside. The second allows *k* processes
    /// inside, and exists if *k* is more than one and the lock has no conflict graph. The third is
    /// strict, and exists if [`MonitorConfig::judges_strict_exclusion`] is true.
    exclusion: Vec<MonitorRun<MutualExclusion>>,
    /// Monitor of the conflict graph: no two neighbours in this graph are inside the critical
    /// section at the same time. `None` if the lock has no conflict graph.
    local: Option<MonitorRun<LocalMutualExclusion>>,
    fencing: Option<MonitorRun<Fencing>>,
    /// Two monitors of the order of entries. The first uses vector clocks that follow only the
    /// messages of the protocol. The second uses vector clocks that follow all messages. Empty if
    /// the engine provides no vector clocks.
    order: Vec<MonitorRun<RequestOrder>>,
    bypass: BypassMeter,
    /// Bounds on bypass, each with the first violation of this bound.
    bounds: Vec<(u32, Option<FirstViolation>)>,
}

impl MutexMonitorSet {
    /// Creates the monitors in their initial states: they have seen no observation.
    pub fn new(config: &MonitorConfig) -> Self {
        let most = config.max_inside;
        let admits_several = most > 1 && config.conflicts.is_none();
        let mut exclusion = Vec::from([MutualExclusion::new()]);
        exclusion.extend(admits_several.then(|| MutualExclusion::at_most(most)));
        exclusion.extend(config.judges_strict_exclusion.then(MutualExclusion::counting_crashed));
        let orders = config
            .has_vector_clocks
            .then(|| [RequestOrder::new(), RequestOrder::with_application_messages()]);
        MutexMonitorSet {
            exclusion: exclusion.into_iter().map(MonitorRun::new).collect(),
            local: config
                .conflicts
                .clone()
                .map(LocalMutualExclusion::with_conflicts)
                .map(MonitorRun::new),
            fencing: config.has_fences.then(|| MonitorRun::new(Fencing::new())),
            order: orders.into_iter().flatten().map(MonitorRun::new).collect(),
            bypass: BypassMeter::new(config.size),
            bounds: config.bypass_bounds.iter().map(|bound| (*bound, None)).collect(),
        }
    }

    /// Records that the user at `at` requests the lock. `clocks` holds two vector clocks of the
    /// request: the first follows only the messages of the protocol, and the second follows all
    /// messages. `clocks` is `None` if the engine keeps no clocks.
    pub fn on_request(&mut self, time: u64, at: ProcessId, clocks: Option<[&VectorClock; 2]>) {
        self.bypass.on_request(at);
        let command = &mutex::Command::Enter;
        for (order, clock) in self.order.iter_mut().zip(clocks.into_iter().flatten()) {
            order.observe(time, at, Observation::Command { command, clock: Some(clock) });
        }
        // The other monitors judge events, not commands.
    }

    /// Records an event of the user at `at`.
    pub fn on_event(&mut self, time: u64, at: ProcessId, event: &mutex::Event) {
        if matches!(event, mutex::Event::Entered { .. })
            && let Some((waiter, times)) = self.bypass.on_entry(at)
        {
            let exceeded = self.bounds.iter_mut().filter(|(bound, _)| times > *bound);
            for (_, violation) in exceeded.filter(|(_, violation)| violation.is_none()) {
                let message = format!("{at} entered {times} times while {waiter} waited");
                *violation = Some(FirstViolation { time, at, message });
            }
        }
        self.observe_all(time, at, Observation::Event(event));
    }

    /// Records a crash of the process `at`. The wait of this process then ends.
    pub fn on_crash(&mut self, time: u64, at: ProcessId) {
        self.bypass.on_request_end(at);
        self.observe_all(time, at, Observation::Crashed);
    }

    /// Records a recovery of the process `at`.
    pub fn on_recovery(&mut self, time: u64, at: ProcessId) {
        self.observe_all(time, at, Observation::Recovered);
    }

    /// Returns the meter of bypass, which counts how often one process enters while another process
    /// waits.
    pub const fn bypass_meter(&self) -> &BypassMeter {
        &self.bypass
    }

    /// Returns the findings so far, one for each judged property.
    pub fn findings(&self) -> Vec<Finding> {
        let mut findings: Vec<Finding> =
            self.exclusion.iter().map(MonitorRun::finding_so_far).collect();
        findings.extend(self.local.as_ref().map(MonitorRun::finding_so_far));
        findings.extend(self.order.iter().map(MonitorRun::finding_so_far));
        findings.extend(self.bounds.iter().map(|(bound, violation)| {
            let judgement = match violation {
                Some(_) => Judgement::Violated,
                None => Judgement::Holds,
            };
            let (property, violation) = (Property::Bypass(Some(*bound)), violation.clone());
            Finding { property, judgement, violation }
        }));
        findings.extend(self.fencing.as_ref().map(MonitorRun::finding_so_far));
        findings
    }

    fn observe_all(&mut self, time: u64, at: ProcessId, seen: MutexObservation<'_>) {
        self.order.iter_mut().for_each(|run| run.observe(time, at, seen));
        self.exclusion.iter_mut().for_each(|run| run.observe(time, at, seen));
        if let Some(local) = &mut self.local {
            local.observe(time, at, seen);
        }
        if let Some(fencing) = &mut self.fencing {
            fencing.observe(time, at, seen);
        }
    }
}

/// The monitors of leader election.
#[derive(Clone, Debug)]
pub struct ElectionMonitorSet {
    agreement: MonitorRun<LeaderAgreement>,
    validity: Option<MonitorRun<BestRankLeads>>,
    uniqueness: MonitorRun<OneLeaderAtEnd>,
    irrevocability: MonitorRun<LeaderChangesNeedCause>,
    /// Two monitors. The first permits no two leaders at the same time, whatever their terms. The
    /// second permits no two leaders at the same time with the same term number.
    one_leader: [MonitorRun<OneLeader>; 2],
    per_group: Option<MonitorRun<OneLeaderPerGroup>>,
    fresh: MonitorRun<IncreasingOwnTerms>,
    steady: MonitorRun<SteadyLeader>,
}

impl ElectionMonitorSet {
    /// Creates the monitors in their initial states: they have seen no observation.
    pub fn new(config: &MonitorConfig) -> Self {
        let MonitorConfig { size, ranks, down, smallest_leads, .. } = config;
        let validity = |ranks: &Arc<[Rank]>| {
            BestRankLeads::with_size(*size, ranks.clone())
                .requiring_smallest_rank(*smallest_leads)
                .with_initially_down(down)
        };
        ElectionMonitorSet {
            agreement: MonitorRun::new(LeaderAgreement::new().with_initially_down(down)),
            validity: ranks.as_ref().map(|ranks| MonitorRun::new(validity(ranks))),
            uniqueness: MonitorRun::new(OneLeaderAtEnd::default()),
            irrevocability: MonitorRun::new(LeaderChangesNeedCause::new(*size)),
            one_leader: [LeaderScope::Overall, LeaderScope::PerTerm]
                .map(|scope| MonitorRun::new(OneLeader::new(scope))),
            per_group: config.judges_groups.then(|| MonitorRun::new(OneLeaderPerGroup::new())),
            fresh: MonitorRun::new(IncreasingOwnTerms::new()),
            steady: MonitorRun::new(SteadyLeader::new(*size)),
        }
    }

    /// Records that a process was suspected, or that another event permits a new election. Monitors
    /// do not observe suspicions, so the engine must call this method.
    pub fn allow_new_election(&mut self) {
        self.irrevocability.monitor_mut().allow_new_election();
    }

    /// Processes a command, an event, a crash or a recovery of the process `at`.
    pub fn observe(&mut self, time: u64, at: ProcessId, seen: ElectionObservation<'_>) {
        self.irrevocability.observe(time, at, seen);
        if let Observation::Command { .. } = seen {
            // The other monitors judge events, not commands.
            return;
        }
        self.agreement.observe(time, at, seen);
        if let Some(validity) = &mut self.validity {
            validity.observe(time, at, seen);
        }
        self.uniqueness.observe(time, at, seen);
        self.one_leader.iter_mut().for_each(|run| run.observe(time, at, seen));
        if let Some(per_group) = &mut self.per_group {
            per_group.observe(time, at, seen);
        }
        self.fresh.observe(time, at, seen);
        self.steady.observe(time, at, seen);
    }

    /// Judges the end of the run. `has_settled` is true if the processes had time to agree after
    /// the last fault.
    pub fn judge_end(&mut self, time: u64, has_settled: bool) {
        self.agreement.judge_end(time, has_settled);
        if let Some(validity) = &mut self.validity {
            validity.judge_end(time, has_settled);
        }
        self.uniqueness.judge_end(time, has_settled);
        if let Some(per_group) = &mut self.per_group {
            per_group.judge_end(time, has_settled);
        }
    }

    /// Returns the findings so far, one for each monitor.
    pub fn findings(&self) -> Vec<Finding> {
        let mut findings = Vec::from([self.agreement.finding_so_far()]);
        findings.extend(self.validity.as_ref().map(MonitorRun::finding_so_far));
        findings.extend([self.uniqueness.finding_so_far(), self.irrevocability.finding_so_far()]);
        findings.extend(self.one_leader.iter().map(MonitorRun::finding_so_far));
        findings.extend([self.fresh.finding_so_far(), self.steady.finding_so_far()]);
        findings.extend(self.per_group.as_ref().map(MonitorRun::finding_so_far));
        findings
    }
}

/// The monitors of one agreement service.
#[derive(Clone, Debug)]
pub struct AgreementMonitorSet(Vec<MonitorRun<AgreementMonitor>>);

impl AgreementMonitorSet {
    /// Creates the monitors of an agreement service in their initial states. The set is empty if
    /// `service` is not an agreement service.
    pub fn new(service: Service, config: &MonitorConfig) -> Self {
        let monitors = AgreementMonitor::all_for_service(service, config.size, &config.down);
        let graph = config.graph.as_deref();
        let monitors = monitors.into_iter().map(|monitor| monitor.with_graph(graph));
        AgreementMonitorSet(monitors.map(MonitorRun::new).collect())
    }

    /// Processes a command, an event, a crash or a recovery of the process `at`.
    pub fn observe(
        &mut self,
        time: u64,
        at: ProcessId,
        seen: Observation<'_, agreement::Command, agreement::Event>,
    ) {
        self.0.iter_mut().for_each(|run| run.observe(time, at, seen));
    }

    /// Judges the end of the run. `has_settled` is true if the processes had time to agree after
    /// the last fault.
    pub fn judge_end(&mut self, time: u64, has_settled: bool) {
        self.0.iter_mut().for_each(|run| run.judge_end(time, has_settled));
    }

    /// Returns the findings so far, one for each monitor.
    pub fn findings(&self) -> Vec<Finding> {
        self.0.iter().map(MonitorRun::finding_so_far).collect()
    }
}
