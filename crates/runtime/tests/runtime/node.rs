//! Whole nodes over loopback: a lock that excludes, state that survives, peers that misbehave.

use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tempfile::TempDir;
use tenure_algorithms::compose::keyed::Name;
use tenure_algorithms::compose::{
    Coordinated, Detected, InTurn, Keyed, coordinated, detected, in_turn,
};
use tenure_algorithms::detector::{Heartbeat, heartbeat};
use tenure_algorithms::election::{Bully, Raft, bully, raft};
use tenure_algorithms::mutex::{Central, Lease, RicartAgrawala, central, lease, ricart_agrawala};
use tenure_claims::claims;
use tenure_core::service::mutex::{Command, Event};
use tenure_core::{Delay, Election, Mutex, Of, Office, ProcessId, TICKS_PER_UNIT, Term};
use tenure_runtime::store::Owner;
use tenure_runtime::transport::{Incoming, Limits, Listen, Mesh, Settings, Trust};
use tenure_runtime::{
    Failure, Front, Injection, Leadership, Lock, Lost, Parts, Raw, Recorder, Running, StartError,
    Store, start,
};
use tenure_trace::{Header, Service, Source, Writer, merge_files};
use tokio::sync::mpsc;

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
        trust: Trust::Machine,
        limits: Limits::default(),
    }
}

fn store(directory: &Path, me: usize) -> Store {
    let owner = Owner { cluster: "test".into(), process: ProcessId::at(me), group_size: 3 };
    Store::open(directory.join(me.to_string()), &owner, "test").unwrap()
}

fn ricart_agrawala(directory: &Path, count: usize, recorders: Vec<Recorder>) -> Vec<Node> {
    locks::<RicartAgrawala>(ricart_agrawala::Config::default(), directory, count, recorders)
}

fn locks<P: Mutex>(
    config: P::Config,
    directory: &Path,
    count: usize,
    recorders: Vec<Recorder>,
) -> Vec<Node> {
    let (listeners, addresses) = listeners(count);
    let boot = |(me, (listener, recorder))| {
        let (front, lock, leadership, asks) = Front::new();
        let running = start::<P, Front>(Parts {
            config: config.clone(),
            transport: transport(me, 1, listener, &addresses),
            store: store(directory, me),
            local: front,
            asks,
            recorder,
            injection: Injection::none(),
            suspected: None,
        })
        .unwrap();
        Node { lock, leadership, running }
    };
    listeners.into_iter().zip(recorders).enumerate().map(boot).collect()
}

fn office(directory: &Path, me: usize, listener: TcpListener, addresses: &[String]) -> Node {
    office_of::<Bully>(bully(addresses), directory, me, listener, addresses)
}

fn office_of<E: Election>(
    inner: E::Config,
    directory: &Path,
    me: usize,
    listener: TcpListener,
    addresses: &[String],
) -> Node {
    let detector = heartbeat::Config {
        period: Delay::units(20),
        timeout: 400 * TICKS_PER_UNIT,
        increment: 100 * TICKS_PER_UNIT,
        longest: 2_000 * TICKS_PER_UNIT,
    };
    let config = detected::Config { detector, inner: inner.into() };
    boot::<Detected<Heartbeat, Coordinated<E>>>(config, directory, me, listener, addresses)
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
        suspected: None,
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
    never_inside_together(ricart_agrawala(directory.path(), 3, silent(3))).await;
}

/// Each takes the same two, by names in different scripts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_that_take_two_named_locks_in_one_order_are_never_inside_together() {
    let directory = TempDir::new().unwrap();
    let names = ["büro", "办公室"].map(|name| Name::new(name).unwrap()).to_vec();
    let inner = central::Config::default();
    let config = in_turn::Config { names: Arc::new([names.clone(), names.clone(), names]), inner };
    let nodes = locks::<InTurn<Central>>(config, directory.path(), 3, silent(3));
    never_inside_together(nodes).await;
}

