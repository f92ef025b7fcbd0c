//! Frames: what travels on a connection, and the incremental decoder that trusts nobody.
//!
//! A frame is a length (`u32`, little endian) and as many bytes of body; the body is one
//! [`Frame`] in the encoding of `postcard`. `docs/wire.md` draws every byte.

use serde::{Deserialize, Serialize, Serializer};
use thiserror::Error;

/// The version of the protocol on the wire that this build speaks.
pub const VERSION: u16 = 2;

/// The bytes that open every [`Hello`], whatever its version.
pub const MAGIC: [u8; 4] = *b"TNUR";

/// The bytes of a length in front of a body.
pub const LENGTH_BYTES: usize = 4;

/// The longest body of a frame unless configured otherwise: 1 MiB.
pub const DEFAULT_LONGEST_BODY: usize = 1 << 20;

/// The most that a [`Frame::Data`] adds to its payload: tag, number, acknowledgement, length.
pub const DATA_OVERHEAD: usize = 1 + 10 + 10 + 5;

/// How much room the decoder makes for one read, in bytes.
const READ_BYTES: usize = 16 << 10;

/// A buffer that grew beyond this for one long frame is given back when it is empty.
const KEPT_BYTES: usize = 256 << 10;

/// One frame. The order of the variants is the tag on the wire: add at the end only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Frame<'a> {
    /// The first frame of a connection, and the first behind its seal.
    #[serde(borrow)]
    Hello(Hello<'a>),
    /// "I am whom you called, and this is my boot." The last word of a handshake.
    Welcome(Welcome),
    /// The acceptor's half of an exchange of keys.
    #[serde(borrow)]
    Exchange(#[serde(serialize_with = "at_once")] &'a [u8]),
    /// "No": the last frame of a connection.
    #[serde(borrow)]
    Refused(Refused<'a>),
    /// "I have received everything up to this number." The first frame after a handshake.
    Acknowledge {
        /// The highest number received without a gap; 0 for nothing yet.
        received: u64,
    },
    /// A message of the protocol.
    Data {
        /// The place of this message among all of this pair of sessions: 1, 2, 3 …
        number: u64,
        /// An [`Frame::Acknowledge`] that costs no frame of its own.
        received: u64,
        /// The message; this layer does not look inside.
        #[serde(borrow, serialize_with = "at_once")]
        payload: &'a [u8],
    },
    /// "My session ends here": no message follows, on this connection or on another. Whoever is
    /// told need not wait for a time out.
    Goodbye {
        /// An [`Frame::Acknowledge`] that costs no frame of its own.
        received: u64,
    },
}

/// Writes bytes as such: a slice alone would be written number by number, to the same effect.
fn at_once<S: Serializer>(bytes: &&[u8], to: S) -> Result<S::Ok, S::Error> {
    to.serialize_bytes(bytes)
}

/// What a dialer says first. The tag, `magic` and `version` never change between versions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello<'a> {
    /// Always [`MAGIC`].
    pub magic: [u8; 4],
    /// The version the dialer speaks.
    pub version: u16,
    /// What it opens the connection with.
    #[serde(borrow)]
    pub opening: Opening<'a>,
}

/// How a dialer opens a connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Opening<'a> {
    /// Who it is: behind the seal, or where there are no keys.
    #[serde(borrow)]
    Introduction(Introduction<'a>),
    /// Its half of an exchange of keys, after which the connection is sealed.
    #[serde(borrow)]
    Exchange(#[serde(serialize_with = "at_once")] &'a [u8]),
}

/// "I am this process of this cluster; are you the one I think I called?"
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Introduction<'a> {
    /// The name of the cluster the dialer belongs to.
    pub cluster: &'a str,
    /// How many processes the dialer's group has.
    pub group_size: u32,
    /// Who dials.
    pub sender: u32,
    /// Who should have answered.
    pub receiver: u32,
    /// Which boot of the dialer this is.
    pub boot: Boot,
}

/// One boot of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Boot {
    /// Its number, greater than that of every earlier boot.
    pub session: u64,
    /// Drawn at boot: two nodes that run from copies of one state have the same session.
    pub nonce: u64,
}

/// What an acceptor answers to a [`Hello`] that it believes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// The version that both speak from here on.
    pub version: u16,
    /// Which boot of the acceptor this is.
    pub boot: Boot,
}

/// Why a handshake failed. Its tag and layout never change between versions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused<'a> {
    /// The newest version that the refusing side speaks.
    pub newest_version: u16,
    /// A number for programs: see `Refusal` in `docs/wire.md`.
    pub code: u8,
    /// A sentence for people.
    pub sentence: &'a str,
}

impl Refused<'_> {
    /// The sentence of somebody who may be anybody, harmless to a log, and with its quotation marks
    /// as they are.
    pub(super) fn told(&self) -> String {
        let mut told = String::with_capacity(self.sentence.len());
        for letter in self.sentence.chars() {
            match letter {
                '\'' | '"' => told.push(letter),
                _ => told.extend(letter.escape_debug()),
            }
        }
        told
    }
}

/// What is wrong with the bytes of a connection, which is of no further use afterwards.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FrameError {
    /// The length in front of a body exceeds what this side accepts.
    #[error("a frame of {length} bytes is longer than the {limit} allowed")]
    TooLong {
        /// The announced length of the body, in bytes.
        length: usize,
        /// The longest accepted body, in bytes.
        limit: usize,
    },
    /// The body is not a frame that this version knows.
    #[error("a body of {length} bytes is not a frame")]
    Malformed {
        /// The length of the body, in bytes.
        length: usize,
    },
    /// The body is a frame, and then goes on.
    #[error("a frame is followed by {extra} bytes inside its own body")]
    Trailing {
        /// The number of bytes behind the frame.
        extra: usize,
    },
}

