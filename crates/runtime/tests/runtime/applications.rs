//! Applications of leader election on real nodes, with real sockets and files. Nodes are killed, as
//! in a crash, and recover.

use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;
use tenure_algorithms::application::with_election::{self, WithElection};
use tenure_algorithms::application::{
    Application, Berkeley, PrimaryBackup, SpanningTree, TwoPhaseCommit, berkeley, primary_backup,
    spanning_tree, two_phase_commit,
};
use tenure_algorithms::compose::{WithDetector, with_detector};
use tenure_algorithms::detector::{AdaptiveTimeoutDetector, heartbeat};
use tenure_algorithms::election::{Bully, bully};
use tenure_core::service::{
    clock_synchronisation, commit, election, leader_tree, replicated_list, with_election as service,
};
use tenure_core::{Delay, Group, ProcessId, Rank, TICKS_PER_TIME_UNIT, Term};
use tenure_runtime::{PassthroughApplication, RunningNode, run_schedule_on_nodes, start_node};
use tenure_trace::{
    ApplicationEvent, Header, Record, RecordKind, RecordSubject, Schedule, Service, ServiceCommand,
    ServiceEvent, TraceProducer, merge_files_for_verification,
};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::{components, kill, listeners};

/// Time limit for an event. Events usually take almost no time on the loopback interface. The limit
/// is long because the machine may be busy.
const EVENT_TIMEOUT: Duration = Duration::from_secs(120);

type Real<A> = WithDetector<AdaptiveTimeoutDetector, WithElection<A, Bully>>;

struct Node<A: Application> {
    commands: mpsc::UnboundedSender<service::Command<A::Command>>,
    events: mpsc::UnboundedReceiver<service::Event<A::Event>>,
    running: RunningNode,
}

/// Returns the configuration of the election. The first process has the highest rank, and the
/// second process has the second-highest rank.
fn election(size: usize) -> bully::Config {
    let size = u32::try_from(size).unwrap();
    let ranks = (1..=size).rev().map(Rank::from_id).collect();
    bully::Config { ranks, ..bully::Config::with_defaults(size, 50 * TICKS_PER_TIME_UNIT) }
}

impl<A> Node<A>
where
    A: Application<Command: ServiceCommand, Event: ServiceEvent>,
{
    fn boot(
        config: &A::Config,
        directory: &Path,
        me: usize,
        listener: TcpListener,
        addresses: &[String],
    ) -> Self {
        let (local, events) = PassthroughApplication::new();
        let (commands, receiver) = mpsc::unbounded_channel();
        let detector = heartbeat::Config {
            period: Delay::time_units(50),
            initial_timeout: 2_000 * TICKS_PER_TIME_UNIT,
            increment: 1_000 * TICKS_PER_TIME_UNIT,
            max_timeout: 8_000 * TICKS_PER_TIME_UNIT,
        };
        let election = election(addresses.len());
        let inner = with_election::Config { application: config.clone(), election };
        let config = with_detector::Config { detector, inner };
        let local = (local, receiver);
        let components =
            components::<Real<A>, _>(config, directory, me, listener, addresses, local);
        Node { commands, events, running: start_node(components).unwrap() }
    }

    fn ask(&self, command: A::Command) {
        self.commands.send(service::Command::Application(command)).unwrap();
    }

    fn elect(&self) {
        self.commands.send(service::Command::Election(election::Command::Elect)).unwrap();
    }

    /// Waits for an event of the application for which `is` returns a value, and returns that
    /// value.
    async fn wait_for_event<T>(&mut self, is: impl Fn(A::Event) -> Option<T>) -> T {
        loop {
            let event = timeout(EVENT_TIMEOUT, self.events.recv())
                .await
                .expect("an event in time")
                .unwrap();
            if let service::Event::Application(event) = event
                && let Some(it) = is(event)
            {
                return it;
            }
        }
    }
}

struct Cluster<A: Application> {
    directory: TempDir,
    addresses: Vec<String>,
    config: A::Config,
    nodes: Vec<Node<A>>,
}

impl<A> Cluster<A>
where
    A: Application<Command: ServiceCommand, Event: ServiceEvent>,
{
    fn boot(size: usize, config: A::Config) -> Self {
        let directory = TempDir::new().unwrap();
        let (listeners, addresses) = listeners(size);
        let boot = |(me, listener)| Node::boot(&config, directory.path(), me, listener, &addresses);
        let nodes = listeners.into_iter().enumerate().map(boot).collect();
        Cluster { directory, addresses, config, nodes }
    }

    fn recover_first(&mut self) {
        let listener = TcpListener::bind(&self.addresses[0]).unwrap();
        let node = Node::boot(&self.config, self.directory.path(), 0, listener, &self.addresses);
        self.nodes.insert(0, node);
    }
}

