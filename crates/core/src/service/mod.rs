//! The services that protocols offer to local users. A service defines commands, which the user
//! issues, and events, which the user receives.

use core::fmt;

use crate::label::{Labelled, MessageLabel};
use crate::process::ProcessId;
use crate::protocol::Protocol;

pub mod agreement;
pub mod barrier;
pub mod broadcast;
pub mod clock_synchronisation;
pub mod commit;
pub mod consensus;
pub mod drinking;
mod fence;
pub mod forum;
pub mod leader_tree;
pub mod log;
pub mod membership;
pub mod relayed_log;
pub mod renaming;
pub mod replicated_list;
pub mod resources;
pub mod session_user;
pub mod shares;
pub mod snapshot;
pub mod spanning_tree;
pub mod termination;
pub mod user;
pub mod wave;
pub mod with_election;

pub use fence::Fence;

/// Number and winner of an election. Terms are compared by number. Terms with the same number are
/// compared by the number of the winner's process.
///
/// In an asynchronous system, two groups of processes can elect different leaders with the same
/// number. The number alone would not distinguish these leaders. Elections without terms use number
/// 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Term {
    /// Number of the election. It is higher than the numbers of all earlier elections that the
    /// leader knew of. 0 in elections without terms.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::mark::term_number"))]
    pub number: u64,
    /// Winner of the election.
    pub leader: ProcessId,
}

impl Term {
    /// Exclusive upper bound of term numbers. A larger number does not fit in a fence. At a
    /// thousand elections per second, term numbers reach the bound after 34 years.
    pub const NUMBER_LIMIT: u64 = 1 << 40;

    /// Packs the number and the leader of the term into a single integer. These integers have the
    /// same order as the terms. The result is the first half of a fence.
    ///
    /// # Panics
    ///
    /// If the number reaches [`Term::NUMBER_LIMIT`] or the leader needs more than 24 bits. Runners
    /// reject messages with such terms, so an algorithm never receives them.
    pub fn packed(self) -> u64 {
        assert!(self.number < Term::NUMBER_LIMIT, "a term's number stays below 2^40");
        assert!(self.leader.0 < 1 << 24, "a leader's id stays below 2^24");
        (self.number << 24) | u64::from(self.leader.0)
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.number, self.leader)
    }
}

/// Mutual exclusion: at most one process is inside the critical section, or at most *k* for a
/// k-mutex.
pub mod mutex {
    use crate::service::Fence;

    /// Command of the local user to the lock.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub enum Command {
        /// Request to enter the critical section. Allowed if the process is outside and does not
        /// wait.
        Enter,
        /// Leave the critical section. Allowed if the process is inside it.
        Exit,
    }

    /// Event of the lock for the local user.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub enum Event {
        /// This process entered the critical section.
        Entered {
            /// Fence of the entry. It is higher than the fences of all earlier entries of all
            /// processes. [`Fence::NONE`] if the lock issues no fences.
            fence: Fence,
        },
        /// This process left the critical section.
        Exited,
    }
}

/// Leader election: all processes learn of one leader.
pub mod election {
    use crate::process::ProcessId;
    use crate::service::Term;

    /// Command of the local user to the election.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub enum Command {
        /// Start an election, unless this process takes part in one already.
        Elect,
        /// Step down, if this process is the leader.
        Resign,
    }

    /// Event of the election for the local user.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub enum Event {
        /// A leader was elected.
        Elected {
            /// The leader, which may be this process.
            leader: ProcessId,
            /// Term of the leader.
            term: Term,
        },
        /// The leader of this term is no longer trusted. This process trusts no leader until the
        /// next `Elected` event.
        Deposed {
            /// Term that ended.
            term: Term,
        },
    }
}

/// Mutual exclusion and leader election, offered by one protocol. In traces, the name of this
/// service is `office`.
pub mod mutex_and_election {
    use super::{election, mutex};

    /// Command of the local user to the lock or the election.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub enum Command {
        /// Command of the lock.
        Mutex(mutex::Command),
        /// Command of the election.
        Election(election::Command),
    }

    /// Event of the lock or the election for the local user.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub enum Event {
        /// Event of the lock.
        Mutex(mutex::Event),
        /// Event of the election.
        Election(election::Event),
    }
}

/// Failure detection: opinions about peers, which may be wrong and may be revoked.
pub mod detector {
    use crate::process::ProcessId;
    use crate::protocol::PeerVerdict;

    /// Command of the local user. A failure detector accepts no commands, so this type has no
    /// values.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Command {}

