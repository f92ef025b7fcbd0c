//! What bytes come and go by, whether they are sealed or not.

use std::io::{IoSlice, Read, Result, Write};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A connection, for whoever does something else meanwhile.
pub(crate) type Wire = Box<dyn Flowing>;

/// What comes and goes.
pub(crate) trait Flowing: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Flowing for T {}

/// A connection, for whoever waits.
pub type BlockingWire = Box<dyn ReadWrite>;

/// What can be read and written.
pub trait ReadWrite: Read + Write + Send {}

impl<T: Read + Write + Send> ReadWrite for T {}

/// A connection of which others see whether anything comes.
pub(crate) struct Heard {
    wire: Wire,
    /// How often something has come.
    times: Arc<AtomicUsize>,
}

impl Heard {
    /// The connection, and how often something has come.
    pub(crate) fn of(wire: Wire) -> (Self, Arc<AtomicUsize>) {
        let times: Arc<AtomicUsize> = Arc::default();
        (Heard { wire, times: times.clone() }, times)
    }
}

impl AsyncRead for Heard {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        let read = ready!(Pin::new(&mut self.wire).poll_read(context, into));
        self.times.fetch_add(1, Ordering::Relaxed);
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
