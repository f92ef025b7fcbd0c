//! Interventions in a run, such as the loss of a message or the crash of a process.

use std::collections::VecDeque;

use tenure_core::service::{mutex, mutex_and_election};
use tenure_core::{ChannelOrder, Labelled, PeerVerdict, ProcessId, Protocol, TICKS_PER_TIME_UNIT};
use tenure_trace::{
    ActionError, MessageSelector, RecordableProtocol, ScriptAction, ScriptCommand, ScriptRunner,
    ServiceCommand, find_timer,
};

use crate::engine::delivery::Envelope;
use crate::engine::delivery::{record_duplicate, record_loss};
use crate::engine::events::ProcessAction;
use crate::engine::lock_users::LockUserPhase;
use crate::engine::scheduled_event::ScheduledEvent;
use crate::engine::world::World;
use crate::settings::distribution::MAX_TIME;

/// Time between two steps of a schedule, in ticks. This time is longer than the latency of a
/// message, which is one unit.
pub(super) const STEP_TICKS: u64 = 2 * TICKS_PER_TIME_UNIT;

/// A run in which [`ScriptAction`]s can be performed. An action selects a message by its position
/// on its link, and the numbers in the trace determine the order of the messages. Therefore the run
/// always records a trace.
pub(crate) struct SteeredRun<'a, P: Protocol> {
    pub(crate) world: World<'a, P>,
    /// User messages that were sent but not received: sender, receiver and index in
    /// [`UserTraffic`](crate::engine::user_messages::UserTraffic) of each message.
    user_messages_in_flight: Vec<(ProcessId, ProcessId, u32)>,
    /// Random numbers that the schedule prescribes for the next step, in the order in which the
    /// step draws them.
    drawn: VecDeque<u32>,
}

/// A message in flight, with its number in the trace.
pub(crate) struct NumberedEnvelope<'s, M> {
    pub(crate) envelope: &'s Envelope<M>,
    /// Time at which the message arrives, in ticks.
    pub(crate) due: u64,
    pub(crate) number: u64,
}

impl<M: Labelled> NumberedEnvelope<'_, M> {
    /// Returns the sender, the receiver and the kind of the message.
    pub(crate) fn link_and_kind(&self) -> (ProcessId, ProcessId, &'static str) {
        (self.envelope.from, self.envelope.to, self.envelope.message.label().kind)
    }

    /// Returns the tag and the time of arrival. Copies of a message have the same tag. If they also
    /// have the same time, they are interchangeable.
    fn key(&self) -> (u32, u64) {
        (self.envelope.tag, self.due)
    }
}

impl<P: RecordableProtocol> ScriptRunner for SteeredRun<'_, P> {
    /// Performs an action. If the action is a step, first advances the time by [`STEP_TICKS`], so
    /// that records of different steps have different times.
    fn perform(&mut self, action: &ScriptAction) -> Result<(), ActionError> {
        match action {
            ScriptAction::Choose { value, .. } => {
                self.drawn.push_back(*value);
                return Ok(());
            }
            ScriptAction::Unsaved(at) => {
                let up = self.up(*at).ok_or_else(|| ActionError::NotPossible(action.clone()))?;
                self.world.stop_saving(up);
                return Ok(());
            }
            _ => {}
        }
        self.world.run.now = self.world.run.now.saturating_add(STEP_TICKS);
        self.world.prescribe_choices(std::mem::take(&mut self.drawn));
        let done = self.perform_now(action);
        let done = done.ok_or_else(|| ActionError::for_impossible_action::<P::Command>(action));
        self.world.prescribe_choices(VecDeque::new());
        done
    }
}

impl<'a, P: RecordableProtocol> SteeredRun<'a, P> {
    pub(crate) fn new(mut world: World<'a, P>) -> Self {
        // From now on, any process may crash.
        world.run.has_faults = true;
        world.run.live_processes.track_sessions();
        SteeredRun { world, user_messages_in_flight: Vec::new(), drawn: VecDeque::new() }
    }

