//! Tests of complaints 7, 9, 10, 22 and 23: leases that end too early, too late, or never.

use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;
use tenure_client::Client;

use crate::cluster::Cluster;
use crate::server::{ENDING, LONG, RENEWED, Server, at_each_server, in_time, servers, until};

#[test]
fn complaint_09_lock_is_free_at_once_after_the_command() {
    for server in servers() {
        assert_eq!(server.run("lock --ttl 600s a", "exit 3"), Some(3));
        assert_eq!(server.leases(), 0, "{}", server.name());
        assert_eq!(server.run("lock --try a", "exit 4"), Some(4));
    }
    // Control.
    let server = Server::tenure();
    let mut etcdctl = Command::new("etcdctl");
    etcdctl.env("ETCDCTL_API", "3").args(["--endpoints", &server.url(), "lock", "a", "true"]);
    match etcdctl.output() {
        Ok(_) => assert_eq!(server.leases(), 1, "etcdctl leaves its lease behind"),
        Err(_) => eprintln!("skipped: needs etcdctl"),
    }
}

/// Two leases are granted at the same time, one of 4 s and one of 14 s. The short lease must end
/// before the long one. In the complaint, the server kept the short lease several times as long as
/// it should.
#[test]
fn complaint_10_short_lease_ends_before_long_lease() {
    at_each_server(|server| {
        let (short, long) = (server.grant(ENDING), server.grant(ENDING * 7 / 2));
        until("the short lease has ended", || {
            let is_there = server.has_lease(&long);
            assert!(is_there || server.has_lease(&short), "{}: it ended last", server.name());
            !server.has_lease(&short)
        });
    });
}

#[test]
fn complaint_22_lock_of_a_killed_holder_becomes_free() {
    at_each_server(|server| {
        let line = "lock --ttl 4s --grace 100ms a";
        let (mut holder, _) = server.running(line, "echo up; exec sleep 600");
        holder.kill();
        assert_eq!(server.run("lock --timeout 150s a", "exit 3"), Some(3), "{}", server.name());
    });
}

#[test]
fn complaint_23_lock_outlasts_its_lease_while_the_command_runs() {
    at_each_server(|server| {
        let line = "lock --ttl 8s --grace 100ms a";
        let (holder, _) = server.running(line, "echo up; exec sleep 600");
        // The reference is a longer lease that is granted later and that no client renews.
        let reference = server.grant(RENEWED * 5 / 4);
        until("the reference has ended", || !server.has_lease(&reference));
        assert_eq!(server.run("lock --try a", "true"), Some(120), "{}", server.name());
        holder.signal(Signal::TERM);
        assert_eq!(holder.wait().0, Some(143));
    });
}

/// A lease that a client renews does not end because the leader was suspended. The suspension is
/// longer than the lease. The client renews the lease at the other two members in the meantime.
#[tokio::test(flavor = "multi_thread")]
async fn complaint_07_suspended_leader_ends_no_lease() {
    let cluster = Cluster::start();
    let client = Client::connect(cluster.endpoints()).await.expect("a client");
    let session = in_time(client.session(RENEWED)).await.expect("a session");
    let guard = session.lock("a").await.expect("the lock");
    for _ in 0..2 {
        let leader = cluster.leader();
        cluster.signal(leader, Signal::STOP);
        tokio::time::sleep(RENEWED + Duration::from_millis(300)).await;
        assert_eq!(session.end_reason(), None, "it is renewed at the new leader");
        cluster.signal(leader, Signal::CONT);
        until("the member follows", || cluster.follows(leader).is_some_and(|it| it != leader));
    }
    // Without its lease the key would be missing, and the lock would be free.
    let other = in_time(client.session(LONG)).await.expect("a session");
    assert!(other.try_lock("a").await.expect("a response").is_none());
    assert!(guard.deadline().is_some());
}
