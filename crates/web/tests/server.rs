//! Who is served, over real sockets.

mod support;

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::time::Duration;

use support::{ask, ask_raw};
use tenure_web::axum::Router;
use tenure_web::axum::routing::{get, post};
use tenure_web::{Asset, Server};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// A server that runs until it is dropped or stopped.
struct Running {
    url: String,
    /// Where to reach it from this machine.
    at: SocketAddr,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

async fn start(server: Server) -> Running {
    let (url, port) = (server.url(), server.address().port());
    let here: std::net::IpAddr = match server.address() {
        SocketAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
        SocketAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
    };
    let at = SocketAddr::new(here, port);
    let (stop, stopped) = oneshot::channel();
    let routes = Router::new()
        .route("/api/data", get(async || "data"))
        .route("/api/act", post(async |body: String| format!("did {body}")))
        .route("/api/slow", get(async || std::future::pending::<String>().await));
    let task = tokio::spawn(async move {
        let page = [Asset::html("/", "<p>page</p>")];
        server.serve(&page, routes, async move { drop(stopped.await) }).await;
    });
    Running { url, at, stop, task }
}

async fn on(address: &str) -> Running {
    start(Server::bind(address.parse().unwrap(), 0).await.expect("an address of this machine"))
        .await
}

/// Whether this machine has an IPv6 loopback at all.
fn has_version_six() -> bool {
    std::net::TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn this_machine_needs_no_token() {
    for address in ["127.0.0.1", "::1"] {
        if address == "::1" && !has_version_six() {
            continue;
        }
        let server = on(address).await;
        assert_eq!(server.url, format!("http://{}/", server.at));
        let page = ask(server.at, "GET /", "");
        assert_eq!((page.status, page.body.as_str()), (200, "<p>page</p>"));
        assert_eq!(ask(server.at, "GET /api/data", "").body, "data");
        assert_eq!(ask(server.at, "POST /api/act", "x").body, "did x");
        let nowhere = ask(server.at, "GET /api/nowhere", "");
        assert_eq!(
            (nowhere.status, nowhere.header("content-type")),
            (404, Some("application/json"))
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn beyond_this_machine_the_token_is_demanded() {
    for address in ["0.0.0.0", "::"] {
        if address == "::" && !has_version_six() {
            continue;
        }
        let server = on(address).await;
        let (_, token) = server.url.split_once("/?token=").expect("a token in the address");
        let host = format!("Host: {}", server.at);
        let wrong: String = token.chars().rev().collect();
        let without = [
            ask(server.at, "GET /api/data", ""),
            ask(server.at, "POST /api/act", "x"),
            ask(server.at, "GET /api/nowhere", ""),
            ask(server.at, "GET /api/data?token=", ""),
            ask(server.at, &format!("GET /api/data?token={wrong}"), ""),
            ask(server.at, &format!("GET /api/data?token={token}0"), ""),
            ask_raw(
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
        assert_eq!(ask_raw(server.at, "POST /api/act", &bearer, "x").body, "did x");
        assert_eq!(ask(server.at, &format!("GET /api/data?a=b&token={token}"), "").body, "data");
        assert_eq!(ask(server.at, "GET /", "").status, 200, "the page itself is no secret");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_server_has_a_token_of_its_own() {
    let (one, other) = (on("0.0.0.0").await, on("0.0.0.0").await);
    let token = one.url.split_once('?').unwrap().1;
    assert_eq!(ask(one.at, &format!("GET /api/data?{token}"), "").status, 200);
    assert_eq!(ask(other.at, &format!("GET /api/data?{token}"), "").status, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_foreign_host_is_refused() {
    let server = on("127.0.0.1").await;
    for said in ["evil.example", "evil.example:80", "localhost.evil.example", "10.0.0.1"] {
        for line in ["GET /", "GET /api/data", "POST /api/act"] {
            let refused = ask_raw(server.at, line, &[format!("Host: {said}")], "");
            assert_eq!(refused.status, 403, "{line} as {said}: {refused:?}");
        }
    }
    let twice = [format!("Host: {}", server.at), "Host: evil.example".to_owned()];
    assert_eq!(ask_raw(server.at, "GET /api/data", &twice, "").status, 400);
    assert_eq!(ask_raw(server.at, "GET /api/data", &[], "").status, 400);
    let forwarded = ask_raw(server.at, "GET /api/data", &["Host: localhost:1".to_owned()], "");
    assert_eq!(forwarded.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_of_another_site_changes_nothing() {
    let server = on("127.0.0.1").await;
    let host = format!("Host: {}", server.at);
    let from = |origin: &str| {
        let headers = [host.clone(), format!("Origin: {origin}")];
        ask_raw(server.at, "POST /api/act", &headers, "x").status
    };
    for origin in ["http://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1", ""] {
        assert_eq!(from(origin), 403, "from {origin}");
    }
    assert_eq!(from(&format!("http://{}", server.at)), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_that_says_which_site_asks_is_believed() {
    let server = on("127.0.0.1").await;
    let status = |line: &str, said: &[&str]| {
        let mut headers = vec![format!("Host: {}", server.at)];
        headers.extend(said.iter().map(|header| format!("Sec-Fetch-{header}")));
        ask_raw(server.at, line, &headers, "").status
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

/// Begins a request and never ends it.
fn half_open(to: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(to).expect("the server listens");
    (&stream).write_all(b"GET / HT").expect("a connection takes some bytes");
    stream
}

/// Whether the server has ended a connection, now or soon.
fn is_ended(mut stream: &TcpStream, soon: Duration) -> bool {
    stream.set_read_timeout(Some(soon)).unwrap();
    match stream.read(&mut [0; 64]) {
        Ok(read) => read == 0,
        Err(error) => error.kind() == ErrorKind::ConnectionReset,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_that_never_end_make_room_for_others() {
    let server = on("127.0.0.1").await;
    let held: Vec<TcpStream> = (0..200).map(|_| half_open(server.at)).collect();
    assert_eq!(ask(server.at, "GET /api/data", "").body, "data");
    // The oldest are gone: a server that has many still ends these at once, for room.
    for stream in &held[..200 - 32] {
        assert!(is_ended(stream, Duration::from_secs(60)), "an old connection is held");
    }
    assert_eq!(ask(server.at, "GET /api/data", "").body, "data");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_head_that_does_not_come_and_a_connection_that_asks_no_more_are_given_up() {
    let server = on("127.0.0.1").await;
    let silent = TcpStream::connect(server.at).unwrap();
    let half = half_open(server.at);
    let done = TcpStream::connect(server.at).unwrap();
    write!(&done, "GET / HTTP/1.1\r\nHost: {}\r\n\r\n", server.at).unwrap();
    assert!((&done).read(&mut [0; 4096]).unwrap() > 0, "it is answered");
    for stream in [&silent, &half, &done] {
        assert!(is_ended(stream, Duration::from_secs(60)));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_answer_says_what_a_browser_may_do_with_it() {
    let server = on("127.0.0.1").await;
    for line in ["GET /", "GET /api/data", "GET /api/nowhere", "POST /"] {
        let answer = ask(server.at, line, "");
        assert_eq!(answer.header("cache-control"), Some("no-store"), "{line}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{line}");
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"), "{line}");
        let policy = answer.header("content-security-policy").expect("a policy");
        assert!(policy.starts_with("default-src 'self';"), "{policy}");
        let scripts_in_pages = policy.split(';').any(|it| it.contains("script-src"));
        assert!(!scripts_in_pages, "{policy}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_is_bounded() {
    let server = on("127.0.0.1").await;
    let most = 16 << 20;
    let largest = ask(server.at, "POST /api/act", &"x".repeat(most));
    assert_eq!((largest.status, largest.body.len()), (200, most + "did ".len()));
    // One byte more, so that nothing is left unread when the answer comes.
    let refused = ask(server.at, "POST /api/act", &"x".repeat(most + 1));
    assert_eq!(refused.status, 413);
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_that_never_end_are_given_up_and_hold_up_nobody() {
    let server = Server::bind(Ipv4Addr::LOCALHOST.into(), 0).await.unwrap();
    let server = start(server.receiving_within(Duration::from_millis(200))).await;
    // More than are received at a time.
    let begin = |_| {
        let stream = TcpStream::connect(server.at).unwrap();
        let head = format!("POST /api/act HTTP/1.1\r\nHost: {}\r\nContent-Length: 9", server.at);
        write!(&stream, "{head}\r\n\r\nhalf").unwrap();
        stream
    };
    let held: Vec<TcpStream> = (0..20).map(begin).collect();
    for mut stream in held {
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut said = [0; 12];
        stream.read_exact(&mut said).unwrap();
        assert_eq!(&said, b"HTTP/1.1 408");
    }
    assert_eq!(ask(server.at, "POST /api/act", "it").body, "did it");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_stops_though_an_answer_never_ends() {
    let Running { at, stop, task, .. } = on("127.0.0.1").await;
    let mut endless = TcpStream::connect(at).unwrap();
    endless.write_all(b"GET /api/slow HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    assert_eq!(ask(at, "GET /api/data", "").body, "data");
    stop.send(()).unwrap();
    task.await.unwrap();
    assert!(Server::bind(at.ip(), at.port()).await.is_ok(), "the port is free again");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_port_that_is_taken_is_said() {
    let server = on("127.0.0.1").await;
    let refused = Server::bind(server.at.ip(), server.at.port()).await.unwrap_err();
    assert!(refused.to_string().starts_with(&format!("cannot listen on {}", server.at)));
}
