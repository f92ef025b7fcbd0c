//! Executes the effects of the steps of a node: saves the state, then sends messages, sets timers
//! and emits events. Some timers and messages need not wait for the save.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};
use std::{iter, vec};

use serde::Serialize;
use tenure_core::{
    Labelled, Layer, PeerVerdict, PendingSave, ProcessId, ProcessSet, Protocol, ReleasedEffects,
    Step, TimerChange,
};
use tenure_trace::{RecordKind, RecordedEvent};
use tracing::warn;

use crate::application::Application;
use crate::envelope::Envelope;
use crate::environment::{SystemEnvironment, random_up_to};
use crate::failure::NodeFailure;
use crate::injection::{FaultInjection, SendAction};
use crate::log_throttle::{LogThrottle, SuppressedLineCount};
use crate::node_components::SuspectedPeersFn;
use crate::peer_liveness::PeerLiveness;
use crate::step_record::StepTraceRecords;
use crate::store::StableStorage;
use crate::store_worker::{StoreJob, StoreWorker};
use crate::timers::ProtocolTimers;
use crate::trace_sink::TraceWriter;
use crate::transport::Mesh;
use crate::validator::Validator;

/// Size of a change, in bytes. Instead of a longer change, the executor may write the whole state;
/// see [`EffectExecutor::start_save`].
const LARGE_CHANGE_BYTES: usize = 32 << 10;

/// Duration for which a step may wait for its save. If a step has waited longer, the disk is
/// regarded as stuck. Each message of a later step is then held until this step is saved, even if
/// the message needs no save. If the disk of a leader is stuck, the peers therefore miss its
/// heartbeats and elect another leader. Unit tests use a shorter duration.
pub(crate) const STUCK_SAVE_AGE: Duration = Duration::from_secs(if cfg!(test) { 2 } else { 10 });

/// Message that a node in a scripted run has sent. `payload` is an encoded [`Envelope`], or the
/// encoded vector clock of a message between applications.
#[derive(Clone, Debug)]
pub(crate) struct SentMessage {
    pub(crate) to: ProcessId,
    pub(crate) kind: &'static str,
    /// Sequence number of the message in the session of its sender.
    pub(crate) number: u64,
    pub(crate) payload: Vec<u8>,
}

pub(crate) struct EffectExecutor<P: Protocol, App> {
    pub(crate) mesh: Mesh,
    pub(crate) store_worker: StoreWorker,
    pub(crate) validator: Validator,
    pub(crate) application: App,
    pub(crate) trace: TraceWriter,
    injection: FaultInjection,
    pub(crate) timers: ProtocolTimers<P::Timer>,
    /// Steps whose effects wait for the disk, in order. Each element contains the time at which the
    /// step began to wait, and the trace records of the step.
    pub(crate) pending_steps: VecDeque<(Instant, StepTraceRecords)>,
    pub(crate) commands: VecDeque<P::Command>,
    loss_logs: BTreeMap<ProcessId, LogThrottle>,
    sent_count: u64,
    /// Messages that were sent since the last action of a scripted run. `None` in other runs.
    pub(crate) sent_messages: Option<Vec<SentMessage>>,
    suspected: Option<SuspectedPeersFn<P>>,
    /// Peers that the process suspected after its last step, with the verdicts that it has received
    /// since then. After the next step, the executor compares this set with the new suspicions.
    suspicions: ProcessSet,
    pub(crate) peer_liveness: PeerLiveness,
}

