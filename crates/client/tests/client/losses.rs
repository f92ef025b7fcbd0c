//! Sessions and locks that are lost, and how a client detects this.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use tenure_client::{
    Client, ClientError, LockMode, LockOptions, LockQueueChange, LossReason, Session,
};
use tokio::time::timeout;

use crate::relay::{Relay, UnresponsiveEndpoint};
use crate::service::{RENEWED_TTL, STEP_TIMEOUT, Service, joined, revoked, spawn_with, within};

#[tokio::test]
async fn deadline_counts_from_sending_the_request() {
    let service = Service::start().await;
    let (relay, address) = Relay::start(&service.address).await;
    let client = Client::connect([address]).await.expect("a connection");
    relay.delay.store(1_500, Ordering::Relaxed);
    let sent = Instant::now();
    let ttl = Duration::from_secs(60);
    let session = client.session(ttl).await.expect("a session");
    let received = Instant::now();
    let deadline = session.deadline().expect("the session is alive");
    assert!(sent.elapsed() >= Duration::from_millis(1_500));
    // If the client counted from the response, the deadline would be later by the delay of the
    // response.
    assert!(deadline + Duration::from_millis(1_500) <= received + ttl, "{:?}", deadline - sent);
}

#[tokio::test]
async fn deadlines_follow_renewals_until_session_ends() {
    let (_service, [session]) = Service::with_sessions_of(RENEWED_TTL).await;
    let guard = session.lock("a").await.expect("the lock");
    let mut deadlines = guard.deadline_changes();
    let first = deadlines.next().await.expect("the current deadline");
    let second = within(deadlines.next()).await.expect("a renewal");
    assert!(second > first);
    session.close().await.expect("revoked");
    let over = async { while deadlines.next().await.is_some() {} };
    within(over).await;
    assert_eq!(guard.deadline(), None);
}

/// Blocks the thread of a task until the deadline that its futures know has passed. Another thread
/// renews the session meanwhile. Each future sees the deadline and the renewal at the same time.
#[tokio::test(flavor = "multi_thread")]
async fn renewed_session_is_not_lost_for_a_blocked_task() {
    let (_service, [session]) = Service::with_sessions_of(RENEWED_TTL).await;
    let mut losses: Vec<_> = (0..16).map(|_| Box::pin(session.lost())).collect();
    let reported = losses.iter_mut().find_map(|lost| lost.as_mut().now_or_never());
    assert_eq!(reported, None);
    let deadline = session.deadline().expect("the session is alive");
    std::thread::sleep(deadline.saturating_duration_since(Instant::now()));
    std::thread::sleep(Duration::from_millis(100));
    let reported = losses.iter_mut().find_map(|lost| lost.as_mut().now_or_never());
    assert_eq!((reported, session.loss_reason()), (None, None), "the session was renewed");
}

#[tokio::test]
async fn disconnected_holder_loses_lock_before_next_grant() {
    let (service, relay, session) = Service::with_relay(4).await;
    let guard = session.lock("a").await.expect("the lock");
    let other = service.session().await;
    let waits = tokio::spawn(async move {
        let guard = other.lock("a").await.expect("the lock");
        (Instant::now(), guard)
    });
    let mut deadlines = guard.deadline_changes();
    relay.is_cut.store(true, Ordering::Relaxed);
    let why = within(guard.lost()).await;
    let known = Instant::now();
    assert_eq!((why, guard.deadline()), (LossReason::NotRenewed, None));
    within(async { while deadlines.next().await.is_some() {} }).await;
    let (entered, _other) = within(waits).await.expect("the lock");
    assert!(known < entered, "detected {:?} too late", known - entered);
    assert_eq!(session.loss_reason(), Some(LossReason::NotRenewed));
    let refused = session.lock("b").await.expect_err("the session has ended");
    assert_eq!(refused, ClientError::Lost(LossReason::NotRenewed));
}

#[tokio::test]
async fn waiter_fails_when_its_session_ends() {
    let (service, [one, other]) = Service::with_sessions().await;
    let _held = one.lock("a").await.expect("the lock");
    let waits = spawn_with(&other, |other| async move { other.lock("a").await });
    service.wait_for_keys(2).await;
    service.revoke(&other).await;
    let result = joined(waits).await.map(|guard| guard.fence());
    assert_eq!(result, Err(ClientError::Lost(LossReason::LeaseEnded)));
}

