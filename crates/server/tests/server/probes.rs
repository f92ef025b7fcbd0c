//! Health probes, as in etcd 3.6.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use crate::member::{Files, Member, base64, eventually};

/// Sends a `GET`, and returns the HTTP status and the body.
pub(crate) fn get(address: SocketAddr, path: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).expect("a listener");
    write!(stream, "GET {path} HTTP/1.0\r\n\r\n").expect("an open connection");
    let mut response = String::new();
    stream.read_to_string(&mut response).expect("a response");
    let (head, body) = response.split_once("\r\n\r\n").expect("a head");
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
    (status.expect("a status"), body.to_owned())
}

#[test]
fn member_without_leader_is_alive_but_not_ready() {
    let files = Files::of(3);
    let mut members: Vec<Member> = files.files[..2].iter().map(|it| Member::start(it)).collect();
    members[0].put("a", "1");
    assert_eq!(members[1].get("a"), Some(base64("1")));
    let address = members[1].address;
    let healthy = (200, r#"{"health":"true","reason":""}"#.to_owned());
    for path in ["/health", "/health?serializable=true", "/health?exclude=NOSPACE"] {
        assert_eq!(get(address, path), healthy, "{path}");
    }
    for path in ["/livez", "/readyz", "/readyz/linearizable_read", "/livez?exclude=other"] {
        assert_eq!(get(address, path), (200, "ok\n".to_owned()), "{path}");
    }
    let all = "[+]data_corruption ok\n[+]serializable_read ok\n[+]linearizable_read ok\nok\n";
    assert_eq!(get(address, "/readyz?verbose"), (200, all.to_owned()));
    members.remove(0).kill();
    eventually("no leader is known", || get(address, "/health").0 == 503);
    let (_, why) = get(address, "/health");
    assert_eq!(why, r#"{"health":"false","reason":"RAFT NO LEADER"}"#);
    let (status, why) = get(address, "/readyz");
    assert_eq!(status, 503, "{why}");
    let failed = "[-]linearizable_read failed: etcdserver: no leader\n";
    assert!(why.starts_with("[+]data_corruption ok\n") && why.ends_with(failed), "{why}");
    assert_eq!(get(address, "/readyz?exclude=linearizable_read").0, 200);
    assert_eq!(get(address, "/health?serializable=true"), healthy);
    let alive = "[+]serializable_read ok\nok\n";
    assert_eq!(get(address, "/livez?verbose"), (200, alive.to_owned()));
    // A member that waits for its peers after a cold start.
    members.remove(0).kill();
    let member = Member::start(&files.files[0]);
    assert_eq!(get(member.address, "/livez").0, 200);
    assert_eq!(get(member.address, "/health?serializable=true").0, 200);
    assert_eq!(get(member.address, "/readyz").0, 503);
}

#[test]
fn probe_rejects_unknown_query_parameters() {
    let files = Files::single();
    let member = Member::start(&files.files[0]);
    let (status, why) = get(member.address, "/health?serialisable=true");
    let expected = "unknown query parameter 'serialisable': expected exclude or serializable\n";
    assert_eq!((status, why.as_str()), (400, expected));
    assert_eq!(get(member.address, "/livez?serializable=true").0, 400);
    assert_eq!(get(member.address, "/livez/other").0, 404);
}
