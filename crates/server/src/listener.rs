//! The port for clients: gRPC and plain HTTP beside each other.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::{Method, Request, Response, StatusCode, header};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::time::timeout;
use tonic::body::Body;

use crate::member::{Member, ServeError};
use crate::tls::Tls;
use crate::{cors, gateway, metrics, probes, router};

/// How many calls one connection has under way at most.
const CALLS: u32 = 20_000;

/// How many bytes of one answer wait for a client at most, beside the piece that is under way.
const AHEAD: usize = 64 << 10;

/// How many bytes of one request wait to be read at most, and half of those of a connection.
const UNREAD: u32 = 128 << 10;

/// How long one who has to leave may take for what is under way.
pub(crate) const PARTING: Duration = Duration::from_secs(1);

/// How long a connection may be silent before it is asked whether somebody is there, and how long
/// an answer may take.
pub(crate) const SILENCE: Duration = Duration::from_secs(20);

/// What is served at a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Everything.
    All,
    /// Metrics, health and the version only.
    Metrics,
}

/// Listens; who is accepted is served until the returned listener is dropped.
pub(crate) async fn bind(address: SocketAddr) -> Result<TcpListener, ServeError> {
    let failed = |source| ServeError::Listen { address: address.to_string(), source };
    TcpListener::bind(address).await.map_err(failed)
}

/// Serves whoever connects, for ever; over TLS, where certificates are given.
pub(crate) async fn serve(
    listener: TcpListener,
    tls: Option<Arc<Tls>>,
    member: Arc<Member>,
    scope: Scope,
) -> Infallible {
    loop {
        let Ok((stream, who)) = listener.accept().await else {
            // No descriptor is left, as likely as not: some of them are given back.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let place = member.visits.place().await;
        let _ = stream.set_nodelay(true);
        let (member, tls) = (member.clone(), tls.clone());
        tokio::spawn(async move {
            let _place = place;
            let Some(tls) = tls else { return converse(stream, who, member, scope).await };
            match timeout(SILENCE, tls.accept(stream)).await {
                Ok(Ok(stream)) => converse(stream, who, member, scope).await,
                Ok(Err(why)) => member.visits.note(&member.visits.refused, who, &why),
                Err(_) => member.visits.note(&member.visits.refused, who, &"it says nothing"),
            }
        });
    }
}

/// Serves one who has connected, until it goes away.
async fn converse<S>(stream: S, who: SocketAddr, member: Arc<Member>, scope: Scope)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (answers, visit) = (member.clone(), member.visits.arrived());
    let leaves = visit.leaves();
    let answer = |mut request: Request<Incoming>| {
        request.extensions_mut().insert(who);
        let (answers, call) = (answers.clone(), visit.asks());
        async move {
            let answer = match scope {
                Scope::Metrics if !is_of_metrics(&request) => not_found(),
                _ => answer(answers, request).await,
            };
            answer.map(|body| call.answered_by(body))
        }
    };
    // Whoever merely breaks a connection off knows about it.
    let ended = attend(stream, answer, SILENCE, leaves).await;
    if let Some(why) = ended.filter(hyper::Error::is_parse) {
        member.visits.note(&member.visits.broken, who, &why);
    }
}

/// Answers what is asked on a connection until it ends, and says what was wrong with it. One on
/// which nothing is asked is ended, however little of a first request has come: a place is not for
/// ever theirs who say nothing. So is one that has to leave.
async fn attend<S, F>(
    stream: S,
    answer: impl Fn(Request<Incoming>) -> F,
    silence: Duration,
    leaves: impl Future<Output = ()>,
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
        .initial_connection_window_size(2 * UNREAD)
        .initial_stream_window_size(UNREAD);
    let mut served = pin!(builder.serve_connection(TokioIo::new(stream), service));
    let is_silent = async {
        tokio::time::sleep(silence).await;
        if is_asked.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
    };
    let parting = tokio::select! {
        ended = served.as_mut() => Err(ended),
        () = is_silent => Ok(silence),
        () = leaves => Ok(silence.min(PARTING)),
    };
    let ended = match parting {
        Err(ended) => ended,
        Ok(parting) => {
            served.as_mut().graceful_shutdown();
            timeout(parting, served).await.unwrap_or(Ok(()))
        }
    };
    ended.err()?.downcast::<hyper::Error>().ok().map(|why| *why)
}

/// True if a request is for metrics, health or the version.
fn is_of_metrics(request: &Request<Incoming>) -> bool {
    let first = request.uri().path().split('/').nth(1).unwrap_or_default();
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    is_read && ["metrics", "health", "livez", "readyz", "version"].contains(&first)
}

fn not_found() -> Response<Body> {
    let text = "404 page not found\n".to_owned();
    respond(StatusCode::NOT_FOUND, "text/plain; charset=utf-8", text)
}

async fn answer(member: Arc<Member>, request: Request<Incoming>) -> Response<Body> {
    let kind = request.headers().get(header::CONTENT_TYPE);
    if kind.is_some_and(|it| it.as_bytes().starts_with(b"application/grpc")) {
        let request = request.map(|body| member.intake.framed(body));
        return router::call(member, request).await;
    }
    let headers = request.headers().clone();
    let mut response = match request.method() {
        // A browser asks whether it may, before it does.
        &Method::OPTIONS => Response::new(Body::empty()),
        _ => plain(member.clone(), request).await,
    };
    cors::allow(&member.plan.origins, &headers, &mut response);
    response
}

/// Answers a request of plain HTTP.
async fn plain(member: Arc<Member>, request: Request<Incoming>) -> Response<Body> {
    match (request.method(), request.uri().path()) {
        (&Method::GET, path) if probes::is_probe(path) => {
            probes::answer(&member, path, request.uri().query().unwrap_or_default()).await
        }
        (&Method::GET, "/version") => json(StatusCode::OK, metrics::version()),
        (&Method::GET | &Method::HEAD, "/metrics") => {
            let text = metrics::metrics(&member);
            respond(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", text)
        }
        (&Method::POST, path) if gateway::method(path).is_some() => {
            gateway::answer(member, request).await
        }
        (_, path) => {
            let is_known = ["/version", "/metrics"].contains(&path) || probes::is_probe(path);
            let (code, text) = match is_known || gateway::method(path).is_some() {
                true => (StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed\n"),
                false => (StatusCode::NOT_FOUND, "404 page not found\n"),
            };
            respond(code, "text/plain; charset=utf-8", text.into())
        }
    }
}

pub(crate) fn json(status: StatusCode, text: String) -> Response<Body> {
    respond(status, "application/json", text)
}

pub(crate) fn respond(status: StatusCode, kind: &'static str, text: String) -> Response<Body> {
    let mut response = Response::new(Body::new(http_body_util::Full::from(text)));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, http::HeaderValue::from_static(kind));
    response
}

#[cfg(test)]
mod tests {
    use std::future::pending;

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
            attend(server, fine, SHORT, pending()).await;
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
        attend(server, late, SHORT, pending()).await;
        let mut told = [0; 15];
        client.read_exact(&mut told).await.expect("an answer");
        assert_eq!(&told, b"HTTP/1.0 200 OK");
    }

    #[tokio::test]
    async fn who_has_to_leave_has_to_go_though_it_asked() {
        let (mut client, server) = tokio::io::duplex(1 << 16);
        client.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").await.expect("room");
        attend(server, fine, SILENCE, tokio::time::sleep(SHORT)).await;
        let mut told = Vec::new();
        client.read_to_end(&mut told).await.expect("an end");
        assert!(told.starts_with(b"HTTP/1.1 200 OK"));
    }
}
