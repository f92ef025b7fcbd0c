//! Encryption of a connection with the Noise protocol. Each side has a static key.
//!
//! The pattern is `Noise_IK_25519_ChaChaPoly_BLAKE2s`: the dialer knows the key of the acceptor,
//! and hides its own identity from third parties. A record is a length (`u16`, little endian),
//! followed by encrypted bytes. The decrypted records form the stream of frames.
//!
//! Noise counts the records of each direction. So a record that was modified, omitted, repeated or
//! reordered cannot be decrypted, and the connection ends.

use snow::{Builder, HandshakeState, TransportState};
use thiserror::Error;

use super::frame::{HELLO_MAGIC, PROTOCOL_VERSION};
use super::keys::{PrivateKey, PublicKey, noise_params};

pub(crate) const RECORD_LENGTH_BYTES: usize = 2;

const TAG_BYTES: usize = 16;

/// Maximum size of the content of a record before encryption, in bytes.
const MAX_PLAIN_RECORD_BYTES: usize = u16::MAX as usize - TAG_BYTES;

/// Maximum size of a handshake message without payload. The longest message contains two keys and
/// two tags.
const MAX_EXCHANGE_BYTES: usize = 2 * 32 + 2 * TAG_BYTES;

/// Failure of a decryption: the data is not the next message or record of the peer. Also reported
/// if no further record can be encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("received data cannot be decrypted: it was modified or is not from the peer")]
pub(crate) struct CipherError;

/// A key exchange after its first message and before its second message.
#[derive(Debug)]
pub(crate) struct KeyExchange(HandshakeState);

/// Keys of a connection, which encrypt outgoing records and decrypt incoming records.
#[derive(Debug)]
pub(crate) struct ConnectionCipher(TransportState);

impl KeyExchange {
    /// Starts a key exchange as the dialer. Returns the exchange, and the first message for the
    /// acceptor.
    pub(crate) fn dial(mine: &PrivateKey, theirs: PublicKey) -> (KeyExchange, Vec<u8>) {
        let prologue = prologue();
        let noise = Builder::new(noise_params())
            .prologue(&prologue)
            .and_then(|noise| noise.local_private_key(mine.bytes()))
            .and_then(|noise| noise.remote_public_key(theirs.bytes()))
            .and_then(Builder::build_initiator);
        let mut noise = noise.expect("complete handshake parameters");
        let message = write_handshake(&mut noise);
        (KeyExchange(noise), message)
    }

    /// Starts a key exchange as the acceptor, with the message of the dialer. Returns the exchange,
    /// and the public key that the dialer claims to own. The message may be a replay. Only the
    /// first record that can be decrypted proves that the dialer owns the key.
    pub(crate) fn accept(
        mine: &PrivateKey,
        message: &[u8],
    ) -> Result<(KeyExchange, Vec<u8>), CipherError> {
        let prologue = prologue();
        let noise = Builder::new(noise_params())
            .prologue(&prologue)
            .and_then(|noise| noise.local_private_key(mine.bytes()))
            .and_then(Builder::build_responder);
        let mut noise = noise.expect("complete handshake parameters");
        read_handshake(&mut noise, message)?;
        let key = noise.get_remote_static().ok_or(CipherError)?.to_vec();
        Ok((KeyExchange(noise), key))
    }

    /// Completes the key exchange as the acceptor. Returns the cipher of the connection, and the
    /// response that the acceptor must send to the dialer.
    pub(crate) fn respond(mut self) -> (ConnectionCipher, Vec<u8>) {
        let message = write_handshake(&mut self.0);
        (ConnectionCipher::of(self.0), message)
    }

    /// Completes the exchange as the dialer, with the response of the acceptor. Returns an error if
    /// the acceptor does not have the expected key, or if the response was modified.
    pub(crate) fn finish(mut self, message: &[u8]) -> Result<ConnectionCipher, CipherError> {
        read_handshake(&mut self.0, message)?;
        Ok(ConnectionCipher::of(self.0))
    }
}

impl ConnectionCipher {
    fn of(noise: HandshakeState) -> ConnectionCipher {
        ConnectionCipher(noise.into_transport_mode().expect("a finished handshake"))
    }

    /// Encrypts `bytes` into as few records as possible and appends them to `output`.
    pub(crate) fn encrypt(
        &mut self,
        bytes: &[u8],
        output: &mut Vec<u8>,
    ) -> Result<(), CipherError> {
        for piece in bytes.chunks(MAX_PLAIN_RECORD_BYTES) {
            let length = piece.len() + TAG_BYTES;
            let prefix = u16::try_from(length).expect("a record fits its length").to_le_bytes();
            output.extend_from_slice(&prefix);
            let start = output.len();
            output.resize(start + length, 0);
            // This fails only after 2^64 - 1 records.
            self.0.write_message(piece, &mut output[start..]).map_err(|_| CipherError)?;
        }
        Ok(())
    }

    /// Decrypts a record without its length prefix and appends the content to `output`. After an
    /// error, `output` is unchanged.
    pub(crate) fn decrypt(
        &mut self,
        record: &[u8],
        output: &mut Vec<u8>,
    ) -> Result<(), CipherError> {
        let start = output.len();
        let length = record.len().checked_sub(TAG_BYTES).ok_or(CipherError)?;
        output.resize(start + length, 0);
        let opened = self.0.read_message(record, &mut output[start..]);
        if opened.is_err() {
            output.truncate(start);
        }
        opened.map(|_| ()).map_err(|_| CipherError)
    }
}

