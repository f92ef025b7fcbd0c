//! Content and effects of a step, in the terms of traces. They do not depend on the type of the
//! protocol, so the code that explains runs is compiled once.

use std::fmt;

use tenure_core::{PeerVerdict, ProcessId};
use tenure_trace::{RandomChoice, RecordedCommand, RecordedEvent, ServiceCommand, ServiceEvent};

use crate::model::handler_run::HandlerRun;
use crate::model::protocol_model::ProtocolModel;
use crate::users::user::{Checkable, User};
use crate::world::action::ProcessInput;
use crate::world::local::{Lifecycle, LocalState};

/// Input of a process, or action of the environment, that causes a step.
#[derive(Clone, Debug)]
pub(crate) enum StepInput {
    Command(RecordedCommand),
    /// Name of the timer.
    Timer(DebugText),
    /// Sender, receiver and id of a message. The id is 0 for a message between applications.
    Message(ProcessId, ProcessId, u32),
    /// Peer that the process suspects or trusts.
    Suspicion(ProcessId, PeerVerdict),
    /// A partition of the network. The number contains one bit for each process on one side of the
    /// partition.
    Split(u32),
    /// A crash before the last step is saved. The crash undoes this step.
    CrashBeforeSave,
    /// End of a step that takes time. The process sends the messages of the step at this moment.
    StepEnd,
    /// A step without an input to describe, such as a crash, a recovery or the passing of time.
    Nothing,
}

/// Effects of a step.
#[derive(Clone, Debug, Default)]
pub(crate) struct StepEffects {
    /// Receiver and id of the content of each message that the process sent.
    pub(crate) messages: Vec<(ProcessId, u32)>,
    pub(crate) events: Vec<RecordedEvent>,
    pub(crate) choices: Vec<RandomChoice>,
}

/// Text that the `Debug` implementation of a value has produced. The `Debug` implementation of this
/// type prints the text without quotes.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct DebugText(String);

impl DebugText {
    pub(crate) fn new(value: &dyn fmt::Debug) -> Self {
        DebugText(format!("{value:?}"))
    }
}

impl fmt::Debug for DebugText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<P: Checkable> ProtocolModel<P> {
    /// Converts the input `cause` of a process in the state `local` to the terms of traces.
    /// `outcome` is the index of the outcome of the step. For a crash, it decides whether the crash
    /// undoes the last step.
    pub(super) fn content_of(
        &self,
        local: &LocalState<P>,
        cause: ProcessInput,
        outcome: Option<usize>,
    ) -> StepInput {
        match cause {
            ProcessInput::Command(index) => {
                let enabled = local.user.enabled_commands().swap_remove(index as usize);
                StepInput::Command(enabled.command.to_recorded())
            }
            ProcessInput::Timer(index) => {
                StepInput::Timer(DebugText::new(&local.timers[index as usize].timer))
            }
            ProcessInput::Deliver(id) => {
                let packet = self.network.packet_by_id(id);
                let (from, to) = (ProcessId(packet.from), ProcessId(packet.to));
                StepInput::Message(from, to, packet.message)
            }
            ProcessInput::Suspect(peer) | ProcessInput::RestartSuspect(peer) => {
                StepInput::Suspicion(ProcessId(peer), PeerVerdict::Suspect)
            }
            ProcessInput::Trust(peer) | ProcessInput::RestartTrust(peer) => {
                StepInput::Suspicion(ProcessId(peer), PeerVerdict::Trust)
            }
            ProcessInput::Send(to) => StepInput::Message(local.at, ProcessId(to), 0),
            ProcessInput::StepEnd => StepInput::StepEnd,
            // The first outcome of a crash loses the state that is not saved yet.
            ProcessInput::Crash if matches!(local.lifecycle, Lifecycle::SaveBehind { .. }) => {
                if outcome == Some(0) {
                    StepInput::CrashBeforeSave
                } else {
                    StepInput::Nothing
                }
            }
            ProcessInput::Crash
            | ProcessInput::Recover
            | ProcessInput::Mute
            | ProcessInput::Notify => StepInput::Nothing,
        }
    }

    pub(super) fn effects_of(&self, run: HandlerRun<P>) -> StepEffects {
        let mut effects = StepEffects { choices: run.choices, ..StepEffects::default() };
        for (to, message) in run.messages {
            effects.messages.push((to, self.message(message).id));
        }
        for event in &run.events {
            effects.events.push(event.to_recorded());
        }
        effects
    }
}
