//! Tests with a service that sends malformed responses. Commands detect them in bounded memory.

use std::net::TcpListener;
use std::process::{Command, Output};

use prost::Message;
use tenure_etcd::etcdserverpb as rpc;
use tenure_etcd::mvccpb::KeyValue;

use crate::malformed_grpc::{Reply, UNKNOWN, framed, serve_bytes, serve_replies};
use crate::shell::assert_fails_with;

fn tenure(line: &str) -> Output {
    // The shell limits the memory of the command.
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -v 2000000; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_tenure")]);
    command.args(line.split_whitespace()).output().expect("the command starts")
}

fn message(message: &impl Message) -> Reply {
    Reply::Message(framed(message))
}

/// Returns the response to a range request, with one key. If `more` is true, the response states
/// that there are further keys.
fn key(key: &[u8], more: bool) -> rpc::RangeResponse {
    let kv =
        KeyValue { key: key.to_vec(), create_revision: i64::MAX, lease: 1, ..Default::default() };
    rpc::RangeResponse { kvs: vec![kv], more, ..Default::default() }
}

/// Starts a service that responds to each range request with `range`. Each lease has a few seconds
/// left.
fn ranging(range: rpc::RangeResponse) -> String {
    let left = rpc::LeaseTimeToLiveResponse { ttl: 9, granted_ttl: 9, ..Default::default() };
    serve_replies(move |path| match path {
        "/etcdserverpb.KV/Range" => message(&range),
        "/etcdserverpb.Lease/LeaseTimeToLive" => message(&left),
        _ => UNKNOWN,
    })
}

/// Starts a server that accepts connections and closes them at once. Returns its address.
fn closing() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    std::thread::spawn(move || listener.incoming().for_each(drop));
    address
}

#[test]
fn endless_response_ends_with_one_line() {
    let whole = |reply: Reply| serve_replies(move |_| reply.clone());
    let huge = [&[0, 0xff, 0xff, 0xff, 0xff][..], &[0; 1 << 14]].concat();
    let torn = [&[0, 0, 0, 0, 2][..], &[0x0a, 0x7f]].concat();
    for (address, reply) in [
        (whole(Reply::Endless(huge)), "message length too large"),
        (whole(Reply::Trickling(framed(&key(b"a/1", false)))), "no response from"),
        (whole(Reply::Message(torn)), "failed to decode"),
        (ranging(key(b"a/1", true)), "not sorted"),
        (closing(), "it closed the connection"),
        (serve_bytes(b"HTTP/1.0 200 OK\r\n\r\n", b"a: b\r\n"), "it speaks HTTP/1 only"),
        (serve_bytes(b"SSH-2.0-OpenSSH\r\n", b"a"), "it does not speak HTTP/2"),
        (serve_bytes(&[21, 3, 3, 0, 2, 2, 70], b""), "it speaks TLS: use https://"),
    ] {
        assert_fails_with(&tenure(&format!("locks ls --endpoints {address}")), 4, reply);
    }
}

#[test]
fn control_characters_in_names_are_escaped() {
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
    let members = serve_replies(move |path| match path {
        "/etcdserverpb.Cluster/MemberList" => message(&members),
        _ => UNKNOWN,
    });
    let refusal = serve_replies(|_| Reply::Refusal("3", "%1b[2J%e2%80%ae"));
    for (line, status, reply) in [
        (format!("locks ls --endpoints {hostile}"), 0, "\\u{1b}[2J\\u{202e}"),
        (format!("locks ls --format json --endpoints {hostile}"), 0, "\"\\u001b[2J\\u202e"),
        (format!("locks ls --endpoints {long}"), 0, "aaa"),
        (format!("locks ls --endpoints {nested}"), 0, "such as a/\\u{1b}[2J\\u{202e}"),
        (format!("member list --endpoints {members}"), 0, "\\u{1b}[2J\\u{202e}"),
        (format!("member remove x --endpoints {members}"), 2, "\\u{1b}[2J\\u{202e}"),
        (format!("locks ls --endpoints {refusal}"), 2, "\\u{1b}[2J\\u{202e}"),
    ] {
        let ended = tenure(&line);
        let both = [&ended.stdout[..], &ended.stderr].concat();
        let both = String::from_utf8(both).expect("text");
        let observed: String = both.chars().take(300).collect();
        assert_eq!(ended.status.code(), Some(status), "{line}: {observed}");
        let obeys = |letter: char| letter == '\u{202e}' || letter.is_control() && letter != '\n';
        assert!(both.contains(reply) && !both.contains(obeys), "{line}: {observed}");
    }
}

#[test]
fn endless_backup_ends_with_one_line_and_no_file() {
    let piece = rpc::SnapshotResponse { blob: vec![0; 30_000], ..Default::default() };
    let endless = serve_replies(move |_| Reply::Endless(framed(&piece)));
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("backup").display().to_string();
    let ended = tenure(&format!("snapshot save --max-size 1M --endpoints {endless} {file}"));
    let error = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(4), "{error}");
    assert!(error.contains("exceeds --max-size 1048576 bytes"), "{error}");
    assert_eq!(folder.path().read_dir().expect("a folder").count(), 0);
}
