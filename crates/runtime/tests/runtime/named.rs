//! Many named locks that one leader coordinates, over one set of real connections.

use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use tenure_algorithms::compose::{NamedLocks, WithDetector, coordinated, with_detector};
use tenure_algorithms::detector::AdaptiveTimeoutDetector;
use tenure_algorithms::election::{RaftElection, raft};
use tenure_algorithms::mutex::LeaseDurations;
use tenure_core::{LockName, TICKS_PER_TIME_UNIT};
use tenure_runtime::{Guard, Lock, LockLossReason, TraceSink};
use tokio::sync::Barrier;
use tokio::time::timeout;

use crate::{Inside, Node, TIME_LIMIT, detector, enter, enter_alone, in_time, kill, listeners};

/// Message latency that the nodes assume as the maximum, in milliseconds.
const DELAY: u64 = 30;

type Locks = WithDetector<AdaptiveTimeoutDetector, NamedLocks<RaftElection>>;

fn boot(directory: &Path, me: usize, listener: TcpListener, addresses: &[String]) -> Node {
    let group_size = u32::try_from(addresses.len()).unwrap();
    let inner = coordinated::Config {
        election: raft::Config::with_defaults(group_size, DELAY * TICKS_PER_TIME_UNIT),
        entry_durations: Some(LeaseDurations::for_message_delay(DELAY * TICKS_PER_TIME_UNIT)),
    };
    let config = with_detector::Config { detector: detector(), inner };
    Node::boot::<Locks>(TraceSink::none(), config, directory, me, listener, addresses)
}

impl Node {
    fn lock(&self, name: &str) -> Lock {
        self.lock.named(LockName::new(name).unwrap())
    }
}

fn cluster(directory: &Path, size: usize) -> (Vec<Node>, Vec<String>) {
    let (listeners, addresses) = listeners(size);
    let boot = |(me, listener)| boot(directory, me, listener, &addresses);
    let nodes = listeners.into_iter().enumerate().map(boot).collect();
    (nodes, addresses)
}

/// Lets one user enter the lock `one` and another user enter the lock `other`. Returns true if both
/// users hold their locks at the same time. Each user waits inside for the other user, up to a time
/// limit. A user whose lease has expired holds no lock.
async fn meet(one: Lock, other: Lock) -> bool {
    let inside = Arc::new(Barrier::new(2));
    let visit = |lock: Lock| {
        let inside = inside.clone();
        tokio::spawn(async move {
            let guard = enter(&lock).await;
            let met = timeout(Duration::from_millis(300), inside.wait()).await.is_ok();
            met && !guard.is_lost()
        })
    };
    let (one, other) = (visit(one), visit(other));
    one.await.unwrap() && other.await.unwrap()
}

