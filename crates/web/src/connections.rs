//! Limits on connections: their number and their timeouts.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::pin::pin;
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

use crate::activity::Activity;

/// Maximum number of open connections per server. It suffices for several browsers, and leaves most
/// file descriptors of the process for other purposes.
const MAX_CONNECTIONS: usize = 32;

/// Default time limit for the head of a request to arrive. If the limit passes, the connection is
/// closed. On a connection that is kept alive, the next request has the same limit.
pub(crate) const HEAD_TIMEOUT: Duration = Duration::from_secs(5);

/// Time limit for the peer to acknowledge sent data. If the limit passes, the connection is closed.
/// The limit applies only on Linux.
#[cfg(target_os = "linux")]
const UNREAD_TIMEOUT: Duration = Duration::from_secs(30);

const MAX_BUFFER_BYTES: usize = 64 << 10;

/// Delay before the next attempt to accept a connection after a failed one. For example, an attempt
/// fails if the system lacks resources.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);

/// Time within which pending responses must complete after the server stops. The remaining
/// connections are then closed.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(500);

struct Connection {
    task: AbortHandle,
    activity: Activity,
}

/// Open connections, the oldest first.
#[derive(Default)]
struct Connections(VecDeque<Connection>);

impl Connections {
    /// Makes room for one more connection. If the server has the maximum number of connections,
    /// closes a connection that processes no permitted request. If there are several such
    /// connections, closes the one whose activity is the oldest. Returns false if every connection
    /// processes a permitted request.
    fn make_room(&mut self) -> bool {
        self.0.retain(|connection| !connection.task.is_finished());
        if self.0.len() < MAX_CONNECTIONS {
            return true;
        }
        let idle = self.0.iter().enumerate();
        let idle = idle.filter_map(|(index, it)| Some((it.activity.idle_since()?, index)));
        let oldest = idle.min().map(|(_, index)| index);
        let Some(connection) = oldest.and_then(|index| self.0.remove(index)) else { return false };
        connection.task.abort();
        true
    }
}

/// Serves connections until `stop` resolves. After that, pending responses have
/// [`SHUTDOWN_TIMEOUT`] to complete. If no room can be made for a new connection, closes the new
/// one.
pub(crate) async fn serve(
    listener: TcpListener,
    router: Router,
    head_timeout: Duration,
    stop: impl Future<Output = ()>,
) {
    let mut stop = pin!(stop);
    let (stopping, stopped) = watch::channel(false);
    let (mut tasks, mut connections) = (JoinSet::new(), Connections::default());
    loop {
        let accepted = tokio::select! {
            () = &mut stop => break,
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, _)) = accepted else {
            sleep(ACCEPT_RETRY_DELAY).await;
            continue;
        };
        while tasks.try_join_next().is_some() {}
        if connections.make_room() && configure(&stream).is_ok() {
            let activity = Activity::new();
            let mut http = http1::Builder::new();
            http.timer(TokioTimer::new())
                .header_read_timeout(head_timeout)
                .max_buf_size(MAX_BUFFER_BYTES);
            let (router, own) = (router.clone(), activity.clone());
            let serving = serve_connection(http, stream, router, own, stopped.clone());
            connections.0.push_back(Connection { task: tasks.spawn(serving), activity });
        }
    }
    drop(listener);
    stopping.send_replace(true);
    let finished = async { while tasks.join_next().await.is_some() {} };
    // Dropping the tasks closes the remaining connections.
    let _ = timeout(SHUTDOWN_TIMEOUT, finished).await;
}

async fn serve_connection(
    http: http1::Builder,
    stream: TcpStream,
    router: Router,
    activity: Activity,
    mut stopped: watch::Receiver<bool>,
) {
    let router = TowerToHyperService::new(router);
    let service = service_fn(move |mut request: Request<Incoming>| {
        activity.record_request();
        request.extensions_mut().insert(activity.clone());
        let response = router.call(request);
        async move { Ok::<_, Infallible>(response.await.unwrap_or_else(|never| match never {})) }
    });
    let mut connection = pin!(http.serve_connection(TokioIo::new(stream), service));
    // The result is ignored, because an error concerns only this connection.
    tokio::select! {
        _ = connection.as_mut() => return,
        _ = stopped.wait_for(|is_stopped| *is_stopped) => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

/// Configures a connection: small responses are sent without delay, and the time for which a peer
/// may leave data unread is limited.
fn configure(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    #[cfg(target_os = "linux")]
    socket2::SockRef::from(stream).set_tcp_user_timeout(Some(UNREAD_TIMEOUT))?;
    Ok(())
}
