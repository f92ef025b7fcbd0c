//! Three nodes in one program, with real sockets and files and Tenure's driver.

use std::net::TcpListener;
use std::path::Path;
use std::time::{Duration, Instant};

use tenure_core::service::log::{Command, Event, Payload};
use tenure_core::{ProcessId, Protocol};
use tenure_runtime::store::StateOwner;
use tenure_runtime::transport::{Listen, MeshLimits, MeshSettings, PeerAuthentication};
use tenure_runtime::{
    FaultInjection, NodeComponents, PassthroughApplication, StableStorage, TraceSink, start_node,
};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

pub const SIZE: u32 = 3;

pub const PAYLOAD_BYTES: usize = 64;

const MEASUREMENT_PERIOD: Duration = Duration::from_secs(1);

const ELECTION_TIMEOUT: Duration = Duration::from_secs(20);

struct Node {
    requests: UnboundedSender<Command>,
    events: UnboundedReceiver<Event>,
}

/// Number of attempts for a measurement in which the leader changes.
const MAX_ATTEMPTS: u32 = 5;

/// Returns the number of entries per second that three nodes commit. The user keeps `waiting`
/// proposals pending. The nodes save their states in `directory`.
pub fn commit_rate<P>(config: &P::Config, directory: &Path, waiting: u64) -> f64
where
    P: Protocol<Command = Command, Event = Event>,
{
    let folder = |attempt: u32| directory.with_extension(attempt.to_string());
    let mut attempts =
        (0..MAX_ATTEMPTS).map(|it| measure_commit_rate::<P>(config, &folder(it), waiting));
    attempts.find_map(|rate| rate).expect("a stable leader")
}

/// Measures the rate once. Returns `None` if the leader changes meanwhile.
fn measure_commit_rate<P>(config: &P::Config, directory: &Path, waiting: u64) -> Option<f64>
where
    P: Protocol<Command = Command, Event = Event>,
{
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let mut nodes = started::<P>(config, directory);
        let mut leader = elected(&mut nodes).await;
        for Node { requests, mut events } in nodes {
            tokio::spawn(async move {
                // Keeps the channel open, because a node stops when its request channel is closed.
                let _requests = requests;
                while events.recv().await.is_some() {}
            });
        }
        let payload = Payload::new(vec![7; PAYLOAD_BYTES]);
        let mut ticket = 0;
        let mut ask = |node: &Node| {
            ticket += 1;
            let command = Command::Append { ticket, payload: payload.clone() };
            node.requests.send(command).expect("a running node");
        };
        (0..waiting).for_each(|_| ask(&leader));
        // These entries are not measured, because the first saves also create files.
        for _ in 0..4 * waiting.max(8) {
            committed(&mut leader).await?;
            ask(&leader);
        }
        let (started_at, mut commits) = (Instant::now(), 0_u32);
        while started_at.elapsed() < MEASUREMENT_PERIOD {
            committed(&mut leader).await?;
            ask(&leader);
            commits += 1;
        }
        Some(f64::from(commits) / started_at.elapsed().as_secs_f64())
    })
}

fn started<P>(config: &P::Config, directory: &Path) -> Vec<Node>
where
    P: Protocol<Command = Command, Event = Event>,
{
    let listeners: Vec<TcpListener> =
        (0..SIZE).map(|_| TcpListener::bind("127.0.0.1:0").expect("a port")).collect();
    let address = |it: &TcpListener| it.local_addr().expect("an address").to_string();
    let addresses: Vec<String> = listeners.iter().map(address).collect();
    let node = |(place, listener)| {
        let me = ProcessId::from_index(place);
        let cluster = "peers".to_string();
        let owner = StateOwner { cluster: cluster.clone(), process: me, group_size: SIZE };
        let folder = directory.join(place.to_string());
        let store = StableStorage::open(folder, &owner, "peers").expect("a store");
        let (local, events) = PassthroughApplication::<P>::new();
        let (requests, request_receiver) = unbounded_channel();
        let transport = MeshSettings {
            cluster,
            me,
            session: store.session(),
            listen: Listen::Listener(listener),
            addresses: addresses.clone(),
            names: Default::default(),
            authentication: PeerAuthentication::LoopbackOnly,
            limits: MeshLimits::default(),
        };
        let components = NodeComponents {
            config: config.clone(),
            transport,
            store,
            application: local,
            requests: request_receiver,
            trace_sink: TraceSink::none(),
            injection: FaultInjection::none(),
            suspected_peers_fn: None,
        };
        start_node::<P, PassthroughApplication<P>>(components).expect("a node");
        Node { requests, events }
    };
    listeners.into_iter().enumerate().map(node).collect()
}

/// Removes the leader from the nodes and returns it.
async fn elected(nodes: &mut Vec<Node>) -> Node {
    let started_at = Instant::now();
    while started_at.elapsed() < ELECTION_TIMEOUT {
        for place in 0..nodes.len() {
            while let Ok(event) = nodes[place].events.try_recv() {
                if matches!(event, Event::Leading { .. }) {
                    return nodes.swap_remove(place);
                }
            }
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("no leader after {ELECTION_TIMEOUT:?}")
}

/// Waits until the outcome of the user's next entry is known. Returns `None` if the entry was
/// declined, or if its outcome is unknown.
async fn committed(leader: &mut Node) -> Option<()> {
    loop {
        match leader.events.recv().await.expect("a running node") {
            Event::Acknowledged { .. } => return Some(()),
            Event::Declined { .. } | Event::Unknown { .. } => return None,
            _ => {}
        }
    }
}
