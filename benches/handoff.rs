//! How long the lock takes over loopback: three nodes of Ricart–Agrawala, and beside them a bare
//! ping-pong through the same transport, in the same run.
//!
//! `cargo bench --bench handoff` prints medians over several interleaved repetitions. A hand-off
//! costs one message and no poll: uncontended, an entry should take little more than the one
//! round trip that its requests and replies need.
#![allow(clippy::print_stdout, reason = "a benchmark is here to print")]

use std::net::TcpListener;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use tenure_algorithms::mutex::{RicartAgrawala, ricart_agrawala};
use tenure_core::ProcessId;
use tenure_runtime::transport::{Inbox, Incoming, Limits, Listen, Mesh, Settings, Trust};
use tenure_runtime::{Front, Injection, Lock, Parts, Recorder, Store, start};
use tokio::runtime::{Builder, Runtime};

const NODES: usize = 3;
const ROUNDS: u32 = 4_000;
const REPETITIONS: usize = 7;

fn main() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (mut pings, mut alone, mut contended) = (Vec::new(), Vec::new(), Vec::new());
    for repetition in 0..REPETITIONS {
        pings.push(ping_pong());
        let nodes = cluster(&directory.path().join(repetition.to_string()));
        alone.push(entries(&nodes[..1]));
        contended.push(entries(&nodes));
    }
    let ping = median(&mut pings);
    println!("{:<44}{:>12}{:>12}{:>14}", "over loopback, N = 3", "µs", "per second", "round trips");
    row("ping-pong through the transport", ping, ping);
    row("entry of Ricart–Agrawala, uncontended", median(&mut alone), ping);
    row("entry of Ricart–Agrawala, three contending", median(&mut contended), ping);
}

fn row(name: &str, time: Duration, ping: Duration) {
    let seconds = time.as_secs_f64();
    let trips = seconds / ping.as_secs_f64();
    println!("{name:<44}{:>12.1}{:>12.0}{trips:>14.2}", seconds * 1e6, 1.0 / seconds);
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// A node with a runtime of its own, as in a process of its own.
struct Node {
    lock: Lock,
    runtime: Runtime,
}

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime")
}

fn settings(me: usize, listener: TcpListener, addresses: &[String]) -> Settings {
    Settings {
        cluster: "handoff".into(),
        me: ProcessId::at(me),
        session: 1,
        listen: Listen::Listener(listener),
        addresses: addresses.to_vec(),
        trust: Trust::Machine,
        limits: Limits::default(),
    }
}

fn listeners(count: usize) -> (Vec<TcpListener>, Vec<String>) {
    let bind = |_| TcpListener::bind("127.0.0.1:0").expect("a port");
    let listeners: Vec<TcpListener> = (0..count).map(bind).collect();
    let address = |l: &TcpListener| l.local_addr().expect("an address").to_string();
    let addresses = listeners.iter().map(address).collect();
    (listeners, addresses)
}

fn cluster(directory: &Path) -> Vec<Node> {
    let (listeners, addresses) = listeners(NODES);
    let nodes: Vec<Node> = listeners
        .into_iter()
        .enumerate()
        .map(|(me, listener)| {
            let runtime = runtime();
            let _guard = runtime.enter();
            let (front, lock, _, asks) = Front::new();
            start::<RicartAgrawala, Front>(Parts {
                config: ricart_agrawala::Config::default(),
                transport: settings(me, listener, &addresses),
                store: Store::open(directory.join(me.to_string()), "handoff").expect("a store"),
                local: front,
                asks,
                recorder: Recorder::none(),
                injection: Injection::none(),
                suspected: None,
            })
            .expect("a node");
            drop(_guard);
            Node { lock, runtime }
        })
        .collect();
    // The first entries wait for the connections; they are not measured.
    for node in &nodes {
        node.runtime.block_on(async { drop(node.lock.enter().await.expect("a node that runs")) });
    }
    nodes
}

/// The mean time of an entry while each of `nodes` enters again and again.
fn entries(nodes: &[Node]) -> Duration {
    let each = ROUNDS / u32::try_from(nodes.len()).expect("a few nodes");
    let start = Instant::now();
    thread::scope(|scope| {
        for node in nodes {
            scope.spawn(|| {
                node.runtime.block_on(async {
                    for _ in 0..each {
                        drop(node.lock.enter().await.expect("a node that runs"));
                    }
                });
            });
        }
    });
    start.elapsed() / (each * u32::try_from(nodes.len()).expect("a few nodes"))
}

/// The mean round trip between two processes that do nothing but answer.
fn ping_pong() -> Duration {
    let (mut listeners, addresses) = listeners(2);
    let (far, near) = (runtime(), runtime());
    let (other, mine) = (listeners.pop().expect("two"), listeners.pop().expect("two"));
    let (echo, mut echo_inbox) =
        far.block_on(async { Mesh::start(settings(1, other, &addresses)) }).expect("a mesh");
    far.spawn(async move {
        while let Some(incoming) = echo_inbox.receive().await {
            if let Incoming::Message { from, payload, .. } = incoming {
                echo.send(from, payload).expect("room");
            }
        }
    });
    near.block_on(async {
        let (mesh, mut inbox) = Mesh::start(settings(0, mine, &addresses)).expect("a mesh");
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
    while !matches!(inbox.receive().await, Some(Incoming::Message { .. })) {}
}
