//! Locks, in turn.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tenure_client::{Client, ClientError, Guard, Lost, Session};
use tokio::time::timeout;

use crate::relay::Relay;
use crate::service::{SOON, Service};

#[tokio::test]
async fn a_lock_is_had_in_turn_by_fences_that_grow() {
    let service = Service::start().await;
    let (one, other) = (service.session().await, service.session().await);
    let first = one.lock("a").await.expect("the lock");
    assert!(other.try_lock("a").await.expect("an answer").is_none());
    let late = other.lock_within("a", Duration::from_millis(50)).await.expect("an answer");
    assert!(late.is_none());
    let waits = tokio::spawn({
        let other = other.clone();
        async move { other.lock("a").await }
    });
    // The same session queues behind itself as any other does.
    let again = one.lock_within("a", Duration::from_millis(50)).await.expect("an answer");
    assert!(again.is_none() && !waits.is_finished());
    let fence = first.fence();
    first.release().await.expect("released");
    let second = timeout(SOON, waits).await.expect("in time").expect("no panic").expect("the lock");
    assert!(second.fence() > fence);
    assert!(second.deadline().is_some());
    drop(second);
    let third = timeout(SOON, one.lock("a")).await.expect("in time").expect("the lock");
    third.release().await.expect("released");
    let free = other.try_lock("a").await.expect("an answer").expect("nobody has it");
    drop(free);
}

#[tokio::test]
async fn who_has_waited_is_told_no_more() {
    let service = Service::start().await;
    let (one, other) = (service.session().await, service.session().await);
    let mut held = one.lock("a").await.expect("the lock");
    for next in [&other, &one].into_iter().cycle().take(20) {
        let waits = tokio::spawn({
            let next = next.clone();
            async move { next.lock("a").await }
        });
        timeout(SOON, async { while service.watchers().await == 0 {} }).await.expect("it watches");
        held.release().await.expect("released");
        let next = timeout(SOON, waits).await.expect("in time").expect("no panic");
        held = next.expect("the lock");
    }
    let nobody = async { while service.watchers().await > 0 {} };
    timeout(SOON, nobody).await.expect("nobody watches whom nobody is ahead of");
}

