//! Expiry of a lease while the disk is slow. The user must lose the lock in time.

use std::sync::atomic::Ordering;
use std::time::Duration;

use tenure_core::service::mutex::{Command, Event};
use tenure_core::{Delay, Effects, Fence, Group, ProcessId, Protocol, TimerRole};
use tokio::time::{sleep, timeout};

use crate::driver::{RunningNode, start_node};
use crate::lock::{ElectionHandle, Lock, LockLossReason};
use crate::lock_application::LockApplication;
use crate::node_components::NodeComponents;
use crate::store::StableStorage;
use crate::tests::{EVENT_TIMEOUT, listeners, open, settings};

/// Protocol that grants the lock for a short time. It saves its state during that time, and then
/// extends the time.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct ShortLease {
    saved: u64,
    /// True if the process also saves its state when it enters.
    saves_at_entry: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Timer {
    Save,
    End,
}

impl Protocol for ShortLease {
    type Config = bool;
    type Command = Command;
    type Event = Event;
    type Message = ();
    type Timer = Timer;
    type Stable = u64;

    fn boot(_: Group, saves: &bool, saved: Option<u64>, _: &mut impl Effects<Self>) -> Self {
        ShortLease { saved: saved.unwrap_or(0), saves_at_entry: *saves }
    }

    fn stable(&self) -> u64 {
        self.saved
    }

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        if command == Command::Enter {
            self.saved += u64::from(self.saves_at_entry);
            fx.emit(Event::Entered { fence: Fence(0, self.saved) });
            fx.set_timer(Timer::Save, Delay::time_units(50));
            fx.set_timer(Timer::End, Delay::time_units(100));
        }
    }

    fn on_message(&mut self, _: ProcessId, (): (), _: &mut impl Effects<Self>) {}

    fn on_timer(&mut self, timer: Timer, fx: &mut impl Effects<Self>) {
        match timer {
            Timer::Save => {
                self.saved += 1;
                fx.set_timer(Timer::End, Delay::time_units(100));
            }
            Timer::End => fx.emit(Event::Exited),
        }
    }

    fn timer_role(timer: &Timer) -> TimerRole {
        match timer {
            Timer::End => TimerRole::EndsClaim,
            _ => TimerRole::Plain,
        }
    }
}

fn boot(
    store: StableStorage,
    me: ProcessId,
    saves_at_entry: bool,
) -> (RunningNode, Lock, ElectionHandle) {
    let ([listener], addresses) = listeners();
    let (application, lock, election, requests) = LockApplication::new();
    let running = start_node::<ShortLease, LockApplication>(NodeComponents::new(
        saves_at_entry,
        settings(me, &store, listener, &addresses),
        store,
        application,
        requests,
    ));
    (running.expect("a node"), lock, election)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lease_expires_while_disk_is_slow() {
    let directory = tempfile::tempdir().expect("a folder");
    let me = ProcessId(0);
    let store = open(directory.path(), me, 1);
    let is_stuck = store.is_stuck.clone();
    let (running, lock, election) = boot(store, me, false);
    let guard =
        timeout(EVENT_TIMEOUT, lock.acquire()).await.expect("an event in time").expect("an entry");
    is_stuck.store(true, Ordering::SeqCst);
    let lost = timeout(EVENT_TIMEOUT, guard.lost()).await;
    is_stuck.store(false, Ordering::SeqCst);
    assert_eq!(lost, Ok(LockLossReason::LeaseExpired));
    // The dropped guard requests an exit, although its entry has already ended.
    drop(guard);
    let again =
        timeout(EVENT_TIMEOUT, lock.acquire()).await.expect("an event in time").expect("an entry");
    drop((again, lock, election));
    running.task.await.expect("no panic").expect("a clean shutdown");
}

/// The entry waits for the disk until its lease has expired. The user gets the next entry.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn expired_entry_is_not_given_to_a_user() {
    let directory = tempfile::tempdir().expect("a folder");
    let me = ProcessId(0);
    let store = open(directory.path(), me, 1);
    let (is_stuck, metrics) = (store.is_stuck.clone(), store.save_metrics());
    let (running, lock, election) = boot(store, me, true);
    is_stuck.store(true, Ordering::SeqCst);
    let entering = tokio::spawn(async move { (lock.acquire().await, lock) });
    // The entry waits for this save, four times as long as its lease.
    let is_old = || metrics.unfinished_save_age().is_some_and(|age| age.as_millis() > 400);
    let expired = async {
        while !is_old() {
            sleep(Duration::from_millis(1)).await;
        }
    };
    let has_expired = timeout(EVENT_TIMEOUT, expired).await.is_ok();
    is_stuck.store(false, Ordering::SeqCst);
    assert!(has_expired, "the entry does not wait for the disk");
    let (entered, lock) =
        timeout(EVENT_TIMEOUT, entering).await.expect("an event in time").expect("no panic");
    let fence = entered.expect("an entry").fence();
    assert!(fence > Fence(0, 1), "the entry {fence:?} had expired");
    drop((lock, election));
    running.task.await.expect("no panic").expect("a clean shutdown");
}

/// The save of the entry and the lease of the entry end while all tasks are stopped. The user gets
/// the next entry.
#[tokio::test]
async fn entry_that_expired_during_a_stop_is_not_given_to_a_user() {
    let directory = tempfile::tempdir().expect("a folder");
    let me = ProcessId(0);
    let store = open(directory.path(), me, 1);
    let (is_stuck, metrics) = (store.is_stuck.clone(), store.save_metrics());
    let (running, lock, election) = boot(store, me, true);
    // The first save begins the session, and the second contains the state after the boot.
    let booted = async {
        while metrics.read().count < 2 || metrics.unfinished_save_age().is_some() {
            sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(EVENT_TIMEOUT, booted).await.expect("a save in time");
    is_stuck.store(true, Ordering::SeqCst);
    let entering = tokio::spawn(async move { (lock.acquire().await, lock) });
    let begun = async {
        while metrics.unfinished_save_age().is_none() {
            sleep(Duration::from_millis(1)).await;
        }
    };
    let has_begun = timeout(EVENT_TIMEOUT, begun).await.is_ok();
    is_stuck.store(false, Ordering::SeqCst);
    assert!(has_begun, "the entry waits for no save");
    // The runtime has one thread, so this stops all tasks, but not the thread of the disk.
    std::thread::sleep(Duration::from_millis(400));
    let (entered, lock) =
        timeout(EVENT_TIMEOUT, entering).await.expect("an event in time").expect("no panic");
    let fence = entered.expect("an entry").fence();
    assert!(fence > Fence(0, 1), "the entry {fence:?} had expired");
    drop((lock, election));
    running.task.await.expect("no panic").expect("a clean shutdown");
}
