//! Buffers and state of one connection.

use super::frame::{Decoder, Frame, Refused};
use super::seal::{RECORD_LENGTH_BYTES, Seal, SealError};

/// Approximate maximum size of one write, in bytes. Larger writes would delay reads.
const MAX_WRITE_BYTES: usize = 256 << 10;

const READ_BYTES: usize = 16 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The peer has not yet acknowledged the messages that it received over earlier connections.
    Resuming,
    /// Both sides may send messages.
    Open,
    /// This side has sent its goodbye, after all messages.
    GoodbyeSent,
}

#[derive(Debug)]
pub(crate) struct ConnectionState {
    seal: Option<Seal>,
    pub(crate) input: Input,
    pub(crate) output: Output,
    pub(crate) phase: Phase,
    /// True if the inbox is full. Received frames then wait, and the link reads nothing more from
    /// the peer.
    pub(crate) is_blocked: bool,
    pub(crate) is_timer_armed: bool,
    /// True if the mesh is closing, so that a goodbye must follow the last message.
    pub(crate) is_closing: bool,
}

impl ConnectionState {
    pub(crate) fn new(max_body_bytes: usize, seal: Option<Seal>) -> Self {
        let decoder = Decoder::new(max_body_bytes);
        ConnectionState {
            input: Input { sealed: seal.as_ref().map(|_| Vec::new()), decoder },
            output: Output::default(),
            seal,
            phase: Phase::Resuming,
            is_blocked: false,
            is_timer_armed: false,
            is_closing: false,
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        self.phase != Phase::Resuming
    }

    pub(crate) fn open_input(&mut self) -> Result<(), SealError> {
        let (Some(seal), Some(sealed)) = (&mut self.seal, &mut self.input.sealed) else {
            return Ok(());
        };
        let mut rest = sealed.as_slice();
        while let Some((prefix, behind)) = rest.split_first_chunk::<RECORD_LENGTH_BYTES>() {
            let length = usize::from(u16::from_le_bytes(*prefix));
            let Some((record, behind)) = behind.split_at_checked(length) else { break };
            seal.open(record, self.input.decoder.read_buffer())?;
            rest = behind;
        }
        let opened = sealed.len() - rest.len();
        sealed.drain(..opened);
        Ok(())
    }

    pub(crate) fn seal_output(&mut self) -> Result<(), SealError> {
        let Output { frames, bytes, .. } = &mut self.output;
        match &mut self.seal {
            Some(seal) => seal.seal(frames, bytes)?,
            None if bytes.is_empty() => std::mem::swap(frames, bytes),
            None => bytes.extend_from_slice(frames),
        }
        frames.clear();
        frames.shrink_to(2 * MAX_WRITE_BYTES);
        Ok(())
    }

    pub(crate) fn output_with_rejection(&mut self, refused: Refused<'_>) -> &[u8] {
        self.output.push(&Frame::Refused(refused));
        if self.seal_output().is_ok() { self.output.unwritten() } else { &[] }
    }
}

#[derive(Debug)]
pub(crate) struct Input {
    /// Encrypted input that was not decrypted yet. `None` if the connection is not encrypted.
    sealed: Option<Vec<u8>>,
    pub(crate) decoder: Decoder,
}

impl Input {
    /// Returns the buffer for the next read. Callers may only append to it.
    pub(crate) fn read_buffer(&mut self) -> &mut Vec<u8> {
        match &mut self.sealed {
            Some(sealed) => {
                sealed.reserve(READ_BYTES);
                sealed
            }
            None => self.decoder.read_buffer(),
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Output {
    /// Frames that were pushed but not yet sealed for writing.
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

    pub(crate) fn has_room(&self) -> bool {
        self.bytes.len() + self.frames.len() < MAX_WRITE_BYTES
    }

    pub(crate) fn advance(&mut self, bytes: usize) {
        self.written += bytes;
        if self.is_empty() {
            self.bytes.clear();
            self.written = 0;
            self.bytes.shrink_to(2 * MAX_WRITE_BYTES);
        }
    }
}
