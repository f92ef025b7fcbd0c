//! Handles the part of scheduled events that does not depend on the protocol.

use tenure_core::service::{agreement, election, mutex, mutex_and_election};
use tenure_core::{EventConversions, Observation, PeerVerdict, ProcessId};
use tenure_trace::{MessageRecord, RecordKind};

use crate::engine::lock_users::LockUserPhase;
use crate::engine::run_context::RunContext;
use crate::engine::scheduled_event::{ScheduledEvent, suspicion_verdict};
use crate::engine::user_messages::UserMessage;
use crate::judging::causality::CausalityScope;
use crate::settings::DetectorSettings;
use crate::settings::fault::{CrashTrigger, Fault, RecoveredState};

/// Action that the engine must perform on a process as a consequence of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProcessAction {
    /// No action is left.
    Nothing,
    /// The user of the lock at this process issues this command.
    Command(ProcessId, mutex::Command),
    /// The user of an agreement service issues the command that ends its use of a resource.
    EndOfUse(ProcessId),
    /// The failure detector of `observer` changes its verdict on `peer`.
    Suspicion { observer: ProcessId, peer: ProcessId, verdict: PeerVerdict },
    /// The configured fault with the index `fault` crashes the process if it is up.
    Crash { process: ProcessId, fault: u32 },
    /// The process boots again. If `lost` is true, it has lost its stable state.
    Recover { process: ProcessId, lost: bool },
    /// The command with this index among those that the caller has scheduled is issued.
    Script(u32),
    /// The user of `process` receives a message. `clock` is the logical clock of the sender's
    /// protocol, if the message carries it. If `reacts` is true, the user issues its next request
    /// for the lock at once.
    ReceiveUserMessage { process: ProcessId, clock: Option<u64>, reacts: bool },
}

impl RunContext {
    /// Handles the part of an event that does not depend on the protocol. Returns the action that
    /// the engine must still perform on a process.
    pub(crate) fn handle_event(&mut self, event: ScheduledEvent) -> ProcessAction {
        match event {
            ScheduledEvent::Timer { .. } | ScheduledEvent::UserCommand { .. } => {
                ProcessAction::Nothing
            }
            ScheduledEvent::EndOfUse { process } => {
                let users = self.agreement_users.as_ref().map(|it| &it.users);
                match users.is_some_and(|users| users.is_using(process)) {
                    true => ProcessAction::EndOfUse(process),
                    false => ProcessAction::Nothing,
                }
            }
            ScheduledEvent::RequestArrival { process } => self.on_request_arrival(process),
            ScheduledEvent::UserMessage { message } => self.receive_user_message(message),
            ScheduledEvent::DetectorReport { observer, peer, suspect } => {
                self.deliver_report(observer, peer, suspect)
            }
            ScheduledEvent::FalseSuspicion { fault, observer, peer, suspect } => {
                if !self.live_processes.is_up(observer) || !self.live_processes.is_up(peer) {
                    return ProcessAction::Nothing;
                }
                if suspect {
                    self.faults.record_occurrence(fault);
                }
                self.note_election_disturbance();
                ProcessAction::Suspicion { observer, peer, verdict: suspicion_verdict(suspect) }
            }
            ScheduledEvent::PartitionBegins { fault, partition } => {
                self.begin_partition(fault, partition);
                self.note_progress();
                ProcessAction::Nothing
            }
            ScheduledEvent::PartitionHeals { partition } => {
                self.end_partition(partition);
                self.note_progress();
                ProcessAction::Nothing
            }
            ScheduledEvent::Crash { fault, process } => ProcessAction::Crash { process, fault },
            ScheduledEvent::CrashInPhase { fault, inside, count } => {
                let process = self.crash_target_in_phase(fault, inside, count);
                match process {
                    Some(process) => ProcessAction::Crash { process, fault },
                    None => ProcessAction::Nothing,
                }
            }
            ScheduledEvent::Recover { fault, process, lost } => {
                if self.live_processes.is_up(process) {
                    return ProcessAction::Nothing;
                }
                self.faults.record_occurrence(fault);
                ProcessAction::Recover { process, lost }
            }
            ScheduledEvent::RecoverFromCrash { process, session, lost } => {
                if !self.live_processes.is_crashed_in(process, session) {
                    return ProcessAction::Nothing;
                }
                self.faults.automatic_recoveries += 1;
                ProcessAction::Recover { process, lost }
            }
            ScheduledEvent::Script { index } => {
                self.script_left -= 1;
                ProcessAction::Script(index)
            }
        }
    }

