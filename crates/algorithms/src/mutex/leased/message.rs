//! Messages between clients and the service.

use tenure_core::labelled;

use crate::mutex::Ticket;

/// Messages between processes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Requests a lease for a new session.
    Open {
        /// Ticket of the session.
        ticket: Ticket,
        /// Number of the request. Renewals continue this numbering.
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
        /// Number of the request that this response answers.
        round: u64,
    },
    /// The service knows no lease for this session: it has expired or was released.
    Gone {
        /// Ticket of the session.
        ticket: Ticket,
    },
    /// Queues the sender's key if it is missing, and asks for the next key ahead of it. If `at`
    /// names a past revision, the message queues nothing.
    Look {
        /// Ticket of the session.
        ticket: Ticket,
        /// The revision to read; 0 for the latest.
        at: u64,
    },
    /// Place of the receiver's key in the queue, in response to a `Look`.
    Place {
        /// Ticket of the session.
        ticket: Ticket,
        /// Revision of the store that the response describes.
        revision: u64,
        /// Revision that created the receiver's key, if it exists.
        own: Option<u64>,
        /// Lease of the next key ahead of the receiver's, if any.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::any"))]
        ahead: Option<u64>,
    },
    /// Asks the service to report when a key is deleted.
    Watch {
        /// Ticket of the session.
        ticket: Ticket,
        /// The key, identified by its lease.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::any"))]
        key: u64,
        /// First revision at which a deletion is reported. If it is 0, only deletions after the
        /// arrival of this message are reported.
        from: u64,
    },
    /// Reports that the watched key was deleted.
    Deleted {
        /// Ticket of the session.
        ticket: Ticket,
        /// The key, identified by its lease.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::any"))]
        key: u64,
        /// Revision of the deletion, or a later one.
        revision: u64,
    },
    /// The sender no longer needs its lease, which the service ends.
    Release {
        /// Ticket of the session.
        ticket: Ticket,
        /// True if the sender was inside.
        was_inside: bool,
    },
    /// Grants the lock early: the owner of the next key ahead has left, and the end of its lease is
    /// not yet committed.
    Released {
        /// Ticket of the session.
        ticket: Ticket,
        /// The key of that owner, identified by its lease.
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
