//! Verification of a trace, record by record: passes each record to the monitors and statistics.

use std::collections::BTreeSet;
use std::sync::Arc;

use tenure_core::monitors::{ExactlyOnceInOrder, LinksOnly, MessageBudget};
use tenure_core::service::{election, mutex};
use tenure_core::{
    CostUnit, ElectionMonitorSet, ElectionObservation, Finding, Judgement, Layer, MonitorConfig,
    MonitorRun, MutexMonitorSet, MutexObservation, Observation, ProcessId, Property, VectorClock,
};

use super::agreements::AgreementVerifier;
use super::alternation::AlternationVerifier;
use super::applications::ApplicationVerifier;
use super::critical_section::CriticalSectionVerifier;
use super::elections::ElectionTracker;
use super::findings::{DetectedViolation, Findings};
use super::resource::ResourceVerifier;
use super::{MessageCounts, ResourceCounterResult, Verification};
use crate::Service;
use crate::fold::process_state::{
    ProcessCondition, ProcessStateChange, ProcessStates, ProcessStatus,
};
use crate::format::{
    ClockUnit, Header, Record, RecordKind, RecordSubject, RecordedCommand, RecordedEvent,
};
use crate::merge::MergeReport;

/// Time within which a group of real nodes must agree after the last disturbance, such as a crash.
/// It is in nanoseconds.
const SETTLING_NANOSECONDS: u64 = 3_000_000_000;

/// Verifies a trace, one record at a time.
///
/// Ignores records of processes that the group does not have.
#[derive(Clone, Debug)]
pub struct TraceVerifier {
    header: Header,
    records: u64,
    /// Time of the first record. `None` before that. All times are in ticks or nanoseconds.
    start: Option<u64>,
    /// Time of the last record.
    now: u64,
    process_states: ProcessStates,
    entries: CriticalSectionVerifier,
    alternation: AlternationVerifier,
    elections: ElectionTracker,
    resource: ResourceVerifier,
    message_counts: MessageCounts,
    locks: MutexMonitorSet,
    elects: ElectionMonitorSet,
    /// Processes whose users wait for the result of an election.
    awaiting: BTreeSet<ProcessId>,
    no_loss: MonitorRun<ExactlyOnceInOrder>,
    /// Monitor of the number of messages per entry or election. `None` if the header does not limit
    /// this number.
    spending: Option<MonitorRun<MessageBudget>>,
    /// Monitor that checks that messages use only permitted links. `None` if the header does not
    /// restrict the links.
    links: Option<MonitorRun<LinksOnly>>,
    applications: ApplicationVerifier,
    agreements: AgreementVerifier,
    /// True if at least one command so far had a vector clock.
    clocks: bool,
    crashes: u64,
    /// Time of the last disturbance, such as a crash. After a disturbance, the group needs time to
    /// agree again.
    disturbed: u64,
    /// Groups of processes into which the current partition splits the network. Empty if there is
    /// no partition.
    sides: Vec<Vec<ProcessId>>,
    /// Time of the last command or event. For some time after it, a process that waits may still be
    /// served.
    active: u64,
    /// State at the parent's `end`. `None` if the run has not ended yet.
    final_state: Option<FinalState>,
}

/// Error: the end of the trace does not show whether a process waits forever.
struct Undecided;

/// Processes that wait or are inside at the parent's `end`, by number. They decide liveness,
/// because the nodes stop after this record.
#[derive(Clone, Debug)]
struct FinalState {
    /// Time of the `end`.
    time: u64,
    waiting: Vec<u32>,
    inside: Vec<u32>,
    /// Live processes whose users wait for the result of an election or an agreement.
    uninformed: Vec<u32>,
    /// True if the group had settled at the `end`: no process was stopped by SIGSTOP. In real time,
    /// the trace also has no command, event or disturbance in its last [`SETTLING_NANOSECONDS`],
    /// and is at least that long. If false, the trace does not show whether a waiting process
    /// would still have been served.
    is_quiet: bool,
}

