//! Tests of the transport, the store and whole nodes with real sockets and files.

mod applications;
mod batching;
mod bytes;
mod formatting;
mod handles;
mod invalid_messages;
mod named;
mod node;
mod rewriting;
mod saving;
mod store;
mod transport;
mod unreachable;

use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use tenure_algorithms::detector::heartbeat;
use tenure_core::{Delay, Fence, ProcessId, Protocol, TICKS_PER_UNIT};
use tenure_runtime::store::Owner;
use tenure_runtime::transport::{Listen, Settings};
use tenure_runtime::{Lock, Parts, Passthrough, Recorder, RunningNode, Store, start};
use tenure_trace::Recorded;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Returns transport settings of a node that is alone in its group.
fn alone(session: u64) -> Settings {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    Settings::on_loopback(
        "test",
        ProcessId(0),
        session,
        vec![listener.local_addr().unwrap().to_string()],
        Listen::Listener(listener),
    )
}

/// Returns listeners on free ports, and their addresses.
fn listeners(count: usize) -> (Vec<TcpListener>, Vec<String>) {
    let listeners: Vec<_> = (0..count).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    let addresses = listeners.iter().map(|l| l.local_addr().unwrap().to_string()).collect();
    (listeners, addresses)
}

/// Returns transport settings of process `me` in a group with these addresses.
fn transport_settings(
    me: usize,
    session: u64,
    listener: TcpListener,
    addresses: &[String],
) -> Settings {
    Settings::on_loopback(
        "test",
        ProcessId::at(me),
        session,
        addresses.to_vec(),
        Listen::Listener(listener),
    )
}

/// Returns the configuration of a failure detector for tests.
fn detector() -> heartbeat::Config {
    heartbeat::Config {
        period: Delay::units(20),
        timeout: 400 * TICKS_PER_UNIT,
        increment: 100 * TICKS_PER_UNIT,
        longest: 2_000 * TICKS_PER_UNIT,
    }
}

/// Enters a lock this many times, and returns the fences. Fails if another task is inside.
async fn enter_alone(lock: Lock, inside: Arc<AtomicU32>, times: u32) -> Vec<Fence> {
    let mut fences = Vec::new();
    for _ in 0..times {
        let guard = lock.enter().await.unwrap();
        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "another task holds the lock");
        tokio::task::yield_now().await;
        assert_eq!(inside.fetch_sub(1, Ordering::SeqCst), 1);
        fences.push(guard.fence());
    }
    assert!(fences.is_sorted(), "the fences of one user grow");
    fences
}

/// Opens the store of a node that is alone in its group.
fn store_alone(directory: &Path, schema: &'static str) -> Store {
    let owner = Owner { cluster: "test".into(), process: ProcessId(0), group_size: 1 };
    Store::open(directory, &owner, schema).unwrap()
}

/// Starts a node that is alone in its group. Returns the sender of its commands and the receiver of
/// its events.
fn start_alone<P>(
    store: Store,
    recorder: Recorder,
) -> (UnboundedSender<P::Command>, UnboundedReceiver<P::Event>, RunningNode)
where
    P: Recorded + Protocol<Config = ()>,
{
    let (local, events) = Passthrough::<P>::new();
    let (commands, receiver) = unbounded_channel();
    let running = start::<P, Passthrough<P>>(Parts {
        recorder,
        ..Parts::new((), alone(store.session()), store, local, receiver)
    });
    (commands, events, running.unwrap())
}

/// Returns the random seeds of a test. `cargo xtask attack … --seeds A..B` chooses them; otherwise
/// they are `short`.
fn seeds(short: std::ops::Range<u64>) -> std::ops::Range<u64> {
    let wanted = std::env::var("TENURE_SEEDS").unwrap_or_default();
    let range = wanted.split_once("..");
    let range = range.and_then(|(from, to)| Some(from.parse().ok()?..to.parse().ok()?));
    range.unwrap_or(short)
}
