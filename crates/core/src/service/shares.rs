//! Shared locks: several processes hold a part of a lock at the same time, or one process holds the
//! whole lock.
//!
//! For a lock of readers and writers, each reader holds a part and a writer holds the whole lock.
//! For a semaphore, a part is one permit and the whole lock is all permits.

use core::fmt;

use super::Fence;
use super::session_user::{AcquireReleaseSequence, AcquireReleaseUser};
use super::user::UserModelConfig;

/// Share of a lock that a process requests or holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum LockShare {
    /// A part of the lock. A reader holds a part. For a semaphore, a part is one permit.
    Part,
    /// The whole lock. A writer holds the whole lock. For a semaphore, the whole lock is all
    /// permits.
    Whole,
}

impl fmt::Display for LockShare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LockShare::Part => "a part",
            LockShare::Whole => "the whole lock",
        })
    }
}

/// Command of the local user to the shared lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Command {
    /// Request a share of the lock. Allowed if this process neither holds a share nor waits for
    /// one.
    Lock {
        /// The requested share.
        share: LockShare,
    },
    /// Release the share that this process holds.
    Unlock,
}

/// Event of the shared lock for the local user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Event {
    /// This process holds a share.
    Locked {
        /// Share that this process holds.
        share: LockShare,
        /// Maximum number of parts that processes may hold at the same time. `None` if there is no
        /// maximum.
        limit: Option<u32>,
        /// Fencing token. It is higher than the tokens of all earlier holders with which this
        /// process cannot share the lock.
        fence: Fence,
    },
    /// This process does not hold its share any more. The event occurs after a command, or without
    /// a command if the process loses its share.
    Unlocked,
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Command::Lock { share } => write!(f, "requests {share}"),
            Command::Unlock => f.write_str("releases its share"),
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Locked { share, limit: None, fence } => {
                write!(f, "holds {share} with fence {fence}")
            }
            Event::Locked { share, limit: Some(limit), fence } => {
                write!(f, "holds {share} of {limit} permits with fence {fence}")
            }
            Event::Unlocked => f.write_str("holds no share"),
        }
    }
}

/// Model of a user of a shared lock.
pub type User = AcquireReleaseUser<ShareRequestSequence>;

/// Requests of a user that alternates between a part of the lock and the whole lock. The user of
/// the last process begins with the whole lock. All other users begin with a part.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ShareRequestSequence {
    share: LockShare,
}

impl AcquireReleaseSequence for ShareRequestSequence {
    type Command = Command;
    type Event = Event;
    const END: Command = Command::Unlock;

    fn new(config: &UserModelConfig) -> Self {
        let is_last = config.at.0 + 1 == config.size;
        ShareRequestSequence { share: if is_last { LockShare::Whole } else { LockShare::Part } }
    }

    fn request(&self) -> Command {
        Command::Lock { share: self.share }
    }

    fn advance(&mut self) {
        self.share = match self.share {
            LockShare::Part => LockShare::Whole,
            LockShare::Whole => LockShare::Part,
        };
    }

    fn is_beginning(event: &Event) -> bool {
        matches!(event, Event::Locked { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::super::user::{ServiceUser, UserState};
    use super::*;
    use crate::card::Service;
    use crate::process::ProcessId;

    #[test]
    fn users_alternate_and_one_begins_with_whole_lock() {
        for (at, first, second) in
            [(0, LockShare::Part, LockShare::Whole), (2, LockShare::Whole, LockShare::Part)]
        {
            let config = UserModelConfig {
                service: Service::Shares,
                at: ProcessId(at),
                size: 3,
                work_count: 2,
            };
            let mut user = User::new(&config);
            for share in [first, second] {
                let request = user.next_command().expect("it requests");
                assert_eq!(request, Command::Lock { share });
                assert!(User::requests_agreement(&request) && !user.must_issue_command());
                user.on_command(&request);
                assert_eq!((user.next_command(), user.state()), (None, UserState::Waiting));
                user.on_event(&Event::Locked { share, limit: None, fence: Fence(0, 1) });
                assert_eq!(user.next_command(), Some(Command::Unlock));
                assert!(user.must_issue_command() && user.is_using());
                user.on_command(&Command::Unlock);
                user.on_event(&Event::Unlocked);
            }
            assert_eq!(user.next_command(), None);
        }
    }

    #[test]
    fn user_that_loses_its_share_requests_the_next_one() {
        let config =
            UserModelConfig { service: Service::Shares, at: ProcessId(0), size: 2, work_count: 2 };
        let mut user = User::new(&config);
        user.on_command(&Command::Lock { share: LockShare::Part });
        user.on_event(&Event::Locked { share: LockShare::Part, limit: None, fence: Fence(0, 1) });
        user.on_event(&Event::Unlocked);
        assert_eq!(user.next_command(), Some(Command::Lock { share: LockShare::Whole }));
    }
}
