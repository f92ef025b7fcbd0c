//! Members that are late: stopped for a while, behind slow disks, or followed by another leader.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};

use crate::member::{Files, Member, base64, post};
use crate::three::{leader, started};

/// Writes to a member until it is told to stop, and returns the requests that failed.
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

/// The follower is stopped for longer than it waits for a leader. The leader never goes away, so
/// requests that were passed on to it are answered. A round in which the load of the machine led to
/// an election proves nothing.
#[test]
fn requests_at_a_stopped_follower_succeed_while_the_term_lasts() {
    let files = Files::of(3);
    let members = started(&files, [600; 3]);
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
