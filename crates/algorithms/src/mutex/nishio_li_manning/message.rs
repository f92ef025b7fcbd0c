//! Messages of the algorithm, and the token. The message `Token` carries the token.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use tenure_core::{ProcessId, Term, labelled};

/// The token and the state that travels with it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Token {
    /// Generation of the token. It identifies the process that made the token.
    pub(super) generation: Term,
    /// Number of entries into the critical section with tokens of this generation.
    pub(super) entries: u64,
    /// For each process, the number of its last served request (`LN` in the paper).
    #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::by_process"))]
    pub(super) served: Vec<u64>,
    /// Processes that receive the token next, in order (`Q` in the paper).
    pub(super) queue: VecDeque<ProcessId>,
}

/// Messages between processes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Requests the token.
    Request {
        /// Sequence number of the request, from 1.
        number: u64,
    },
    /// Passes the token. Its holder may enter the critical section.
    Token {
        /// The token, with its state.
        token: Box<Token>,
    },
    /// Reports that the token of this generation may be lost. The receiver is the process that
    /// makes new tokens, or a peer that the sender trusts again. Such a peer may keep a token of an
    /// older generation.
    Doubt {
        /// Newest generation known to the sender.
        generation: Term,
    },
    /// Asks the receiver to give up older tokens. The sender will then create the token of this
    /// generation.
    Inquire {
        /// The new generation. It contains the id of the sender. The sender will create the token
        /// of this generation.
        generation: Term,
    },
    /// The sender has no token, and accepts none of an older generation.
    Answer {
        /// Newest generation known to the sender.
        generation: Term,
        /// Number of requests that the sender has made.
        requests: u64,
        /// Number of the sender's requests that have been served.
        served: u64,
    },
}

labelled!(Message, Mutex,
    Request => "request", Token => "token",
    Doubt => "doubt", Inquire => "inquire", Answer => "answer");

impl Token {
    /// Returns a new token of this generation, with an empty queue and no entries to the critical
    /// section. `served` contains, for each process, the number of its last served request.
    pub(super) fn new_boxed(generation: Term, served: Vec<u64>) -> Box<Self> {
        Box::new(Token { generation, entries: 0, served, queue: VecDeque::new() })
    }
}
