//! Expiry of a lease while the disk is slow. The user must lose the lock in time.

use std::sync::atomic::Ordering;

use tenure_core::service::mutex::{Command, Event};
use tenure_core::{Delay, Effects, Fence, Group, ProcessId, Protocol, TimerRole};
use tokio::time::timeout;

use crate::driver::start;
use crate::lock::LossReason;
use crate::lock_application::LockApplication;
use crate::node_components::NodeComponents;
use crate::tests::{EVENT_TIMEOUT, listeners, open, settings};

/// Protocol that grants the lock for a short time. It saves its state during that time.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct ShortLease {
    saved: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Timer {
    Save,
    End,
}

impl Protocol for ShortLease {
    type Config = ();
    type Command = Command;
    type Event = Event;
    type Message = ();
    type Timer = Timer;
    type Stable = u64;

    fn boot(_: Group, (): &(), saved: Option<u64>, _: &mut impl Effects<Self>) -> Self {
        ShortLease { saved: saved.unwrap_or(0) }
    }

    fn stable(&self) -> u64 {
        self.saved
    }

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        if command == Command::Enter {
            fx.emit(Event::Entered { fence: Fence(0, 1) });
            fx.set_timer(Timer::Save, Delay::units(50));
            fx.set_timer(Timer::End, Delay::units(100));
        }
    }

    fn on_message(&mut self, _: ProcessId, (): (), _: &mut impl Effects<Self>) {}

    fn on_timer(&mut self, timer: Timer, fx: &mut impl Effects<Self>) {
        match timer {
            Timer::Save => self.saved += 1,
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lease_expires_while_disk_is_slow() {
    let directory = tempfile::tempdir().expect("a folder");
    let me = ProcessId(0);
    let store = open(directory.path(), me, 1);
    let is_stuck = store.is_stuck.clone();
    let ([listener], addresses) = listeners();
    let (application, lock, election, requests) = LockApplication::new();
    let running = start::<ShortLease, LockApplication>(NodeComponents::new(
        (),
        settings(me, &store, listener, &addresses),
        store,
        application,
        requests,
    ));
    let running = running.expect("a node");
    let guard =
        timeout(EVENT_TIMEOUT, lock.enter()).await.expect("an event in time").expect("an entry");
    is_stuck.store(true, Ordering::SeqCst);
    let lost = timeout(EVENT_TIMEOUT, guard.lost()).await;
    is_stuck.store(false, Ordering::SeqCst);
    assert_eq!(lost, Ok(LossReason::LeaseExpired));
    // The dropped guard requests an exit, although its entry has already ended.
    drop(guard);
    let again =
        timeout(EVENT_TIMEOUT, lock.enter()).await.expect("an event in time").expect("an entry");
    drop((again, lock, election));
    running.task.await.expect("no panic").expect("a clean shutdown");
}