impl<P, App> EffectExecutor<P, App>
where
    P: Protocol,
    P::Message: Serialize,
    P::Stable: Serialize,
    P::Event: Into<RecordedEvent>,
    App: Application<P>,
{
    pub(crate) fn new(
        mesh: Mesh,
        store: StableStorage,
        validator: Validator,
        application: App,
        trace: TraceWriter,
        injection: FaultInjection,
        suspected: Option<SuspectedPeersFn<P>>,
    ) -> Self {
        let peer_liveness = PeerLiveness::new(mesh.group_size());
        EffectExecutor {
            mesh,
            store_worker: StoreWorker::new(store),
            validator,
            application,
            trace,
            injection,
            timers: ProtocolTimers::new(),
            pending_steps: VecDeque::new(),
            commands: VecDeque::new(),
            loss_logs: BTreeMap::new(),
            sent_count: 0,
            sent_messages: None,
            suspected,
            suspicions: ProcessSet::new(),
            peer_liveness,
        }
    }

    pub(crate) fn on_request(&mut self, request: App::Request) {
        let command = self.application.on_request(request);
        self.commands.extend(command);
    }

    pub(crate) fn check_application_error(&self) -> Result<(), NodeFailure> {
        let error = self.application.fatal_error();
        error.map_or(Ok(()), |error| Err(NodeFailure::Application(error.into())))
    }

    /// Executes the effects of a step immediately if they need no save. Otherwise holds the effects
    /// back until the step is saved.
    pub(crate) fn execute_or_hold(
        &mut self,
        mut step: Step<'_, P, SystemEnvironment>,
        mut step_record: StepTraceRecords,
    ) -> Result<(), NodeFailure> {
        step_record.suspicions = self.take_changed_suspicions(step.process());
        step_record.choices = step.environment().take_choices();
        step_record.state = self.trace.state_record_if_changed(step.process());
        if step.can_release() {
            return self.release(step.mark_saved(), step_record, false);
        }
        for change in step.timer_changes() {
            // A timer that ends a lease or paces heartbeats is changed before the save: heartbeats
            // continue while the disk works, and the time of a lease counts from the step.
            if P::timer_role(timer_of(change)).precedes_messages() {
                self.change_timer(change.clone());
            } else {
                self.timers.record_unsaved_change(timer_of(change));
            }
        }
        self.application.on_event_early(step.events());
        // A trace must record a message after its cause, so a traced node sends no recorded message
        // before the save. Messages of failure detectors are not recorded.
        if !self.is_disk_stuck() {
            let is_traced = self.trace.is_enabled();
            let is_unrecorded =
                |message: &P::Message| !is_traced || message.label().layer == Layer::Detector;
            step.take_messages_before_save(is_unrecorded)
                .try_for_each(|(to, message)| self.send(to, message))?;
        }
        step.queue_effects();
        self.pending_steps.push_back((Instant::now(), step_record));
        Ok(())
    }

    fn is_disk_stuck(&self) -> bool {
        self.pending_steps.front().is_some_and(|(since, _)| since.elapsed() > STUCK_SAVE_AGE)
    }

    /// Starts the save of the change in `saving`. Returns an error, and starts no save, if the
    /// change contains an impossible value.
    ///
    /// Saves `whole_state` instead if the change is large and the whole state has less than twice
    /// as many bytes. The reason is that a large change usually contains a snapshot, which the next
    /// rewrite of the whole state would write a second time.
    pub(crate) fn start_save(
        &mut self,
        saving: &PendingSave<P::Stable>,
        whole_state: Option<&P::Stable>,
    ) -> Result<(), NodeFailure> {
        self.validator.check_state(saving.change())?;
        let change = encode(saving.change());
        if saving.is_complete_state() {
            self.store_worker.submit(StoreJob::Save(change));
            return Ok(());
        }
        let whole = whole_state.filter(|_| change.len() > LARGE_CHANGE_BYTES);
        self.store_worker.submit(
            match whole.and_then(|whole| encode_within(whole, 2 * change.len())) {
                Some(whole) => StoreJob::Save(whole),
                None => StoreJob::Append(change),
            },
        );
        Ok(())
    }

    pub(crate) fn start_rewrite(&mut self, whole_state: P::Stable) -> Result<(), NodeFailure> {
        self.validator.check_state(&whole_state)?;
        self.store_worker.submit(StoreJob::Rewrite(Box::new(move || encode(&whole_state))));
        Ok(())
    }

    /// Releases the effects of the oldest step that waits for its save.
    pub(crate) fn release_next_step(
        &mut self,
        released: ReleasedEffects<'_, P>,
    ) -> Result<(), NodeFailure> {
        let (_, step_record) = self.pending_steps.pop_front().expect("each step has a record");
        self.release(released, step_record, true)
    }

    fn release(
        &mut self,
        released: ReleasedEffects<'_, P>,
        step_record: StepTraceRecords,
        was_held: bool,
    ) -> Result<(), NodeFailure> {
        let StepTraceRecords { sender_clock, cause, timer_name, suspicions, choices, state } =
            step_record;
        self.trace.merge_clock(sender_clock.as_ref());
        cause.map_or(Ok(()), |cause| self.trace.record(cause))?;
        for (peer, verdict) in suspicions {
            self.peer_liveness.record_verdict(peer, verdict);
            self.trace.record(RecordKind::Suspicion { peer, verdict })?;
        }
        let messages = released.messages.as_slice().iter();
        let is_detector_only = messages.clone().all(|(_, it)| it.label().layer == Layer::Detector)
            && released.events.as_slice().is_empty();
        // A scripted run records every step.
        if let Some(name) = timer_name.filter(|_| !is_detector_only || self.sent_messages.is_some())
        {
            self.trace.record(RecordKind::Timer(name))?;
        }
        for choice in choices {
            self.trace.record(RecordKind::Choice(choice))?;
        }
        for change in released.timers {
            // Timers that end a lease or pace heartbeats were already changed when the step was
            // held back.
            let was_changed = was_held && P::timer_role(timer_of(&change)).precedes_messages();
            let is_latest =
                !was_held || was_changed || self.timers.record_saved_change(timer_of(&change));
            if is_latest && !was_changed {
                self.change_timer(change);
            }
        }
        for (to, message) in released.messages {
            self.send(to, message)?;
        }
        self.deliver_events(released.events)?;
        state.map_or(Ok(()), |state| Ok(self.trace.record(state)?))
    }

    /// Records that the process receives a verdict about `peer` as an input. The verdict comes from
    /// the transport or from a script.
    ///
    /// If the process has a failure detector, the detector adopts this verdict in the next step.
    /// This method updates `suspicions` now, so that the trace does not record the verdict twice.
    pub(crate) fn record_verdict(&mut self, peer: ProcessId, verdict: PeerVerdict) {
        match verdict {
            PeerVerdict::Suspect => self.suspicions.insert(peer),
            PeerVerdict::Trust => self.suspicions.remove(peer),
        };
        self.peer_liveness.record_verdict(peer, verdict);
    }

    /// Returns the verdicts that the process's own failure detector changed in the last step. Each
    /// element is a peer and the new verdict about this peer. Returns no element if the process has
    /// no failure detector.
    fn take_changed_suspicions(&mut self, process: &P) -> Vec<(ProcessId, PeerVerdict)> {
        let Some(suspected) = self.suspected else { return Vec::new() };
        let now = suspected(process);
        if *now == self.suspicions {
            return Vec::new();
        }
        let before = std::mem::replace(&mut self.suspicions, now.clone());
        let suspected = now.iter().filter(|peer| !before.contains(*peer));
        let suspected = suspected.map(|peer| (peer, PeerVerdict::Suspect));
        let trusted = before.iter().filter(|peer| !now.contains(*peer));
        suspected.chain(trusted.map(|peer| (peer, PeerVerdict::Trust))).collect()
    }

    /// Ends the trace and drops the application. Then closes the connections when all sent messages
    /// have arrived, at the latest after `grace`.
    pub(crate) async fn close(mut self, grace: Duration) -> Result<(), NodeFailure> {
        self.trace.record(RecordKind::End)?;
        self.trace.flush()?;
        // Users lose their locks before the peers receive a goodbye.
        drop(self.application);
        self.mesh.close(grace).await;
        Ok(())
    }

    fn change_timer(&mut self, change: TimerChange<P::Timer>) {
        match change {
            TimerChange::Set(timer, after) => {
                self.timers.set(timer, after, Instant::now(), random_up_to)
            }
            TimerChange::Cancel(timer) => self.timers.cancel(&timer),
        }
    }

    pub(crate) fn next_message_number(&mut self) -> u64 {
        self.sent_count += 1;
        self.sent_count
    }

    fn send(&mut self, to: ProcessId, message: P::Message) -> Result<(), NodeFailure> {
        let number = self.next_message_number();
        let kind = message.label().kind;
        self.trace.record_message(&message, to, 0, number, RecordKind::Send)?;
        let copies = match self.injection.next_send_action() {
            SendAction::Send => 1,
            SendAction::Drop => {
                self.trace.record_message(&message, to, 0, number, RecordKind::Drop)?;
                0
            }
            SendAction::Duplicate => {
                self.trace.record_message(&message, to, 0, number, RecordKind::Duplicate)?;
                2
            }
        };
        let label = message.label();
        let is_urgent = !P::must_wait_for_save(&message);
        let payload = Envelope { number, clock: self.trace.clock(), message }.encode();
        if let Some(sent) = &mut self.sent_messages {
            sent.push(SentMessage { to, kind, number, payload: payload.clone() });
        }
        for payload in iter::repeat_n(payload, copies) {
            let result = if label.is_heartbeat() {
                self.mesh.send_heartbeat(to, label.layer, payload, is_urgent)
            } else {
                self.mesh.send(to, payload)
            };
            let Err(error) = result else { continue };
            if let Some(SuppressedLineCount(suppressed)) =
                self.loss_logs.entry(to).or_default().admit()
            {
                let peer = self.mesh.name(to);
                warn!(%peer, %error, suppressed, "message dropped");
            }
        }
        Ok(())
    }

    /// Records events in the trace, flushes the trace, and then delivers the events to the
    /// application. There is one flush for all events, because a recovering process may emit a
    /// whole log in one step.
    fn deliver_events(&mut self, events: vec::Drain<'_, P::Event>) -> Result<(), NodeFailure> {
        if events.as_slice().is_empty() {
            return Ok(());
        }
        for event in events.as_slice() {
            let kind = self.trace.describe_if_enabled(|| RecordKind::Event(event.clone().into()));
            kind.map_or(Ok(()), |kind| self.trace.record(kind))?;
        }
        self.trace.flush()?;
        for event in events {
            let command = self.application.on_event(event);
            self.commands.extend(command);
        }
        Ok(())
    }
}

fn encode(stable: &impl Serialize) -> Vec<u8> {
    postcard::to_stdvec(stable).expect("a stable state is serializable")
}

/// Encodes a state. Returns `None` if the encoding would have `bytes` bytes or more. `bytes` must
/// be at least 1.
fn encode_within(stable: &impl Serialize, bytes: usize) -> Option<Vec<u8>> {
    let mut buffer = vec![0; bytes - 1];
    let length = postcard::to_slice(stable, &mut buffer).ok()?.len();
    buffer.truncate(length);
    Some(buffer)
}

fn timer_of<T>(change: &TimerChange<T>) -> &T {
    match change {
        TimerChange::Set(timer, _) | TimerChange::Cancel(timer) => timer,
    }
}