const MINUTE: i64 = 60_000_000_000;

fn adjusted(event: clock_synchronisation::Event) -> Option<i64> {
    match event {
        clock_synchronisation::Event::Adjusted { by, .. } => Some(by),
        clock_synchronisation::Event::Shows { .. } => None,
    }
}

fn shown(event: clock_synchronisation::Event) -> Option<i64> {
    match event {
        clock_synchronisation::Event::Shows { time } => Some(time),
        clock_synchronisation::Event::Adjusted { .. } => None,
    }
}

/// The leader adjusts three clocks, which show 3:00, 3:25 and 2:50. These are the values of the
/// usual example of the Berkeley algorithm. Then the leader is killed, and the next leader adjusts
/// its own clock and the clock of the third process. Setting the clocks takes some time, so the
/// test compares the adjustments in whole minutes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clocks_converge_despite_leader_crash() {
    let mut cluster = Cluster::<Berkeley>::boot(3, berkeley::Config::default());
    for (node, minutes) in cluster.nodes.iter_mut().zip([180, 205, 170]) {
        node.ask(clock_synchronisation::Command::Set { to: minutes * MINUTE });
        node.ask(clock_synchronisation::Command::Read);
        node.wait_for_event(shown).await;
    }
    cluster.nodes[0].elect();
    let mut by = Vec::new();
    for node in &mut cluster.nodes {
        by.push(node.wait_for_event(adjusted).await);
    }
    let minutes = |by: i64| (by + MINUTE / 2).div_euclid(MINUTE);
    assert_eq!([by[0], by[1], by[2]].map(minutes), [5, -20, 15]);
    assert_eq!(by.iter().sum::<i64>(), 0);
    kill(cluster.nodes.remove(0).running).await;
    cluster.nodes[0].ask(clock_synchronisation::Command::Set { to: 300 * MINUTE });
    cluster.nodes[1].ask(clock_synchronisation::Command::Set { to: 310 * MINUTE });
    for (node, expected) in cluster.nodes.iter_mut().zip([5, -5]) {
        let next =
            node.wait_for_event(|event| adjusted(event).filter(|by| minutes(*by) != 0)).await;
        assert_eq!(minutes(next), expected);
    }
}

fn acknowledged(event: replicated_list::Event) -> Option<(u64, u64)> {
    match event {
        replicated_list::Event::Acknowledged { place, value, .. } => Some((place, value)),
        _ => None,
    }
}

