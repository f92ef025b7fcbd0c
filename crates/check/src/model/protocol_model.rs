//! The model of a protocol: runs its handlers, and interns their results.

use serde_json::Value;
use tenure_core::monitors::LinksOnly;
use tenure_core::{
    EffectBuffer, Group, Input, Labelled, Layer, PeerVerdict, ProcessId, Protocol, TimerChange,
    VectorClock, Violation,
};
use tenure_trace::property::{ServiceFacts, StepFacts};
use tenure_trace::state::debug_tree;
use tenure_trace::{MessageRecord, MuteState, RecordedCommand, ScriptCommand, ServiceCommand};

use crate::config::CheckConfig;
use crate::custom::fact_collector::step_facts;
use crate::measure::MeasureConfig;
use crate::model::causality::CausalityTracking;
use crate::model::fingerprint::{HashDomain, fingerprint};
use crate::model::handler_run::HandlerRun;
use crate::model::hooks::ProtocolHooks;
use crate::model::intern::{Interned, Interner};
use crate::model::monitors::{ErasedMonitor, OwnedObservation, StepObservation};
use crate::model::step_content::{DebugText, StepEffects, StepInput};
use crate::model::{LocalFacts, MonitorStateFacts, SearchModel, StepOutcome};
use crate::reduce::symmetry::{Renaming, SymmetryFunctions};
use crate::users::crashes::SaveTiming;
use crate::users::user::{Checkable, CheckableCommand, User, UserState, UserWorkload};
use crate::world::action::{MAX_OUTCOMES, ProcessInput};
use crate::world::choices::ChoiceEnumerator;
use crate::world::local::{Lifecycle, LocalState};
use crate::world::network::{Packet, QueueInterner};
use crate::world::step_queue::StepQueue;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Facts about a run that the monitors of a check need.
#[derive(Clone, Debug, Default)]
pub(crate) struct MonitorNeeds {
    /// True if the state of some monitor contains process names that cannot be derived from the
    /// states of the processes. Symmetry reduction is then not possible.
    pub(crate) depends_on_names: bool,
    pub(crate) causality: CausalityTracking,
    /// Layer whose messages the monitors may observe. `None` if they observe no messages.
    pub(crate) layer: Option<Layer>,
    /// True if the monitors observe every message of this layer.
    pub(crate) observes_all_messages: bool,
    /// Links on which processes may send messages; `None` if all links are permitted. The monitors
    /// observe every message of `layer` that is sent on a forbidden link.
    pub(crate) links: Option<LinksOnly>,
}

/// Monitors of a search, without their Rust types.
pub(crate) type ErasedMonitors<P> =
    Vec<Box<dyn ErasedMonitor<<P as Protocol>::Command, <P as Protocol>::Event>>>;

/// A protocol with its interned states, messages and observations.
pub(crate) struct ProtocolModel<P: Checkable> {
    pub(crate) config: CheckConfig,
    pub(crate) protocol: P::Config,
    pub(crate) hooks: ProtocolHooks<P>,
    pub(crate) needs: MonitorNeeds,
    pub(crate) workload: UserWorkload,
    pub(crate) locals: Interner<LocalState<P>>,
    pub(crate) messages: Interner<P::Message>,
    pub(crate) observations: Interner<StepObservation<P::Command, P::Event>>,
    pub(crate) monitors: ErasedMonitors<P>,
    pub(crate) network: Arc<QueueInterner>,
    pub(crate) measure: Option<MeasureConfig>,
    /// True if terms are bounded, and a process had a term above 0 in a state found so far.
    pub(crate) has_terms: AtomicBool,
    /// True while the search uses the reduction by commuting deliveries. The model then postpones
    /// events, and erases clocks that no later request reads.
    pub(crate) is_reducing: AtomicBool,
}

impl<P: Checkable> ProtocolModel<P> {
    fn all_boot_runs(&self, at: ProcessId) -> Vec<HandlerRun<P>> {
        let blank = self.blank(at);
        self.run_for_each_choice(|batch| {
            let group = Group::new(at, self.config.size);
            let process = P::boot(group, &self.protocol, None, &mut batch.sink());
            let mut local = blank.clone();
            local.lifecycle = Lifecycle::Up(process);
            self.apply_effects(local, Vec::new(), batch)
        })
    }