/// Control experiment: with different names, both users hold their locks at the same time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_different_names_are_held_at_once() {
    let directory = TempDir::new().unwrap();
    let (nodes, _) = cluster(directory.path(), 3);
    assert!(!meet(nodes[0].lock("büro"), nodes[1].lock("büro")).await);
    // On a busy machine, one user may enter too late for the other.
    let mut attempts = 0;
    while !meet(nodes[0].lock("büro"), nodes[1].lock("办公室")).await {
        attempts += 1;
        assert!(attempts < 100, "different names are held at once");
    }
    assert!(!meet(nodes[2].lock("办公室"), nodes[1].lock("办公室")).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn contended_names_have_independent_growing_fences() {
    const NAMES: [&str; 3] = ["invoices", "reports", "mail"];
    let directory = TempDir::new().unwrap();
    let (nodes, _) = cluster(directory.path(), 3);
    let inside: [Arc<Inside>; 3] = Default::default();
    let mut tasks = Vec::new();
    for node in &nodes {
        for (place, name) in NAMES.iter().enumerate() {
            let (lock, inside) = (node.lock(name), inside[place].clone());
            tasks.push(tokio::spawn(async move { (place, enter_alone(lock, inside, 30).await) }));
        }
    }
    let mut fences: [Vec<_>; 3] = Default::default();
    for task in tasks {
        let (place, more) = task.await.unwrap();
        fences[place].extend(more);
    }
    inside.iter().for_each(|inside| inside.assert_exclusive_while_leased());
    for mut fences in fences {
        fences.sort_unstable();
        fences.dedup();
        assert_eq!(fences.len(), 90, "each entry to one lock has its own fence");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn try_acquire_fails_while_another_node_holds_the_lock() {
    let directory = TempDir::new().unwrap();
    let (nodes, _) = cluster(directory.path(), 3);
    let mut guard = enter_at_first(&nodes, "invoices").await;
    let other = nodes[1].lock("invoices").with_try_acquire_timeout(Duration::from_millis(150));
    let mut attempts = 0;
    loop {
        let tried = other.try_acquire().await.unwrap();
        assert!(tried.is_none() || guard.is_lost());
        let granted = other.acquire_within(Duration::from_millis(50)).await.unwrap();
        assert!(granted.is_none() || guard.is_lost());
        if !guard.is_lost() {
            break;
        }
        // A busy machine may renew the lease too late.
        attempts += 1;
        assert!(attempts < 100, "the lease is renewed");
        drop((tried, granted));
        guard = enter_at_first(&nodes, "invoices").await;
    }
    drop(guard);
    let again = other.acquire_within(TIME_LIMIT).await.unwrap();
    assert!(again.is_some());
}

/// Kills the leader, so that another process takes over, and then boots the killed process again.
/// Checks that the lock stays exclusive and that its fences grow.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn named_locks_survive_leader_change() {
    let directory = TempDir::new().unwrap();
    let (mut nodes, addresses) = cluster(directory.path(), 3);
    let before = enter_at_first(&nodes, "invoices").await.fence();
    drop(enter_at_first(&nodes, "reports").await);
    let leader =
        nodes[0].election.leader_term().expect("the node that granted the lock leads").leader;
    kill(nodes.remove(leader.index()).running).await;
    let mut guard = enter_at_first(&nodes, "invoices").await;
    assert!(guard.fence() > before);
    let listener = TcpListener::bind(&addresses[leader.index()]).unwrap();
    let back = boot(directory.path(), leader.index(), listener, &addresses);
    let other = back.lock("invoices");
    let mut attempts = 0;
    loop {
        let granted = other.acquire_within(Duration::from_millis(500)).await.unwrap();
        assert!(granted.is_none() || guard.is_lost());
        if !guard.is_lost() {
            break;
        }
        // A busy machine may renew the lease too late.
        attempts += 1;
        assert!(attempts < 100, "the lease is renewed");
        drop(granted);
        guard = enter_at_first(&nodes, "invoices").await;
    }
    let after = guard.fence();
    drop(guard);
    assert!(enter(&other).await.fence() > after);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn isolated_node_loses_all_guards_with_reason() {
    let directory = TempDir::new().unwrap();
    let (mut nodes, _) = cluster(directory.path(), 3);
    let last = nodes.pop().unwrap();
    let guards =
        [enter_at_first(std::slice::from_ref(&last), "a").await, enter(&last.lock("b")).await];
    for node in nodes {
        kill(node.running).await;
    }
    for guard in &guards {
        let why = in_time(guard.lost()).await;
        assert!(
            matches!(why, LockLossReason::LeaseExpired | LockLossReason::LeaderDeposed),
            "{why}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn node_stops_despite_waiter_and_holder() {
    let directory = TempDir::new().unwrap();
    let (nodes, _) = cluster(directory.path(), 1);
    let guard = enter_at_first(&nodes, "invoices").await;
    let lock = nodes[0].lock("invoices");
    let waits = tokio::spawn(async move { lock.acquire().await });
    let lock = nodes[0].lock.clone();
    lock.stop_node();
    for node in nodes {
        node.running.task.await.unwrap().unwrap();
    }
    assert_eq!(in_time(guard.lost()).await, LockLossReason::NodeStopped);
    assert!(waits.await.unwrap().is_err() && lock.acquire().await.is_err());
}

async fn enter_at_first(nodes: &[Node], name: &str) -> Guard {
    enter(&nodes[0].lock(name)).await
}
