//! Tests of bad timing: suspended members, slow disks, and changes of the leader.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::limits::metric;
use crate::member::{Files, Member, TIME_LIMIT, at_the_same_time, base64, eventually, post};
use crate::skipped::report_skip;
use crate::three::{HOUR, SOON, leader, start_led_by_first, start_with_timeouts};

/// Starts a thread that writes to a member until `stop` is set. The thread returns the responses of
/// the failed requests.
fn writer(address: SocketAddr, stop: Arc<AtomicBool>) -> JoinHandle<Vec<(u16, Value)>> {
    let put = json!({ "key": base64("a"), "value": base64("1") });
    std::thread::spawn(move || {
        let mut failed = Vec::new();
        while !stop.load(Ordering::Relaxed) {
            match post(address, "/v3/kv/put", &put) {
                Some((200, _)) => {}
                other => failed.push(other.unwrap_or_default()),
            }
        }
        failed
    })
}

/// Suspends a follower for longer than its election timeout while the leader keeps running. All
/// requests at this follower must succeed.
#[test]
fn requests_at_suspended_follower_succeed() {
    at_the_same_time([(); 2], |()| check_requests_at_suspended_follower());
}

fn check_requests_at_suspended_follower() {
    let files = Files::of(3);
    // The other members do not vote for the follower while the leader runs.
    let members = start_led_by_first(&files, [HOUR, SOON]);
    let (follower, term) = (&members[2], members[0].term());
    for _ in 0..4 {
        let stop = Arc::new(AtomicBool::new(false));
        let writers = [(); 3].map(|()| writer(follower.address, stop.clone()));
        std::thread::sleep(Duration::from_millis(100));
        follower.signal("STOP");
        std::thread::sleep(Duration::from_millis(500));
        follower.signal("CONT");
        std::thread::sleep(Duration::from_millis(200));
        stop.store(true, Ordering::Relaxed);
        let failed = writers.into_iter().flat_map(|it| it.join().expect("a writer"));
        let failed: Vec<_> = failed.collect();
        assert_eq!(failed, []);
        assert!(members.iter().all(|member| member.term() == term), "an election");
    }
}

/// Asks the leader for the remaining seconds of a lease; -1 if the lease has expired.
fn seconds_left(member: &Member, lease: &Value) -> i64 {
    let left = member.ask("/v3/lease/timetolive", &json!({ "ID": lease }));
    left["TTL"].as_str().and_then(|left| left.parse().ok()).unwrap_or(0)
}

/// Requests a lease with the time to live `ttl`. Returns the ID of the lease, and the time at which
/// the request was sent.
fn granted(member: &Member, ttl: u64) -> (Value, Instant) {
    let since = Instant::now();
    let granted = member.ask("/v3/lease/grant", &json!({ "TTL": ttl }));
    (granted["ID"].clone(), since)
}

/// Restarts the leader twice while a lease runs that the client does not renew. The next leader
/// must continue to count the lease. No time passes for the lease while there is no leader, so the
/// test compares the times that successive leaders report.
#[test]
fn lease_expires_on_time_across_handovers() {
    let (files, mut members) = Member::cluster();
    let (lease, since) = granted(&members[0], 8);
    // A change of the leader adds a second at most, and the response is rounded.
    for (before, after) in [(4, 6), (1, 3)] {
        eventually("time passes", || seconds_left(&members[0], &lease) <= before);
        let leads = leader(&members);
        members.remove(leads).terminate();
        members.insert(leads, files.start(leads));
        let left = seconds_left(&members[0], &lease);
        assert!(left <= after, "{left} s after {:?}", since.elapsed());
    }
    eventually("the lease has expired", || seconds_left(&members[0], &lease) < 0);
    assert!(since.elapsed() >= Duration::from_secs(8), "{:?}", since.elapsed());
}

/// Kills the leader after a third of a lease of 10 s. The next leader must continue from the
/// remaining time that was last recorded. The lease may therefore last longer than its time to
/// live, by at most a tenth.
#[test]
fn lease_does_not_restart_when_the_leader_crashes() {
    let (_files, mut members) = Member::cluster();
    let (lease, since) = granted(&members[0], 10);
    eventually("a third has passed", || seconds_left(&members[0], &lease) <= 6);
    let leads = leader(&members);
    members.remove(leads).kill();
    let (left, passed) = (seconds_left(&members[0], &lease), since.elapsed());
    assert!(left <= 6 + 1 + 1, "{left} s after {passed:?}");
    assert!(left + 1 + passed.as_secs() as i64 >= 10, "{left} s after {passed:?}: too early");
}

