//! Tests of the rules for requests, with real sockets.

mod support;

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use support::{send, send_raw};
use tenure_web::axum::Router;
use tenure_web::axum::routing::{get, post};
use tenure_web::{Asset, Server};
use tokio::sync::{Barrier, oneshot};
use tokio::task::JoinHandle;

/// A running server. Dropping it stops the server.
struct Running {
    url: String,
    /// Address at which this machine can connect to the server.
    at: SocketAddr,
    /// Barrier that a request for `/api/held` passes twice: when it arrives, and before its
    /// response.
    held: Arc<Barrier>,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

async fn start(server: Server) -> Running {
    let (url, port) = (server.url_with_token(), server.address().port());
    let here: std::net::IpAddr = match server.address() {
        SocketAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
        SocketAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
    };
    let at = SocketAddr::new(here, port);
    let (stop, stopped) = oneshot::channel();
    let held = Arc::new(Barrier::new(2));
    let passed = held.clone();
    let hold = async move || {
        passed.wait().await;
        passed.wait().await;
        "held"
    };
    let routes = Router::new()
        .route("/api/data", get(async || "data"))
        .route("/api/held", get(hold))
        .route("/api/act", post(async |body: String| format!("did {body}")))
        .route("/api/slow", get(async || std::future::pending::<String>().await));
    let task = tokio::spawn(async move {
        let page = [Asset::html("/", "<p>page</p>")];
        server.serve(&page, routes, async move { drop(stopped.await) }).await;
    });
    Running { url, at, held, stop, task }
}

async fn start_on(address: &str) -> Running {
    start(Server::bind(address.parse().unwrap(), 0).await.expect("a local address")).await
}

fn has_ipv6_loopback() -> bool {
    std::net::TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn loopback_needs_no_token() {
    for address in ["127.0.0.1", "::1"] {
        if address == "::1" && !has_ipv6_loopback() {
            continue;
        }
        let server = start_on(address).await;
        assert_eq!(server.url, format!("http://{}/", server.at));
        let page = send(server.at, "GET /", "");
        assert_eq!((page.status, page.body.as_str()), (200, "<p>page</p>"));
        assert_eq!(send(server.at, "GET /api/data", "").body, "data");
        assert_eq!(send(server.at, "POST /api/act", "x").body, "did x");
        let nowhere = send(server.at, "GET /api/nowhere", "");
        assert_eq!(
            (nowhere.status, nowhere.header("content-type")),
            (404, Some("application/json"))
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn other_addresses_require_the_token() {
    for address in ["0.0.0.0", "::"] {
        if address == "::" && !has_ipv6_loopback() {
            continue;
        }
        let server = start_on(address).await;
        let (_, token) = server.url.split_once("/?token=").expect("a token in the URL");
        let host = format!("Host: {}", server.at);
        let wrong: String = token.chars().rev().collect();
        let without = [
            send(server.at, "GET /api/data", ""),
            send(server.at, "POST /api/act", "x"),
            send(server.at, "GET /api/nowhere", ""),
            send(server.at, "GET /api/data?token=", ""),
            send(server.at, &format!("GET /api/data?token={wrong}"), ""),
            send(server.at, &format!("GET /api/data?token={token}0"), ""),
            send_raw(
                server.at,
                "GET /api/data",
                &[host.clone(), format!("Authorization: {token}")],
                "",
            ),
        ];
        for refused in without {
            assert_eq!(refused.status, 401, "{refused:?}");
        }
        let bearer = [host, format!("Authorization: Bearer {token}")];
        assert_eq!(send_raw(server.at, "POST /api/act", &bearer, "x").body, "did x");
        assert_eq!(send(server.at, &format!("GET /api/data?a=b&token={token}"), "").body, "data");
        assert_eq!(send(server.at, "GET /", "").status, 200, "assets are public");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_server_has_its_own_token() {
    let (one, other) = (start_on("0.0.0.0").await, start_on("0.0.0.0").await);
    let token = one.url.split_once('?').unwrap().1;
    assert_eq!(send(one.at, &format!("GET /api/data?{token}"), "").status, 200);
    assert_eq!(send(other.at, &format!("GET /api/data?{token}"), "").status, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn foreign_host_is_rejected() {
    let server = start_on("127.0.0.1").await;
    for host in ["evil.example", "evil.example:80", "localhost.evil.example", "10.0.0.1"] {
        for line in ["GET /", "GET /api/data", "POST /api/act"] {
            let refused = send_raw(server.at, line, &[format!("Host: {host}")], "");
            assert_eq!(refused.status, 403, "{line} as {host}: {refused:?}");
        }
    }
    let twice = [format!("Host: {}", server.at), "Host: evil.example".to_owned()];
    assert_eq!(send_raw(server.at, "GET /api/data", &twice, "").status, 400);
    assert_eq!(send_raw(server.at, "GET /api/data", &[], "").status, 400);
    let forwarded = send_raw(server.at, "GET /api/data", &["Host: localhost:1".to_owned()], "");
    assert_eq!(forwarded.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn foreign_origin_cannot_post() {
    let server = start_on("127.0.0.1").await;
    let host = format!("Host: {}", server.at);
    let from = |origin: &str| {
        let headers = [host.clone(), format!("Origin: {origin}")];
        send_raw(server.at, "POST /api/act", &headers, "x").status
    };
    for origin in ["http://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1", ""] {
        assert_eq!(from(origin), 403, "from {origin}");
    }
    assert_eq!(from(&format!("http://{}", server.at)), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn fetch_metadata_of_browsers_is_checked() {
    let server = start_on("127.0.0.1").await;
    let status = |line: &str, fetch_headers: &[&str]| {
        let mut headers = vec![format!("Host: {}", server.at)];
        headers.extend(fetch_headers.iter().map(|header| format!("Sec-Fetch-{header}")));
        send_raw(server.at, line, &headers, "").status
    };
    for site in ["Site: cross-site", "Site: same-site", "Site: anything"] {
        assert_eq!(status("POST /api/act", &[site]), 403, "{site}");
        assert_eq!(status("POST /api/act", &[site, "Mode: navigate"]), 403, "a form, {site}");
        assert_eq!(status("GET /api/data", &[site, "Mode: no-cors"]), 403, "a picture, {site}");
        let frame = [site, "Mode: navigate", "Dest: iframe"];
        assert_eq!(status("GET /", &frame), 403, "a frame, {site}");
        let link = [site, "Mode: navigate", "Dest: document"];
        assert_eq!(status("GET /", &link), 200, "a link, {site}");
    }
    for site in ["Site: same-origin", "Site: none"] {
        assert_eq!(status("POST /api/act", &[site]), 200, "{site}");
        assert_eq!(status("GET /api/data", &[site]), 200, "{site}");
    }
}

fn half_open(to: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(to).expect("the server listens");
    (&stream).write_all(b"GET / HT").expect("the request is sent");
    stream
}

/// Returns true if the server closes the connection within the duration `soon`. Before the end, the
/// server may send the rest of a response.
fn is_closed(mut stream: &TcpStream, soon: Duration) -> bool {
    stream.set_read_timeout(Some(soon)).unwrap();
    match stream.read_to_end(&mut Vec::new()) {
        Ok(_) => true,
        Err(error) => error.kind() == ErrorKind::ConnectionReset,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn incomplete_requests_make_room_for_others() {
    let server = Server::bind(Ipv4Addr::LOCALHOST.into(), 0).await.unwrap();
    // The time limit for a request is so long that no connection is closed because of it.
    let server = start(server.with_head_timeout(Duration::from_secs(3600))).await;
    let held: Vec<TcpStream> = (0..200).map(|_| half_open(server.at)).collect();
    assert_eq!(send(server.at, "GET /api/data", "").body, "data");
    // The oldest connections are closed immediately to make room.
    for stream in &held[..200 - 32] {
        assert!(is_closed(stream, Duration::from_secs(60)), "the connection is open");
    }
    assert_eq!(send(server.at, "GET /api/data", "").body, "data");
}

/// Sends a request on a new connection, which stays open after the response.
fn request_kept_alive(to: SocketAddr, line: &str) -> TcpStream {
    let stream = TcpStream::connect(to).expect("the server listens");
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    write!(&stream, "{line} HTTP/1.1\r\nHost: {to}\r\n\r\n").expect("the request is sent");
    stream
}

fn read_status(mut stream: &TcpStream) -> String {
    let mut status_line = [0; 12];
    stream.read_exact(&mut status_line).expect("a response");
    String::from_utf8_lossy(&status_line).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_without_permitted_requests_make_room() {
    let server = Server::bind(Ipv4Addr::UNSPECIFIED.into(), 0).await.unwrap();
    // The time limit for a request is so long that no connection is closed because of it.
    let server = start(server.with_head_timeout(Duration::from_secs(3600))).await;
    let token = server.url.split_once('?').unwrap().1;
    let held = request_kept_alive(server.at, &format!("GET /api/held?{token}"));
    server.held.wait().await;
    let rejected = [("GET /api/data", "401"), ("GET /", "200"), ("GET /api/data?token=0", "401")];
    for (line, status) in rejected {
        let open: Vec<TcpStream> = (0..40)
            .map(|_| {
                let stream = request_kept_alive(server.at, line);
                assert_eq!(read_status(&stream), format!("HTTP/1.1 {status}"), "{line}");
                stream
            })
            .collect();
        let permitted = send(server.at, &format!("GET /api/data?{token}"), "");
        assert_eq!((permitted.status, permitted.body.as_str()), (200, "data"), "{line}");
        drop(open);
    }
    server.held.wait().await;
    assert_eq!(read_status(&held), "HTTP/1.1 200", "the request in progress is completed");
}

#[tokio::test(flavor = "multi_thread")]
async fn idle_connections_are_closed() {
    let server = Server::bind(Ipv4Addr::LOCALHOST.into(), 0).await.unwrap();
    let server = start(server.with_head_timeout(Duration::from_secs(1))).await;
    let silent = TcpStream::connect(server.at).unwrap();
    let half = half_open(server.at);
    // A busy machine may respond only after the time limit.
    let done = (0..20).find_map(|_| {
        let stream = TcpStream::connect(server.at).unwrap();
        write!(&stream, "GET / HTTP/1.1\r\nHost: {}\r\n\r\n", server.at).ok()?;
        (&stream).read(&mut [0; 4096]).is_ok_and(|length| length > 0).then_some(stream)
    });
    let done = done.expect("a response");
    for stream in [&silent, &half, &done] {
        assert!(is_closed(stream, Duration::from_secs(60)));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn all_responses_have_security_headers() {
    let server = start_on("127.0.0.1").await;
    for line in ["GET /", "GET /api/data", "GET /api/nowhere", "POST /"] {
        let answer = send(server.at, line, "");
        assert_eq!(answer.header("cache-control"), Some("no-store"), "{line}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{line}");
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"), "{line}");
        let policy = answer.header("content-security-policy").expect("a content security policy");
        assert!(policy.starts_with("default-src 'self';"), "{policy}");
        let allows_inline_scripts = policy.split(';').any(|it| it.contains("script-src"));
        assert!(!allows_inline_scripts, "{policy}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn body_size_is_limited() {
    let server = start_on("127.0.0.1").await;
    let most = 16 << 20;
    let largest = send(server.at, "POST /api/act", &"x".repeat(most));
    assert_eq!((largest.status, largest.body.len()), (200, most + "did ".len()));
    // The body is only one byte too long. If the server left more data unread, it might reset the
    // connection before the response arrives.
    let refused = send(server.at, "POST /api/act", &"x".repeat(most + 1));
    assert_eq!(refused.status, 413);
}

#[tokio::test(flavor = "multi_thread")]
async fn incomplete_bodies_time_out() {
    let server = Server::bind(Ipv4Addr::LOCALHOST.into(), 0).await.unwrap();
    let server = start(server.with_body_timeout(Duration::from_millis(200))).await;
    // There are more bodies than the server receives at the same time.
    let begin = |_| {
        let stream = TcpStream::connect(server.at).unwrap();
        let head = format!("POST /api/act HTTP/1.1\r\nHost: {}\r\nContent-Length: 9", server.at);
        write!(&stream, "{head}\r\n\r\nhalf").unwrap();
        stream
    };
    let held: Vec<TcpStream> = (0..20).map(begin).collect();
    for mut stream in held {
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut status_line = [0; 12];
        stream.read_exact(&mut status_line).unwrap();
        assert_eq!(&status_line, b"HTTP/1.1 408");
    }
    assert_eq!(send(server.at, "POST /api/act", "it").body, "did it");
}

#[tokio::test(flavor = "multi_thread")]
async fn server_stops_despite_a_pending_response() {
    // Another test may take the port as soon as it is free.
    for _ in 0..10 {
        let Running { at, stop, task, .. } = start_on("127.0.0.1").await;
        let mut endless = TcpStream::connect(at).unwrap();
        endless.write_all(b"GET /api/slow HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        assert_eq!(send(at, "GET /api/data", "").body, "data");
        stop.send(()).unwrap();
        task.await.unwrap();
        if Server::bind(at.ip(), at.port()).await.is_ok() {
            return;
        }
    }
    panic!("the port is in use");
}

#[tokio::test(flavor = "multi_thread")]
async fn bind_reports_a_used_port() {
    let server = start_on("127.0.0.1").await;
    let refused = Server::bind(server.at.ip(), server.at.port()).await.unwrap_err();
    assert!(refused.to_string().starts_with(&format!("cannot listen on {}", server.at)));
}
