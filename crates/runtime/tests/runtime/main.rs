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
#[cfg(target_os = "linux")]
#[path = "../../../../tests/support/skipped.rs"]
mod skipped;
mod store;
mod transport;
mod unreachable;

use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tempfile::TempDir;
use tenure_algorithms::detector::heartbeat;
use tenure_core::{Delay, Fence, ProcessId, Protocol, TICKS_PER_TIME_UNIT};
use tenure_runtime::ports::reserve_address;
use tenure_runtime::store::StateOwner;
use tenure_runtime::transport::{Listen, MeshSettings};
use tenure_runtime::{
    Application, ElectionHandle, Guard, Lock, LockApplication, LockCommand, LockEvent,
    NodeComponents, NodeFailure, PassthroughApplication, RunningNode, StableStorage, TraceSink,
    start_node,
};
use tenure_trace::RecordableProtocol;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::timeout;

/// Time limit for one step of a test. It is long, because the machine may be busy.
const TIME_LIMIT: Duration = Duration::from_secs(120);

fn alone(session: u64) -> MeshSettings {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    MeshSettings::on_loopback(
        "test",
        ProcessId(0),
        session,
        vec![listener.local_addr().unwrap().to_string()],
        Listen::Listener(listener),
    )
}

/// Listens at `count` ports, and returns the listeners and their addresses. The ports stay
/// reserved, so that a node can listen again after a restart.
fn listeners(count: usize) -> (Vec<TcpListener>, Vec<String>) {
    let addresses: Vec<_> = (0..count).map(|_| reserve_address()).collect();
    let listeners = addresses.iter().map(|address| TcpListener::bind(address).unwrap()).collect();
    (listeners, addresses.iter().map(ToString::to_string).collect())
}

fn transport_settings(
    me: usize,
    session: u64,
    listener: TcpListener,
    addresses: &[String],
) -> MeshSettings {
    MeshSettings::on_loopback(
        "test",
        ProcessId::from_index(me),
        session,
        addresses.to_vec(),
        Listen::Listener(listener),
    )
}

fn detector() -> heartbeat::Config {
    heartbeat::Config {
        period: Delay::time_units(20),
        initial_timeout: 400 * TICKS_PER_TIME_UNIT,
        increment: 100 * TICKS_PER_TIME_UNIT,
        max_timeout: 2_000 * TICKS_PER_TIME_UNIT,
    }
}

fn store(directory: &Path, me: usize, group_size: usize) -> StableStorage {
    let group_size = u32::try_from(group_size).unwrap();
    let owner =
        StateOwner { cluster: "test".into(), process: ProcessId::from_index(me), group_size };
    StableStorage::open(directory.join(me.to_string()), &owner, "test").unwrap()
}

fn components<P: Protocol, App: Application<P>>(
    config: P::Config,
    directory: &Path,
    me: usize,
    listener: TcpListener,
    addresses: &[String],
    (application, requests): (App, UnboundedReceiver<App::Request>),
) -> NodeComponents<P, App> {
    let store = store(directory, me, addresses.len());
    let settings = transport_settings(me, store.session(), listener, addresses);
    NodeComponents::new(config, settings, store, application, requests)
}

/// Waits for a future. Panics if it does not complete within the time limit.
async fn in_time<T>(future: impl Future<Output = T>) -> T {
    timeout(TIME_LIMIT, future).await.expect("an event in time")
}

async fn enter(lock: &Lock) -> Guard {
    in_time(lock.acquire()).await.expect("an entry")
}

async fn next_event<E>(events: &mut UnboundedReceiver<E>) -> E {
    in_time(events.recv()).await.expect("a running node")
}

/// Copies the files of a store as a crash at this moment would leave them.
fn copy_files(directory: &Path) -> TempDir {
    let copy = TempDir::new().unwrap();
    for entry in std::fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_file() {
            // A change that is being written may be copied in part, like a torn write.
            let _ = std::fs::copy(entry.path(), copy.path().join(entry.file_name()));
        }
    }
    copy
}

/// Kills a node. The node sends no goodbye, so its peers see a crash.
async fn kill(running: RunningNode) {
    running.task.abort();
    assert!(running.task.await.unwrap_err().is_cancelled());
}

struct Node {
    lock: Lock,
    election: ElectionHandle,
    running: RunningNode,
}

