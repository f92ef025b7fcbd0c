//! What clients and the service say to each other.

use tenure_core::labelled;

use crate::mutex::Ticket;

/// What processes say to each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// "I want a lease."
    Open {
        /// Of which session.
        ticket: Ticket,
        /// Which question this is.
        round: u64,
    },
    /// "I want to keep it."
    Renew {
        /// Of which session.
        ticket: Ticket,
        /// Which question this is.
        round: u64,
    },
    /// "You have it, for as long as it lasts from when you asked this."
    Alive {
        /// Of which session.
        ticket: Ticket,
        /// Which question this answers.
        round: u64,
    },
    /// "There is no such lease."
    Gone {
        /// Of which session.
        ticket: Ticket,
    },
    /// "Queue my key, if it is not there, and tell me who is ahead." "Tell me who was ahead", if it
    /// is of the past.
    Look {
        /// Of which session.
        ticket: Ticket,
        /// As of which revision; 0 for now.
        at: u64,
    },
    /// "This is how it was."
    Place {
        /// Of which session.
        ticket: Ticket,
        /// In which revision.
        revision: u64,
        /// The revision that made your key, if it is there.
        own: Option<u64>,
        /// The lease of the key that is next ahead, if one is.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::any"))]
        ahead: Option<u64>,
    },
    /// "Tell me when this key is deleted."
    Watch {
        /// Of which session.
        ticket: Ticket,
        /// The lease of the key.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::any"))]
        key: u64,
        /// In which revision or later; 0 for from now on.
        from: u64,
    },
    /// "It is deleted."
    Deleted {
        /// Of which session.
        ticket: Ticket,
        /// The lease of the key.
        #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::any"))]
        key: u64,
        /// In which revision, or before.
        revision: u64,
    },
    /// "I have left: end my lease."
    Release {
        /// Of which session.
        ticket: Ticket,
        /// Whether the sender was inside.
        was_inside: bool,
    },
    /// "Whoever had this key has left, and you wait behind it."
    Released {
        /// Of which session.
        ticket: Ticket,
        /// The lease of the key.
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
