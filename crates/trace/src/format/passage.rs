//! A message on its way.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tenure_core::{Labelled, Layer, ProcessId};

use crate::format::numbered;

/// A message on its way, seen from the process that the record is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Passage {
    /// The other end: the receiver in `send`, `drop` and `duplicate`, the sender in `receive`.
    #[serde(with = "numbered")]
    pub peer: ProcessId,
    /// Which layer of a composition the message serves.
    pub layer: Layer,
    /// The name of the message, in kebab-case.
    pub message: Cow<'static, str>,
    /// Tells this message from all others that its sender sent to this receiver in this session.
    pub number: u64,
    /// The sender's session.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub session: u64,
    /// What the message says, where the writer keeps it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Box<Value>>,
}

impl Passage {
    /// The passage of `message`, without its content.
    pub fn of(message: &impl Labelled, peer: ProcessId, session: u64, number: u64) -> Self {
        let label = message.label();
        let message = Cow::Borrowed(label.kind);
        Passage { peer, layer: label.layer, message, number, session, content: None }
    }

    /// The passage of a message that applications send each other.
    pub const fn of_applications(peer: ProcessId, session: u64, number: u64) -> Self {
        let (layer, message) = (Layer::Application, Cow::Borrowed("application"));
        Passage { peer, layer, message, number, session, content: None }
    }

    /// Whether users say it to each other, past the protocol: `chat` in the simulator's traces,
    /// `application` elsewhere. What is done under a leader has the same layer, and is the
    /// protocol's own.
    pub fn is_of_users(&self) -> bool {
        self.layer == Layer::Application && matches!(&*self.message, "chat" | "application")
    }

    /// The same with what the message says. A message that JSON cannot express (a map whose
    /// keys are no strings) stays without.
    #[must_use]
    pub fn saying(mut self, message: &impl Serialize) -> Self {
        self.content = serde_json::to_value(message).ok().map(Box::new);
        self
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}
