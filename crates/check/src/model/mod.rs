//! Interface between the search and a protocol. It refers to states and messages by ids, so the
//! search is compiled once instead of once per protocol.

pub(crate) mod bypass;
pub(crate) mod cache;
pub(crate) mod causality;
mod crash_steps;
pub(crate) mod fingerprint;
pub(crate) mod handler_run;
pub(crate) mod hooks;
pub(crate) mod intern;
pub(crate) mod memo;
pub(crate) mod monitors;
mod postponing;
pub(crate) mod protocol_model;
pub(crate) mod step_content;
mod step_time;
mod timer_units;

use std::sync::Arc;

use serde_json::Value;
use tenure_core::{ProcessId, Violation};
use tenure_trace::property::{ServiceFacts, StepFacts};
use tenure_trace::{MessageRecord, RecordedCommand, ScriptCommand};

use crate::model::intern::Interned;
use crate::model::step_content::{DebugText, StepEffects, StepInput};
use crate::reduce::symmetry::Renaming;
use crate::users::user::UserState;
use crate::world::action::ProcessInput;

/// A protocol, its users and its monitors, as the search sees them.
pub(crate) trait SearchModel: Send + Sync {
    /// Returns all outcomes of the first boot of a process, one for each combination of choices.
    /// The weight of an outcome is the number of sent messages that the measure of the check
    /// counts.
    fn boot_outcomes(&self, at: ProcessId) -> Vec<StepOutcome>;

    /// Returns the local state of a process that is down from the start.
    fn initially_down_state(&self, at: ProcessId) -> Interned;

    /// Returns the initial state of the monitor at `index`.
    fn initial_monitor_state(&self, index: usize) -> Interned;

    /// Returns the facts about the local state with this id, and its enabled inputs with their
    /// fairness labels. The enabled inputs are the commands, timers and notifications that may
    /// occur in the state.
    fn local_facts_and_inputs(&self, local: u32) -> (LocalFacts, Vec<(ProcessInput, u32)>);

    /// Returns the outcomes of the input `cause` in a local state: one outcome for each combination
    /// of the choices that the handler can make.
    fn outcomes(&self, local: u32, cause: ProcessInput) -> Vec<StepOutcome>;

    /// Returns the local state to which this local state changes when one unit of time passes.
    /// Panics if a timer or the end of a step is due.
    fn after_time_unit(&self, local: u32) -> Interned;

    /// Returns the local state with all timestamps decreased by `by`.
    fn shifted_local(&self, local: u32, by: u64) -> Interned;

    /// Returns the smallest timestamp in a message. `None` if the message contains no timestamp.
    fn smallest_message_timestamp(&self, message: u32) -> Option<u64>;

    fn shifted_message(&self, message: u32, by: u64) -> Interned;

    /// Returns the fingerprint of a local state under the renaming with this index.
    fn renamed_local_fingerprint(&self, local: u32, renaming: usize) -> u64;

    fn renamed_message_fingerprint(&self, message: u32, renaming: usize) -> u64;

    /// Returns the renaming of processes with this index. Index 0 is the identity.
    fn renaming(&self, renaming: usize) -> &Renaming;

    /// Returns the next state of the monitor at `index`. The monitor is in the state `monitor`, and
    /// observes `observation`. If the observation violates the property, returns the violation.
    fn judge(&self, index: usize, monitor: u32, observation: u32) -> Result<Interned, Violation>;

    /// Checks whether a run may end in this state of a monitor. If it may not, returns the
    /// violation as an error.
    fn judge_end(&self, index: usize, monitor: u32) -> Result<(), Violation>;

    /// Returns the facts about a state of a monitor. `index` is the index of the monitor, and
    /// `monitor` is the id of the state.
    fn monitor_state_facts(&self, index: usize, monitor: u32) -> MonitorStateFacts;

    fn shifted_monitor(&self, index: usize, monitor: u32, by: u64) -> Interned;

    /// Returns the facts that the monitor at index `monitor` has collected when it is in `state`.
    /// Properties that users write as expressions read these facts. At most one monitor of a search
    /// collects facts.
    fn service_facts(&self, monitor: usize, state: u32) -> Arc<ServiceFacts>;

    /// Removes the sent messages from an observation, and returns the id of the remaining
    /// observation. Returns 0 if nothing remains.
    fn without_sending(&self, observation: u32) -> u32;

    /// Returns the facts about the step with this observation that properties written as
    /// expressions read.
    fn step_facts(&self, observation: u32) -> StepFacts;

