//! gRPC frames that carry messages in encoded form. The code that sends and receives frames does
//! not depend on the types of the messages, so it is compiled only once.

use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf, BufMut, Bytes};
use futures_core::Stream;
use prost::Message;
use tonic::codec::{BufferSettings, Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::{Status, Streaming};

/// Returns the buffer sizes of a call. Buffers start small and grow: most messages have less than
/// 200 bytes, and each waiting call keeps two buffers. Messages that are ready at the same time are
/// collected into one write. As soon as a write has at least 32 KiB, it takes no further message.
fn buffer_settings() -> BufferSettings {
    BufferSettings::new(256, 32 << 10)
}

/// Codec that passes messages through in encoded form. The caller encodes and decodes them with
/// [`encode`] and [`decode`].
#[derive(Clone, Copy, Debug, Default)]
pub struct RawCodec;

impl Codec for RawCodec {
    type Encode = Bytes;
    type Decode = Bytes;
    type Encoder = RawCodec;
    type Decoder = RawCodec;

    fn encoder(&mut self) -> RawCodec {
        RawCodec
    }

    fn decoder(&mut self) -> RawCodec {
        RawCodec
    }
}

impl Encoder for RawCodec {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, message: Bytes, frame: &mut EncodeBuf<'_>) -> Result<(), Status> {
        frame.put(message);
        Ok(())
    }

    fn buffer_settings(&self) -> BufferSettings {
        buffer_settings()
    }
}

impl Decoder for RawCodec {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, frame: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(frame.copy_to_bytes(frame.remaining())))
    }

    fn buffer_settings(&self) -> BufferSettings {
        buffer_settings()
    }
}

/// Encodes a message.
pub fn encode(message: &impl Message) -> Bytes {
    message.encode_to_vec().into()
}

/// Decodes a message of the type `M`.
///
/// # Errors
///
/// A status with the code `Internal`, if the bytes do not encode a message of this type.
pub fn decode<M: Message + Default>(bytes: Bytes) -> Result<M, Status> {
    M::decode(bytes).map_err(|error| Status::internal(error.to_string()))
}

/// Stream of the decoded messages of a call.
#[derive(Debug)]
pub struct MessageStream<M> {
    frames: Streaming<Bytes>,
    kind: PhantomData<fn() -> M>,
}

impl<M: Message + Default> MessageStream<M> {
    /// Creates a stream that decodes the messages in `frames`.
    pub fn new(frames: Streaming<Bytes>) -> Self {
        MessageStream { frames, kind: PhantomData }
    }

    /// Returns the next message. Returns `None` at the end of the stream.
    ///
    /// # Errors
    ///
    /// The status that ended the stream, or the error of [`decode`].
    pub async fn message(&mut self) -> Result<Option<M>, Status> {
        self.frames.message().await?.map(decode).transpose()
    }
}

impl<M: Message + Default> Stream for MessageStream<M> {
    type Item = Result<M, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = Pin::new(&mut self.frames).poll_next(context);
        next.map(|next| next.map(|frame| frame.and_then(decode)))
    }
}
