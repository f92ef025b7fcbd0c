//! What protocols offer to their local users: commands in, events out.

use core::fmt;

use crate::label::{Label, Labelled};
use crate::process::ProcessId;
use crate::protocol::Protocol;

pub mod agreement;
pub mod barrier;
pub mod broadcast;
pub mod clock;
pub mod commit;
pub mod consensus;
mod fence;
pub mod led;
pub mod log;
pub mod membership;
pub mod relayed_log;
pub mod renaming;
pub mod replication;
pub mod snapshot;
pub mod termination;
pub mod tree;

pub use fence::Fence;

/// The number of an election together with who won it; compared in this order.
///
/// Two sides of an asynchronous election can reach the same number, so the number alone
/// would not tell their leaders apart. Elections without terms use number 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Term {
    /// How many elections there have been, as far as the leader knew.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::mark::term_number"))]
    pub number: u64,
    /// Who won it.
    pub leader: ProcessId,
}

impl Term {
    /// Numbers that are packed stay below this: at a thousand elections a second that is 34 years.
    pub const NUMBERS: u64 = 1 << 40;

    /// Both halves in one number, in the same order: the first half of a fence.
    ///
    /// # Panics
    ///
    /// When the number reaches [`Term::NUMBERS`] or the leader needs more than 24 bits. A runner
    /// lets no such number in.
    pub fn packed(self) -> u64 {
        assert!(self.number < Term::NUMBERS, "a term's number stays below 2^40");
        assert!(self.leader.0 < 1 << 24, "a leader's id stays below 2^24");
        (self.number << 24) | u64::from(self.leader.0)
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.number, self.leader)
    }
}

/// Mutual exclusion: at most one process inside the critical section.
pub mod mutex {
    use crate::service::Fence;

    /// What the local user may ask.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub enum Command {
        /// Ask to enter. Allowed outside, when not waiting.
        Enter,
        /// Leave. Allowed inside.
        Exit,
    }

    /// What the local user is told.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub enum Event {
        /// You are inside.
        Entered {
            /// Higher than that of every earlier entry, of anybody.
            fence: Fence,
        },
        /// You are outside.
        Exited,
    }
}

/// Leader election: everybody learns of one leader.
pub mod election {
    use crate::process::ProcessId;
    use crate::service::Term;

    /// What the local user may ask.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub enum Command {
        /// Start an election, unless one is under way here.
        Elect,
        /// Step down, if leader.
        Resign,
    }

    /// What the local user is told.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub enum Event {
        /// There is a leader.
        Elected {
            /// Who it is; perhaps you.
            leader: ProcessId,
            /// In which term.
            term: Term,
        },
        /// The leader of this term is no longer to be relied on; nobody is, until `Elected`.
        Deposed {
            /// The term that ended.
            term: Term,
        },
    }
}

/// A lock and a leader from one protocol: what a node of a cluster runs.
pub mod office {
    use super::{election, mutex};

    /// What the local user may ask.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub enum Command {
        /// Of the lock.
        Mutex(mutex::Command),
        /// Of the election.
        Election(election::Command),
    }

    /// What the local user is told.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub enum Event {
        /// By the lock.
        Mutex(mutex::Event),
        /// By the election.
        Election(election::Event),
    }
}

/// Failure detection: opinions about peers, which may be wrong and may be revoked.
pub mod detector {
    use crate::process::ProcessId;
    use crate::protocol::Verdict;

    /// A detector is asked nothing.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Command {}

    /// What the local user is told.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub struct Event {
        /// Whom the detector speaks of.
        pub peer: ProcessId,
        /// What it says now.
        pub verdict: Verdict,
    }
}

/// Numbered items from process to process: what a reliable channel is judged by.
pub mod stream {
    use crate::process::ProcessId;

    /// What the local user may ask.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub enum Command {
        /// Send an item. Items to one receiver are numbered 1, 2, 3 … by their sender.
        Send {
            /// The receiver.
            to: ProcessId,
            /// Its number.
            item: u64,
        },
    }

    /// What the local user is told.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub enum Event {
        /// An item arrived.
        Received {
            /// The sender.
            from: ProcessId,
            /// Its number.
            item: u64,
        },
    }
}

impl From<mutex::Command> for office::Command {
    fn from(command: mutex::Command) -> Self {
        office::Command::Mutex(command)
    }
}

impl From<election::Command> for office::Command {
    fn from(command: election::Command) -> Self {
        office::Command::Election(command)
    }
}

/// A command, event, message or timer of one of many instances, such as a lock by its name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Of<K, T> {
    /// Of which instance.
    pub key: K,
    /// The thing itself.
    pub inner: T,
}

impl<K, T: Labelled> Labelled for Of<K, T> {
    fn label(&self) -> Label {
        self.inner.label()
    }
}

/// An event that may tell something of a lock, a leader or an agreement, whatever else it tells.
pub trait Facts {
    /// What it tells of the lock.
    fn of_mutex(&self) -> Option<&mutex::Event> {
        None
    }

    /// What it tells of the leader.
    fn of_election(&self) -> Option<&election::Event> {
        None
    }

    /// The same among those of all services of agreement, where it is of one of them.
    fn of_agreement(&self) -> Option<agreement::Event> {
        None
    }
}

impl Facts for mutex::Event {
    fn of_mutex(&self) -> Option<&mutex::Event> {
        Some(self)
    }
}

impl Facts for election::Event {
    fn of_election(&self) -> Option<&election::Event> {
        Some(self)
    }
}

impl Facts for office::Event {
    fn of_mutex(&self) -> Option<&mutex::Event> {
        match self {
            office::Event::Mutex(event) => Some(event),
            office::Event::Election(_) => None,
        }
    }

    fn of_election(&self) -> Option<&election::Event> {
        match self {
            office::Event::Election(event) => Some(event),
            office::Event::Mutex(_) => None,
        }
    }
}

macro_rules! without_facts {
    ($($event:ty $(, of $inner:ident)?);+ $(;)?) => {
        $(impl$(<K, $inner>)? Facts for $event {})+
    };
}

// Nothing of a lock, a leader or an agreement.
without_facts!(
    (); detector::Event; stream::Event;
    clock::Event; commit::Event; replication::Event; tree::Event;
    Of<K, E>, of E;
);

/// A protocol that offers mutual exclusion.
pub trait Mutex: Protocol<Command = mutex::Command, Event = mutex::Event> {}
impl<P: Protocol<Command = mutex::Command, Event = mutex::Event>> Mutex for P {}

/// A protocol that offers leader election.
pub trait Election: Protocol<Command = election::Command, Event = election::Event> {}
impl<P: Protocol<Command = election::Command, Event = election::Event>> Election for P {}

/// A protocol that offers both.
pub trait Office: Protocol<Command = office::Command, Event = office::Event> {}
impl<P: Protocol<Command = office::Command, Event = office::Event>> Office for P {}

/// A protocol that offers any service of agreement.
pub trait Agreement: Protocol<Command = agreement::Command, Event = agreement::Event> {}
impl<P: Protocol<Command = agreement::Command, Event = agreement::Event>> Agreement for P {}

/// A protocol that watches its peers.
pub trait Detector: Protocol<Command = detector::Command, Event = detector::Event> {}
impl<P: Protocol<Command = detector::Command, Event = detector::Event>> Detector for P {}