async fn never_inside_together(nodes: Vec<Node>) {
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

/// Many locks over one set of connections, P1 their coordinator.
struct Named {
    asks: mpsc::UnboundedSender<Of<Name, Command>>,
    told: mpsc::UnboundedReceiver<Of<Name, Event>>,
    running: Running,
}

impl Named {
    fn boot(directory: &Path, me: usize, listener: TcpListener, addresses: &[String]) -> Self {
        let (local, told) = Raw::new();
        let (asks, asked) = mpsc::unbounded_channel();
        let running = start::<Keyed<Name, Central>, Raw<Keyed<Name, Central>>>(Parts {
            config: central::Config::default(),
            transport: transport(me, 1, listener, addresses),
            store: store(directory, me),
            local,
            asks: asked,
            recorder: Recorder::none(),
            injection: Injection::none(),
            suspected: None,
        })
        .unwrap();
        Named { asks, told, running }
    }

    fn ask(&self, name: &str, inner: Command) {
        self.asks.send(Of { key: Name::new(name).unwrap(), inner }).unwrap();
    }

    /// The lock that is entered next.
    async fn entered(&mut self) -> String {
        loop {
            let Of { key, inner } = self.told.recv().await.unwrap();
            if let Event::Entered { .. } = inner {
                return key.into();
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn locks_are_named_in_any_script_and_only_what_is_equal_to_the_byte_is_one_lock() {
    let directory = TempDir::new().unwrap();
    let (listeners, addresses) = listeners(3);
    let boot = |(me, listener)| Named::boot(directory.path(), me, listener, &addresses);
    let mut nodes: Vec<Named> = listeners.into_iter().enumerate().map(boot).collect();
    // The last two look alike: é as one letter, and as an e with an accent.
    for (place, name) in ["büro", "办公室", "caf\u{e9}", "cafe\u{301}"].iter().enumerate() {
        let node = &mut nodes[1 + place % 2];
        node.ask(name, Command::Enter);
        assert_eq!(node.entered().await, *name);
    }
    // P2 is inside of the first. Whoever asks for it waits, and gets another one meanwhile.
    nodes[2].ask("büro", Command::Enter);
    nodes[2].ask("🔒", Command::Enter);
    assert_eq!(nodes[2].entered().await, "🔒");
    nodes[1].ask("büro", Command::Exit);
    assert_eq!(nodes[2].entered().await, "büro");
    for node in nodes {
        drop(node.asks);
        node.running.task.await.unwrap().unwrap();
    }
}

#[test]
fn a_frame_or_a_saved_state_cannot_hold_a_name_that_users_may_not_give() {
    let read = |name: &str| postcard::from_bytes::<Name>(&postcard::to_allocvec(name).unwrap());
    assert_eq!(read("büro").unwrap().as_str(), "büro");
    assert!(read("").is_err());
    assert!(read(&"x".repeat(Name::LONGEST)).is_ok());
    assert!(read(&"x".repeat(Name::LONGEST + 1)).is_err());
}

#[claims("I-21")]
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
async fn a_node_that_is_followed_by_another_lets_go_of_everything_at_once() {
    let directory = TempDir::new().unwrap();
    let (mut listeners, addresses) = listeners(2);
    let (second, first) = (listeners.pop().unwrap(), listeners.pop().unwrap());
    let _first = office(directory.path(), 0, first, &addresses);
    let Node { lock, mut leadership, running } = office(directory.path(), 1, second, &addresses);
    leadership.elect().unwrap();
    leader(&mut leadership, ProcessId(1)).await;
    let guard = lock.enter().await.unwrap();
    assert!(!guard.is_lost());
    let elsewhere = TcpListener::bind("127.0.0.1:0").unwrap();
    let (_mesh, _inbox) = Mesh::start(transport(1, 99, elsewhere, &addresses)).unwrap();
    assert!(matches!(guard.lost().await, Lost::Superseded(_)));
    let failure = running.task.await.unwrap().unwrap_err();
    assert!(matches!(failure, Failure::Expelled(_)), "{failure}");
    assert_eq!(leadership.now(), None);
    assert!(lock.enter().await.is_err());
}

/// P1 grants, and is gone: nobody answers P2, whose node goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_cannot_renew_a_lease_is_put_out_and_the_guard_leaves_nothing_more() {
    let directory = TempDir::new().unwrap();
    let config = lease::Config::plain(30 * TICKS_PER_UNIT);
    let mut nodes = locks::<Lease>(config, directory.path(), 2, silent(2));
    let guard = nodes[1].lock.enter().await.unwrap();
    tokio::time::sleep(Duration::from_millis(600)).await;
    assert!(!guard.is_lost(), "it was renewed");
    nodes.remove(0).running.task.abort();
    assert_eq!(guard.lost().await, Lost::LeaseOver);
    assert!(guard.is_lost());
    let waits = nodes[0].lock.clone();
    let waits = tokio::spawn(async move { waits.enter().await.is_ok() });
    drop(guard);
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(!nodes[0].running.task.is_finished() && !waits.is_finished());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_cannot_save_sends_nothing_and_stops() {
    let directory = TempDir::new().unwrap();
    let (mut listeners, addresses) = listeners(2);
    let (second, first) = (listeners.pop().unwrap(), listeners.pop().unwrap());
    let config = bully(&addresses).into();
    let node = boot::<Coordinated<Bully>>(config, directory.path(), 0, first, &addresses);
    let (mesh, mut inbox) = Mesh::start(transport(1, 1, second, &addresses)).unwrap();
    while !matches!(inbox.receive().await, Some(Incoming::PeerUp { .. })) {}
    std::fs::rename(directory.path().join("0"), directory.path().join("gone")).unwrap();
    // An election begins with a number that must survive a crash. It may have begun by itself, as
    // its peer is there from now on, and the node have stopped.
    let _ = node.leadership.elect();
    let failure = node.running.task.await.unwrap().unwrap_err();
    assert!(matches!(failure, Failure::Save(_)), "{failure}");
    assert!(node.lock.enter().await.is_err());
    loop {
        match inbox.receive().await.unwrap() {
            Incoming::Message { .. } => panic!("something left before it was saved"),
            Incoming::PeerDown { .. } => break,
            Incoming::PeerUp { .. } | Incoming::PeerLeft { .. } | Incoming::Expelled(_) => {}
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

/// Messages that can be read and cannot be true, from somebody who speaks as P2; then everybody
/// is restarted, P2 as itself.
async fn absurd_numbers_harm_nobody<E: Election>(config: E::Config, absurd: &[E::Message]) {
    let directory = TempDir::new().unwrap();
    let (sockets, addresses) = listeners(3);
    let again = || addresses.iter().map(|address| TcpListener::bind(address).unwrap());
    let office =
        |me, listener| office_of::<E>(config.clone(), directory.path(), me, listener, &addresses);
    let mut sockets = sockets.into_iter();
    let first = office(0, sockets.next().unwrap());
    let settings = transport(1, 1, sockets.next().unwrap(), &addresses);
    let (liar, mut heard) = Mesh::start(settings).unwrap();
    let third = office(2, sockets.next().unwrap());
    for _ in 0..2 {
        while !matches!(heard.receive().await, Some(Incoming::PeerUp { .. })) {}
    }
    type Said<M> = detected::Message<(), coordinated::Message<M>>;
    for (place, message) in absurd.iter().enumerate() {
        let inner = coordinated::Message::Election(message.clone());
        let said: Said<_> = detected::Message::Inner(inner);
        let said = (1 + place as u64, None::<()>, said);
        for peer in [ProcessId(0), ProcessId(2)] {
            liar.send(peer, postcard::to_stdvec(&said).unwrap()).unwrap();
        }
    }
    for node in [&first, &third] {
        node.leadership.elect().unwrap();
        drop(node.lock.enter().await.unwrap());
        while node.running.view.counts().implausible < absurd.len() as u64 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    drop((liar, heard));
    for node in [first, third] {
        stop(node).await.unwrap();
    }
    let nodes: Vec<Node> = again().enumerate().map(|(me, socket)| office(me, socket)).collect();
    for node in &nodes {
        node.leadership.elect().unwrap();
        drop(node.lock.enter().await.unwrap());
    }
    for node in nodes {
        stop(node).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bully_that_hears_absurd_numbers_goes_on_and_so_does_its_restart() {
    let absurd = [1 << 40, u64::MAX].into_iter().flat_map(|number| {
        use bully::Message::{Answer, Coordinator, Election};
        [Coordinator { number }, Answer { number }, Election { number }]
    });
    let config = bully::Config::plain(3, 30 * TICKS_PER_UNIT);
    absurd_numbers_harm_nobody::<Bully>(config, &absurd.collect::<Vec<_>>()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_raft_that_hears_absurd_numbers_goes_on_and_so_does_its_restart() {
    let absurd = [1 << 40, u64::MAX].into_iter().flat_map(|term| {
        use raft::Message::{Heartbeat, Overtaken, RequestVote};
        [RequestVote { term }, Heartbeat { term, round: 0 }, Overtaken { term }]
    });
    let config = raft::Config::plain(3, 30 * TICKS_PER_UNIT);
    absurd_numbers_harm_nobody::<Raft>(config, &absurd.collect::<Vec<_>>()).await;
}

/// As builds have left it that believed everything.
#[test]
fn a_saved_state_that_cannot_be_true_is_refused_with_the_way_out_and_left_as_it_is() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let _inside = runtime.enter();
    let directory = TempDir::new().unwrap();
    let poisoned = postcard::to_stdvec(&(1_u64, 1_u64 << 40)).unwrap();
    store(directory.path(), 0).save(&poisoned).unwrap();
    let (mut listeners, addresses) = listeners(1);
    let (front, _lock, _leadership, asks) = Front::new();
    let refused = start::<Coordinated<Bully>, Front>(Parts {
        config: bully(&addresses).into(),
        transport: transport(0, 2, listeners.remove(0), &addresses),
        store: store(directory.path(), 0),
        local: front,
        asks,
        recorder: Recorder::none(),
        injection: Injection::none(),
        suspected: None,
    });
    let refusal = refused.unwrap_err();
    assert!(matches!(refusal, StartError::Implausible { .. }), "{refusal}");
    assert!(refusal.to_string().contains("docs/wire.md"), "{refusal}");
    assert_eq!(store(directory.path(), 0).state(), Some(&*poisoned));
}
