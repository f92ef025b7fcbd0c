//! Nested names: `a` and `a/b` are independent locks, although their keys share a range.

use tenure_client::{ElectionState, Session};

use crate::service::{Service, joined, spawn_with, within};

async fn lock(session: &Session, name: &str) -> u64 {
    let guard = within(session.lock(name)).await.expect("the lock");
    let fence = guard.fence();
    guard.release().await.expect("released");
    fence
}

#[tokio::test]
async fn lock_ignores_claims_of_nested_names() {
    let (service, [one, other]) = Service::with_sessions().await;
    let mut held = Vec::new();
    // More keys than one read returns.
    for number in 0..30 {
        held.push(one.lock(&format!("a/{number}/b")).await.expect("the lock"));
    }
    lock(&other, "a").await;
    let free = within(other.try_lock("a")).await.expect("an answer");
    let guard = free.expect("it is free");
    for number in 30..60 {
        held.push(one.lock(&format!("a/{number}/b")).await.expect("the lock"));
    }
    assert!(one.try_lock("a").await.expect("an answer").is_none(), "another session holds it");
    let waits = spawn_with(&one, |one| async move { one.lock("a").await });
    // 60 nested claims, the holder, and the waiter.
    service.wait_for_keys(62).await;
    held.truncate(10);
    lock(&other, "a/9").await;
    lock(&other, "a/9/b/c").await;
    assert!(!waits.is_finished(), "it waits for its own lock");
    let fence = guard.fence();
    guard.release().await.expect("released");
    let next = joined(waits).await.expect("the lock");
    assert!(next.fence() > fence);
}

#[tokio::test]
async fn lock_ignores_nested_keys_of_one_revision() {
    let (service, [session]) = Service::with_sessions().await;
    // Creates the keys `a/0/x` to `a/5/x` in a single revision.
    let keys = ["YS8wL3g=", "YS8xL3g=", "YS8yL3g=", "YS8zL3g=", "YS80L3g=", "YS81L3g="];
    let puts = keys.map(|key| format!(r#"{{"requestPut":{{"key":"{key}","value":"MQ=="}}}}"#));
    service.post("/v3/kv/txn", &format!(r#"{{"success":[{}]}}"#, puts.join(","))).await;
    lock(&session, "a").await;
    let free = within(session.try_lock("a")).await.expect("an answer");
    assert!(free.is_some());
}

#[tokio::test]
async fn observer_ignores_nested_elections() {
    let (service, [one, other]) = Service::with_sessions().await;
    let mut held = Vec::new();
    for number in 0..20 {
        held.push(one.campaign(&format!("boss/{number}"), "below").await.expect("the leadership"));
    }
    let mut observer = service.client().await.election_observer("boss");
    let mut see = async || within(observer.next_state()).await.expect("news");
    assert_eq!(see().await, ElectionState::NoLeader);
    held.push(one.campaign("boss/more", "below").await.expect("the leadership"));
    let leading = other.campaign("boss", "self").await.expect("the leadership");
    assert!(matches!(see().await, ElectionState::Leader { fence, .. } if fence == leading.fence()));
    leading.resign().await.expect("resigned");
    assert_eq!(see().await, ElectionState::NoLeader);
}

/// Requests the lock `a` from the lock service of the server while a client holds the lock `a/b`.
/// Asserts that the server grants `a` only after the release of `a/b`. The lock service of etcd
/// treats all keys below a name as one queue.
#[tokio::test]
async fn server_side_lock_waits_for_nested_names() {
    let (service, [one, other]) = Service::with_sessions().await;
    let below = one.lock("a/b").await.expect("the lock");
    let request = format!(r#"{{"name":"YQ==","lease":"{}"}}"#, other.id());
    let waits = async { service.post("/v3/lock/lock", &request).await };
    let watches = async {
        service.wait_for_keys(2).await;
        // The claim is the only one in the queue of `a`, and it waits.
        let queue = one.try_lock("a").await.expect("an answer");
        assert!(queue.is_none(), "the claim of the other client is ahead");
        below.release().await.expect("released");
    };
    let (response, ()) = within(async { tokio::join!(waits, watches) }).await;
    assert!(response.contains(" 200 "), "{response}");
}
