//! Group mutual exclusion: processes of one forum may be inside the critical section together, and
//! processes of different forums may not.

use core::fmt;

use super::session_user::{AcquireReleaseSequence, AcquireReleaseUser};
use super::user::UserModelConfig;

/// Command of the local user to group mutual exclusion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Command {
    /// Request to attend a forum. Allowed if this process neither attends a forum nor waits for
    /// one.
    Attend {
        /// Number of the forum.
        forum: u64,
    },
    /// Leave the forum. Allowed while this process attends it.
    Depart,
}

/// Event of group mutual exclusion for the local user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Event {
    /// This process attends the forum that it requested.
    Attending {
        /// Number of the forum.
        forum: u64,
    },
    /// This process has left its forum.
    Departed,
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Command::Attend { forum } => write!(f, "requests forum {forum}"),
            Command::Depart => f.write_str("leaves its forum"),
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Attending { forum } => write!(f, "attends forum {forum}"),
            Event::Departed => f.write_str("has left"),
        }
    }
}

/// Model of a user who attends forums.
pub type User = AcquireReleaseUser<ForumRequestSequence>;

/// Requests that alternate between the forums 1 and 2. The first half of the processes begins with
/// forum 1, and the second half with forum 2.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ForumRequestSequence {
    forum: u64,
}

impl AcquireReleaseSequence for ForumRequestSequence {
    type Command = Command;
    type Event = Event;
    const END: Command = Command::Depart;

    fn new(config: &UserModelConfig) -> Self {
        let UserModelConfig { at, size, .. } = *config;
        let is_in_second_half = u64::from(at.0) * 2 >= u64::from(size);
        ForumRequestSequence { forum: 1 + u64::from(is_in_second_half) }
    }

    fn request(&self) -> Command {
        Command::Attend { forum: self.forum }
    }

    fn advance(&mut self) {
        self.forum = 3 - self.forum;
    }

    fn is_beginning(event: &Event) -> bool {
        matches!(event, Event::Attending { .. })
    }
}
