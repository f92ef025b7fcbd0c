//! Clients that misbehave. They must not affect other clients.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};

use serde_json::json;

use crate::member::{Files, Member, TIME_LIMIT, base64, eventually, get, post};

/// Returns the value of a metric, which must exist. A series with a label is 0 if nothing has been
/// counted for this label.
pub(crate) fn metric(address: SocketAddr, name: &str) -> u64 {
    let (_, text) = get(address, "/metrics");
    let family = name.split('{').next().expect("a name");
    assert!(text.contains(&format!("# TYPE {family} ")), "no metric {name}: {text}");
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    let value = line.or_else(|| name.contains('{').then_some("0"));
    value.unwrap_or_else(|| panic!("no sample of {name}: {text}")).parse().expect("a number")
}

fn read_to_end(stream: &mut TcpStream) -> Vec<u8> {
    stream.set_read_timeout(Some(TIME_LIMIT)).expect("a socket");
    let mut response = Vec::new();
    match stream.read_to_end(&mut response) {
        Err(error) if error.kind() == ErrorKind::WouldBlock => panic!("no response"),
        _ => response,
    }
}

/// Sends bytes, ends the stream to the member, and waits until the member closes the connection.
fn send_and_end(address: SocketAddr, bytes: &[u8]) {
    let mut stream = TcpStream::connect(address).expect("a listener");
    // The member may close the connection before it has read everything.
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(Shutdown::Write);
    read_to_end(&mut stream);
}

#[test]
fn malformed_input_is_counted_and_affects_no_other_client() {
    let (_files, member) = Member::single();
    member.put("a", "1");
    let mut random = fastrand::Rng::with_seed(7);
    for length in [1, 3, 24, 500, 5000] {
        let bytes: Vec<u8> = (0..length).map(|_| random.u8(..)).collect();
        send_and_end(member.address, &bytes);
    }
    // A valid preface of HTTP/2 with an invalid frame behind it.
    let mut stream = TcpStream::connect(member.address).expect("a listener");
    let _ = stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    let _ = stream.write_all(&[0xff; 64]);
    read_to_end(&mut stream);
    let broken = || metric(member.address, "tenure_connections_broken_total");
    eventually("most of them are counted", || broken() >= 3);
    assert_eq!(member.get("a"), Some(base64("1")));
}

#[test]
#[ignore = "10,000 descriptors: ulimit -n 12000"]
fn five_thousand_idle_connections_cause_no_election() {
    let (files, members) = Member::cluster();
    members[0].put("a", "0");
    let term = metric(members[0].address, "tenure_term");
    for port in [members[0].address, files.peers[0]] {
        let connect = |_| TcpStream::connect(port).expect("a listener");
        let idle: Vec<TcpStream> = (0..5000).map(connect).collect();
        for (time, member) in members.iter().cycle().take(30).enumerate() {
            member.put("a", &time.to_string());
            assert_eq!(member.get("a"), Some(base64(&time.to_string())));
        }
        drop(idle);
    }
    assert_eq!(metric(members[0].address, "tenure_term"), term);
}

#[test]
fn idle_connection_closes_for_a_new_one_at_the_limit() {
    let files = Files::of(1);
    // Half of the descriptors are reserved.
    let member = Member::start(&files.files[0], 100, "");
    let asks = |_| {
        let mut stream = TcpStream::connect(member.address).expect("a listener");
        stream.set_read_timeout(Some(TIME_LIMIT)).expect("a time");
        stream.write_all(b"GET /version HTTP/1.1\r\nhost: a\r\n\r\n").expect("an open connection");
        assert!(stream.read(&mut [0; 1000]).expect("a response") > 0);
        stream
    };
    let mut silent: Vec<TcpStream> = (0..60).map(asks).collect();
    member.put("a", "1");
    // The first connection was closed, and the last one is open.
    assert_eq!(silent[0].read(&mut [0]).expect("an end"), 0);
    let last = silent.last_mut().expect("some");
    last.write_all(b"GET /version HTTP/1.1\r\nhost: a\r\n\r\n").expect("an open connection");
    assert!(last.read(&mut [0; 1000]).expect("a response") > 0);
}

