//! Those who behave badly: nobody else notices.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::json;

use crate::member::{Files, Member, base64, post};

/// What a member tells of itself under a name.
pub(crate) fn metric(address: SocketAddr, name: &str) -> u64 {
    let mut stream = TcpStream::connect(address).expect("it listens");
    write!(stream, "GET /metrics HTTP/1.0\r\n\r\n").expect("it reads");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("an answer");
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or("0").parse().expect("a number")
}

/// Whether the member says something or hangs up, within 20 s, and what it says.
fn answer(stream: &mut TcpStream) -> Vec<u8> {
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a socket");
    let mut told = Vec::new();
    match stream.read_to_end(&mut told) {
        Err(error) if error.kind() == ErrorKind::WouldBlock => panic!("it says nothing"),
        _ => told,
    }
}

#[test]
fn bytes_that_mean_nothing_are_counted_and_hold_up_nobody() {
    let files = Files::alone();
    let member = Member::start(&files.files[0]);
    member.put("a", "1");
    let mut random = fastrand::Rng::with_seed(7);
    for length in [1, 3, 24, 500, 5000] {
        let mut stream = TcpStream::connect(member.address).expect("it listens");
        let bytes: Vec<u8> = (0..length).map(|_| random.u8(..)).collect();
        // It may hang up before it has all of it.
        let _ = stream.write_all(&bytes);
        let _ = stream.shutdown(Shutdown::Write);
        answer(&mut stream);
    }
    // The preface of HTTP/2, and then something else.
    let mut stream = TcpStream::connect(member.address).expect("it listens");
    let _ = stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    let _ = stream.write_all(&[0xff; 64]);
    answer(&mut stream);
    assert!(metric(member.address, "tenure_connections_broken_total") >= 3);
    assert_eq!(member.get("a"), Some(base64("1")));
}

#[test]
fn whoever_is_connected_and_says_nothing_takes_nothing_from_others() {
    let files = Files::alone();
    let member = Member::start(&files.files[0]);
    let idle: Vec<TcpStream> =
        (0..400).map(|_| TcpStream::connect(member.address).expect("it listens")).collect();
    member.put("a", "1");
    assert_eq!(member.get("a"), Some(base64("1")));
    assert!(metric(member.address, "tenure_connections") >= 400);
    drop(idle);
    while metric(member.address, "tenure_connections") >= 400 {}
}

#[test]
fn what_is_too_large_is_refused_by_name() {
    let files = Files::alone();
    let member = Member::start(&files.files[0]);
    member.put("a", "1");
    let value = |bytes: usize| json!({ "key": base64("b"), "value": base64(&"x".repeat(bytes)) });
    let refused = |bytes| post(member.address, "/v3/kv/put", &value(bytes)).expect("an answer");
    let (status, told) = refused(1_600_000);
    assert_eq!((status, &told["message"]), (400, &json!("etcdserver: request is too large")));
    let (status, told) = refused(2_500_000);
    assert_eq!((status, &told["code"]), (429, &json!(8)), "{told}");
    assert_eq!(metric(member.address, "tenure_requests_refused_total{code=\"3\"}"), 1);
    assert_eq!(metric(member.address, "tenure_requests_refused_total{code=\"8\"}"), 1);
    assert_eq!((member.get("a"), member.get("b")), (Some(base64("1")), None));
}
