//! Server for the clients of a member.

use std::io;
use std::time::Duration;

use tenure_core::Term;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;
use tokio::sync::watch::Receiver;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::application::MemberRequest;
use super::wire::{MAX_LINE_BYTES, Request, Response};

/// Pause after a failure to accept a connection.
const ACCEPT_RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// Longest delay of a rejection without a known leader, so that it can name the next leader. A
/// client that retried meanwhile would learn of it later.
const NEXT_LEADER_TIMEOUT: Duration = Duration::from_millis(100);

/// Upper bound on concurrent clients. Others wait for a free slot.
const MAX_CLIENTS: usize = 1024;

/// Serves clients until the future is dropped, which closes their connections.
pub(super) async fn serve(
    listener: TcpListener,
    requests: UnboundedSender<MemberRequest>,
    leadership: Receiver<Option<Term>>,
) {
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        if connections.len() >= MAX_CLIENTS {
            connections.join_next().await;
            continue;
        }
        match listener.accept().await {
            Ok((stream, _)) => {
                connections.spawn(serve_client(stream, requests.clone(), leadership.clone()));
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept a client");
                sleep(ACCEPT_RETRY_INTERVAL).await;
            }
        }
    }
}

/// Serves one client until it disconnects or sends an invalid line, or until the node stops.
async fn serve_client(
    stream: TcpStream,
    requests: UnboundedSender<MemberRequest>,
    mut leadership: Receiver<Option<Term>>,
) {
    let served = async {
        stream.set_nodelay(true)?;
        let (from, mut to) = stream.into_split();
        let mut from = BufReader::new(from);
        loop {
            let mut line = String::new();
            (&mut from).take(MAX_LINE_BYTES as u64).read_line(&mut line).await?;
            let Some(request) = line.strip_suffix('\n').and_then(Request::read) else {
                return io::Result::Ok(());
            };
            let known = *leadership.borrow();
            let (sender, receiver) = oneshot::channel();
            if requests.send(MemberRequest::Client(request, sender)).is_err() {
                return Ok(());
            }
            // Closing the connection tells the client that there is no response.
            let Ok(mut response) = receiver.await else { return Ok(()) };
            if response == (Response::Refused { leader: None }) {
                response = Response::Refused { leader: next_leader(&mut leadership, known).await };
            }
            to.write_all(format!("{response}\n").as_bytes()).await?;
        }
    };
    // A client that disconnects is no error.
    let _ = served.await;
}

/// Returns the number of the next leader, once it is known.
async fn next_leader(leadership: &mut Receiver<Option<Term>>, known: Option<Term>) -> Option<u32> {
    let is_next = |now: &Option<Term>| now.is_some() && *now != known;
    let next = timeout(NEXT_LEADER_TIMEOUT, leadership.wait_for(is_next)).await.ok()?.ok()?;
    next.map(|term| term.leader.number())
}
