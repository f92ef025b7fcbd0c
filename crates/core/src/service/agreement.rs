//! What all services of agreement have in common: they are one, to whoever runs their algorithms,
//! and each has a user who says what a workload asks.
//!
//! An engine is compiled once for all of them. So what is asked and told is a sum ([`Command`],
//! [`Event`]), of which each service is one part; a service is added by a line in the list below.

use core::fmt;
use core::hash::Hash;

use alloc::vec::Vec;

use super::{
    Facts, barrier, broadcast, consensus, log, membership, renaming, snapshot, termination,
};
use crate::card::Service;
use crate::process::ProcessId;

/// How a user stands towards a service: what progress is judged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Waits for nothing.
    Content,
    /// Asked, and was not yet served.
    Waiting,
    /// Was told what all shall know: those who are [`Standing::Uninformed`] now wait as well.
    Informed,
    /// Waits as soon as anybody is informed.
    Uninformed,
}

/// Where a user sits, and how much it is to ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seat {
    /// Of which service, where all have one type.
    pub service: Service,
    /// At which process.
    pub at: ProcessId,
    /// How many processes there are.
    pub size: u32,
    /// How often it asks.
    pub times: u32,
}

/// The user of a service at one process, as an automaton over what was asked and told there:
/// what workloads ask is what it asks.
pub trait Client: Clone + fmt::Debug + Eq + Hash + Send + Sync + 'static {
    /// What it asks.
    type Command;
    /// What it is told.
    type Event;

    /// Whether all users together ask for one thing: a decision, and not an item of each.
    const TOGETHER: bool = false;

    /// Before anything happened.
    fn new(seat: &Seat) -> Self;

    /// What it asks first, if it ever asks anything, though it may have to be told something
    /// before.
    fn first(seat: &Seat) -> Option<Self::Command> {
        Self::new(seat).next()
    }

    /// What it asks next, if now it may.
    fn next(&self) -> Option<Self::Command>;

    /// Whether a command asks for an agreement, which is what messages are counted per.
    fn is_counted(command: &Self::Command) -> bool {
        let _ = command;
        true
    }

    /// Whether it is bound to ask that in the end, or may as well never do so.
    fn is_obliged(&self) -> bool {
        false
    }

    /// Whether it must be told something before anything is asked, whoever would ask.
    fn must_wait(&self) -> bool {
        false
    }

    /// This was asked.
    fn asked(&mut self, command: &Self::Command);

    /// This was told.
    fn told(&mut self, event: &Self::Event);

    /// The process crashed.
    fn crashed(&mut self) {}

    /// How it stands.
    fn standing(&self) -> Standing;
}

/// A command that is of another service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OfAnother;

