//! Tests of the lock handles. Each test receives the commands of the handles and injects the events
//! of the protocol.

use std::time::Duration;

use tenure_algorithms::compose::CoordinatedLock;
use tenure_algorithms::election::Bully;
use tenure_core::service::{election, mutex, mutex_and_election};
use tenure_core::{Fence, LockName, ProcessId, Term};
use tenure_runtime::{
    Application, ElectionHandle, Guard, Lock, LockApplication, LockLossReason, LockRequestReceiver,
    NodeStopped,
};
use tokio::task::JoinHandle;

type CoordinatedBully = CoordinatedLock<Bully>;

/// Lock application without a protocol. Tests receive its commands and inject the events of the
/// protocol.
struct TestNode {
    application: LockApplication,
    lock: Lock,
    requests: LockRequestReceiver,
    /// Also keeps the channel of requests open.
    election: ElectionHandle,
}

impl TestNode {
    fn new() -> Self {
        let (application, lock, election, requests) = LockApplication::new();
        TestNode { application, lock, requests, election }
    }

    /// Returns the commands that result from the pending requests of the users.
    async fn pending_commands(&mut self) -> Vec<mutex::Command> {
        // All tasks run on this thread and have sent their requests after a few yields.
        for _ in 0..8 {
            tokio::task::yield_now().await;
        }
        let mut commands = Vec::new();
        while let Ok(request) = self.requests.try_recv() {
            commands.extend(Application::<CoordinatedBully>::on_request(
                &mut self.application,
                request,
            ));
        }
        commands.into_iter().map(of_mutex).collect()
    }

    fn deliver_event(&mut self, event: mutex_and_election::Event) -> Option<mutex::Command> {
        Application::<CoordinatedBully>::on_event(&mut self.application, event).map(of_mutex)
    }

    fn entered(&mut self, number: u64) -> Option<mutex::Command> {
        self.deliver_event(mutex_and_election::Event::Mutex(mutex::Event::Entered {
            fence: Fence(number, 0),
        }))
    }

    fn exited(&mut self) -> Option<mutex::Command> {
        self.deliver_event(mutex_and_election::Event::Mutex(mutex::Event::Exited))
    }

    fn elected(&mut self, number: u64) {
        let term = Term { number, leader: ProcessId(0) };
        let event = election::Event::Elected { leader: term.leader, term };
        assert_eq!(self.deliver_event(mutex_and_election::Event::Election(event)), None);
    }

    fn enter(&self) -> JoinHandle<Result<Guard, NodeStopped>> {
        let lock = self.lock.clone();
        tokio::spawn(async move { lock.acquire().await })
    }

    async fn acquire(&mut self, number: u64) -> Guard {
        let entering = self.enter();
        assert_eq!(self.pending_commands().await, [mutex::Command::Enter]);
        assert_eq!(self.entered(number), None);
        entering.await.unwrap().unwrap()
    }
}

fn of_mutex(command: mutex_and_election::Command) -> mutex::Command {
    match command {
        mutex_and_election::Command::Mutex(command) => command,
        mutex_and_election::Command::Election(_) => panic!("unexpected election command"),
    }
}

#[tokio::test]
async fn exit_under_same_leader_reports_expired_lease() {
    let mut node = TestNode::new();
    node.elected(1);
    let guard = node.acquire(1).await;
    assert!(!guard.is_lost());
    assert_eq!(node.exited(), None);
    assert_eq!((guard.is_lost(), guard.lost().await), (true, LockLossReason::LeaseExpired));
    drop(guard);
    assert_eq!(node.pending_commands().await, [], "a lost guard sends no exit");
}

#[tokio::test]
async fn exit_under_other_leader_reports_deposed_leader() {
    for deposed in [false, true] {
        let mut node = TestNode::new();
        node.elected(1);
        let guard = node.acquire(1).await;
        if deposed {
            let term = Term { number: 1, leader: ProcessId(0) };
            node.deliver_event(mutex_and_election::Event::Election(election::Event::Deposed {
                term,
            }));
        } else {
            node.elected(2);
        }
        assert!(!guard.is_lost(), "the entry has not ended");
        node.exited();
        assert_eq!(guard.lost().await, LockLossReason::LeaderDeposed);
    }
}

