//! What a message is called, and which layer of a composition it belongs to.

/// The layer of a composition that a message serves; messages per entry count one layer only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Layer {
    /// Requests, replies, grants, tokens.
    Mutex,
    /// Elections, answers, announcements.
    Election,
    /// Consensus and commitment.
    Agreement,
    /// Heartbeats.
    Detector,
    /// Acknowledgements and retransmissions.
    Channel,
    /// Everything that users of the services send each other.
    Application,
}

/// The name under which a message is counted and drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Label {
    /// Which layer it serves.
    pub layer: Layer,
    /// The variant's name in kebab-case.
    pub kind: &'static str,
}

impl Label {
    /// Whether this is a heartbeat, of whatever layer. It says that its sender is there, and what
    /// its next one says as well: of several that wait for a peer, only the last counts.
    pub fn is_heartbeat(self) -> bool {
        matches!(self.kind, "heartbeat" | "heartbeat-response")
    }
}

/// A message that can say what it is called.
///
/// Most messages get it from [`labelled!`](crate::labelled); an adapter passes on the label of
/// what it carries.
pub trait Labelled {
    /// The name of this message.
    fn label(&self) -> Label;
}

impl Labelled for () {
    fn label(&self) -> Label {
        Label { layer: Layer::Application, kind: "nothing" }
    }
}

/// Names the variants of a message type.
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
            fn label(&self) -> $crate::Label {
                let kind = match self { $(Self::$variant { .. } => $kind,)+ };
                $crate::Label { layer: $crate::Layer::$layer, kind }
            }
        }
    };
}