    /// Delivers a report of the failure detector. Drops the report if it is no longer true, or if
    /// the observer is down.
    fn deliver_report(
        &mut self,
        observer: ProcessId,
        peer: ProcessId,
        suspect: bool,
    ) -> ProcessAction {
        self.detector.record_report_delivery();
        if !self.live_processes.is_up(observer) {
            return ProcessAction::Nothing;
        }
        if self.live_processes.is_up(peer) && self.router.is_partitioned(observer, peer) {
            self.detector.add_separated_pair(observer, peer);
        }
        if self.can_reach(observer, peer) == suspect {
            return ProcessAction::Nothing;
        }
        ProcessAction::Suspicion { observer, peer, verdict: suspicion_verdict(suspect) }
    }

    fn on_request_arrival(&mut self, process: ProcessId) -> ProcessAction {
        let Some(users) = &mut self.lock_users else { return ProcessAction::Nothing };
        if users.on_request_arrival(process, self.now, &mut self.event_queue) {
            return ProcessAction::Command(process, mutex::Command::Enter);
        }
        ProcessAction::Nothing
    }

    /// Delivers the message between users with this index. The message is lost if the process of
    /// the receiver is down.
    pub(crate) fn receive_user_message(&mut self, message: u32) -> ProcessAction {
        let UserMessage { from, to, tag, clock } = self.user_traffic.receive(message);
        if !self.live_processes.is_up(to) {
            self.tracer.finish_tag(tag, None, CausalityScope::All);
            return ProcessAction::Nothing;
        }
        let traced = self.tracer.recorder.as_ref().map(|recorder| recorder.traced_message(tag));
        self.tracer.finish_tag(tag, Some(to), CausalityScope::All);
        if let Some(traced) = traced {
            let message_record =
                MessageRecord::new(&UserMessageContent, from, traced.session, traced.number);
            self.trace_without_tick(to, RecordKind::Receive(message_record));
        }
        let reacts = self
            .settings
            .workload
            .background_traffic
            .is_some_and(|traffic| traffic.triggers_request)
            && self.lock_users.as_ref().is_some_and(|users| users.can_request_early(to));
        ProcessAction::ReceiveUserMessage { process: to, clock, reacts }
    }

    fn begin_partition(&mut self, fault: u32, partition: u32) {
        self.router.set_partition_active(partition, true);
        self.faults.record_occurrence(fault);
        self.trace_group(RecordKind::Partition(self.router.connected_groups()));
        self.cut_off_minorities();
        self.schedule_reports_across(partition, true);
    }

    /// Ends a partition. Other partitions may still divide the network.
    fn end_partition(&mut self, partition: u32) {
        self.router.set_partition_active(partition, false);
        let groups = self.router.connected_groups();
        self.trace_group(match groups.len() {
            1 => RecordKind::Heal,
            _ => RecordKind::Partition(groups),
        });
        self.schedule_reports_across(partition, false);
    }

    /// Marks the processes that partitions separate from a majority for ever. Like crashed
    /// processes, the marked processes need not be served. Marks none if no part of the group has a
    /// majority, or if the settings permit a run beyond the assumptions of the algorithm.
    fn cut_off_minorities(&mut self) {
        let cut_off = self.settings.processes_cut_off_at(self.now);
        let is_minority = !cut_off.is_empty() && cut_off.len() < self.settings.size as usize;
        if is_minority && !self.settings.beyond_assumptions {
            self.live_processes.set_cut_off(&cut_off);
            if let Some(users) = &mut self.lock_users {
                users.set_cut_off(&cut_off);
            }
            self.beliefs.recount(self.live_processes.connected_flags());
        }
    }

    /// Returns true if `peer` is up and no active partition separates it from `observer`.
    pub(crate) fn can_reach(&self, observer: ProcessId, peer: ProcessId) -> bool {
        self.live_processes.is_up(peer) && !self.router.is_partitioned(observer, peer)
    }

    /// Returns the process that the configured fault with the index `fault` crashes. Returns `None`
    /// if the process is not in the required phase, or if the fault has occurred already. If
    /// `is_inside` is true, the process must be inside the critical section in its entry number
    /// `count`. Otherwise, the process must be waiting with its request number `count`.
    pub(crate) fn crash_target_in_phase(
        &self,
        fault: u32,
        is_inside: bool,
        count: u32,
    ) -> Option<ProcessId> {
        let Fault::Crash { process, .. } = self.settings.faults[fault as usize] else {
            return None;
        };
        if self.faults.has_occurred(fault) {
            return None;
        }
        let users = self.lock_users.as_ref()?;
        let (requests, entries) = users.request_and_entry_counts(process);
        let is_in_phase = match users.phase(process) {
            LockUserPhase::Inside => is_inside && entries == count,
            LockUserPhase::Waiting => !is_inside && requests == count,
            _ => false,
        };
        is_in_phase.then_some(process)
    }

