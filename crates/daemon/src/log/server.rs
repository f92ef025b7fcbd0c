//! Where clients of a member ask.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::desk::Ask;
use super::wire::{LONGEST, Question};

/// How long to wait when the system has no resources for another connection.
const EXHAUSTED: Duration = Duration::from_millis(100);

/// How many clients are served at a time; others wait until one has gone.
const CLIENTS: usize = 1024;

/// Answers clients until the future is dropped, and their connections with it.
pub(super) async fn serve(listener: TcpListener, asks: UnboundedSender<Ask>) {
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        if connections.len() >= CLIENTS {
            connections.join_next().await;
            continue;
        }
        match listener.accept().await {
            Ok((stream, _)) => {
                connections.spawn(answer(stream, asks.clone()));
            }
            Err(error) => {
                tracing::warn!(%error, "a client cannot be accepted");
                sleep(EXHAUSTED).await;
            }
        }
    }
}

/// Answers one client until it goes, says what is no question, or this node cannot answer.
async fn answer(stream: TcpStream, asks: UnboundedSender<Ask>) {
    let talked = async {
        stream.set_nodelay(true)?;
        let (from, mut to) = stream.into_split();
        let mut from = BufReader::new(from);
        loop {
            let mut line = String::new();
            (&mut from).take(LONGEST as u64).read_line(&mut line).await?;
            let Some(question) = line.strip_suffix('\n').and_then(Question::read) else {
                return io::Result::Ok(());
            };
            let (user, told) = oneshot::channel();
            if asks.send(Ask::Client(question, user)).is_err() {
                return Ok(());
            }
            // Without an answer the end of the connection says that there is none.
            let Ok(answer) = told.await else { return Ok(()) };
            to.write_all(format!("{answer}\n").as_bytes()).await?;
        }
    };
    // A client that goes is nothing to speak of.
    let _ = talked.await;
}
