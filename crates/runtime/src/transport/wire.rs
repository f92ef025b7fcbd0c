//! The two buffers of one connection and where it stands.

use super::frame::{Decoder, Frame};

/// Writing goes on in pieces of about this many bytes, so that reading gets its turn.
const OUTPUT_BYTES: usize = 256 << 10;

/// What lives as long as one connection.
#[derive(Debug)]
pub(crate) struct Wire {
    pub(crate) decoder: Decoder,
    pub(crate) output: Output,
    /// The peer has said what it received before: messages may flow.
    pub(crate) open: bool,
    /// The consumer has no place for more: what was read waits, and the peer with it.
    pub(crate) blocked: bool,
    /// The acknowledgement timer runs.
    pub(crate) armed: bool,
    /// The mesh closes: finish what was begun.
    pub(crate) closing: bool,
}

impl Wire {
    pub(crate) fn new(longest_body: usize) -> Self {
        Wire {
            decoder: Decoder::new(longest_body),
            output: Output::default(),
            open: false,
            blocked: false,
            armed: false,
            closing: false,
        }
    }
}

/// Encoded frames on their way to the socket, written with as few calls as it allows.
#[derive(Debug, Default)]
pub(crate) struct Output {
    bytes: Vec<u8>,
    written: usize,
}

impl Output {
    pub(crate) fn push(&mut self, frame: &Frame<'_>) {
        frame.encode(&mut self.bytes);
    }

    pub(crate) fn unwritten(&self) -> &[u8] {
        &self.bytes[self.written..]
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.written == self.bytes.len()
    }

    /// Whether another frame may be added before some of it is written.
    pub(crate) fn has_room(&self) -> bool {
        self.bytes.len() < OUTPUT_BYTES
    }

    pub(crate) fn advance(&mut self, bytes: usize) {
        self.written += bytes;
        if self.is_empty() {
            self.bytes.clear();
            self.written = 0;
            self.bytes.shrink_to(2 * OUTPUT_BYTES);
        }
    }
}