    /// Performs the part of a crash that does not depend on the protocol. The process must be up.
    /// `fault` is the index of the configured fault; `None` if an intervention crashes the process.
    pub(super) fn crash(&mut self, process: ProcessId, fault: Option<u32>) {
        if let Some(fault) = fault {
            self.faults.record_occurrence(fault);
            let configured = &self.settings.faults[fault as usize];
            if let Fault::Crash { recovery: Some(back), .. } = configured {
                let session = self.live_processes.session(process);
                let session = u32::try_from(session).expect("fewer than 2^32 recoveries");
                let lost = back.memory == RecoveredState::Lost;
                let act = ScheduledEvent::RecoverFromCrash { process, session, lost };
                self.fault_queue.push(self.now.saturating_add(back.downtime), act);
            }
        }
        self.trace_without_tick(process, RecordKind::Crash);
        self.live_processes.mark_crashed(process);
        self.faults.crashes += 1;
        if let Some(load) = &mut self.metrics.load {
            load.set_inside(process, false, self.now);
        }
        if let Some(users) = &mut self.lock_users
            && users.record_crash(process) == LockUserPhase::Waiting
        {
            self.metrics.waiting.change(self.now, false);
            if self.metrics.waiting.current() == 0 {
                // No waiting process is left, so the last exit causes no hand-over to measure.
                self.last_exit = None;
            }
        }
        self.beliefs.forget_leader(process, self.live_processes.connected_flags());
        self.beliefs.recount(self.live_processes.connected_flags());
        self.elections.disturb();
        self.note_election_disturbance();
        self.monitors.on_crash(self.now, process);
        if let Some(agreement) = &mut self.agreement_users {
            agreement.users.on_crash(process);
        }
        self.schedule_reports_about(process, true);
        self.note_progress();
    }

    /// Records the recovery of a process, before the effects of its boot are released.
    pub(crate) fn on_recovered(&mut self, process: ProcessId) {
        self.live_processes.mark_recovered(process);
        self.faults.recoveries += 1;
        self.trace_event(process, RecordKind::Recover);
        self.beliefs.recount(self.live_processes.connected_flags());
        self.elections.disturb();
        self.note_election_disturbance();
        self.monitors.on_recovery(self.now, process);
        self.schedule_reports_about(process, false);
        self.schedule_reports_of_absent(process);
        if let Some(users) = &mut self.lock_users {
            users.record_recovery(process);
        }
        self.note_progress();
    }

    /// Schedules a report about `peer` to each other live process. If `suspect` is true, `peer` has
    /// crashed, and the report is a suspicion. Otherwise, `peer` has recovered, and the report
    /// withdraws the suspicion. Does nothing if the run has no failure detector.
    fn schedule_reports_about(&mut self, peer: ProcessId, suspect: bool) {
        let Some(detector) = self.settings.detector else { return };
        for place in 0..self.settings.size {
            let observer = ProcessId(place);
            if observer != peer && self.live_processes.is_up(observer) {
                self.schedule_report(detector, (observer, peer), suspect);
            }
        }
    }

    /// Schedules reports to the live processes that a partition separates. If `suspect` is true,
    /// each observer suspects the peers on the other side. Otherwise, each observer trusts the
    /// peers that it suspected because of the partition and can reach again.
    fn schedule_reports_across(&mut self, partition: u32, suspect: bool) {
        let Some(detector) = self.settings.detector else { return };
        let all = || (0..self.settings.size).map(ProcessId);
        let mut pairs: Vec<_> = if suspect {
            all().flat_map(|at| all().map(move |peer| (at, peer))).collect()
        } else {
            self.detector.separated_pairs().collect()
        };
        pairs.retain(|(at, peer)| self.router.separates(partition, *at, *peer));
        pairs.retain(|(at, peer)| {
            self.can_reach(*at, *peer) != suspect && self.live_processes.is_up(*at)
        });
        for pair in pairs {
            if !suspect {
                self.detector.remove_separated_pair(pair);
            }
            self.schedule_report(detector, pair, suspect);
        }
    }

