//! Messages of the lock at a leader.

use tenure_core::{Fence, Labelled, Layer, MessageLabel, Term};

use crate::compose::RequestStatus;
use crate::mutex::RequestId;

/// Messages between processes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message<E> {
    /// A message of the election.
    Election(E),
    /// Requests entry to the critical section. If entries expire, the sender repeats the request
    /// while it waits or is inside.
    Request {
        /// Term in which the sender believes that the receiver leads.
        term: Term,
        /// Identifier of the request.
        ticket: RequestId,
        /// Number of this renewal request. 0 if entries to the critical section do not expire.
        round: u64,
    },
    /// Grants entry to the critical section, or confirms that the receiver may stay inside.
    Grant {
        /// Term of the grant.
        term: Term,
        /// Identifier of the granted request.
        ticket: RequestId,
        /// Number of the renewal request that this grant answers. 0 if entries to the critical
        /// section do not expire.
        round: u64,
        /// Fencing token of the entry to the critical section.
        fence: Fence,
    },
    /// The sender has left the critical section.
    Release {
        /// Term in which the sender believes that the receiver leads.
        term: Term,
        /// Identifier of the request that has ended.
        ticket: RequestId,
    },
    /// The new leader asks whether the receiver is idle, waits for the critical section, or is
    /// inside it.
    Inquire {
        /// Term of the new leader.
        term: Term,
    },
    /// Response to an inquiry.
    Report {
        /// Term of the inquiry.
        term: Term,
        /// State of the sender's request.
        status: RequestStatus,
        /// Number of this report, which also serves as a renewal request. 0 if the sender is idle
        /// or entries to the critical section do not expire.
        round: u64,
    },
}

impl<E: Labelled> Labelled for Message<E> {
    fn label(&self) -> MessageLabel {
        let kind = match self {
            Message::Election(message) => return message.label(),
            Message::Request { .. } => "request",
            Message::Grant { .. } => "grant",
            Message::Release { .. } => "release",
            Message::Inquire { .. } => "inquire",
            Message::Report { .. } => "report",
        };
        MessageLabel { layer: Layer::Mutex, kind }
    }
}
