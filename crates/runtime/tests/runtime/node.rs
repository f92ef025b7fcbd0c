//! Whole nodes over the loopback interface: mutual exclusion, recovery, and peers that misbehave.

use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use tenure_algorithms::compose::keyed::LockName;
use tenure_algorithms::compose::{
    CoordinatedLock, Keyed, LockSequence, WithDetector, coordinated, lock_sequence, with_detector,
};
use tenure_algorithms::detector::{AdaptiveTimeoutDetector, heartbeat};
use tenure_algorithms::election::{Bully, RaftElection, bully, raft};
use tenure_algorithms::mutex::{
    Central, LeaseMutex, RicartAgrawala, central, lease, ricart_agrawala,
};
use tenure_core::service::mutex::{Command, Event};
use tenure_core::{Election, Mutex, ProcessId, TICKS_PER_TIME_UNIT, Tagged, Term};
use tenure_runtime::transport::{Mesh, MeshEvent};
use tenure_runtime::{
    ElectionHandle, LockApplication, LockLossReason, NodeFailure, NodeStartError,
    PassthroughApplication, RunningNode, TraceSink, start_node,
};
use tenure_trace::{Header, Service, TraceProducer, Writer, merge_files_for_verification};
use tokio::sync::mpsc;

use crate::{
    Inside, Node, components, detector, enter, enter_alone, in_time, kill, listeners, store,
    transport_settings,
};

fn ricart_agrawala(directory: &Path, trace_sinks: Vec<TraceSink>) -> Vec<Node> {
    locks::<RicartAgrawala>(ricart_agrawala::Config::default(), directory, trace_sinks)
}

fn locks<P: Mutex>(config: P::Config, directory: &Path, trace_sinks: Vec<TraceSink>) -> Vec<Node> {
    let (listeners, addresses) = listeners(trace_sinks.len());
    let boot = |(me, (listener, trace_sink))| {
        Node::boot::<P>(trace_sink, config.clone(), directory, me, listener, &addresses)
    };
    listeners.into_iter().zip(trace_sinks).enumerate().map(boot).collect()
}

fn coordinated_node(
    directory: &Path,
    me: usize,
    listener: TcpListener,
    addresses: &[String],
) -> Node {
    coordinated_node_of::<Bully>(bully(addresses), directory, me, listener, addresses)
}

fn coordinated_node_of<E: Election>(
    inner: E::Config,
    directory: &Path,
    me: usize,
    listener: TcpListener,
    addresses: &[String],
) -> Node {
    let config = with_detector::Config { detector: detector(), inner: inner.into() };
    let silent = TraceSink::none();
    Node::boot::<WithDetector<AdaptiveTimeoutDetector, CoordinatedLock<E>>>(
        silent, config, directory, me, listener, addresses,
    )
}

fn bully(addresses: &[String]) -> bully::Config {
    bully::Config::with_defaults(u32::try_from(addresses.len()).unwrap(), 30 * TICKS_PER_TIME_UNIT)
}

