//! The seal of a connection: Noise between two static keys, and the records behind it.
//!
//! `Noise_IK_25519_ChaChaPoly_BLAKE2s`: the dialer knows whom it calls and hides who it is from
//! everybody else. A record is a length (`u16`, little endian) and as many sealed bytes; opened and
//! joined they are frames. Noise counts the records of each direction, so one that was changed,
//! left out, repeated or moved does not open, and the connection ends.

use snow::{Builder, HandshakeState, TransportState};
use thiserror::Error;

use super::frame::{MAGIC, VERSION};
use super::keys::{PrivateKey, PublicKey, exchange};

/// The bytes of the length in front of a record.
pub(crate) const RECORD_LENGTH_BYTES: usize = 2;

/// What sealing adds to the bytes of a record.
const TAG_BYTES: usize = 16;

/// The most bytes of one record before they are sealed.
const RECORD_BYTES: usize = u16::MAX as usize - TAG_BYTES;

/// A message of the exchange with nothing inside: two keys and two tags at most.
const EXCHANGE_BYTES: usize = 2 * 32 + 2 * TAG_BYTES;

/// What came is not sealed by whom it should be, or is not the next that they sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("what came does not open: it was changed, or is not of the peer")]
pub(crate) struct Unsealed;

/// An exchange that was begun by one of the two and not yet answered.
#[derive(Debug)]
pub(crate) struct Exchange(HandshakeState);

/// Seals what is sent over one connection, and opens what comes.
#[derive(Debug)]
pub(crate) struct Seal(TransportState);

impl Exchange {
    /// The dialer's side, and what it says.
    pub(crate) fn dial(mine: &PrivateKey, theirs: PublicKey) -> (Exchange, Vec<u8>) {
        let prologue = prologue();
        let noise = Builder::new(exchange())
            .prologue(&prologue)
            .and_then(|noise| noise.local_private_key(mine.bytes()))
            .and_then(|noise| noise.remote_public_key(theirs.bytes()))
            .and_then(Builder::build_initiator);
        let mut noise = noise.expect("an exchange with all that it needs");
        let said = say(&mut noise);
        (Exchange(noise), said)
    }

    /// The acceptor's side, after what the dialer said; and the key that the dialer claims. Whether
    /// it has that key now, and not only once, is known when the first record opens.
    pub(crate) fn accept(mine: &PrivateKey, said: &[u8]) -> Result<(Exchange, Vec<u8>), Unsealed> {
        let prologue = prologue();
        let noise = Builder::new(exchange())
            .prologue(&prologue)
            .and_then(|noise| noise.local_private_key(mine.bytes()))
            .and_then(Builder::build_responder);
        let mut noise = noise.expect("an exchange with all that it needs");
        hear(&mut noise, said)?;
        let key = noise.get_remote_static().ok_or(Unsealed)?.to_vec();
        Ok((Exchange(noise), key))
    }

    /// The acceptor answers, and the connection is sealed.
    pub(crate) fn answer(mut self) -> (Seal, Vec<u8>) {
        let said = say(&mut self.0);
        (Seal::of(self.0), said)
    }

    /// The dialer is answered: by the process that it called, or this fails.
    pub(crate) fn answered(mut self, said: &[u8]) -> Result<Seal, Unsealed> {
        hear(&mut self.0, said)?;
        Ok(Seal::of(self.0))
    }
}

impl Seal {
    fn of(noise: HandshakeState) -> Seal {
        Seal(noise.into_transport_mode().expect("an exchange that has ended"))
    }

    /// Appends `bytes` to `output` as records, as few as possible.
    pub(crate) fn close(&mut self, bytes: &[u8], output: &mut Vec<u8>) -> Result<(), Unsealed> {
        for piece in bytes.chunks(RECORD_BYTES) {
            let length = piece.len() + TAG_BYTES;
            let prefix = u16::try_from(length).expect("a record fits its length").to_le_bytes();
            output.extend_from_slice(&prefix);
            let start = output.len();
            output.resize(start + length, 0);
            // It fails only after 2^64 - 1 records.
            self.0.write_message(piece, &mut output[start..]).map_err(|_| Unsealed)?;
        }
        Ok(())
    }

    /// Appends to `output` what is in a record, given without its length.
    pub(crate) fn open(&mut self, record: &[u8], output: &mut Vec<u8>) -> Result<(), Unsealed> {
        let start = output.len();
        let length = record.len().checked_sub(TAG_BYTES).ok_or(Unsealed)?;
        output.resize(start + length, 0);
        let opened = self.0.read_message(record, &mut output[start..]);
        if opened.is_err() {
            output.truncate(start);
        }
        opened.map(|_| ()).map_err(|_| Unsealed)
    }
}

/// What both sides mean to speak: who is talked into another version does not get through.
fn prologue() -> Vec<u8> {
    [MAGIC.as_slice(), &VERSION.to_le_bytes()].concat()
}

