//! Whole nodes over loopback: a lock that excludes, state that survives, peers that misbehave.

use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use tempfile::TempDir;
use tenure_algorithms::compose::{Coordinated, Detected, detected};
use tenure_algorithms::detector::{Heartbeat, heartbeat};
use tenure_algorithms::election::{Bully, bully};
use tenure_algorithms::mutex::{RicartAgrawala, ricart_agrawala};
use tenure_core::{Delay, Office, ProcessId, TICKS_PER_UNIT, Term};
use tenure_runtime::transport::{Incoming, Limits, Listen, Mesh, Settings};
use tenure_runtime::{
    Failure, Front, Injection, Leadership, Lock, Parts, Recorder, Running, Store, start,
};
use tenure_trace::{Header, Service, Source, Writer, merge_files};

struct Node {
    lock: Lock,
    leadership: Leadership,
    running: Running,
}

fn listeners(count: usize) -> (Vec<TcpListener>, Vec<String>) {
    let listeners: Vec<_> = (0..count).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    let addresses = listeners.iter().map(|l| l.local_addr().unwrap().to_string()).collect();
    (listeners, addresses)
}

fn transport(me: usize, session: u64, listener: TcpListener, addresses: &[String]) -> Settings {
    Settings {
        cluster: "test".into(),
        me: ProcessId::at(me),
        session,
        listen: Listen::Listener(listener),
        addresses: addresses.to_vec(),
        secret: None,
        limits: Limits::default(),
    }
}

fn store(directory: &Path, me: usize) -> Store {
    Store::open(directory.join(me.to_string()), "test").unwrap()
}

fn ricart_agrawala(directory: &Path, count: usize, recorders: Vec<Recorder>) -> Vec<Node> {
    let (listeners, addresses) = listeners(count);
    let boot = |(me, (listener, recorder))| {
        let (front, lock, leadership, asks) = Front::new();
        let running = start::<RicartAgrawala, Front>(Parts {
            config: ricart_agrawala::Config::default(),
            transport: transport(me, 1, listener, &addresses),
            store: store(directory, me),
            local: front,
            asks,
            recorder,
            injection: Injection::none(),
        })
        .unwrap();
        Node { lock, leadership, running }
    };
    listeners.into_iter().zip(recorders).enumerate().map(boot).collect()
}

fn office(directory: &Path, me: usize, listener: TcpListener, addresses: &[String]) -> Node {
    let detector = heartbeat::Config {
        period: Delay::units(20),
        timeout: 400 * TICKS_PER_UNIT,
        increment: 100 * TICKS_PER_UNIT,
        longest: 2_000 * TICKS_PER_UNIT,
    };
    let config = detected::Config { detector, inner: bully(addresses) };
    boot::<Detected<Heartbeat, Coordinated<Bully>>>(config, directory, me, listener, addresses)
}

fn bully(addresses: &[String]) -> bully::Config {
    bully::Config::plain(u32::try_from(addresses.len()).unwrap(), 30 * TICKS_PER_UNIT)
}

fn boot<P: Office>(
    config: P::Config,
    directory: &Path,
    me: usize,
    listener: TcpListener,
    addresses: &[String],
) -> Node {
    let (front, lock, leadership, asks) = Front::new();
    let store = store(directory, me);
    let running = start::<P, Front>(Parts {
        config,
        transport: transport(me, store.session(), listener, addresses),
        store,
        local: front,
        asks,
        recorder: Recorder::none(),
        injection: Injection::none(),
    })
    .unwrap();
    Node { lock, leadership, running }
}

async fn stop(node: Node) -> Result<(), Failure> {
    drop((node.lock, node.leadership));
    node.running.task.await.unwrap()
}

