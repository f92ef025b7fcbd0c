//! Messages in the frames of gRPC as bytes: what sends and receives frames is the same for messages
//! of all kinds, so it is compiled once and not for each.

use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf, BufMut, Bytes};
use futures_core::Stream;
use prost::Message;
use tonic::codec::{BufferSettings, Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::{Status, Streaming};

/// Most messages have less than 200 bytes, and a call that waits has two buffers of this all the
/// while; they grow. Frames that are there at once go out together up to 32 KiB.
fn small() -> BufferSettings {
    BufferSettings::new(256, 32 << 10)
}

/// What a frame has in it is not looked at.
#[derive(Clone, Copy, Debug, Default)]
pub struct Frames;

impl Codec for Frames {
    type Encode = Bytes;
    type Decode = Bytes;
    type Encoder = Frames;
    type Decoder = Frames;

    fn encoder(&mut self) -> Frames {
        Frames
    }

    fn decoder(&mut self) -> Frames {
        Frames
    }
}

impl Encoder for Frames {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, message: Bytes, frame: &mut EncodeBuf<'_>) -> Result<(), Status> {
        frame.put(message);
        Ok(())
    }

    fn buffer_settings(&self) -> BufferSettings {
        small()
    }
}

impl Decoder for Frames {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, frame: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(frame.copy_to_bytes(frame.remaining())))
    }

    fn buffer_settings(&self) -> BufferSettings {
        small()
    }
}

/// A message as bytes.
pub fn written(message: &impl Message) -> Bytes {
    message.encode_to_vec().into()
}

/// The message that these bytes are.
///
/// # Errors
///
/// A status of `Internal`, with what is wrong.
pub fn read<M: Message + Default>(bytes: Bytes) -> Result<M, Status> {
    M::decode(bytes).map_err(|error| Status::internal(error.to_string()))
}

/// Messages of one kind, as they come.
#[derive(Debug)]
pub struct Messages<M> {
    frames: Streaming<Bytes>,
    kind: PhantomData<fn() -> M>,
}

impl<M: Message + Default> Messages<M> {
    /// Those in these frames.
    pub fn new(frames: Streaming<Bytes>) -> Self {
        Messages { frames, kind: PhantomData }
    }

    /// The next; nothing where no more will come.
    ///
    /// # Errors
    ///
    /// What broke them off, or what [`read`] says.
    pub async fn message(&mut self) -> Result<Option<M>, Status> {
        self.frames.message().await?.map(read).transpose()
    }
}

impl<M: Message + Default> Stream for Messages<M> {
    type Item = Result<M, Status>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = Pin::new(&mut self.frames).poll_next(context);
        next.map(|next| next.map(|frame| frame.and_then(read)))
    }
}
