//! Several locks at once, and deadlocks of locks that are taken one by one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tenure_client::{ClientError, Guard, LossReason, Session, WaitForEdge};
use tokio::task::JoinHandle;

use crate::service::{RENEWED_TTL, Service, is_revoked, joined, revoked, spawn_with, within};

#[tokio::test]
async fn opposite_orders_never_deadlock() {
    const ROUNDS: usize = 50;
    let service = Service::start().await;
    let holders = Arc::new(AtomicU32::new(0));
    let mut tasks = Vec::new();
    for names in [&["a", "b", "c"][..], &["c", "b", "a", "b"]] {
        let (session, holders) = (service.session().await, holders.clone());
        tasks.push(tokio::spawn(async move {
            for _ in 0..ROUNDS {
                let guard = session.lock_all(names).await.expect("the locks");
                assert_eq!(holders.fetch_add(1, Ordering::SeqCst), 0, "another session holds them");
                assert!(guard.names().eq(["a", "b", "c"]));
                tokio::task::yield_now().await;
                holders.fetch_sub(1, Ordering::SeqCst);
                drop(guard);
            }
        }));
    }
    for task in tasks {
        joined(task).await;
    }
    service.wait_for_keys(0).await;
}

#[tokio::test]
async fn locks_are_held_all_or_none() {
    let (service, [one, other]) = Service::with_sessions().await;
    let held = other.lock("b").await.expect("the lock");
    let late = one.lock_all_within(["c", "b", "a"], Duration::from_millis(100)).await;
    assert!(late.expect("an answer").is_none());
    service.wait_for_keys(1).await;
    assert!(one.try_lock_all(["a", "b", "c"]).await.expect("an answer").is_none());
    service.wait_for_keys(1).await;
    let waits = spawn_with(&one, |one| async move { one.lock_all(["b", "a"]).await });
    service.wait_for_keys(3).await;
    held.release().await.expect("released");
    let guard = joined(waits).await.expect("the locks");
    let fences: Vec<u64> = guard.guards().map(|(_, guard)| guard.fence()).collect();
    assert_eq!(guard.fence("b"), Some(fences[1]));
    assert!(fences[0] < fences[1] && guard.fence("c").is_none() && guard.deadline().is_some());
    assert!(other.try_lock("a").await.expect("an answer").is_none());
    guard.release().await.expect("released");
    service.wait_for_keys(0).await;
    let all = other.try_lock_all(["a", "b"]).await.expect("an answer").expect("they are free");
    drop(all);
    service.wait_for_keys(0).await;
    let none = one.lock_all(Vec::<&str>::new()).await.expect("no locks");
    assert_eq!(none.names().count(), 0);
}

