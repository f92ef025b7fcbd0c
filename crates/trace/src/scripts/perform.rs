//! Execution of scripts on test clusters.

use tenure_core::{ChannelOrder, Group, Labelled, ProcessId, Protocol};

use crate::scripts::cluster::MAX_STEPS;
use crate::scripts::cluster::TestCluster;
use crate::scripts::runner::{ActionError, ScriptRunner, find_timer};
use crate::scripts::script::{MessageSelector, Script, ScriptAction, ScriptCommand};
use crate::scripts::service_command::ServiceCommand;

/// Error: a script could not be performed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PerformError {
    /// An action was not possible.
    #[error("line {line}: {error}")]
    Action {
        /// Number of the line with the action, from 1.
        line: usize,
        /// Reason why the action is impossible.
        #[source]
        error: ActionError,
    },
    /// An action came before the first `group`, so there is no group.
    #[error("line {line}: there is no group yet; start with `group 3`")]
    NoGroup {
        /// Number of the line with the action, from 1.
        line: usize,
    },
}

/// Performs `script` on test clusters of `P`, with `config` for each process. Links are FIFO until
/// the script says `channel reordered`. Returns the outcome of each block.
///
/// # Errors
///
/// Returns a [`PerformError`] at the first action that is not possible. The outcomes of earlier
/// blocks are lost.
pub fn perform_script<P: Protocol<Command: ServiceCommand>>(
    script: &Script,
    config: impl Fn(Group) -> P::Config,
) -> Result<Vec<String>, PerformError> {
    let mut stages = Vec::new();
    perform_script_on::<P>(&mut stages, script, &config)
}

/// Performs a script and returns the outcome of each block, as [`perform_script`] does. Each action
/// `group` of the script starts a new test cluster. All these clusters are appended to `stages`.
pub(crate) fn perform_script_on<P: Protocol<Command: ServiceCommand>>(
    stages: &mut Vec<TestCluster<P>>,
    script: &Script,
    config: &dyn Fn(Group) -> P::Config,
) -> Result<Vec<String>, PerformError> {
    let mut outcomes = Vec::with_capacity(script.blocks.len());
    for block in &script.blocks {
        let mut lines = Vec::new();
        for (line, action) in block.actions_with_lines() {
            match (action, stages.last_mut()) {
                (ScriptAction::Group(size), _) => {
                    stages.push(TestCluster::with_transcript(*size, ChannelOrder::Fifo, config));
                }
                (_, None) => return Err(PerformError::NoGroup { line }),
                (action, Some(cluster)) => {
                    cluster.perform(action).map_err(|error| PerformError::Action { line, error })?
                }
            }
            lines.extend(stages.last_mut().into_iter().flat_map(TestCluster::take_transcript));
        }
        outcomes.push(lines.join("\n"));
    }
    Ok(outcomes)
}

impl<P: Protocol<Command: ServiceCommand>> ScriptRunner for TestCluster<P> {
    fn perform(&mut self, action: &ScriptAction) -> Result<(), ActionError> {
        self.batch.environment.drawn.clear();
        match action {
            ScriptAction::Group(_) => return Err(ActionError::GroupExists),
            ScriptAction::Choose { at, value } => return self.choose(*at, *value),
            ScriptAction::Channel(order) => self.channel_order = *order,
            ScriptAction::Command(script_command) => self.ask(script_command)?,
            ScriptAction::Deliver(pick) => {
                let place = self.next(pick)?;
                self.deliver_nth(place);
            }
            ScriptAction::Tell { from, to } => self.tell(*from, *to)?,
            ScriptAction::Hear(pick) => self.hear(pick)?,
            ScriptAction::Lose(pick) => {
                let place = self.find(pick)?;
                self.lose_nth(place);
            }
            ScriptAction::Duplicate(pick) => {
                let place = self.find(pick)?;
                self.duplicate_nth(place);
            }
            // In a cluster, a message has no delay. The action only checks that the message exists.
            ScriptAction::Delay { pick, .. } => drop(self.find(pick)?),
            ScriptAction::Fire { at, timer } => {
                let timer = self.armed(*at, timer)?;
                self.fire_timer(*at, timer);
            }
            ScriptAction::Mute(_)
            | ScriptAction::Unsaved(_)
            | ScriptAction::Crash(_)
            | ScriptAction::Recover(_) => {
                self.change_lifecycle(action)?;
            }
            ScriptAction::Split(sides) => {
                sides.iter().flatten().try_for_each(|at| self.exists(*at))?;
                self.transcribe(|| action.to_string());
                self.sides.clone_from(sides);
            }
            ScriptAction::Heal => {
                self.transcribe(|| action.to_string());
                self.sides.clear();
            }
            ScriptAction::Suspicion { at, peer, verdict } => {
                self.exists(*peer).and_then(|()| self.up(*at))?;
                self.report_suspicion(*at, *peer, *verdict);
            }
            ScriptAction::Stabilize { timers, most } => self.stabilize(*timers, *most)?,
            ScriptAction::Look(at) => {
                self.exists(*at)?;
                self.transcribe_state(*at);
            }
        }
        match action {
            ScriptAction::Group(_)
            | ScriptAction::Channel(_)
            | ScriptAction::Stabilize { .. }
            | ScriptAction::Look(_) => {}
            // `unsaved` is not a step. It modifies the next step, as `choose` does.
            ScriptAction::Unsaved(_) => self.performed_actions.push(action.clone()),
            action => self.record_action(action.clone()),
        }
        Ok(())
    }
}