/// An election may report its leader again, for instance when a user requests an election.
#[tokio::test]
async fn repeated_report_of_the_same_leader_is_no_change() {
    let mut node = TestNode::new();
    node.elected(1);
    let changed = node.election.wait_for_leader_change().await.unwrap();
    assert_eq!(changed.map(|term| term.number), Some(1));
    node.elected(1);
    let repeated =
        tokio::time::timeout(Duration::from_millis(20), node.election.wait_for_leader_change());
    assert!(repeated.await.is_err(), "the leader is the same");
    node.elected(2);
    let changed = node.election.wait_for_leader_change().await.unwrap();
    assert_eq!(changed.map(|term| term.number), Some(2));
}

#[tokio::test]
async fn stopped_node_loses_guards_and_waiters() {
    let mut node = TestNode::new();
    let guard = node.acquire(1).await;
    let waits = node.enter();
    node.pending_commands().await;
    let TestNode { application, requests, .. } = node;
    drop((application, requests));
    assert_eq!((guard.is_lost(), guard.lost().await), (true, LockLossReason::NodeStopped));
    assert_eq!(waits.await.unwrap().unwrap_err(), NodeStopped);
}

#[tokio::test]
async fn stop_node_works_despite_handles() {
    let mut node = TestNode::new();
    assert!(!Application::<CoordinatedBully>::is_shutdown_requested(&node.application));
    node.lock.stop_node();
    assert_eq!(node.pending_commands().await, []);
    assert!(Application::<CoordinatedBully>::is_shutdown_requested(&node.application));
}

#[tokio::test]
async fn local_conflict_fails_try_acquire_without_request() {
    let mut node = TestNode::new();
    let guard = node.acquire(1).await;
    let lock = node.lock.clone();
    let tries = tokio::spawn(async move { lock.try_acquire().await });
    assert_eq!(node.pending_commands().await, []);
    assert!(tries.await.unwrap().unwrap().is_none());
    drop(guard);
    assert_eq!(node.pending_commands().await, [mutex::Command::Exit]);
}

#[tokio::test]
async fn try_acquire_times_out_and_releases_late_grant() {
    let mut node = TestNode::new();
    // Long enough for a busy machine: the request must be read before the waiter gives up.
    let lock = node.lock.clone().with_try_acquire_timeout(Duration::from_secs(2));
    let tries = tokio::spawn(async move { lock.try_acquire().await });
    assert_eq!(node.pending_commands().await, [mutex::Command::Enter]);
    assert!(tries.await.unwrap().unwrap().is_none());
    assert_eq!(node.entered(1), None);
    assert_eq!(node.pending_commands().await, [mutex::Command::Exit], "no waiter is left");
    assert_eq!(node.exited(), None);
    drop(node.acquire(2).await);
}

#[tokio::test]
async fn late_grant_goes_to_next_waiter() {
    let mut node = TestNode::new();
    let lock = node.lock.clone();
    // Long enough for a busy machine: the request must be read before the waiter gives up.
    let first = tokio::spawn(async move { lock.acquire_within(Duration::from_secs(2)).await });
    assert_eq!(node.pending_commands().await, [mutex::Command::Enter]);
    let second = node.enter();
    assert!(first.await.unwrap().unwrap().is_none());
    assert_eq!(node.pending_commands().await, []);
    assert_eq!(node.entered(7), None);
    assert_eq!(second.await.unwrap().unwrap().fence(), Fence(7, 0));
}

#[tokio::test]
async fn named_lock_on_unnamed_node_returns_stopped() {
    let mut node = TestNode::new();
    let lock = node.lock.named(LockName::new("invoices").unwrap());
    let requests = tokio::spawn(async move { lock.acquire().await });
    assert_eq!(node.pending_commands().await, []);
    assert_eq!(requests.await.unwrap().unwrap_err(), NodeStopped);
}