impl TraceVerifier {
    /// Creates a verifier for the trace with this header.
    pub fn new(header: &Header) -> Self {
        let config = MonitorConfig {
            size: header.n,
            max_inside: header.max_inside,
            conflicts: header.conflict_graph(),
            has_fences: header.fenced,
            judges_strict_exclusion: true,
            bypass_bounds: header.most_bypass.into_iter().collect(),
            has_vector_clocks: true,
            ranks: header.ranks.clone().map(Arc::from),
            smallest_leads: header.mentions_property(Property::SmallestLeads),
            judges_groups: header.mentions_property(Property::OneLeaderPerGroup),
            down: Vec::new(),
            graph: header.network().map(Arc::new),
        };
        TraceVerifier {
            header: header.clone(),
            records: 0,
            start: None,
            now: 0,
            process_states: ProcessStates::default(),
            entries: CriticalSectionVerifier::new(header.max_inside, header.fenced),
            alternation: AlternationVerifier::default(),
            elections: ElectionTracker::new(header.n),
            resource: ResourceVerifier::default(),
            message_counts: MessageCounts::default(),
            locks: MutexMonitorSet::new(&config),
            elects: ElectionMonitorSet::new(&config),
            awaiting: (0..header.n).map(ProcessId).collect(),
            no_loss: MonitorRun::new(ExactlyOnceInOrder::default()),
            spending: header.most_messages.map(|most| spending(header.service, most)),
            links: header.link_monitor().map(MonitorRun::new),
            applications: ApplicationVerifier::new(),
            agreements: AgreementVerifier::new(header.service, &config),
            clocks: false,
            crashes: 0,
            disturbed: 0,
            sides: Vec::new(),
            active: 0,
            final_state: None,
        }
    }

    /// Verifies the next record of the trace.
    pub fn verify_record(&mut self, record: &Record) {
        self.records += 1;
        self.now = record.time;
        if self.start.is_none() {
            self.start = Some(record.time);
            self.elections.on_start(record.time);
        }
        match (record.process, &record.kind) {
            (_, RecordKind::Access(access)) => self.resource.verify_access(record.time, access),
            (RecordSubject::Parent, RecordKind::End) if self.final_state.is_none() => self.end(),
            (_, RecordKind::Partition(sides)) => self.on_partition(sides),
            (_, RecordKind::Heal) => self.on_partition(&[]),
            (RecordSubject::Process(at), _) if at.0 < self.header.n => self.of_process(at, record),
            _ => {}
        }
    }

    /// Handles a partition into `sides`. Empty `sides` end the partition.
    fn on_partition(&mut self, sides: &[Vec<ProcessId>]) {
        self.disturbed = self.now;
        if self.final_state.is_none() {
            self.sides = sides.to_vec();
            self.elections.on_partition(self.now, sides);
        }
    }

    fn of_process(&mut self, at: ProcessId, record: &Record) {
        let changes = self.process_states.apply_record(record);
        if let [
            ProcessStateChange::ConditionEnds(ProcessCondition::Waiting, since),
            ProcessStateChange::ConditionBegins(ProcessCondition::Inside),
        ] = changes[..]
        {
            self.entries.latency.add(record.time.saturating_sub(since));
        }
        if record.sequence == 1 {
            self.alternation.on_file_start(at);
        }
        for change in changes {
            self.alternation.on_state_change(at, change, &record.kind);
            self.crashes += u64::from(change == ProcessStateChange::Crashes);
            self.on_state_change(at, change);
        }
        match &record.kind {
            RecordKind::Command(command) => {
                self.active = record.time;
                self.on_command(at, command, record.clock.as_ref());
            }
            RecordKind::Event(event) => {
                self.active = record.time;
                self.on_event(at, event);
            }
            RecordKind::Send(_) | RecordKind::Receive(_) => {
                self.message_counts.count_record(at, &record.kind);
                self.entries.on_message(at, record);
                self.sends(at, &record.kind);
            }
            RecordKind::Drop(_) | RecordKind::Duplicate(_) => {
                self.message_counts.count_record(at, &record.kind)
            }
            RecordKind::Suspicion { .. } => self.disturbed = record.time,
            _ => {}
        }
    }

    fn sends(&mut self, at: ProcessId, kind: &RecordKind) {
        let RecordKind::Send(message_record) = kind else { return };
        let layer = self.header.service.counted_layer();
        let sent = MutexObservation::Sent { to: message_record.peer };
        if let Some(spending) = &mut self.spending
            && layer == Some(message_record.layer)
        {
            spending.observe(self.now, at, sent);
        }
        if let Some(links) = &mut self.links
            && layer.unwrap_or(Layer::Agreement) == message_record.layer
        {
            links.observe(self.now, at, sent);
        }
    }

