//! Gateway for JSON over HTTP.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::member::{Member, Response, TIME_LIMIT, base64, exchange, post};

#[test]
fn gateway_serves_keys_leases_and_locks() {
    let (_files, member) = Member::single();
    assert_eq!(member.put("a", "1")["header"]["revision"], "2");
    let found = member.ask("/v3/kv/range", &json!({ "key": base64("a") }));
    assert_eq!(found["kvs"][0]["value"], base64("1"), "{found}");
    assert_eq!(found["count"], "1");
    let lease = member.ask("/v3/lease/grant", &json!({ "TTL": 30 }));
    assert_eq!(lease["TTL"], "30");
    let lock = json!({ "name": base64("jobs"), "lease": lease["ID"] });
    let locked = member.ask("/v3/lock/lock", &lock);
    let id: i64 = lease["ID"].as_str().expect("a number").parse().expect("a number");
    assert_eq!(locked["key"], base64(&format!("jobs/{id:x}")));
    // The waiting client acquires the lock as soon as the holder releases it.
    let other = member.ask("/v3/lease/grant", &json!({ "TTL": 30 }));
    let waiting = json!({ "name": base64("jobs"), "lease": other["ID"] });
    let address = member.address;
    let waiter = std::thread::spawn(move || post(address, "/v3/lock/lock", &waiting));
    member.wait_for_claims("jobs", 2);
    member.ask("/v3/lock/unlock", &json!({ "key": locked["key"] }));
    let response = waiter.join().expect("a thread").expect("a response");
    assert_eq!(response.0, 200, "{response:?}");
    // Invalid requests fail with the code and message of etcd.
    let (status, response) = post(address, "/v3/kv/range", &json!({})).expect("a response");
    assert_eq!((status, &response["code"]), (400, &json!(3)));
    assert_eq!(response["message"], "etcdserver: key is not provided");
    let unlocked = json!({ "name": base64("jobs"), "lease": "77" });
    let (status, response) = post(address, "/v3/lock/lock", &unlocked).expect("a response");
    assert_eq!((status, &response["code"]), (500, &json!(2)));
    assert_eq!(response["message"], "etcdserver: requested lease not found");
    assert_eq!(post(address, "/v3/nothing", &json!({})).expect("a response").0, 404);
}

#[test]
fn member_list_contains_the_chosen_port() {
    let (_files, member) = Member::single();
    let response = || member.ask("/v3/cluster/member/list", &json!({}));
    let (first, own) = (response(), format!("http://{}", member.address));
    assert_eq!(first["members"][0]["clientURLs"], json!([own]), "{first}");
    // After a committed write all members know the URL.
    member.put("a", "1");
    assert_eq!(response()["members"][0]["clientURLs"], json!([own]));
}

/// Request whose body is sent in chunks, and the lines of its response.
struct Chunked {
    stream: TcpStream,
    lines: BufReader<TcpStream>,
}

impl Chunked {
    fn open(member: &Member, path: &str) -> Chunked {
        let mut stream = TcpStream::connect(member.address).expect("a listener");
        stream.set_read_timeout(Some(TIME_LIMIT)).expect("a time");
        write!(stream, "POST {path} HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n")
            .expect("an open connection");
        let lines = BufReader::new(stream.try_clone().expect("a socket"));
        Chunked { stream, lines }
    }

    fn send(&mut self, text: &str) {
        write!(self.stream, "{:x}\r\n{text}\r\n", text.len()).expect("an open connection");
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("a line");
        line.trim().to_owned()
    }

    fn next(&mut self) -> Value {
        loop {
            let line = self.line();
            if line.starts_with('{') {
                return serde_json::from_str(&line).expect("JSON");
            }
        }
    }
}

#[test]
fn each_message_of_a_json_stream_is_answered_immediately() {
    let (_files, member) = Member::single();
    member.put("a", "1");
    let lease = member.ask("/v3/lease/grant", &json!({ "TTL": 60 }));
    let renewal = json!({ "ID": lease["ID"] }).to_string();
    let mut renewals = Chunked::open(&member, "/v3/lease/keepalive");
    // Sends one message in one chunk, one message in two chunks, and two messages in one chunk.
    renewals.send(&format!("{renewal}\n"));
    assert_eq!(renewals.next()["result"]["TTL"], "60");
    renewals.send(&renewal[..5]);
    renewals.send(&renewal[5..]);
    assert_eq!(renewals.next()["result"]["TTL"], "60");
    renewals.send(&format!("{renewal}{renewal}"));
    assert_eq!(renewals.next()["result"]["TTL"], "60");
    assert_eq!(renewals.next()["result"]["TTL"], "60");
    let create = |key: &str| json!({ "create_request": { "key": base64(key) } }).to_string();
    let mut watch = Chunked::open(&member, "/v3/watch");
    watch.send(&create("a"));
    assert_eq!(watch.next()["result"]["created"], true);
    watch.send(&create("b"));
    assert_eq!(watch.next()["result"]["watch_id"], "1");
    // The request may end before the response does.
    watch.send("");
    for (key, id) in [("b", json!("1")), ("a", Value::Null)] {
        member.put(key, "2");
        let response = watch.next();
        assert_eq!(response["result"]["events"][0]["kv"]["key"], base64(key), "{response}");
        assert_eq!(response["result"]["watch_id"], id);
    }
}

#[test]
fn json_stream_ends_at_first_invalid_message() {
    let (_files, member) = Member::single();
    let responses_to = |body: &str| {
        let head = format!("POST /v3/lease/keepalive HTTP/1.0\r\ncontent-length: {}", body.len());
        let response = exchange(member.address, &format!("{head}\r\n\r\n{body}"));
        let Response { status, body, .. } = response.expect("a response");
        (status, body.lines().filter(|line| line.starts_with("{\"result\"")).count())
    };
    member.put("a", "1");
    assert_eq!(responses_to(r#"{"ID":"1"} {"ID":"2"}"#), (200, 2));
    assert_eq!(responses_to(r#"{"ID":"1"} x {"ID":"2"}"#), (200, 1));
    assert_eq!(responses_to(r#"{"ID":"1"}{"ID":"#), (200, 1));
    assert_eq!(responses_to(""), (200, 0));
    for none in ["x", "[]", r#"{"ID":"#, r#"{"ID":true}"#] {
        assert_eq!(responses_to(none), (400, 0), "{none}");
    }
}

#[test]
fn cors_headers_name_the_allowed_origins() {
    let headers = |member: &Member, method: &str, path: &str| {
        let request = format!("{method} {path} HTTP/1.0\r\norigin: http://a\r\n\r\n");
        let response = exchange(member.address, &request).expect("a response");
        let origin = response.header("access-control-allow-origin").map(str::to_owned);
        (response.status, origin)
    };
    let (_files, member) = Member::single();
    for (method, path, status) in [
        ("OPTIONS", "/v3/kv/range", 200),
        ("OPTIONS", "/nothing", 200),
        ("GET", "/version", 200),
        ("GET", "/nothing", 404),
    ] {
        let expected = (status, Some("*".to_owned()));
        assert_eq!(headers(&member, method, path), expected, "{method} {path}");
    }
    for (cors, origin) in [("http://b,http://a", Some("http://a".to_owned())), ("", None)] {
        let (_files, member) = Member::configured(&format!("cors = {cors:?}"));
        assert_eq!(headers(&member, "OPTIONS", "/v3/kv/range"), (200, origin), "{cors}");
    }
}
