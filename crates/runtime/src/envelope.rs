//! Envelope that surrounds each message on the wire.

use serde::{Deserialize, Serialize};
use tenure_core::VectorClock;

/// A message with its sequence number and the vector clock of its sender. A trace uses the number
/// to match the sending of the message with its receipt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Envelope<M> {
    /// Sequence number of the message in the session of its sender.
    pub(crate) number: u64,
    /// Vector clock of the sender. `None` if the sender keeps no vector clock.
    pub(crate) clock: Option<VectorClock>,
    pub(crate) message: M,
}

/// Initial capacity of an encoded envelope, in bytes. Most messages are shorter.
const INITIAL_CAPACITY: usize = 128;

impl<M: Serialize> Envelope<M> {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let bytes = postcard::to_extend(self, Vec::with_capacity(INITIAL_CAPACITY));
        bytes.expect("a message is serializable")
    }
}

impl<M: for<'de> Deserialize<'de>> Envelope<M> {
    /// Decodes an envelope. Returns `None` if `bytes` is not the encoding of exactly one envelope.
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
    fn envelope_round_trip_rejects_other_lengths() {
        let clock = Some(VectorClock::from(vec![1, 2, 3]));
        let sent = Envelope { number: 7, clock, message: (1_u32, "hello".to_string()) };
        let mut bytes = sent.encode();
        assert_eq!(Envelope::decode(&bytes), Some(sent));
        bytes.push(0);
        assert_eq!(Envelope::<(u32, String)>::decode(&bytes), None);
        assert_eq!(Envelope::<(u32, String)>::decode(&bytes[..3]), None);
    }
}
