//! The next step of a paused run.

use tenure_core::service::mutex;
use tenure_core::{Labelled, PeerVerdict, ProcessId};
use tenure_trace::{RecordableProtocol, ScriptAction};

use crate::engine::queue::TimedQueue;
use crate::engine::scheduled_event::{ScheduledEvent, suspicion_verdict};
use crate::steer::interactive_run::InteractiveRun;
use crate::steer::steered_run::STEP_TICKS;

/// Description of the next step of an [`InteractiveRun`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NextStep {
    /// Time of the step, in ticks.
    pub time: u64,
    /// Description of the step, for a person.
    pub description: String,
    /// [Id](crate::InFlightMessage::id) of the message that arrives in this step. If an action of a
    /// schedule loses or duplicates a message, the id of that message. `None` for all other steps.
    pub message: Option<u64>,
}

impl<P: RecordableProtocol> InteractiveRun<'_, P> {
    pub(crate) fn preview_scheduled_action(&self, action: &ScriptAction) -> Option<NextStep> {
        let message = match action {
            ScriptAction::Deliver(pick)
            | ScriptAction::Lose(pick)
            | ScriptAction::Duplicate(pick) => {
                let sent = self.in_flight();
                let named = sent.iter().map(|it| (it.from, it.to, it.message.label().kind));
                pick.index_in(named).map(|place| sent[place].id)
            }
            _ => None,
        };
        let time = self.now().saturating_add(STEP_TICKS);
        Some(NextStep { time, description: action.to_string(), message })
    }

    pub(crate) fn preview_unscheduled_step(&self) -> Option<NextStep> {
        let world = &self.steered.world;
        if !self.started {
            return Some(NextStep {
                time: 0,
                description: "the workload starts".to_owned(),
                message: None,
            });
        }
        if world.will_issue_sequential_request() {
            let description = "a drawn user requests to enter".to_owned();
            return Some(NextStep { time: self.now(), description, message: None });
        }
        if world.in_flight.is_empty() && world.run.is_complete_when_idle() {
            return None;
        }
        let soonest = |queue: &TimedQueue<ScheduledEvent>| {
            let first = queue.find_first(|time, event| !self.is_ineffective(time, event));
            first.map(|(time, event)| (time, *event))
        };
        let (plan, event_queue) =
            (soonest(&world.run.fault_queue), soonest(&world.run.event_queue));
        let in_flight = world.in_flight.find_first(|_, _| true);
        // At equal times, configured faults precede messages, and messages precede other events, as
        // in `World::handle_earliest_event`.
        let time = |of: Option<u64>| of.unwrap_or(u64::MAX);
        let (planned, listed) = (time(plan.map(|it| it.0)), time(event_queue.map(|it| it.0)));
        let due = time(in_flight.map(|it| it.0));
        let next = match in_flight {
            Some((time, envelope)) if due < planned && due <= listed => {
                let (from, to, kind) = (envelope.from, envelope.to, envelope.message.label().kind);
                let lives = if self.is_up(to) { "arrives" } else { "arrives at a crashed process" };
                let recorder = world.run.tracer.recorder.as_ref();
                // Of several copies of a message, the copy that arrives first has the number of the
                // message as its id. The next message in the queue is such a copy.
                let message = recorder.map(|recorder| recorder.traced_message(envelope.tag).number);
                NextStep { time, description: format!("{from} → {to} {kind} {lives}"), message }
            }
            _ => {
                let (time, event) = if planned <= listed { plan } else { event_queue }?;
                NextStep { time, description: self.describe(&event), message: None }
            }
        };
        let until = world.run.settings.limits.until;
        Some(next).filter(|next| until.is_none_or(|until| next.time <= until))
    }

    /// Returns true if the next event has no effect, except that it may advance the time. An
    /// example is the event of a timer that was disarmed.
    pub(crate) fn is_next_event_idle(&self) -> bool {
        let world = &self.steered.world;
        let plan = world.run.fault_queue.next_time();
        let event_queue = world.run.event_queue.next_time();
        let in_flight = world.in_flight.next_time();
        if in_flight < plan && in_flight <= event_queue {
            return false;
        }
        let queue =
            if plan <= event_queue { &world.run.fault_queue } else { &world.run.event_queue };
        queue.find_first(|_, _| true).is_some_and(|(time, event)| self.is_ineffective(time, event))
    }

    /// Returns true if an event that is scheduled for the time `time` would have no effect.
    fn is_ineffective(&self, time: u64, event: &ScheduledEvent) -> bool {
        let world = &self.steered.world;
        let run = &world.run;
        let up = |at: ProcessId| run.live_processes.is_up(at);
        match *event {
            ScheduledEvent::Timer { slot, generation } => {
                world.timers.armed_in_slot(slot, generation).is_none()
            }
            ScheduledEvent::UserCommand { process, command } => !run
                .lock_users
                .as_ref()
                .is_some_and(|users| users.is_command_due(process, command, time)),
            ScheduledEvent::EndOfUse { process } => {
                !run.agreement_users.as_ref().is_some_and(|it| it.users.is_using(process))
            }
            ScheduledEvent::DetectorReport { observer, peer, suspect } => {
                !up(observer) || run.can_reach(observer, peer) == suspect
            }
            ScheduledEvent::FalseSuspicion { observer, peer, .. } => !up(observer) || !up(peer),
            ScheduledEvent::Crash { process, .. } => !up(process),
            ScheduledEvent::Recover { process, .. } => up(process),
            ScheduledEvent::RecoverFromCrash { process, session, .. } => {
                !run.live_processes.is_crashed_in(process, session)
            }
            ScheduledEvent::CrashInPhase { fault, inside, count } => {
                run.crash_target_in_phase(fault, inside, count).is_none()
            }
            ScheduledEvent::PartitionBegins { .. } | ScheduledEvent::PartitionHeals { .. } => false,
            ScheduledEvent::RequestArrival { process } => {
                !run.lock_users.as_ref().is_some_and(|users| users.is_arrival_due(process, time))
            }
            ScheduledEvent::UserMessage { .. } | ScheduledEvent::Script { .. } => false,
        }
    }

    fn describe(&self, event: &ScheduledEvent) -> String {
        let world = &self.steered.world;
        match *event {
            ScheduledEvent::Timer { slot, generation } => {
                match world.timers.armed_in_slot(slot, generation) {
                    Some((at, timer)) => format!("{at}'s timer {timer:?} fires"),
                    None => "a timer that was disarmed".to_owned(),
                }
            }
            ScheduledEvent::UserCommand { process, command } => match command {
                mutex::Command::Exit => format!("{process} asks to exit"),
                mutex::Command::Enter => format!("{process} asks to enter"),
            },
            ScheduledEvent::EndOfUse { process } => format!("{process} ends its session"),
            ScheduledEvent::DetectorReport { observer, peer, suspect }
            | ScheduledEvent::FalseSuspicion { observer, peer, suspect, .. } => {
                match suspicion_verdict(suspect) {
                    PeerVerdict::Suspect => format!("{observer} suspects {peer}"),
                    PeerVerdict::Trust => format!("{observer} trusts {peer}"),
                }
            }
            ScheduledEvent::Crash { process, .. } => format!("{process} crashes"),
            ScheduledEvent::Recover { process, .. }
            | ScheduledEvent::RecoverFromCrash { process, .. } => format!("{process} recovers"),
            ScheduledEvent::CrashInPhase { fault, inside, count } => {
                match world.run.crash_target_in_phase(fault, inside, count) {
                    Some(process) => format!("{process} crashes"),
                    None => "no process crashes".to_owned(),
                }
            }
            ScheduledEvent::PartitionBegins { .. } => "a partition begins".to_owned(),
            ScheduledEvent::PartitionHeals { .. } => "the partition heals".to_owned(),
            ScheduledEvent::RequestArrival { process } => format!("a request arrives at {process}"),
            ScheduledEvent::UserMessage { message } => {
                let message = world.run.user_traffic.get(message);
                format!(
                    "the user of {} receives a message from the user of {}",
                    message.to, message.from
                )
            }
            ScheduledEvent::Script { .. } => "a user asks".to_owned(),
        }
    }
}
