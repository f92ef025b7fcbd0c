//! Interface of the engines that perform scripts, one action at a time.

use std::convert::Infallible;
use std::fmt::Debug;

use tenure_core::ProcessId;

use crate::scripts::cluster;
use crate::scripts::schedule::Schedule;
use crate::scripts::script::{MessageSelector, ScriptAction, ScriptCommand};
use crate::scripts::service_command::ServiceCommand;

/// An engine that performs scripts. Its processes take only the steps that actions request.
///
/// The implementations are [`TestCluster`](crate::TestCluster) in memory, the simulator in virtual
/// time, the checker, and the runtime with real nodes over TCP. A script has the same meaning in
/// all of them.
pub trait ScriptRunner {
    /// Performs one action.
    ///
    /// # Errors
    ///
    /// Returns an [`ActionError`] if the action is not possible now. The group is unchanged, except
    /// after [`ActionError::Endless`] and [`ActionError::EngineFailed`].
    fn perform(&mut self, action: &ScriptAction) -> Result<(), ActionError>;

    /// Performs all actions of a schedule, in order.
    ///
    /// # Errors
    ///
    /// Returns [`ScheduleReplayError::Impossible`] at the first action that is not possible. The
    /// earlier actions have been performed.
    fn replay<E>(&mut self, schedule: &Schedule) -> Result<(), ScheduleReplayError<E>> {
        for (place, action) in schedule.actions.iter().enumerate() {
            let done = self.perform(action);
            let step = schedule.step_count_within(place) + 1;
            done.map_err(|why| ScheduleReplayError::Impossible { step, why })?;
        }
        Ok(())
    }
}

/// Error: the group cannot perform an action.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ActionError {
    /// The state of the group does not permit the action, or the engine does not support it.
    #[error("`{0}` is not possible now")]
    NotPossible(ScriptAction),
    /// The script starts a second group, but this runner has exactly one.
    #[error("the group exists already; a new one needs a new cluster")]
    GroupExists,
    /// The action names a process that does not exist.
    #[error("there is no {at} in a group of {size}")]
    NoProcess {
        /// Process that the action names.
        at: ProcessId,
        /// Size of the group.
        size: usize,
    },
    /// The process is down. It must recover before any other action.
    #[error("{at} is down; recover it first")]
    Down {
        /// Process that is down.
        at: ProcessId,
    },
    /// The process is up. Only a process that is down can recover.
    #[error("{at} is up; only a crashed process recovers")]
    Up {
        /// Process that is up.
        at: ProcessId,
    },
    /// The protocol has no command that consists of these words.
    #[error(
        "`{0}` is not a command of this protocol; other actions begin with deliver, lose, \
         duplicate, delay, fire, crash, recover, suspect or trust"
    )]
    UnknownCommand(ScriptCommand),
    /// No message in flight matches the selector.
    #[error("no such message is under way: {0}")]
    NoMessage(MessageSelector),
    /// The message is not the oldest on its link, and links are FIFO.
    #[error("the channel is FIFO and {0} is not the oldest message; use `channel reordered`")]
    Overtakes(MessageSelector),
    /// No armed timer matches the name in the action, or several timers match it.
    #[error("`{timer}` must match exactly one of {at}'s armed timers {armed}")]
    NoTimer {
        /// Process whose timer the action names.
        at: ProcessId,
        /// Name of the timer, as it is written in the action.
        timer: String,
        /// Names of the armed timers of the process.
        armed: String,
    },
    /// The group does not come to rest within the maximum number of steps.
    #[error(
        "the group does not come to rest within {} steps; limit it with `stabilize 20`",
        cluster::MAX_STEPS
    )]
    Endless,
    /// The engine failed, for example because of a disk or connection error.
    #[error("the engine failed: {0}")]
    EngineFailed(String),
}

impl ActionError {
    /// Creates the error of an action that the engine could not perform. `C` is the type of the
    /// commands of the protocol.
    pub fn for_impossible_action<C: ServiceCommand>(action: &ScriptAction) -> Self {
        Self::for_impossible_action_with_commands(action, |command| {
            C::from_script_command(command).is_some()
        })
    }

    /// Creates the error of an action that the engine could not perform. `is_known` returns true
    /// for the commands of the service.
    pub fn for_impossible_action_with_commands(
        action: &ScriptAction,
        is_known: impl Fn(&ScriptCommand) -> bool,
    ) -> Self {
        match action {
            ScriptAction::Command(command) if !is_known(command) => {
                ActionError::UnknownCommand(command.clone())
            }
            _ => ActionError::NotPossible(action.clone()),
        }
    }
}

/// Error: a schedule could not be replayed. `E` is the error type of the engine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleReplayError<E = Infallible> {
    /// The schedule is for a group of another size.
    #[error("the schedule is for {schedule} processes, but the group has {group}")]
    Size {
        /// Size of the group in the schedule.
        schedule: u32,
        /// Size of the group that replays the schedule.
        group: u32,
    },
    /// A step of the schedule is not possible.
    #[error("step {step}: {why}")]
    Impossible {
        /// Number of the step in the schedule, from 1. An action that only modifies a step belongs
        /// to the step that it modifies.
        step: usize,
        /// Reason why the step is impossible.
        #[source]
        why: ActionError,
    },
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] E),
}

/// Returns the timer that a script calls `name`. If no timer has exactly this name, returns the
/// only timer whose name contains `name`. Otherwise returns `None`.
pub fn find_timer<'t, T: Debug>(
    timers: impl Iterator<Item = &'t T> + Clone,
    name: &str,
) -> Option<&'t T> {
    let wanted = normalized(name);
    let is = |timer: &&T| normalized(&format!("{timer:?}")) == wanted;
    if let Some(timer) = timers.clone().find(is) {
        return Some(timer);
    }
    let mut alike = timers.filter(|timer| normalized(&format!("{timer:?}")).contains(&wanted));
    let first = alike.next();
    if alike.next().is_some() { None } else { first }
}

/// Converts a name to the form in which names are compared: in lower case, without dashes,
/// underscores and spaces. For example, `answer-timeout` and `AnswerTimeout` have the same form.
fn normalized(name: &str) -> String {
    let letters = name.chars().filter(|letter| !matches!(letter, '-' | '_' | ' '));
    letters.flat_map(char::to_lowercase).collect()
}
