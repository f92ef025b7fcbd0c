//! Messages in a trace.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tenure_core::{Labelled, Layer, ProcessId};

use crate::format::numbered;

/// Message as seen by the process of the record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MessageRecord {
    /// The other process: the receiver in `send`, `drop` and `duplicate`, the sender in `receive`.
    #[serde(with = "numbered")]
    pub peer: ProcessId,
    /// Layer of a composition that the message belongs to.
    pub layer: Layer,
    /// Name of the message, in kebab-case.
    pub message: Cow<'static, str>,
    /// Number of the message, unique for its sender, receiver and session.
    pub number: u64,
    /// Session of the sender.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub session: u64,
    /// Content of the message, if the writer records it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Box<Value>>,
}

impl MessageRecord {
    /// Creates the record of a message without its content.
    pub fn of(message: &impl Labelled, peer: ProcessId, session: u64, number: u64) -> Self {
        let label = message.label();
        let message = Cow::Borrowed(label.kind);
        MessageRecord { peer, layer: label.layer, message, number, session, content: None }
    }

    /// Creates the record of a message that applications exchange.
    pub const fn of_applications(peer: ProcessId, session: u64, number: u64) -> Self {
        let (layer, message) = (Layer::Application, Cow::Borrowed("application"));
        MessageRecord { peer, layer, message, number, session, content: None }
    }

    /// True for a message between applications that bypasses the protocol: `chat` in the
    /// simulator's traces, `application` elsewhere. Applications of a leader use the same layer,
    /// but their messages belong to the protocol.
    pub fn is_of_users(&self) -> bool {
        self.layer == Layer::Application && matches!(&*self.message, "chat" | "application")
    }

    /// Adds the content of the message. Content that JSON cannot express, such as a map with keys
    /// that are not strings, is omitted.
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