/// A key that was put by hand stands ahead. It is said to be released by what does not delete it.
#[tokio::test]
async fn a_lock_is_had_as_soon_as_it_is_released_and_an_office_when_everybody_sees_it() {
    let service = Service::start().await;
    service.post("/v3/kv/put", r#"{"key":"YS8x"}"#).await;
    let made = service.revision().await;
    let (one, other) = (service.session().await, service.session().await);
    let locks = tokio::spawn({
        let one = one.clone();
        async move { one.lock("a").await }
    });
    timeout(SOON, async { while service.watchers().await == 0 {} }).await.expect("it watches");
    let campaigns = tokio::spawn({
        let other = other.clone();
        async move { other.campaign("a", "me").await }
    });
    timeout(SOON, async { while service.watchers().await < 2 {} }).await.expect("it watches");
    let never = r#"{"key":"YS8x","target":"VERSION","version":"9"}"#;
    let released = |key: &str, revision: u64| {
        let delete = format!(r#"{{"key":"{key}","released":"{revision}"}}"#);
        format!(r#"{{"compare":[{never}],"success":[{{"request_delete_range":{delete}}}]}}"#)
    };
    service.post("/v3/kv/txn", &released("YS8x", made)).await;
    let lock = timeout(SOON, locks).await.expect("in time").expect("no panic").expect("the lock");
    assert!(!campaigns.is_finished() && service.keys().await == 3, "no key is deleted");
    let key = String::from_utf8(lock.key().to_vec()).expect("a name");
    assert!(key.starts_with("a/"), "{key}");
    lock.release().await.expect("released");
    assert!(!campaigns.is_finished(), "the one ahead of the lock is there still");
    service.post("/v3/kv/deleterange", r#"{"key":"YS8x"}"#).await;
    let leads = timeout(SOON, campaigns).await.expect("in time").expect("no panic");
    leads.expect("the office").resign().await.expect("it resigns");
}

#[tokio::test]
async fn who_stops_waiting_leaves_the_queue() {
    let service = Service::start().await;
    let (one, other, third) =
        (service.session().await, service.session().await, service.session().await);
    let held = one.lock("a").await.expect("the lock");
    // Left at once, while it is being asked for, and a moment later.
    for moment in [0, 100] {
        let waits = other.lock("a");
        assert!(timeout(Duration::from_millis(moment), waits).await.is_err());
    }
    held.release().await.expect("released");
    let next = timeout(SOON, third.lock("a")).await.expect("nobody is ahead").expect("the lock");
    next.release().await.expect("released");
    timeout(SOON, async { while service.keys().await > 0 {} }).await.expect("no key is left");
}

#[tokio::test]
async fn who_asks_twice_because_an_answer_was_lost_waits_as_before() {
    let service = Service::start().await;
    let (relay, address) = Relay::start(&service.address).await;
    let client = Client::connect([address]).await.expect("a connection");
    let session = client.session(Duration::from_secs(10)).await.expect("a session");
    let held = service.session().await.lock("a").await.expect("the lock");
    relay.swallows.store(true, Ordering::Relaxed);
    let waits = tokio::spawn(async move { session.lock("a").await });
    timeout(SOON, async {
        while service.keys().await < 2 || relay.swallows.load(Ordering::Relaxed) {
            tokio::task::yield_now().await;
        }
    })
    .await
    .expect("it queues");
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(!waits.is_finished(), "somebody is ahead");
    assert_eq!(service.keys().await, 2, "it queues once");
    let fence = held.fence();
    drop(held);
    let next = timeout(SOON, waits).await.expect("in time").expect("no panic").expect("the lock");
    assert!(next.fence() > fence);
}

#[tokio::test]
async fn who_asks_again_when_others_have_come_is_ahead_of_them() {
    tokio::join!(asks_again_before(1), asks_again_before(2));
}

/// Somebody whose answer was lost, when so many others have come.
async fn asks_again_before(others: usize) {
    let service = Service::start().await;
    let (relay, address) = Relay::start(&service.address).await;
    let client = Client::connect([address]).await.expect("a connection");
    let session = client.session(Duration::from_secs(60)).await.expect("a session");
    let held = service.session().await.lock("a").await.expect("the lock");
    relay.delay.store(60_000, Ordering::Relaxed);
    let waits = tokio::spawn(async move { session.lock("a").await });
    timeout(SOON, async { while service.keys().await < 2 {} }).await.expect("it queues");
    let mut behind = Vec::new();
    for place in 3..3 + others {
        let other = service.session().await;
        behind.push(tokio::spawn(async move { other.lock("a").await }));
        timeout(SOON, async { while service.keys().await < place {} }).await.expect("it queues");
    }
    // The answer does not arrive.
    relay.is_down.store(true, Ordering::Relaxed);
    tokio::time::sleep(Duration::from_millis(50)).await;
    relay.delay.store(0, Ordering::Relaxed);
    relay.is_down.store(false, Ordering::Relaxed);
    drop(held);
    let mut last = timeout(SOON, waits).await.expect("in time").expect("no panic").expect("it");
    for next in behind {
        assert!(!next.is_finished(), "somebody is ahead");
        let fence = last.fence();
        drop(last);
        last = timeout(SOON, next).await.expect("in time").expect("no panic").expect("the lock");
        assert!(last.fence() > fence);
    }
}

#[tokio::test]
async fn who_goes_from_lock_to_lock_asks_once_for_each() {
    let service = Service::start().await;
    let session = service.session().await;
    let mut held = session.lock("a").await.expect("the lock");
    for name in ["a", "b", "a"] {
        let before = service.revision().await;
        drop(held);
        held = session.lock(name).await.expect("the lock");
        assert_eq!(held.fence(), before + 1, "one is left and the other entered at once");
        assert_eq!((service.revision().await, service.keys().await), (before + 1, 1));
    }
    drop(held);
    let office = session.campaign("b", "me").await.expect("the office");
    office.resign().await.expect("it resigns");
    assert_eq!(service.keys().await, 0);
}

#[tokio::test]
async fn what_is_given_up_while_nobody_answers_is_free_when_somebody_does() {
    let service = Service::start().await;
    let (relay, address) = Relay::start(&service.address).await;
    let client = Client::connect([address]).await.expect("a connection");
    let session = client.session(Duration::from_secs(60)).await.expect("a session");
    let released = session.lock("released").await.expect("the lock");
    let dropped = session.lock("dropped").await.expect("the lock");
    let waits = tokio::spawn({
        let session = session.clone();
        async move { session.lock("dropped").await }
    });
    timeout(SOON, async { while service.watchers().await == 0 {} }).await.expect("it waits");
    relay.is_down.store(true, Ordering::Relaxed);
    let release = timeout(Duration::from_millis(100), released.release()).await;
    assert!(release.is_err(), "nobody answers");
    waits.abort();
    drop(dropped);
    // Longer than anything is asked for once.
    tokio::time::sleep(Duration::from_secs(11)).await;
    assert_eq!(service.keys().await, 3);
    relay.is_down.store(false, Ordering::Relaxed);
    timeout(SOON, async { while service.keys().await > 0 {} }).await.expect("no key is left");
    assert!(session.deadline().is_some(), "the session goes on");
}

/// A service, a session whose first connection is held, and another that has the lock `a`.
async fn held_back() -> (Service, Arc<Relay>, Session, Session, Guard) {
    let service = Service::start().await;
    let other = service.session().await;
    let (relay, address) = Relay::start(&service.address).await;
    let client = Client::connect([address]).await.expect("a connection");
    let session = client.session(Duration::from_secs(60)).await.expect("a session");
    let has = other.lock("a").await.expect("the lock");
    relay.held.store(1, Ordering::Relaxed);
    (service, relay, session, other, has)
}

/// What was held comes to the member; then the other gets the lock, although the session goes on.
async fn too_late(service: &Service, relay: &Relay, session: &Session, other: &Session) {
    let before = service.revision().await;
    relay.held.store(0, Ordering::Relaxed);
    let late = async { while service.revision().await == before {} };
    timeout(SOON, late).await.expect("what was asked first is done");
    let next = timeout(SOON, other.lock("a")).await.expect("nobody is ahead").expect("the lock");
    assert!(session.deadline().is_some(), "the session goes on");
    drop(next);
}

#[tokio::test]
async fn a_lock_that_was_not_free_is_not_had_later() {
    let (service, relay, session, other, has) = held_back().await;
    assert!(session.try_lock("a").await.expect("an answer by another connection").is_none());
    has.release().await.expect("released");
    too_late(&service, &relay, &session, &other).await;
}

#[tokio::test]
async fn a_place_that_was_lost_is_not_had_later() {
    let (service, relay, session, other, has) = held_back().await;
    let waits = tokio::spawn({
        let session = session.clone();
        async move { session.lock("a").await.map(drop) }
    });
    timeout(SOON, async { while service.watchers().await == 0 {} }).await.expect("it waits");
    let all = r#"{"key":"YS8=","range_end":"YTA="}"#;
    service.post("/v3/kv/deleterange", all).await;
    let told = timeout(SOON, waits).await.expect("in time").expect("no panic");
    assert_eq!(told, Err(ClientError::Lost(Lost::Deleted)));
    drop(has);
    too_late(&service, &relay, &session, &other).await;
}
