//! Weights of steps. The weight of a step is the number that the step adds to a measure.

use tenure_core::{Labelled, ProcessId};

use crate::explore::successor::{FAULT_LABEL, TIME_LABEL};
use crate::measure::Measure;
use crate::model::handler_run::HandlerRun;
use crate::model::protocol_model::ProtocolModel;
use crate::users::user::Checkable;
use crate::world::action::ProcessInput;
use crate::world::local::{Lifecycle, LocalState};
use tenure_trace::MuteState;

/// Bit in the label of a step, set if the step is a fault. Only a graph whose labels contain the
/// weights of steps uses this bit. [`TIME_LABEL`] contains the bit too, but is no fault.
const IS_FAULT: u32 = 1 << 30;

/// Returns the label of a step in a graph whose labels contain weights. `label` is the fairness
/// label of the step. The result contains the weight, and [`IS_FAULT`] if the step is a fault.
pub(crate) fn weighted_label(label: u32, weight: u16) -> u32 {
    let fault = if label == FAULT_LABEL { IS_FAULT } else { 0 };
    u32::from(weight) | fault
}

/// Returns the weight in a label that [`weighted_label`] has returned. Returns 0 for
/// [`TIME_LABEL`].
pub(super) fn weight_of_label(label: u32) -> u32 {
    if label == TIME_LABEL { 0 } else { label & !IS_FAULT }
}

pub(super) fn is_fault_label(label: u32) -> bool {
    label != TIME_LABEL && label & IS_FAULT != 0
}

impl<P: Checkable> ProtocolModel<P> {
    /// Returns true if the measure counts messages with the content `message` from the process
    /// `from` to the process `to`. Messages of a process to itself never count.
    pub(crate) fn is_counted(&self, from: u32, to: u32, message: &P::Message) -> bool {
        let Some(config) = self.measure.as_ref().filter(|_| from != to) else { return false };
        let label = message.label();
        match &config.message_kind {
            Some(kind) => kind == label.kind,
            None => self.config.service.counted_layer().is_none_or(|layer| layer == label.layer),
        }
    }

    /// Returns the number of messages in `messages` that the measure counts. The process `from`
    /// sends these messages.
    pub(crate) fn count_measured_sends(
        &self,
        from: ProcessId,
        messages: &[(ProcessId, P::Message)],
    ) -> u16 {
        let counted = messages.iter().filter(|(to, sent)| self.is_counted(from.0, to.0, sent));
        u16::try_from(counted.count()).unwrap_or(u16::MAX)
    }

    /// Returns the weight of the step in which a handler ran: how much the step adds to the
    /// measure.
    pub(crate) fn step_weight(
        &self,
        local: &LocalState<P>,
        cause: ProcessInput,
        run: &HandlerRun<P>,
    ) -> u16 {
        let Some(config) = &self.measure else { return 0 };
        match config.measure {
            Measure::Messages => self.count_measured_sends(local.at, &run.messages),
            Measure::Received => u16::from(self.is_counted_delivery(local, cause)),
            Measure::Moves => u16::from(self.is_move(local, cause)),
            Measure::CausalChainLength | Measure::Bypass => 0,
        }
    }

    /// Returns true if the input is a message that the measurement counts, and the process handles
    /// it.
    fn is_counted_delivery(&self, local: &LocalState<P>, cause: ProcessInput) -> bool {
        let ProcessInput::Deliver(packet) = cause else { return false };
        let packet = self.network.packet_by_id(packet);
        let counts = || self.is_counted(packet.from, packet.to, &self.messages.get(packet.message));
        packet.message != 0 && handles_inputs(local) && counts()
    }

    /// Returns true if the input counts as a move: it runs a handler of the protocol.
    fn is_move(&self, local: &LocalState<P>, cause: ProcessInput) -> bool {
        match cause {
            ProcessInput::Deliver(packet) => {
                self.network.packet_by_id(packet).message != 0 && handles_inputs(local)
            }
            ProcessInput::Crash | ProcessInput::Recover | ProcessInput::Send(_) => false,
            ProcessInput::Mute | ProcessInput::StepEnd | ProcessInput::Notify => false,
            _ => true,
        }
    }

    /// Returns the length of the longest causal chain that ends at a process after the process has
    /// received the message `packet`. `mine` is the length before it received the message. The
    /// result is at most [`Measure::counting_cap`].
    pub(crate) fn causal_chain_after(&self, mine: u32, packet: u32) -> u32 {
        let packet = self.network.packet_by_id(packet);
        let counts = packet.message != 0
            && self.is_counted(packet.from, packet.to, &self.messages.get(packet.message));
        let before = self.network.past_by_id(packet.past)[0];
        let cap = Measure::CausalChainLength.counting_cap().unwrap_or(u32::MAX);
        mine.max((before + u32::from(counts)).min(cap))
    }
}

/// Returns true if the process handles inputs. A process that is down, or mute in the state
/// [`MuteState::IgnoresInputs`], loses its inputs.
fn handles_inputs<P: Checkable>(local: &LocalState<P>) -> bool {
    !matches!(
        local.lifecycle,
        Lifecycle::Down(_) | Lifecycle::Mute { since: MuteState::IgnoresInputs, .. }
    )
}
