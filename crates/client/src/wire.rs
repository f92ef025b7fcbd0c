//! What bytes come and go by, whether they are sealed or not.

use std::io::{IoSlice, Result};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Notify;

/// A connection, for whoever does something else meanwhile.
pub(crate) type Wire = Box<dyn Flowing>;

/// What comes and goes.
pub(crate) trait Flowing: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Flowing for T {}

/// Number of bytes that are kept of the beginning of what a peer sends.
const PREFIX: usize = 16;

/// What has been received on a connection.
#[derive(Debug, Default)]
pub(crate) struct Received {
    /// Number of reads that returned, the end of the stream included.
    pub(crate) reads: AtomicUsize,
    /// First bytes, once there are any.
    first: OnceLock<Vec<u8>>,
    arrived: Notify,
}

impl Received {
    /// Returns the first bytes that the peer sent; waits until there are any.
    pub(crate) async fn first(&self) -> &[u8] {
        loop {
            let arrived = self.arrived.notified();
            if let Some(first) = self.first.get() {
                return first;
            }
            arrived.await;
        }
    }

    fn note(&self, bytes: &[u8]) {
        self.reads.fetch_add(1, Ordering::Relaxed);
        if !bytes.is_empty() && self.first.get().is_none() {
            let _ = self.first.set(bytes[..bytes.len().min(PREFIX)].to_vec());
            self.arrived.notify_waiters();
        }
    }
}

/// A connection whose incoming bytes are counted.
pub(crate) struct Heard {
    wire: Wire,
    received: Arc<Received>,
}

impl Heard {
    /// Wraps a connection; returns it with the shared record of what it receives.
    pub(crate) fn of(wire: Wire) -> (Self, Arc<Received>) {
        let received: Arc<Received> = Arc::default();
        (Heard { wire, received: received.clone() }, received)
    }
}

impl AsyncRead for Heard {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        let before = into.filled().len();
        let read = ready!(Pin::new(&mut self.wire).poll_read(context, into));
        self.received.note(&into.filled()[before..]);
        Poll::Ready(read)
    }
}

impl AsyncWrite for Heard {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<Result<usize>> {
        Pin::new(&mut self.wire).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        Pin::new(&mut self.wire).poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.wire.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.wire).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.wire).poll_shutdown(context)
    }
}
