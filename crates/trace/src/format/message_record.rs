//! Messages as records of a trace contain them.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tenure_core::{Labelled, Layer, ProcessId};

use crate::format::process_number;

/// A message in a record of one process, which is the sender or the receiver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MessageRecord {
    /// Process at the other end of the link. In the records `send`, `drop` and `duplicate`, this
    /// process is the receiver. In the record `receive`, this process is the sender.
    #[serde(with = "process_number")]
    pub peer: ProcessId,
    /// Protocol layer to which the message belongs, for instance the lock or the failure detector.
    pub layer: Layer,
    /// Name of the message, in kebab-case.
    pub message: Cow<'static, str>,
    /// Number of the message. No other message with the same sender, receiver and session has this
    /// number.
    pub number: u64,
    /// Session of the sender when it sent the message. 0 if the writer does not count sessions.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub session: u64,
    /// Content of the message. `None` if the writer does not record contents, or if the reader
    /// skips them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Box<Value>>,
}

impl MessageRecord {
    /// Creates the record of a message without its content.
    pub fn new(message: &impl Labelled, peer: ProcessId, session: u64, number: u64) -> Self {
        let label = message.label();
        let message = Cow::Borrowed(label.kind);
        MessageRecord { peer, layer: label.layer, message, number, session, content: None }
    }

    /// Creates the record of a message between the applications of two processes.
    pub const fn between_users(peer: ProcessId, session: u64, number: u64) -> Self {
        let (layer, message) = (Layer::Application, Cow::Borrowed("application"));
        MessageRecord { peer, layer, message, number, session, content: None }
    }

    /// Returns true for a message between users, which bypasses the protocol. In a trace of the
    /// simulator, the name of this message is `chat`. In other traces, the name is `application`.
    ///
    /// A service that an elected leader provides also sends messages of the layer `Application`.
    /// These messages are part of the protocol, so the result for these messages is false.
    pub fn is_between_users(&self) -> bool {
        self.layer == Layer::Application && matches!(&*self.message, "chat" | "application")
    }

    /// Adds the content of the message. Omits content that JSON cannot express, such as a map whose
    /// keys are not strings.
    #[must_use]
    pub fn with_content(mut self, message: &impl Serialize) -> Self {
        self.content = serde_json::to_value(message).ok().map(Box::new);
        self
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}