    /// Returns the local state of a process that has done nothing yet and is down.
    fn blank(&self, at: ProcessId) -> LocalState<P> {
        let mut batch = EffectBuffer::new(ChoiceEnumerator::new(self.config.model.clock_readings));
        let group = Group::new(at, self.config.size);
        let process = P::boot(group, &self.protocol, None, &mut batch.sink());
        LocalState {
            at,
            lifecycle: Lifecycle::Down(process.stable()),
            timers: Vec::new(),
            user: P::Command::new_user(at, &self.workload),
            past: vec![0; self.needs.causality.past_len(self.config.size)],
            suspected: 0,
            unfinished_steps: StepQueue::default(),
        }
    }

    /// Runs the handler of an input. Returns one run per combination of the handler's choices.
    pub(crate) fn handler_runs(
        &self,
        local: &LocalState<P>,
        cause: ProcessInput,
    ) -> Vec<HandlerRun<P>> {
        match cause {
            ProcessInput::Crash => self.crash_runs(local),
            ProcessInput::Mute => vec![self.mute_run(local)],
            ProcessInput::Recover => self.recovery_runs(local),
            ProcessInput::StepEnd => vec![self.step_end_run(local)],
            ProcessInput::Notify => vec![self.notification_run(local)],
            ProcessInput::Send(to) => {
                let run = HandlerRun::without_effects(local.clone());
                vec![HandlerRun { application: Some(to), ..run }]
            }
            ProcessInput::Deliver(packet) => self.deliver(local, packet),
            ProcessInput::Command(index) => self.command(local, index as usize),
            ProcessInput::Timer(index) => {
                let mut local = local.clone();
                let armed = local.timers.remove(index as usize);
                self.step(&local, &Input::Timer(armed.timer), Vec::new())
            }
            ProcessInput::Suspect(peer) => {
                let mut local = local.clone();
                local.suspected |= 1 << peer;
                self.step(&local, &suspicion(peer, PeerVerdict::Suspect), Vec::new())
            }
            // A new session does not change the opinion of the failure detector.
            ProcessInput::RestartSuspect(peer) => {
                self.step(local, &suspicion(peer, PeerVerdict::Suspect), Vec::new())
            }
            ProcessInput::Trust(peer) | ProcessInput::RestartTrust(peer) => {
                let mut local = local.clone();
                local.suspected &= !(1 << peer);
                self.step(&local, &suspicion(peer, PeerVerdict::Trust), Vec::new())
            }
        }
    }

    fn deliver(&self, local: &LocalState<P>, id: u32) -> Vec<HandlerRun<P>> {
        let packet = self.network.packet_by_id(id);
        let mut local = local.clone();
        if matches!(local.lifecycle, Lifecycle::Down(_)) {
            return vec![HandlerRun::without_effects(local)]; // the message is lost
        }
        if self.needs.causality == CausalityTracking::Chain {
            local.past[0] = self.causal_chain_after(local.past[0], id);
        } else if packet.past != 0 {
            for (mine, theirs) in
                local.past.iter_mut().zip(self.network.past_by_id(packet.past).iter())
            {
                *mine = (*mine).max(*theirs);
            }
        }
        if packet.message == 0 {
            let stamped = (&self.hooks.stamping, local.lifecycle.process_mut());
            if let (Some(stamping), Some(process)) = stamped {
                let known = self.network.past_by_id(packet.past);
                let clock = known.last().expect("the clock is the last element");
                (stamping.observe)(process, u64::from(*clock));
            }
            return vec![HandlerRun::without_effects(local)];
        }
        let message = P::Message::clone(&self.messages.get(packet.message));
        let input = Input::Message { from: ProcessId(packet.from), message };
        self.step(&local, &input, Vec::new())
    }

    fn command(&self, local: &LocalState<P>, index: usize) -> Vec<HandlerRun<P>> {
        let enabled = local.user.enabled_commands().swap_remove(index);
        let mut local = local.clone();
        local.user.on_command(&enabled.command);
        let counts_requests = self.needs.causality == CausalityTracking::Requests;
        if !enabled.is_obligatory && counts_requests {
            local.past[local.at.index()] += 1;
        }
        let clock = counts_requests.then(|| {
            VectorClock::from(local.past.iter().copied().map(u64::from).collect::<Vec<_>>())
        });
        let seen = vec![OwnedObservation::Command(enabled.command.clone(), clock)];
        self.step(&local, &Input::Command(enabled.command), seen)
    }