/// The key of an earlier lock is deleted while the session waits for a later lock.
#[tokio::test]
async fn earlier_lock_that_was_lost_meanwhile_is_noticed() {
    let (service, [one, other]) = Service::with_sessions().await;
    let held = other.lock("b").await.expect("the lock");
    let waits = spawn_with(&one, |one| async move { one.lock_all(["a", "b"]).await });
    service.wait_for_keys(3).await;
    // Deletes all keys of the range `a/`.
    service.post("/v3/kv/deleterange", r#"{"key":"YS8=","range_end":"YTA="}"#).await;
    held.release().await.expect("released");
    let lost = joined(waits).await.expect_err("the first lock is lost");
    assert_eq!(lost, ClientError::Lost(LossReason::KeyDeleted));
    service.wait_for_keys(0).await;
}

#[tokio::test]
async fn lost_session_or_key_ends_several_locks() {
    let (service, [session]) = Service::with_sessions_of(RENEWED_TTL).await;
    let guard = session.lock_all(["a", "b"]).await.expect("the locks");
    let (lost, ()) = tokio::join!(within(guard.lost()), async {
        // Deletes all keys of the range `a/`.
        service.post("/v3/kv/deleterange", r#"{"key":"YS8=","range_end":"YTA="}"#).await;
    });
    assert_eq!(lost, LossReason::KeyDeleted);
    drop(guard);
    let guard = session.lock_all(["c", "d"]).await.expect("the locks");
    service.revoke(&session).await;
    assert!(is_revoked(within(guard.lost()).await));
    revoked(&session).await;
    assert_eq!(guard.deadline(), None);
    let refused = session.lock_all(["a"]).await.expect_err("the session has ended");
    assert_eq!(refused, ClientError::Lost(LossReason::LeaseEnded));
}

/// Starts a task that holds one lock and waits for another lock. The task returns both guards, or
/// the first guard and the error of the wait.
fn wait_holding(
    session: &Session,
    held: Guard,
    name: &'static str,
) -> JoinHandle<(Guard, Result<Guard, ClientError>)> {
    let session = session.clone();
    tokio::spawn(async move {
        let next = session.lock_detecting_deadlock(name, &[&held]).await;
        (held, next)
    })
}

/// Returns the cycle of a detected deadlock: for each session of the cycle, its ID and the lock for
/// which it waits. Panics if the result is no deadlock.
fn cycle(result: Result<Guard, ClientError>) -> Vec<(i64, String)> {
    match result.map(|guard| guard.fence()) {
        Err(ClientError::WouldDeadlock { cycle }) => {
            cycle.into_iter().map(|WaitForEdge { session, lock }| (session, lock)).collect()
        }
        other => panic!("no deadlock: {other:?}"),
    }
}

#[tokio::test]
async fn one_session_of_a_cycle_fails_with_its_name() {
    let (service, [one, other]) = Service::with_sessions().await;
    let (a, b) = (one.lock("a").await.expect("the lock"), other.lock("b").await.expect("the lock"));
    let first = wait_holding(&one, a, "b");
    service.wait_for_keys(3).await;
    let second = wait_holding(&other, b, "a");
    let (b, failed) = joined(second).await;
    let message = failed.as_ref().map(Guard::fence).expect_err("a cycle").to_string();
    let expected = format!(
        "waiting would deadlock: session {:x} waits for 'a', session {:x} waits for 'b'",
        other.id(),
        one.id()
    );
    assert_eq!(message, expected);
    assert_eq!(cycle(failed), [(other.id(), "a".into()), (one.id(), "b".into())]);
    assert!(!first.is_finished(), "the lock is still held");
    drop(b);
    let (_a, both) = joined(first).await;
    drop(both.expect("the lock"));
}

/// Creates a deadlock of two sessions. One session waits in [`Session::lock`], which does not
/// search for deadlocks. The other session must detect the deadlock, whichever session begins to
/// wait first.
#[tokio::test]
async fn cycle_with_plain_waiter_is_found_in_either_order() {
    for is_first in [true, false] {
        let (service, [one, other]) = Service::with_sessions().await;
        let a = one.lock("a").await.expect("the lock");
        let b = other.lock("b").await.expect("the lock");
        let plain = |session: Session| tokio::spawn(async move { session.lock("a").await });
        let (waits, plain) = if is_first {
            let plain = plain(other.clone());
            service.wait_for_keys(3).await;
            (wait_holding(&one, a, "b"), plain)
        } else {
            let waits = wait_holding(&one, a, "b");
            service.wait_for_keys(3).await;
            (waits, plain(other.clone()))
        };
        let (a, failed) = joined(waits).await;
        assert_eq!(cycle(failed), [(one.id(), "b".into()), (other.id(), "a".into())]);
        drop(a);
        drop(joined(plain).await.expect("the lock"));
        drop(b);
    }
}

#[tokio::test]
async fn cycle_of_three_sessions_and_of_one_is_found() {
    let (service, sessions) = Service::with_sessions::<3>().await;
    let mut held = Vec::new();
    for (session, name) in sessions.iter().zip(["a", "b", "c"]) {
        held.push(session.lock(name).await.expect("the lock"));
    }
    let [a, b, c] = <[Guard; 3]>::try_from(held).expect("three");
    let own = within(sessions[0].lock_detecting_deadlock("a", &[&a])).await;
    assert_eq!(cycle(own), [(sessions[0].id(), "a".into())]);
    service.wait_for_keys(3).await;
    let first = wait_holding(&sessions[0], a, "b");
    service.wait_for_keys(4).await;
    let second = wait_holding(&sessions[1], b, "c");
    service.wait_for_keys(5).await;
    let (c, failed) = joined(wait_holding(&sessions[2], c, "a")).await;
    let names = ["a", "b", "c"].map(str::to_owned);
    let order = [sessions[2].id(), sessions[0].id(), sessions[1].id()];
    assert_eq!(cycle(failed), order.into_iter().zip(names).collect::<Vec<_>>());
    drop(c);
    let (b, last) = joined(second).await;
    drop((b, last.expect("the lock")));
    drop(joined(first).await.1.expect("the lock"));
}

#[tokio::test]
async fn cycle_through_read_write_lock_is_found() {
    let (service, [one, other, third]) = Service::with_sessions().await;
    let reader = one.read_lock("a").await.expect("the lock");
    let _beside = third.read_lock("a").await.expect("the lock");
    let b = other.lock("b").await.expect("the lock");
    let writes = spawn_with(&other, |other| async move { other.write_lock("a").await });
    service.wait_for_keys(4).await;
    let (reader, failed) = joined(wait_holding(&one, reader, "b")).await;
    assert_eq!(cycle(failed), [(one.id(), "b".into()), (other.id(), "a".into())]);
    drop((reader, b));
    assert!(!writes.is_finished(), "the other reader holds the lock");
}

/// Creates a chain of three sessions: the third waits for the first, the first waits for the
/// second, and the second waits for nothing. Within 800 ms, the detectors check the queues again.
/// After this time, all waiting sessions must still wait.
#[tokio::test]
async fn chain_of_sessions_is_no_cycle() {
    let (service, [one, other, third]) = Service::with_sessions().await;
    let (a, b) = (one.lock("a").await.expect("the lock"), other.lock("b").await.expect("the lock"));
    let more = other.lock_all(["d", "e"]).await.expect("the locks");
    let c = third.lock("c").await.expect("the lock");
    let first = wait_holding(&one, a, "b");
    service.wait_for_keys(6).await;
    let second = wait_holding(&third, c, "a");
    service.wait_for_keys(7).await;
    let behind = tokio::spawn(async move { third.lock("b").await });
    service.wait_for_keys(8).await;
    tokio::time::sleep(Duration::from_millis(800)).await;
    assert!(!first.is_finished() && !second.is_finished() && !behind.is_finished());
    drop((b, more));
    let (a, next) = joined(first).await;
    drop((a, next.expect("the lock")));
    let (c, next) = joined(second).await;
    drop((c, next.expect("the lock")));
    drop(joined(behind).await.expect("the lock"));
}
