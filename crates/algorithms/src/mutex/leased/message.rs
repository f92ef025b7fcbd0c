//! Messages between clients and the service.

use tenure_core::{Label, Labelled, Layer};

/// Messages between processes. `T` is the identifier of a claim, and `K` the set of keys for which
/// a claim waits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(bound(
        serialize = "T: serde::Serialize, K: serde::Serialize",
        deserialize = "T: serde::Deserialize<'de>, K: serde::Deserialize<'de>"
    ))
)]
pub enum Message<T, K> {
    /// Requests a lease for a new session.
    Open {
        /// Ticket of the sender's claim.
        ticket: T,
        /// Number of the request. Renewals continue this numbering.
        round: u64,
    },
    /// Renews a lease.
    Renew {
        /// Ticket of the sender's claim.
        ticket: T,
        /// Number of the renewal request.
        round: u64,
    },
    /// The lease is valid for its duration, measured from the request.
    Alive {
        /// Ticket of the receiver's claim.
        ticket: T,
        /// Number of the request that this response answers.
        round: u64,
    },
    /// The service knows no lease for this session: it has expired or was released.
    Gone {
        /// Ticket of the receiver's claim.
        ticket: T,
    },
    /// Queues the sender's key if it is missing, and asks for the next key ahead of it. If `at`
    /// names a past revision, the message queues nothing.
    Look {
        /// Ticket of the sender's claim.
        ticket: T,
        /// The revision to read; 0 for the latest.
        at: u64,
    },
    /// Place of the receiver's key in the queue, in response to a `Look`.
    Place {
        /// Ticket of the receiver's claim.
        ticket: T,
        /// Revision of the store that the response describes.
        revision: u64,
        /// Revision that created the receiver's key, if it exists.
        own: Option<u64>,
        /// Keys ahead for which the receiver waits, each identified by its lease. `None` if it
        /// waits for no key.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::any"))]
        ahead: Option<K>,
    },
    /// Asks the service to report when one of the keys is deleted.
    Watch {
        /// Ticket of the sender's claim.
        ticket: T,
        /// The keys to watch, each identified by its lease.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::any"))]
        key: K,
        /// First revision at which a deletion is reported. If it is 0, only deletions after the
        /// arrival of this message are reported.
        from: u64,
    },
    /// Reports that a watched key was deleted.
    Deleted {
        /// Ticket of the receiver's claim.
        ticket: T,
        /// The watched keys, each identified by its lease. At least one was deleted.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::any"))]
        key: K,
        /// Revision of the store at the time of this report. The deletion happened at this revision
        /// or at an earlier one.
        revision: u64,
    },
    /// Asks the service to end the sender's lease, which the sender no longer needs.
    Release {
        /// Ticket of the sender's claim.
        ticket: T,
        /// True if the sender was inside the critical section.
        was_inside: bool,
    },
    /// Grants the lock to the receiver early. The owner of the next key ahead has left, but the end
    /// of this owner's lease is not yet committed.
    Released {
        /// Ticket of the receiver's claim.
        ticket: T,
        /// Key of the owner that has left, identified by its lease.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::any"))]
        key: K,
    },
}

impl<T, K> Labelled for Message<T, K> {
    fn label(&self) -> Label {
        let kind = match self {
            Message::Open { .. } => "open",
            Message::Renew { .. } => "renew",
            Message::Alive { .. } => "alive",
            Message::Gone { .. } => "gone",
            Message::Look { .. } => "look",
            Message::Place { .. } => "place",
            Message::Watch { .. } => "watch",
            Message::Deleted { .. } => "deleted",
            Message::Release { .. } => "release",
            Message::Released { .. } => "released",
        };
        Label { layer: Layer::Mutex, kind }
    }
}
