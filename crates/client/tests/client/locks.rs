//! Locks and their queues.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tenure_client::{ClientError, Guard, LockMode, LockOptions, LossReason, Session};
use tokio::time::timeout;

use crate::relay::Relay;
use crate::service::{Service, base64, joined, spawn_with, within};

#[tokio::test]
async fn lock_is_granted_in_order_with_growing_fences() {
    let (_service, [one, other]) = Service::with_sessions().await;
    let first = one.lock("a").await.expect("the lock");
    assert!(other.try_lock("a").await.expect("an answer").is_none());
    let late = other.lock_within("a", Duration::from_millis(50)).await.expect("an answer");
    assert!(late.is_none());
    let waits = spawn_with(&other, |other| async move { other.lock("a").await });
    // A session queues behind its own claims.
    let again = one.lock_within("a", Duration::from_millis(50)).await.expect("an answer");
    assert!(again.is_none() && !waits.is_finished());
    let fence = first.fence();
    first.release().await.expect("released");
    let second = joined(waits).await.expect("the lock");
    assert!(second.fence() > fence);
    assert!(second.deadline().is_some());
    drop(second);
    let third = within(one.lock("a")).await.expect("the lock");
    third.release().await.expect("released");
    let free = other.try_lock("a").await.expect("an answer").expect("the lock is free");
    drop(free);
}

#[tokio::test]
async fn watch_ends_after_acquisition() {
    let (service, [one, other]) = Service::with_sessions().await;
    let mut held = one.lock("a").await.expect("the lock");
    for next in [&other, &one].into_iter().cycle().take(20) {
        let waits = spawn_with(next, |next| async move { next.lock("a").await });
        service.wait_for_watchers(1).await;
        held.release().await.expect("released");
        held = joined(waits).await.expect("the lock");
    }
    // A client that holds a lock watches no key.
    within(async { while service.watchers().await > 0 {} }).await;
}