    /// Returns the messages in flight, in the order of their numbers in the trace. Copies of a
    /// message are in the order of their arrival.
    pub(crate) fn in_flight(&self) -> Vec<NumberedEnvelope<'_, P::Message>> {
        let number = |envelope: &Envelope<P::Message>| {
            let recorder = self.world.run.tracer.recorder.as_ref();
            recorder.map_or(0, |recorder| recorder.traced_message(envelope.tag).number)
        };
        let sent = self.world.in_flight.in_pop_order().into_iter();
        let mut sent: Vec<_> = sent
            .map(|(due, envelope)| NumberedEnvelope { envelope, due, number: number(envelope) })
            .collect();
        sent.sort_by_key(|sent| sent.number);
        sent
    }

    /// Performs an action at the present time. Returns `None`, and changes nothing, if the action
    /// is impossible.
    pub(crate) fn perform_now(&mut self, action: &ScriptAction) -> Option<()> {
        match action {
            ScriptAction::Command(asking) => self.handle_command(asking)?,
            ScriptAction::Deliver(pick) => {
                let envelope = self.is_next(pick).then(|| self.take(pick)).flatten()?;
                self.world.deliver(envelope);
            }
            ScriptAction::Lose(pick) => {
                let Envelope { from, to, tag, message } = self.take(pick)?;
                self.world.run.count_dropped(message.label());
                record_loss(&mut self.world.run, from, to, tag, &message);
            }
            ScriptAction::Duplicate(pick) => self.duplicate(pick)?,
            ScriptAction::Delay { pick, by } => self.delay(pick, *by)?,
            ScriptAction::Tell { from, to } => {
                let (from, to) = (self.up(*from)?, self.member(*to)?);
                let message = self.world.run.send_user_message(from, to, None);
                self.user_messages_in_flight.push((from, to, message));
            }
            ScriptAction::Hear(pick) => {
                let user_messages_in_flight =
                    self.user_messages_in_flight.iter().map(|(from, to, _)| (*from, *to, ""));
                let (_, _, message) =
                    self.user_messages_in_flight.remove(pick.index_in(user_messages_in_flight)?);
                let action = self.world.run.receive_user_message(message);
                self.world.perform_action(action);
            }
            ScriptAction::Fire { at, timer } => {
                let armed = self.world.timers.armed_timers_of(self.up(*at)?);
                let timer = find_timer(armed.iter(), timer)?.clone();
                self.world.timers.cancel(*at, &timer);
                self.world.fire_timer(*at, timer);
            }
            ScriptAction::Mute(at) => self.up(*at).map(|at| self.world.mute_until_crash(at))?,
            ScriptAction::Crash(at) => self.crash(*at)?,
            ScriptAction::Recover(at) => {
                let is_down = !self.world.run.live_processes.up_state(*at)?;
                is_down.then(|| {
                    self.world.perform_action(ProcessAction::Recover { process: *at, lost: false });
                })?;
            }
            ScriptAction::Suspicion { at, peer, verdict } => {
                self.suspicion(*at, *peer, *verdict)?;
            }
            ScriptAction::Split(_) | ScriptAction::Heal => {
                action.partition_change_record().map(|kind| self.world.run.trace_group(kind))?;
            }
            ScriptAction::Group(_)
            | ScriptAction::Channel(_)
            | ScriptAction::Choose { .. }
            | ScriptAction::Unsaved(_)
            | ScriptAction::Stabilize { .. }
            | ScriptAction::Look(_) => return None,
        }
        Some(())
    }

    fn handle_command(&mut self, asking: &ScriptCommand) -> Option<()> {
        let command = self.up(asking.at).and_then(|_| P::Command::from_script_command(asking))?;
        if let Some(peer) = asking.peer {
            self.member(peer)?;
        }
        let size = self.world.run.settings.size;
        if command.to_recorded().process_outside_group(size).is_some() {
            return None;
        }
        self.is_allowed(asking.at, command.to_mutex_and_election())?;
        self.world.handle_command(asking.at, command);
        Some(())
    }

    fn crash(&mut self, at: ProcessId) -> Option<()> {
        let at = self.up(at)?;
        self.world.crash(at, None);
        Some(())
    }

    fn suspicion(&mut self, at: ProcessId, peer: ProcessId, verdict: PeerVerdict) -> Option<()> {
        let observer = self.up(at)?;
        let exists = self.member(peer).is_some() && peer != at;
        exists.then(|| {
            self.world.perform_action(ProcessAction::Suspicion { observer, peer, verdict })
        })
    }

    /// Ends the schedule of the run. From now on, the events that the simulator has scheduled
    /// happen. If the time of a timer or of another scheduled event has passed, the event is due
    /// now. Protocol messages in flight arrive after at least `latency` ticks. User messages arrive
    /// after exactly `latency` ticks.
    pub(crate) fn resume_scheduled_events(&mut self, latency: u64) {
        let now = self.world.run.now;
        let arrival = now.saturating_add(latency);
        self.world.in_flight.postpone_until(arrival);
        self.world.run.event_queue.postpone_until(now);
        for (_, _, message) in self.user_messages_in_flight.drain(..) {
            self.world.run.event_queue.push(arrival, ScheduledEvent::UserMessage { message });
        }
    }

    /// Returns `at` if this process is in the group, and otherwise `None`.
    fn member(&self, at: ProcessId) -> Option<ProcessId> {
        self.world.run.live_processes.up_state(at).map(|_| at)
    }

    /// Returns `at` if this process is up. Returns `None` if it is down or not in the group.
    fn up(&self, at: ProcessId) -> Option<ProcessId> {
        self.world.run.live_processes.up_state(at)?.then_some(at)
    }

    /// Returns `Some(())` if the user of `at` may issue `command` now, and otherwise `None`. A user
    /// of the lock workload may request the lock while outside the critical section, and may exit
    /// while inside. A user of an agreement service may issue a command if the user does not wait
    /// for an event. All other commands are allowed.
    fn is_allowed(
        &self,
        at: ProcessId,
        command: Option<mutex_and_election::Command>,
    ) -> Option<()> {
        if self.world.run.agreement_users.as_ref().is_some_and(|it| it.users.must_wait(at)) {
            return None;
        }
        let Some(users) = &self.world.run.lock_users else { return Some(()) };
        let is_allowed = match command {
            Some(mutex_and_election::Command::Mutex(mutex::Command::Enter)) => {
                users.phase(at) == LockUserPhase::Outside
            }
            Some(mutex_and_election::Command::Mutex(mutex::Command::Exit)) => {
                users.phase(at) == LockUserPhase::Inside
            }
            _ => true,
        };
        is_allowed.then_some(())
    }

    /// Returns the tag and the time of arrival of the selected message. `None` if no message in
    /// flight matches `pick`.
    fn pick(&self, pick: &MessageSelector) -> Option<(u32, u64)> {
        let sent = self.in_flight();
        let place = pick.index_in(sent.iter().map(NumberedEnvelope::link_and_kind))?;
        Some(sent[place].key())
    }

    fn take(&mut self, pick: &MessageSelector) -> Option<Envelope<P::Message>> {
        let (tag, due) = self.pick(pick)?;
        self.world.in_flight.remove_first(due, |envelope| envelope.tag == tag)
    }

    /// Returns true if the selected message may be delivered now. On a FIFO link, only the oldest
    /// message in flight may be delivered. If links are not FIFO, any message may be.
    fn is_next(&self, pick: &MessageSelector) -> bool {
        let oldest = || self.pick(&MessageSelector::oldest(pick.from, pick.to));
        let tag = |key: Option<(u32, u64)>| key.map(|(tag, _)| tag);
        !self.keeps_order() || tag(self.pick(pick)) == tag(oldest())
    }

    fn keeps_order(&self) -> bool {
        self.world.run.settings.channel_order() == ChannelOrder::Fifo
    }

    fn duplicate(&mut self, pick: &MessageSelector) -> Option<()> {
        let (tag, due) = self.pick(pick)?;
        let envelope = self.world.in_flight.remove_first(due, |envelope| envelope.tag == tag)?;
        let Envelope { from, to, tag, message } = &envelope;
        let copy = Envelope { from: *from, to: *to, tag: *tag, message: message.clone() };
        let run = &mut self.world.run;
        run.count_duplicated(copy.message.label());
        run.tracer.record_copy(copy.tag);
        record_duplicate(run, copy.from, copy.to, copy.tag, &copy.message);
        self.world.in_flight.push(due, envelope);
        self.world.in_flight.push(due, copy);
        Some(())
    }

    /// Delays the selected message by `by` ticks. On a FIFO link, messages that would overtake the
    /// selected message are delayed to the same time, including those that are sent later. Returns
    /// `None` if no message matches `pick`, or if the delay is too long.
    fn delay(&mut self, pick: &MessageSelector, by: u64) -> Option<()> {
        let (tag, due) = self.pick(pick)?;
        let until = due.checked_add(by).filter(|until| *until <= MAX_TIME)?;
        let mut late = vec![(tag, due)];
        if self.keeps_order() {
            let sent = self.in_flight().into_iter();
            let behind = sent
                .filter(|sent| (sent.envelope.from, sent.envelope.to) == (pick.from, pick.to))
                .skip_while(|sent| sent.envelope.tag != tag)
                .filter(|sent| sent.envelope.tag != tag && sent.due < until);
            late.extend(behind.map(|sent| sent.key()));
            self.world.run.router.delay_later_messages(pick.from, pick.to, until);
        }
        for (tag, due) in late {
            let envelope =
                self.world.in_flight.remove_first(due, |envelope| envelope.tag == tag)?;
            self.world.in_flight.push(until, envelope);
        }
        Some(())
    }
}
