//! Semaphores never grant more permits than they have.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tenure_client::ClientError;

use crate::service::{RENEWED_TTL, Service, is_revoked, joined, revoked, spawn_with, within};

/// Key `s/permits/x` in base64.
const FOREIGN_CLAIM: &str = "cy9wZXJtaXRzL3g=";

#[tokio::test]
async fn permits_are_counted_by_weight() {
    let (service, [one, other]) = Service::with_sessions().await;
    let (one, other) = (
        one.semaphore("s", 3).await.expect("a semaphore"),
        other.semaphore("s", 3).await.expect("a semaphore"),
    );
    assert_eq!((one.name(), one.total_permits()), ("s", 3));
    let two = within(one.acquire_many(2)).await.expect("permits");
    assert!(other.try_acquire_many(2).await.expect("an answer").is_none());
    let last = other.try_acquire().await.expect("an answer").expect("one is free");
    assert!(last.fence() > two.fence() && last.deadline().is_some());
    assert!(one.try_acquire().await.expect("an answer").is_none());
    let late = one.acquire_within(Duration::from_millis(50)).await.expect("an answer");
    assert!(late.is_none());
    two.release().await.expect("released");
    let again = one.try_acquire_many(2).await.expect("an answer").expect("they are free");
    drop((last, again));
    // Only the key with the total number of permits remains.
    service.wait_for_keys(1).await;
}

#[tokio::test]
async fn holders_never_have_too_many_permits() {
    const PERMITS: u32 = 4;
    let service = Service::start().await;
    let used = Arc::new(AtomicU32::new(0));
    let mut tasks = Vec::new();
    for task in 0..4 {
        let semaphore = service.session().await.semaphore("s", PERMITS).await.expect("a semaphore");
        let used = used.clone();
        tasks.push(tokio::spawn(async move {
            for round in 0..25 {
                let weight = 1 + (task + round) % PERMITS;
                let guard = semaphore.acquire_many(weight).await.expect("permits");
                let now = used.fetch_add(weight, Ordering::SeqCst) + weight;
                assert!(now <= PERMITS, "{now} permits are in use");
                tokio::task::yield_now().await;
                used.fetch_sub(weight, Ordering::SeqCst);
                drop(guard);
            }
        }));
    }
    for task in tasks {
        joined(task).await;
    }
    service.wait_for_keys(1).await;
}

#[tokio::test]
async fn large_request_is_not_overtaken() {
    let service = Service::start().await;
    let mut semaphores = Vec::new();
    for _ in 0..3 {
        let session = service.session().await;
        semaphores.push(session.semaphore("s", 3).await.expect("a semaphore"));
    }
    let [one, other, third] = &semaphores[..] else { panic!("three") };
    let held = one.acquire_many(2).await.expect("permits");
    let large = spawn_with(other, |other| async move { other.acquire_many(3).await });
    service.wait_for_keys(3).await;
    assert!(third.try_acquire().await.expect("an answer").is_none(), "a client waits");
    let small = spawn_with(third, |third| async move { third.acquire().await });
    service.wait_for_keys(4).await;
    assert!(!small.is_finished(), "a client waits");
    held.release().await.expect("released");
    let large = joined(large).await.expect("permits");
    assert!(!small.is_finished(), "all permits are in use");
    large.release().await.expect("released");
    joined(small).await.expect("a permit").release().await.expect("released");
}