    fn schedule_report(
        &mut self,
        detector: DetectorSettings,
        (observer, peer): (ProcessId, ProcessId),
        suspect: bool,
    ) {
        let time = self.now.saturating_add(self.detector.begin_report(detector));
        self.event_queue.push(time, ScheduledEvent::DetectorReport { observer, peer, suspect });
    }

    /// Schedules reports to `observer` about all peers that are down or behind a partition. Called
    /// when `observer` has recovered.
    fn schedule_reports_of_absent(&mut self, observer: ProcessId) {
        let Some(detector) = self.settings.detector else { return };
        for place in 0..self.settings.size {
            let peer = ProcessId(place);
            if observer != peer && !self.can_reach(observer, peer) {
                self.schedule_report(detector, (observer, peer), true);
            }
        }
    }

    /// Schedules reports about the processes that are down from the start.
    pub(crate) fn schedule_initial_detector_reports(&mut self) {
        for process in (0..self.settings.size).map(ProcessId) {
            if !self.live_processes.is_up(process) {
                self.schedule_reports_about(process, true);
            }
        }
    }

    /// Records a command for a lock or an election that a user issues, before the protocol receives
    /// the command.
    pub(crate) fn on_command(&mut self, at: ProcessId, command: mutex_and_election::Command) {
        match command {
            mutex_and_election::Command::Mutex(mutex::Command::Enter) => {
                self.metrics.waiting.change(self.now, true);
                if let Some(users) = &mut self.lock_users {
                    users.record_enter_request(at, self.now);
                    if self.has_faults {
                        self.schedule_phase_crashes(at, false);
                    }
                }
            }
            mutex_and_election::Command::Mutex(mutex::Command::Exit) => {
                if let Some(users) = &mut self.lock_users {
                    users.record_exit_request(at, self.now);
                }
            }
            mutex_and_election::Command::Election(election::Command::Elect) => {
                self.beliefs.on_request(at, self.live_processes.connected_flags());
                self.metrics.election_request_count += 1;
                self.note_election_disturbance();
            }
            mutex_and_election::Command::Election(election::Command::Resign) => {
                self.note_election_disturbance()
            }
        }
        self.judge_command(at, command);
    }

    /// Sends a message from the user of `at` to another user, with the configured probability.
    /// `clock` is the logical clock that the message carries. Called after each request of the user
    /// for the lock.
    #[cold]
    pub(crate) fn send_background_traffic(&mut self, at: ProcessId, clock: Option<u64>) {
        let Some(traffic) = self.settings.workload.background_traffic else { return };
        let size = self.settings.size;
        if size < 2
            || !self.user_traffic.draw_occurrence(traffic.send_chance, self.metrics.user_messages)
        {
            return;
        }
        let to = self.user_traffic.draw_receiver(size, at);
        let latency = traffic.latency.draw(&mut self.user_traffic.random);
        let arrives = self.now.saturating_add(latency);
        let message = self.send_user_message(at, to, clock);
        self.event_queue.push(arrives, ScheduledEvent::UserMessage { message });
    }

    /// Sends a message from one user to another, and returns the index of the message in
    /// [`UserTraffic`](crate::engine::user_messages::UserTraffic). The caller schedules the
    /// arrival.
    pub(crate) fn send_user_message(
        &mut self,
        at: ProcessId,
        to: ProcessId,
        clock: Option<u64>,
    ) -> u32 {
        self.metrics.user_messages += 1;
        let tag = if self.tracer.tags_messages { self.new_message_tag(at) } else { 0 };
        if let Some(recorder) = &self.tracer.recorder {
            let traced = recorder.traced_message(tag);
            let message_record =
                MessageRecord::new(&UserMessageContent, to, traced.session, traced.number);
            self.trace_without_tick(at, RecordKind::Send(message_record));
        }
        self.user_traffic.send(UserMessage { from: at, to, tag, clock })
    }

    /// Records an event that the process `at` emits for its user.
    pub(crate) fn on_event(&mut self, at: ProcessId, event: &impl EventConversions) {
        if let Some(event) = event.as_mutex() {
            self.on_lock_event(at, event);
        }
        if let Some(event) = event.as_election() {
            self.on_election_event(at, event);
        }
        if let Some(event) = event.to_agreement() {
            self.on_agreement_event(at, &event);
        }
    }

    pub(crate) fn on_agreement_command(&mut self, at: ProcessId, command: &agreement::Command) {
        if let Some(users) = &mut self.agreement_users {
            users.on_command(self.now, at, command, &mut self.metrics);
        }
        if let Some(monitors) = &mut self.monitors.agreement {
            monitors.observe(self.now, at, Observation::Command { command, clock: None });
        }
    }

