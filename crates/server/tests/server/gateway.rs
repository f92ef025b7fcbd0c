//! Gateway for JSON over HTTP.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

use crate::member::{Files, Member, base64, eventually, post};

#[test]
fn gateway_serves_keys_leases_and_locks() {
    let files = Files::single();
    let member = Member::start(&files.files[0]);
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
    let below = json!({ "key": base64("jobs/"), "range_end": base64("jobs0") });
    eventually("the client is queued", || member.ask("/v3/kv/range", &below)["count"] == "2");
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
    let files = Files::single();
    let member = Member::start(&files.files[0]);
    let response = || member.ask("/v3/cluster/member/list", &json!({}));
    let (first, own) = (response(), format!("http://{}", member.address));
    assert_eq!(first["members"][0]["clientURLs"], json!([own]), "{first}");
    // After a committed write all members know the URL.
    member.put("a", "1");
    assert_eq!(response()["members"][0]["clientURLs"], json!([own]));
}

/// Request with a chunked body, and the lines of its response.
struct Chunked {
    stream: TcpStream,
    lines: BufReader<TcpStream>,
}

impl Chunked {
    fn open(member: &Member, path: &str) -> Chunked {
        let mut stream = TcpStream::connect(member.address).expect("a listener");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a time");
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

    /// Returns the next message of the response.
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
    let files = Files::single();
    let member = Member::start(&files.files[0]);
    member.put("a", "1");
    let lease = member.ask("/v3/lease/grant", &json!({ "TTL": 60 }));
    let renewal = json!({ "ID": lease["ID"] }).to_string();
    let mut renewals = Chunked::open(&member, "/v3/lease/keepalive");
    // In one chunk, in two, and two messages in one chunk.
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
    let files = Files::single();
    let member = Member::start(&files.files[0]);
    let responses_to = |body: &str| {
        let mut stream = TcpStream::connect(member.address).expect("a listener");
        let length = body.len();
        let path = "/v3/lease/keepalive";
        write!(stream, "POST {path} HTTP/1.0\r\ncontent-length: {length}\r\n\r\n{body}")
            .expect("an open connection");
        let mut response = String::new();
        stream.read_to_string(&mut response).expect("a response");
        let status = response.split(' ').nth(1).map(str::to_owned).expect("a status");
        (status, response.lines().filter(|line| line.starts_with("{\"result\"")).count())
    };
    member.put("a", "1");
    assert_eq!(responses_to(r#"{"ID":"1"} {"ID":"2"}"#), ("200".into(), 2));
    assert_eq!(responses_to(r#"{"ID":"1"} x {"ID":"2"}"#), ("200".into(), 1));
    assert_eq!(responses_to(r#"{"ID":"1"}{"ID":"#), ("200".into(), 1));
    assert_eq!(responses_to(""), ("200".into(), 0));
    for none in ["x", "[]", r#"{"ID":"#, r#"{"ID":true}"#] {
        assert_eq!(responses_to(none), ("400".into(), 0), "{none}");
    }
}

#[test]
fn cors_headers_name_the_allowed_origins() {
    let files = Files::single();
    let headers = |member: &Member, method: &str, path: &str| {
        let mut stream = TcpStream::connect(member.address).expect("a listener");
        write!(stream, "{method} {path} HTTP/1.0\r\norigin: http://a\r\n\r\n")
            .expect("an open connection");
        let mut response = String::new();
        stream.read_to_string(&mut response).expect("a response");
        let status = response.split(' ').nth(1).map(str::to_owned).expect("a status");
        let origin =
            response.lines().find_map(|it| it.strip_prefix("access-control-allow-origin: "));
        (status, origin.map(str::to_owned))
    };
    let member = Member::start(&files.files[0]);
    for (method, path, status) in [
        ("OPTIONS", "/v3/kv/range", "200"),
        ("OPTIONS", "/nothing", "200"),
        ("GET", "/version", "200"),
        ("GET", "/nothing", "404"),
    ] {
        let expected = (status.to_owned(), Some("*".to_owned()));
        assert_eq!(headers(&member, method, path), expected, "{method} {path}");
    }
    member.kill();
    for (cors, origin) in [("http://b,http://a", Some("http://a".to_owned())), ("", None)] {
        let files = Files::single();
        let text = std::fs::read_to_string(&files.files[0]).expect("a file");
        std::fs::write(&files.files[0], format!("{text}cors = {cors:?}\n")).expect("a write");
        let member = Member::start(&files.files[0]);
        assert_eq!(headers(&member, "OPTIONS", "/v3/kv/range"), ("200".into(), origin), "{cors}");
    }
}
