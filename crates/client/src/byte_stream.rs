//! Byte streams to a member, plain or encrypted.

use std::io::{IoSlice, Result};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Notify;

pub(crate) type ByteStream = Box<dyn AsyncByteStream>;

pub(crate) trait AsyncByteStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> AsyncByteStream for T {}

/// Maximum number of bytes from the start of a stream that [`ReadStats`] keeps.
const PREFIX_BYTES: usize = 16;

/// Record of the reads of a byte stream: their number, and the first bytes.
#[derive(Debug, Default)]
pub(crate) struct ReadStats {
    /// Number of finished reads, including reads that fail or find the end of the stream.
    pub(crate) reads: AtomicUsize,
    /// Bytes of the first read that is not empty, at most [`PREFIX_BYTES`]. Unset before this read.
    first: OnceLock<Vec<u8>>,
    arrived: Notify,
}

impl ReadStats {
    pub(crate) async fn wait_for_first_bytes(&self) -> &[u8] {
        loop {
            let arrived = self.arrived.notified();
            if let Some(first) = self.first.get() {
                return first;
            }
            arrived.await;
        }
    }

    fn record(&self, bytes: &[u8]) {
        self.reads.fetch_add(1, Ordering::Relaxed);
        if !bytes.is_empty() && self.first.get().is_none() {
            let _ = self.first.set(bytes[..bytes.len().min(PREFIX_BYTES)].to_vec());
            self.arrived.notify_waiters();
        }
    }
}

/// A byte stream that records its reads in a [`ReadStats`].
pub(crate) struct ReadTrackingStream {
    stream: ByteStream,
    received: Arc<ReadStats>,
}

impl ReadTrackingStream {
    pub(crate) fn new(stream: ByteStream) -> (Self, Arc<ReadStats>) {
        let received: Arc<ReadStats> = Arc::default();
        (ReadTrackingStream { stream, received: received.clone() }, received)
    }
}

impl AsyncRead for ReadTrackingStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        let before = into.filled().len();
        let read = ready!(Pin::new(&mut self.stream).poll_read(context, into));
        self.received.record(&into.filled()[before..]);
        Poll::Ready(read)
    }
}

impl AsyncWrite for ReadTrackingStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