    fn on_agreement_event(&mut self, at: ProcessId, event: &agreement::Event) {
        if let Some(users) = &mut self.agreement_users {
            let keeps_words = self.settings.monitoring.metrics;
            let has_next = users.on_event(self.now, at, event, &mut self.metrics, keeps_words);
            match users.draw_end_of_use(self.now, at) {
                Some(due) => {
                    self.event_queue.push(due, ScheduledEvent::EndOfUse { process: at });
                }
                None => self.next_user = has_next.then_some(at),
            }
        }
        if let Some(monitors) = &mut self.monitors.agreement {
            monitors.observe(self.now, at, Observation::Event(event));
        }
        self.note_progress();
    }

    fn on_lock_event(&mut self, at: ProcessId, event: &mutex::Event) {
        match event {
            mutex::Event::Entered { .. } => self.entered(at),
            mutex::Event::Exited => self.exited(at),
        }
        if let Some(monitors) = &mut self.monitors.mutex {
            monitors.on_event(self.now, at, event);
        }
    }

    fn on_election_event(&mut self, at: ProcessId, event: &election::Event) {
        match event {
            election::Event::Elected { leader, term } => {
                let live = self.live_processes.connected_flags();
                self.beliefs.on_elected(at, *leader, *term, live);
                self.note_progress();
            }
            election::Event::Deposed { .. } => {
                self.beliefs.forget_leader(at, self.live_processes.connected_flags())
            }
        }
        self.track_elections();
        if let Some(monitors) = &mut self.monitors.election {
            monitors.observe(self.now, at, Observation::Event(event));
        }
    }

    fn entered(&mut self, at: ProcessId) {
        self.metrics.entry_count += 1;
        self.metrics.waiting.change(self.now, false);
        if let Some(load) = &mut self.metrics.load {
            load.set_inside(at, true, self.now);
        }
        if self.settings.monitoring.metrics {
            self.metrics.entering_processes.push(at);
        }
        if let Some(exit) = self.last_exit.take() {
            self.metrics.synchronisation_delay.add(self.now - exit);
        }
        if let Some(users) = &mut self.lock_users {
            if let Some(waited) = users.record_entry(at, self.now, &mut self.event_queue) {
                self.metrics.entry_delay.add(waited);
            }
            if self.has_faults {
                self.schedule_phase_crashes(at, true);
            }
        }
        self.note_progress();
    }

    fn exited(&mut self, at: ProcessId) {
        let waiting = self.metrics.waiting.current() > 0;
        self.last_exit = waiting.then_some(self.now);
        if let Some(load) = &mut self.metrics.load {
            load.set_inside(at, false, self.now);
        }
        if let Some(users) = &mut self.lock_users {
            let (took, again) = users.record_exit(at, self.now, &mut self.event_queue);
            if let Some(took) = took {
                self.metrics.exit_delay.add(took);
            }
            self.next_user = again.then_some(at);
        }
        self.note_progress();
    }

    /// Schedules the configured crashes of `process` that depend on its new phase. If `inside` is
    /// true, the process has just entered the critical section. Otherwise, it has just requested
    /// the lock. A crash that has occurred is not scheduled again when the process repeats the
    /// request after its recovery.
    #[cold]
    fn schedule_phase_crashes(&mut self, process: ProcessId, inside: bool) {
        let Some(users) = &self.lock_users else { return };
        let (requests, entries) = users.request_and_entry_counts(process);
        for (fault, configured) in self.settings.faults.iter().enumerate() {
            let Fault::Crash { process: crashing, when, .. } = configured else { continue };
            let (wanted, after) = match *when {
                CrashTrigger::Inside { entry, after } if inside => (entry, after),
                CrashTrigger::Waiting { request, after } if !inside => (request, after),
                _ => continue,
            };
            let count = if inside { entries } else { requests };
            let fault = u32::try_from(fault).expect("fewer than 2^32 faults");
            let is_due = *crashing == process && wanted == u64::from(count);
            if is_due && !self.faults.has_occurred(fault) {
                let crash = ScheduledEvent::CrashInPhase { fault, inside, count };
                self.fault_queue.push(self.now.saturating_add(after), crash);
            }
        }
    }
}

/// Empty content of a message between users. It serves only as a label in traces and metrics.
struct UserMessageContent;

impl tenure_core::Labelled for UserMessageContent {
    fn label(&self) -> tenure_core::MessageLabel {
        tenure_core::MessageLabel { layer: tenure_core::Layer::Application, kind: "chat" }
    }
}