fn silent(count: usize) -> Vec<Recorder> {
    (0..count).map(|_| Recorder::none()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_of_three_nodes_are_never_inside_together() {
    let directory = TempDir::new().unwrap();
    let nodes = ricart_agrawala(directory.path(), 3, silent(3));
    let inside = Arc::new(AtomicU32::new(0));
    let mut tasks = Vec::new();
    for node in nodes.iter().chain(&nodes) {
        let (lock, inside) = (node.lock.clone(), inside.clone());
        tasks.push(tokio::spawn(async move {
            let mut fences = Vec::new();
            for _ in 0..100 {
                let guard = lock.enter().await.unwrap();
                assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "somebody else is inside");
                tokio::task::yield_now().await;
                assert_eq!(inside.fetch_sub(1, Ordering::SeqCst), 1);
                fences.push(guard.fence());
            }
            assert!(fences.is_sorted(), "fences of one user only grow");
            fences
        }));
    }
    let mut fences = Vec::new();
    for task in tasks {
        fences.extend(task.await.unwrap());
    }
    fences.sort_unstable();
    fences.dedup();
    assert_eq!(fences.len(), 600, "no two entries have the same fence");
    for node in nodes {
        stop(node).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_that_gives_up_waiting_keeps_nobody_waiting() {
    let directory = TempDir::new().unwrap();
    let nodes = ricart_agrawala(directory.path(), 2, silent(2));
    let guard = nodes[0].lock.enter().await.unwrap();
    let lock = nodes[1].lock.clone();
    let waiting = tokio::spawn(async move { lock.enter().await });
    tokio::task::yield_now().await;
    waiting.abort();
    assert!(waiting.await.unwrap_err().is_cancelled());
    drop(guard);
    // The request that was given up may still be granted; it is given back at once.
    for node in [&nodes[0], &nodes[1], &nodes[0]] {
        drop(node.lock.enter().await.unwrap());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_nodes_wrote_down_tells_every_entry_and_every_message() {
    let directory = TempDir::new().unwrap();
    let paths: Vec<_> = (0..3).map(|i| directory.path().join(format!("{i}.ndjson"))).collect();
    let header = Header::new("ricart-agrawala", Service::Mutex, 3, Source::Node);
    let recorder = |path| Recorder::to(Writer::create(path, &header).unwrap(), true);
    let nodes = ricart_agrawala(directory.path(), 3, paths.iter().map(recorder).collect());
    for _ in 0..10 {
        for node in &nodes {
            drop(node.lock.enter().await.unwrap());
        }
    }
    for node in nodes {
        stop(node).await.unwrap();
    }
    let merged = merge_files(&paths).unwrap();
    let count = |name| merged.records.iter().filter(|record| record.kind.name() == name).count();
    assert_eq!(count("send"), 10 * 3 * 4, "2(N − 1) messages per entry");
    assert_eq!(count("receive"), count("send"));
    assert_eq!(count("event"), 2 * 10 * 3);
    assert!(merged.records.iter().all(|record| record.clock.is_some()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_leader_that_comes_back_leads_in_a_later_term() {
    let directory = TempDir::new().unwrap();
    let (listeners, addresses) = listeners(3);
    let mut nodes: Vec<Node> = listeners
        .into_iter()
        .enumerate()
        .map(|(me, listener)| office(directory.path(), me, listener, &addresses))
        .collect();
    nodes[0].leadership.elect().unwrap();
    let first = leader(&mut nodes[0].leadership, ProcessId(2)).await;
    let last = nodes.pop().unwrap();
    // Dropped without a word, as a crash does.
    last.running.task.abort();
    assert!(last.running.task.await.unwrap_err().is_cancelled());
    drop((last.lock, last.leadership));
    let second = leader(&mut nodes[0].leadership, ProcessId(1)).await;
    assert!(second > first);
    drop(nodes[0].lock.enter().await.unwrap());
    let listener = TcpListener::bind(&addresses[2]).unwrap();
    nodes.push(office(directory.path(), 2, listener, &addresses));
    let third = leader(&mut nodes[0].leadership, ProcessId(2)).await;
    assert!(third > second);
    drop(nodes[2].lock.enter().await.unwrap());
}

/// Waits until a process leads; gives its term.
async fn leader(leadership: &mut Leadership, leader: ProcessId) -> Term {
    loop {
        match leadership.now() {
            Some(term) if term.leader == leader => return term,
            _ => leadership.changed().await.unwrap(),
        };
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_cannot_save_sends_nothing_and_stops() {
    let directory = TempDir::new().unwrap();
    let (mut listeners, addresses) = listeners(2);
    let (second, first) = (listeners.pop().unwrap(), listeners.pop().unwrap());
    let config = bully(&addresses);
    let node = boot::<Coordinated<Bully>>(config, directory.path(), 0, first, &addresses);
    let (mesh, mut inbox) = Mesh::start(transport(1, 1, second, &addresses)).unwrap();
    while !matches!(inbox.receive().await, Some(Incoming::PeerUp { .. })) {}
    std::fs::rename(directory.path().join("0"), directory.path().join("gone")).unwrap();
    // An election begins with a number that must survive a crash.
    node.leadership.elect().unwrap();
    let failure = node.running.task.await.unwrap().unwrap_err();
    assert!(matches!(failure, Failure::Save(_)), "{failure}");
    assert!(node.lock.enter().await.is_err());
    loop {
        match inbox.receive().await.unwrap() {
            Incoming::Message { .. } => panic!("something left before it was saved"),
            Incoming::PeerDown { .. } => break,
            Incoming::PeerUp { .. } => {}
        }
    }
    drop(mesh);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_peer_that_sends_nonsense_is_not_understood_and_harms_nobody() {
    let directory = TempDir::new().unwrap();
    let (mut listeners, addresses) = listeners(2);
    let (second, first) = (listeners.pop().unwrap(), listeners.pop().unwrap());
    let mut node = office(directory.path(), 0, first, &addresses);
    let (mesh, mut inbox) = Mesh::start(transport(1, 1, second, &addresses)).unwrap();
    while !matches!(inbox.receive().await, Some(Incoming::PeerUp { .. })) {}
    for length in 0..64_u8 {
        mesh.send(ProcessId(0), vec![length ^ 0xA5; usize::from(length)]).unwrap();
    }
    node.leadership.elect().unwrap();
    // The nonsense was taken before: its peer is silent otherwise, so the node comes to lead.
    leader(&mut node.leadership, ProcessId(0)).await;
    drop(node.lock.enter().await.unwrap());
}