    fn step(
        &self,
        local: &LocalState<P>,
        input: &Input<P>,
        seen: Vec<OwnedObservation<P::Command, P::Event>>,
    ) -> Vec<HandlerRun<P>> {
        let before = local.lifecycle.process().unwrap_or_else(|| panic!("{} is down", local.at));
        if matches!(local.lifecycle, Lifecycle::Mute { since: MuteState::IgnoresInputs, .. }) {
            return vec![HandlerRun::without_effects(local.clone())];
        }
        self.run_for_each_choice(|batch| {
            let mut process = before.clone();
            process.step(input.clone(), &mut batch.sink());
            let mut local = local.clone();
            if let Lifecycle::Mute { since, .. } = local.lifecycle {
                let saves = since == MuteState::Saved || process.stable() != before.stable();
                return ProtocolModel::mute_step(local, process, saves, seen.clone(), batch);
            }
            local.lifecycle = match self.config.faults.saving {
                SaveTiming::AfterRelease if process.stable() != before.stable() => {
                    Lifecycle::SaveBehind { process, saved: before.stable() }
                }
                _ => match &local.lifecycle {
                    Lifecycle::Postponed { events, .. } => {
                        Lifecycle::Postponed { process, events: events.clone() }
                    }
                    _ => Lifecycle::Up(process),
                },
            };
            self.apply_effects(local, seen.clone(), batch)
        })
    }

    /// Applies a step of a *mute* process, which will crash before it releases any effect. If
    /// `saves`, the process saves the step. Timers that the step sets or cancels do not fire before
    /// the crash. Without `saves`, the step and all later inputs have no effect.
    fn mute_step(
        mut local: LocalState<P>,
        process: P,
        saves: bool,
        seen: Vec<OwnedObservation<P::Command, P::Event>>,
        batch: &mut EffectBuffer<P, ChoiceEnumerator>,
    ) -> HandlerRun<P> {
        if !saves {
            // A mute process releases no effects, so a step that saves nothing has no effect. The
            // input is lost, and only the crash can follow.
            local.lifecycle = Lifecycle::Mute { process, since: MuteState::IgnoresInputs };
            local.timers.clear();
            local.user.on_crash();
            return HandlerRun::without_effects(local);
        }
        local.lifecycle = Lifecycle::Mute { process, since: MuteState::Saved };
        for change in std::mem::take(&mut batch.timers) {
            let (TimerChange::Set(timer, _) | TimerChange::Cancel(timer)) = change;
            local.disarm_timer(&timer);
        }
        HandlerRun { seen, ..HandlerRun::without_effects(local) }
    }

    pub(super) fn run_for_each_choice(
        &self,
        mut handler: impl FnMut(&mut EffectBuffer<P, ChoiceEnumerator>) -> HandlerRun<P>,
    ) -> Vec<HandlerRun<P>> {
        let mut batch = EffectBuffer::new(ChoiceEnumerator::new(self.config.model.clock_readings));
        let mut runs = Vec::new();
        loop {
            batch.clear();
            let run = handler(&mut batch);
            runs.push(HandlerRun { choices: batch.environment.choices_made(), ..run });
            if !batch.environment.advance() {
                break;
            }
        }
        assert!(runs.len() <= MAX_OUTCOMES, "a step has at most {MAX_OUTCOMES} outcomes");
        runs
    }

    pub(super) fn apply_effects(
        &self,
        mut local: LocalState<P>,
        mut seen: Vec<OwnedObservation<P::Command, P::Event>>,
        batch: &mut EffectBuffer<P, ChoiceEnumerator>,
    ) -> HandlerRun<P> {
        let timers = self.change_timers(&mut local, std::mem::take(&mut batch.timers));
        for event in &batch.events {
            if self.postpone_event(&mut local, event) {
                continue;
            }
            local.user.on_event(event);
            seen.push(OwnedObservation::Event(event.clone()));
        }
        let messages = std::mem::take(&mut batch.messages);
        let observed =
            messages.iter().filter(|(to, message)| self.is_observed(local.at, *to, message));
        seen.extend(observed.map(|(to, _)| OwnedObservation::Sent { to: *to }));
        let messages = self.begin_step(&mut local, messages, timers);
        let events = std::mem::take(&mut batch.events);
        HandlerRun { messages, events, seen, ..HandlerRun::without_effects(local) }
    }