#[derive(Clone, Copy, Debug)]
enum Wait {
    Exclusive,
    Shared,
    Slot,
    Permit,
    Writer,
    Leader,
}

const WAITS: [Wait; 6] =
    [Wait::Exclusive, Wait::Shared, Wait::Slot, Wait::Permit, Wait::Writer, Wait::Leader];

impl Wait {
    /// Waits behind a holder that never releases its lock. Returns the error that ends the wait.
    async fn behind_holder(self, session: Session) -> ClientError {
        let mode = |access| LockOptions::new(access);
        match self {
            Wait::Exclusive => session.lock("a").await.err(),
            Wait::Shared => session.lock_with("a", &mode(LockMode::Shared)).await.err(),
            Wait::Slot => session.lock_with("a", &mode(LockMode::Slots(1))).await.err(),
            Wait::Permit => {
                session.semaphore("s", 1).await.expect("it exists").acquire().await.err()
            }
            Wait::Writer => session.write_lock("w").await.err(),
            Wait::Leader => session.campaign("e", "late").await.err(),
        }
        .expect("the holder is not released")
    }
}

/// Revokes the lease of a session that waits for a lock. The client must detect the loss before its
/// next renewal. The next renewal is due only after the time limit of the test.
#[tokio::test]
async fn waiter_notices_revoked_lease_before_next_renewal() {
    let service = Service::start().await;
    let one = service.session().await;
    let _lock = one.lock("a").await.expect("the lock");
    let _permit = one.semaphore("s", 1).await.expect("a semaphore").acquire().await;
    let _reader = one.read_lock("w").await.expect("the lock");
    let _leads = one.campaign("e", "first").await.expect("the leadership");
    let keys = service.keys().await;
    for wait in WAITS {
        let client = service.client().await;
        let waiter = client.session(Duration::from_secs(600)).await.expect("a session");
        let waits = tokio::spawn(wait.behind_holder(waiter.clone()));
        service.wait_for_keys(keys + 1).await;
        service.revoke(&waiter).await;
        let reason = joined(waits).await;
        assert_eq!(reason, ClientError::Lost(LossReason::LeaseEnded), "{wait:?}");
        revoked(&waiter).await;
    }
}

