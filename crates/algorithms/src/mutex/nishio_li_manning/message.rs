//! Messages of the algorithm, and the token. The message `Token` carries the token.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use tenure_core::{ProcessId, Term, labelled};

/// The token and the state that travels with it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Token {
    /// Generation of the token. Its `leader` is the process that made the token.
    pub(super) generation: Term,
    /// Number of entries into the critical section with the token of this generation.
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
    /// Reports that the token of a generation may be lost. The receiver is the process that makes
    /// new tokens. A process also sends this message to a peer that it trusts again, because the
    /// peer may still have a token of an older generation.
    Doubt {
        /// Generation whose token may be lost. If the sender trusts the receiver again, it is the
        /// newest generation known to the sender.
        generation: Term,
    },
    /// Asks the receiver to give up older tokens, and to respond as soon as it is outside the
    /// critical section. When all responses have arrived, the sender creates the token of this
    /// generation.
    Inquire {
        /// The new generation. Its `leader` is the sender.
        generation: Term,
    },
    /// Response to an inquiry. If `generation` is the generation of the inquiry, the sender has no
    /// token and accepts no older token. If `generation` is newer, the message only reports that
    /// the newer generation exists.
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
