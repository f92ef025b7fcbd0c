//! The port for clients: gRPC and plain HTTP beside each other.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::{Method, Request, Response, StatusCode, header};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tonic::body::Body;

use crate::member::{Member, ServeError};
use crate::{gateway, metrics, router};

/// How many connections there are at most.
const CONNECTIONS: usize = 20_000;

/// How many calls one connection has under way at most.
const CALLS: u32 = 20_000;

/// How long a connection may be silent before it is asked whether somebody is there, and how long
/// an answer may take.
const SILENCE: Duration = Duration::from_secs(20);

/// Listens; who is accepted is served until the returned listener is dropped.
pub(crate) async fn bind(address: SocketAddr) -> Result<TcpListener, ServeError> {
    let failed = |source| ServeError::Listen { address: address.to_string(), source };
    TcpListener::bind(address).await.map_err(failed)
}

/// Serves whoever connects, for ever.
pub(crate) async fn serve(listener: TcpListener, member: Arc<Member>) -> Infallible {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let place = places.clone().acquire_owned().await.expect("nobody closes it");
        let Ok((stream, _)) = listener.accept().await else {
            // No descriptor is left, as likely as not: some of them are given back.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let _ = stream.set_nodelay(true);
        let member = member.clone();
        tokio::spawn(async move {
            let _place = place;
            let service = service_fn(move |request: Request<Incoming>| {
                let member = member.clone();
                async move { Ok::<_, Infallible>(answer(member, request.map(Body::new)).await) }
            });
            let mut builder = Builder::new(TokioExecutor::new());
            builder.http1().timer(TokioTimer::new()).header_read_timeout(SILENCE);
            builder
                .http2()
                .timer(TokioTimer::new())
                .keep_alive_interval(SILENCE)
                .keep_alive_timeout(SILENCE)
                .max_concurrent_streams(CALLS)
                .initial_connection_window_size(4 << 20)
                .initial_stream_window_size(2 << 20);
            // Whoever breaks a connection off knows about it.
            let _ = builder.serve_connection(TokioIo::new(stream), service).await;
        });
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
