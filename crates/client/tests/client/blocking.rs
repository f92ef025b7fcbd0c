//! The blocking interface, from plain threads.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use tenure_client::blocking::Client;
use tenure_client::{CampaignOptions, ClientError, ElectionState, LossReason};
use tokio::runtime::Runtime;

use crate::service::{STEP_TIMEOUT, Service};
use crate::workplace::Workplace;

const SHORT: Duration = Duration::from_millis(50);

/// A member that runs in threads of its own.
struct Member {
    service: Service,
    runtime: Runtime,
}

impl Member {
    fn start() -> Member {
        let runtime = Runtime::new().expect("a runtime");
        let service = runtime.block_on(Service::start());
        Member { service, runtime }
    }

    fn client(&self) -> Client {
        Client::connect([&self.service.address]).expect("a connection")
    }

    fn keys(&self) -> usize {
        self.runtime.block_on(self.service.keys())
    }

    fn leases(&self) -> usize {
        let response = self.runtime.block_on(self.service.post("/v3/lease/leases", "{}"));
        response.matches("\"ID\"").count()
    }
}

const TTL: Duration = Duration::from_secs(60);

#[test]
fn threads_hold_a_lock_one_at_a_time() {
    const THREADS: usize = 4;
    const ENTRIES: usize = 10;
    let (member, place, entries) = (Member::start(), Workplace::new(), AtomicUsize::new(0));
    let client = member.client();
    thread::scope(|scope| {
        for index in 0..THREADS {
            // Two threads share a client, and each has a session of its own.
            let client = if index % 2 == 0 { client.clone() } else { member.client() };
            let (place, entries) = (&place, &entries);
            scope.spawn(move || {
                let session = client.session(TTL).expect("a session");
                for _ in 0..ENTRIES {
                    let guard = session.lock("a").expect("the lock");
                    let work = place.start(&index.to_string(), guard.fence());
                    let work = work.expect("no other thread holds the lock");
                    entries.fetch_add(1, Ordering::Relaxed);
                    drop(work);
                    guard.release().expect("released");
                }
            });
        }
    });
    assert_eq!(entries.load(Ordering::Relaxed), THREADS * ENTRIES);
    assert!(place.record().is_sorted_by(|(_, one), (_, other)| one < other), "fences grow");
}

/// Control experiment for `threads_hold_a_lock_one_at_a_time`: a second worker starts its work
/// without the lock, while the first worker holds the lock. [`Workplace`] must detect this.
#[test]
fn work_without_the_lock_is_detected() {
    let (member, place) = (Member::start(), Workplace::new());
    let session = member.client().session(TTL).expect("a session");
    let guard = session.lock("a").expect("the lock");
    let _work = place.start("one", guard.fence()).expect("the first");
    assert!(place.start("two", 0).is_err());
}

#[test]
fn time_limits_end_waits() {
    let member = Member::start();
    let client = member.client();
    let (one, other) =
        (client.session(TTL).expect("a session"), client.session(TTL).expect("a session"));
    let guard = one.lock("a").expect("the lock");
    assert!(other.try_lock("a").expect("a response").is_none());
    assert!(other.lock_within("a", SHORT).expect("a response").is_none());
    assert_eq!((guard.wait_lost_within(SHORT), one.wait_lost_within(SHORT)), (None, None));
    assert!(guard.deadline().is_some() && one.deadline().is_some());
    guard.release().expect("released");
    let guard = other.lock_within("a", STEP_TIMEOUT).expect("a response").expect("the lock");
    other.close().expect("revoked");
    assert_eq!(guard.wait_lost_within(STEP_TIMEOUT), Some(LossReason::Closed));
    assert_eq!(other.lock("a").map(drop), Err(ClientError::Lost(LossReason::Closed)));
}

#[test]
fn dropping_everything_ends_thread_and_sessions() {
    let member = Member::start();
    let client = member.client();
    let session = client.session(TTL).expect("a session");
    let guard = session.lock("a").expect("the lock");
    drop((client, session));
    assert_eq!((member.keys(), member.leases()), (1, 1), "the guard keeps the session alive");
    drop(guard);
    assert_eq!((member.keys(), member.leases()), (0, 0), "the drop has waited for the end");
}

