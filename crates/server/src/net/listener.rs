//! Listener for clients, which serves gRPC and plain HTTP on one port.

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
use crate::metrics;
use crate::net::connections::{ConnectionLimiter, TrackedConnection};
use crate::net::cors;
use crate::net::dashboard;
use crate::net::gateway;
use crate::net::probes;
use crate::net::tls::Tls;
use crate::rpc::router;

const MAX_CONCURRENT_STREAMS: u32 = 20_000;

/// Upper bound on the bytes of one response that wait in the send buffer. The frame that is being
/// sent is not included.
const MAX_SEND_BUFFER_BYTES: usize = 64 << 10;

/// Flow-control window of one request, in bytes. The window of a whole connection is twice as
/// large.
const STREAM_WINDOW_BYTES: u32 = 128 << 10;

/// Time without calls after which a connection is cut, if the server has asked it to close. Also
/// the longest time that a stopping member waits for its connections to close.
pub(crate) const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// Time without received data after which the server checks whether the client responds. The client
/// must respond within the same time. Also the time limit of a TLS handshake, and of the first
/// request of a connection.
pub(crate) const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(20);

/// Paths that a listener serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListenerScope {
    All,
    /// Only metrics, health, the version, and the page for operators without the names of locks.
    Metrics,
}

impl ListenerScope {
    /// Returns the limiter of the connections to listeners with this scope.
    fn limiter(self, member: &Member) -> &ConnectionLimiter {
        match self {
            ListenerScope::All => &member.connections,
            ListenerScope::Metrics => &member.metrics_connections,
        }
    }
}

pub(crate) async fn bind(address: SocketAddr) -> Result<TcpListener, ServeError> {
    let failed = |source| ServeError::Listen { address: address.to_string(), source };
    TcpListener::bind(address).await.map_err(failed)
}

/// Accepts connections until this future is dropped. The connections use TLS if `tls` is given.
/// Each connection is served in its own task, which continues when this future is dropped.
pub(crate) async fn serve(
    listener: TcpListener,
    tls: Option<Arc<Tls>>,
    member: Arc<Member>,
    scope: ListenerScope,
) -> Infallible {
    loop {
        let Ok((stream, peer)) = listener.accept().await else {
            // The process has probably run out of file descriptors, and will soon close some.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let slot = scope.limiter(&member).acquire_slot().await;
        let _ = stream.set_nodelay(true);
        let (member, tls) = (member.clone(), tls.clone());
        tokio::spawn(async move {
            let _slot = slot;
            let Some(tls) = tls else { return serve_connection(stream, peer, member, scope).await };
            match timeout(KEEPALIVE_TIMEOUT, tls.accept(stream)).await {
                Ok(Ok(stream)) => serve_connection(stream, peer, member, scope).await,
                Ok(Err(why)) => member.connections.record_failure(
                    &member.connections.failed_handshake_count,
                    peer,
                    &why,
                ),
                Err(_) => member.connections.record_failure(
                    &member.connections.failed_handshake_count,
                    peer,
                    &"TLS handshake timed out",
                ),
            }
        });
    }
}

async fn serve_connection<S>(stream: S, peer: SocketAddr, member: Arc<Member>, scope: ListenerScope)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (owner, connection) = (member.clone(), scope.limiter(&member).track_connection());
    let handler = |mut request: Request<Incoming>| {
        request.extensions_mut().insert(peer);
        let member = owner.clone();
        async move {
            match scope {
                ListenerScope::Metrics if !is_metrics_request(&request) => not_found(),
                _ => respond(member, request, scope).await,
            }
        }
    };
    // Only malformed input is logged. Interrupted connections are normal.
    let ended = drive_connection(stream, handler, KEEPALIVE_TIMEOUT, &connection).await;
    if let Some(why) = ended.filter(hyper::Error::is_parse) {
        member.connections.record_failure(
            &member.connections.malformed_connection_count,
            peer,
            &why,
        );
    }
}