    /// Returns true if the monitors observe this message when it is sent.
    fn is_observed(&self, from: ProcessId, to: ProcessId, message: &P::Message) -> bool {
        let needs = &self.needs;
        let strays = |links: &LinksOnly| !links.has_link(from, to);
        let observed = || needs.observes_all_messages || needs.links.as_ref().is_some_and(strays);
        needs.layer == Some(message.label().layer) && to != from && observed()
    }

    fn outcome(&self, mut run: HandlerRun<P>) -> StepOutcome {
        self.forget_clock(&mut run.local);
        let from = run.local.at.0;
        let past = self.network.intern_past(run.past.as_ref().unwrap_or(&run.local.past));
        let latency = self.config.model.latency.as_ref();
        let (min_delay, max_delay) = latency.map_or((0, 0), |it| (*it.start(), *it.end()));
        let packet = Packet { from, to: 0, message: 0, past, min_delay, max_delay };
        let mut packets: Vec<u32> = Vec::with_capacity(run.messages.len());
        if let Some(to) = run.application {
            let past = self.application_past(&run.local);
            packets.push(self.network.intern_packet(Packet { to, past, ..packet }, 0));
        }
        for (to, message) in run.messages {
            assert!(to.0 < self.config.size, "{to} is not a member of the group");
            let message = self.message(message);
            let packet = Packet { to: to.0, message: message.id, ..packet };
            packets.push(self.network.intern_packet(packet, message.fingerprint));
        }
        let observation = if run.seen.is_empty() || self.monitors.is_empty() {
            0
        } else {
            self.observation(StepObservation { at: run.local.at, seen: run.seen })
        };
        StepOutcome { local: self.intern(run.local), packets, observation, weight: 0 }
    }

    /// Returns the id of the causal past that the sender attaches to an application message. This
    /// is the causal past of the sender, with zeros if application messages do not extend causal
    /// pasts. If these messages carry a clock, the sender's clock is appended.
    fn application_past(&self, local: &LocalState<P>) -> u32 {
        let mut known = local.past.clone();
        if !self.config.model.has_application_causality {
            known.fill(0);
        }
        let stamped = (&self.hooks.stamping, local.lifecycle.process());
        if let (Some(stamping), Some(process)) = stamped {
            let clock = u32::try_from((stamping.clock)(process));
            known.push(clock.expect("clock is below 2^32"));
        }
        self.network.intern_past(&known)
    }

    pub(super) fn message(&self, message: P::Message) -> Interned {
        self.messages.intern(message, |message| fingerprint(HashDomain::Message, message))
    }

    fn observation(&self, observation: StepObservation<P::Command, P::Event>) -> u32 {
        self.observations.intern(observation, |_| 0).id
    }

    fn intern(&self, local: LocalState<P>) -> Interned {
        self.locals.intern(local, |local| fingerprint(HashDomain::Local, local))
    }

    fn symmetry(&self) -> &SymmetryFunctions<P> {
        self.hooks.symmetry.as_ref().expect("only symmetric searches rename processes")
    }

    /// Returns the commands, timers and notifications that may occur in a local state, with their
    /// fairness labels.
    fn enabled_inputs(&self, local: &LocalState<P>) -> Vec<(ProcessInput, u32)> {
        let mut inputs = Vec::new();
        if matches!(
            local.lifecycle,
            Lifecycle::Down(_) | Lifecycle::Mute { since: MuteState::IgnoresInputs, .. }
        ) {
            return inputs;
        }
        let label = |kind: u64, content: u64| self.network.intern_label(kind << 40, content);
        for (index, enabled) in local.user.enabled_commands().iter().enumerate() {
            let content = fingerprint(HashDomain::Label, &(local.at, &enabled.command));
            let label = if enabled.is_obligatory { label(1, content) } else { NOT_FAIR_LABEL };
            inputs.push((ProcessInput::Command(index as u32), label));
        }
        for (index, armed) in local.timers.iter().enumerate() {
            if armed.min_delay == 0 {
                let content = fingerprint(HashDomain::Label, &(local.at, &armed.timer));
                inputs.push((ProcessInput::Timer(index as u32), label(2, content)));
            }
        }
        if let Lifecycle::Postponed { .. } = local.lifecycle {
            inputs.push((ProcessInput::Notify, label(8, u64::from(local.at.0))));
        }
        assert!(inputs.len() <= 256, "a process has at most 256 enabled steps");
        inputs
    }
}

