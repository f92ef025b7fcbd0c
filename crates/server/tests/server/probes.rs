//! Health probes, as in etcd 3.6.

use crate::limits::metric;
use crate::member::{Files, Member, at_the_same_time, base64, eventually, get};

#[test]
fn member_without_leader_is_alive_but_not_ready() {
    // The checks run in parallel: without a leader, a probe that reads takes seconds to fail.
    let checks: [fn(); 2] = [check_after_crash_of_leader, check_after_cold_start];
    at_the_same_time(checks, |check| check());
}

/// Starts two of three members, and waits until both have applied a write.
fn two_of_three() -> (Files, Vec<Member>) {
    let files = Files::of(3);
    let members = vec![files.start(0), files.start(1)];
    members[0].put("a", "1");
    assert_eq!(members[1].get("a"), Some(base64("1")));
    (files, members)
}

fn check_after_crash_of_leader() {
    let (_files, mut members) = two_of_three();
    let address = members[1].address;
    let healthy = (200, r#"{"health":"true","reason":""}"#.to_owned());
    let ok = (200, "ok\n".to_owned());
    let all = "[+]data_corruption ok\n[+]serializable_read ok\n[+]linearizable_read ok\nok\n";
    for (path, expected) in [
        ("/health", &healthy),
        ("/health?serializable=true", &healthy),
        ("/health?exclude=NOSPACE", &healthy),
        ("/livez", &ok),
        ("/readyz", &ok),
        ("/readyz/linearizable_read", &ok),
        ("/livez?exclude=other", &ok),
        ("/readyz?verbose", &(200, all.to_owned())),
    ] {
        // A busy machine may cause an election, during which the member is not ready.
        eventually(path, || get(address, path) == *expected);
    }
    members.remove(0).kill();
    // A probe that reads waits for a leader up to its time limit, so the test first waits for the
    // metric.
    eventually("no leader is known", || metric(address, "etcd_server_has_leader") == 0);
    let unhealthy = (503, r#"{"health":"false","reason":"RAFT NO LEADER"}"#.to_owned());
    assert_eq!(get(address, "/health"), unhealthy);
    let (status, why) = get(address, "/readyz");
    assert_eq!(status, 503, "{why}");
    let failed = "[-]linearizable_read failed: etcdserver: no leader\n";
    assert!(why.starts_with("[+]data_corruption ok\n") && why.ends_with(failed), "{why}");
    assert_eq!(get(address, "/readyz?exclude=linearizable_read").0, 200);
    assert_eq!(get(address, "/health?serializable=true"), healthy);
    let alive = "[+]serializable_read ok\nok\n";
    assert_eq!(get(address, "/livez?verbose"), (200, alive.to_owned()));
}

/// Checks the probes of a member that waits for its peers after a cold start.
fn check_after_cold_start() {
    let (files, members) = two_of_three();
    members.into_iter().for_each(Member::kill);
    let member = files.start(0);
    assert_eq!(get(member.address, "/livez").0, 200);
    assert_eq!(get(member.address, "/health?serializable=true").0, 200);
    at_the_same_time(["serializable_read", "linearizable_read"], |check| {
        let failed = format!("[-]{check} failed: etcdserver: no leader\n");
        assert_eq!(get(member.address, &format!("/readyz/{check}")), (503, failed));
    });
}

#[test]
fn probe_rejects_unknown_query_parameters() {
    let (_files, member) = Member::single();
    let (status, why) = get(member.address, "/health?serialisable=true");
    let expected = "unknown query parameter 'serialisable': expected exclude or serializable\n";
    assert_eq!((status, why.as_str()), (400, expected));
    assert_eq!(get(member.address, "/livez?serializable=true").0, 400);
    assert_eq!(get(member.address, "/livez/other").0, 404);
}