    /// Event for the local user: a new verdict of the failure detector about a peer.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub struct Event {
        /// Peer that the failure detector suspects or trusts.
        pub peer: ProcessId,
        /// Latest verdict of the failure detector about the peer.
        pub verdict: PeerVerdict,
    }
}

/// Streams of numbered items between pairs of processes. The numbers show whether a channel is
/// reliable.
pub mod stream {
    use crate::process::ProcessId;

    /// Command of the local user to the stream.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub enum Command {
        /// Send an item to another process. The sender numbers its items from 1, separately for
        /// each receiver.
        Send {
            /// Process that receives the item.
            to: ProcessId,
            /// Number of the item.
            item: u64,
        },
    }

    /// Event of the stream for the local user.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub enum Event {
        /// An item arrived.
        Received {
            /// Process that sent the item.
            from: ProcessId,
            /// Number of the item.
            item: u64,
        },
    }
}

impl From<mutex::Command> for mutex_and_election::Command {
    fn from(command: mutex::Command) -> Self {
        mutex_and_election::Command::Mutex(command)
    }
}

impl From<election::Command> for mutex_and_election::Command {
    fn from(command: election::Command) -> Self {
        mutex_and_election::Command::Election(command)
    }
}

/// A command, event, message or timer, and the key of the protocol instance to which it belongs.
/// For example, a node with many locks runs one instance for each lock.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Tagged<K, T> {
    /// Key of the instance.
    pub key: K,
    /// Command, event, message or timer of the instance.
    pub inner: T,
}

impl<K, T: Labelled> Labelled for Tagged<K, T> {
    fn label(&self) -> MessageLabel {
        self.inner.label()
    }
}

/// Conversions of an event of any protocol to an event of a lock, of an election, or of an
/// agreement service. An event that is [`Tagged`] is not converted.
pub trait EventConversions {
    /// Returns this event as an event of a lock. Returns `None` if the event belongs to another
    /// service.
    fn as_mutex(&self) -> Option<&mutex::Event> {
        None
    }

    /// Returns this event as an event of an election. Returns `None` if the event belongs to
    /// another service.
    fn as_election(&self) -> Option<&election::Event> {
        None
    }

    /// Returns this event as an event of an agreement service. Returns `None` if the event belongs
    /// to another service.
    fn to_agreement(&self) -> Option<agreement::Event> {
        None
    }
}

impl EventConversions for mutex::Event {
    fn as_mutex(&self) -> Option<&mutex::Event> {
        Some(self)
    }
}

impl EventConversions for election::Event {
    fn as_election(&self) -> Option<&election::Event> {
        Some(self)
    }
}

impl EventConversions for mutex_and_election::Event {
    fn as_mutex(&self) -> Option<&mutex::Event> {
        match self {
            mutex_and_election::Event::Mutex(event) => Some(event),
            mutex_and_election::Event::Election(_) => None,
        }
    }

    fn as_election(&self) -> Option<&election::Event> {
        match self {
            mutex_and_election::Event::Election(event) => Some(event),
            mutex_and_election::Event::Mutex(_) => None,
        }
    }
}

// Events of other services.
impl EventConversions for () {}
impl EventConversions for detector::Event {}
impl EventConversions for stream::Event {}
impl EventConversions for clock_synchronisation::Event {}
impl EventConversions for commit::Event {}
impl EventConversions for replicated_list::Event {}
impl EventConversions for leader_tree::Event {}
impl<K, E> EventConversions for Tagged<K, E> {}

/// A protocol that offers mutual exclusion.
pub trait Mutex: Protocol<Command = mutex::Command, Event = mutex::Event> {}
impl<P: Protocol<Command = mutex::Command, Event = mutex::Event>> Mutex for P {}

/// A protocol that offers leader election.
pub trait Election: Protocol<Command = election::Command, Event = election::Event> {}
impl<P: Protocol<Command = election::Command, Event = election::Event>> Election for P {}

/// A protocol that offers mutual exclusion and leader election.
pub trait MutexAndElection:
    Protocol<Command = mutex_and_election::Command, Event = mutex_and_election::Event>
{
}
impl<P: Protocol<Command = mutex_and_election::Command, Event = mutex_and_election::Event>>
    MutexAndElection for P
{
}

/// A protocol that offers an agreement service.
pub trait Agreement: Protocol<Command = agreement::Command, Event = agreement::Event> {}
impl<P: Protocol<Command = agreement::Command, Event = agreement::Event>> Agreement for P {}

/// A protocol that reports which peers seem to have crashed.
pub trait Detector: Protocol<Command = detector::Command, Event = detector::Event> {}
impl<P: Protocol<Command = detector::Command, Event = detector::Event>> Detector for P {}