impl<P: Protocol<Command: ServiceCommand>> TestCluster<P> {
    /// Performs an action that crashes a process, recovers it, or injects a save fault into it.
    fn change_lifecycle(&mut self, action: &ScriptAction) -> Result<(), ActionError> {
        match action {
            ScriptAction::Recover(at) => self.down(*at).map(|()| self.recover(*at)),
            ScriptAction::Mute(at) => self.up(*at).map(|()| self.mute(*at)),
            ScriptAction::Unsaved(at) => self.up(*at).map(|()| self.stop_saving(*at)),
            ScriptAction::Crash(at) => self.up(*at).map(|()| self.crash(*at)),
            _ => Ok(()),
        }
    }

    fn choose(&mut self, at: ProcessId, value: u32) -> Result<(), ActionError> {
        self.exists(at)?;
        self.batch.environment.choices.push_back(value);
        Ok(())
    }

    fn tell(&mut self, from: ProcessId, to: ProcessId) -> Result<(), ActionError> {
        self.up(from)?;
        self.exists(to)?;
        self.transcribe(|| format!("{from}'s application sends to {to}'s"));
        self.application_messages.push((from, to));
        Ok(())
    }

    fn down(&self, at: ProcessId) -> Result<(), ActionError> {
        self.exists(at)?;
        if self.is_up(at) { Err(ActionError::Up { at }) } else { Ok(()) }
    }

    fn exists(&self, at: ProcessId) -> Result<(), ActionError> {
        let size = self.size() as usize;
        if at.index() < size { Ok(()) } else { Err(ActionError::NoProcess { at, size }) }
    }

    fn up(&self, at: ProcessId) -> Result<(), ActionError> {
        self.exists(at)?;
        if self.is_up(at) { Ok(()) } else { Err(ActionError::Down { at }) }
    }

    fn ask(&mut self, script_command: &ScriptCommand) -> Result<(), ActionError> {
        self.up(script_command.at)?;
        let understood = P::Command::from_script_command(script_command);
        let command =
            understood.ok_or_else(|| ActionError::UnknownCommand(script_command.clone()))?;
        if let Some(unknown) = command.to_recorded().process_outside_group(self.size()) {
            self.exists(unknown)?;
        }
        self.issue_command(script_command.at, command);
        Ok(())
    }

    fn find(&self, pick: &MessageSelector) -> Result<usize, ActionError> {
        self.exists(pick.from)?;
        self.exists(pick.to)?;
        let kinds = self.in_flight().map(|(from, to, message)| (from, to, message.label().kind));
        pick.index_in(kinds).ok_or_else(|| ActionError::NoMessage(pick.clone()))
    }

    /// Returns the index of the message that `pick` selects. Returns an error if a partition blocks
    /// the message, or if the link is FIFO and an older message is in flight.
    fn next(&self, pick: &MessageSelector) -> Result<usize, ActionError> {
        let place = self.find(pick)?;
        if self.is_cut((pick.from, pick.to)) {
            return Err(ActionError::NotPossible(ScriptAction::Deliver(pick.clone())));
        }
        let oldest = self.find(&MessageSelector::oldest(pick.from, pick.to))?;
        if self.channel_order == ChannelOrder::Fifo && place != oldest {
            return Err(ActionError::Overtakes(pick.clone()));
        }
        Ok(place)
    }

    fn hear(&mut self, pick: &MessageSelector) -> Result<(), ActionError> {
        let found =
            pick.index_in(self.application_messages.iter().map(|(from, to)| (*from, *to, "")));
        self.application_messages
            .remove(found.ok_or_else(|| ActionError::NoMessage(pick.clone()))?);
        self.transcribe(|| format!("{}'s application receives from {}'s", pick.to, pick.from));
        Ok(())
    }

    fn armed(&self, at: ProcessId, name: &str) -> Result<P::Timer, ActionError> {
        self.up(at)?;
        let armed = self.timers_of(at);
        let found = find_timer(armed.iter().copied(), name).cloned();
        found.ok_or_else(|| ActionError::NoTimer {
            at,
            timer: name.to_owned(),
            armed: format!("{armed:?}"),
        })
    }

    fn stabilize(&mut self, timers: bool, most: Option<u32>) -> Result<(), ActionError> {
        for _ in 0..most.unwrap_or(MAX_STEPS) {
            if !self.take_step(timers) {
                return Ok(());
            }
        }
        let rests =
            self.next_deliverable_index().is_none() && !(timers && self.next_timer().is_some());
        if most.is_some() || rests { Ok(()) } else { Err(ActionError::Endless) }
    }
}