    fn on_state_change(&mut self, at: ProcessId, change: ProcessStateChange) {
        match change {
            ProcessStateChange::Crashes | ProcessStateChange::Terminates => {
                self.entries.on_exit(at);
                self.awaiting.remove(&at);
                self.locks.on_crash(self.now, at);
                self.elects.observe(self.now, at, Observation::Crashed);
                self.no_loss.observe(self.now, at, Observation::Crashed);
                self.applications.on_crash(self.now, at);
                self.agreements.on_crash(self.now, at);
            }
            ProcessStateChange::Recovers => {
                self.locks.on_recovery(self.now, at);
                self.elects.observe(self.now, at, Observation::Recovered);
                self.no_loss.observe(self.now, at, Observation::Recovered);
                self.agreements.on_recovery(self.now, at);
            }
            ProcessStateChange::ConditionBegins(ProcessCondition::Stopped)
            | ProcessStateChange::ConditionEnds(ProcessCondition::Stopped, _) => {}
            ProcessStateChange::LeaderChanges(_) => {}
            _ => return,
        }
        self.disturbed = self.now;
        if self.final_state.is_none() {
            self.elections.on_state_change(self.now, at, change);
        }
    }

    fn on_command(
        &mut self,
        at: ProcessId,
        command: &RecordedCommand,
        clock: Option<&VectorClock>,
    ) {
        if let Some(command) = command.mutex() {
            self.clocks |= clock.is_some();
            if let Some(spending) = &mut self.spending {
                spending.observe(self.now, at, MutexObservation::Command { command, clock });
            }
            if *command == mutex::Command::Enter {
                self.alternation.on_request(at);
                self.locks.on_request(self.now, at, clock.map(|clock| [clock, clock]));
            }
        }
        if let Some(command) = command.election() {
            self.awaiting.insert(at);
            if let Some(spending) = &mut self.spending {
                spending.observe(self.now, at, ElectionObservation::Command { command, clock });
            }
            self.elects.observe(self.now, at, Observation::Command { command, clock });
        }
        if let RecordedCommand::Stream(command) = command {
            self.no_loss.observe(self.now, at, Observation::Command { command, clock });
        }
        if let RecordedCommand::Agreement(command) = command {
            self.agreements.on_command(self.now, at, command);
        }
    }

    fn on_event(&mut self, at: ProcessId, event: &RecordedEvent) {
        if let Some(event) = event.mutex()
            && !self.process_states.state(at).is_crashed_or_ended()
        {
            self.alternation.on_event(self.now, at, *event);
            for pair in self.entries.on_event(self.now, at, *event) {
                self.resource.on_overlap(pair);
            }
            self.locks.on_event(self.now, at, event);
        }
        if let Some(event) = event.election() {
            match event {
                election::Event::Elected { .. } => self.awaiting.remove(&at),
                election::Event::Deposed { .. } => self.awaiting.insert(at),
            };
            if let Some(spending) = &mut self.spending {
                spending.observe(self.now, at, ElectionObservation::Event(event));
            }
            self.elects.observe(self.now, at, Observation::Event(event));
        }
        if let RecordedEvent::Stream(event) = event {
            self.no_loss.observe(self.now, at, Observation::Event(event));
        }
        if let RecordedEvent::Agreement(event) = event {
            self.agreements.on_event(self.now, at, event);
        }
        if let Some(event) = event.application() {
            self.applications.on_event(self.now, at, event);
        }
    }

    /// Judges the properties that depend on the state at the end of the run. Later records, in
    /// which the nodes stop one after another, do not change these judgements.
    fn end(&mut self) {
        let settling = match self.header.clock {
            ClockUnit::Tick => 0,
            ClockUnit::Nanosecond => SETTLING_NANOSECONDS,
        };
        let has_settled = self.now.saturating_sub(self.disturbed) >= settling;
        let has_settled = has_settled && self.numbers_in(ProcessCondition::Stopped).is_empty();
        let active = self.active.max(self.start.unwrap_or(0));
        self.final_state = Some(FinalState {
            time: self.now,
            waiting: self.numbers_in(ProcessCondition::Waiting),
            inside: self.numbers_in(ProcessCondition::Inside),
            uninformed: self.uninformed(),
            is_quiet: has_settled && self.now.saturating_sub(active) >= settling,
        });
        // During a partition, the processes of different sides need not agree.
        let has_settled = has_settled && self.sides.is_empty();
        self.elects.judge_end(self.now, has_settled);
        self.no_loss.judge_end(self.now, has_settled);
        self.agreements.judge_end(self.now, has_settled);
    }