/// Makes one client wait for a lock, and then another client wait in the same queue for leadership.
/// The test itself has written the first key of the queue. It announces the release of this key,
/// but does not delete the key. Asserts that the first client then acquires the lock, and that the
/// second client waits until all earlier keys are deleted.
#[tokio::test]
async fn lock_passes_at_release_and_leadership_at_deletion() {
    let service = Service::start().await;
    service.post("/v3/kv/put", r#"{"key":"YS8x"}"#).await;
    let made = service.revision().await;
    let (one, other) = (service.session().await, service.session().await);
    let locks = spawn_with(&one, |one| async move { one.lock("a").await });
    service.wait_for_watchers(1).await;
    let campaigns = spawn_with(&other, |other| async move { other.campaign("a", "me").await });
    // Each waiter watches its predecessor's key and its own.
    service.wait_for_watchers(4).await;
    let never = r#"{"key":"YS8x","target":"VERSION","version":"9"}"#;
    let released = |key: &str, revision: u64| {
        let delete = format!(r#"{{"key":"{key}","released":"{revision}"}}"#);
        format!(r#"{{"compare":[{never}],"success":[{{"request_delete_range":{delete}}}]}}"#)
    };
    service.post("/v3/kv/txn", &released("YS8x", made)).await;
    let lock = joined(locks).await.expect("the lock");
    assert!(!campaigns.is_finished() && service.keys().await == 3, "no key is deleted yet");
    let key = String::from_utf8(lock.key().to_vec()).expect("a name");
    assert!(key.starts_with("a/"), "{key}");
    lock.release().await.expect("released");
    assert!(!campaigns.is_finished(), "the predecessor still exists");
    service.post("/v3/kv/deleterange", r#"{"key":"YS8x"}"#).await;
    joined(campaigns).await.expect("the leadership").resign().await.expect("it resigns");
}

#[tokio::test]
async fn cancelled_waiter_leaves_the_queue() {
    let (service, [one, other, third]) = Service::with_sessions().await;
    let held = one.lock("a").await.expect("the lock");
    // The future is dropped while the request is sent, or after 100 ms.
    for moment in [0, 100] {
        let waits = other.lock("a");
        assert!(timeout(Duration::from_millis(moment), waits).await.is_err());
    }
    held.release().await.expect("released");
    let next = within(third.lock("a")).await.expect("the lock");
    next.release().await.expect("released");
    service.wait_for_keys(0).await;
}

#[tokio::test]
async fn repeated_request_keeps_its_queue_entry() {
    let (service, relay, session) = Service::with_relay(60).await;
    let held = service.session().await.lock("a").await.expect("the lock");
    relay.drops_next_response.store(true, Ordering::Relaxed);
    let waits = tokio::spawn(async move { session.lock("a").await });
    within(async {
        while service.keys().await < 2 || relay.drops_next_response.load(Ordering::Relaxed) {
            tokio::task::yield_now().await;
        }
    })
    .await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(!waits.is_finished(), "there is a predecessor");
    assert_eq!(service.keys().await, 2, "there is one key");
    let fence = held.fence();
    drop(held);
    let next = joined(waits).await.expect("the lock");
    assert!(next.fence() > fence);
}

#[tokio::test]
async fn repeated_request_keeps_its_place_before_later_waiters() {
    tokio::join!(repeats_request_before(1), repeats_request_before(2));
}

/// Sends the request of a claim twice, because the response to the first request is lost. Between
/// the two requests, `others` further clients join the queue. Asserts that all clients acquire the
/// lock in the order of the queue.
async fn repeats_request_before(others: usize) {
    let (service, relay, session) = Service::with_relay(60).await;
    let held = service.session().await.lock("a").await.expect("the lock");
    relay.delay.store(60_000, Ordering::Relaxed);
    let waits = tokio::spawn(async move { session.lock("a").await });
    service.wait_for_keys(2).await;
    let mut behind = Vec::new();
    for place in 3..3 + others {
        let other = service.session().await;
        behind.push(tokio::spawn(async move { other.lock("a").await }));
        service.wait_for_keys(place).await;
    }
    // The response is lost.
    within(relay.close_connections()).await;
    relay.delay.store(0, Ordering::Relaxed);
    drop(held);
    let mut last = joined(waits).await.expect("it");
    for next in behind {
        assert!(!next.is_finished(), "there is a predecessor");
        let fence = last.fence();
        drop(last);
        last = joined(next).await.expect("the lock");
        assert!(last.fence() > fence);
    }
}

#[tokio::test]
async fn release_and_next_lock_share_one_transaction() {
    let (service, [session]) = Service::with_sessions().await;
    let mut held = session.lock("a").await.expect("the lock");
    for name in ["a", "b", "a"] {
        let before = service.revision().await;
        drop(held);
        held = session.lock(name).await.expect("the lock");
        assert_eq!(held.fence(), before + 1, "release and acquisition share a revision");
        assert_eq!((service.revision().await, service.keys().await), (before + 1, 1));
    }
    drop(held);
    let leading = session.campaign("b", "me").await.expect("the leadership");
    leading.resign().await.expect("it resigns");
    assert_eq!(service.keys().await, 0);
}

#[tokio::test]
async fn release_during_outage_completes_after_it() {
    let (service, relay, session) = Service::with_relay(60).await;
    let released = session.lock("released").await.expect("the lock");
    let dropped = session.lock("dropped").await.expect("the lock");
    let waits = spawn_with(&session, |session| async move { session.lock("dropped").await });
    service.wait_for_watchers(1).await;
    relay.is_down.store(true, Ordering::Relaxed);
    let release = timeout(Duration::from_millis(100), released.release()).await;
    assert!(release.is_err(), "there is no response");
    waits.abort();
    drop(dropped);
    // Longer than the timeout of one request.
    tokio::time::sleep(Duration::from_millis(10_250)).await;
    assert_eq!(service.keys().await, 3);
    relay.is_down.store(false, Ordering::Relaxed);
    service.wait_for_keys(0).await;
    assert!(session.deadline().is_some(), "the session is alive");
}

/// Starts a service, a relay, a session through the relay, and another session without the relay.
/// The other session holds the lock `a`. The relay holds back all requests on its first connection.
/// Returns the service, the relay, both sessions, and the guard of the lock.
async fn with_held_connection() -> (Service, Arc<Relay>, Session, Session, Guard) {
    let (service, relay, session) = Service::with_relay(60).await;
    let other = service.session().await;
    let has = other.lock("a").await.expect("the lock");
    relay.held.store(1, Ordering::Relaxed);
    (service, relay, session, other, has)
}

/// Makes the relay forward the requests that it has held back, and waits until one of them has
/// changed the store. Then acquires the lock `a` in the session `other`. The acquisition succeeds
/// only if the client of `session` has undone the effect of the late request.
async fn assert_late_request_is_undone(
    service: &Service,
    relay: &Relay,
    session: &Session,
    other: &Session,
) {
    let before = service.revision().await;
    relay.held.store(0, Ordering::Relaxed);
    let late = async { while service.revision().await == before {} };
    within(late).await;
    let next = within(other.lock("a")).await.expect("the lock");
    assert!(session.deadline().is_some(), "the session is alive");
    drop(next);
}

#[tokio::test]
async fn failed_try_lock_is_not_granted_later() {
    let (service, relay, session, other, has) = with_held_connection().await;
    assert!(session.try_lock("a").await.expect("a response over another connection").is_none());
    has.release().await.expect("released");
    assert_late_request_is_undone(&service, &relay, &session, &other).await;
}

/// A delayed copy of the request for a lock arrives after the holder has set a value.
#[tokio::test]
async fn delayed_request_keeps_the_value_of_the_lock() {
    let (service, relay, session, _other, _has) = with_held_connection().await;
    let guard = within(session.lock("b")).await.expect("the lock");
    guard.set_value("busy").await.expect("a response");
    let before = relay.forwarded.load(Ordering::Relaxed);
    relay.held.store(0, Ordering::Relaxed);
    within(async {
        while relay.forwarded.load(Ordering::Relaxed) == before {
            tokio::task::yield_now().await;
        }
    })
    .await;
    // The member has time to apply the request.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let (keys, value) = (service.all_keys_json().await, base64(b"busy"));
    assert!(keys.contains(&value), "{keys}");
}

#[tokio::test]
async fn deleted_queue_entry_does_not_reappear() {
    let (service, relay, session, other, has) = with_held_connection().await;
    let waits = spawn_with(&session, |session| async move { session.lock("a").await.map(drop) });
    service.wait_for_watchers(1).await;
    let all = r#"{"key":"YS8=","range_end":"YTA="}"#;
    service.post("/v3/kv/deleterange", all).await;
    let result = joined(waits).await;
    assert_eq!(result, Err(ClientError::Lost(LossReason::KeyDeleted)));
    drop(has);
    assert_late_request_is_undone(&service, &relay, &session, &other).await;
}

/// Acquires a shared lock behind 1,500 shared claims. Together, their keys are longer than a
/// response may be.
#[tokio::test]
async fn shared_lock_is_acquired_in_long_queue() {
    const CLAIMS: usize = 1_500;
    let (service, [session]) = Service::with_sessions().await;
    let name = "a".repeat(3_000);
    let put = |number: usize| {
        let key = base64(format!("{name}/{:x}.shared", 1 + number).as_bytes());
        format!(r#"{{"requestPut":{{"key":"{key}"}}}}"#)
    };
    let puts: Vec<String> = (0..CLAIMS).map(put).collect();
    for puts in puts.chunks(100) {
        service.post_ok("/v3/kv/txn", &format!(r#"{{"success":[{}]}}"#, puts.join(","))).await;
    }
    let request = LockOptions::new(LockMode::Shared);
    let guard = within(session.lock_with(&name, &request)).await.expect("the lock");
    assert!(guard.deadline().is_some());
    assert_eq!(service.keys().await, CLAIMS + 1);
}