/// Serves the requests of a connection until it closes. If an error closes the connection, returns
/// the error.
///
/// If the client sends no request within `idle_timeout` after it has connected, the connection is
/// closed, so that silent clients do not occupy slots forever. The connection is also closed when
/// [`TrackedConnection::wait_until_close_requested`] resolves. A closing connection completes its
/// calls, and is then cut if it stays without calls for some time.
async fn drive_connection<S, F>(
    stream: S,
    handler: impl Fn(Request<Incoming>) -> F,
    idle_timeout: Duration,
    connection: &Arc<TrackedConnection>,
) -> Option<hyper::Error>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    F: Future<Output = Response<Body>> + Send + 'static,
{
    let has_request = AtomicBool::new(false);
    let service = service_fn(|request: Request<Incoming>| {
        has_request.store(true, Ordering::Relaxed);
        let (call, response) = (connection.begin_call(), handler(request));
        async { Ok::<_, Infallible>(response.await.map(|body| call.attach_to(body))) }
    });
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(idle_timeout)
        .max_buf_size(MAX_SEND_BUFFER_BYTES);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(idle_timeout)
        .keep_alive_timeout(idle_timeout)
        .max_concurrent_streams(MAX_CONCURRENT_STREAMS)
        .max_send_buf_size(MAX_SEND_BUFFER_BYTES)
        .initial_connection_window_size(2 * STREAM_WINDOW_BYTES)
        .initial_stream_window_size(STREAM_WINDOW_BYTES);
    let mut served = pin!(builder.serve_connection(TokioIo::new(stream), service));
    let is_idle = async {
        tokio::time::sleep(idle_timeout).await;
        if has_request.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
    };
    let idle_limit = tokio::select! {
        ended = served.as_mut() => Err(ended),
        () = is_idle => Ok(idle_timeout),
        () = connection.wait_until_close_requested() => Ok(idle_timeout.min(CLOSE_TIMEOUT)),
    };
    let ended = match idle_limit {
        Err(ended) => ended,
        Ok(idle_limit) => {
            served.as_mut().graceful_shutdown();
            tokio::select! {
                ended = served => ended,
                () = connection.wait_until_abort_required(idle_limit) => Ok(()),
            }
        }
    };
    ended.err()?.downcast::<hyper::Error>().ok().map(|why| *why)
}

/// Returns true if a request is for metrics, health, the version, or the page for operators.
fn is_metrics_request(request: &Request<Incoming>) -> bool {
    let first = request.uri().path().split('/').nth(1).unwrap_or_default();
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    let served = ["dashboard", "metrics", "health", "livez", "readyz", "version"];
    is_read && served.contains(&first)
}

fn not_found() -> Response<Body> {
    plain_response(StatusCode::NOT_FOUND, "404 page not found\n")
}

async fn respond(
    member: Arc<Member>,
    request: Request<Incoming>,
    scope: ListenerScope,
) -> Response<Body> {
    let content_type = request.headers().get(header::CONTENT_TYPE);
    if content_type.is_some_and(|it| it.as_bytes().starts_with(b"application/grpc")) {
        let request =
            request.map(|body| member.incomplete_message_budget.meter_grpc_messages(body));
        return router::serve_grpc_call(member, request).await;
    }
    // The responses of the dashboard have no CORS headers, so pages of other origins cannot read
    // them.
    if dashboard::is_dashboard(request.uri().path()) {
        return dashboard::respond(member, &request, scope).await;
    }
    let headers = request.headers().clone();
    let mut response = match request.method() {
        // Preflight request of a browser.
        &Method::OPTIONS => Response::new(Body::empty()),
        _ => respond_http(member.clone(), request).await,
    };
    cors::add_headers(&member.config.cors_origins, &headers, &mut response);
    response
}

