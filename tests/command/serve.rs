//! `tenure serve`, as whoever runs it meets it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};

use crate::shell::{said, tenure};

#[test]
fn one_line_is_a_durable_member() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    for (asked, answer) in [
        ("put {\"key\":\"YQ==\",\"value\":\"MQ==\"}", "\"revision\":\"2\""),
        ("range {\"key\":\"YQ==\"}", "\"value\":\"MQ==\""),
    ] {
        let mut member = Command::new(env!("CARGO_BIN_EXE_tenure"))
            .args(["serve", "--listen-client-urls", "http://127.0.0.1:0", "--data-dir"])
            .arg(&data)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the command starts");
        let mut lines = BufReader::new(member.stdout.take().expect("its output")).lines();
        let mut line = || lines.next().expect("a line").expect("text");
        let serves = line();
        let (_, address) = serves.split_once("http://").expect("an address");
        assert!(line().starts_with("default leads in term "));
        let (path, body) = asked.split_once(' ').expect("two words");
        let mut stream = TcpStream::connect(address).expect("it listens");
        let length = body.len();
        write!(stream, "POST /v3/kv/{path} HTTP/1.0\r\ncontent-length: {length}\r\n\r\n{body}")
            .expect("it reads");
        let mut told = String::new();
        stream.read_to_string(&mut told).expect("an answer");
        assert!(told.contains(answer), "{told}");
        let data = data.display();
        let second =
            tenure(&format!("serve --listen-client-urls http://127.0.0.1:0 --data-dir {data}"));
        assert_eq!(second.status.code(), Some(4), "the folder is in use");
        let id = member.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().expect("kill").success());
        assert_eq!(member.wait().expect("an end").code(), Some(0));
    }
}

#[test]
fn what_cannot_be_served_is_refused_with_a_sentence() {
    for (options, says) in [
        ("--listen-client-urls http://0.0.0.0:0", "nobody proves there who they are"),
        ("--listen-client-urls 127.0.0.1:0", "is not a URL such as http://127.0.0.1:2379"),
        ("--listen-client-urls https://127.0.0.1:0", "needs --cert-file"),
        ("--name z --initial-cluster a=http://127.0.0.1:1", "has no member `z`"),
        ("--election-timeout 10", "must be at least 3 times"),
        ("--auth-token-ttl 0", "no token would ever count"),
        ("--config /no/such/file", "cannot be read"),
    ] {
        said(&tenure(&format!("serve {options}")), 2, says);
    }
}
