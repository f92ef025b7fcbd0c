//! Exclusive use of several resources. A process requests resources one after the other. To end a
//! deadlock, the service may take all resources of a process.

use core::fmt;

use super::user::{ServiceUser, UserModelConfig, UserState};
use crate::process::ProcessId;

/// Number of a resource, from 1. Printed as `R1`, `R2` and so on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Resource(pub u64);

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "R{}", self.0)
    }
}

impl fmt::Debug for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Command of the local user to the resource service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Command {
    /// Request a resource. The command is allowed if this process waits for no resource, and does
    /// not hold the requested resource.
    Acquire {
        /// The requested resource.
        resource: Resource,
    },
    /// Release a resource. The command is allowed if this process waits for no resource. If this
    /// process does not hold the released resource, the command only causes the event
    /// [`Event::Released`].
    Release {
        /// The released resource.
        resource: Resource,
    },
}

/// Event of the resource service for the local user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Event {
    /// This process holds the resource that it requested.
    Acquired {
        /// The acquired resource.
        resource: Resource,
    },
    /// This process has released the resource.
    Released {
        /// The released resource.
        resource: Resource,
    },
    /// This process is the victim of a deadlock. It holds no resource and waits for none.
    Aborted,
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Command::Acquire { resource } => write!(f, "requests {resource}"),
            Command::Release { resource } => write!(f, "releases {resource}"),
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Acquired { resource } => write!(f, "acquires {resource}"),
            Event::Released { resource } => write!(f, "has released {resource}"),
            Event::Aborted => f.write_str("is aborted"),
        }
    }
}

/// A user that holds one resource and meanwhile uses two other resources, one after the other.
///
/// There are as many resources as processes, but at least three. The resources form a ring: the
/// first resource follows the last resource. The user at process *i* acquires resource *i*. Then it
/// acquires and releases resource *i* + 1. Then it acquires resource *i* + 2, and releases both
/// resources that it holds. This is a round. A user that is aborted starts the round again.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct User {
    at: ProcessId,
    resources: u32,
    /// Number of commands that the user has issued in the present round, from 0 to 5.
    step: u8,
    /// Number of rounds that the user has not completed.
    remaining: u32,
    is_waiting: bool,
}

impl User {
    /// Returns the resource that is `distance` places after the first resource of the user in the
    /// ring. Resource 1 follows the resource with the largest number.
    fn resource(&self, distance: u32) -> Resource {
        let index = (u64::from(self.at.0) + u64::from(distance)) % u64::from(self.resources);
        Resource(index + 1)
    }
}

impl ServiceUser for User {
    type Command = Command;
    type Event = Event;

    const HAS_HOLD_TIME: bool = true;

    fn new(config: &UserModelConfig) -> Self {
        let resources = config.size.max(3);
        User { at: config.at, resources, step: 0, remaining: config.work_count, is_waiting: false }
    }

    fn next_command(&self) -> Option<Command> {
        if self.is_waiting || self.remaining == 0 {
            return None;
        }
        let acquire = |distance| Command::Acquire { resource: self.resource(distance) };
        let release = |distance| Command::Release { resource: self.resource(distance) };
        Some(match self.step {
            0 => acquire(0),
            1 => acquire(1),
            2 => release(1),
            3 => acquire(2),
            4 => release(2),
            _ => release(0),
        })
    }

    /// Returns true if the command acquires a resource. Only such commands are counted, because the
    /// cost of the service is stated per acquisition.
    fn requests_agreement(command: &Command) -> bool {
        matches!(command, Command::Acquire { .. })
    }

    /// Returns true if the user must eventually issue its next command, because the user holds a
    /// resource for which other users may wait.
    fn must_issue_command(&self) -> bool {
        self.step > 0 && !self.is_waiting
    }

    /// Returns true if the user has just acquired its second or its third resource. The user uses
    /// each of these two resources for a while before the release. The user only holds its first
    /// resource and never uses it.
    fn is_using(&self) -> bool {
        !self.is_waiting && matches!(self.step, 2 | 4)
    }

    fn must_wait(&self) -> bool {
        self.is_waiting
    }

    fn on_command(&mut self, _: &Command) {
        self.is_waiting = true;
        self.step += 1;
        if self.step == 6 {
            self.step = 0;
            self.remaining = self.remaining.saturating_sub(1);
        }
    }

    fn on_event(&mut self, event: &Event) {
        self.is_waiting = false;
        if *event == Event::Aborted {
            self.step = 0;
        }
    }

    fn on_crash(&mut self) {
        (self.step, self.remaining, self.is_waiting) = (0, 0, false);
    }

    fn state(&self) -> UserState {
        if self.is_waiting { UserState::Waiting } else { UserState::Idle }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;
    use alloc::vec::Vec;

    use super::*;
    use crate::card::Service;

    fn user(at: u32, times: u32) -> User {
        let service = Service::Resources;
        User::new(&UserModelConfig { service, at: ProcessId(at), size: 2, work_count: times })
    }

    #[test]
    fn user_borrows_two_resources_while_it_keeps_one() {
        let mut user = user(1, 1);
        let mut issued = Vec::new();
        while let Some(command) = user.next_command() {
            issued.push(command.to_string());
            user.on_command(&command);
            assert_eq!((user.next_command(), user.state()), (None, UserState::Waiting));
            user.on_event(&match command {
                Command::Acquire { resource } => Event::Acquired { resource },
                Command::Release { resource } => Event::Released { resource },
            });
        }
        let expected = ["requests R2", "requests R3", "releases R3", "requests R1"];
        assert_eq!(issued[..4], expected);
        assert_eq!(issued[4..], ["releases R1", "releases R2"]);
    }

    #[test]
    fn aborted_user_starts_again() {
        let mut user = user(0, 1);
        let first = user.next_command().expect("it requests");
        for resource in [1, 2].map(Resource) {
            assert_eq!(user.next_command(), Some(Command::Acquire { resource }));
            user.on_command(&Command::Acquire { resource });
            user.on_event(&Event::Acquired { resource });
        }
        assert!(user.must_issue_command());
        user.on_event(&Event::Aborted);
        assert_eq!(user.next_command(), Some(first));
        assert!(!user.must_issue_command());
    }
}