    /// Returns the number of items that the statistics of the verifier store. Each kind of item is
    /// bounded, so memory does not grow with the duration of the run.
    pub fn retained_count(&self) -> usize {
        self.entries.retained_count()
            + self.resource.retained_count()
            + self.elections.ended_elections.len()
    }

    /// Finishes the verification of merged traces. Adds the problems that the merge has found, such
    /// as incomplete files and received messages whose sending is not recorded.
    pub fn finish_with(self, merge_report: MergeReport) -> Verification {
        let MergeReport { unmatched, contradictions, torn, empty } = merge_report;
        let findings = self.findings();
        let (waiting, inside) = match &self.final_state {
            Some(end) => (end.waiting.clone(), end.inside.clone()),
            None => (
                self.numbers_in(ProcessCondition::Waiting),
                self.numbers_in(ProcessCondition::Inside),
            ),
        };
        let elections = self
            .elections
            .ended_elections
            .iter()
            .map(|measured| findings.measured_election(measured))
            .collect();
        let mut verification = Verification {
            algorithm: self.header.algorithm,
            service: self.header.service,
            n: self.header.n,
            clock: self.header.clock,
            verdict: findings.verdict(),
            records: self.records,
            duration: findings.units_since_start(self.now),
            properties: findings.properties,
            violations: findings.violations,
            entries: self.entries.entry_count,
            latency: self.entries.latency.quantiles(),
            waiting,
            inside,
            elections,
            messages: self.message_counts,
            accesses: self.resource.accesses,
            counter: self.resource.counter_result(),
            overlaps: self.entries.overlaps,
            late: self.entries.late,
            bypass_max: self.locks.bypass_meter().max_bypass(),
            crashes: self.crashes,
            unmatched,
            contradictions,
            torn,
            empty,
        };
        let start = self.start.unwrap_or(self.now);
        if let Some(finding) = self.alternation.finding() {
            verification.add_finding(finding, start);
        }
        if contradictions > 0 {
            let message =
                "messages were received before they were sent: the traces are inconsistent";
            let finding = Finding::violated(
                Property::WellFormedTrace,
                self.now,
                ProcessId(0),
                message.to_owned(),
            );
            verification.add_finding(finding, start);
        }
        verification
    }

    /// Finishes the verification of a trace that was not merged from several files. The lists of
    /// incomplete and of empty files in the result are empty.
    pub fn finish(self) -> Verification {
        self.finish_with(MergeReport::default())
    }

    fn findings(&self) -> Findings {
        let mut findings = Findings::new(&self.header, self.start.unwrap_or(self.now));
        if matches!(self.header.service, Service::Mutex | Service::MutexAndElection) {
            self.verify_entries(&mut findings);
        }
        if matches!(self.header.service, Service::Election | Service::MutexAndElection) {
            let is_required = |it: &Finding| match it.property {
                Property::OneLeaderAtEnd
                | Property::Irrevocability
                | Property::FreshTerms
                | Property::SteadyLeader => findings.is_in_header(it.property),
                _ => true,
            };
            let found: Vec<Finding> =
                self.elects.findings().into_iter().filter(is_required).collect();
            found.into_iter().for_each(|finding| findings.add_finding(finding));
        }
        if self.header.service == Service::Stream {
            findings.add_finding(self.no_loss.finding_so_far());
        }
        if let Some(spending) = &self.spending {
            findings.add_finding(spending.finding_so_far::<mutex::Command, mutex::Event>());
        }
        if let Some(links) = &self.links {
            findings.add_finding(links.finding_so_far::<mutex::Command, mutex::Event>());
        }
        self.applications.findings().for_each(|finding| findings.add_finding(finding));
        self.agreements.findings().into_iter().for_each(|finding| findings.add_finding(finding));
        self.verify_waits(&mut findings);
        if self.resource.has_accesses() {
            self.verify_resource(&mut findings);
        }
        findings
    }

