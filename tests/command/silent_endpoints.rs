//! Endpoints without responses: a command tries the others, or names the problem.

use std::net::TcpListener;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::operating::Member;
use crate::shell::{assert_fails_with, tenure};

/// Longest time for three commands on a loaded machine. It is shorter than one command used to wait
/// for a silent endpoint.
const MUTE_LIMIT: Duration = Duration::from_secs(12);

/// Starts a server that accepts connections and never responds, as the kernel does for a stopped
/// process.
fn mute() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    (listener, address)
}

fn signal(member: &Member, name: &str) {
    let id = member.process.id().to_string();
    assert!(Command::new("kill").args([name, &id]).status().expect("kill").success());
}

#[test]
fn mute_endpoint_does_not_hold_up_a_command() {
    let folder = tempfile::tempdir().expect("a folder");
    let member = Member::start(&format!("--data-dir {}", folder.path().join("data").display()));
    member.ask("/v3/kv/put", &serde_json::json!({ "key": "YQ==", "value": "MQ==" }));
    let mute: Vec<_> = (0..3).map(|_| mute()).collect();
    let first: Vec<&str> = mute.iter().map(|(_, address)| &**address).collect();
    let endpoints = format!("--endpoints {},{}", first.join(","), member.address);
    let backup = folder.path().join("backup").display().to_string();
    let started = Instant::now();
    for line in ["locks ls", "member list", &format!("snapshot save {backup}")] {
        let ended = tenure(&format!("{line} {endpoints}"));
        assert!(ended.status.success(), "{line}: {}", String::from_utf8_lossy(&ended.stderr));
    }
    let took = started.elapsed();
    eprintln!("three commands, three mute endpoints before the member: {took:?}");
    assert!(took < MUTE_LIMIT, "{took:?}");
}

#[test]
fn stopped_member_alone_is_reported() {
    let folder = tempfile::tempdir().expect("a folder");
    let member = Member::start(&format!("--data-dir {}", folder.path().join("data").display()));
    signal(&member, "-STOP");
    for line in ["locks ls", "member list"] {
        let ended = tenure(&format!("{line} --endpoints {}", member.address));
        assert_fails_with(&ended, 4, "it does not respond within");
    }
    signal(&member, "-CONT");
    let both = format!("http://127.0.0.1:1,{}", member.address);
    let ended = tenure(&format!("locks ls --endpoints {both}"));
    assert!(ended.status.success(), "{ended:?}");
    let none = tenure("locks ls --endpoints http://127.0.0.1:1,http://127.0.0.1:2");
    assert_fails_with(&none, 4, "127.0.0.1:1: Connection refused");
    assert_fails_with(&none, 4, "127.0.0.1:2: Connection refused");
}
