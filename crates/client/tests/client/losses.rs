//! What is lost, and when that is known.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tenure_client::{Change, Client, ClientError, Lost};
use tokio::time::timeout;

use crate::relay::{BlackHole, Relay};
use crate::service::{SOON, Service};

#[tokio::test]
async fn a_deadline_is_counted_from_when_it_was_asked() {
    let service = Service::start().await;
    let (relay, address) = Relay::start(&service.address).await;
    let client = Client::connect([address]).await.expect("a connection");
    relay.delay.store(1_500, Ordering::Relaxed);
    let asked = Instant::now();
    let session = client.session(Duration::from_secs(10)).await.expect("a session");
    let deadline = session.deadline().expect("it is alive");
    assert!(asked.elapsed() >= Duration::from_millis(1_500));
    // Counted from the answer it would be later by what the answer took. A loaded machine may take
    // a second until it sends the request.
    assert!(deadline <= asked + Duration::from_millis(10_800), "{:?}", deadline - asked);
}

#[tokio::test]
async fn deadlines_follow_renewals_until_the_session_is_over() {
    let service = Service::start().await;
    let (relay, address) = Relay::start(&service.address).await;
    let client = Client::connect([address]).await.expect("a connection");
    let session = client.session(Duration::from_secs(1)).await.expect("a session");
    let guard = session.lock("a").await.expect("the lock");
    let mut deadlines = guard.deadlines();
    let first = deadlines.next().await.expect("the present one");
    let second = timeout(SOON, deadlines.next()).await.expect("in time").expect("a renewal");
    assert!(second > first);
    relay.is_cut.store(true, Ordering::Relaxed);
    let over = async { while deadlines.next().await.is_some() {} };
    timeout(SOON, over).await.expect("the session is over");
    assert_eq!(guard.deadline(), None);
}

#[tokio::test]
async fn who_is_cut_off_knows_it_before_another_is_let_in() {
    let service = Service::start().await;
    let (relay, address) = Relay::start(&service.address).await;
    let client = Client::connect([address]).await.expect("a connection");
    let session = client.session(Duration::from_secs(2)).await.expect("a session");
    let guard = session.lock("a").await.expect("the lock");
    let other = service.session().await;
    let waits = tokio::spawn(async move {
        let guard = other.lock("a").await.expect("the lock");
        (Instant::now(), guard)
    });
    relay.is_cut.store(true, Ordering::Relaxed);
    let why = timeout(SOON, guard.lost()).await.expect("in time");
    let known = Instant::now();
    assert_eq!((why, guard.deadline()), (Lost::Silence, None));
    let (entered, _other) = timeout(SOON, waits).await.expect("in time").expect("the lock");
    assert!(known < entered, "{:?} too late", known - entered);
    assert_eq!(session.ended(), Some(Lost::Silence));
    let refused = session.lock("b").await.expect_err("the session is over");
    assert_eq!(refused, ClientError::Lost(Lost::Silence));
}

