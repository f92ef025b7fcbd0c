//! Frames of a connection, and a decoder that accepts them in pieces.
//!
//! A frame is a length (`u32`, little endian), followed by a body of that length. The body is one
//! [`Frame`] in the `postcard` encoding. `docs/wire.md` specifies every byte.

use serde::{Deserialize, Serialize, Serializer};
use thiserror::Error;

/// Version of the wire protocol of this build.
pub const PROTOCOL_VERSION: u16 = 2;

/// Bytes at the start of a [`Hello`], the same in every version. A message that begins differently
/// belongs to a different protocol.
pub const HELLO_MAGIC: [u8; 4] = *b"TNUR";

/// Size of the length prefix, in bytes.
pub const LENGTH_PREFIX_BYTES: usize = 4;

/// Default upper bound on the size of a frame body, in bytes: 1 MiB.
pub const DEFAULT_MAX_BODY_BYTES: usize = 1 << 20;

/// Maximum number of bytes of a [`Frame::Data`] besides its payload: tag, number, acknowledgement
/// and length.
pub const MAX_DATA_OVERHEAD_BYTES: usize = 1 + 10 + 10 + 5;

const READ_BYTES: usize = 16 << 10;

/// Capacity in bytes up to which the decoder keeps an empty buffer. A larger empty buffer is freed.
const MAX_IDLE_BUFFER_BYTES: usize = 256 << 10;

/// A frame. The order of the variants determines the tags on the wire, so new variants go to the
/// end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Frame<'a> {
    /// Opens a connection. If the node has keys, the dialer sends two of these frames. The first
    /// one contains a key exchange. The second one is encrypted, and contains the identity of the
    /// dialer.
    #[serde(borrow)]
    Hello(Hello<'a>),
    /// Accepts the connection and announces the boot of the acceptor. Ends the handshake.
    Welcome(Welcome),
    /// Key exchange message of the acceptor, the response to [`HelloContent::Exchange`].
    #[serde(borrow)]
    Exchange(#[serde(serialize_with = "as_bytes")] &'a [u8]),
    /// Refuses the connection. It is the last frame of the connection.
    #[serde(borrow)]
    Refused(Refused<'a>),
    /// Acknowledges all messages up to a number. The first frame after a handshake is always an
    /// acknowledgement.
    Acknowledge {
        /// Highest number up to which all messages were received; 0 if none was received.
        received: u64,
    },
    /// Carries a message of the protocol that uses the mesh.
    Data {
        /// Sequence number of the message, from 1. Each pair of a sender session and a receiver
        /// session has its own sequence.
        number: u64,
        /// Highest number up to which the sender of this frame has received all messages; 0 if it
        /// has received none.
        received: u64,
        /// Message of the protocol. This layer does not interpret it.
        #[serde(borrow, serialize_with = "as_bytes")]
        payload: &'a [u8],
    },
    /// Ends the session of the sender. No message of that session follows on any connection, so the
    /// receiver need not wait for a timeout.
    Goodbye {
        /// Highest number up to which the sender of this frame has received all messages; 0 if it
        /// has received none.
        received: u64,
    },
    /// Accepts the connection like [`Frame::Welcome`]. The acceptor replaces a member and has not
    /// joined the group yet.
    WelcomeToReplacement(Welcome),
}

/// Serializes bytes as one block. Without this function, serde serializes a slice byte by byte,
/// which takes longer and has the same output.
fn as_bytes<S: Serializer>(bytes: &&[u8], to: S) -> Result<S::Ok, S::Error> {
    to.serialize_bytes(bytes)
}

/// First message of a connection, sent by the dialer. The tag, `magic` and `version` never change
/// between versions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello<'a> {
    /// Always [`HELLO_MAGIC`]. If a message has other bytes here, it comes from a different
    /// protocol.
    pub magic: [u8; 4],
    /// Wire protocol version of the dialer.
    pub version: u16,
    /// Content of the message: an identity or a key exchange.
    #[serde(borrow)]
    pub opening: HelloContent<'a>,
}

/// Content of a [`Hello`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum HelloContent<'a> {
    /// Identity of the dialer. If the nodes have keys, it is sent only after the key exchange,
    /// encrypted.
    #[serde(borrow)]
    Introduction(Introduction<'a>),
    /// Key exchange message of the dialer. All frames after the acceptor's response are encrypted.
    #[serde(borrow)]
    Exchange(#[serde(serialize_with = "as_bytes")] &'a [u8]),
    /// Identity of a dialer that replaces a member and has not joined the group yet.
    #[serde(borrow)]
    Replacement(Introduction<'a>),
}

/// Identity of the dialer, and the process that the dialer expects to reach.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Introduction<'a> {
    /// Cluster of the dialer.
    pub cluster: &'a str,
    /// Number of processes in the group of the dialer.
    pub group_size: u32,
    /// Id of the process that dials. Ids count from 0, so `P1` has the id 0.
    pub sender: u32,
    /// Id of the process that the dialer expects to reach.
    pub receiver: u32,
    /// Boot of the dialer.
    pub boot: BootId,
}

/// Identity of one boot of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BootId {
    /// Session number, higher than those of all earlier boots.
    pub session: u64,
    /// Random number of the boot. It distinguishes two nodes that run from copies of the same saved
    /// state.
    pub nonce: u64,
}

/// Response of an acceptor to a valid [`Hello`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Welcome {
    /// Wire protocol version that both sides use from now on.
    pub version: u16,
    /// Boot of the acceptor.
    pub boot: BootId,
}

