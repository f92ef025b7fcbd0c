//! State of a run that depends on the protocol: processes, their messages and their timers.

use std::collections::VecDeque;

use tenure_core::service::{election, mutex, mutex_and_election};
use tenure_core::{
    EffectBuffer, Group, Input, Labelled, Observation, PeerVerdict, ProcessId, Protocol,
    TimerChange,
};
use tenure_trace::{RecordKind, RecordableProtocol, SaveFaults, ServiceCommand, ServiceEvent};

use crate::engine::controls::RunControls;
use crate::engine::delivery::{Envelope, record_loss, record_receipt};
use crate::engine::environment::RunEnvironment;
use crate::engine::events::ProcessAction;
use crate::engine::lock_users::LockUsers;
use crate::engine::queue::TimedQueue;
use crate::engine::random::Random;
use crate::engine::run_context::RunContext;
use crate::engine::scheduled_event::ScheduledEvent;
use crate::engine::timers::Timers;
use crate::engine::user_messages::ClockHooks;
use crate::judging::custom_monitor::CustomMonitor;
use crate::results::report::EndReason;
use crate::settings::configs::ProcessConfigs;
use crate::settings::workload::Initiators;

/// The complete state of a simulation run.
pub(crate) struct World<'a, P: Protocol> {
    pub(crate) run: RunContext,
    pub(crate) processes: Vec<P>,
    configs: &'a ProcessConfigs<P::Config>,
    /// Effects of the step in progress, which the engine has not applied yet.
    pub(crate) batch: EffectBuffer<P, RunEnvironment>,
    pub(crate) in_flight: TimedQueue<Envelope<P::Message>>,
    pub(crate) timers: Timers<P::Timer>,
    /// Commands that the caller has scheduled: time in ticks, process, and command.
    script: &'a [(u64, ProcessId, P::Command)],
    /// Monitors that the caller has added.
    monitors: Vec<CustomMonitor<P>>,
    /// `None` if messages between users carry no clock.
    clock_hooks: Option<ClockHooks<P>>,
    pub(crate) save_faults: SaveFaults<P>,
    /// True while [`Self::issue_next_commands`] issues commands.
    is_issuing: bool,
}

