//! Common interface of all agreement services. Engines treat them as one service. Each service has
//! a user model, which generates the commands of a workload.
//!
//! An engine is compiled once for all services. Therefore commands and events are enums
//! ([`Command`], [`Event`]) with one variant per service. A new service is added as one line of the
//! macro `services`.

use core::fmt;

use alloc::vec::Vec;

use super::user::{ServiceUser, UserModelConfig, UserState};
use super::{
    EventConversions, barrier, broadcast, consensus, drinking, forum, log, membership, renaming,
    resources, shares, snapshot, spanning_tree, termination, wave,
};
use crate::card::Service;
use crate::process::ProcessId;

/// Error: a command or event belongs to another service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrongService;

/// Defines the enums of commands, events and users, with one variant per agreement service.
macro_rules! services {
    ($($Service:ident = $service:ident;)+) => {
        /// Command of any agreement service. It serializes without the name of the service, because
        /// commands of two services never have the same variant name.
        #[derive(Clone, PartialEq, Eq, Hash)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[cfg_attr(feature = "serde", serde(untagged))]
        #[allow(missing_docs, reason = "each is named as its service")]
        pub enum Command {
            $($Service($service::Command)),+
        }

        /// Event of any agreement service. It serializes without the name of the service, because
        /// no event of one service has the form of an event of another service: the variant names
        /// or the fields differ.
        #[derive(Clone, PartialEq, Eq, Hash)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[cfg_attr(feature = "serde", serde(untagged))]
        #[allow(missing_docs, reason = "each is named as its service")]
        pub enum Event {
            $($Service($service::Event)),+
        }

        /// User model of any agreement service.
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs, reason = "each is named as its service")]
        pub enum User {
            $($Service($service::User)),+
        }

        impl Service {
            /// All agreement services.
            pub const AGREEMENTS: &'static [Service] = &[$(Service::$Service),+];

            /// Returns true if this is one of [`Service::AGREEMENTS`].
            pub const fn is_agreement(self) -> bool {
                matches!(self, $(Service::$Service)|+)
            }

            /// Returns true if the users of the service request one common result, such as a
            /// decision. Returns false if each user requests separate results, and for services
            /// that are not agreement services.
            pub const fn is_collective(self) -> bool {
                match self {
                    $(Service::$Service => <$service::User as ServiceUser>::IS_COLLECTIVE,)+
                    _ => false,
                }
            }

            /// Returns true for an agreement service whose users use something for a time, such as
            /// a resource.
            pub const fn has_hold_time(self) -> bool {
                match self {
                    $(Service::$Service => <$service::User as ServiceUser>::HAS_HOLD_TIME,)+
                    _ => false,
                }
            }
        }

        impl fmt::Debug for Command {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Command::$Service(inner) => fmt::Debug::fmt(inner, f)),+
                }
            }
        }

        impl fmt::Display for Command {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Command::$Service(command) => fmt::Display::fmt(command, f)),+
                }
            }
        }

        impl fmt::Debug for Event {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Event::$Service(inner) => fmt::Debug::fmt(inner, f)),+
                }
            }
        }

        impl fmt::Display for Event {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Event::$Service(event) => fmt::Display::fmt(event, f)),+
                }
            }
        }

        $(
            impl From<$service::Command> for Command {
                fn from(command: $service::Command) -> Self {
                    Command::$Service(command)
                }
            }

            impl TryFrom<Command> for $service::Command {
                type Error = WrongService;

                fn try_from(command: Command) -> Result<Self, WrongService> {
                    match command {
                        Command::$Service(command) => Ok(command),
                        _ => Err(WrongService),
                    }
                }
            }

            impl From<$service::Event> for Event {
                fn from(event: $service::Event) -> Self {
                    Event::$Service(event)
                }
            }

            impl EventConversions for $service::Event {
                fn to_agreement(&self) -> Option<Event> {
                    Some(Event::$Service(self.clone()))
                }
            }
        )+

        impl ServiceUser for User {
            type Command = Command;
            type Event = Event;

            fn new(config: &UserModelConfig) -> Self {
                match config.service {
                    $(Service::$Service => User::$Service(ServiceUser::new(config)),)+
                    other => panic!("{} is not an agreement service", other.name()),
                }
            }

            fn first_command(config: &UserModelConfig) -> Option<Command> {
                match config.service {
                    $(Service::$Service => {
                        <$service::User as ServiceUser>::first_command(config).map(Command::from)
                    })+
                    other => panic!("{} is not an agreement service", other.name()),
                }
            }

            fn next_command(&self) -> Option<Command> {
                match self {
                    $(User::$Service(user) => user.next_command().map(Command::from)),+
                }
            }

            fn requests_agreement(command: &Command) -> bool {
                match command {
                    $(Command::$Service(command) => {
                        <$service::User as ServiceUser>::requests_agreement(command)
                    })+
                }
            }

            fn must_issue_command(&self) -> bool {
                match self {
                    $(User::$Service(user) => user.must_issue_command()),+
                }
            }

            fn is_using(&self) -> bool {
                match self {
                    $(User::$Service(user) => user.is_using()),+
                }
            }

            fn must_wait(&self) -> bool {
                match self {
                    $(User::$Service(user) => user.must_wait()),+
                }
            }

            fn on_command(&mut self, command: &Command) {
                match (self, command) {
                    $((User::$Service(user), Command::$Service(command)) => {
                        user.on_command(command);
                    })+
                    _ => {}
                }
            }

            fn on_event(&mut self, event: &Event) {
                match (self, event) {
                    $((User::$Service(user), Event::$Service(event)) => user.on_event(event),)+
                    _ => {}
                }
            }

            fn on_crash(&mut self) {
                match self {
                    $(User::$Service(user) => user.on_crash()),+
                }
            }

            fn state(&self) -> UserState {
                match self {
                    $(User::$Service(user) => user.state()),+
                }
            }
        }
    };
}