impl<'a> Hello<'a> {
    /// As this build says it.
    pub fn with(opening: Opening<'a>) -> Self {
        Hello { magic: MAGIC, version: VERSION, opening }
    }
}

impl<'a> Frame<'a> {
    /// Reads one frame from the whole of `body`, borrowing from it.
    ///
    /// # Errors
    ///
    /// [`FrameError::Malformed`] and [`FrameError::Trailing`]; nothing is allocated either way.
    pub fn decode(body: &'a [u8]) -> Result<Self, FrameError> {
        let malformed = |_| FrameError::Malformed { length: body.len() };
        let (frame, rest) = postcard::take_from_bytes(body).map_err(malformed)?;
        if rest.is_empty() { Ok(frame) } else { Err(FrameError::Trailing { extra: rest.len() }) }
    }

    /// Appends the length and the body of this frame to `output`.
    ///
    /// # Panics
    ///
    /// When the body does not fit 32 bits, which limits on payloads forbid long before.
    pub fn encode(&self, output: &mut Vec<u8>) {
        let start = output.len();
        output.extend_from_slice(&[0; LENGTH_BYTES]);
        let written = postcard::to_extend(self, std::mem::take(output));
        *output = written.expect("a growing buffer holds any frame");
        let length = output.len() - start - LENGTH_BYTES;
        let length = u32::try_from(length).expect("a frame is shorter than 4 GiB");
        output[start..start + LENGTH_BYTES].copy_from_slice(&length.to_le_bytes());
    }
}

/// The version that a body offers if it opens like a [`Hello`] of any version.
pub fn offered_version(body: &[u8]) -> Option<u16> {
    let rest = body.strip_prefix(&[0])?.strip_prefix(&MAGIC)?;
    postcard::take_from_bytes(rest).ok().map(|(version, _)| version)
}

/// The length of a body from the bytes in front of it.
///
/// # Errors
///
/// [`FrameError::TooLong`] when it exceeds `limit`, before anything is allocated for it.
pub fn body_length(prefix: [u8; LENGTH_BYTES], limit: usize) -> Result<usize, FrameError> {
    let length = u32::from_le_bytes(prefix) as usize;
    if length > limit { Err(FrameError::TooLong { length, limit }) } else { Ok(length) }
}

/// Turns a stream of bytes into frames: feed it bytes as they come, take frames as they form.
///
/// No byte sequence makes it panic, and it holds at most twice what it was fed plus one read:
/// a length that promises a gigabyte reserves nothing.
#[derive(Debug)]
pub struct Decoder {
    buffer: Vec<u8>,
    consumed: usize,
    limit: usize,
}

impl Decoder {
    /// A decoder that refuses bodies longer than `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Decoder { buffer: Vec::new(), consumed: 0, limit }
    }

    /// Appends bytes as they arrived.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.forget_consumed();
        self.buffer.extend_from_slice(bytes);
    }

    /// The buffer with room for one read: append what arrived, and nothing else.
    pub fn space(&mut self) -> &mut Vec<u8> {
        self.forget_consumed();
        self.buffer.reserve(READ_BYTES);
        &mut self.buffer
    }

    /// The next whole frame, or nothing until more bytes arrive.
    ///
    /// # Errors
    ///
    /// A [`FrameError`]; the stream has lost its meaning and the connection must be closed.
    pub fn take(&mut self) -> Result<Option<Frame<'_>>, FrameError> {
        let unread = &self.buffer[self.consumed..];
        let Some((prefix, rest)) = unread.split_first_chunk() else { return Ok(None) };
        let length = body_length(*prefix, self.limit)?;
        let Some(body) = rest.get(..length) else { return Ok(None) };
        self.consumed += LENGTH_BYTES + length;
        Frame::decode(body).map(Some)
    }

    /// How many bytes were fed and not yet taken.
    pub fn waiting(&self) -> usize {
        self.buffer.len() - self.consumed
    }

    /// Moves what is unread to the front once that costs less than it frees.
    fn forget_consumed(&mut self) {
        if self.consumed == self.buffer.len() {
            self.buffer.clear();
            self.consumed = 0;
            if self.buffer.capacity() > KEPT_BYTES {
                self.buffer = Vec::new();
            }
        } else if self.consumed > self.buffer.len() / 2 {
            self.buffer.drain(..self.consumed);
            self.consumed = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_stranger_says_moves_no_cursor_and_keeps_its_apostrophes() {
        let sentence = "this node's \"name\"\u{1b}[2J\n";
        let refused = Refused { newest_version: 1, code: 1, sentence };
        assert_eq!(refused.told(), "this node's \"name\"\\u{1b}[2J\\n");
    }

    #[test]
    fn a_hostile_length_reserves_nothing() {
        let mut decoder = Decoder::new(usize::MAX);
        decoder.feed(&u32::MAX.to_le_bytes());
        assert_eq!(decoder.take(), Ok(None));
        assert!(decoder.buffer.capacity() < 64, "{}", decoder.buffer.capacity());
    }

    #[test]
    fn the_overhead_of_data_is_never_exceeded() {
        let payload = vec![7; 1 << 21];
        let mut output = Vec::new();
        Frame::Data { number: u64::MAX, received: u64::MAX, payload: &payload }.encode(&mut output);
        assert!(output.len() - LENGTH_BYTES <= payload.len() + DATA_OVERHEAD);
    }

    #[test]
    fn the_version_of_a_hello_from_the_future_can_be_read() {
        let mut body = vec![0];
        body.extend_from_slice(&MAGIC);
        body.extend_from_slice(&[0x81, 0x02, 99, 99, 99]);
        assert_eq!(offered_version(&body), Some(257));
        assert_eq!(offered_version(b"GET / HTTP/1.1"), None);
    }
}