/// Fairness label of a step that a fair run need not take.
pub(crate) const NOT_FAIR_LABEL: u32 = 0;

fn suspicion<P: Protocol>(peer: u32, verdict: PeerVerdict) -> Input<P> {
    Input::Suspicion { peer: ProcessId(peer), verdict }
}

impl<P: Checkable> SearchModel for ProtocolModel<P> {
    fn boot_outcomes(&self, at: ProcessId) -> Vec<StepOutcome> {
        let weighted = |run: HandlerRun<P>| {
            let weight = self.count_measured_sends(at, &run.messages);
            StepOutcome { weight, ..self.outcome(run) }
        };
        self.all_boot_runs(at).into_iter().map(weighted).collect()
    }

    fn initially_down_state(&self, at: ProcessId) -> Interned {
        let mut local = self.blank(at);
        local.user.on_crash();
        self.intern(local)
    }

    fn initial_monitor_state(&self, index: usize) -> Interned {
        self.monitors[index].initial_state()
    }

    fn local_facts_and_inputs(&self, id: u32) -> (LocalFacts, Vec<(ProcessInput, u32)>) {
        let local = self.locals.get(id);
        let process = local.lifecycle.process();
        let down = process.is_none();
        let is_mute = matches!(local.lifecycle, Lifecycle::Mute { .. });
        let bound = self.hooks.term.zip(self.config.bounds.term_max).zip(process);
        let term = bound.map_or(0, |((term, _), process)| term(process));
        let exceeds_term_bound = bound.is_some_and(|((_, max), _)| term > max);
        if term > 0 {
            self.has_terms.store(true, Ordering::Relaxed);
        }
        let (inputs, shifts) = (self.enabled_inputs(&local), self.hooks.shifts.as_ref());
        let facts = LocalFacts {
            fingerprint: self.locals.fingerprint(id),
            down,
            is_mute,
            can_crash: !down
                && !is_mute
                && self.config.faults.crash_filter.allows::<P::Command>(local.at, &local.user),
            user: if down || is_mute { UserState::Idle } else { local.user.state() },
            suspected: local.suspected,
            causal_chain_length: match self.needs.causality {
                CausalityTracking::Chain => local.past[0],
                CausalityTracking::None | CausalityTracking::Requests => 0,
            },
            has_command: inputs.iter().any(|(cause, _)| matches!(cause, ProcessInput::Command(_))),
            is_urgent: self.is_urgent(&local),
            step_end: self.step_end_label(&local),
            smallest_timestamp: shifts
                .and_then(|shifts| local.smallest_timestamp(shifts, &self.protocol)),
            exceeds_term_bound,
        };
        (facts, inputs)
    }

    fn outcomes(&self, local: u32, cause: ProcessInput) -> Vec<StepOutcome> {
        let local = self.locals.get(local);
        let weighted = |run: HandlerRun<P>| {
            let weight = self.step_weight(&local, cause, &run);
            StepOutcome { weight, ..self.outcome(run) }
        };
        self.handler_runs(&local, cause).into_iter().map(weighted).collect()
    }

    fn after_time_unit(&self, local: u32) -> Interned {
        let mut local = LocalState::clone(&self.locals.get(local));
        for armed in &mut local.timers {
            armed.min_delay = armed.min_delay.saturating_sub(1);
            armed.max_delay =
                armed.max_delay.checked_sub(1).expect("time does not pass while a timer is due");
        }
        local.unfinished_steps.advance_time();
        self.intern(local)
    }

    fn shifted_local(&self, local: u32, by: u64) -> Interned {
        let mut local = LocalState::clone(&self.locals.get(local));
        if let Some(shifts) = &self.hooks.shifts {
            local.lower_timestamps(shifts, &self.protocol, by);
        }
        self.intern(local)
    }

    fn smallest_message_timestamp(&self, message: u32) -> Option<u64> {
        let shifts = self.hooks.shifts.as_ref()?;
        (shifts.smallest_message_timestamp)(&self.protocol, &self.messages.get(message))
    }

    fn shifted_message(&self, message: u32, by: u64) -> Interned {
        let mut message = P::Message::clone(&self.messages.get(message));
        if let Some(shifts) = &self.hooks.shifts {
            (shifts.lower_message_timestamps)(&self.protocol, &mut message, by);
        }
        self.message(message)
    }

