//! Read/write locks of real sessions exclude each other.

use std::sync::atomic::Ordering;
use std::time::Duration;

use tenure_client::{ClientError, LossReason};

use crate::service::{
    RENEWED_TTL, Service, is_revoked, joined, json_string, revoked, spawn_with, within,
};

/// Key `a/write/17000` in base64. The recipe of etcd creates keys of this form.
const FOREIGN_WRITER: &str = "YS93cml0ZS8xNzAwMA==";

/// Key `a/read/17000` in base64.
const FOREIGN_READER: &str = "YS9yZWFkLzE3MDAw";

const MOMENT: Duration = Duration::from_millis(50);

#[tokio::test]
async fn readers_share_and_writer_excludes() {
    let (service, [one, other, third]) = Service::with_sessions().await;
    let first = within(one.read_lock("a")).await.expect("the lock");
    let second = within(other.read_lock("a")).await.expect("the lock");
    assert!(third.try_write_lock("a").await.expect("an answer").is_none());
    assert!(third.write_lock_within("a", MOMENT).await.expect("an answer").is_none());
    service.wait_for_keys(2).await;
    let writes = spawn_with(&third, |third| async move { third.write_lock("a").await });
    service.wait_for_keys(3).await;
    let last_reader = second.fence();
    second.release().await.expect("released");
    service.wait_for_keys(2).await;
    assert!(!writes.is_finished(), "a reader holds the lock");
    first.release().await.expect("released");
    let writer = joined(writes).await.expect("the lock");
    assert!(writer.fence() > last_reader && writer.deadline().is_some());
    assert!(one.try_read_lock("a").await.expect("an answer").is_none());
    assert!(one.try_write_lock("a").await.expect("an answer").is_none());
    assert!(one.read_lock_within("a", MOMENT).await.expect("an answer").is_none());
    // Other locks are not affected, nor is the exclusive lock with the same name.
    assert!(one.try_write_lock("b").await.expect("an answer").is_some());
    assert!(one.try_lock("a").await.expect("an answer").is_some());
    writer.release().await.expect("released");
    let reads = one.try_read_lock("a").await.expect("an answer").expect("it is free");
    reads.release().await.expect("released");
    let writes = one.try_write_lock("a").await.expect("an answer").expect("it is free");
    writes.release().await.expect("released");
    service.wait_for_keys(0).await;
}

#[tokio::test]
async fn waiting_writer_is_not_overtaken_by_later_readers() {
    let (service, [one, other, third]) = Service::with_sessions().await;
    let reader = within(one.read_lock("a")).await.expect("the lock");
    let writes = tokio::spawn(async move { other.write_lock("a").await });
    service.wait_for_keys(2).await;
    assert!(third.try_read_lock("a").await.expect("an answer").is_none());
    let reads = tokio::spawn(async move { third.read_lock("a").await });
    service.wait_for_keys(3).await;
    drop(reader);
    let writer = joined(writes).await.expect("the lock");
    assert!(!reads.is_finished(), "the writer holds the lock");
    let fence = writer.fence();
    drop(writer);
    assert!(joined(reads).await.expect("the lock").fence() > fence);
}

#[tokio::test]
async fn keys_of_recipe_for_go_exclude() {
    let (service, [session]) = Service::with_sessions().await;
    service.put(FOREIGN_READER).await;
    let reader = session.try_read_lock("a").await.expect("an answer").expect("readers share");
    assert!(session.try_write_lock("a").await.expect("an answer").is_none());
    reader.release().await.expect("released");
    let writes = spawn_with(&session, |session| async move { session.write_lock("a").await });
    service.wait_for_keys(2).await;
    service.put(FOREIGN_WRITER).await;
    assert!(!writes.is_finished(), "the other reader holds the lock");
    service.delete(FOREIGN_READER).await;
    // The writer of the other client is behind this writer in the queue.
    let writer = joined(writes).await.expect("the lock");
    let reads = tokio::spawn(async move { session.read_lock("a").await });
    service.wait_for_keys(3).await;
    writer.release().await.expect("released");
    service.wait_for_keys(2).await;
    assert!(!reads.is_finished(), "the other writer holds the lock");
    service.delete(FOREIGN_WRITER).await;
    joined(reads).await.expect("the lock").release().await.expect("released");
}