#[test]
fn incomplete_messages_share_one_limit() {
    let (_files, member) = Member::single();
    let head = "POST /v3/kv/put HTTP/1.1\r\nhost: a\r\ncontent-length: 3500001\r\n\r\n";
    let text = [head.as_bytes(), &[b' '; 3_500_000]].concat();
    let begin = |_| {
        let mut stream = TcpStream::connect(member.address).expect("a listener");
        // The member may reject the request before it has read everything.
        let _ = stream.write_all(&text);
        stream
    };
    let _all: Vec<TcpStream> = (0..90).map(begin).collect();
    // Short requests are still accepted, and rejected ones are counted.
    member.put("a", "1");
    let incomplete = || metric(member.address, "tenure_requests_begun_bytes");
    eventually("200 MiB are incomplete", || incomplete() >= 200 << 20);
    assert!(incomplete() <= 256 << 20);
}

#[test]
fn malformed_peer_input_is_rejected_and_counted_by_reason() {
    let files = Files::of(3);
    let member = files.start(0);
    let peer = files.peers[0];
    let idle: Vec<TcpStream> =
        (0..40).map(|_| TcpStream::connect(peer).expect("a listener")).collect();
    send_and_end(peer, &[0xff; 64]);
    send_and_end(peer, &[7]);
    let refused = |reason: &str| {
        metric(member.address, &format!("tenure_rejected_total{{reason=\"{reason}\"}}"))
    };
    eventually("both are counted", || refused("malformed") + refused("broken") >= 2);
    assert_eq!((refused("malformed"), refused("broken")), (1, 1));
    drop(idle);
}

#[test]
fn idle_connections_do_not_affect_other_clients() {
    let (_files, member) = Member::single();
    let idle: Vec<TcpStream> =
        (0..400).map(|_| TcpStream::connect(member.address).expect("a listener")).collect();
    member.put("a", "1");
    assert_eq!(member.get("a"), Some(base64("1")));
    assert!(metric(member.address, "tenure_connections") >= 400);
    drop(idle);
    eventually("they are closed", || metric(member.address, "tenure_connections") < 400);
}

#[test]
fn rejects_large_request_with_its_reason() {
    let (_files, member) = Member::single();
    member.put("a", "1");
    let value = |bytes: usize| json!({ "key": base64("b"), "value": base64(&"x".repeat(bytes)) });
    let refused = |bytes| post(member.address, "/v3/kv/put", &value(bytes)).expect("a response");
    let (status, response) = refused(1_600_000);
    assert_eq!((status, &response["message"]), (400, &json!("etcdserver: request is too large")));
    let (status, response) = refused(2_500_000);
    assert_eq!((status, &response["code"]), (429, &json!(8)), "{response}");
    assert_eq!(metric(member.address, "tenure_requests_rejected_total{code=\"3\"}"), 1);
    assert_eq!(metric(member.address, "tenure_requests_rejected_total{code=\"8\"}"), 1);
    assert_eq!((member.get("a"), member.get("b")), (Some(base64("1")), None));
}

/// Starts a member with a value of one megabyte in the key `a`.
fn member_with_large_value() -> (Files, Member) {
    let files = Files::of(1);
    // Snapshots would contain the large value as well, which the tests do not measure.
    files.edit(0, |text| text.replace("snapshot-count = 20", "snapshot-count = 1000"));
    let member = files.start(0);
    member.put("a", &"x".repeat(1 << 20));
    (files, member)
}

#[test]
fn history_for_slow_watchers_is_bounded() {
    let (_files, member) = member_with_large_value();
    let watch = json!({ "create_request": { "key": base64("a") } }).to_string();
    let watching = || {
        let mut stream = TcpStream::connect(member.address).expect("a listener");
        let length = watch.len();
        let head = format!("POST /v3/watch HTTP/1.0\r\ncontent-length: {length}\r\n\r\n{watch}");
        stream.write_all(head.as_bytes()).expect("an open connection");
        stream
    };
    let mut slow: Vec<TcpStream> = (0..2).map(|_| watching()).collect();
    eventually("both watch", || metric(member.address, "tenure_watchers") == 2);
    // Each event contains the value and the previous one.
    let again = json!({ "key": base64("a"), "ignore_value": true });
    (0..60).for_each(|_| drop(member.ask("/v3/kv/put", &again)));
    let kept = metric(member.address, "tenure_change_bytes");
    assert!((32 << 20..=64 << 20).contains(&kept), "{kept} bytes");
    assert!(metric(member.address, "tenure_changes") < 40);
    // Each watcher receives some events. Then it is cancelled, because the history no longer
    // contains its next event.
    for stream in &mut slow {
        stream.set_read_timeout(Some(TIME_LIMIT)).expect("a socket");
        let (mut response, mut piece) = (Vec::new(), vec![0; 1 << 20]);
        while !String::from_utf8_lossy(&response).contains("compact_revision") {
            let length = stream.read(&mut piece).expect("more responses");
            assert!(length > 0, "the stream ended early");
            // The last 1000 bytes suffice to find the searched text, even if it arrives in two
            // pieces.
            response.drain(..response.len().saturating_sub(1000));
            response.extend_from_slice(&piece[length.saturating_sub(1000)..length]);
        }
    }
    eventually("no watcher is left", || metric(member.address, "tenure_watchers") == 0);
}

