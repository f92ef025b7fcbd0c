//! The port for clients: gRPC and plain HTTP beside each other.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use http::{Method, Request, Response, StatusCode, header};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use rustix::process::{Resource, getrlimit};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tonic::body::Body;
use tracing::warn;

use crate::member::{Member, ServeError};
use crate::tls::Tls;
use crate::{gateway, metrics, router};

/// How many connections there are at most.
const CONNECTIONS: usize = 20_000;

/// How many descriptors clients leave for the other members and for files, or half of all where
/// that is less.
const KEPT: usize = 256;

/// How many calls one connection has under way at most.
const CALLS: u32 = 20_000;

/// How many bytes of one answer wait for a client at most, beside the piece that is under way.
const AHEAD: usize = 64 << 10;

/// How long a connection may be silent before it is asked whether somebody is there, and how long
/// an answer may take.
pub(crate) const SILENCE: Duration = Duration::from_secs(20);

/// Listens; who is accepted is served until the returned listener is dropped.
pub(crate) async fn bind(address: SocketAddr) -> Result<TcpListener, ServeError> {
    let failed = |source| ServeError::Listen { address: address.to_string(), source };
    TcpListener::bind(address).await.map_err(failed)
}

/// What became of those who connected.
#[derive(Debug)]
pub(crate) struct Visits {
    places: Arc<Semaphore>,
    /// How many places there are in all.
    most: usize,
    /// Whose certificate was wrong or missing, or who spoke no TLS where that is needed.
    pub(crate) refused: AtomicU64,
    /// Who said what no client says.
    pub(crate) broken: AtomicU64,
    /// When the last of them was told of in the log.
    told: Mutex<Option<Instant>>,
}

impl Visits {
    pub(crate) fn new() -> Self {
        let descriptors = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        let most = most_connections(usize::try_from(descriptors).unwrap_or(usize::MAX));
        let places = Arc::new(Semaphore::new(most));
        let (refused, broken) = (AtomicU64::new(0), AtomicU64::new(0));
        Visits { places, most, refused, broken, told: Mutex::default() }
    }

    /// How many are connected.
    pub(crate) fn now(&self) -> usize {
        self.most - self.places.available_permits()
    }

    /// Somebody was refused: the log says so, once in a second.
    fn note(&self, count: &AtomicU64, who: SocketAddr, why: &dyn std::fmt::Display) {
        let number = count.fetch_add(1, Ordering::Relaxed) + 1;
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.is_none_or(|told| told.elapsed() >= Duration::from_secs(1)) {
            *told = Some(Instant::now());
            warn!("{who} was refused, number {number} of its sort: {why}");
        }
    }
}

/// How many connections there may be where a process has so many descriptors.
fn most_connections(descriptors: usize) -> usize {
    descriptors.saturating_sub(KEPT).max(descriptors / 2).min(CONNECTIONS)
}

/// Serves whoever connects, for ever; over TLS, where certificates are given.
pub(crate) async fn serve(
    listener: TcpListener,
    tls: Option<Arc<Tls>>,
    member: Arc<Member>,
) -> Infallible {
    loop {
        let places = member.visits.places.clone();
        let place = places.acquire_owned().await.expect("nobody closes it");
        let Ok((stream, who)) = listener.accept().await else {
            // No descriptor is left, as likely as not: some of them are given back.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let _ = stream.set_nodelay(true);
        let (member, tls) = (member.clone(), tls.clone());
        tokio::spawn(async move {
            let _place = place;
            let Some(tls) = tls else { return converse(stream, who, member).await };
            match timeout(SILENCE, tls.accept(stream)).await {
                Ok(Ok(stream)) => converse(stream, who, member).await,
                Ok(Err(why)) => member.visits.note(&member.visits.refused, who, &why),
                Err(_) => member.visits.note(&member.visits.refused, who, &"it says nothing"),
            }
        });
    }
}

/// Serves one who has connected, until it goes away.
async fn converse<S>(stream: S, who: SocketAddr, member: Arc<Member>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let answers = member.clone();
    let answer = move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(who);
        answer(answers.clone(), request.map(Body::new))
    };
    // Whoever merely breaks a connection off knows about it.
    if let Some(why) = attend(stream, answer, SILENCE).await.filter(hyper::Error::is_parse) {
        member.visits.note(&member.visits.broken, who, &why);
    }
}