/// Asks the leader to hand over leadership to the next member. Returns true if the leader has done
/// so.
fn transfer_leadership(members: &[Member]) -> bool {
    let leads = leader(members);
    let target = json!({ "targetID": members[(leads + 1) % 3].id() });
    let response = post(members[leads].address, "/v3/maintenance/transfer-leadership", &target);
    response.is_some_and(|(status, _)| status == 200)
}

/// Renews a lease before each change of the leader. The new leader must count the full time of the
/// lease from this renewal, even if the last checkpoint is older.
#[test]
fn renewed_lease_survives_leader_changes() {
    at_the_same_time([(); 2], |()| check_renewed_lease());
}

fn check_renewed_lease() {
    // The longest time to live with which the leader makes a checkpoint each second.
    const TTL: u64 = 19;
    let (_files, members) = Member::cluster();
    let (lease, _) = granted(&members[0], TTL);
    for _ in 0..3 {
        std::thread::sleep(Duration::from_millis(1_500));
        let since = Instant::now();
        let renewed = members[1].ask("/v3/lease/keepalive", &json!({ "ID": lease }));
        assert_eq!(renewed["result"]["TTL"], TTL.to_string(), "{renewed}");
        eventually("another member leads", || transfer_leadership(&members));
        let (left, passed) = (seconds_left(&members[0], &lease), since.elapsed().as_secs());
        // Both numbers are rounded down.
        assert!(left + passed as i64 + 2 >= TTL as i64, "{left} s left after {passed} s");
    }
}

#[test]
fn lease_expires_despite_frequent_leader_changes() {
    let (_files, members) = Member::cluster();
    let (lease, since) = granted(&members[0], 3);
    let mut moves = 0;
    while seconds_left(&members[0], &lease) >= 0 {
        std::thread::sleep(Duration::from_millis(1_300));
        eventually("another member leads", || transfer_leadership(&members));
        moves += 1;
        assert!(since.elapsed() < TIME_LIMIT, "the lease exists after {moves} moves");
    }
    assert!(since.elapsed() >= Duration::from_secs(3), "after {moves} moves");
}

/// Child process that makes each flush of a member take five seconds longer. It ends when this
/// value is dropped.
struct SlowDisk(std::process::Child);

impl SlowDisk {
    /// Slows down a member. If this is impossible on this machine, prints a message and returns
    /// `None`.
    fn of(member: &Member) -> Option<SlowDisk> {
        let delay = "inject=fdatasync,fsync:delay_enter=5000000";
        let id = member.process_id().to_string();
        let mut strace = Command::new("strace");
        strace.args(["-f", "-e", "trace=fdatasync,fsync", "-e", delay, "-o", "/dev/null"]);
        let Ok(strace) = strace.args(["-p", &id]).stderr(Stdio::piped()).spawn() else {
            report_skip("strace");
            return None;
        };
        let mut slow = SlowDisk(strace);
        let mut line = String::new();
        let mut errors = BufReader::new(slow.0.stderr.take().expect("its errors"));
        errors.read_line(&mut line).expect("a line");
        if !line.contains("attached") {
            report_skip(&format!("the right to trace a process: {}", line.trim_end()));
            return None;
        }
        Some(slow)
    }
}

impl Drop for SlowDisk {
    fn drop(&mut self) {
        let _ = (self.0.kill(), self.0.wait());
    }
}

/// Slows down the disk of the leader, and in another run the disks of both followers. Each flush
/// then takes longer than the election timeout. No election begins, because the members still
/// exchange heartbeats.
#[test]
fn slow_disks_cause_no_election() {
    at_the_same_time([true, false], check_slow_disks);
}

/// Slows down the disk of the leader or the disks of both followers, and checks that the leader
/// stays.
fn check_slow_disks(at_the_leader: bool) {
    // A busy machine must not cause an election either.
    let (_files, members) = start_with_timeouts([3_000; 3]);
    members[0].put("a", "1");
    let (leads, term) = (leader(&members), members[0].term());
    let slow: Vec<&Member> = (0..3)
        .filter(|member| (*member == leads) == at_the_leader)
        .map(|member| &members[member])
        .collect();
    let slowed: Option<Vec<_>> = slow.iter().map(|it| SlowDisk::of(it)).collect();
    let Some(slowed) = slowed else { return };
    let saves = |member: &&Member| metric(member.address, "tenure_saves_total");
    let before: Vec<u64> = slow.iter().map(saves).collect();
    // The write may time out on a busy machine. The test only requires that the leader stays.
    let put = json!({ "key": base64("a"), "value": base64("2") });
    let _ = post(members[leads].address, "/v3/kv/put", &put);
    eventually("each has flushed slowly", || {
        slow.iter().map(saves).zip(&before).all(|(now, before)| now > *before)
    });
    drop(slowed);
    eventually("the write is committed", || members[leads].get("a") == Some(base64("2")));
    assert_eq!(members[leads].term(), term, "no election");
}
