//! Those who behave badly: nobody else notices.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::json;

use crate::member::{Files, Member, base64, eventually, post};

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
    let broken = || metric(member.address, "tenure_connections_broken_total");
    eventually("most of them are counted", || broken() >= 3);
    assert_eq!(member.get("a"), Some(base64("1")));
}

/// Where the first of three listens for the others.
fn peer(files: &Files) -> String {
    let text = std::fs::read_to_string(&files.files[0]).expect("a file");
    let (_, cluster) = text.split_once("a=http://").expect("its place in the cluster");
    cluster.split_once(',').expect("two more").0.to_owned()
}

#[test]
#[ignore = "10,000 descriptors: ulimit -n 12000"]
fn five_thousand_who_say_nothing_at_either_port_make_nobody_lose_the_lead() {
    let files = Files::of(3);
    let members: Vec<Member> = files.files.iter().map(|file| Member::start(file)).collect();
    members[0].put("a", "0");
    let term = metric(members[0].address, "tenure_term");
    for port in [members[0].address.to_string(), peer(&files)] {
        let connect = |_| TcpStream::connect(&port).expect("it listens");
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
fn where_there_is_no_place_who_asks_nothing_any_more_makes_room() {
    let files = Files::alone();
    // Half of them are for clients.
    let member = Member::start_with(&files.files[0], 100);
    let asks = |_| {
        let mut stream = TcpStream::connect(member.address).expect("it listens");
        stream.write_all(b"GET /version HTTP/1.1\r\nhost: a\r\n\r\n").expect("it reads");
        assert!(stream.read(&mut [0; 1000]).expect("an answer") > 0);
        stream
    };
    let mut silent: Vec<TcpStream> = (0..60).map(asks).collect();
    member.put("a", "1");
    // The first had to go, and the last are there.
    assert_eq!(silent[0].read(&mut [0]).expect("an end"), 0);
    let last = silent.last_mut().expect("some");
    last.write_all(b"GET /version HTTP/1.1\r\nhost: a\r\n\r\n").expect("it reads");
    assert!(last.read(&mut [0; 1000]).expect("an answer") > 0);
}

#[test]
fn messages_that_nobody_ends_are_bounded_together() {
    let files = Files::alone();
    let member = Member::start(&files.files[0]);
    let head = "POST /v3/kv/put HTTP/1.1\r\nhost: a\r\ncontent-length: 3500001\r\n\r\n";
    let text = [head.as_bytes(), &[b' '; 3_500_000]].concat();
    let begin = |_| {
        let mut stream = TcpStream::connect(member.address).expect("it listens");
        // Whoever is refused before the end need not read all of it.
        let _ = stream.write_all(&text);
        stream
    };
    let _all: Vec<TcpStream> = (0..90).map(begin).collect();
    // What is short is taken as always, and what is refused is counted.
    member.put("a", "1");
    let begun = || metric(member.address, "tenure_requests_begun_bytes");
    eventually("200 MiB are begun", || begun() >= 200 << 20);
    assert!(begun() <= 256 << 20);
}

#[test]
fn bytes_at_the_port_for_members_are_refused_and_counted_by_reason() {
    let files = Files::of(3);
    let member = Member::start(&files.files[0]);
    let peer = peer(&files);
    let say = |bytes: &[u8]| {
        let mut stream = TcpStream::connect(&peer).expect("it listens");
        let _ = stream.write_all(bytes);
        let _ = stream.shutdown(Shutdown::Write);
        answer(&mut stream);
    };
    let idle: Vec<TcpStream> =
        (0..40).map(|_| TcpStream::connect(&peer).expect("it listens")).collect();
    say(&[0xff; 64]);
    say(&[7]);
    let refused = |reason: &str| {
        metric(member.address, &format!("tenure_refused_total{{reason=\"{reason}\"}}"))
    };
    eventually("both are counted", || refused("malformed") + refused("broken") >= 2);
    assert_eq!((refused("malformed"), refused("broken")), (1, 1));
    drop(idle);
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
    eventually("they are gone", || metric(member.address, "tenure_connections") < 400);
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

/// A member that has a key `a` of a megabyte.
fn with_a_megabyte(files: &Files) -> Member {
    let file = &files.files[0];
    let text = std::fs::read_to_string(file).expect("a file");
    // What is large is written into snapshots as well, which is not what is looked at here.
    let text = text.replace("snapshot-count = 20", "snapshot-count = 1000");
    std::fs::write(file, text).expect("room");
    let member = Member::start(file);
    member.put("a", &"x".repeat(1 << 20));
    member
}

#[test]
fn what_is_kept_for_whoever_does_not_read_is_bounded_by_bytes() {
    let files = Files::alone();
    let member = with_a_megabyte(&files);
    let watch = json!({ "create_request": { "key": base64("a") } }).to_string();
    let watching = || {
        let mut stream = TcpStream::connect(member.address).expect("it listens");
        let length = watch.len();
        let head = format!("POST /v3/watch HTTP/1.0\r\ncontent-length: {length}\r\n\r\n{watch}");
        stream.write_all(head.as_bytes()).expect("it reads");
        stream
    };
    let mut slow: Vec<TcpStream> = (0..2).map(|_| watching()).collect();
    eventually("both watch", || metric(member.address, "tenure_watchers") == 2);
    // Each has the value, and the one before.
    let again = json!({ "key": base64("a"), "ignore_value": true });
    (0..60).for_each(|_| drop(member.ask("/v3/kv/put", &again)));
    let kept = metric(member.address, "tenure_change_bytes");
    assert!((32 << 20..=64 << 20).contains(&kept), "{kept} bytes");
    assert!(metric(member.address, "tenure_changes") < 40);
    // Each is told what it missed, that this is forgotten, and is watching no longer.
    for stream in &mut slow {
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a socket");
        let (mut told, mut piece) = (Vec::new(), vec![0; 1 << 20]);
        while !String::from_utf8_lossy(&told).contains("compact_revision") {
            let length = stream.read(&mut piece).expect("it is told something");
            assert!(length > 0, "it is told nothing more");
            // The end of a line is enough.
            told.drain(..told.len().saturating_sub(1000));
            told.extend_from_slice(&piece[length.saturating_sub(1000)..length]);
        }
    }
    assert_eq!(metric(member.address, "tenure_watchers"), 0);
}

#[test]
fn an_answer_of_any_length_is_refused_by_name() {
    let files = Files::alone();
    let member = with_a_megabyte(&files);
    let reading = |times| {
        let range = json!({ "request_range": { "key": base64("a") } });
        json!({ "success": vec![range; times] })
    };
    let refused = post(member.address, "/v3/kv/txn", &reading(65)).expect("an answer");
    assert_eq!((refused.0, &refused.1["code"]), (429, &json!(8)));
    let why = refused.1["message"].as_str().expect("words");
    assert!(why.contains("more than 64 MiB"), "{why}");
    assert_eq!(metric(member.address, "tenure_answer_bytes"), 0);
    assert_eq!(metric(member.address, "tenure_requests_refused_total{code=\"8\"}"), 1);
    let read = member.ask("/v3/kv/txn", &reading(2));
    assert_eq!(read["responses"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_transaction_that_looks_at_too_many_keys_is_refused_by_name() {
    let files = Files::alone();
    let member = Member::start(&files.files[0]);
    for hundred in 0..90 {
        let put = |key: i32| {
            let key = base64(&format!("k/{hundred:02}{key:02}"));
            json!({ "request_put": { "key": key, "value": base64("v") } })
        };
        let puts: Vec<_> = (0..100).map(put).collect();
        member.ask("/v3/kv/txn", &json!({ "success": puts }));
    }
    // All of them so often, and a key that is written, or not.
    let counting = |times, writes| {
        let key = json!({ "key": base64("k/"), "range_end": base64("k0"), "count_only": true });
        let mut all = vec![json!({ "request_range": key }); times];
        if writes {
            all.push(json!({ "request_put": { "key": base64("a"), "value": base64("1") } }));
        }
        post(member.address, "/v3/kv/txn", &json!({ "success": all })).expect("an answer")
    };
    for writes in [false, true] {
        let (status, told) = counting(117, writes);
        let why = told["message"].as_str().expect("words");
        assert!(status == 429 && why.contains("more than 1048576 keys"), "{status}: {why}");
    }
    assert_eq!(member.get("a"), None);
    let (status, told) = counting(116, true);
    assert_eq!((status, &told["responses"][0]["response_range"]["count"]), (200, &json!("9000")));
}
