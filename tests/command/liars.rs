//! A service that lies: a command that asks it neither obeys what it is told nor grows with it.

use std::net::TcpListener;
use std::process::{Command, Output};

use prost::Message;
use tenure_etcd::etcdserverpb as rpc;
use tenure_etcd::mvccpb::KeyValue;

use crate::calls::{Told, UNKNOWN, babbler, framed, liar};
use crate::shell::said;

fn tenure(line: &str) -> Output {
    // With a bound on memory.
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -v 2000000; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_tenure")]);
    command.args(line.split_whitespace()).output().expect("the command starts")
}

fn message(message: &impl Message) -> Told {
    Told::Message(framed(message))
}

/// A range of one key.
fn key(key: &[u8], more: bool) -> rpc::RangeResponse {
    let kv =
        KeyValue { key: key.to_vec(), create_revision: i64::MAX, lease: 1, ..Default::default() };
    rpc::RangeResponse { kvs: vec![kv], more, ..Default::default() }
}

/// A service with this range, in which each lease has some seconds left.
fn ranging(range: rpc::RangeResponse) -> String {
    let left = rpc::LeaseTimeToLiveResponse { ttl: 9, granted_ttl: 9, ..Default::default() };
    liar(move |path| match path {
        "/etcdserverpb.KV/Range" => message(&range),
        "/etcdserverpb.Lease/LeaseTimeToLive" => message(&left),
        _ => UNKNOWN,
    })
}

/// Accepts connections and closes them.
fn closing() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    std::thread::spawn(move || listener.incoming().for_each(drop));
    address
}

#[test]
fn an_answer_without_end_ends_with_a_sentence() {
    let whole = |told: Told| liar(move |_| told.clone());
    let huge = [&[0, 0xff, 0xff, 0xff, 0xff][..], &[0; 1 << 14]].concat();
    let torn = [&[0, 0, 0, 0, 2][..], &[0x0a, 0x7f]].concat();
    for (address, told) in [
        (whole(Told::Endless(huge)), "message length too large"),
        (whole(Told::Endless(framed(&key(b"a/1", false)))), "no answer from"),
        (whole(Told::Message(torn)), "failed to decode"),
        (ranging(key(b"a/1", true)), "not in their order"),
        (closing(), "it closed the connection"),
        (babbler(b"HTTP/1.0 200 OK\r\n\r\n", b"a: b\r\n"), "it speaks HTTP/1 only"),
        (babbler(b"SSH-2.0-OpenSSH\r\n", b"a"), "it does not speak HTTP/2"),
        (babbler(&[21, 3, 3, 0, 2, 2, 70], b""), "it speaks TLS: use https://"),
    ] {
        said(&tenure(&format!("locks ls --endpoints {address}")), 4, told);
    }
}

#[test]
fn names_of_a_service_neither_paint_nor_break_a_table() {
    let hostile = ranging(key("\u{1b}[2J\u{202e}/1".as_bytes(), false));
    let long = ranging(key(("a".repeat(90_000) + "/1").as_bytes(), false));
    let nested = ranging(rpc::RangeResponse {
        kvs: [key("a/\u{1b}[2J\u{202e}/1".as_bytes(), false), key(b"a/1", false)]
            .into_iter()
            .flat_map(|it| it.kvs)
            .collect(),
        ..Default::default()
    });
    let named = rpc::Member { id: 7, name: "\u{1b}[2J\u{202e}".into(), ..Default::default() };
    let members = rpc::MemberListResponse { members: vec![named], ..Default::default() };
    let members = liar(move |path| match path {
        "/etcdserverpb.Cluster/MemberList" => message(&members),
        _ => UNKNOWN,
    });
    let refusal = liar(|_| Told::Refusal("3", "%1b[2J%e2%80%ae"));
    for (line, status, told) in [
        (format!("locks ls --endpoints {hostile}"), 0, "\\u{1b}[2J\\u{202e}"),
        (format!("locks ls --format json --endpoints {hostile}"), 0, "\\\\u{1b}[2J"),
        (format!("locks ls --endpoints {long}"), 0, "aaa"),
        (format!("locks ls --endpoints {nested}"), 0, "such as a/\\u{1b}[2J\\u{202e}"),
        (format!("member list --endpoints {members}"), 0, "\\u{1b}[2J\\u{202e}"),
        (format!("member remove x --endpoints {members}"), 2, "\\u{1b}[2J\\u{202e}"),
        (format!("locks ls --endpoints {refusal}"), 2, "\\u{1b}[2J\\u{202e}"),
    ] {
        let ended = tenure(&line);
        let both = [&ended.stdout[..], &ended.stderr].concat();
        let both = String::from_utf8(both).expect("text");
        let seen: String = both.chars().take(300).collect();
        assert_eq!(ended.status.code(), Some(status), "{line}: {seen}");
        let obeys = |letter: char| letter == '\u{202e}' || letter.is_control() && letter != '\n';
        assert!(both.contains(told) && !both.contains(obeys), "{line}: {seen}");
    }
}

#[test]
fn a_backup_without_end_ends_with_a_sentence_and_leaves_nothing() {
    let piece = rpc::SnapshotResponse { blob: vec![0; 30_000], ..Default::default() };
    let endless = liar(move |_| Told::Endless(framed(&piece)));
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("backup").display().to_string();
    let ended = tenure(&format!("snapshot save --max-size 1M --endpoints {endless} {file}"));
    let error = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(4), "{error}");
    assert!(error.contains("longer than --max-size allows, 1048576 bytes"), "{error}");
    assert_eq!(folder.path().read_dir().expect("a folder").count(), 0);
}
