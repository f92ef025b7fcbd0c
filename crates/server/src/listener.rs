//! The port for clients: gRPC and plain HTTP beside each other.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use http::{Method, Request, Response, StatusCode, header};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
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

/// How many calls one connection has under way at most.
const CALLS: u32 = 20_000;

/// How many bytes of one answer wait for a client at most, beside the piece that is under way.
const AHEAD: usize = 64 << 10;

/// How long a connection may be silent before it is asked whether somebody is there, and how long
/// an answer may take.
const SILENCE: Duration = Duration::from_secs(20);

/// Listens; who is accepted is served until the returned listener is dropped.
pub(crate) async fn bind(address: SocketAddr) -> Result<TcpListener, ServeError> {
    let failed = |source| ServeError::Listen { address: address.to_string(), source };
    TcpListener::bind(address).await.map_err(failed)
}

/// What became of those who connected.
#[derive(Debug)]
pub(crate) struct Visits {
    places: Arc<Semaphore>,
    /// Whose certificate was wrong or missing, or who spoke no TLS where that is needed.
    pub(crate) refused: AtomicU64,
    /// Who said what no client says.
    pub(crate) broken: AtomicU64,
    /// When the last of them was told of in the log.
    told: Mutex<Option<Instant>>,
}

impl Visits {
    pub(crate) fn new() -> Self {
        let places = Arc::new(Semaphore::new(CONNECTIONS));
        let (refused, broken) = (AtomicU64::new(0), AtomicU64::new(0));
        Visits { places, refused, broken, told: Mutex::default() }
    }

    /// How many are connected.
    pub(crate) fn now(&self) -> usize {
        CONNECTIONS - self.places.available_permits()
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
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(who);
        let member = answers.clone();
        async move { Ok::<_, Infallible>(answer(member, request.map(Body::new)).await) }
    });
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(SILENCE).max_buf_size(AHEAD);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(SILENCE)
        .keep_alive_timeout(SILENCE)
        .max_concurrent_streams(CALLS)
        .max_send_buf_size(AHEAD)
        .initial_connection_window_size(4 << 20)
        .initial_stream_window_size(2 << 20);
    let served = builder.serve_connection(TokioIo::new(stream), service).await;
    // Whoever merely breaks a connection off knows about it.
    let why = served.err().and_then(|error| error.downcast::<hyper::Error>().ok());
    if let Some(why) = why.filter(|why| why.is_parse()) {
        member.visits.note(&member.visits.broken, who, &why);
    }
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
