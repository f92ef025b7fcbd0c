//! A stream during its handshake. It carries one frame at a time, encrypted or not.

use std::io;

use thiserror::Error;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

use super::cipher::{CipherError, ConnectionCipher, RECORD_LENGTH_BYTES};
use super::frame::{
    Frame, FrameError, LENGTH_PREFIX_BYTES, PROTOCOL_VERSION, Refused, decode_body_length,
};
use super::rejection_reason::RejectionReason;

/// Maximum body size during a handshake, in bytes. Together with the maximum size of a record (64
/// KiB), it bounds the memory that an unauthenticated client can use.
const MAX_HANDSHAKE_BODY_BYTES: usize = 1024;

#[derive(Debug)]
pub(crate) struct FramedStream<S> {
    pub(crate) stream: S,
    pub(crate) cipher: Option<ConnectionCipher>,
}

#[derive(Debug, Error)]
pub(crate) enum FramedStreamError {
    #[error("{0}")]
    Stream(#[from] io::Error),
    #[error("{0}")]
    Frame(#[from] FrameError),
    #[error("{0}")]
    Cipher(#[from] CipherError),
}

impl<S> FramedStream<S> {
    pub(crate) fn new(stream: S) -> Self {
        FramedStream { stream, cipher: None }
    }

    fn encoded(&mut self, frame: &Frame<'_>) -> Result<Vec<u8>, CipherError> {
        let mut bytes = Vec::new();
        frame.encode(&mut bytes);
        let Some(cipher) = &mut self.cipher else { return Ok(bytes) };
        let mut records = Vec::new();
        cipher.encrypt(&bytes, &mut records)?;
        Ok(records)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> FramedStream<S> {
    pub(crate) async fn send(&mut self, frame: &Frame<'_>) -> Result<(), FramedStreamError> {
        let bytes = self.encoded(frame)?;
        Ok(self.stream.write_all(&bytes).await?)
    }

    /// Receives the next frame and returns its body. Reads no byte beyond this frame.
    pub(crate) async fn receive_body(&mut self) -> Result<Vec<u8>, FramedStreamError> {
        let Some(cipher) = &mut self.cipher else {
            let mut prefix = [0; LENGTH_PREFIX_BYTES];
            self.stream.read_exact(&mut prefix).await?;
            let mut body = vec![0; decode_body_length(prefix, MAX_HANDSHAKE_BODY_BYTES)?];
            self.stream.read_exact(&mut body).await?;
            return Ok(body);
        };
        let mut prefix = [0; RECORD_LENGTH_BYTES];
        self.stream.read_exact(&mut prefix).await?;
        let mut record = vec![0; usize::from(u16::from_le_bytes(prefix))];
        self.stream.read_exact(&mut record).await?;
        let mut frame = Vec::new();
        cipher.decrypt(&record, &mut frame)?;
        let Some((prefix, body)) = frame.split_first_chunk() else {
            return Err(FrameError::Malformed { length: frame.len() }.into());
        };
        // During a handshake each record contains exactly one frame.
        if decode_body_length(*prefix, MAX_HANDSHAKE_BODY_BYTES)? != body.len() {
            return Err(FrameError::Malformed { length: body.len() }.into());
        }
        Ok(body.to_vec())
    }

    /// Sends a rejection with this reason and shuts the stream down. Ignores errors, because the
    /// connection ends anyway.
    pub(crate) async fn reject_and_shut_down(&mut self, reason: RejectionReason) {
        let _ = self.send(&Frame::Refused(rejection_for_reason(reason))).await;
        let _ = self.stream.shutdown().await;
    }
}

impl FramedStream<TcpStream> {
    /// Sends a rejection without waiting, on a connection whose handshake is complete. The
    /// rejection may be lost.
    pub(crate) fn try_reject(mut self, reason: RejectionReason) {
        if let Ok(bytes) = self.encoded(&Frame::Refused(rejection_for_reason(reason))) {
            let _ = self.stream.try_write(&bytes);
        }
    }
}

pub(crate) fn rejection_for_reason(reason: RejectionReason) -> Refused<'static> {
    Refused { newest_version: PROTOCOL_VERSION, code: reason.code(), sentence: reason.message() }
}