#[tokio::test]
async fn different_number_of_permits_is_rejected() {
    let (service, [session]) = Service::with_sessions().await;
    let semaphore = session.semaphore("s", 3).await.expect("a semaphore");
    let wrong = session.semaphore("s", 5).await.expect_err("the numbers differ");
    assert_eq!(wrong.to_string(), "semaphore 's' has '3' permits, not '5'");
    session.semaphore("s", 3).await.expect("the number is the same");
    for requested in [0, 4] {
        let wrong = semaphore.acquire_many(requested).await.expect_err("it can never have them");
        assert_eq!(wrong, ClientError::InvalidPermits { requested, permits: 3 });
        let wrong = semaphore.try_acquire_many(requested).await.expect_err("nor at once");
        assert_eq!(wrong, ClientError::InvalidPermits { requested, permits: 3 });
    }
    assert!(session.semaphore("t", 0).await.is_err());
    service.wait_for_keys(1).await;
    // An operator deletes the key `s#semaphore/permits` to change the number of permits.
    service.delete("cyNzZW1hcGhvcmUvcGVybWl0cw==").await;
    service.wait_for_keys(0).await;
    let larger = session.semaphore("s", 5).await.expect("it was deleted");
    let mismatch = |wrong: ClientError| matches!(wrong, ClientError::PermitsMismatch { .. });
    assert!(mismatch(semaphore.acquire().await.expect_err("the number has changed")));
    assert!(mismatch(semaphore.try_acquire().await.expect_err("the number has changed")));
    within(larger.acquire_many(5)).await.expect("permits").release().await.expect("released");
    service.wait_for_keys(1).await;
}

#[tokio::test]
async fn claim_without_number_takes_all_permits() {
    let service = Service::start().await;
    let semaphore = service.session().await.semaphore("s", 9).await.expect("a semaphore");
    service.put(FOREIGN_CLAIM).await;
    assert!(semaphore.try_acquire().await.expect("an answer").is_none());
    service.delete(FOREIGN_CLAIM).await;
    assert!(semaphore.try_acquire().await.expect("an answer").is_some());
}

#[tokio::test]
async fn queue_longer_than_one_read_is_counted() {
    const PERMITS: u32 = 520;
    let service = Service::start().await;
    // Each claim reads the whole queue, which takes long on a busy machine.
    let session = service.client().await.session(Duration::from_secs(300)).await;
    let session = session.expect("a session");
    let semaphore = session.semaphore("s", PERMITS).await.expect("a semaphore");
    let mut tasks = Vec::new();
    for _ in 0..PERMITS {
        let semaphore = semaphore.clone();
        tasks.push(tokio::spawn(async move { semaphore.acquire().await }));
    }
    let mut guards = Vec::new();
    for task in tasks {
        guards.push(joined(task).await.expect("a permit"));
    }
    assert!(semaphore.try_acquire().await.expect("an answer").is_none());
    guards.swap_remove(7).release().await.expect("released");
    assert!(semaphore.try_acquire().await.expect("an answer").is_some());
    session.close().await.expect("closed");
    service.wait_for_keys(1).await;
}

#[tokio::test]
async fn cancelled_waiters_leave_no_keys() {
    let service = Service::start().await;
    let one = service.session().await.semaphore("s", 2).await.expect("a semaphore");
    let other = service.session().await.semaphore("s", 2).await.expect("a semaphore");
    let held = one.acquire_many(2).await.expect("permits");
    for moment in [0, 100] {
        let within = Duration::from_millis(moment);
        assert!(other.acquire_within(within).await.expect("an answer").is_none());
    }
    service.wait_for_keys(2).await;
    held.release().await.expect("released");
    service.wait_for_keys(1).await;
}

#[tokio::test]
async fn lost_session_returns_its_permits() {
    let (service, [session]) = Service::with_sessions_of(RENEWED_TTL).await;
    let one = session.semaphore("s", 2).await.expect("a semaphore");
    let other = service.session().await.semaphore("s", 2).await.expect("a semaphore");
    let guard = one.acquire().await.expect("a permit");
    let waits = tokio::spawn(async move { other.acquire_many(2).await });
    service.wait_for_keys(3).await;
    let behind = tokio::spawn(async move { one.acquire().await });
    service.wait_for_keys(4).await;
    assert!(!waits.is_finished() && !behind.is_finished());
    service.revoke(&session).await;
    assert!(is_revoked(within(guard.lost()).await));
    revoked(&session).await;
    assert_eq!(guard.deadline(), None);
    let behind = joined(behind).await.map(|guard| guard.fence());
    assert!(matches!(behind, Err(ClientError::Lost(_))), "{behind:?}");
    joined(waits).await.expect("permits").release().await.expect("released");
}