#[test]
fn other_kinds_of_locks_block_threads() {
    let member = Member::start();
    let client = member.client();
    let (one, other) =
        (client.session(TTL).expect("a session"), client.session(TTL).expect("a session"));
    let readers = (one.read_lock("a").expect("shared"), other.try_read_lock("a").expect("shared"));
    assert!(readers.1.is_some());
    assert!(other.write_lock_within("a", SHORT).expect("a response").is_none());
    drop(readers);
    let writer = one.write_lock_within("a", STEP_TIMEOUT).expect("a response").expect("the lock");
    assert!(other.try_read_lock("a").expect("a response").is_none());
    writer.release().expect("released");

    let semaphore = one.semaphore("b", 3).expect("a semaphore");
    let two = semaphore.acquire_many(2).expect("two permits");
    assert!(semaphore.try_acquire_many(2).expect("a response").is_none());
    let third = other.semaphore("b", 3).expect("it exists").acquire().expect("the last permit");
    assert!(semaphore.acquire_within(SHORT).expect("a response").is_none());
    drop((two, third));

    let all = one.lock_all(["d", "c"]).expect("both");
    assert_eq!(all.names().collect::<Vec<_>>(), ["c", "d"]);
    assert!(other.try_lock_all(["c"]).expect("a response").is_none());
    all.release().expect("released");

    let barrier = client.barrier("e");
    assert!(barrier.hold().expect("held"));
    assert!(!barrier.wait_within(SHORT).expect("a response"));
    barrier.release().expect("released");
    barrier.wait().expect("it is released");
    thread::scope(|scope| {
        for session in [&one, &other] {
            scope.spawn(move || {
                let entered = session.double_barrier("f", 2).enter().expect("both enter");
                entered.leave().expect("both leave");
            });
        }
    });
}

#[test]
fn leader_hands_over_to_preferred_thread() {
    let (member, place) = (Member::start(), Workplace::new());
    let client = member.client();
    let (one, other) =
        (client.session(TTL).expect("a session"), client.session(TTL).expect("a session"));
    let first = one.campaign_with("boss", CampaignOptions::new("one")).expect("elected");
    assert_eq!(first.wait_until_transfer_due_within(SHORT), Ok(None));
    let work = place.start("one", first.fence()).expect("no other leader works");
    thread::scope(|scope| {
        let next = scope.spawn(|| {
            let options = CampaignOptions::new("two").priority(1);
            let next = other.campaign_with_within("boss", options, STEP_TIMEOUT);
            let next = next.expect("a response").expect("elected");
            place.start("two", next.fence()).map(drop).expect("the former leader has stopped");
            next
        });
        let requested = first.wait_until_transfer_due_within(STEP_TIMEOUT).expect("a response");
        assert_eq!(requested.expect("`two` is preferred").identity, "two");
        drop(work);
        first.resign().expect("resigned");
        let next = next.join().expect("no panic");
        let mut observer = client.election_observer("boss");
        let state = observer.next_state_within(STEP_TIMEOUT).expect("a state").expect("a leader");
        assert!(matches!(state, ElectionState::Leader { value, .. } if value == b"two"));
        next.proclaim("two, busy").expect("it leads");
        assert_eq!(next.wait_lost_within(SHORT), None);
    });
}

#[test]
#[should_panic(expected = "Cannot start a runtime from within a runtime")]
fn call_in_asynchronous_task_panics() {
    let member = Member::start();
    let session = member.client().session(TTL).expect("a session");
    member.runtime.block_on(async { session.try_lock("a").map(drop) }).expect("never");
}

#[test]
fn call_in_blocking_thread_of_runtime_works() {
    let member = Member::start();
    let session = member.client().session(TTL).expect("a session");
    let locked = member.runtime.spawn_blocking(move || session.lock("a").map(drop));
    member.runtime.block_on(locked).expect("no panic").expect("the lock");
}

/// Connects to a port on which no process listens. The error must be `ClientError::Unavailable`.
#[test]
fn unreachable_service_is_reported() {
    let address = tenure_runtime::ports::reserve_address().to_string();
    let error = Client::connect([&address]).map(drop).expect_err("no service");
    assert!(matches!(error, ClientError::Unavailable { .. }), "{error}");
}