fn serving(event: replicated_list::Event) -> Option<(Term, Vec<u64>)> {
    match event {
        replicated_list::Event::Serving { term, writes } => Some((term, writes)),
        _ => None,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acknowledged_writes_survive_primary_crash_and_recovery() {
    let mut cluster = Cluster::<PrimaryBackup>::boot(3, primary_backup::Config::default());
    cluster.nodes[0].elect();
    let (first, writes) = cluster.nodes[0].wait_for_event(serving).await;
    assert_eq!(writes, [0; 0]);
    for value in 1..=60 {
        cluster.nodes[0].ask(replicated_list::Command::Write { value });
    }
    let mut known = 0;
    while known < 20 {
        let (place, value) = cluster.nodes[0].wait_for_event(acknowledged).await;
        assert_eq!((place, value), (known + 1, known + 1));
        known = place;
    }
    // Most writes are in progress at this moment.
    kill(cluster.nodes.remove(0).running).await;
    let (second, writes) = cluster.nodes[0].wait_for_event(serving).await;
    assert!(second > first);
    assert!(writes.len() >= 20, "{known} were acknowledged: {writes:?}");
    assert_eq!(writes, (1..=writes.len() as u64).collect::<Vec<_>>());
    cluster.nodes[0].ask(replicated_list::Command::Write { value: 1000 });
    let (place, _) = cluster.nodes[0].wait_for_event(acknowledged).await;
    assert_eq!(place, writes.len() as u64 + 1);
    // The recovered primary leads again. Writes that only it had received before the crash are not
    // served.
    cluster.recover_first();
    let (third, back) = cluster.nodes[0].wait_for_event(serving).await;
    assert!(third > second);
    assert_eq!(back, [writes, vec![1000]].concat());
}

fn decided(event: commit::Event) -> Option<bool> {
    match event {
        commit::Event::Committed { .. } => Some(true),
        commit::Event::Aborted { .. } => Some(false),
        commit::Event::Prepared { .. } | commit::Event::Refused => None,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_nodes_agree_on_commit_and_abort() {
    let mut cluster = Cluster::<TwoPhaseCommit>::boot(3, two_phase_commit::Config::default());
    cluster.nodes[0].elect();
    // The first transaction begins only after the coordinator knows that it is elected.
    for expected in [true, false] {
        cluster.nodes[0].ask(commit::Command::Begin);
        for node in &mut cluster.nodes {
            assert_eq!(node.wait_for_event(decided).await, expected);
        }
        cluster.nodes[2].ask(commit::Command::Veto);
        // The third node is not the coordinator, so it refuses to begin a transaction. It handles
        // its commands in order, so the refusal shows that the node has handled the veto.
        cluster.nodes[2].ask(commit::Command::Begin);
        let refused = |event| (event == commit::Event::Refused).then_some(());
        cluster.nodes[2].wait_for_event(refused).await;
    }
}

/// Returns the events of a transaction that each process emitted. The outer list has one element
/// per process, in the order of the process ids. The inner list has the names of the events, in the
/// order of the trace.
fn outcomes(records: &[Record], size: u32) -> Vec<Vec<&'static str>> {
    let mut outcomes = vec![Vec::new(); size as usize];
    for record in records {
        let (RecordSubject::Process(at), RecordKind::Event(context)) =
            (record.process, &record.kind)
        else {
            continue;
        };
        let Some(ApplicationEvent::Commit(event)) = context.application() else { continue };
        outcomes[at.index()].push(match event {
            commit::Event::Prepared { .. } => "prepared",
            commit::Event::Committed { .. } => "committed",
            commit::Event::Aborted { .. } => "aborted",
            commit::Event::Refused => "refused",
        });
    }
    outcomes
}

/// Runs a script on three nodes and returns the [`outcomes`]. Each message waits at its receiver
/// until the script delivers the message.
fn run_over_tcp(script: &str) -> Vec<Vec<&'static str>> {
    type P = WithElection<TwoPhaseCommit, Bully>;
    let application = two_phase_commit::Config::default();
    let config = with_election::Config { application, election: election(3) };
    let script = script.parse().unwrap();
    let schedule =
        Schedule::from_script::<P>(&script, |_: Group| config.clone()).unwrap().remove(0);
    let directory = TempDir::new().unwrap();
    let header = Header::new("two-phase-commit", Service::Other, 3, TraceProducer::Node);
    let traces =
        run_schedule_on_nodes::<P>(&schedule, |_| config.clone(), directory.path(), &header);
    outcomes(&merge_files_for_verification(traces.unwrap()).unwrap().records, 3)
}

const ALL_HAVE_VOTED: &str = "group 3\nelect p1; stabilize\nbegin p1\n\
    deliver p1→p2 prepare; deliver p1→p3 prepare";

#[test]
fn recovered_coordinator_decides_from_its_log() {
    // The leader crashes before it has received all votes. No other process can then decide, not
    // even a new leader.
    let killed =
        format!("{ALL_HAVE_VOTED}\ncrash p1\nsuspect p2 p1; suspect p3 p1\nstabilize timers");
    let uncertain = run_over_tcp(&killed);
    assert_eq!(uncertain, [vec![], vec!["prepared"], vec!["prepared"]]);
    // The leader recovers, and its log shows that it has begun the transaction but not decided it.
    let back = format!("{killed}\nrecover p1; trust p2 p1; trust p3 p1\nstabilize timers");
    let aborted = run_over_tcp(&back);
    let both = vec!["prepared", "aborted"];
    assert_eq!(aborted, [vec!["aborted"], both.clone(), both]);
    // The leader crashes after its decision, which no other process has received.
    let decided = format!(
        "{ALL_HAVE_VOTED}\ndeliver p2→p1 vote; deliver p3→p1 vote\ncrash p1\n\
         lose p1→p2 decision; lose p1→p3 decision\nrecover p1; trust p2 p1; trust p3 p1\n\
         stabilize timers"
    );
    let both = vec!["prepared", "committed"];
    assert_eq!(run_over_tcp(&decided), [vec!["committed"], both.clone(), both]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tree_on_ring_of_four_counts_four() {
    let edges = [(0, 1), (1, 2), (2, 3), (3, 0)];
    let edges = edges.map(|(one, other)| (ProcessId(one), ProcessId(other)));
    let mut cluster =
        Cluster::<SpanningTree>::boot(4, spanning_tree::Config::with_edges_and_echoes(4, edges));
    cluster.nodes[0].elect();
    let completed = |event| match event {
        leader_tree::Event::Completed { size, .. } => Some(size),
        leader_tree::Event::Joined { .. } => None,
    };
    assert_eq!(cluster.nodes[0].wait_for_event(completed).await, 4);
    for node in &mut cluster.nodes[1..] {
        let parent = |event| match event {
            leader_tree::Event::Joined { parent, .. } => parent,
            leader_tree::Event::Completed { .. } => None,
        };
        node.wait_for_event(parent).await;
    }
}
