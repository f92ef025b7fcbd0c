//! Tests of complaints 7, 9, 10, 22 and 23: leases that end too early, too late, or never.

use std::process::Command;
use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use tenure_client::Client;

use crate::cluster::Cluster;
use crate::server::{
    ENDING, LONG, RENEWED, Server, at_each_server, at_the_same_time, block_on, in_time, servers,
    until,
};
use crate::skipped::report_skip;

#[test]
fn complaint_09_lock_is_free_at_once_after_the_command() {
    for server in servers() {
        assert_eq!(server.run("lock --ttl 600s a", "exit 3"), Some(3));
        assert_eq!(server.leases(), 0, "{}", server.name());
        assert_eq!(server.run("lock --try a", "exit 4"), Some(4));
    }
    // Control: `etcdctl` does not revoke its lease, so the test finds a remaining lease.
    let server = Server::tenure();
    let mut etcdctl = Command::new("etcdctl");
    etcdctl.env("ETCDCTL_API", "3").args(["--endpoints", &server.url(), "lock", "a", "true"]);
    match etcdctl.output() {
        Ok(_) => assert_eq!(server.leases(), 1, "etcdctl leaves its lease behind"),
        Err(_) => report_skip("etcdctl"),
    }
}

/// Two leases are granted at the same time: a short lease of 3 s, and a long lease of 10 s. The
/// short lease must end before the long lease. In the complaint, the server kept the short lease
/// several times as long as requested.
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
        let line = "lock --ttl 3s --grace 100ms a";
        let (mut holder, _) = server.running(line, "echo up; exec sleep 600");
        holder.kill();
        assert_eq!(server.run("lock --timeout 150s a", "exit 3"), Some(3), "{}", server.name());
    });
}

#[test]
fn complaint_23_lock_outlasts_its_lease_while_the_command_runs() {
    at_each_server(|server| {
        let line = format!("lock --ttl {}s --grace 100ms a", RENEWED.as_secs());
        let (holder, _) = server.running(&line, "echo up; exec sleep 600");
        // Waits until the lease of the holder would have expired without renewals. To measure this
        // time, the test grants another lease, which begins later and lasts longer.
        let reference = server.grant(RENEWED * 4 / 3);
        until("the reference has ended", || !server.has_lease(&reference));
        assert_eq!(server.run("lock --try a", "true"), Some(120), "{}", server.name());
        holder.signal(Signal::TERM);
        assert_eq!(holder.wait().0, Some(143));
    });
}

/// Suspends the leader for longer than a lease lasts. A client keeps its lease, because it renews
/// the lease at the other two members. The test runs twice: with the first leader of the cluster,
/// and with a later leader.
#[test]
fn complaint_07_suspended_leader_ends_no_lease() {
    at_the_same_time([false, true], |is_successor| {
        block_on(suspended_leader_ends_no_lease(is_successor));
    });
}

/// Time to live of the lease in the test of complaint 7. While the leader is suspended, the client
/// needs some seconds of this time to find another member.
const SEARCHED: Duration = Duration::from_secs(20);

async fn suspended_leader_ends_no_lease(is_successor: bool) {
    let cluster = Cluster::start();
    let client = Client::connect(cluster.endpoints()).await.expect("a client");
    let session = in_time(client.session(SEARCHED)).await.expect("a session");
    let guard = session.lock("a").await.expect("the lock");
    if is_successor {
        replace_leader(&cluster);
    }
    let leader = cluster.leader();
    cluster.signal(leader, Signal::STOP);
    tokio::time::sleep(SEARCHED + Duration::from_millis(300)).await;
    assert_eq!(session.loss_reason(), None, "it is renewed at the new leader");
    cluster.signal(leader, Signal::CONT);
    until("the member follows", || cluster.follows(leader).is_some_and(|it| it != leader));
    // If the lease had ended, the key of the lock would be gone, and the lock would be free.
    let other = in_time(client.session(LONG)).await.expect("a session");
    assert!(other.try_lock("a").await.expect("a response").is_none());
    assert!(guard.deadline().is_some());
}

/// Suspends the leader for short times, until another member leads.
fn replace_leader(cluster: &Cluster) {
    let leader = cluster.leader();
    until("another member leads", || {
        cluster.signal(leader, Signal::STOP);
        thread::sleep(Duration::from_secs(1));
        cluster.signal(leader, Signal::CONT);
        thread::sleep(Duration::from_millis(200));
        cluster.follows(leader).is_some_and(|it| it != leader)
    });
}