/// Deletes the key of a waiter through another client. The wait must fail, and the session must
/// continue because its lease exists.
#[tokio::test]
async fn waiter_reports_deletion_of_its_key_by_another_client() {
    let service = Service::start().await;
    // The key `a/1` without a lease is the holder.
    service.put("YS8x").await;
    for wait in [Wait::Exclusive, Wait::Shared, Wait::Slot] {
        let session = service.session().await;
        let waits = tokio::spawn(wait.behind_holder(session.clone()));
        service.wait_for_keys(2).await;
        // The deleted range contains the keys of the waiters, and begins just after `a/1`.
        service.post("/v3/kv/deleterange", r#"{"key":"YS8xAA==","range_end":"YTA="}"#).await;
        let reason = joined(waits).await;
        assert_eq!(reason, ClientError::Lost(LossReason::KeyDeleted), "{wait:?}");
        assert!(session.deadline().is_some(), "the session is alive");
    }
}

#[tokio::test]
async fn guard_reports_deletion_of_its_key() {
    let (service, [session]) = Service::with_sessions().await;
    let guard = session.lock("a").await.expect("the lock");
    let lost = tokio::spawn(async move { guard.lost().await });
    service.post("/v3/kv/deleterange", r#"{"key":"YS8=","range_end":"YTA="}"#).await;
    assert_eq!(joined(lost).await, LossReason::KeyDeleted);
    assert!(session.deadline().is_some(), "the session is alive");
    session.close().await.expect("revoked");
    assert_eq!(session.loss_reason(), Some(LossReason::Closed));
}

#[tokio::test]
async fn watch_continues_behind_compacted_history() {
    let (service, [session]) = Service::with_sessions().await;
    let guard = session.lock("a").await.expect("the lock");
    for _ in 0..3 {
        session.lock("b").await.expect("the lock").release().await.expect("released");
    }
    let compact = format!(r#"{{"revision":"{}"}}"#, service.revision().await);
    service.post("/v3/kv/compaction", &compact).await;
    let mut changes = service.client().await.lock_queue_changes("b", 1);
    assert_eq!(within(changes.next()).await, LockQueueChange::HistoryCompacted);
    let after = timeout(STEP_TIMEOUT, async {
        let change = changes.next().await;
        if matches!(change, LockQueueChange::Left { .. }) { changes.next().await } else { change }
    });
    let (after, next) = tokio::join!(after, session.lock("b"));
    let fence = next.expect("the lock").fence();
    let after = after.expect("in time");
    assert!(
        matches!(&after, LockQueueChange::AddedOrChanged { fence: of, .. } if *of == fence),
        "{after:?}"
    );
    drop(changes);
    within(async { while service.watchers().await > 0 {} }).await;
    let _told = tokio::spawn(async move { guard.lost().await });
    let next_event = timeout(STEP_TIMEOUT, async {
        let mut in_a_row = 0;
        while in_a_row < 50 {
            in_a_row = if service.watchers().await == 1 { in_a_row + 1 } else { 0 };
        }
    });
    next_event.await.expect("the watch continues");
}

#[tokio::test]
async fn dropped_session_and_guard_revoke_the_lease() {
    let (service, [session]) = Service::with_sessions().await;
    let guard = session.lock("a").await.expect("the lock");
    drop(session);
    assert_eq!(service.keys().await, 1, "the guard keeps the session alive");
    drop(guard);
    let has_lease = async || service.post("/v3/lease/leases", "{}").await.contains("\"ID\"");
    within(async { while has_lease().await {} }).await;
}

#[tokio::test]
async fn invalid_endpoints_are_rejected() {
    let wrong =
        Client::connect(["https://127.0.0.1:1"]).await.expect_err("certificates are missing");
    assert!(wrong.to_string().contains("https://127.0.0.1:1"), "{wrong}");
    assert!(Client::connect(Vec::<String>::new()).await.is_err());
}

/// Runs a session whose member closes the connection. The next three members do not respond. If
/// `listens` is true, a task also waits for the loss of a lock. Returns true if another member
/// renews the session.
async fn outlives_unresponsive_members(listens: bool) -> bool {
    let service = Service::start().await;
    let (one, first) = Relay::start(&service.address).await;
    let (other, second) = Relay::start(&service.address).await;
    let silent: [UnresponsiveEndpoint; 3] = tokio::join!(
        UnresponsiveEndpoint::open(),
        UnresponsiveEndpoint::open(),
        UnresponsiveEndpoint::open(),
    )
    .into();
    let mut endpoints = vec![&first];
    endpoints.extend(silent.iter().map(|it| &it.address));
    endpoints.push(&second);
    endpoints.extend(silent.iter().map(|it| &it.address));
    let client = Client::connect(endpoints).await.expect("a connection");
    let ttl = Duration::from_secs(24);
    let session = client.session(ttl).await.expect("a session");
    let guard = session.lock("a").await.expect("the lock");
    let mut deadlines = guard.deadline_changes();
    if listens {
        tokio::spawn(async move { guard.lost().await });
        service.wait_for_watchers(1).await;
    }
    let used = if one.connections.load(Ordering::Relaxed) > 0 { one } else { other };
    used.is_down.store(true, Ordering::Relaxed);
    let down = Instant::now();
    // A deadline is at most one TTL later than the sending of its renewal. So a later deadline
    // belongs to a renewal after the connection was closed.
    let renewed = async {
        while let Some(deadline) = deadlines.next().await {
            if deadline > down + ttl {
                return true;
            }
        }
        false
    };
    within(renewed).await
}

#[tokio::test]
async fn session_outlives_unresponsive_members() {
    assert!(outlives_unresponsive_members(false).await);
}

#[tokio::test]
async fn session_outlives_unresponsive_members_while_watching() {
    assert!(outlives_unresponsive_members(true).await);
}