services! {
    Consensus = consensus;
    Broadcast = broadcast;
    Snapshot = snapshot;
    Barrier = barrier;
    Termination = termination;
    Membership = membership;
    Renaming = renaming;
    Log = log;
    Wave = wave;
    SpanningTree = spanning_tree;
    Drinking = drinking;
    Forum = forum;
    Resources = resources;
    Shares = shares;
}

impl EventConversions for Event {
    fn to_agreement(&self) -> Option<Event> {
        Some(self.clone())
    }
}

/// The user models of all processes of a group, and the number of agreements that each user has
/// requested.
#[derive(Clone, Debug)]
pub struct Users {
    service: Service,
    users: Vec<User>,
    issued: Vec<u64>,
}

impl Users {
    /// Creates the users of a service in a group of `size` processes. `command_count(at)` becomes
    /// the [`work_count`](UserModelConfig::work_count) of the user at the process `at`.
    /// Returns `None` if `service` is not an agreement service.
    pub fn new(
        service: Service,
        size: u32,
        command_count: impl Fn(ProcessId) -> u32,
    ) -> Option<Self> {
        if !service.is_agreement() {
            return None;
        }
        let user =
            |at| User::new(&UserModelConfig { service, at, size, work_count: command_count(at) });
        let users = (0..size).map(ProcessId).map(user).collect();
        Some(Users { service, users, issued: alloc::vec![0; size as usize] })
    }

    /// Returns the next command of the user at `at`. Returns `None` if this user cannot issue a
    /// command now.
    pub fn next_command(&self, at: ProcessId) -> Option<Command> {
        self.users.get(at.index())?.next_command()
    }

    /// Returns true if the user at `at` is using something, such as a resource. The user then waits
    /// for some time before it issues its next command.
    pub fn is_using(&self, at: ProcessId) -> bool {
        self.users[at.index()].is_using()
    }

    /// Returns true if the user at `at` must receive an event before the user may issue another
    /// command.
    pub fn must_wait(&self, at: ProcessId) -> bool {
        self.users[at.index()].must_wait()
    }

    /// Records a command that the user at `at` issued.
    pub fn on_command(&mut self, at: ProcessId, command: &Command) {
        self.issued[at.index()] += u64::from(User::requests_agreement(command));
        self.users[at.index()].on_command(command);
    }

    /// Records an event that the user at `at` received.
    pub fn on_event(&mut self, at: ProcessId, event: &Event) {
        self.users[at.index()].on_event(event);
    }

    /// Records a crash of the process `at`.
    pub fn on_crash(&mut self, at: ProcessId) {
        self.users[at.index()].on_crash();
    }

    /// Returns the live processes whose users wait for a result. `is_up` returns true for a live
    /// process.
    pub fn waiting_processes(&self, is_up: impl Fn(ProcessId) -> bool) -> Vec<ProcessId> {
        let up = || (0..self.users.len()).map(ProcessId::from_index).filter(|at| is_up(*at));
        let state = |at: ProcessId| self.users[at.index()].state();
        let informed = up().any(|at| state(at) == UserState::HasCommonResult);
        let waits = |at: &ProcessId| match state(*at) {
            UserState::Waiting => true,
            UserState::LacksCommonResult => informed,
            UserState::Idle | UserState::HasCommonResult => false,
        };
        up().filter(waits).collect()
    }

    /// Returns true if all users of live processes are served: none of them waits for a result, and
    /// none of them can issue another command. `is_up` returns true for a live process.
    pub fn are_all_served(&self, is_up: impl Fn(ProcessId) -> bool) -> bool {
        let mut up = (0..self.users.len()).map(ProcessId::from_index).filter(|at| is_up(*at));
        up.all(|at| self.next_command(at).is_none()) && self.waiting_processes(is_up).is_empty()
    }

    /// Returns the number of agreements that the users have requested. If the service is
    /// [collective](Service::is_collective), all users request the same agreements, so the result
    /// is the largest number of a single user.
    pub fn requested_agreement_count(&self) -> u64 {
        if self.service.is_collective() {
            self.issued.iter().copied().max().unwrap_or(0)
        } else {
            self.issued.iter().sum()
        }
    }
}
