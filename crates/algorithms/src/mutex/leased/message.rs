//! Messages between clients and the service.

use tenure_core::labelled;

use crate::mutex::Ticket;

/// Messages between processes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Requests a lease.
    Open {
        /// Ticket of the session.
        ticket: Ticket,
        /// Number of the renewal request.
        round: u64,
    },
    /// Renews a lease.
    Renew {
        /// Ticket of the session.
        ticket: Ticket,
        /// Number of the renewal request.
        round: u64,
    },
    /// The lease is valid for its duration, measured from the request.
    Alive {
        /// Ticket of the session.
        ticket: Ticket,
        /// Number of the answered renewal request.
        round: u64,
    },
    /// The lease does not exist.
    Gone {
        /// Ticket of the session.
        ticket: Ticket,
    },
    /// Queues the sender's key if it is missing, and asks for the key ahead of it. A look at a past
    /// revision only asks.
    Look {
        /// Ticket of the session.
        ticket: Ticket,
        /// The revision to read; 0 for the latest.
        at: u64,
    },
    /// State of the queue.
    Place {
        /// Ticket of the session.
        ticket: Ticket,
        /// Revision of the state.
        revision: u64,
        /// Revision that created the receiver's key, if it exists.
        own: Option<u64>,
        /// Lease of the key next ahead, if any.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::any"))]
        ahead: Option<u64>,
    },
    /// Asks to be notified when a key is deleted.
    Watch {
        /// Ticket of the session.
        ticket: Ticket,
        /// The key, identified by its lease.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::any"))]
        key: u64,
        /// First revision at which a deletion is reported. 0 means that only later deletions are
        /// reported.
        from: u64,
    },
    /// The key was deleted.
    Deleted {
        /// Ticket of the session.
        ticket: Ticket,
        /// Lease of the key.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::any"))]
        key: u64,
        /// Revision of the deletion, or a later one.
        revision: u64,
    },
    /// The sender has left; ends its lease.
    Release {
        /// Ticket of the session.
        ticket: Ticket,
        /// True if the sender was inside.
        was_inside: bool,
    },
    /// The owner of the key ahead has left.
    Released {
        /// Ticket of the session.
        ticket: Ticket,
        /// Lease of the key.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::any"))]
        key: u64,
    },
}

labelled!(
    Message, Mutex,
    Open => "open", Renew => "renew", Alive => "alive", Gone => "gone", Look => "look",
    Place => "place", Watch => "watch", Deleted => "deleted", Release => "release",
    Released => "released",
);
