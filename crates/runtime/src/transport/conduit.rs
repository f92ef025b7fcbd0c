//! A connection during its handshake: one whole frame after the other, sealed or not.

use std::io;

use thiserror::Error;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

use super::frame::{Frame, FrameError, LENGTH_BYTES, Refused, VERSION, body_length};
use super::refusal::Refusal;
use super::seal::{RECORD_LENGTH_BYTES, Seal, Unsealed};

/// The longest body during a handshake: a stranger may not make us hold more, in bytes.
const LONGEST_BODY: usize = 1024;

/// A stream, and what seals it once keys were exchanged.
#[derive(Debug)]
pub(crate) struct Conduit<S> {
    pub(crate) stream: S,
    pub(crate) seal: Option<Seal>,
}

/// What was to be said or heard did not get through.
#[derive(Debug, Error)]
pub(crate) enum Broken {
    #[error("{0}")]
    Stream(#[from] io::Error),
    #[error("{0}")]
    Frame(#[from] FrameError),
    #[error("{0}")]
    Unsealed(#[from] Unsealed),
}

impl<S> Conduit<S> {
    pub(crate) fn new(stream: S) -> Self {
        Conduit { stream, seal: None }
    }

    /// A frame as it travels.
    fn encoded(&mut self, frame: &Frame<'_>) -> Result<Vec<u8>, Unsealed> {
        let mut bytes = Vec::new();
        frame.encode(&mut bytes);
        let Some(seal) = &mut self.seal else { return Ok(bytes) };
        let mut records = Vec::new();
        seal.close(&bytes, &mut records)?;
        Ok(records)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Conduit<S> {
    pub(crate) async fn say(&mut self, frame: &Frame<'_>) -> Result<(), Broken> {
        let bytes = self.encoded(frame)?;
        Ok(self.stream.write_all(&bytes).await?)
    }

    /// The body of the next frame, and not a byte of what follows the handshake.
    pub(crate) async fn hear(&mut self) -> Result<Vec<u8>, Broken> {
        let Some(seal) = &mut self.seal else {
            let mut prefix = [0; LENGTH_BYTES];
            self.stream.read_exact(&mut prefix).await?;
            let mut body = vec![0; body_length(prefix, LONGEST_BODY)?];
            self.stream.read_exact(&mut body).await?;
            return Ok(body);
        };
        let mut prefix = [0; RECORD_LENGTH_BYTES];
        self.stream.read_exact(&mut prefix).await?;
        let mut record = vec![0; usize::from(u16::from_le_bytes(prefix))];
        self.stream.read_exact(&mut record).await?;
        let mut frame = Vec::new();
        seal.open(&record, &mut frame)?;
        let Some((prefix, body)) = frame.split_first_chunk() else {
            return Err(FrameError::Malformed { length: frame.len() }.into());
        };
        // A record of the handshake is one frame.
        if body_length(*prefix, LONGEST_BODY)? != body.len() {
            return Err(FrameError::Malformed { length: body.len() }.into());
        }
        Ok(body.to_vec())
    }

    /// Tells the other side why, as far as it still listens. The connection is lost to us in any
    /// case: that it could not be told changes nothing.
    pub(crate) async fn refuse(&mut self, refusal: Refusal) {
        let _ = self.say(&Frame::Refused(told(refusal))).await;
        let _ = self.stream.shutdown().await;
    }
}

impl Conduit<TcpStream> {
    /// The same for a connection whose handshake has ended, without waiting.
    pub(crate) fn dismiss(mut self, refusal: Refusal) {
        if let Ok(bytes) = self.encoded(&Frame::Refused(told(refusal))) {
            let _ = self.stream.try_write(&bytes);
        }
    }
}

/// What the refused side is told.
pub(crate) fn told(refusal: Refusal) -> Refused<'static> {
    Refused { newest_version: VERSION, code: refusal.code(), sentence: refusal.sentence() }
}