fn say(noise: &mut HandshakeState) -> Vec<u8> {
    let mut said = vec![0; EXCHANGE_BYTES];
    let length = noise.write_message(&[], &mut said).expect("it is this side's turn");
    said.truncate(length);
    said
}

fn hear(noise: &mut HandshakeState, said: &[u8]) -> Result<(), Unsealed> {
    let mut nothing = [0; EXCHANGE_BYTES];
    match noise.read_message(said, &mut nothing) {
        Ok(0) => Ok(()),
        _ => Err(Unsealed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> PrivateKey {
        PrivateKey::generate().expect("entropy")
    }

    fn sealed() -> [Seal; 2] {
        let (mine, theirs) = (key(), key());
        let (dialer, said) = Exchange::dial(&mine, theirs.public());
        let (acceptor, claimed) = Exchange::accept(&theirs, &said).expect("a good start");
        assert_eq!(claimed, mine.public().bytes());
        let (acceptor, said) = acceptor.answer();
        [dialer.answered(&said).expect("a good answer"), acceptor]
    }

    fn record(seal: &mut Seal, bytes: &[u8]) -> Vec<u8> {
        let mut records = Vec::new();
        seal.close(bytes, &mut records).expect("a few records");
        records.split_off(RECORD_LENGTH_BYTES)
    }

    fn opened(seal: &mut Seal, record: &[u8]) -> Result<Vec<u8>, Unsealed> {
        let mut bytes = Vec::new();
        seal.open(record, &mut bytes).map(|()| bytes)
    }

    #[test]
    fn what_is_sealed_is_opened_and_cannot_be_read_on_the_way() {
        let [mut one, mut other] = sealed();
        let way = record(&mut one, b"the term is 7");
        assert!(!way.windows(4).any(|bytes| bytes == b"term"));
        assert_eq!(opened(&mut other, &way), Ok(b"the term is 7".to_vec()));
        let way = record(&mut other, b"so it is");
        assert_eq!(opened(&mut one, &way), Ok(b"so it is".to_vec()));
    }

    #[test]
    fn what_is_long_is_cut_and_joined() {
        let [mut one, mut other] = sealed();
        let long = vec![7; 3 * RECORD_BYTES + 1];
        let (mut records, mut joined, mut count) = (Vec::new(), Vec::new(), 0);
        one.close(&long, &mut records).expect("a few records");
        let mut rest = records.as_slice();
        while let Some((prefix, behind)) = rest.split_first_chunk() {
            let (record, behind) = behind.split_at(u16::from_le_bytes(*prefix).into());
            other.open(record, &mut joined).expect("a record");
            (rest, count) = (behind, count + 1);
        }
        assert_eq!((joined, count), (long, 4));
    }

    #[test]
    fn a_record_that_is_changed_repeated_left_out_or_reflected_does_not_open() {
        for bit in 0..8 * (4 + TAG_BYTES) {
            let [mut one, mut other] = sealed();
            let mut way = record(&mut one, b"term");
            way[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(opened(&mut other, &way), Err(Unsealed), "bit {bit}");
        }
        let [mut one, mut other] = sealed();
        let [first, second] = [b"1", b"2"].map(|bytes| record(&mut one, bytes));
        assert_eq!(opened(&mut other, &second), Err(Unsealed), "the first was left out");
        assert_eq!(opened(&mut other, &first), Ok(b"1".to_vec()));
        assert_eq!(opened(&mut other, &first), Err(Unsealed), "it was repeated");
        assert_eq!(opened(&mut one, &second), Err(Unsealed), "it was reflected");
        assert_eq!(opened(&mut one, &[0; TAG_BYTES - 1]), Err(Unsealed), "it is no record");
    }

    #[test]
    fn whoever_lacks_the_key_gets_nowhere() {
        let (mine, theirs, another) = (key(), key(), key());
        // Called by the name of another: the called cannot read it.
        let (_, said) = Exchange::dial(&mine, another.public());
        assert!(Exchange::accept(&theirs, &said).is_err());
        // Answered by another, who overheard it all.
        let (dialer, _) = Exchange::dial(&mine, theirs.public());
        let (_, other) = Exchange::dial(&mine, another.public());
        let (answer, _) = Exchange::accept(&another, &other).expect("a good start");
        assert_eq!(dialer.answered(&answer.answer().1).err(), Some(Unsealed));
        // A beginning that was overheard and is repeated: what came behind it does not open.
        let (dialer, said) = Exchange::dial(&mine, theirs.public());
        let (first, _) = Exchange::accept(&theirs, &said).expect("a good start");
        let (again, _) = Exchange::accept(&theirs, &said).expect("it cannot be known yet");
        let ((mut first, said), (mut again, _)) = (first.answer(), again.answer());
        let way = record(&mut dialer.answered(&said).expect("a good answer"), b"me");
        assert_eq!(opened(&mut again, &way), Err(Unsealed));
        assert_eq!(opened(&mut first, &way), Ok(b"me".to_vec()));
    }
}
