//! Tests of commands with endpoints that do not respond. The command uses an endpoint that
//! responds, or prints the problem.

use std::net::TcpListener;

use crate::hold::signal;
use crate::member::Member;
use crate::shell::{assert_fails_with, tenure};

/// Number of silent endpoints in the list of a command, before the endpoint of a member.
///
/// An endpoint is considered unresponsive after 2 s. A call has a time limit of 15 s. If the call
/// waited for all silent endpoints in turn, it would therefore fail.
const SILENT_ENDPOINTS: usize = 10;

/// Opens a port that accepts connections but never responds. The port of a stopped server process
/// behaves in the same way, because the kernel accepts the connections. Returns the listener and
/// its address.
fn silent_endpoint() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    (listener, address)
}

#[test]
fn mute_endpoint_does_not_hold_up_a_command() {
    let folder = tempfile::tempdir().expect("a folder");
    let member = Member::start_in(folder.path());
    member.ask("/v3/kv/put", &serde_json::json!({ "key": "YQ==", "value": "MQ==" }));
    let mute: Vec<_> = (0..SILENT_ENDPOINTS).map(|_| silent_endpoint()).collect();
    let first: Vec<&str> = mute.iter().map(|(_, address)| &**address).collect();
    let endpoints = format!("--endpoints {},{}", first.join(","), member.address);
    let backup = folder.path().join("backup").display().to_string();
    std::thread::scope(|scope| {
        for line in ["locks ls", "member list", &format!("snapshot save {backup}")] {
            let command = format!("{line} {endpoints}");
            scope.spawn(move || {
                let ended = tenure(&command);
                let error = String::from_utf8_lossy(&ended.stderr);
                assert!(ended.status.success(), "{command}: {error}");
            });
        }
    });
}

#[test]
fn stopped_member_alone_is_reported() {
    let folder = tempfile::tempdir().expect("a folder");
    let member = Member::start_in(folder.path());
    let id = member.process.id().to_string();
    assert!(signal("-STOP", &id));
    for line in ["locks ls", "member list"] {
        let ended = tenure(&format!("{line} --endpoints {}", member.address));
        assert_fails_with(&ended, 4, "it does not respond within");
    }
    assert!(signal("-CONT", &id));
    let both = format!("http://127.0.0.1:1,{}", member.address);
    let ended = tenure(&format!("locks ls --endpoints {both}"));
    assert!(ended.status.success(), "{ended:?}");
    let none = tenure("locks ls --endpoints http://127.0.0.1:1,http://127.0.0.1:2");
    assert_fails_with(&none, 4, "127.0.0.1:1: Connection refused");
    assert_fails_with(&none, 4, "127.0.0.1:2: Connection refused");
}