/// Makes one of all services.
macro_rules! services {
    ($($Service:ident = $service:ident;)+) => {
        /// What the local user of any of these services may ask. The names of their commands
        /// differ.
        #[derive(Clone, PartialEq, Eq, Hash)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[cfg_attr(feature = "serde", serde(untagged))]
        #[allow(missing_docs, reason = "each is named as its service")]
        pub enum Command {
            $($Service($service::Command)),+
        }

        /// What the local user of any of these services is told. The names of their events
        /// differ.
        #[derive(Clone, PartialEq, Eq, Hash)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[cfg_attr(feature = "serde", serde(untagged))]
        #[allow(missing_docs, reason = "each is named as its service")]
        pub enum Event {
            $($Service($service::Event)),+
        }

        /// The user of any of these services.
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs, reason = "each is named as its service")]
        pub enum User {
            $($Service($service::User)),+
        }

        impl Service {
            /// The services of agreement.
            pub const AGREEMENTS: &'static [Service] = &[$(Service::$Service),+];

            /// Whether it is one of [`Service::AGREEMENTS`].
            pub const fn is_agreement(self) -> bool {
                matches!(self, $(Service::$Service)|+)
            }

            /// Whether all users together ask for one thing.
            pub const fn is_asked_together(self) -> bool {
                match self {
                    $(Service::$Service => <$service::User as Client>::TOGETHER,)+
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
                type Error = OfAnother;

                fn try_from(command: Command) -> Result<Self, OfAnother> {
                    match command {
                        Command::$Service(command) => Ok(command),
                        _ => Err(OfAnother),
                    }
                }
            }

            impl From<$service::Event> for Event {
                fn from(event: $service::Event) -> Self {
                    Event::$Service(event)
                }
            }

            impl Facts for $service::Event {
                fn of_agreement(&self) -> Option<Event> {
                    Some(Event::$Service(self.clone()))
                }
            }
        )+

        impl Client for User {
            type Command = Command;
            type Event = Event;

            fn new(seat: &Seat) -> Self {
                match seat.service {
                    $(Service::$Service => User::$Service(Client::new(seat)),)+
                    other => panic!("{} is no service of agreement", other.name()),
                }
            }

            fn first(seat: &Seat) -> Option<Command> {
                match seat.service {
                    $(Service::$Service => {
                        <$service::User as Client>::first(seat).map(Command::from)
                    })+
                    other => panic!("{} is no service of agreement", other.name()),
                }
            }

            fn next(&self) -> Option<Command> {
                match self {
                    $(User::$Service(user) => user.next().map(Command::from)),+
                }
            }

            fn is_counted(command: &Command) -> bool {
                match command {
                    $(Command::$Service(command) => {
                        <$service::User as Client>::is_counted(command)
                    })+
                }
            }

            fn is_obliged(&self) -> bool {
                match self {
                    $(User::$Service(user) => user.is_obliged()),+
                }
            }

            fn must_wait(&self) -> bool {
                match self {
                    $(User::$Service(user) => user.must_wait()),+
                }
            }

            fn asked(&mut self, command: &Command) {
                match (self, command) {
                    $((User::$Service(user), Command::$Service(command)) => user.asked(command),)+
                    _ => {}
                }
            }

            fn told(&mut self, event: &Event) {
                match (self, event) {
                    $((User::$Service(user), Event::$Service(event)) => user.told(event),)+
                    _ => {}
                }
            }

            fn crashed(&mut self) {
                match self {
                    $(User::$Service(user) => user.crashed()),+
                }
            }

            fn standing(&self) -> Standing {
                match self {
                    $(User::$Service(user) => user.standing()),+
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
}

impl Facts for Event {
    fn of_agreement(&self) -> Option<Event> {
        Some(self.clone())
    }
}

/// The users of a group, and how often each of them has asked.
#[derive(Clone, Debug)]
pub struct Users {
    service: Service,
    users: Vec<User>,
    asked: Vec<u64>,
}

impl Users {
    /// Those of a service in a group of `size`, of whom each asks so often; `None` where it is no
    /// service of agreement.
    pub fn of(service: Service, size: u32, times: impl Fn(ProcessId) -> u32) -> Option<Self> {
        if !service.is_agreement() {
            return None;
        }
        let user = |at| User::new(&Seat { service, at, size, times: times(at) });
        let users = (0..size).map(ProcessId).map(user).collect();
        Some(Users { service, users, asked: alloc::vec![0; size as usize] })
    }

    /// What the user at `at` asks next, if now it may.
    pub fn next(&self, at: ProcessId) -> Option<Command> {
        self.users.get(at.index())?.next()
    }

    /// Whether the user at `at` must be told something before anything is asked there.
    pub fn must_wait(&self, at: ProcessId) -> bool {
        self.users[at.index()].must_wait()
    }

    /// This was asked.
    pub fn asked(&mut self, at: ProcessId, command: &Command) {
        self.asked[at.index()] += u64::from(User::is_counted(command));
        self.users[at.index()].asked(command);
    }

    /// This was told.
    pub fn told(&mut self, at: ProcessId, event: &Event) {
        self.users[at.index()].told(event);
    }

    /// A process crashed.
    pub fn crashed(&mut self, at: ProcessId) {
        self.users[at.index()].crashed();
    }

    /// Of those who are up, who waits.
    pub fn waiting(&self, is_up: impl Fn(ProcessId) -> bool) -> Vec<ProcessId> {
        let up = || (0..self.users.len()).map(ProcessId::at).filter(|at| is_up(*at));
        let standing = |at: ProcessId| self.users[at.index()].standing();
        let informed = up().any(|at| standing(at) == Standing::Informed);
        let waits = |at: &ProcessId| match standing(*at) {
            Standing::Waiting => true,
            Standing::Uninformed => informed,
            Standing::Content | Standing::Informed => false,
        };
        up().filter(waits).collect()
    }

    /// Whether nobody who is up waits or has more to ask.
    pub fn is_served(&self, is_up: impl Fn(ProcessId) -> bool) -> bool {
        let mut up = (0..self.users.len()).map(ProcessId::at).filter(|at| is_up(*at));
        up.all(|at| self.next(at).is_none()) && self.waiting(is_up).is_empty()
    }

    /// How many agreements they have asked for.
    pub fn agreements(&self) -> u64 {
        if self.service.is_asked_together() {
            self.asked.iter().copied().max().unwrap_or(0)
        } else {
            self.asked.iter().sum()
        }
    }
}
