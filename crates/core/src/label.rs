//! Message names, and the layers of a composition.

/// Protocol layer to which a message belongs. A composition of protocols has several layers. The
/// message cost of a lock or of an election counts the messages of one layer only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Layer {
    /// Messages of locks: requests, replies, grants, tokens.
    Mutex,
    /// Messages of elections: calls for an election, answers, announcements.
    Election,
    /// Messages of agreement services, such as consensus and atomic commit.
    Agreement,
    /// Heartbeats of failure detectors.
    Detector,
    /// Acknowledgements and retransmissions.
    Channel,
    /// Messages that the users of the processes send to each other.
    Application,
}

/// Layer and name of a message. Reports count messages by label, and pictures show the label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MessageLabel {
    /// Layer of the message.
    pub layer: Layer,
    /// Name of the message variant, in kebab-case.
    pub kind: &'static str,
}

impl MessageLabel {
    /// Returns true if the message is a heartbeat, in any layer. A heartbeat shows only that its
    /// sender is alive. Therefore a queue needs to keep only the newest heartbeat.
    pub fn is_heartbeat(self) -> bool {
        matches!(self.kind, "heartbeat" | "heartbeat-response")
    }
}

/// A message type whose messages have names.
///
/// Most message types implement this trait with [`labelled!`](crate::labelled). A message that
/// wraps another message has the label of the wrapped message.
pub trait Labelled {
    /// Returns the layer and the name of this message.
    fn label(&self) -> MessageLabel;
}

impl Labelled for () {
    fn label(&self) -> MessageLabel {
        MessageLabel { layer: Layer::Application, kind: "nothing" }
    }
}

/// Implements [`Labelled`](crate::Labelled) for a message type: states the [`Layer`](crate::Layer)
/// of its messages, and the name of each variant.
///
/// ```
/// enum Message { Request { stamp: u64 }, Reply }
/// tenure_core::labelled!(Message, Mutex, Request => "request", Reply => "reply");
///
/// use tenure_core::Labelled;
/// assert_eq!(Message::Request { stamp: 1 }.label().kind, "request");
/// assert_eq!(Message::Reply.label().kind, "reply");
/// ```
#[macro_export]
macro_rules! labelled {
    ($message:ty, $layer:ident, $($variant:ident => $kind:literal),+ $(,)?) => {
        impl $crate::Labelled for $message {
            fn label(&self) -> $crate::MessageLabel {
                let kind = match self { $(Self::$variant { .. } => $kind,)+ };
                $crate::MessageLabel { layer: $crate::Layer::$layer, kind }
            }
        }
    };
}
