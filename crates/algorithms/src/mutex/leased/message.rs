//! Messages between clients and the service.

use tenure_core::{Labelled, Layer, MessageLabel};

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
    /// Response to a request or renewal: the receiver has a lease. The lease lasts for at least its
    /// full duration, measured from the time at which the receiver sent the request.
    Alive {
        /// Ticket of the receiver's claim.
        ticket: T,
        /// Number of the request that this response answers.
        round: u64,
    },
    /// The service knows no lease for the session of the receiver: the lease has expired or was
    /// released.
    Gone {
        /// Ticket of the receiver's claim.
        ticket: T,
    },
    /// Asks the service for which keys the sender's claim waits. If `at` is 0 and the sender has a
    /// lease but no key in the queue, the service first appends a key for the sender.
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
        /// Revision that created the receiver's key. `None` if the receiver has no key.
        own: Option<u64>,
        /// Keys for which the receiver waits. These keys are earlier in the queue. Each key is
        /// identified by the lease to which it is attached. `None` if the receiver waits for no
        /// key.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::any"))]
        ahead: Option<K>,
    },
    /// Asks the service to report when one of the keys in `key` is deleted, or if the store no
    /// longer has the history since `from`.
    Watch {
        /// Ticket of the sender's claim.
        ticket: T,
        /// Set of the keys to watch. A key is identified by the lease to which it is attached.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::any"))]
        key: K,
        /// First revision whose deletions are reported. If this revision is 0, only deletions after
        /// the arrival of this message are reported.
        from: u64,
    },
    /// Reports that a watched key was deleted, or that the service cannot tell whether it was
    /// deleted. The receiver reads the queue again.
    Deleted {
        /// Ticket of the receiver's claim.
        ticket: T,
        /// Set of the watched keys. A key is identified by the lease to which it is attached. At
        /// least one of these keys was deleted, or the store no longer has the revisions from which
        /// the receiver watches.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::any"))]
        key: K,
        /// Revision of the store at the time of this report. If a key was deleted, this happened at
        /// this revision or at an earlier one.
        revision: u64,
    },
    /// Asks the service to end the sender's lease, because the sender no longer needs the lease.
    Release {
        /// Ticket of the sender's claim.
        ticket: T,
        /// True if the sender was inside the critical section.
        was_inside: bool,
    },
    /// Grants the lock to the receiver early. The process for whose key the receiver waited has
    /// left, but the end of the lease of that process is not committed yet.
    Released {
        /// Ticket of the receiver's claim.
        ticket: T,
        /// The only key for which the receiver waited. The key is identified by its lease. It is
        /// deleted later, when the end of this lease is committed.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::any"))]
        key: K,
    },
}

impl<T, K> Labelled for Message<T, K> {
    fn label(&self) -> MessageLabel {
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
        MessageLabel { layer: Layer::Mutex, kind }
    }
}
