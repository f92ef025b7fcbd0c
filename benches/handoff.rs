//! Time of a lock hand-over over loopback: three nodes of Ricart–Agrawala, and a bare ping-pong
//! through the same transport.
//!
//! `cargo bench -p tenure-runtime --bench handoff` prints medians over several interleaved
//! repetitions. Each measurement runs once without and once with keys, to show the cost of
//! authentication and encryption. A hand-over costs one message and no polling. Without contention,
//! an entry should take little more than one round trip.
#![allow(clippy::print_stdout, reason = "a benchmark prints its results")]

use std::net::TcpListener;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use tenure_algorithms::mutex::{RicartAgrawala, ricart_agrawala};
use tenure_core::ProcessId;
use tenure_runtime::store::StateOwner;
use tenure_runtime::transport::{
    GroupPublicKeys, Inbox, Listen, Mesh, MeshEvent, MeshLimits, MeshSettings, NodeKeys,
    PeerAuthentication, PrivateKey,
};
use tenure_runtime::{
    FaultInjection, Lock, LockApplication, NodeComponents, StableStorage, TraceSink, start_node,
};
use tokio::runtime::{Builder, Runtime};

const NODES: usize = 3;
const ROUNDS: u32 = 4_000;
const REPETITIONS: usize = 7;

const NAMES: [&str; 3] = [
    "ping-pong through the transport",
    "entry of Ricart–Agrawala, uncontended",
    "entry of Ricart–Agrawala, three contending",
];

fn main() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut times: [[Vec<Duration>; 2]; 3] = Default::default();
    for repetition in 0..REPETITIONS {
        for (column, authentication) in [without_keys(), with_keys()].into_iter().enumerate() {
            times[0][column].push(ping_pong(&authentication));
            let nodes =
                cluster(&directory.path().join(format!("{repetition}-{column}")), &authentication);
            times[1][column].push(entries(&nodes[..1]));
            times[2][column].push(entries(&nodes));
        }
    }
    println!("{:<44}{:>12}{:>12}{:>10}", "µs over loopback, N = 3", "plain", "with keys", "ratio");
    for (name, [mut plain, mut sealed]) in NAMES.into_iter().zip(times) {
        let [plain, sealed] = [&mut plain, &mut sealed].map(|times| median(times).as_secs_f64());
        println!("{name:<44}{:>12.1}{:>12.1}{:>10.2}", plain * 1e6, sealed * 1e6, sealed / plain);
    }
}

fn without_keys() -> Vec<PeerAuthentication> {
    (0..NODES).map(|_| PeerAuthentication::LoopbackOnly).collect()
}

fn with_keys() -> Vec<PeerAuthentication> {
    let draw = |_| PrivateKey::generate().expect("entropy");
    let private: Vec<PrivateKey> = (0..NODES).map(draw).collect();
    let public = private.iter().map(|key| vec![key.public()]).collect();
    let group = GroupPublicKeys::new(public).expect("distinct keys");
    let keys = private.into_iter().enumerate().map(|(me, private)| {
        let keys =
            NodeKeys::new(ProcessId::from_index(me), private, group.clone()).expect("a listed key");
        PeerAuthentication::Keys(keys.into())
    });
    keys.collect()
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// A node with its own runtime, as in its own process.
struct Node {
    lock: Lock,
    runtime: Runtime,
}

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime")
}

fn settings(
    me: usize,
    listener: TcpListener,
    addresses: &[String],
    authentication: &[PeerAuthentication],
) -> MeshSettings {
    MeshSettings {
        cluster: "handoff".into(),
        me: ProcessId::from_index(me),
        session: 1,
        listen: Listen::Listener(listener),
        addresses: addresses.to_vec(),
        names: Default::default(),
        authentication: authentication[me].clone(),
        limits: MeshLimits::default(),
    }
}

fn owner(me: usize) -> StateOwner {
    let group_size = u32::try_from(NODES).expect("a few nodes");
    StateOwner { cluster: "handoff".into(), process: ProcessId::from_index(me), group_size }
}

fn listeners(count: usize) -> (Vec<TcpListener>, Vec<String>) {
    let bind = |_| TcpListener::bind("127.0.0.1:0").expect("a port");
    let listeners: Vec<TcpListener> = (0..count).map(bind).collect();
    let address = |l: &TcpListener| l.local_addr().expect("an address").to_string();
    let addresses = listeners.iter().map(address).collect();
    (listeners, addresses)
}

fn cluster(directory: &Path, authentication: &[PeerAuthentication]) -> Vec<Node> {
    let (listeners, addresses) = listeners(NODES);
    let nodes: Vec<Node> = listeners
        .into_iter()
        .enumerate()
        .map(|(me, listener)| {
            let runtime = runtime();
            let _guard = runtime.enter();
            let (front, lock, _, requests) = LockApplication::new();
            start_node::<RicartAgrawala, LockApplication>(NodeComponents {
                config: ricart_agrawala::Config::default(),
                transport: settings(me, listener, &addresses, authentication),
                store: StableStorage::open(directory.join(me.to_string()), &owner(me), "handoff")
                    .expect("a store"),
                application: front,
                requests,
                trace_sink: TraceSink::none(),
                injection: FaultInjection::none(),
                suspected_peers_fn: None,
            })
            .expect("a node");
            drop(_guard);
            Node { lock, runtime }
        })
        .collect();
    // The first entries wait for connections and are not measured.
    for node in &nodes {
        node.runtime
            .block_on(async { drop(node.lock.acquire().await.expect("the node is running")) });
    }
    nodes
}

/// Returns the mean time of an entry while all nodes enter repeatedly.
fn entries(nodes: &[Node]) -> Duration {
    let each = ROUNDS / u32::try_from(nodes.len()).expect("a few nodes");
    let start = Instant::now();
    thread::scope(|scope| {
        for node in nodes {
            scope.spawn(|| {
                node.runtime.block_on(async {
                    for _ in 0..each {
                        drop(node.lock.acquire().await.expect("the node is running"));
                    }
                });
            });
        }
    });
    start.elapsed() / (each * u32::try_from(nodes.len()).expect("a few nodes"))
}

/// Returns the mean round trip between two processes that only echo.
fn ping_pong(authentication: &[PeerAuthentication]) -> Duration {
    let (mut listeners, addresses) = listeners(NODES);
    // The third process exists only in the list of keys.
    listeners.pop();
    let (echo_runtime, near) = (runtime(), runtime());
    let (other, mine) = (listeners.pop().expect("two"), listeners.pop().expect("two"));
    let (echo, mut echo_inbox) = echo_runtime
        .block_on(async { Mesh::start(settings(1, other, &addresses, authentication)) })
        .expect("a mesh");
    echo_runtime.spawn(async move {
        while let Some(incoming) = echo_inbox.receive().await {
            if let MeshEvent::Message { from, payload, .. } = incoming {
                echo.send(from, payload).expect("room");
            }
        }
    });
    near.block_on(async {
        let (mesh, mut inbox) =
            Mesh::start(settings(0, mine, &addresses, authentication)).expect("a mesh");
        round_trip(&mesh, &mut inbox).await;
        let start = Instant::now();
        for _ in 0..ROUNDS {
            round_trip(&mesh, &mut inbox).await;
        }
        start.elapsed() / ROUNDS
    })
}

async fn round_trip(mesh: &Mesh, inbox: &mut Inbox) {
    mesh.send(ProcessId(1), vec![0; 16]).expect("room");
    while !matches!(inbox.receive().await, Some(MeshEvent::Message { .. })) {}
}