/// Returns data that includes the protocol version. The key exchange fails if the two sides use
/// different data. This prevents downgrades to an older version.
fn prologue() -> Vec<u8> {
    [HELLO_MAGIC.as_slice(), &PROTOCOL_VERSION.to_le_bytes()].concat()
}

fn write_handshake(noise: &mut HandshakeState) -> Vec<u8> {
    let mut message = vec![0; MAX_EXCHANGE_BYTES];
    let length = noise.write_message(&[], &mut message).expect("this side sends the next message");
    message.truncate(length);
    message
}

fn read_handshake(noise: &mut HandshakeState, message: &[u8]) -> Result<(), CipherError> {
    let mut nothing = [0; MAX_EXCHANGE_BYTES];
    match noise.read_message(message, &mut nothing) {
        Ok(0) => Ok(()),
        _ => Err(CipherError),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> PrivateKey {
        PrivateKey::generate().expect("entropy")
    }

    fn cipher_pair() -> [ConnectionCipher; 2] {
        let (mine, theirs) = (key(), key());
        let (dialer, message) = KeyExchange::dial(&mine, theirs.public());
        let (acceptor, claimed) = KeyExchange::accept(&theirs, &message).expect("a good start");
        assert_eq!(claimed, mine.public().bytes());
        let (acceptor, message) = acceptor.respond();
        [dialer.finish(&message).expect("a good answer"), acceptor]
    }

    fn record(cipher: &mut ConnectionCipher, bytes: &[u8]) -> Vec<u8> {
        let mut records = Vec::new();
        cipher.encrypt(bytes, &mut records).expect("a few records");
        records.split_off(RECORD_LENGTH_BYTES)
    }

    fn decrypted(cipher: &mut ConnectionCipher, record: &[u8]) -> Result<Vec<u8>, CipherError> {
        let mut bytes = Vec::new();
        cipher.decrypt(record, &mut bytes).map(|()| bytes)
    }

    #[test]
    fn round_trip_hides_plaintext() {
        let [mut one, mut other] = cipher_pair();
        let way = record(&mut one, b"the term is 7");
        assert!(!way.windows(4).any(|bytes| bytes == b"term"));
        assert_eq!(decrypted(&mut other, &way), Ok(b"the term is 7".to_vec()));
        let way = record(&mut other, b"so it is");
        assert_eq!(decrypted(&mut one, &way), Ok(b"so it is".to_vec()));
    }

    #[test]
    fn long_input_is_split_into_records() {
        let [mut one, mut other] = cipher_pair();
        let long = vec![7; 3 * MAX_PLAIN_RECORD_BYTES + 1];
        let (mut records, mut joined, mut count) = (Vec::new(), Vec::new(), 0);
        one.encrypt(&long, &mut records).expect("a few records");
        let mut rest = records.as_slice();
        while let Some((prefix, behind)) = rest.split_first_chunk() {
            let (record, behind) = behind.split_at(u16::from_le_bytes(*prefix).into());
            other.decrypt(record, &mut joined).expect("a record");
            (rest, count) = (behind, count + 1);
        }
        assert_eq!((joined, count), (long, 4));
    }

    #[test]
    fn rejects_modified_repeated_omitted_or_reflected_records() {
        for bit in 0..8 * (4 + TAG_BYTES) {
            let [mut one, mut other] = cipher_pair();
            let mut way = record(&mut one, b"term");
            way[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(decrypted(&mut other, &way), Err(CipherError), "bit {bit}");
        }
        let [mut one, mut other] = cipher_pair();
        let [first, second] = [b"1", b"2"].map(|bytes| record(&mut one, bytes));
        assert_eq!(
            decrypted(&mut other, &second),
            Err(CipherError),
            "the first record was omitted"
        );
        assert_eq!(decrypted(&mut other, &first), Ok(b"1".to_vec()));
        assert_eq!(decrypted(&mut other, &first), Err(CipherError), "it was repeated");
        assert_eq!(decrypted(&mut one, &second), Err(CipherError), "it was reflected");
        assert_eq!(
            decrypted(&mut one, &[0; TAG_BYTES - 1]),
            Err(CipherError),
            "it is not a record"
        );
    }

    #[test]
    fn rejects_processes_without_the_key() {
        let (mine, theirs, another) = (key(), key(), key());
        // The message is encrypted for another acceptor.
        let (_, message) = KeyExchange::dial(&mine, another.public());
        assert!(KeyExchange::accept(&theirs, &message).is_err());
        // An eavesdropper responds with another key.
        let (dialer, _) = KeyExchange::dial(&mine, theirs.public());
        let (_, other) = KeyExchange::dial(&mine, another.public());
        let (answer, _) = KeyExchange::accept(&another, &other).expect("a good start");
        assert_eq!(dialer.finish(&answer.respond().1).err(), Some(CipherError));
        // A replayed first message: later records cannot be decrypted.
        let (dialer, message) = KeyExchange::dial(&mine, theirs.public());
        let (first, _) = KeyExchange::accept(&theirs, &message).expect("a good start");
        let (again, _) = KeyExchange::accept(&theirs, &message).expect("a first message");
        let ((mut first, message), (mut again, _)) = (first.respond(), again.respond());
        let way = record(&mut dialer.finish(&message).expect("a good answer"), b"me");
        assert_eq!(decrypted(&mut again, &way), Err(CipherError));
        assert_eq!(decrypted(&mut first, &way), Ok(b"me".to_vec()));
    }
}