    /// Returns the state of a process as text. `None` if the process is down.
    fn state_text(&self, local: u32) -> Option<DebugText>;

    /// Returns the content of a message as a tree of values.
    fn message_tree(&self, message: u32) -> Value;

    fn message_name(&self, message: u32) -> &'static str;

    /// Returns the record of a message with its content.
    fn message_record(
        &self,
        message: u32,
        peer: ProcessId,
        session: u64,
        number: u64,
    ) -> MessageRecord;

    /// Returns the process of the local state `local`, and the content of a step in which this
    /// process receives the input `cause`. `outcome` is the index of the outcome of the step, or
    /// `None` if the handler panicked.
    fn step_input(
        &self,
        local: u32,
        cause: ProcessInput,
        outcome: Option<usize>,
    ) -> (ProcessId, StepInput);

    /// Returns the effects of an input in a local state. `outcome` is the index of one of the
    /// outcomes of the input.
    fn effects(&self, local: u32, cause: ProcessInput, outcome: usize) -> StepEffects;

    /// Returns the effects of the boot that brings the process `at` into the local state `local`.
    fn boot_effects(&self, at: ProcessId, local: u32) -> StepEffects;

    /// Returns the names of the armed timers.
    fn armed_timers(&self, local: u32) -> Vec<DebugText>;

    /// Converts a command in a script to a command of the service. Returns `None` if the service
    /// has no such command.
    fn command_from_script(&self, script_command: &ScriptCommand) -> Option<RecordedCommand>;

    /// Returns true if terms are bounded, and some process had a term above 0 in a state found so
    /// far.
    fn has_terms(&self) -> bool;

    /// Sets whether the search uses the reduction by commuting deliveries.
    fn set_reducing(&self, is_reducing: bool);

    /// Returns an estimate of the memory of the interned local states and messages, in bytes.
    fn bytes(&self) -> usize;
}

/// A possible result of an input of a process.
#[derive(Clone, Debug)]
pub(crate) struct StepOutcome {
    /// Local state after the step.
    pub(crate) local: Interned,
    /// Ids of the messages in flight that the process sends, in order.
    pub(crate) packets: Vec<u32>,
    /// Id of the list of commands and events that the monitors observe in this step; 0 if the list
    /// is empty.
    pub(crate) observation: u32,
    /// Number that the step adds to the quantity that the check measures. 0 if the check measures
    /// nothing. The weight of a boot is the number of counted messages that the process sends,
    /// whatever the measure.
    pub(crate) weight: u16,
}

/// Facts about a local state that the search needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LocalFacts {
    pub(crate) fingerprint: u64,
    /// True if the process is down.
    pub(crate) down: bool,
    /// True if the process is up but mute: its later effects are not released.
    pub(crate) is_mute: bool,
    /// True if the crash filter of the check permits a crash in this state. False if the process is
    /// down or mute.
    pub(crate) can_crash: bool,
    /// State of the user. The user of a process that is down or mute is idle.
    pub(crate) user: UserState,
    /// Bits of the peers that the failure detector of this process suspects.
    pub(crate) suspected: u32,
    /// Length of the longest causal chain that ends at this process, in messages. 0 if it is not
    /// measured.
    pub(crate) causal_chain_length: u32,
    /// True if the user can issue a command.
    pub(crate) has_command: bool,
    /// True if time must not pass yet: first a timer of this process must fire, or its step in
    /// progress must end.
    pub(crate) is_urgent: bool,
    /// Fairness label of the action that ends the step in progress. `None` if no step may end now.
    pub(crate) step_end: Option<u32>,
    /// Smallest timestamp in the state. `None` if the state contains no timestamp, or if the search
    /// uses no shifts.
    pub(crate) smallest_timestamp: Option<u64>,
    /// True if the term of the process exceeds the bound on terms.
    pub(crate) exceeds_term_bound: bool,
}

/// Facts about one state of a monitor.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MonitorStateFacts {
    pub(crate) fingerprint: u64,
    /// True if this state of the monitor must not be the last one: a run that ends in this state,
    /// or stays in it forever, violates the property.
    pub(crate) fails_at_end: bool,
    /// Value that the monitor measures in this state; 0 if it measures nothing.
    pub(crate) measure: u64,
    /// Smallest timestamp in this state. `None` if the state contains no timestamp.
    pub(crate) smallest_timestamp: Option<u64>,
}