fn silent(count: usize) -> Vec<TraceSink> {
    (0..count).map(|_| TraceSink::none()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_of_three_nodes_exclude_each_other() {
    let directory = TempDir::new().unwrap();
    never_inside_together(ricart_agrawala(directory.path(), silent(3))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_with_two_named_locks_exclude_each_other() {
    let directory = TempDir::new().unwrap();
    let names = ["büro", "办公室"].map(|name| LockName::new(name).unwrap()).to_vec();
    let inner = central::Config::default();
    let config = lock_sequence::Config {
        lock_names_by_process: Arc::new([names.clone(), names.clone(), names]),
        inner,
    };
    let nodes = locks::<LockSequence<Central>>(config, directory.path(), silent(3));
    never_inside_together(nodes).await;
}

async fn never_inside_together(nodes: Vec<Node>) {
    let inside = Arc::new(Inside::default());
    let mut tasks = Vec::new();
    for node in nodes.iter().chain(&nodes) {
        let (lock, inside) = (node.lock.clone(), inside.clone());
        tasks.push(tokio::spawn(enter_alone(lock, inside, 100)));
    }
    let mut fences = Vec::new();
    for task in tasks {
        fences.extend(task.await.unwrap());
    }
    inside.assert_exclusive();
    fences.sort_unstable();
    fences.dedup();
    assert_eq!(fences.len(), 600, "each entry has its own fence");
    for node in nodes {
        node.stop().await.unwrap();
    }
}

/// A node that takes part in many named locks. All these locks share one set of connections. P1
/// coordinates the locks.
struct Named {
    requests: mpsc::UnboundedSender<Tagged<LockName, Command>>,
    events: mpsc::UnboundedReceiver<Tagged<LockName, Event>>,
    running: RunningNode,
}

impl Named {
    fn boot(directory: &Path, me: usize, listener: TcpListener, addresses: &[String]) -> Self {
        let (local, events) = PassthroughApplication::new();
        let (requests, receiver) = mpsc::unbounded_channel();
        let config = central::Config::default();
        let local = (local, receiver);
        let components =
            components::<Keyed<_, Central>, _>(config, directory, me, listener, addresses, local);
        Named { requests, events, running: start_node(components).unwrap() }
    }

    fn ask(&self, name: &str, inner: Command) {
        self.requests.send(Tagged { key: LockName::new(name).unwrap(), inner }).unwrap();
    }

    async fn entered(&mut self) -> String {
        loop {
            let Tagged { key, inner } = self.events.recv().await.unwrap();
            if let Event::Entered { .. } = inner {
                return key.into();
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lock_names_compare_by_bytes() {
    let directory = TempDir::new().unwrap();
    let (listeners, addresses) = listeners(3);
    let boot = |(me, listener)| Named::boot(directory.path(), me, listener, &addresses);
    let mut nodes: Vec<Named> = listeners.into_iter().enumerate().map(boot).collect();
    // The last two names look the same but differ in bytes: é as one code point, and e with an
    // accent.
    for (place, name) in ["büro", "办公室", "caf\u{e9}", "cafe\u{301}"].iter().enumerate() {
        let node = &mut nodes[1 + place % 2];
        node.ask(name, Command::Enter);
        assert_eq!(node.entered().await, *name);
    }
    // P2 holds the first lock. P3 waits for it and acquires another one meanwhile.
    nodes[2].ask("büro", Command::Enter);
    nodes[2].ask("🔒", Command::Enter);
    assert_eq!(nodes[2].entered().await, "🔒");
    nodes[1].ask("büro", Command::Exit);
    assert_eq!(nodes[2].entered().await, "büro");
    for node in nodes {
        drop(node.requests);
        node.running.task.await.unwrap().unwrap();
    }
}

#[test]
fn decoding_rejects_invalid_lock_names() {
    let read = |name: &str| postcard::from_bytes::<LockName>(&postcard::to_allocvec(name).unwrap());
    assert_eq!(read("büro").unwrap().as_str(), "büro");
    assert!(read("").is_err());
    assert!(read(&"x".repeat(LockName::MAX_BYTES)).is_ok());
    assert!(read(&"x".repeat(LockName::MAX_BYTES + 1)).is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cancelled_waiter_delays_no_other_user() {
    let directory = TempDir::new().unwrap();
    let nodes = ricart_agrawala(directory.path(), silent(2));
    let guard = enter(&nodes[0].lock).await;
    let lock = nodes[1].lock.clone();
    let waiting = tokio::spawn(async move { lock.acquire().await });
    tokio::task::yield_now().await;
    waiting.abort();
    assert!(waiting.await.unwrap_err().is_cancelled());
    drop(guard);
    // The node may still obtain the lock for the cancelled request. It then releases the lock at
    // once.
    for node in [&nodes[0], &nodes[1], &nodes[0]] {
        drop(enter(&node.lock).await);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn traces_contain_every_entry_and_message() {
    let directory = TempDir::new().unwrap();
    let paths: Vec<_> = (0..3).map(|i| directory.path().join(format!("{i}.ndjson"))).collect();
    let header = Header::new("ricart-agrawala", Service::Mutex, 3, TraceProducer::Node);
    let trace_sink = |path| TraceSink::writing_to(Writer::create(path, &header).unwrap(), true);
    let nodes = ricart_agrawala(directory.path(), paths.iter().map(trace_sink).collect());
    for _ in 0..10 {
        for node in &nodes {
            drop(enter(&node.lock).await);
        }
    }
    for node in nodes {
        node.stop().await.unwrap();
    }
    let merged = merge_files_for_verification(&paths).unwrap();
    let count = |name| merged.records.iter().filter(|record| record.kind.name() == name).count();
    assert_eq!(count("send"), 10 * 3 * 4, "2(N − 1) messages per entry");
    assert_eq!(count("receive"), count("send"));
    assert_eq!(count("event"), 2 * 10 * 3);
    assert!(merged.records.iter().all(|record| record.clock.is_some()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn recovered_leader_leads_in_later_term() {
    let directory = TempDir::new().unwrap();
    let (listeners, addresses) = listeners(3);
    let mut nodes: Vec<Node> = listeners
        .into_iter()
        .enumerate()
        .map(|(me, listener)| coordinated_node(directory.path(), me, listener, &addresses))
        .collect();
    nodes[0].election.start_election().unwrap();
    let first = leader(&mut nodes[0].election, ProcessId(2)).await;
    kill(nodes.pop().unwrap().running).await;
    let second = leader(&mut nodes[0].election, ProcessId(1)).await;
    assert!(second > first);
    drop(enter(&nodes[0].lock).await);
    let listener = TcpListener::bind(&addresses[2]).unwrap();
    nodes.push(coordinated_node(directory.path(), 2, listener, &addresses));
    let third = leader(&mut nodes[0].election, ProcessId(2)).await;
    assert!(third > second);
    drop(enter(&nodes[2].lock).await);
}

async fn leader(election: &mut ElectionHandle, leader: ProcessId) -> Term {
    in_time(async {
        loop {
            match election.leader_term() {
                Some(term) if term.leader == leader => return term,
                _ => election.wait_for_leader_change().await.unwrap(),
            };
        }
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn superseded_node_loses_everything_at_once() {
    let directory = TempDir::new().unwrap();
    let (mut listeners, addresses) = listeners(2);
    let (second, first) = (listeners.pop().unwrap(), listeners.pop().unwrap());
    // A busy machine must not cause a suspicion, which would depose the leader.
    let longest = 600_000 * TICKS_PER_TIME_UNIT;
    let detector =
        heartbeat::Config { initial_timeout: longest, max_timeout: longest, ..detector() };
    let config = with_detector::Config { detector, inner: bully(&addresses).into() };
    let coordinated_node = |me, listener| {
        let (silent, config) = (TraceSink::none(), config.clone());
        Node::boot::<WithDetector<AdaptiveTimeoutDetector, CoordinatedLock<Bully>>>(
            silent,
            config,
            directory.path(),
            me,
            listener,
            &addresses,
        )
    };
    let _first = coordinated_node(0, first);
    let Node { lock, mut election, running } = coordinated_node(1, second);
    election.start_election().unwrap();
    leader(&mut election, ProcessId(1)).await;
    let guard = enter(&lock).await;
    assert!(!guard.is_lost());
    let elsewhere = TcpListener::bind("127.0.0.1:0").unwrap();
    let (_mesh, _inbox) = Mesh::start(transport_settings(1, 99, elsewhere, &addresses)).unwrap();
    assert!(matches!(in_time(guard.lost()).await, LockLossReason::Evicted(_)));
    let failure = running.task.await.unwrap().unwrap_err();
    assert!(matches!(failure, NodeFailure::Evicted(_)), "{failure}");
    assert_eq!(election.leader_term(), None);
    assert!(lock.acquire().await.is_err());
}

/// P1 grants a lease to P2 and crashes, so nothing renews the lease. Checks that the lease expires
/// at P2. Dropping the expired guard must neither stop the node nor let the next user enter.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unrenewed_lease_expires_and_guard_sends_no_exit() {
    let directory = TempDir::new().unwrap();
    let config = lease::Config::with_defaults(30 * TICKS_PER_TIME_UNIT);
    let mut nodes = locks::<LeaseMutex>(config, directory.path(), silent(2));
    let mut attempts = 0;
    let guard = loop {
        let guard = enter(&nodes[1].lock).await;
        tokio::time::sleep(Duration::from_millis(600)).await;
        if !guard.is_lost() {
            break guard;
        }
        // A busy machine may renew the lease too late.
        attempts += 1;
        assert!(attempts < 100, "the lease is renewed");
    };
    nodes.remove(0).running.task.abort();
    assert_eq!(in_time(guard.lost()).await, LockLossReason::LeaseExpired);
    assert!(guard.is_lost());
    let waits = nodes[0].lock.clone();
    let waits = tokio::spawn(async move { waits.acquire().await.is_ok() });
    drop(guard);
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(!nodes[0].running.task.is_finished() && !waits.is_finished());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn node_stops_without_sending_if_save_fails() {
    let directory = TempDir::new().unwrap();
    let (mut listeners, addresses) = listeners(2);
    let (second, first) = (listeners.pop().unwrap(), listeners.pop().unwrap());
    let config = bully(&addresses).into();
    let (silent, path) = (TraceSink::none(), directory.path());
    let node = Node::boot::<CoordinatedLock<Bully>>(silent, config, path, 0, first, &addresses);
    let (mesh, mut inbox) = Mesh::start(transport_settings(1, 1, second, &addresses)).unwrap();
    while !matches!(in_time(inbox.receive()).await, Some(MeshEvent::PeerConnected { .. })) {}
    std::fs::rename(directory.path().join("0"), directory.path().join("gone")).unwrap();
    // An election saves a number, and this save fails. The node may already have stopped: it may
    // have started an election when the peer connected.
    let _ = node.election.start_election();
    let failure = node.running.task.await.unwrap().unwrap_err();
    assert!(matches!(failure, NodeFailure::Save(_)), "{failure}");
    assert!(node.lock.acquire().await.is_err());
    loop {
        match inbox.receive().await.unwrap() {
            MeshEvent::Message { .. } => panic!("a message was sent before the save"),
            MeshEvent::PeerDisconnected { .. } => break,
            MeshEvent::PeerConnected { .. }
            | MeshEvent::PeerSessionEnded { .. }
            | MeshEvent::Evicted(_) => {}
        }
    }
    drop(mesh);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn undecodable_messages_have_no_effect() {
    let directory = TempDir::new().unwrap();
    let (mut listeners, addresses) = listeners(2);
    let (second, first) = (listeners.pop().unwrap(), listeners.pop().unwrap());
    let mut node = coordinated_node(directory.path(), 0, first, &addresses);
    let (mesh, mut inbox) = Mesh::start(transport_settings(1, 1, second, &addresses)).unwrap();
    while !matches!(in_time(inbox.receive()).await, Some(MeshEvent::PeerConnected { .. })) {}
    for length in 0..64_u8 {
        mesh.send(ProcessId(0), vec![length ^ 0xA5; usize::from(length)]).unwrap();
    }
    node.election.start_election().unwrap();
    // The peer sends nothing but invalid bytes, so the node becomes the leader.
    leader(&mut node.election, ProcessId(0)).await;
    drop(enter(&node.lock).await);
}

/// Sends messages in the name of P2 that can be decoded but contain impossible numbers. Checks that
/// the other nodes reject the messages and that their users can still enter. Then restarts all
/// nodes. P2 now runs the correct code, and the test checks that all users can enter.
async fn assert_impossible_numbers_are_rejected<E: Election>(
    config: E::Config,
    impossible: &[E::Message],
) {
    let directory = TempDir::new().unwrap();
    let (sockets, addresses) = listeners(3);
    let again = || addresses.iter().map(|address| TcpListener::bind(address).unwrap());
    let coordinated_node = |me, listener| {
        coordinated_node_of::<E>(config.clone(), directory.path(), me, listener, &addresses)
    };
    let mut sockets = sockets.into_iter();
    let first = coordinated_node(0, sockets.next().unwrap());
    let settings = transport_settings(1, 1, sockets.next().unwrap(), &addresses);
    let (liar, mut received) = Mesh::start(settings).unwrap();
    let third = coordinated_node(2, sockets.next().unwrap());
    for _ in 0..2 {
        while !matches!(in_time(received.receive()).await, Some(MeshEvent::PeerConnected { .. })) {}
    }
    type Said<M> = with_detector::Message<(), coordinated::Message<M>>;
    for (place, message) in impossible.iter().enumerate() {
        let inner = coordinated::Message::Election(message.clone());
        let said: Said<_> = with_detector::Message::Inner(inner);
        let said = (1 + place as u64, None::<()>, said);
        for peer in [ProcessId(0), ProcessId(2)] {
            liar.send(peer, postcard::to_stdvec(&said).unwrap()).unwrap();
        }
    }
    for node in [&first, &third] {
        node.election.start_election().unwrap();
        drop(enter(&node.lock).await);
        in_time(async {
            while node.running.mesh_handle.counts().implausible < impossible.len() as u64 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
    }
    drop((liar, received));
    for node in [first, third] {
        node.stop().await.unwrap();
    }
    let nodes: Vec<Node> =
        again().enumerate().map(|(me, socket)| coordinated_node(me, socket)).collect();
    for node in &nodes {
        node.election.start_election().unwrap();
        drop(enter(&node.lock).await);
    }
    for node in nodes {
        node.stop().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bully_survives_impossible_numbers_and_restart() {
    let impossible = [1 << 40, u64::MAX].into_iter().flat_map(|number| {
        use bully::Message::{Answer, Coordinator, Election};
        [Coordinator { number }, Answer { number }, Election { number }]
    });
    let config = bully::Config::with_defaults(3, 30 * TICKS_PER_TIME_UNIT);
    assert_impossible_numbers_are_rejected::<Bully>(config, &impossible.collect::<Vec<_>>()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn raft_survives_impossible_numbers_and_restart() {
    let impossible = [1 << 40, u64::MAX].into_iter().flat_map(|term| {
        use raft::Message::{Heartbeat, Overtaken, RequestVote};
        [RequestVote { term }, Heartbeat { term, round: 0 }, Overtaken { term }]
    });
    let config = raft::Config::with_defaults(3, 30 * TICKS_PER_TIME_UNIT);
    assert_impossible_numbers_are_rejected::<RaftElection>(config, &impossible.collect::<Vec<_>>())
        .await;
}

/// Checks that a node does not start from a saved state with an impossible number, and leaves this
/// state unchanged. Only a build without validation could have saved such a state.
#[test]
fn rejects_impossible_saved_state_without_changes() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let _inside = runtime.enter();
    let directory = TempDir::new().unwrap();
    let poisoned = postcard::to_stdvec(&(1_u64, 1_u64 << 40)).unwrap();
    store(directory.path(), 0, 1).save(&poisoned).unwrap();
    let (mut listeners, addresses) = listeners(1);
    let (application, _lock, _election, requests) = LockApplication::new();
    let (config, listener) = (bully(&addresses).into(), listeners.remove(0));
    let application = (application, requests);
    let components = components::<CoordinatedLock<Bully>, _>(
        config,
        directory.path(),
        0,
        listener,
        &addresses,
        application,
    );
    let refusal = start_node(components).unwrap_err();
    assert!(matches!(refusal, NodeStartError::InvalidState { .. }), "{refusal}");
    assert!(refusal.to_string().contains("docs/wire.md"), "{refusal}");
    assert_eq!(store(directory.path(), 0, 1).state(), Some(&*poisoned));
}