/// Loses the response to a request for a write lock, so that the client sends the request again.
/// The second request must not change the key, because the recipe of etcd's library for Go orders
/// claims by the last change of their keys.
#[tokio::test]
async fn repeated_request_does_not_change_the_key() {
    let (service, relay, session) = Service::with_relay(60).await;
    relay.drops_next_response.store(true, Ordering::Relaxed);
    let guard = within(session.write_lock("a")).await.expect("the lock");
    assert!(!relay.drops_next_response.load(Ordering::Relaxed), "a response was lost");
    let keys = service.all_keys_json().await;
    let fence = guard.fence().to_string();
    assert_eq!(json_string(&keys, "create_revision"), Some(&*fence), "{keys}");
    assert_eq!(json_string(&keys, "mod_revision"), Some(&*fence), "{keys}");
}

#[tokio::test]
async fn nested_names_do_not_exclude() {
    let (_service, [one, other]) = Service::with_sessions().await;
    let _below = one.write_lock("a/write").await.expect("the lock");
    let _beside = one.read_lock("a/read").await.expect("the lock");
    let writer = other.try_write_lock("a").await.expect("an answer").expect("it is free");
    assert!(one.try_read_lock("a").await.expect("an answer").is_none());
    writer.release().await.expect("released");
    let reader = within(other.read_lock("a")).await.expect("the lock");
    assert!(one.try_write_lock("a").await.expect("an answer").is_none());
    drop(reader);
}

/// Makes `try_write_lock` read the queue of the writers twice, because the newest key of the first
/// read belongs to a nested name. Between the two reads, another session becomes the writer.
#[tokio::test]
async fn writer_between_two_reads_of_a_queue_is_noticed() {
    let (service, relay, session) = Service::with_relay(60).await;
    let other = service.session().await;
    let _below = other.lock("a/write/x").await.expect("the lock");
    // Opens the stream of transactions.
    session.write_lock("b").await.expect("the lock").release().await.expect("released");
    relay.delay.store(300, Ordering::Relaxed);
    let before = relay.forwarded.load(Ordering::Relaxed);
    let tries = spawn_with(&session, |session| async move { session.try_write_lock("a").await });
    within(async {
        while relay.forwarded.load(Ordering::Relaxed) == before {
            tokio::task::yield_now().await;
        }
    })
    .await;
    // The member executes the first read. The relay delays its response.
    tokio::time::sleep(MOMENT).await;
    let writer = other.try_write_lock("a").await.expect("an answer");
    let second = joined(tries).await.expect("an answer");
    assert!(writer.is_none() || second.is_none(), "two writers hold the lock");
}

/// Waits for an exclusive lock in a queue with two readers. The release of one reader must not
/// grant the lock, because the other reader still holds its own lock.
#[tokio::test]
async fn release_of_one_reader_grants_nothing_to_exclusive_waiter() {
    let (service, [one, other]) = Service::with_sessions().await;
    let first = one.read_lock("a").await.expect("the lock");
    let second = one.read_lock("a").await.expect("the lock");
    // This exclusive lock has the same name as the queue of the readers of the read/write lock `a`.
    let waits = tokio::spawn(async move { other.lock("a/read").await });
    service.wait_for_watchers(1).await;
    second.release().await.expect("released");
    service.wait_for_keys(2).await;
    assert!(!waits.is_finished(), "a reader holds the lock");
    first.release().await.expect("released");
    joined(waits).await.expect("the lock").release().await.expect("released");
}

#[tokio::test]
async fn cancelled_waiters_leave_no_keys() {
    let (service, [one, other]) = Service::with_sessions().await;
    let held = one.write_lock("a").await.expect("the lock");
    // The future is dropped while the request is sent, or after 100 ms.
    for moment in [0, 100] {
        let within = Duration::from_millis(moment);
        assert!(other.read_lock_within("a", within).await.expect("an answer").is_none());
        assert!(other.write_lock_within("a", within).await.expect("an answer").is_none());
    }
    service.wait_for_keys(1).await;
    held.release().await.expect("released");
    service.wait_for_keys(0).await;
}

#[tokio::test]
async fn lost_session_ends_guards_and_waiters() {
    let (service, [one, other]) = Service::with_sessions_of(RENEWED_TTL).await;
    let reader = one.read_lock("a").await.expect("the lock");
    let writer = one.write_lock("b").await.expect("the lock");
    let _held = other.write_lock("c").await.expect("the lock");
    let waits = spawn_with(&one, |one| async move { one.read_lock("c").await });
    service.wait_for_keys(4).await;
    service.revoke(&one).await;
    assert!(is_revoked(within(reader.lost()).await) && is_revoked(within(writer.lost()).await));
    revoked(&one).await;
    assert_eq!((reader.deadline(), writer.deadline()), (None, None));
    let waited = joined(waits).await.map(|guard| guard.fence());
    assert_eq!(waited, Err(ClientError::Lost(LossReason::LeaseEnded)));
    assert!(other.try_write_lock("a").await.expect("an answer").is_some());
}
