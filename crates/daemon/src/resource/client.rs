//! The side of a node.

use std::io;
use std::net::SocketAddr;

use tenure_core::{Fence, ProcessId};
use tenure_trace::Operation;
use thiserror::Error;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::wire::{ANSWER_BYTES, Answer, Question};

/// A connection to the counter's server.
///
/// A call that is dropped before it returns leaves its answer under way; connect anew then.
#[derive(Debug)]
pub struct Client {
    stream: TcpStream,
    process: ProcessId,
}

/// Somebody with a higher fence was there before: the lock was lost without our knowing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("refused: the resource has seen the fence {highest}")]
pub struct Refused {
    /// The highest fence that the resource has seen.
    pub highest: Fence,
}

impl Client {
    /// Connects `process` to the server at `address`.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub async fn connect(address: SocketAddr, process: ProcessId) -> io::Result<Client> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Client { stream, process })
    }

    /// Reads the counter.
    ///
    /// # Errors
    ///
    /// The outer one: the connection broke, and this client is of no use any more. The inner
    /// one: [`Refused`], and the counter was not read.
    pub async fn get(&mut self, fence: Option<Fence>) -> io::Result<Result<u64, Refused>> {
        self.ask(Operation::Get, fence, 0).await
    }

    /// Writes the counter.
    ///
    /// # Errors
    ///
    /// The outer one: the connection broke; whether the value was written is unknown. The inner
    /// one: [`Refused`], and the counter was not written.
    pub async fn put(
        &mut self,
        fence: Option<Fence>,
        value: u64,
    ) -> io::Result<Result<(), Refused>> {
        Ok(self.ask(Operation::Put, fence, value).await?.map(drop))
    }

    async fn ask(
        &mut self,
        operation: Operation,
        fence: Option<Fence>,
        value: u64,
    ) -> io::Result<Result<u64, Refused>> {
        let question = Question { by: self.process, operation, fence, value };
        self.stream.write_all(&question.encode()).await?;
        let mut frame = [0; ANSWER_BYTES];
        self.stream.read_exact(&mut frame).await?;
        let Answer { accepted, value, highest } = Answer::decode(&frame);
        Ok(if accepted { Ok(value) } else { Err(Refused { highest }) })
    }
}
