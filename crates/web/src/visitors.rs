//! Connections: how many there are at a time, and how long each may take.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{sleep, timeout};

/// How many connections there are at a time: enough for some browsers, and few beside the
/// descriptors that a process has, which are not there for pages.
const MOST: usize = 32;

/// How long the head of a request may take, and how long a connection may wait for the next one.
const HEAD: Duration = Duration::from_secs(5);

/// How long an answer may find nobody who reads it, where the system can tell.
#[cfg(target_os = "linux")]
const UNREAD: Duration = Duration::from_secs(30);

/// How much of an answer, or of a head, is held for a connection, in bytes.
const HELD: usize = 64 << 10;

/// How long to wait when the system has no resources for another connection.
const EXHAUSTED: Duration = Duration::from_millis(100);

/// How long answers that are still on their way may take when the server is to stop.
const PATIENCE: Duration = Duration::from_millis(500);

/// Somebody who is connected.
struct Visitor {
    task: AbortHandle,
    /// Whether the head of a request ever came whole.
    has_asked: Arc<AtomicBool>,
}

/// Everybody who is connected, oldest first.
#[derive(Default)]
struct Visitors(VecDeque<Visitor>);

impl Visitors {
    /// Whether there is a place for one more. Where there is none, the oldest who has not asked
    /// anything yet makes one: a browser asks at once.
    fn make_place(&mut self) -> bool {
        self.0.retain(|visitor| !visitor.task.is_finished());
        if self.0.len() < MOST {
            return true;
        }
        let silent = self.0.iter().position(|it| !it.has_asked.load(Ordering::Acquire));
        let Some(visitor) = silent.and_then(|place| self.0.remove(place)) else { return false };
        visitor.task.abort();
        true
    }
}

/// Serves whoever comes until `stop` is done; answers that are on their way then have half a
/// second.
pub(crate) async fn serve(listener: TcpListener, router: Router, stop: impl Future<Output = ()>) {
    let mut stop = pin!(stop);
    let (stopping, stopped) = watch::channel(false);
    let (mut tasks, mut visitors) = (JoinSet::new(), Visitors::default());
    loop {
        let accepted = tokio::select! {
            () = &mut stop => break,
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, _)) = accepted else {
            sleep(EXHAUSTED).await;
            continue;
        };
        while tasks.try_join_next().is_some() {}
        if visitors.make_place() && tune(&stream).is_ok() {
            let has_asked = Arc::new(AtomicBool::new(false));
            let visit = visit(stream, router.clone(), has_asked.clone(), stopped.clone());
            visitors.0.push_back(Visitor { task: tasks.spawn(visit), has_asked });
        }
    }
    drop(listener);
    stopping.send_replace(true);
    let finished = async { while tasks.join_next().await.is_some() {} };
    // Whoever has not finished by then is cut off with the tasks.
    let _ = timeout(PATIENCE, finished).await;
}

/// Answers one connection until it ends, or the server stops.
async fn visit(
    stream: TcpStream,
    router: Router,
    has_asked: Arc<AtomicBool>,
    mut stopped: watch::Receiver<bool>,
) {
    let router = TowerToHyperService::new(router);
    let service = service_fn(move |request: Request<Incoming>| {
        has_asked.store(true, Ordering::Release);
        let answer = router.call(request);
        async move { Ok::<_, Infallible>(answer.await.unwrap_or_else(|never| match never {})) }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD).max_buf_size(HELD);
    let mut connection = pin!(http.serve_connection(TokioIo::new(stream), service));
    // However it ends: nobody is there any more who could be told.
    tokio::select! {
        _ = connection.as_mut() => return,
        _ = stopped.wait_for(|is_stopped| *is_stopped) => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

/// Small answers leave at once, and nobody holds a connection by reading nothing.
fn tune(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    #[cfg(target_os = "linux")]
    socket2::SockRef::from(stream).set_tcp_user_timeout(Some(UNREAD))?;
    Ok(())
}