/// Rejection of a connection, with the reason. Its tag and layout never change between versions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused<'a> {
    /// Newest version that the refusing side supports.
    pub newest_version: u16,
    /// Code of the reason: see the table of codes in `docs/wire.md`.
    pub code: u8,
    /// Description of the reason for the rejection.
    pub sentence: &'a str,
}

impl Refused<'_> {
    /// Returns the description with all special characters escaped, except quotation marks. The
    /// text comes from the other side and is untrusted, so it must not be logged unchanged.
    pub(super) fn sanitized_description(&self) -> String {
        let mut sanitized = String::with_capacity(self.sentence.len());
        for letter in self.sentence.chars() {
            match letter {
                '\'' | '"' => sanitized.push(letter),
                _ => sanitized.extend(letter.escape_debug()),
            }
        }
        sanitized
    }
}

/// Reason why the input of a connection is malformed. The connection must be closed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FrameError {
    /// The length prefix exceeds the limit of this side.
    #[error("a frame of {length} bytes is longer than the {limit} allowed")]
    TooLong {
        /// Announced length of the body, in bytes.
        length: usize,
        /// Maximum length of a body, in bytes.
        limit: usize,
    },
    /// The body is not a frame of this version.
    #[error("a body of {length} bytes is not a frame")]
    Malformed {
        /// Length of the body, in bytes.
        length: usize,
    },
    /// The body contains bytes after the frame.
    #[error("a frame is followed by {extra} bytes inside its own body")]
    Trailing {
        /// Number of bytes in the body after the frame.
        extra: usize,
    },
}

impl<'a> Hello<'a> {
    /// Creates a message with this content, and with the magic number and version of this build.
    pub fn new(opening: HelloContent<'a>) -> Self {
        Hello { magic: HELLO_MAGIC, version: PROTOCOL_VERSION, opening }
    }
}

impl<'a> Frame<'a> {
    /// Decodes a frame that fills `body`, and borrows from it.
    ///
    /// # Errors
    ///
    /// [`FrameError::Malformed`] and [`FrameError::Trailing`]. Nothing is allocated in any case.
    pub fn decode(body: &'a [u8]) -> Result<Self, FrameError> {
        let malformed = |_| FrameError::Malformed { length: body.len() };
        let (frame, rest) = postcard::take_from_bytes(body).map_err(malformed)?;
        if rest.is_empty() { Ok(frame) } else { Err(FrameError::Trailing { extra: rest.len() }) }
    }

    /// Appends the length prefix and the body of this frame to `output`.
    ///
    /// # Panics
    ///
    /// If the body has 4 GiB or more, which the limits on payloads prevent.
    pub fn encode(&self, output: &mut Vec<u8>) {
        let start = output.len();
        output.extend_from_slice(&[0; LENGTH_PREFIX_BYTES]);
        let written = postcard::to_extend(self, std::mem::take(output));
        *output = written.expect("a growing buffer holds any frame");
        let length = output.len() - start - LENGTH_PREFIX_BYTES;
        let length = u32::try_from(length).expect("a frame is shorter than 4 GiB");
        output[start..start + LENGTH_PREFIX_BYTES].copy_from_slice(&length.to_le_bytes());
    }
}

