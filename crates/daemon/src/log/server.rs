//! Where clients of a member ask.

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

use super::desk::Ask;
use super::wire::{Answer, LONGEST, Question};

/// How long to wait when the system has no resources for another connection.
const EXHAUSTED: Duration = Duration::from_millis(100);

/// How long a client that is refused waits at most to be told who leads next. It would be asking
/// about meanwhile, and learn it later.
const SOON: Duration = Duration::from_millis(100);

/// How many clients are served at a time; others wait until one has gone.
const CLIENTS: usize = 1024;

/// Answers clients until the future is dropped, and their connections with it.
pub(super) async fn serve(
    listener: TcpListener,
    asks: UnboundedSender<Ask>,
    leadership: Receiver<Option<Term>>,
) {
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        if connections.len() >= CLIENTS {
            connections.join_next().await;
            continue;
        }
        match listener.accept().await {
            Ok((stream, _)) => {
                connections.spawn(answer(stream, asks.clone(), leadership.clone()));
            }
            Err(error) => {
                tracing::warn!(%error, "a client cannot be accepted");
                sleep(EXHAUSTED).await;
            }
        }
    }
}

/// Answers one client until it goes, says what is no question, or this node cannot answer.
async fn answer(
    stream: TcpStream,
    asks: UnboundedSender<Ask>,
    mut leadership: Receiver<Option<Term>>,
) {
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
            let known = *leadership.borrow();
            let (user, told) = oneshot::channel();
            if asks.send(Ask::Client(question, user)).is_err() {
                return Ok(());
            }
            // Without an answer the end of the connection says that there is none.
            let Ok(mut answer) = told.await else { return Ok(()) };
            if answer == (Answer::Refused { leader: None }) {
                answer = Answer::Refused { leader: next(&mut leadership, known).await };
            }
            to.write_all(format!("{answer}\n").as_bytes()).await?;
        }
    };
    // A client that goes is nothing to speak of.
    let _ = talked.await;
}

/// The number of whoever leads in another term than was known, as soon as anybody does.
async fn next(leadership: &mut Receiver<Option<Term>>, known: Option<Term>) -> Option<u32> {
    let is_next = |now: &Option<Term>| now.is_some() && *now != known;
    let next = timeout(SOON, leadership.wait_for(is_next)).await.ok()?.ok()?;
    next.map(|term| term.leader.number())
}