    /// Verifies the properties of a lock. For mutual exclusion, if a resource checks fences, an
    /// overlap of entries is a violation only if the resource accepted a stale access. Without such
    /// a resource, every overlap is a violation.
    fn verify_entries(&self, findings: &mut Findings) {
        let checked = self.header.fenced && self.resource.has_accesses();
        if checked {
            findings.add_judgement(
                Property::MutualExclusion,
                self.resource.overlap_violation().as_ref(),
            );
            findings.add_judgement(Property::Fencing, self.entries.fence_violation());
        }
        for finding in self.locks.findings() {
            let verified = match finding.property {
                Property::MutualExclusion if checked => false,
                Property::MutualExclusion if self.header.max_inside == 1 => true,
                Property::Fencing => !checked,
                Property::KExclusion(_) | Property::LocalMutualExclusion | Property::Bypass(_) => {
                    true
                }
                Property::FirstComeFirstServed if self.clocks => true,
                property => findings.is_in_header(property),
            };
            if verified {
                findings.add_finding(finding);
            }
        }
    }

    /// Verifies that no process waits forever, for the properties in the header.
    fn verify_waits(&self, findings: &mut Findings) {
        let is_lock = matches!(self.header.service, Service::Mutex | Service::MutexAndElection);
        let properties: &[Property] = match is_lock {
            true => &[Property::DeadlockFreedom, Property::StarvationFreedom],
            false => &[Property::Progress],
        };
        let endless_wait = self.endless_wait(is_lock);
        for property in properties.iter().copied() {
            if !findings.is_in_header(property) {
                continue;
            }
            match &endless_wait {
                Ok(found) => findings.add_judgement(property, found.as_ref()),
                Err(Undecided) => findings
                    .add_finding(Finding::without_violation(property, Judgement::Incomplete)),
            }
        }
    }

    /// Returns the first process that waits forever, or `None` if there is none. Returns an error
    /// if the trace does not show this.
    fn endless_wait(&self, is_lock: bool) -> Result<Option<DetectedViolation>, Undecided> {
        let FinalState { time, ref waiting, ref inside, ref uninformed, is_quiet } =
            *self.final_state.as_ref().ok_or(Undecided)?;
        let waiting = if is_lock { waiting } else { uninformed };
        let (endless, has_cut_off) = self.first_endless_wait(waiting);
        // The waiting process may still be served: when the process inside exits, when a message
        // that is on the way arrives, or when the partition ends.
        let is_undecided = match endless {
            Some(_) => !is_quiet || (is_lock && !inside.is_empty()),
            None => has_cut_off,
        };
        if is_undecided {
            return Err(Undecided);
        }
        let found =
            |number| DetectedViolation { time, description: format!("P{number} waits for ever") };
        Ok(endless.map(found))
    }

    /// Returns the first process of `waiting` that waits although it could be served, and true if
    /// other processes wait because a partition separates them from a majority.
    fn first_endless_wait(&self, waiting: &[u32]) -> (Option<u32>, bool) {
        let is_with_majority = |number: u32| {
            let is_on =
                |side: &&Vec<ProcessId>| side.iter().any(|at| at.display_number() == number);
            let side = self.sides.iter().find(is_on);
            side.is_none_or(|side| side.len() * 2 > self.header.n as usize)
        };
        let (endless, cut_off): (Vec<u32>, Vec<u32>) =
            waiting.iter().partition(|at| is_with_majority(**at));
        (endless.first().copied(), !cut_off.is_empty())
    }

    /// Returns the numbers of the live processes whose users still wait for the result of an
    /// election or an agreement.
    fn uninformed(&self) -> Vec<u32> {
        let is_up = |at: ProcessId| self.process_states.state(at).status == ProcessStatus::Up;
        let waiting = match self.header.service.is_agreement() {
            true => self.agreements.waiting_processes(is_up),
            false => self.awaiting.iter().filter(|at| is_up(**at)).copied().collect(),
        };
        waiting.into_iter().map(ProcessId::display_number).collect()
    }

    fn numbers_in(&self, condition: ProcessCondition) -> Vec<u32> {
        self.process_states.process_numbers_in(condition)
    }

    fn verify_resource(&self, findings: &mut Findings) {
        if self.header.fenced {
            findings
                .add_judgement(Property::FencedAccess, self.resource.first_stale_access.as_ref());
        }
        let lost = self.resource.counter_result().filter(|counter| counter.lost != 0);
        let found = lost.map(|ResourceCounterResult { expected, found, lost }| DetectedViolation {
            time: self.now,
            description: format!("{expected} increments came to {found}: {lost} lost"),
        });
        findings.add_judgement(Property::NoLostUpdate, found.as_ref());
    }
}

fn spending(service: Service, most: u64) -> MonitorRun<MessageBudget> {
    let per = if service == Service::Election { CostUnit::Election } else { CostUnit::Entry };
    MonitorRun::new(MessageBudget::at_most(per, most))
}