#[tokio::test]
async fn who_waits_is_told_that_the_session_is_over() {
    let service = Service::start().await;
    let (one, other) = (service.session().await, service.session().await);
    let _held = one.lock("a").await.expect("the lock");
    let id = other.id();
    let waits = tokio::spawn(async move { other.lock("a").await });
    while service.keys().await < 2 {}
    service.post("/v3/lease/revoke", &format!(r#"{{"ID":"{id}"}}"#)).await;
    let told = timeout(SOON, waits).await.expect("in time").expect("no panic");
    assert_eq!(told.map(|guard| guard.fence()), Err(ClientError::Lost(Lost::Gone)));
}

#[tokio::test]
async fn who_listens_is_told_that_the_key_was_deleted() {
    let service = Service::start().await;
    let session = service.session().await;
    let guard = session.lock("a").await.expect("the lock");
    let told = tokio::spawn(async move { guard.lost().await });
    service.post("/v3/kv/deleterange", r#"{"key":"YS8=","range_end":"YTA="}"#).await;
    assert_eq!(timeout(SOON, told).await.expect("in time").expect("no panic"), Lost::Deleted);
    assert!(session.deadline().is_some(), "the session goes on");
    session.close().await.expect("revoked");
    assert_eq!(session.ended(), Some(Lost::Closed));
}

#[tokio::test]
async fn who_listens_to_what_is_forgotten_goes_on_behind_it() {
    let service = Service::start().await;
    let session = service.session().await;
    let guard = session.lock("a").await.expect("the lock");
    for _ in 0..3 {
        session.lock("b").await.expect("the lock").release().await.expect("released");
    }
    let compact = format!(r#"{{"revision":"{}"}}"#, service.revision().await);
    service.post("/v3/kv/compaction", &compact).await;
    let mut changes = service.client().await.changes("b", 1);
    assert_eq!(timeout(SOON, changes.next()).await.expect("in time"), Change::Forgotten);
    let after = timeout(SOON, async {
        let change = changes.next().await;
        if matches!(change, Change::Left { .. }) { changes.next().await } else { change }
    });
    let (after, next) = tokio::join!(after, session.lock("b"));
    let fence = next.expect("the lock").fence();
    let after = after.expect("in time");
    assert!(matches!(&after, Change::Queued { fence: of, .. } if *of == fence), "{after:?}");
    drop(changes);
    timeout(SOON, async { while service.watchers().await > 0 {} }).await.expect("nobody watches");
    let _told = tokio::spawn(async move { guard.lost().await });
    let goes_on = timeout(SOON, async {
        let mut in_a_row = 0;
        while in_a_row < 50 {
            in_a_row = if service.watchers().await == 1 { in_a_row + 1 } else { 0 };
        }
    });
    goes_on.await.expect("it watches, and goes on");
}

#[tokio::test]
async fn nothing_is_left_of_a_session_that_nobody_has_any_more() {
    let service = Service::start().await;
    let session = service.session().await;
    let guard = session.lock("a").await.expect("the lock");
    drop(session);
    assert_eq!(service.keys().await, 1, "the guard keeps it");
    drop(guard);
    timeout(SOON, async {
        while service.post("/v3/lease/leases", "{}").await.contains("\"ID\"") {}
    })
    .await
    .expect("the lease is revoked");
}

#[tokio::test]
async fn what_is_no_endpoint_and_who_does_not_answer_is_said() {
    let wrong = Client::connect(["https://127.0.0.1:1"]).await.expect_err("nobody to believe");
    assert!(wrong.to_string().contains("https://127.0.0.1:1"), "{wrong}");
    assert!(Client::connect(Vec::<String>::new()).await.is_err());
}

/// A session whose member breaks off, while the next three do not even say that they are gone;
/// whether it lives longer than its lease.
async fn outlives_the_silent(listens: bool) -> bool {
    let service = Service::start().await;
    let (one, first) = Relay::start(&service.address).await;
    let (other, second) = Relay::start(&service.address).await;
    let silent = [BlackHole::open().await, BlackHole::open().await, BlackHole::open().await];
    let mut endpoints = vec![&first];
    endpoints.extend(silent.iter().map(|it| &it.address));
    endpoints.push(&second);
    endpoints.extend(silent.iter().map(|it| &it.address));
    let client = Client::connect(endpoints).await.expect("a connection");
    let session = client.session(Duration::from_secs(3)).await.expect("a session");
    let guard = session.lock("a").await.expect("the lock");
    if listens {
        tokio::spawn(async move { guard.lost().await });
        timeout(SOON, async { while service.watchers().await == 0 {} }).await.expect("it watches");
    }
    let used = if one.connections.load(Ordering::Relaxed) > 0 { one } else { other };
    used.is_down.store(true, Ordering::Relaxed);
    timeout(Duration::from_secs(4), session.lost()).await.is_err()
}

#[tokio::test]
async fn a_session_outlives_members_that_do_not_say_that_they_are_gone() {
    assert!(outlives_the_silent(false).await);
}

#[tokio::test]
async fn a_session_outlives_them_while_others_look_for_a_member_too() {
    assert!(outlives_the_silent(true).await);
}