/// Serves an HTTP request that is not gRPC.
async fn respond_http(member: Arc<Member>, request: Request<Incoming>) -> Response<Body> {
    match (request.method(), request.uri().path()) {
        (&Method::GET, path) if probes::is_probe(path) => {
            probes::respond(&member, path, request.uri().query().unwrap_or_default()).await
        }
        (&Method::GET, "/version") => json_response(StatusCode::OK, metrics::version_json()),
        (&Method::GET | &Method::HEAD, "/metrics") => {
            let text = metrics::exposition_text(&member);
            text_response(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", text)
        }
        (&Method::POST, path) if gateway::find_method(path).is_some() => {
            gateway::respond(member, request).await
        }
        (_, path) => {
            let is_known = ["/version", "/metrics"].contains(&path) || probes::is_probe(path);
            match is_known || gateway::find_method(path).is_some() {
                true => method_not_allowed(),
                false => not_found(),
            }
        }
    }
}

pub(crate) fn method_not_allowed() -> Response<Body> {
    plain_response(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed\n")
}

pub(crate) fn plain_response(status: StatusCode, text: impl Into<String>) -> Response<Body> {
    text_response(status, "text/plain; charset=utf-8", text.into())
}

pub(crate) fn json_response(status: StatusCode, text: String) -> Response<Body> {
    text_response(status, "application/json", text)
}

pub(crate) fn text_response(
    status: StatusCode,
    content_type: &'static str,
    text: String,
) -> Response<Body> {
    let mut response = Response::new(Body::new(http_body_util::Full::from(text)));
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, http::HeaderValue::from_static(content_type));
    response
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;
    use tokio::time::sleep;

    use super::*;
    use crate::test_member::TestMember;

    async fn ok(_: Request<Incoming>) -> Response<Body> {
        text_response(StatusCode::OK, "text/plain", "fine".into())
    }

    const SHORT_TIMEOUT: Duration = Duration::from_millis(50);

    #[tokio::test]
    async fn connection_without_request_is_closed() {
        let preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
        for partial in ["", &preface[..1], &preface[..20], preface, "GET / HT"] {
            let (mut client, server) = tokio::io::duplex(1 << 16);
            client.write_all(partial.as_bytes()).await.expect("room");
            // The client stays connected until the server closes the connection.
            let limiter = ConnectionLimiter::for_clients();
            let connection = limiter.track_connection();
            drive_connection(server, ok, SHORT_TIMEOUT, &connection).await;
            client.read_to_end(&mut Vec::new()).await.expect("an end");
        }
    }

    #[tokio::test]
    async fn connection_stays_open_while_a_response_is_pending() {
        let (mut client, server) = tokio::io::duplex(1 << 16);
        client.write_all(b"GET / HTTP/1.0\r\n\r\n").await.expect("room");
        let late = |request| async {
            sleep(5 * SHORT_TIMEOUT).await;
            ok(request).await
        };
        let limiter = ConnectionLimiter::for_clients();
        let connection = limiter.track_connection();
        drive_connection(server, late, SHORT_TIMEOUT, &connection).await;
        let mut received = [0; 15];
        client.read_exact(&mut received).await.expect("a response");
        assert_eq!(&received, b"HTTP/1.0 200 OK");
    }

    #[tokio::test]
    async fn connection_with_a_request_closes_when_asked_to() {
        let (mut client, server) = tokio::io::duplex(1 << 16);
        client.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").await.expect("room");
        let limiter = ConnectionLimiter::for_clients();
        let connection = limiter.track_connection();
        let close = async {
            sleep(SHORT_TIMEOUT).await;
            limiter.request_close_of_all();
        };
        tokio::join!(drive_connection(server, ok, KEEPALIVE_TIMEOUT, &connection), close);
        let mut received = Vec::new();
        client.read_to_end(&mut received).await.expect("an end");
        assert!(received.starts_with(b"HTTP/1.1 200 OK"));
    }

    #[tokio::test]
    async fn closing_connection_completes_its_call() {
        let (mut client, server) = tokio::io::duplex(1 << 16);
        client.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").await.expect("room");
        let limiter = Arc::new(ConnectionLimiter::for_clients());
        let connection = limiter.track_connection();
        // The call lasts several times longer than a connection may be idle.
        let late = |request| {
            let limiter = limiter.clone();
            async move {
                limiter.request_close_of_all();
                sleep(5 * SHORT_TIMEOUT).await;
                ok(request).await
            }
        };
        drive_connection(server, late, SHORT_TIMEOUT, &connection).await;
        let mut received = Vec::new();
        client.read_to_end(&mut received).await.expect("an end");
        assert!(received.starts_with(b"HTTP/1.1 200 OK"), "{received:?}");
    }

    #[tokio::test]
    async fn probe_is_answered_while_clients_use_all_connections() {
        let TestMember { member, .. } = &TestMember::start();
        let mut slots = Vec::new();
        while let Some(slot) = member.connections.acquire_slot().now_or_never() {
            slots.push(slot);
        }
        let listener = bind(([127, 0, 0, 1], 0).into()).await.expect("a listener");
        let address = listener.local_addr().expect("an address");
        let serving = tokio::spawn(serve(listener, None, member.clone(), ListenerScope::Metrics));
        let mut probe = TcpStream::connect(address).await.expect("a connection");
        let request = b"GET /livez HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
        probe.write_all(request).await.expect("room");
        let mut response = Vec::new();
        let received = timeout(Duration::from_secs(120), probe.read_to_end(&mut response)).await;
        received.expect("a response in time").expect("a response");
        assert!(response.starts_with(b"HTTP/1.1 200 OK"));
        serving.abort();
    }
}
