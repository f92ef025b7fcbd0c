//! Who moves a group by hand, one action at a time.

use std::convert::Infallible;
use std::fmt::Debug;

use tenure_core::ProcessId;

use crate::scripts::course::Course;
use crate::scripts::script::{Action, Asking, Pick};
use crate::scripts::stage;

/// A group whose every step is said.
///
/// The [`Stage`](crate::Stage) has it in memory, the simulator in virtual time, the checker as a
/// row of worlds, the runtime as nodes that talk TCP. One story is the same story in all of them.
pub trait Theatre {
    /// Performs one action.
    ///
    /// # Errors
    ///
    /// [`Impossible`] when it is not possible now; the group stays as it was, except after
    /// [`Impossible::Endless`] and [`Impossible::Broken`].
    fn perform(&mut self, action: &Action) -> Result<(), Impossible>;

    /// Performs all actions of a course.
    ///
    /// # Errors
    ///
    /// [`FollowError::Impossible`] at the first that is not possible.
    fn follow<E>(&mut self, course: &Course) -> Result<(), FollowError<E>> {
        for (place, action) in course.actions.iter().enumerate() {
            let done = self.perform(action);
            let step = course.steps_of(place) + 1;
            done.map_err(|why| FollowError::Impossible { step, why })?;
        }
        Ok(())
    }
}

/// An action is not possible now.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Impossible {
    /// The group is not such that it could be done, or it is never done here.
    #[error("`{0}` is not possible now")]
    Now(Action),
    /// A stage is one group.
    #[error("the group exists already; a new one needs a new stage")]
    GroupExists,
    /// There is no such process.
    #[error("there is no {at} in a group of {size}")]
    NoProcess {
        /// Who was named.
        at: ProcessId,
        /// How many there are.
        size: usize,
    },
    /// A process that crashed can only recover.
    #[error("{at} is down; recover it first")]
    Down {
        /// Which.
        at: ProcessId,
    },
    /// Only a process that crashed can recover.
    #[error("{at} is up; only a crashed process recovers")]
    Up {
        /// Which.
        at: ProcessId,
    },
    /// The words mean no command of this protocol.
    #[error("`{0}` is no command of this protocol")]
    NotUnderstood(Asking),
    /// There is no such message under way.
    #[error("no such message is under way: {0}")]
    NoMessage(Pick),
    /// The channel is first in, first out.
    #[error("the channel is FIFO and {0} is not the oldest message; say `channel reordered`")]
    Overtakes(Pick),
    /// There is no such timer, or more than one.
    #[error("`{timer}` is not exactly one of {at}'s armed timers {armed}")]
    NoTimer {
        /// Whose.
        at: ProcessId,
        /// Which was named.
        timer: String,
        /// Which are armed.
        armed: String,
    },
    /// There is always something more to do.
    #[error("after {} steps there is still something to do; say `stabilize 20`", stage::ENDLESS)]
    Endless,
    /// What carries the group gave way: a disk, a connection.
    #[error("the group broke down: {0}")]
    Broken(String),
}

/// A course could not be followed; `E` is what else can go wrong in an engine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FollowError<E = Infallible> {
    /// The group is of another size.
    #[error("the course is one of {course} processes, the group of {group}")]
    Size {
        /// How many the course has.
        course: u32,
        /// How many there are.
        group: u32,
    },
    /// A step is not possible.
    #[error("step {step}: {why}")]
    Impossible {
        /// Which, from 1.
        step: usize,
        /// Why not.
        #[source]
        why: Impossible,
    },
    /// There is no such group, or it could not be written down.
    #[error(transparent)]
    Engine(#[from] E),
}

/// The timer that a script calls `name`: the same, or the only one that contains it.
pub fn timer_named<'t, T: Debug>(
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

/// A name without case, dashes, underscores and spaces: `answer-timeout` is `AnswerTimeout`.
fn plain(name: &str) -> String {
    let letters = name.chars().filter(|letter| !matches!(letter, '-' | '_' | ' '));
    letters.flat_map(char::to_lowercase).collect()
}