impl Node {
    fn boot<P>(
        trace_sink: TraceSink,
        config: P::Config,
        directory: &Path,
        me: usize,
        listener: TcpListener,
        addresses: &[String],
    ) -> Self
    where
        P: RecordableProtocol<Command: LockCommand, Event: LockEvent>,
    {
        let (application, lock, election, requests) = LockApplication::new();
        let application = (application, requests);
        let components =
            components::<P, _>(config, directory, me, listener, addresses, application);
        let running = start_node(NodeComponents { trace_sink, ..components }).unwrap();
        Node { lock, election, running }
    }

    async fn stop(self) -> Result<(), NodeFailure> {
        drop((self.lock, self.election));
        self.running.task.await.unwrap()
    }
}

/// Counters that detect tasks that are inside the lock at the same time.
#[derive(Debug, Default)]
struct Inside {
    holders: AtomicU32,
    entries: AtomicU32,
    overlaps: AtomicU32,
    losses: AtomicU32,
    /// Upper bound on the number of harmless overlaps. An overlap is harmless if one of the two
    /// tasks had already lost the lock.
    excused: AtomicU32,
}

impl Inside {
    fn assert_exclusive(&self) {
        let counts = [&self.overlaps, &self.losses].map(|count| count.load(Ordering::SeqCst));
        assert_eq!(counts, [0, 0], "overlaps and losses");
    }

    /// Asserts that two tasks were never inside at the same time while both held the lock. Ignores
    /// an overlap if one task had already lost the lock: a busy machine may pause a task until its
    /// lease expires.
    fn assert_exclusive_while_leased(&self) {
        let [overlaps, excused] =
            [&self.overlaps, &self.excused].map(|count| count.load(Ordering::SeqCst));
        assert!(overlaps <= excused, "{overlaps} overlaps, {excused} of them after a loss");
    }
}

/// Enters the lock `times` times, and returns the fences. Counts the entries during which another
/// task is inside the critical section.
async fn enter_alone(lock: Lock, inside: Arc<Inside>, times: u32) -> Vec<Fence> {
    let mut fences = Vec::new();
    for _ in 0..times {
        let guard = enter(&lock).await;
        let entry = 1 + inside.entries.fetch_add(1, Ordering::SeqCst);
        let is_alone = inside.holders.fetch_add(1, Ordering::SeqCst) == 0;
        tokio::task::yield_now().await;
        inside.holders.fetch_sub(1, Ordering::SeqCst);
        let meanwhile = inside.entries.load(Ordering::SeqCst) - entry;
        inside.overlaps.fetch_add(u32::from(!is_alone), Ordering::SeqCst);
        if guard.is_lost() {
            inside.losses.fetch_add(1, Ordering::SeqCst);
            inside.excused.fetch_add(u32::from(!is_alone) + meanwhile, Ordering::SeqCst);
        }
        fences.push(guard.fence());
    }
    assert!(fences.is_sorted(), "the fences of one user grow");
    fences
}

fn store_alone(directory: &Path, schema: &'static str) -> StableStorage {
    let owner = StateOwner { cluster: "test".into(), process: ProcessId(0), group_size: 1 };
    StableStorage::open(directory, &owner, schema).unwrap()
}

fn start_alone<P>(
    store: StableStorage,
    trace_sink: TraceSink,
) -> (UnboundedSender<P::Command>, UnboundedReceiver<P::Event>, RunningNode)
where
    P: RecordableProtocol + Protocol<Config = ()>,
{
    let (local, events) = PassthroughApplication::<P>::new();
    let (commands, receiver) = unbounded_channel();
    let running = start_node::<P, PassthroughApplication<P>>(NodeComponents {
        trace_sink,
        ..NodeComponents::new((), alone(store.session()), store, local, receiver)
    });
    (commands, events, running.unwrap())
}

/// Returns the range of seeds that the user of `cargo xtask attack … --seeds A..B` has chosen. If
/// no range was chosen, returns `short`.
fn seeds(short: std::ops::Range<u64>) -> std::ops::Range<u64> {
    let wanted = std::env::var("TENURE_SEEDS").unwrap_or_default();
    let range = wanted.split_once("..");
    let range = range.and_then(|(from, to)| Some(from.parse().ok()?..to.parse().ok()?));
    range.unwrap_or(short)
}
