//! Buffers and state of one connection.

use super::cipher::{CipherError, ConnectionCipher, RECORD_LENGTH_BYTES};
use super::frame::{Frame, FrameDecoder, Refused};

/// Approximate maximum size of one write, in bytes. Larger writes would delay reads.
const MAX_WRITE_BYTES: usize = 256 << 10;

const READ_BYTES: usize = 16 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnectionPhase {
    /// The peer has not yet acknowledged the messages that it received over earlier connections.
    Resuming,
    /// Both sides may send messages.
    Open,
    /// This side has added its goodbye to the output, after all messages.
    GoodbyeSent,
}

#[derive(Debug)]
pub(crate) struct ConnectionState {
    cipher: Option<ConnectionCipher>,
    pub(crate) input: InputBuffer,
    pub(crate) output: OutputBuffer,
    pub(crate) phase: ConnectionPhase,
    /// True if the inbox is full. Received frames then wait, and the link reads nothing more from
    /// the peer.
    pub(crate) is_blocked: bool,
    /// True if the timer for the next acknowledgement is armed.
    pub(crate) is_timer_armed: bool,
    /// True if the mesh is closing, so that a goodbye must follow the last message.
    pub(crate) is_closing: bool,
}

impl ConnectionState {
    pub(crate) fn new(max_body_bytes: usize, cipher: Option<ConnectionCipher>) -> Self {
        let decoder = FrameDecoder::new(max_body_bytes);
        ConnectionState {
            input: InputBuffer { encrypted: cipher.as_ref().map(|_| Vec::new()), decoder },
            output: OutputBuffer::default(),
            cipher,
            phase: ConnectionPhase::Resuming,
            is_blocked: false,
            is_timer_armed: false,
            is_closing: false,
        }
    }

    pub(crate) fn has_resumed(&self) -> bool {
        self.phase != ConnectionPhase::Resuming
    }

    /// Decrypts all complete records that were read, and passes the bytes to the decoder. Does
    /// nothing if the connection is not encrypted.
    pub(crate) fn decrypt_input(&mut self) -> Result<(), CipherError> {
        let (Some(cipher), Some(encrypted)) = (&mut self.cipher, &mut self.input.encrypted) else {
            return Ok(());
        };
        let mut rest = encrypted.as_slice();
        while let Some((prefix, behind)) = rest.split_first_chunk::<RECORD_LENGTH_BYTES>() {
            let length = usize::from(u16::from_le_bytes(*prefix));
            let Some((record, behind)) = behind.split_at_checked(length) else { break };
            cipher.decrypt(record, self.input.decoder.read_buffer())?;
            rest = behind;
        }
        let consumed = encrypted.len() - rest.len();
        encrypted.drain(..consumed);
        Ok(())
    }

    /// Moves the pushed frames to the bytes to be written. Encrypts them if there is a cipher.
    pub(crate) fn encrypt_output(&mut self) -> Result<(), CipherError> {
        let OutputBuffer { frames, bytes, .. } = &mut self.output;
        match &mut self.cipher {
            Some(cipher) => cipher.encrypt(frames, bytes)?,
            None if bytes.is_empty() => std::mem::swap(frames, bytes),
            None => bytes.extend_from_slice(frames),
        }
        frames.clear();
        frames.shrink_to(2 * MAX_WRITE_BYTES);
        Ok(())
    }

    /// Adds a rejection to the end of the pending output, and returns all bytes to be written.
    /// Returns no bytes if the encryption fails.
    pub(crate) fn push_rejection(&mut self, refused: Refused<'_>) -> &[u8] {
        self.output.push_frame(&Frame::Refused(refused));
        if self.encrypt_output().is_ok() { self.output.unwritten() } else { &[] }
    }
}

#[derive(Debug)]
pub(crate) struct InputBuffer {
    /// Encrypted input that was not decrypted yet. `None` if the connection is not encrypted.
    encrypted: Option<Vec<u8>>,
    pub(crate) decoder: FrameDecoder,
}

impl InputBuffer {
    /// Returns the buffer for the next read. Callers may only append to it.
    pub(crate) fn read_buffer(&mut self) -> &mut Vec<u8> {
        match &mut self.encrypted {
            Some(encrypted) => {
                encrypted.reserve(READ_BYTES);
                encrypted
            }
            None => self.decoder.read_buffer(),
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct OutputBuffer {
    /// Frames that were pushed but not yet encrypted.
    frames: Vec<u8>,
    bytes: Vec<u8>,
    /// Number of bytes at the start of `bytes` that were written to the stream.
    written: usize,
}

impl OutputBuffer {
    pub(crate) fn push_frame(&mut self, frame: &Frame<'_>) {
        frame.encode(&mut self.frames);
    }

    pub(crate) fn unwritten(&self) -> &[u8] {
        &self.bytes[self.written..]
    }

    pub(crate) fn is_fully_written(&self) -> bool {
        self.written == self.bytes.len()
    }

    pub(crate) fn has_room(&self) -> bool {
        self.bytes.len() + self.frames.len() < MAX_WRITE_BYTES
    }

    pub(crate) fn mark_written(&mut self, bytes: usize) {
        self.written += bytes;
        if self.is_fully_written() {
            self.bytes.clear();
            self.written = 0;
            self.bytes.shrink_to(2 * MAX_WRITE_BYTES);
        }
    }
}