impl<'a, P: Protocol> World<'a, P>
where
    P: RecordableProtocol,
{
    pub(crate) fn new(
        run: RunContext,
        configs: &'a ProcessConfigs<P::Config>,
        script: &'a [(u64, ProcessId, P::Command)],
        monitors: Vec<CustomMonitor<P>>,
        clock_hooks: Option<ClockHooks<P>>,
    ) -> Self {
        let choices =
            Random::stream(run.settings.seed, crate::engine::random::RandomStream::Choices);
        let batch = EffectBuffer::new(RunEnvironment::new(choices, run.clocks));
        let (in_flight, timers) = (TimedQueue::new(), Timers::new());
        let processes = Vec::with_capacity(run.settings.size as usize);
        let save_faults = SaveFaults::default();
        World {
            run,
            processes,
            configs,
            batch,
            in_flight,
            timers,
            script,
            monitors,
            clock_hooks,
            save_faults,
            is_issuing: false,
        }
    }

    pub(crate) fn run(&mut self, controls: &mut RunControls<'_>) -> EndReason {
        self.boot();
        self.start_workload(controls);
        loop {
            if let Some(ended) = self.report_progress_and_check_end(controls) {
                return ended;
            }
            for _ in 0..self.events_until_check() {
                if let Some(ended) = self.handle_event_or_end() {
                    return ended;
                }
            }
        }
    }

    /// Completes the measurements at the end of a run. Counts the messages to other processes that
    /// are in flight, and extends time averages to the present.
    pub(crate) fn finish_measurements(&mut self) {
        for envelope in self.in_flight.iter().filter(|envelope| envelope.from != envelope.to) {
            self.run.in_flight_at_end += 1;
            if self.run.settings.monitoring.metrics {
                self.run.metrics.counts_of_kind(envelope.message.label()).in_flight += 1;
            }
        }
        let now = self.run.now;
        self.run.metrics.waiting.extend_mean_to(now);
        if let Some(load) = &mut self.run.metrics.load {
            load.finish_at(now);
        }
    }

    pub(crate) fn into_parts(self) -> (RunContext, Vec<P>, Vec<CustomMonitor<P>>) {
        (self.run, self.processes, self.monitors)
    }

    pub(crate) fn boot(&mut self) {
        for place in 0..self.run.settings.size {
            let at = ProcessId(place);
            let process = self.boot_process(at, None);
            self.processes.push(process);
            let is_up = self.run.live_processes.is_up(at);
            if self.run.tracer.is_recording() {
                self.run.trace_event(at, RecordKind::Boot);
                // In a trace, a process that is down from the start crashes in its boot.
                if !is_up {
                    self.run.trace_event(at, RecordKind::Crash);
                }
            }
            if is_up { self.apply_effects(at) } else { self.batch.clear() }
        }
    }

    /// Creates the process `at` with the saved state `stable`, or as on its first boot if `stable`
    /// is `None`. The effects of the boot are in `batch`.
    fn boot_process(&mut self, at: ProcessId, stable: Option<P::Stable>) -> P {
        self.set_context(at);
        let group = Group::new(at, self.run.settings.size);
        P::boot(group, self.configs.of(at), stable, &mut self.batch.sink())
    }

    /// Starts the workload: issues all requests that are due at time 0, before any message is
    /// delivered. In a large group, these requests send very many messages. Therefore the stop flag
    /// is checked before each user issues its requests.
    pub(crate) fn start_workload(&mut self, controls: &RunControls<'_>) {
        self.run.schedule_initial_detector_reports();
        self.run.script_left = self.script.len();
        for (index, (time, ..)) in self.script.iter().enumerate() {
            let index = u32::try_from(index).expect("a script has fewer than 2^32 commands");
            self.run.event_queue.push(*time, ScheduledEvent::Script { index });
        }
        let all = (0..self.run.settings.size).map(ProcessId);
        let initiators = match self.run.settings.workload.initiators.clone() {
            Some(Initiators::All) => all.clone().collect(),
            Some(Initiators::Listed(listed)) => listed,
            None => Vec::new(),
        };
        for process in initiators {
            self.issue(process, election::Command::Elect);
        }
        for process in all {
            if controls.is_stopped() {
                return;
            }
            self.begin_user(process);
        }
    }

    /// Issues the first command of the user of `process` after a boot, or schedules it.
    fn begin_user(&mut self, process: ProcessId) {
        self.issue_agreement_command(process);
        let run = &mut self.run;
        let Some(users) = &mut run.lock_users else { return };
        if users.schedule_first_request(process, run.now, &mut run.event_queue) {
            self.issue(process, mutex::Command::Enter);
        }
    }

    /// Handles one event, or ends the run if it is complete or no event is left before the end
    /// time. If no message is in flight, first issues the next request of a sequential workload, if
    /// one is due. Returns the reason if the run ends, and otherwise `None`.
    #[inline]
    pub(crate) fn handle_event_or_end(&mut self) -> Option<EndReason> {
        if self.in_flight.is_empty()
            && let Some(ended) = self.on_idle_network()
        {
            return Some(ended);
        }
        self.handle_earliest_event()
    }

    /// Handles the earliest event, unless it is later than the end time of the run. In that case,
    /// returns the reason why the run ends, and otherwise `None`.
    #[inline]
    pub(crate) fn handle_earliest_event(&mut self) -> Option<EndReason> {
        let in_flight = self.in_flight.next_time();
        let plan = self.run.fault_queue.next_time();
        let event_queue = self.run.event_queue.next_time();
        let next = in_flight.min(plan).min(event_queue);
        if next > self.run.end_time {
            return Some(self.end_at_time_limit());
        }
        self.run.metrics.events += 1;
        if in_flight < plan && in_flight <= event_queue {
            self.deliver_next();
        } else if plan <= event_queue {
            let event = self.run.fault_queue.pop();
            self.handle(event);
        } else {
            let event = self.run.event_queue.pop();
            self.handle(event);
        }
        None
    }

    /// Returns true if [`Self::handle_event_or_end`] would issue the next request of a sequential
    /// workload before it handles an event.
    pub(crate) fn will_issue_sequential_request(&self) -> bool {
        let users = self.run.lock_users.as_ref();
        self.in_flight.is_empty()
            && !self.run.is_complete_when_idle()
            && users.is_some_and(LockUsers::can_draw_requester)
    }

    /// In a sequential workload, selects a user at random and issues a request of this user.
    /// Returns false if no request is due.
    pub(crate) fn issue_sequential_request(&mut self) -> bool {
        let Some(process) = self.run.lock_users.as_mut().and_then(LockUsers::draw_requester) else {
            return false;
        };
        self.issue(process, mutex::Command::Enter);
        true
    }

    /// Sets the process and the time for which the environment answers in the next step.
    #[inline]
    fn set_context(&mut self, at: ProcessId) {
        self.batch.environment.at = at;
        self.batch.environment.now = self.run.now;
    }

    fn deliver_next(&mut self) {
        let Some((time, envelope)) = self.in_flight.pop() else { return };
        self.run.now = time;
        self.deliver(envelope);
    }

    #[inline]
    pub(crate) fn deliver(&mut self, envelope: Envelope<P::Message>) {
        let run = &mut self.run;
        if run.has_faults && !self.can_deliver(&envelope) {
            return;
        }
        let Envelope { from, to, tag, message } = envelope;
        let unprocessed = self.step(to, Input::Message { from, message }, |world, input| {
            let run = &mut world.run;
            run.metrics.received += u64::from(from != to);
            if from != to
                && let Some(load) = &mut run.metrics.load
            {
                load.on_receive(to);
            }
            if run.tracer.tags_messages
                && let Input::Message { message, .. } = input
            {
                record_receipt(run, from, to, tag, message);
            }
        });
        if let Some(Input::Message { message, .. }) = unprocessed {
            self.run.faults.undeliverable += 1;
            self.lose(&Envelope { from, to, tag, message });
        }
    }

    /// Lets a process handle an input, and applies the effects. `note` records the input before the
    /// process handles it. Returns the input if the process crashes without handling it, and
    /// otherwise `None`.
    #[inline]
    fn step(
        &mut self,
        at: ProcessId,
        input: Input<P>,
        note: impl FnOnce(&mut Self, &Input<P>),
    ) -> Option<Input<P>> {
        self.set_context(at);
        if self.run.faults.has_save_crashes()
            && let Some((fault, is_kept)) = self.count_save_and_find_crash(at, &input)
        {
            if is_kept {
                self.run.trace_event(at, RecordKind::Mute);
                note(self, &input);
            }
            return self.crash_during_save(at, input, fault, is_kept);
        }
        note(self, &input);
        if !self.save_faults.is_empty() && self.handle_if_mute(at, &input) {
            return None;
        }
        if let Some(load) = &mut self.run.metrics.load {
            load.on_handled_input(at);
        }
        self.processes[at.index()].step(input, &mut self.batch.sink());
        self.apply_effects(at);
        None
    }

    /// Returns true if the receiver of a message can handle it. Returns false if the receiver is
    /// down, if a partition separates it from the sender, or if the message triggers a crash of the
    /// receiver. In these cases, records the loss and performs the crash. Called only if
    /// [`RunContext::has_faults`] is true.
    #[cold]
    fn can_deliver(&mut self, envelope: &Envelope<P::Message>) -> bool {
        let (from, to) = (envelope.from, envelope.to);
        let run = &mut self.run;
        let mut admitted = run.live_processes.is_up(to);
        run.faults.undeliverable += u64::from(!admitted);
        if admitted && run.router.has_partitions() && run.router.block_if_partitioned(from, to) {
            admitted = false;
        }
        if admitted && let Some(fault) = run.faults.on_message(to) {
            admitted = false;
            run.faults.undeliverable += 1;
            self.crash(to, Some(fault));
        }
        if !admitted {
            self.lose(envelope);
        }
        admitted
    }

    /// Records the loss of a message that was in flight.
    #[cold]
    fn lose(&mut self, envelope: &Envelope<P::Message>) {
        let run = &mut self.run;
        if envelope.from != envelope.to {
            run.count_dropped(envelope.message.label());
        }
        if run.tracer.tags_messages {
            record_loss(run, envelope.from, envelope.to, envelope.tag, &envelope.message);
        }
    }

    /// Handles an event that was taken from the queue of faults or from the queue of other events.
    fn handle(&mut self, event: Option<(u64, ScheduledEvent)>) {
        let Some((time, event)) = event else { return };
        if let ScheduledEvent::Timer { slot, generation } = event {
            // A disarmed timer has no effect, so time does not advance for it.
            let Some((at, timer)) = self.timers.take_fired_timer(slot, generation) else { return };
            self.run.now = time;
            return self.fire_timer(at, timer);
        }
        self.run.now = time;
        if let ScheduledEvent::UserCommand { process, command } = event {
            if self
                .run
                .lock_users
                .as_ref()
                .is_some_and(|users| users.is_command_due(process, command, time))
            {
                self.issue(process, command);
            }
            return;
        }
        let action = self.run.handle_event(event);
        self.perform_action(action);
    }

    pub(crate) fn perform_action(&mut self, action: ProcessAction) {
        match action {
            ProcessAction::Nothing => {}
            ProcessAction::Command(process, command) => self.issue(process, command),
            ProcessAction::EndOfUse(process) => self.issue_agreement_command(process),
            ProcessAction::Suspicion { observer, peer, verdict } => {
                self.suspect(observer, peer, verdict)
            }
            ProcessAction::Crash { process, fault } => self.crash(process, Some(fault)),
            ProcessAction::Recover { process, lost } => self.recover(process, lost),
            ProcessAction::ReceiveUserMessage { process, clock, reacts } => {
                if let (Some(clock_hooks), Some(clock)) = (self.clock_hooks, clock) {
                    (clock_hooks.observe)(&mut self.processes[process.index()], clock);
                    self.trace_state(process);
                }
                if reacts {
                    self.issue(process, mutex::Command::Enter);
                }
            }
            ProcessAction::Script(index) => {
                let (_, process, command) = &self.script[index as usize];
                self.handle_command(*process, command.clone());
            }
        }
    }

    pub(crate) fn fire_timer(&mut self, at: ProcessId, timer: P::Timer) {
        self.step(at, Input::Timer(timer), |world, input| {
            if world.run.tracer.is_recording()
                && let Input::Timer(timer) = input
            {
                world.run.trace_event(at, RecordKind::Timer(format!("{timer:?}")));
            }
        });
    }

    fn suspect(&mut self, at: ProcessId, peer: ProcessId, verdict: PeerVerdict) {
        self.step(at, Input::Suspicion { peer, verdict }, |world, _| {
            if world.run.tracer.is_recording() {
                world.run.trace_event(at, RecordKind::Suspicion { peer, verdict });
            }
        });
    }

    /// Crashes a process. `fault` is the index of the configured fault; `None` if an intervention
    /// crashes the process. Does nothing if the process is down.
    pub(crate) fn crash(&mut self, process: ProcessId, fault: Option<u32>) {
        if !self.run.live_processes.is_up(process) {
            return;
        }
        self.finish_save_fault(process);
        self.run.crash(process, fault);
        self.timers.cancel_all_of(process);
        self.show_monitors(process, Observation::Crashed);
    }

    /// Boots a process that is down. If `lost` is true, the process has lost its stable state.
    fn recover(&mut self, process: ProcessId, lost: bool) {
        let stable = (!lost).then(|| self.processes[process.index()].stable());
        self.processes[process.index()] = self.boot_process(process, stable);
        self.run.on_recovered(process);
        self.show_monitors(process, Observation::Recovered);
        self.apply_effects(process);
        self.begin_user(process);
    }

    /// Issues a command of the workload to `process`. Does nothing if the process is down, or if
    /// the protocol does not have this command.
    fn issue(&mut self, process: ProcessId, command: impl Into<mutex_and_election::Command>) {
        if let Some(command) = P::Command::from_mutex_and_election(command.into()) {
            self.handle_command(process, command);
        }
    }

    fn issue_agreement_command(&mut self, process: ProcessId) {
        let users = self.run.agreement_users.as_ref();
        let next = users.and_then(|users| users.next_command(process));
        if let Some(command) = next.and_then(P::Command::from_agreement) {
            self.handle_command(process, command);
        }
    }

    pub(crate) fn handle_command(&mut self, at: ProcessId, command: P::Command) {
        if !self.run.live_processes.is_up(at) {
            return;
        }
        let mutex_or_election_command = command.to_mutex_and_election();
        self.step(at, Input::Command(command), |world, input| {
            if let Input::Command(command) = input {
                world.note_command(at, command);
            }
        });
        if mutex_or_election_command == Some(mutex::Command::Enter.into())
            && self.run.settings.workload.background_traffic.is_some()
            && self.run.live_processes.is_up(at)
        {
            let process = &self.processes[at.index()];
            let clock = self.clock_hooks.map(|clock_hooks| (clock_hooks.clock)(process));
            self.run.send_background_traffic(at, clock);
        }
    }

    /// Records a command of a user for the trace, the metrics and the monitors, before the protocol
    /// receives the command.
    fn note_command(&mut self, at: ProcessId, command: &P::Command) {
        if self.run.tracer.is_recording() {
            self.run.trace_event(at, RecordKind::Command(command.to_recorded()));
        }
        if let Some(mutex_or_election_command) = command.to_mutex_and_election() {
            self.run.on_command(at, mutex_or_election_command);
        }
        if let Some(command) = command.to_agreement() {
            self.run.on_agreement_command(at, &command);
        }
        self.show_monitors(at, Observation::Command { command, clock: None });
    }

    #[inline]
    fn show_monitors(&mut self, at: ProcessId, seen: Observation<'_, P::Command, P::Event>) {
        for monitor in &mut self.monitors {
            monitor.observe(self.run.now, at, seen);
        }
    }

    /// Applies the effects in `batch` of a step of the process `at`: records the random choices,
    /// delivers the events to the user, sends the messages, and changes the timers. If the process
    /// crashes while it sends the messages, its changes of timers are lost.
    fn apply_effects(&mut self, at: ProcessId) {
        if !self.batch.environment.drawn.is_empty() {
            self.trace_choices(at);
        }
        if !self.batch.events.is_empty() {
            self.apply_events(at);
        }
        let departs = self.run.router.schedule_departure(at, self.run.now);
        if self.send_messages(at, departs) {
            return;
        }
        if !self.batch.timers.is_empty() {
            self.apply_timers(at, departs);
        }
        if self.run.tracer.is_recording() {
            self.trace_state(at);
        }
        if self.run.next_user.is_some() && !self.is_issuing {
            self.issue_next_commands();
        }
    }

    /// Issues the next commands of the user [`RunContext::next_user`]. If a command completes in
    /// its own step, `next_user` is set again, and the loop continues. A recursion could be as deep
    /// as the number of commands.
    fn issue_next_commands(&mut self) {
        self.is_issuing = true;
        while let Some(user) = self.run.next_user.take() {
            self.issue(user, mutex::Command::Enter);
            self.issue_agreement_command(user);
        }
        self.is_issuing = false;
    }

    #[cold]
    pub(crate) fn trace_choices(&mut self, at: ProcessId) {
        for choice in std::mem::take(&mut self.batch.environment.drawn) {
            if self.run.tracer.is_recording() {
                self.run.trace_without_tick(at, RecordKind::Choice(choice));
            }
        }
    }

    /// Prescribes the random choices of the next step, in the order in which the step draws them.
    /// If the step needs more choices, the further ones are drawn at random.
    pub(crate) fn prescribe_choices(&mut self, scripted: VecDeque<u32>) {
        self.batch.environment.scripted = scripted;
    }

    #[cold]
    fn trace_state(&mut self, at: ProcessId) {
        let recorder = self.run.tracer.recorder.as_mut();
        let states = recorder.and_then(|recorder| recorder.states.as_mut());
        let state = states
            .and_then(|states| states.state_record_if_changed(at, &self.processes[at.index()]));
        if let Some(state) = state {
            self.run.trace_without_tick(at, state);
        }
    }

    fn apply_events(&mut self, at: ProcessId) {
        for place in 0..self.batch.events.len() {
            let event = &self.batch.events[place];
            if self.run.tracer.is_recording() {
                self.run.trace_event(at, RecordKind::Event(event.to_recorded()));
            }
            for monitor in &mut self.monitors {
                monitor.observe(self.run.now, at, Observation::Event(event));
            }
            self.run.on_event(at, event);
        }
        self.batch.events.clear();
    }

    fn apply_timers(&mut self, at: ProcessId, departs: u64) {
        for change in self.batch.timers.drain(..) {
            match change {
                TimerChange::Set(timer, after) => {
                    let size = self.run.settings.size;
                    let (slot, generation) = self.timers.set(at, timer, size);
                    let drawn = self.batch.environment.choices.between(after.min, after.max);
                    let due = departs.saturating_add(self.run.clocks.real_ticks(at, drawn));
                    self.run.event_queue.push(due, ScheduledEvent::Timer { slot, generation });
                }
                TimerChange::Cancel(timer) => self.timers.cancel(at, &timer),
            }
        }
    }
}
