//! Client of the counter that a lock protects.

use std::io;
use std::net::SocketAddr;

use tenure_core::{Fence, ProcessId};
use tenure_trace::ResourceOperation;
use thiserror::Error;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::wire::{CounterRequest, CounterResponse, RESPONSE_BYTES};

/// Connection to the server of the counter.
///
/// The methods are not cancel-safe. If a call is dropped before it completes, the next call reads
/// the response to the dropped call. Create a new connection in that case.
#[derive(Debug)]
pub struct CounterClient {
    stream: TcpStream,
    process: ProcessId,
}

/// Error: the counter has seen a higher fencing token than the token of the access. The caller has
/// therefore lost the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("rejected: the resource has seen fencing token {highest}")]
pub struct FenceRejected {
    /// Highest fencing token that the counter has seen.
    pub highest: Fence,
}

impl CounterClient {
    /// Connects `process` to the server at `address`.
    ///
    /// # Errors
    ///
    /// The error of the operating system.
    pub async fn connect(address: SocketAddr, process: ProcessId) -> io::Result<CounterClient> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(CounterClient { stream, process })
    }

    /// Reads the counter. `fence` is the fencing token of the entry, or `None` for an access
    /// without a lock.
    ///
    /// # Errors
    ///
    /// The outer error means that the connection failed. The inner [`FenceRejected`] means that the
    /// counter was not read.
    pub async fn get(&mut self, fence: Option<Fence>) -> io::Result<Result<u64, FenceRejected>> {
        self.send(ResourceOperation::Get, fence, 0).await
    }

    /// Writes the counter. `fence` is as for [`CounterClient::get`].
    ///
    /// # Errors
    ///
    /// The outer error means that the connection failed, and that the value may have been written.
    /// The inner [`FenceRejected`] means that the counter was not written.
    pub async fn put(
        &mut self,
        fence: Option<Fence>,
        value: u64,
    ) -> io::Result<Result<(), FenceRejected>> {
        Ok(self.send(ResourceOperation::Put, fence, value).await?.map(drop))
    }

    async fn send(
        &mut self,
        operation: ResourceOperation,
        fence: Option<Fence>,
        value: u64,
    ) -> io::Result<Result<u64, FenceRejected>> {
        let request = CounterRequest { by: self.process, operation, fence, value };
        self.stream.write_all(&request.encode()).await?;
        let mut frame = [0; RESPONSE_BYTES];
        self.stream.read_exact(&mut frame).await?;
        let CounterResponse { accepted, value, highest } = CounterResponse::decode(&frame);
        Ok(if accepted { Ok(value) } else { Err(FenceRejected { highest }) })
    }
}
