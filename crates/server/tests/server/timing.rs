//! Slow members: suspended, with slow disks, or with changes of the leader.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::member::{Files, Member, base64, eventually, post};
use crate::three::{leader, start_with_timeouts};

/// Writes to a member until `stop` is set, and returns the failed requests.
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

/// The follower is suspended for longer than its election timeout. The leader keeps running, so
/// forwarded requests succeed. The test does not count rounds in which the load of the machine
/// causes an election.
#[test]
fn requests_at_suspended_follower_succeed() {
    let files = Files::of(3);
    let members = start_with_timeouts(&files, [600; 3]);
    members[0].put("a", "0");
    let mut calm = 0;
    for _ in 0..30 {
        let (leads, term) = (leader(&members), members[0].term());
        let follower = &members[(leads + 1) % 3];
        let stop = Arc::new(AtomicBool::new(false));
        let writers = [(); 3].map(|()| writer(follower.address, stop.clone()));
        std::thread::sleep(Duration::from_millis(100));
        follower.signal("STOP");
        std::thread::sleep(Duration::from_millis(1_000));
        follower.signal("CONT");
        std::thread::sleep(Duration::from_millis(200));
        stop.store(true, Ordering::Relaxed);
        let failed = writers.into_iter().flat_map(|it| it.join().expect("a writer"));
        let failed: Vec<_> = failed.collect();
        if members.iter().all(|member| member.term() == term) {
            assert_eq!(failed, [], "in term {term}");
            calm += 1;
        }
        if calm == 8 {
            return;
        }
    }
    panic!("{calm} rounds without an election");
}

/// Asks the leader for the remaining seconds of a lease; -1 if the lease has expired.
fn seconds_left(member: &Member, lease: &Value) -> i64 {
    let left = member.ask("/v3/lease/timetolive", &json!({ "ID": lease }));
    left["TTL"].as_str().and_then(|left| left.parse().ok()).unwrap_or(0)
}

fn granted(member: &Member, ttl: u64) -> (Value, Instant) {
    let granted = member.ask("/v3/lease/grant", &json!({ "TTL": ttl }));
    (granted["ID"].clone(), Instant::now())
}

/// Upper bound on the duration of an election on a busy machine.
const MAX_ELECTION_TIME: Duration = Duration::from_secs(4);

/// The client does not renew the lease. Without checkpoints each leader would start again from ten
/// seconds.
#[test]
fn lease_expires_on_time_across_handovers() {
    let files = Files::of(3);
    let mut members: Vec<Member> = files.files.iter().map(|file| Member::start(file)).collect();
    let (lease, since) = granted(&members[0], 10);
    for _ in 0..2 {
        std::thread::sleep(Duration::from_secs(4));
        let leads = leader(&members);
        members.remove(leads).terminate();
        members.insert(leads, Member::start(&files.files[leads]));
        let leads = leader(&members);
        let left = seconds_left(&members[leads], &lease);
        let most = Duration::from_secs(10 + 2) + MAX_ELECTION_TIME
            - since.elapsed().min(Duration::from_secs(10));
        assert!(left <= most.as_secs() as i64, "{left} s after {:?}", since.elapsed());
    }
    eventually("the lease has expired", || seconds_left(&members[0], &lease) < 0);
    // Each of the two handovers adds a second at most, besides the time without a leader.
    assert!(since.elapsed() >= Duration::from_secs(10), "{:?}", since.elapsed());
    assert!(
        since.elapsed() <= Duration::from_secs(12) + 2 * MAX_ELECTION_TIME,
        "{:?}",
        since.elapsed()
    );
}

/// Half of a long lease has passed when the leader crashes. The next leader may count a tenth of
/// the lease again.
#[test]
fn lease_does_not_restart_when_the_leader_crashes() {
    let files = Files::of(3);
    let mut members: Vec<Member> = files.files.iter().map(|file| Member::start(file)).collect();
    let (lease, since) = granted(&members[0], 20);
    let leads = leader(&members);
    let noted = || seconds_left(&members[leads], &lease) <= 13;
    eventually("a third has passed", noted);
    members.remove(leads).kill();
    let leads = leader(&members);
    let (left, passed) = (seconds_left(&members[leads], &lease), since.elapsed());
    assert!(left <= 13 + 2 + 1, "{left} s after {passed:?}");
    assert!(left + 1 + passed.as_secs() as i64 >= 20, "{left} s after {passed:?}: too early");
}