/// Returns the wire protocol version in `body`, if `body` begins with the tag, the magic number and
/// the version of a [`Hello`]. Otherwise returns `None`.
pub fn offered_version(body: &[u8]) -> Option<u16> {
    let rest = body.strip_prefix(&[0])?.strip_prefix(&HELLO_MAGIC)?;
    postcard::take_from_bytes(rest).ok().map(|(version, _)| version)
}

/// Decodes a length prefix.
///
/// # Errors
///
/// [`FrameError::TooLong`], if the length exceeds `limit`. Nothing is allocated before this check.
pub fn decode_body_length(
    prefix: [u8; LENGTH_PREFIX_BYTES],
    limit: usize,
) -> Result<usize, FrameError> {
    let length = u32::from_le_bytes(prefix) as usize;
    if length > limit { Err(FrameError::TooLong { length, limit }) } else { Ok(length) }
}

/// Decoder of a stream of frames, which accepts the stream in pieces.
///
/// No input makes the decoder panic. The decoder allocates at most twice the size of the input plus
/// the space of one read. A large length prefix alone causes no allocation.
#[derive(Debug)]
pub struct FrameDecoder {
    buffer: Vec<u8>,
    consumed: usize,
    limit: usize,
}

impl FrameDecoder {
    /// Creates a decoder that rejects bodies longer than `limit` bytes.
    pub fn new(limit: usize) -> Self {
        FrameDecoder { buffer: Vec::new(), consumed: 0, limit }
    }

    /// Appends received bytes.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.forget_consumed();
        self.buffer.extend_from_slice(bytes);
    }

    /// Returns the buffer to which the next read appends, with space reserved for this read.
    /// Callers may only append to the buffer.
    pub fn read_buffer(&mut self) -> &mut Vec<u8> {
        self.forget_consumed();
        self.buffer.reserve(READ_BYTES);
        &mut self.buffer
    }

    /// Removes the next complete frame from the buffer and returns it. Returns `None` if more input
    /// is needed.
    ///
    /// # Errors
    ///
    /// [`FrameError`]; the connection must be closed.
    pub fn next_frame(&mut self) -> Result<Option<Frame<'_>>, FrameError> {
        let unread = &self.buffer[self.consumed..];
        let Some((prefix, rest)) = unread.split_first_chunk() else { return Ok(None) };
        let length = decode_body_length(*prefix, self.limit)?;
        let Some(body) = rest.get(..length) else { return Ok(None) };
        self.consumed += LENGTH_PREFIX_BYTES + length;
        Frame::decode(body).map(Some)
    }

    /// Returns the number of bytes that were fed and not yet consumed.
    pub fn buffered_bytes(&self) -> usize {
        self.buffer.len() - self.consumed
    }

    /// Frees the space of consumed bytes at the start of the buffer, if they are more than half of
    /// the buffer.
    fn forget_consumed(&mut self) {
        if self.consumed == self.buffer.len() {
            self.buffer.clear();
            self.consumed = 0;
            if self.buffer.capacity() > MAX_IDLE_BUFFER_BYTES {
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
    fn sanitized_message_escapes_control_characters_only() {
        let sentence = "this node's \"name\"\u{1b}[2J\n";
        let refused = Refused { newest_version: 1, code: 1, sentence };
        assert_eq!(refused.sanitized_description(), "this node's \"name\"\\u{1b}[2J\\n");
    }

    #[test]
    fn large_length_prefix_allocates_nothing() {
        let mut decoder = FrameDecoder::new(usize::MAX);
        decoder.feed(&u32::MAX.to_le_bytes());
        assert_eq!(decoder.next_frame(), Ok(None));
        assert!(decoder.buffer.capacity() < 64, "{}", decoder.buffer.capacity());
    }

    #[test]
    fn data_overhead_is_an_upper_bound() {
        let payload = vec![7; 1 << 21];
        let mut output = Vec::new();
        Frame::Data { number: u64::MAX, received: u64::MAX, payload: &payload }.encode(&mut output);
        assert!(output.len() - LENGTH_PREFIX_BYTES <= payload.len() + MAX_DATA_OVERHEAD_BYTES);
    }

    #[test]
    fn reads_version_of_future_hello() {
        let mut body = vec![0];
        body.extend_from_slice(&HELLO_MAGIC);
        body.extend_from_slice(&[0x81, 0x02, 99, 99, 99]);
        assert_eq!(offered_version(&body), Some(257));
        assert_eq!(offered_version(b"GET / HTTP/1.1"), None);
    }
}
