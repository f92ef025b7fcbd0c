//! Tests of the errors of client commands: each error names its cause.

use serde_json::json;

use crate::hold::{Service, ended};
use crate::member::Member;
use crate::shell::{assert_fails_with, tenure, text};

const NO_SPACE: &str = "etcdserver: mvcc: database space exceeded";

/// Puts keys until the member rejects a key because its store is full.
fn fill(member: &Member) {
    for count in 0..100 {
        let put = json!({ "key": format!("a{count:03}"), "value": "x".repeat(1_000) });
        if member.post("/v3/kv/put", &put.to_string()).is_ok_and(|it| it.contains(NO_SPACE)) {
            return;
        }
    }
    panic!("all puts were accepted");
}

#[test]
fn full_store_is_reported_and_holders_lose_their_leases() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let member = format!("--quota-backend-bytes 8000 --data-dir {}", data.display());
    let service = Service::of(Member::start(&member), folder);
    let (holder, _) = service.running("lock held", "echo in; exec sleep 600");
    fill(&service.member);
    let at = format!("--endpoints {}", service.member.address);
    for line in ["lock --try z", "lock --timeout 100s z", "elect --timeout 100s z"] {
        let rejected = tenure(&format!("{line} {at} -- true"));
        assert_fails_with(&rejected, 120, &format!("`z` was not acquired: refused: {NO_SPACE};"));
    }
    let broken = text(&format!("locks break held --yes --wait 100s {at}"), 0);
    assert!(broken.contains(": lease ") && broken.ends_with(" revoked\n"), "{broken}");
    assert_eq!(ended(holder).0, 121);
}
