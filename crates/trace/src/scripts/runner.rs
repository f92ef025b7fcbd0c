//! Interface for performing scripts, one action at a time.

use std::convert::Infallible;
use std::fmt::Debug;

use tenure_core::ProcessId;

use crate::scripts::cluster;
use crate::scripts::schedule::Schedule;
use crate::scripts::script::{Action, MessageSelector, ScriptCommand};

/// Group of processes in which each step is requested by an action.
///
/// The implementations are [`TestCluster`](crate::TestCluster) in memory, the simulator in virtual
/// time, the checker, and the runtime with real nodes over TCP. A script means the same in all of
/// them.
pub trait ScriptRunner {
    /// Performs one action.
    ///
    /// # Errors
    ///
    /// Returns [`ActionError`] if it is not possible now. The group is unchanged, except after
    /// [`ActionError::Endless`] and [`ActionError::Broken`].
    fn perform(&mut self, action: &Action) -> Result<(), ActionError>;

    /// Performs all actions of a schedule.
    ///
    /// # Errors
    ///
    /// Returns [`FollowError::Impossible`] at the first action that is not possible.
    fn follow<E>(&mut self, schedule: &Schedule) -> Result<(), FollowError<E>> {
        for (place, action) in schedule.actions.iter().enumerate() {
            let done = self.perform(action);
            let step = schedule.steps_of(place) + 1;
            done.map_err(|why| FollowError::Impossible { step, why })?;
        }
        Ok(())
    }
}

/// An action is not possible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ActionError {
    /// The state of the group does not permit the action, or the engine does not support it.
    #[error("`{0}` is not possible now")]
    Now(Action),
    /// A runner has exactly one group.
    #[error("the group exists already; a new one needs a new cluster")]
    GroupExists,
    /// The process does not exist.
    #[error("there is no {at} in a group of {size}")]
    NoProcess {
        /// Process that was named.
        at: ProcessId,
        /// Size of the group.
        size: usize,
    },
    /// The process is down and can only recover.
    #[error("{at} is down; recover it first")]
    Down {
        /// Process that is down.
        at: ProcessId,
    },
    /// The process is up and cannot recover.
    #[error("{at} is up; only a crashed process recovers")]
    Up {
        /// Process that is up.
        at: ProcessId,
    },
    /// The words are not a command of this protocol.
    #[error("`{0}` is not a command of this protocol")]
    NotUnderstood(ScriptCommand),
    /// No such message is in flight.
    #[error("no such message is under way: {0}")]
    NoMessage(MessageSelector),
    /// The channel is FIFO and the message is not the oldest.
    #[error("the channel is FIFO and {0} is not the oldest message; use `channel reordered`")]
    Overtakes(MessageSelector),
    /// No armed timer matches, or several do.
    #[error("`{timer}` must match exactly one of {at}'s armed timers {armed}")]
    NoTimer {
        /// Process of the timer.
        at: ProcessId,
        /// Name in the script.
        timer: String,
        /// Names of the armed timers.
        armed: String,
    },
    /// The cluster does not come to rest.
    #[error(
        "the group does not come to rest within {} steps; limit it with `stabilize 20`",
        cluster::MAX_STEPS
    )]
    Endless,
    /// The engine failed, for example by a disk or connection error.
    #[error("the engine failed: {0}")]
    Broken(String),
}

/// A schedule could not be followed; `E` is the error type of the engine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FollowError<E = Infallible> {
    /// The group has another size.
    #[error("the schedule is for {schedule} processes, but the group has {group}")]
    Size {
        /// Size of the schedule.
        schedule: u32,
        /// Size of the group.
        group: u32,
    },
    /// A step is not possible.
    #[error("step {step}: {why}")]
    Impossible {
        /// Number of the step, from 1.
        step: usize,
        /// Reason why the step is impossible.
        #[source]
        why: ActionError,
    },
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] E),
}

/// Returns the timer with this name in a script: an exact match, or the only timer that contains
/// it.
pub fn find_timer<'t, T: Debug>(
    timers: impl Iterator<Item = &'t T> + Clone,
    name: &str,
) -> Option<&'t T> {
    let wanted = plain(name);
    let is = |timer: &&T| plain(&format!("{timer:?}")) == wanted;
    if let Some(timer) = timers.clone().find(is) {
        return Some(timer);
    }
    let mut alike = timers.filter(|timer| plain(&format!("{timer:?}")).contains(&wanted));
    let first = alike.next();
    if alike.next().is_some() { None } else { first }
}

/// Normalizes a name by removing case, dashes, underscores and spaces: `answer-timeout` matches
/// `AnswerTimeout`.
fn plain(name: &str) -> String {
    let letters = name.chars().filter(|letter| !matches!(letter, '-' | '_' | ' '));
    letters.flat_map(char::to_lowercase).collect()
}