/// Answers what is asked on a connection until it ends, and says what was wrong with it. One on
/// which nothing is asked is ended, however little of a first request has come: a place is not for
/// ever theirs who say nothing.
async fn attend<S, F>(
    stream: S,
    answer: impl Fn(Request<Incoming>) -> F,
    silence: Duration,
) -> Option<hyper::Error>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    F: Future<Output = Response<Body>> + Send + 'static,
{
    let is_asked = AtomicBool::new(false);
    let service = service_fn(|request: Request<Incoming>| {
        is_asked.store(true, Ordering::Relaxed);
        let answer = answer(request);
        async { Ok::<_, Infallible>(answer.await) }
    });
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(silence).max_buf_size(AHEAD);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(silence)
        .keep_alive_timeout(silence)
        .max_concurrent_streams(CALLS)
        .max_send_buf_size(AHEAD)
        .initial_connection_window_size(4 << 20)
        .initial_stream_window_size(2 << 20);
    let mut served = pin!(builder.serve_connection(TokioIo::new(stream), service));
    let ended = match timeout(silence, served.as_mut()).await {
        Ok(ended) => ended,
        Err(_) if is_asked.load(Ordering::Relaxed) => served.await,
        Err(_) => {
            served.as_mut().graceful_shutdown();
            timeout(silence, served).await.unwrap_or(Ok(()))
        }
    };
    ended.err()?.downcast::<hyper::Error>().ok().map(|why| *why)
}

async fn answer(member: Arc<Member>, request: Request<Body>) -> Response<Body> {
    let kind = request.headers().get(header::CONTENT_TYPE);
    if kind.is_some_and(|it| it.as_bytes().starts_with(b"application/grpc")) {
        return router::call(member, request).await;
    }
    match (request.method(), request.uri().path()) {
        (&Method::GET, "/health") => {
            let status = match member.standing().leader {
                Some(_) => StatusCode::OK,
                None => StatusCode::SERVICE_UNAVAILABLE,
            };
            json(status, metrics::health(&member))
        }
        (&Method::GET, "/version") => json(StatusCode::OK, metrics::version()),
        (&Method::GET, "/metrics") => {
            let text = metrics::metrics(&member);
            respond(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", text)
        }
        (&Method::POST, path) if gateway::method(path).is_some() => {
            gateway::answer(member, request).await
        }
        _ => respond(
            StatusCode::NOT_FOUND,
            "text/plain; charset=utf-8",
            "404 page not found\n".into(),
        ),
    }
}

pub(crate) fn json(status: StatusCode, text: String) -> Response<Body> {
    respond(status, "application/json", text)
}

fn respond(status: StatusCode, kind: &'static str, text: String) -> Response<Body> {
    let mut response = Response::new(Body::new(http_body_util::Full::from(text)));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, http::HeaderValue::from_static(kind));
    response
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    async fn fine(_: Request<Incoming>) -> Response<Body> {
        respond(StatusCode::OK, "text/plain", "fine".into())
    }

    const SHORT: Duration = Duration::from_millis(50);

    #[tokio::test]
    async fn who_connects_and_asks_nothing_has_to_go() {
        let preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
        for begun in ["", &preface[..1], &preface[..20], preface, "GET / HT"] {
            let (mut client, server) = tokio::io::duplex(1 << 16);
            client.write_all(begun.as_bytes()).await.expect("room");
            // It stays connected until it is served no more.
            attend(server, fine, SHORT).await;
            client.read_to_end(&mut Vec::new()).await.expect("an end");
        }
    }

    #[tokio::test]
    async fn who_has_asked_may_be_silent_while_it_is_answered() {
        let (mut client, server) = tokio::io::duplex(1 << 16);
        client.write_all(b"GET / HTTP/1.0\r\n\r\n").await.expect("room");
        let late = |request| async {
            tokio::time::sleep(5 * SHORT).await;
            fine(request).await
        };
        attend(server, late, SHORT).await;
        let mut told = [0; 15];
        client.read_exact(&mut told).await.expect("an answer");
        assert_eq!(&told, b"HTTP/1.0 200 OK");
    }

    #[test]
    fn clients_leave_descriptors_for_the_other_members() {
        let left = [64, 256, 1024, 1 << 20].map(|all| all - most_connections(all));
        assert_eq!(left, [32, 128, KEPT, (1 << 20) - CONNECTIONS]);
    }
}
