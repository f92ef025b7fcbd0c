//! The services as JSON.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

use crate::member::{Files, Member, base64, eventually, post};

#[test]
fn everything_is_there_as_json() {
    let files = Files::alone();
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
    // The holder leaves, and whoever waits is told at once.
    let other = member.ask("/v3/lease/grant", &json!({ "TTL": 30 }));
    let waiting = json!({ "name": base64("jobs"), "lease": other["ID"] });
    let address = member.address;
    let waiter = std::thread::spawn(move || post(address, "/v3/lock/lock", &waiting));
    let below = json!({ "key": base64("jobs/"), "range_end": base64("jobs0") });
    eventually("it waits", || member.ask("/v3/kv/range", &below)["count"] == "2");
    member.ask("/v3/lock/unlock", &json!({ "key": locked["key"] }));
    let told = waiter.join().expect("a waiter").expect("an answer");
    assert_eq!(told.0, 200, "{told:?}");
    // What cannot be, with the code and the words of etcd.
    let (status, told) = post(address, "/v3/kv/range", &json!({})).expect("an answer");
    assert_eq!((status, &told["code"]), (400, &json!(3)));
    assert_eq!(told["message"], "etcdserver: key is not provided");
    let unlocked = json!({ "name": base64("jobs"), "lease": "77" });
    let (status, told) = post(address, "/v3/lock/lock", &unlocked).expect("an answer");
    assert_eq!((status, &told["code"]), (500, &json!(2)));
    assert_eq!(told["message"], "etcdserver: requested lease not found");
    assert_eq!(post(address, "/v3/nothing", &json!({})).expect("an answer").0, 404);
}

#[test]
fn a_member_is_told_of_with_the_port_that_the_system_chose() {
    let files = Files::alone();
    let member = Member::start(&files.files[0]);
    let told = || member.ask("/v3/cluster/member/list", &json!({}));
    let (first, own) = (told(), format!("http://{}", member.address));
    assert_eq!(first["members"][0]["clientURLs"], json!([own]), "{first}");
    // All members know it by the time that something was committed.
    member.put("a", "1");
    assert_eq!(told()["members"][0]["clientURLs"], json!([own]));
}

/// A request whose body is sent in chunks, and the lines of the response as they come.
struct Chunked {
    stream: TcpStream,
    lines: BufReader<TcpStream>,
}

impl Chunked {
    fn open(member: &Member, path: &str) -> Chunked {
        let mut stream = TcpStream::connect(member.address).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a time");
        write!(stream, "POST {path} HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n")
            .expect("it reads");
        let lines = BufReader::new(stream.try_clone().expect("a socket"));
        Chunked { stream, lines }
    }

    fn send(&mut self, text: &str) {
        write!(self.stream, "{:x}\r\n{text}\r\n", text.len()).expect("it reads");
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("a line");
        line.trim().to_owned()
    }

    /// The next message of the response.
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
fn messages_of_one_json_request_are_answered_as_they_come() {
    let files = Files::alone();
    let member = Member::start(&files.files[0]);
    member.put("a", "1");
    let lease = member.ask("/v3/lease/grant", &json!({ "TTL": 60 }));
    let renewal = json!({ "ID": lease["ID"] }).to_string();
    let mut renewals = Chunked::open(&member, "/v3/lease/keepalive");
    // In one piece, in two, and two at once.
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
        let told = watch.next();
        assert_eq!(told["result"]["events"][0]["kv"]["key"], base64(key), "{told}");
        assert_eq!(told["result"]["watch_id"], id);
    }
}

#[test]
fn a_json_request_ends_before_what_is_no_message() {
    let files = Files::alone();
    let member = Member::start(&files.files[0]);
    let ask = |body: &str| {
        let mut stream = TcpStream::connect(member.address).expect("it listens");
        let length = body.len();
        let path = "/v3/lease/keepalive";
        write!(stream, "POST {path} HTTP/1.0\r\ncontent-length: {length}\r\n\r\n{body}")
            .expect("it reads");
        let mut told = String::new();
        stream.read_to_string(&mut told).expect("an answer");
        let status = told.split(' ').nth(1).map(str::to_owned).expect("a status");
        (status, told.lines().filter(|line| line.starts_with("{\"result\"")).count())
    };
    member.put("a", "1");
    assert_eq!(ask(r#"{"ID":"1"} {"ID":"2"}"#), ("200".into(), 2));
    assert_eq!(ask(r#"{"ID":"1"} x {"ID":"2"}"#), ("200".into(), 1));
    assert_eq!(ask(r#"{"ID":"1"}{"ID":"#), ("200".into(), 1));
    assert_eq!(ask(""), ("200".into(), 0));
    for none in ["x", "[]", r#"{"ID":"#, r#"{"ID":true}"#] {
        assert_eq!(ask(none), ("400".into(), 0), "{none}");
    }
}

#[test]
fn browsers_are_told_which_origins_may_read() {
    let files = Files::alone();
    let headers = |member: &Member, method: &str, path: &str| {
        let mut stream = TcpStream::connect(member.address).expect("it listens");
        write!(stream, "{method} {path} HTTP/1.0\r\norigin: http://a\r\n\r\n").expect("it reads");
        let mut told = String::new();
        stream.read_to_string(&mut told).expect("an answer");
        let status = told.split(' ').nth(1).map(str::to_owned).expect("a status");
        let origin = told.lines().find_map(|it| it.strip_prefix("access-control-allow-origin: "));
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
        let files = Files::alone();
        let text = std::fs::read_to_string(&files.files[0]).expect("a file");
        std::fs::write(&files.files[0], format!("{text}cors = {cors:?}\n")).expect("room");
        let member = Member::start(&files.files[0]);
        assert_eq!(headers(&member, "OPTIONS", "/v3/kv/range"), ("200".into(), origin), "{cors}");
    }
}
