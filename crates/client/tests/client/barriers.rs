//! Barriers and double barriers.

use std::sync::atomic::Ordering;
use std::time::Duration;

use tenure_client::{ClientError, DoubleBarrier, DoubleBarrierGuard, LossReason};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::service::{RENEWED_TTL, Service, is_revoked, joined, revoked, spawn_with, within};

#[tokio::test]
async fn barrier_blocks_until_its_release() {
    let service = Service::start().await;
    let (one, other) = (service.client().await, service.client().await);
    let barrier = one.barrier("start");
    within(barrier.wait()).await.expect("it is not held");
    assert!(barrier.hold().await.expect("an answer"));
    assert!(!other.barrier("start").hold().await.expect("an answer"), "it was held before");
    let waits = spawn_with(&other.barrier("start"), |barrier| async move { barrier.wait().await });
    service.wait_for_watchers(1).await;
    within(other.barrier("else").wait()).await.expect("it is not held");
    assert!(!waits.is_finished(), "the barrier is held");
    let cancelled = timeout(Duration::from_millis(50), barrier.wait()).await;
    assert!(cancelled.is_err(), "the barrier is held");
    other.barrier("start").release().await.expect("released");
    joined(waits).await.expect("it was released");
    barrier.release().await.expect("it is not held");
    service.wait_for_keys(0).await;
}

fn enter(barrier: &DoubleBarrier) -> JoinHandle<Result<DoubleBarrierGuard, ClientError>> {
    let barrier = barrier.clone();
    tokio::spawn(async move { barrier.enter().await })
}

fn leave(entered: DoubleBarrierGuard) -> JoinHandle<Result<(), ClientError>> {
    tokio::spawn(entered.leave())
}

#[tokio::test]
async fn participants_enter_and_leave_together() {
    let service = Service::start().await;
    let mut barriers = Vec::new();
    for _ in 0..4 {
        barriers.push(service.session().await.double_barrier("work", 3));
    }
    // The barrier can be used again after all have left.
    for _ in 0..2 {
        let mut entering = vec![enter(&barriers[0])];
        service.wait_for_keys(1).await;
        entering.push(enter(&barriers[1]));
        service.wait_for_keys(2).await;
        assert!(entering.iter().all(|it| !it.is_finished()), "one is missing");
        entering.push(enter(&barriers[2]));
        let mut entered = Vec::new();
        for task in entering {
            entered.push(joined(task).await.expect("all have entered"));
        }
        let full = within(barriers[3].enter()).await.map(|_| ());
        assert_eq!(full, Err(ClientError::BarrierFull { barrier: "work".into(), count: 3 }));
        // Keys of the three participants, and the key that lets them continue.
        service.wait_for_keys(4).await;
        let mut leaving = vec![leave(entered.swap_remove(0))];
        leaving.push(leave(entered.swap_remove(0)));
        // The participant that entered first stays until all others have left.
        service.wait_for_keys(3).await;
        assert!(leaving.iter().all(|it| !it.is_finished()), "one has not left");
        leaving.push(leave(entered.swap_remove(0)));
        for task in leaving {
            joined(task).await.expect("all have left");
        }
        service.wait_for_keys(0).await;
    }
}

/// One participant has left and enters again before the other participant has read the barrier. The
/// other one must return from `leave`, because it has to enter as well.
#[tokio::test]
async fn leaving_does_not_wait_for_the_next_use() {
    let (service, relay, slow) = Service::with_relay(60).await;
    let fast = service.session().await.double_barrier("work", 2);
    let slow = slow.double_barrier("work", 2);
    let first = enter(&fast);
    service.wait_for_keys(1).await;
    let second = within(slow.enter()).await.expect("all have entered");
    let first = joined(first).await.expect("all have entered");
    let leaving = leave(second);
    // The second participant has deleted its key, and waits for the first one.
    service.wait_for_keys(2).await;
    relay.is_cut.store(true, Ordering::Relaxed);
    within(first.leave()).await.expect("all have left");
    let again = enter(&fast);
    service.wait_for_keys(1).await;
    relay.is_cut.store(false, Ordering::Relaxed);
    joined(leaving).await.expect("all have left");
    let second = within(slow.enter()).await.expect("all have entered");
    let first = joined(again).await.expect("all have entered");
    drop((first, second));
}

#[tokio::test]
async fn cancelled_participant_leaves_no_key() {
    let service = Service::start().await;
    let barrier = service.session().await.double_barrier("work", 2);
    for moment in [0, 100] {
        assert!(timeout(Duration::from_millis(moment), barrier.enter()).await.is_err());
        service.wait_for_keys(0).await;
    }
    let single = service.session().await.double_barrier("single", 1);
    drop(within(single.enter()).await.expect("it is complete"));
    // The key `single/ready` is left over. The next use ignores it.
    service.wait_for_keys(1).await;
    let entered = within(single.enter()).await.expect("it is complete");
    within(entered.leave()).await.expect("all have left");
    service.wait_for_keys(0).await;
}

#[tokio::test]
async fn lost_participant_does_not_block_the_others() {
    let (service, [one, other]) = Service::with_sessions_of(RENEWED_TTL).await;
    let first = enter(&one.double_barrier("work", 2));
    service.wait_for_keys(1).await;
    let second = enter(&other.double_barrier("work", 2));
    let (first, second) =
        (joined(first).await.expect("entered"), joined(second).await.expect("entered"));
    let leaving = leave(second);
    service.wait_for_keys(2).await;
    assert!(!leaving.is_finished(), "the first one has not left");
    service.revoke(&one).await;
    assert!(is_revoked(within(first.lost()).await));
    revoked(&one).await;
    assert_eq!(first.deadline(), None);
    joined(leaving).await.expect("the other one has left");
    let late = within(first.leave()).await;
    assert_eq!(late, Err(ClientError::Lost(LossReason::LeaseEnded)));
    let waits = enter(&other.double_barrier("more", 2));
    service.wait_for_keys(2).await;
    service.revoke(&other).await;
    let waited = joined(waits).await.map(|_| ());
    assert!(matches!(waited, Err(ClientError::Lost(_))), "{waited:?}");
}