/// The client renews the lease all the time, even when the last checkpoint is old.
#[test]
fn renewed_lease_survives_leader_changes() {
    let files = Files::of(3);
    let members: Vec<Member> = files.files.iter().map(|file| Member::start(file)).collect();
    let (lease, _) = granted(&members[0], 5);
    for _ in 0..6 {
        std::thread::sleep(Duration::from_millis(1_500));
        let renewed = members[1].ask("/v3/lease/keepalive", &json!({ "ID": lease }));
        assert_eq!(renewed["result"]["TTL"], "5", "{renewed}");
        let leads = leader(&members);
        let status = members[(leads + 1) % 3].ask("/v3/maintenance/status", &json!({}));
        let target = json!({ "targetID": status["header"]["member_id"] });
        let _ = post(members[leads].address, "/v3/maintenance/transfer-leadership", &target);
    }
    assert!(seconds_left(&members[0], &lease) > 0);
}

/// The client does not renew the lease. Leadership moves more than once within the lease.
#[test]
fn lease_expires_despite_frequent_leader_changes() {
    let files = Files::of(3);
    let members: Vec<Member> = files.files.iter().map(|file| Member::start(file)).collect();
    let (lease, since) = granted(&members[0], 4);
    let mut moves = 0;
    while seconds_left(&members[0], &lease) >= 0 {
        std::thread::sleep(Duration::from_millis(1_300));
        let leads = leader(&members);
        let status = members[(leads + 1) % 3].ask("/v3/maintenance/status", &json!({}));
        let target = json!({ "targetID": status["header"]["member_id"] });
        let moved = post(members[leads].address, "/v3/maintenance/transfer-leadership", &target);
        moves += u32::from(moved.is_some_and(|(status, _)| status == 200));
        assert!(since.elapsed() < Duration::from_secs(60), "the lease exists after {moves} moves");
    }
    assert!(since.elapsed() >= Duration::from_secs(4));
    let most = Duration::from_secs(5) + moves * (Duration::from_secs(1) + MAX_ELECTION_TIME);
    assert!(since.elapsed() <= most, "{:?} with {moves} moves", since.elapsed());
}

/// Makes each flush of a member take four seconds longer, until this value is dropped.
struct SlowDisk(std::process::Child);

impl SlowDisk {
    fn of(member: &Member) -> Option<SlowDisk> {
        let delay = "inject=fdatasync,fsync:delay_enter=4000000";
        let id = member.id().to_string();
        let mut strace = Command::new("strace");
        strace.args(["-f", "-e", "trace=fdatasync,fsync", "-e", delay, "-o", "/dev/null"]);
        let strace = strace.args(["-p", &id]).stderr(Stdio::piped()).spawn();
        let mut slow = SlowDisk(strace.ok()?);
        let mut line = String::new();
        BufReader::new(slow.0.stderr.take()?).read_line(&mut line).ok()?;
        line.contains("attached").then_some(slow)
    }
}

impl Drop for SlowDisk {
    fn drop(&mut self) {
        let _ = (self.0.kill(), self.0.wait());
    }
}

/// Each flush takes longer than the election timeout, at the leader or at both followers. They
/// still exchange heartbeats.
#[test]
fn slow_disks_cause_no_election() {
    let files = Files::of(3);
    let members = start_with_timeouts(&files, [1_500; 3]);
    members[0].put("a", "1");
    for at_the_leader in [true, false] {
        let (leads, term) = (leader(&members), members[0].term());
        let slowed = (0..3).filter(|member| (*member == leads) == at_the_leader);
        let slowed: Option<Vec<_>> = slowed.map(|it| SlowDisk::of(&members[it])).collect();
        let Some(slowed) = slowed else {
            return eprintln!("skipped: needs strace, and the right to trace a process");
        };
        for value in ["2", "3"] {
            // The write may time out on a busy machine. The test only requires that the leader
            // stays.
            let put = json!({ "key": base64("a"), "value": base64(value) });
            let _ = post(members[leads].address, "/v3/kv/put", &put);
        }
        drop(slowed);
        eventually("the write is committed", || members[leads].get("a") == Some(base64("3")));
        assert_eq!(members[leads].term(), term, "no election");
    }
}
