//! Invalid messages over real sockets. One of three nodes is faulty: it alters every field of its
//! messages. The other two nodes must continue. Then all nodes restart, and the faulty node
//! restarts without the fault. Every user must be able to enter.

use std::net::TcpListener;
use std::time::Duration;

use tempfile::TempDir;
use tenure_algorithms::catalogue::{
    ELECTIONS, MUTEXES, MutexAndElectionVisitor, Parameters, mutex_and_election_card,
    visit_mutex_and_election,
};
use tenure_algorithms::compose::{WithDetector, with_detector};
use tenure_algorithms::detector::AdaptiveTimeoutDetector;
use tenure_core::{Algorithm, CrashModel, MutexAndElection, ProcessId, TICKS_PER_TIME_UNIT};
use tenure_runtime::transport::{
    Listen, MeshSettings, MeshStatus, PeerAuthentication, ReplaceableKeys,
};
use tenure_runtime::{
    ElectionHandle, Lock, LockApplication, NodeComponents, NodeFailure, RunningNode, start_node,
};
use tokio::task::{JoinError, JoinHandle};
use tokio::time::{Instant, sleep, timeout};

use super::SIZE;
use super::faulty_process::{FaultSource, FaultyProcess};
use crate::transport::support::group;
use crate::{detector, listeners, store};

const EVENT_TIMEOUT: Duration = Duration::from_secs(120);

/// Time without a new invalid message after which the test stops waiting for further ones.
const MAX_IDLE_TIME: Duration = Duration::from_millis(1_500);

const MAX_DURATION: Duration = Duration::from_secs(30);

