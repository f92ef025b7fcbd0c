//! The two buffers of one connection and where it stands.

use super::frame::{Decoder, Frame, Refused};
use super::seal::{RECORD_LENGTH_BYTES, Seal, Unsealed};

/// Writing goes on in pieces of about this many bytes, so that reading gets its turn.
const OUTPUT_BYTES: usize = 256 << 10;

/// How much room is made for one read of sealed bytes.
const READ_BYTES: usize = 16 << 10;

/// What lives as long as one connection.
#[derive(Debug)]
pub(crate) struct Wire {
    seal: Option<Seal>,
    pub(crate) input: Input,
    pub(crate) output: Output,
    /// The peer has said what it received before: messages may flow.
    pub(crate) open: bool,
    /// The consumer has no place for more: what was read waits, and the peer with it.
    pub(crate) blocked: bool,
    /// The acknowledgement timer runs.
    pub(crate) armed: bool,
    /// The mesh closes: finish what was begun.
    pub(crate) closing: bool,
    /// Goodbye was said, behind everything else.
    pub(crate) parted: bool,
}

impl Wire {
    pub(crate) fn new(longest_body: usize, seal: Option<Seal>) -> Self {
        let decoder = Decoder::new(longest_body);
        Wire {
            input: Input { sealed: seal.as_ref().map(|_| Vec::new()), decoder },
            output: Output::default(),
            seal,
            open: false,
            blocked: false,
            armed: false,
            closing: false,
            parted: false,
        }
    }

    /// Opens what was read, record by record, as far as it is whole.
    pub(crate) fn open_input(&mut self) -> Result<(), Unsealed> {
        let (Some(seal), Some(sealed)) = (&mut self.seal, &mut self.input.sealed) else {
            return Ok(());
        };
        let mut rest = sealed.as_slice();
        while let Some((prefix, behind)) = rest.split_first_chunk::<RECORD_LENGTH_BYTES>() {
            let length = usize::from(u16::from_le_bytes(*prefix));
            let Some((record, behind)) = behind.split_at_checked(length) else { break };
            seal.open(record, self.input.decoder.space())?;
            rest = behind;
        }
        let opened = sealed.len() - rest.len();
        sealed.drain(..opened);
        Ok(())
    }

    /// Makes what is to be written ready for it, sealed in as few records as possible.
    pub(crate) fn seal_output(&mut self) -> Result<(), Unsealed> {
        let Output { frames, bytes, .. } = &mut self.output;
        match &mut self.seal {
            Some(seal) => seal.close(frames, bytes)?,
            None if bytes.is_empty() => std::mem::swap(frames, bytes),
            None => bytes.extend_from_slice(frames),
        }
        frames.clear();
        frames.shrink_to(2 * OUTPUT_BYTES);
        Ok(())
    }

    /// What is left to write, with a refusal behind it.
    pub(crate) fn last_words(&mut self, refused: Refused<'_>) -> &[u8] {
        self.output.push(&Frame::Refused(refused));
        if self.seal_output().is_ok() { self.output.unwritten() } else { &[] }
    }
}

/// Bytes on their way from the socket.
#[derive(Debug)]
pub(crate) struct Input {
    /// What was read and not yet opened; nothing on a connection without a seal.
    sealed: Option<Vec<u8>>,
    pub(crate) decoder: Decoder,
}

impl Input {
    /// Where to read to: append what arrived, and nothing else.
    pub(crate) fn space(&mut self) -> &mut Vec<u8> {
        match &mut self.sealed {
            Some(sealed) => {
                sealed.reserve(READ_BYTES);
                sealed
            }
            None => self.decoder.space(),
        }
    }
}

/// Encoded frames on their way to the socket, written with as few calls as it allows.
#[derive(Debug, Default)]
pub(crate) struct Output {
    /// What was pushed and is not yet ready to be written.
    frames: Vec<u8>,
    bytes: Vec<u8>,
    written: usize,
}

impl Output {
    pub(crate) fn push(&mut self, frame: &Frame<'_>) {
        frame.encode(&mut self.frames);
    }

    pub(crate) fn unwritten(&self) -> &[u8] {
        &self.bytes[self.written..]
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.written == self.bytes.len()
    }

    /// Whether another frame may be added before some of it is written.
    pub(crate) fn has_room(&self) -> bool {
        self.bytes.len() + self.frames.len() < OUTPUT_BYTES
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
