//! What a message travels in.

use serde::{Deserialize, Serialize};
use tenure_core::VectorClock;

/// A message with what traces need to match its sending with its receipt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Envelope<M> {
    /// Counts the messages of the sender's session.
    pub(crate) number: u64,
    /// The sender's vector clock, where it keeps one.
    pub(crate) clock: Option<VectorClock>,
    pub(crate) message: M,
}

/// How many bytes most messages have.
const MOST: usize = 128;

impl<M: Serialize> Envelope<M> {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let bytes = postcard::to_extend(self, Vec::with_capacity(MOST));
        bytes.expect("a message can always be encoded")
    }
}

impl<M: for<'de> Deserialize<'de>> Envelope<M> {
    /// What `bytes` say; nothing when they are not exactly one envelope.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        match postcard::take_from_bytes(bytes) {
            Ok((envelope, [])) => Some(envelope),
            Ok(_) | Err(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_envelope_arrives_as_it_was_sent_and_nothing_else_does() {
        let clock = Some(VectorClock::from(vec![1, 2, 3]));
        let sent = Envelope { number: 7, clock, message: (1_u32, "hello".to_string()) };
        let mut bytes = sent.encode();
        assert_eq!(Envelope::decode(&bytes), Some(sent));
        bytes.push(0);
        assert_eq!(Envelope::<(u32, String)>::decode(&bytes), None);
        assert_eq!(Envelope::<(u32, String)>::decode(&bytes[..3]), None);
    }
}