type Name = (String, &'static str);

/// Returns pairs of a lock algorithm and an election algorithm. The pairs contain every lock
/// algorithm, and every election algorithm that can be combined with a lock.
fn lock_election_pairs() -> Vec<Name> {
    let locks = MUTEXES.iter().map(|lock| ((*lock).to_owned(), "raft"));
    let below = ["raft", "bully"].map(|election| (format!("coordinated:{election}"), election));
    let elections = ELECTIONS.iter().map(|election| ("central".to_owned(), *election));
    // An election in synchronous rounds cannot be combined with a lock.
    let elections = elections
        .filter(|(lock, election)| mutex_and_election_card(lock, election, &parameters()).is_ok());
    below.into_iter().chain(locks).chain(elections).collect()
}

fn parameters() -> Parameters {
    Parameters { delay: 40 * TICKS_PER_TIME_UNIT, ..Parameters::with_defaults(SIZE) }
}

struct ClusterFiles {
    directory: TempDir,
    addresses: Vec<String>,
    keys: Vec<ReplaceableKeys>,
}

struct Node {
    lock: Lock,
    election: ElectionHandle,
    running: RunningNode,
    user: JoinHandle<()>,
}

impl ClusterFiles {
    fn new() -> (ClusterFiles, Vec<TcpListener>) {
        let (listeners, addresses) = listeners(SIZE as usize);
        let (directory, keys) = (tempfile::tempdir().unwrap(), group(SIZE as usize));
        (ClusterFiles { directory, addresses, keys }, listeners)
    }

    fn start<P: MutexAndElection>(&self, me: ProcessId, listen: Listen, config: P::Config) -> Node {
        let store = store(self.directory.path(), me.index(), SIZE as usize);
        let (session, addresses) = (store.session(), self.addresses.clone());
        let transport = MeshSettings {
            authentication: PeerAuthentication::Keys(self.keys[me.index()].clone()),
            ..MeshSettings::on_loopback("test", me, session, addresses, listen)
        };
        let (application, lock, election, requests) = LockApplication::new();
        let running = start_node::<P, LockApplication>(NodeComponents::new(
            config,
            transport,
            store,
            application,
            requests,
        ))
        .unwrap();
        let user =
            tokio::spawn(user(lock.clone(), election.clone(), running.mesh_handle.clone(), me));
        Node { lock, election, running, user }
    }
}

/// Runs a user that acquires and releases the lock repeatedly, and starts an election if there is
/// no leader. The user of the highest process starts first.
async fn user(lock: Lock, election: ElectionHandle, view: MeshStatus, me: ProcessId) {
    let started = Instant::now();
    while !view.peers().iter().all(|it| it.is_connected)
        && started.elapsed() < Duration::from_secs(1)
    {
        sleep(Duration::from_millis(2)).await;
    }
    sleep(Duration::from_millis(200) * (SIZE - me.display_number())).await;
    loop {
        if election.leader_term().is_none() {
            let _ = election.start_election();
        }
        let entered = timeout(Duration::from_millis(500), lock.acquire()).await;
        drop(entered);
        sleep(Duration::from_millis(2)).await;
    }
}

impl Node {
    async fn stop(self) -> Result<Result<(), NodeFailure>, JoinError> {
        self.user.abort();
        let _ = self.user.await;
        drop((self.lock, self.election));
        self.running.task.await
    }
}

struct Trial {
    seed: u64,
    max_messages: usize,
    /// True if the nodes keep their saved state when they restart. If the lock algorithm does not
    /// tolerate recovery, all nodes start with empty directories.
    survives: bool,
}

impl MutexAndElectionVisitor for Trial {
    type Output = Result<String, String>;

    fn mutex_and_election<P: MutexAndElection + Algorithm>(self, inner: P::Config) -> Self::Output {
        let config = with_detector::Config { detector: detector(), inner };
        let mut threads = tokio::runtime::Builder::new_multi_thread();
        let runtime = threads.worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(self.of::<WithDetector<AdaptiveTimeoutDetector, P>>(config))
    }
}

impl Trial {
    async fn of<P: MutexAndElection>(&self, config: P::Config) -> Result<String, String> {
        let (files, listeners) = ClusterFiles::new();
        let faulty = ProcessId::from_index(usize::try_from(self.seed).unwrap() % SIZE as usize);
        let faults = FaultSource::new(self.seed, self.max_messages);
        let mut nodes = Vec::new();
        for (index, listener) in listeners.into_iter().enumerate() {
            let (me, listen) = (ProcessId::from_index(index), Listen::Listener(listener));
            nodes.push(if me == faulty {
                files.start::<FaultyProcess<P>>(me, listen, (config.clone(), faults.clone()))
            } else {
                files.start::<P>(me, listen, config.clone())
            });
        }
        self.wait_for_faults(&faults).await;
        let rejections =
            || nodes.iter().map(|node| node.running.mesh_handle.counts().implausible).sum::<u64>();
        // The messages need time to arrive.
        let arrival = async {
            while rejections() == 0 {
                sleep(Duration::from_millis(20)).await;
            }
        };
        let _ = timeout(EVENT_TIMEOUT, arrival).await;
        let rejected = rejections();
        for (index, node) in nodes.into_iter().enumerate() {
            let ended = timeout(EVENT_TIMEOUT, node.stop()).await;
            match ended.map_err(|_| "does not stop".to_owned()) {
                Ok(Ok(Ok(()))) => {}
                _ if ProcessId::from_index(index) == faulty => {}
                ended => {
                    return Err(format!("{} has failed: {ended:?}", ProcessId::from_index(index)));
                }
            }
        }
        if rejected == 0 {
            return Err("no message was invalid".to_owned());
        }
        self.start_again::<P>(&files, config).await?;
        let (count, (kinds, places)) = (faults.count(), faults.coverage());
        Ok(format!(
            "{count} invalid messages of {faulty} in {places} places of {kinds} kinds, {rejected} \
             times rejected"
        ))
    }

    async fn wait_for_faults(&self, faults: &FaultSource) {
        let (started, mut sent, mut last) = (Instant::now(), 0, Instant::now());
        // A busy machine may need long until the first message.
        let goes_on = |sent: usize, last: Instant| match sent {
            0 => started.elapsed() < EVENT_TIMEOUT,
            _ => last.elapsed() < MAX_IDLE_TIME && started.elapsed() < MAX_DURATION,
        };
        while sent < self.max_messages && goes_on(sent, last) {
            sleep(Duration::from_millis(20)).await;
            let now = faults.count();
            if now > sent {
                (sent, last) = (now, Instant::now());
            }
        }
        // The last message needs time to arrive.
        sleep(Duration::from_millis(100)).await;
    }

    async fn start_again<P: MutexAndElection>(
        &self,
        files: &ClusterFiles,
        config: P::Config,
    ) -> Result<(), String> {
        if !self.survives {
            for index in 0..SIZE as usize {
                let state = files.directory.path().join(index.to_string());
                std::fs::remove_dir_all(state).unwrap();
            }
        }
        let start = |index: usize| {
            let listen = Listen::Address(files.addresses[index].parse().unwrap());
            files.start::<P>(ProcessId::from_index(index), listen, config.clone())
        };
        let nodes: Vec<Node> = (0..SIZE as usize).map(start).collect();
        let mut unserved = Vec::new();
        for (index, node) in nodes.iter().enumerate() {
            let me = ProcessId::from_index(index);
            match timeout(EVENT_TIMEOUT, node.lock.acquire()).await {
                Ok(Ok(guard)) => drop(guard),
                failed => unserved.push(format!("{me} cannot enter: {failed:?}")),
            }
        }
        for node in nodes {
            if !matches!(timeout(EVENT_TIMEOUT, node.stop()).await, Ok(Ok(Ok(())))) {
                unserved.push("a correct node among correct nodes fails".to_owned());
            }
        }
        if unserved.is_empty() { Ok(()) } else { Err(unserved.join("; ")) }
    }
}

fn run_trial((mutex, election): &Name, seed: u64, max_messages: usize) -> Result<(), String> {
    let card =
        mutex_and_election_card(mutex, election, &parameters()).map_err(|it| it.to_string())?;
    let survives = card.faults.crashes == CrashModel::Recovery;
    let trial = Trial { seed, max_messages, survives };
    let outcome = visit_mutex_and_election(mutex, election, &parameters(), trial);
    let outcome = outcome.map_err(|unknown| unknown.to_string()).and_then(|it| it);
    let summary =
        outcome.map_err(|wrong| format!("{mutex} beside {election}, seed {seed}: {wrong}"))?;
    eprintln!("{mutex} beside {election}, seed {seed}: {summary}");
    Ok(())
}

#[test]
fn invalid_messages_stop_no_node() {
    run_trial(&lock_election_pairs()[0], 2, 40).unwrap();
}

/// Sends invalid messages to running nodes, for each pair of a lock and an election.
/// `cargo xtask attack messages` runs this test.
#[test]
#[ignore = "minutes"]
fn all_invalid_messages_stop_no_node() {
    let pairs = lock_election_pairs();
    let all = crate::seeds(0..pairs.len() as u64);
    let pair = |seed: u64| &pairs[usize::try_from(seed).unwrap() % pairs.len()];
    let wrong: Vec<String> =
        all.filter_map(|seed| run_trial(pair(seed), seed, usize::MAX).err()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