#[test]
fn rejects_large_response_with_its_reason() {
    let (_files, member) = member_with_large_value();
    let reading = |times| {
        let range = json!({ "request_range": { "key": base64("a") } });
        json!({ "success": vec![range; times] })
    };
    let refused = post(member.address, "/v3/kv/txn", &reading(65)).expect("a response");
    assert_eq!((refused.0, &refused.1["code"]), (429, &json!(8)));
    let why = refused.1["message"].as_str().expect("words");
    assert!(why.contains("exceeds 64 MiB"), "{why}");
    assert_eq!(metric(member.address, "tenure_answer_bytes"), 0);
    assert_eq!(metric(member.address, "tenure_requests_rejected_total{code=\"8\"}"), 1);
    let read = member.ask("/v3/kv/txn", &reading(2));
    assert_eq!(read["responses"].as_array().map(Vec::len), Some(2));
}

#[test]
#[ignore = "long: 40 s"]
fn large_response_that_is_not_read_is_dropped_and_counted() {
    let (_files, member) = member_with_large_value();
    let dropped = || metric(member.address, "tenure_answers_dropped_total");
    assert_eq!(dropped(), 0);
    let range = json!({ "request_range": { "key": base64("a") } });
    let body = json!({ "success": vec![range; 60] }).to_string();
    let mut stream = TcpStream::connect(member.address).expect("a listener");
    let head = format!("POST /v3/kv/txn HTTP/1.0\r\ncontent-length: {}\r\n\r\n", body.len());
    stream.write_all((head + &body).as_bytes()).expect("an open connection");
    // The connection stays open, but the client reads only the beginning of the response.
    stream.set_read_timeout(Some(TIME_LIMIT)).expect("a time");
    assert!(stream.read(&mut [0; 1000]).expect("a response") > 0);
    eventually("the response is dropped", || dropped() == 1);
    eventually("its bytes are free", || metric(member.address, "tenure_answer_bytes") == 0);
    drop(stream);
}

#[test]
fn rejects_transaction_over_too_many_keys() {
    let (_files, member) = Member::single();
    for hundred in 0..90 {
        let put = |key: i32| {
            let key = base64(&format!("k/{hundred:02}{key:02}"));
            json!({ "request_put": { "key": key, "value": base64("v") } })
        };
        let puts: Vec<_> = (0..100).map(put).collect();
        member.ask("/v3/kv/txn", &json!({ "success": puts }));
    }
    // Sends a transaction that counts all keys `times` times. If `writes` is true, it also puts a
    // key.
    let counting = |times, writes| {
        let key = json!({ "key": base64("k/"), "range_end": base64("k0"), "count_only": true });
        let mut all = vec![json!({ "request_range": key }); times];
        if writes {
            all.push(json!({ "request_put": { "key": base64("a"), "value": base64("1") } }));
        }
        post(member.address, "/v3/kv/txn", &json!({ "success": all })).expect("a response")
    };
    for writes in [false, true] {
        let (status, response) = counting(117, writes);
        let why = response["message"].as_str().expect("words");
        assert!(status == 429 && why.contains("more than 1048576 keys"), "{status}: {why}");
    }
    assert_eq!(member.get("a"), None);
    let (status, response) = counting(116, true);
    assert_eq!(
        (status, &response["responses"][0]["response_range"]["count"]),
        (200, &json!("9000"))
    );
}
