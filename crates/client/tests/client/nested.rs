//! Names that nest: `a` and `a/b` are locks of their own, though their keys lie in one range.

use tenure_client::{Office, Session};
use tokio::time::timeout;

use crate::service::{SOON, Service};

async fn lock(session: &Session, name: &str) -> u64 {
    let guard = timeout(SOON, session.lock(name)).await.expect("in time").expect("the lock");
    let fence = guard.fence();
    guard.release().await.expect("released");
    fence
}

#[tokio::test]
async fn a_lock_does_not_wait_for_those_named_below_it() {
    let service = Service::start().await;
    let (one, other) = (service.session().await, service.session().await);
    let mut held = Vec::new();
    // So many that one read does not show all of them.
    for number in 0..30 {
        held.push(one.lock(&format!("a/{number}/b")).await.expect("the lock"));
    }
    lock(&other, "a").await;
    let free = timeout(SOON, other.try_lock("a")).await.expect("in time").expect("an answer");
    let guard = free.expect("it is free");
    for number in 30..60 {
        held.push(one.lock(&format!("a/{number}/b")).await.expect("the lock"));
    }
    assert!(one.try_lock("a").await.expect("an answer").is_none(), "another session holds it");
    let waits = tokio::spawn({
        let one = one.clone();
        async move { one.lock("a").await }
    });
    // The claims below, the one that is held, and the one that waits.
    timeout(SOON, async { while service.keys().await < 62 {} }).await.expect("it queues");
    held.truncate(10);
    lock(&other, "a/9").await;
    lock(&other, "a/9/b/c").await;
    assert!(!waits.is_finished(), "it waits for its own lock");
    let fence = guard.fence();
    guard.release().await.expect("released");
    let next = timeout(SOON, waits).await.expect("in time").expect("no panic").expect("the lock");
    assert!(next.fence() > fence);
}

#[tokio::test]
async fn keys_that_one_transaction_puts_below_a_lock_do_not_hold_it_up() {
    let service = Service::start().await;
    let session = service.session().await;
    // All of one revision: "a/0/x" to "a/9/x".
    let keys = ["YS8wL3g=", "YS8xL3g=", "YS8yL3g=", "YS8zL3g=", "YS80L3g=", "YS81L3g="];
    let puts = keys.map(|key| format!(r#"{{"requestPut":{{"key":"{key}","value":"MQ=="}}}}"#));
    service.post("/v3/kv/txn", &format!(r#"{{"success":[{}]}}"#, puts.join(","))).await;
    lock(&session, "a").await;
    let free = timeout(SOON, session.try_lock("a")).await.expect("in time").expect("an answer");
    assert!(free.is_some());
}

#[tokio::test]
async fn an_observer_sees_nothing_of_elections_named_below() {
    let service = Service::start().await;
    let (one, other) = (service.session().await, service.session().await);
    let mut held = Vec::new();
    for number in 0..20 {
        held.push(one.campaign(&format!("boss/{number}"), "below").await.expect("the office"));
    }
    let mut observer = service.client().await.observe("boss");
    let mut see = async || timeout(SOON, observer.next()).await.expect("in time").expect("news");
    assert_eq!(see().await, Office::Vacant);
    held.push(one.campaign("boss/more", "below").await.expect("the office"));
    let leading = other.campaign("boss", "self").await.expect("the office");
    assert!(matches!(see().await, Office::Led { fence, .. } if fence == leading.fence()));
    leading.resign().await.expect("resigned");
    assert_eq!(see().await, Office::Vacant);
}

/// The lock service of the server answers clients of etcd, for which all keys below a name are one
/// queue.
#[tokio::test]
async fn the_lock_service_of_the_server_waits_for_names_below_as_etcd() {
    let service = Service::start().await;
    let (one, other) = (service.session().await, service.session().await);
    let below = one.lock("a/b").await.expect("the lock");
    let asked = format!(r#"{{"name":"YQ==","lease":"{}"}}"#, other.id());
    let waits = async { service.post("/v3/lock/lock", &asked).await };
    let watches = async {
        while service.keys().await < 2 {}
        // Its claim is first among those of its own name, and it waits.
        let queue = one.try_lock("a").await.expect("an answer");
        assert!(queue.is_none(), "the claim of the other client is ahead");
        below.release().await.expect("released");
    };
    let (told, ()) = timeout(SOON, async { tokio::join!(waits, watches) }).await.expect("in time");
    assert!(told.contains(" 200 "), "{told}");
}