    fn renamed_local_fingerprint(&self, local: u32, renaming: usize) -> u64 {
        let symmetry = self.symmetry();
        let names = &symmetry.renamings[renaming];
        let renamed = self.locals.get(local).renamed(symmetry, names);
        fingerprint(HashDomain::Local, &renamed)
    }

    fn renamed_message_fingerprint(&self, message: u32, renaming: usize) -> u64 {
        let symmetry = self.symmetry();
        let message = self.messages.get(message);
        let names = &symmetry.renamings[renaming];
        fingerprint(HashDomain::Message, &(symmetry.renamed_message)(&message, names))
    }

    fn renaming(&self, renaming: usize) -> &Renaming {
        &self.symmetry().renamings[renaming]
    }

    fn judge(&self, index: usize, monitor: u32, observation: u32) -> Result<Interned, Violation> {
        self.monitors[index].judge(monitor, &self.observations.get(observation))
    }

    fn judge_end(&self, index: usize, monitor: u32) -> Result<(), Violation> {
        self.monitors[index].check_final_state(monitor)
    }

    fn monitor_state_facts(&self, index: usize, monitor: u32) -> MonitorStateFacts {
        self.monitors[index].facts(monitor)
    }

    fn shifted_monitor(&self, index: usize, monitor: u32, by: u64) -> Interned {
        self.monitors[index].shifted(monitor, by)
    }

    fn service_facts(&self, monitor: usize, state: u32) -> Arc<ServiceFacts> {
        self.monitors[monitor].service_facts(state).expect("the monitor keeps facts")
    }

    fn without_sending(&self, observation: u32) -> u32 {
        let mut observation = StepObservation::clone(&self.observations.get(observation));
        observation.seen.retain(|seen| !matches!(seen, OwnedObservation::Sent { .. }));
        if observation.seen.is_empty() {
            return 0;
        }
        self.observation(observation)
    }

    fn step_facts(&self, observation: u32) -> StepFacts {
        step_facts(&self.observations.get(observation))
    }

    fn state_text(&self, local: u32) -> Option<DebugText> {
        self.locals.get(local).lifecycle.process().map(|process| DebugText::new(process))
    }

    fn message_tree(&self, message: u32) -> Value {
        debug_tree(&*self.messages.get(message))
    }

    fn message_name(&self, message: u32) -> &'static str {
        self.messages.get(message).label().kind
    }

    fn message_record(
        &self,
        message: u32,
        peer: ProcessId,
        session: u64,
        number: u64,
    ) -> MessageRecord {
        let message = &*self.messages.get(message);
        MessageRecord::new(message, peer, session, number).with_content(message)
    }

    fn step_input(
        &self,
        local: u32,
        cause: ProcessInput,
        outcome: Option<usize>,
    ) -> (ProcessId, StepInput) {
        let local = self.locals.get(local);
        (local.at, self.content_of(&local, cause, outcome))
    }

    fn effects(&self, local: u32, cause: ProcessInput, outcome: usize) -> StepEffects {
        self.effects_of(self.handler_runs(&self.locals.get(local), cause).swap_remove(outcome))
    }

    fn boot_effects(&self, at: ProcessId, local: u32) -> StepEffects {
        let index = self.boot_outcomes(at).iter().position(|outcome| outcome.local.id == local);
        let index = index.expect("a boot leads to one of its outcomes");
        self.effects_of(self.all_boot_runs(at).swap_remove(index))
    }

    fn armed_timers(&self, local: u32) -> Vec<DebugText> {
        let local = self.locals.get(local);
        local.timers.iter().map(|armed| DebugText::new(&armed.timer)).collect()
    }

    fn command_from_script(&self, script_command: &ScriptCommand) -> Option<RecordedCommand> {
        P::Command::from_script_command(script_command).map(|command| command.to_recorded())
    }

    fn has_terms(&self) -> bool {
        self.has_terms.load(Ordering::Relaxed)
    }

    fn set_reducing(&self, is_reducing: bool) {
        self.is_reducing.store(is_reducing, Ordering::Relaxed);
    }

    fn bytes(&self) -> usize {
        let local = size_of::<LocalState<P>>() + 96;
        self.locals.len() * local + self.messages.len() * (size_of::<P::Message>() + 64)
    }
}
