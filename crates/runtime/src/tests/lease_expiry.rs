//! Expiry of a lease while the disk is slow. The user must lose the lock in time.

use std::net::TcpListener;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tenure_core::service::mutex::{Command, Event};
use tenure_core::{Delay, Effects, Fence, Group, ProcessId, Protocol, TimerRole};
use tokio::time::timeout;

use crate::driver::start;
use crate::lock::Lost;
use crate::lock_application::LockApplication;
use crate::parts::Parts;
use crate::store::{Owner, Store};
use crate::transport::{Listen, Settings};

const EVENT_TIMEOUT: Duration = Duration::from_secs(20);

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
    let owner = Owner { cluster: "test".into(), process: ProcessId(0), group_size: 1 };
    let store = Store::open(directory.path(), &owner, "short lease 1").expect("a store");
    let is_stuck = store.is_stuck.clone();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let (application, lock, leadership, requests) = LockApplication::new();
    let running = start::<ShortLease, LockApplication>(Parts::new(
        (),
        Settings::on_loopback(
            "test",
            ProcessId(0),
            store.session(),
            vec![listener.local_addr().expect("an address").to_string()],
            Listen::Listener(listener),
        ),
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
    assert_eq!(lost, Ok(Lost::LeaseExpired));
    // The guard requests an exit from an entry that has ended.
    drop(guard);
    let again =
        timeout(EVENT_TIMEOUT, lock.enter()).await.expect("an event in time").expect("an entry");
    drop((again, lock, leadership));
    running.task.await.expect("no panic").expect("a clean shutdown");
}
