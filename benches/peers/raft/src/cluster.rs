//! Three nodes in one program: real sockets, real files, the driver of this house.

use std::net::TcpListener;
use std::path::Path;
use std::time::{Duration, Instant};

use tenure_core::service::log::{Command, Event, Payload};
use tenure_core::{ProcessId, Protocol};
use tenure_runtime::store::Owner;
use tenure_runtime::transport::{Limits, Listen, Settings, Trust};
use tenure_runtime::{Injection, Parts, Raw, Recorder, Store, start};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// How many processes there are.
pub const SIZE: u32 = 3;

/// How many bytes an entry has.
pub const PAYLOAD: usize = 64;

/// How long a measurement takes.
const TIME: Duration = Duration::from_secs(1);

/// How long an election may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// The user of one node.
struct Node {
    asks: UnboundedSender<Command>,
    told: UnboundedReceiver<Event>,
}

/// How often a measurement is begun anew when another process takes the lead.
const ATTEMPTS: u32 = 5;

/// How many entries a second are committed, with so many always proposed, in these folders.
pub fn commits<P>(config: &P::Config, directory: &Path, waiting: u64) -> f64
where
    P: Protocol<Command = Command, Event = Event>,
{
    let folder = |attempt: u32| directory.with_extension(attempt.to_string());
    let mut attempts = (0..ATTEMPTS).map(|it| commits_of_one::<P>(config, &folder(it), waiting));
    attempts.find_map(|rate| rate).expect("a leader that keeps the lead for a moment")
}

/// The same; nothing where the leader loses the lead.
fn commits_of_one<P>(config: &P::Config, directory: &Path, waiting: u64) -> Option<f64>
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
        for Node { asks, mut told } in nodes {
            tokio::spawn(async move {
                // A node stops when nobody can ask it for anything any more.
                let _asks = asks;
                while told.recv().await.is_some() {}
            });
        }
        let payload = Payload::new(vec![7; PAYLOAD]);
        let mut ticket = 0;
        let mut ask = |node: &Node| {
            ticket += 1;
            let command = Command::Append { ticket, payload: payload.clone() };
            node.asks.send(command).expect("a node that runs");
        };
        (0..waiting).for_each(|_| ask(&leader));
        // The first saves make files.
        for _ in 0..4 * waiting.max(8) {
            committed(&mut leader).await?;
            ask(&leader);
        }
        let (begun, mut commits) = (Instant::now(), 0_u32);
        while begun.elapsed() < TIME {
            committed(&mut leader).await?;
            ask(&leader);
            commits += 1;
        }
        Some(f64::from(commits) / begun.elapsed().as_secs_f64())
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
        let me = ProcessId::at(place);
        let cluster = "peers".to_string();
        let owner = Owner { cluster: cluster.clone(), process: me, group_size: SIZE };
        let folder = directory.join(place.to_string());
        let store = Store::open(folder, &owner, "peers").expect("a store");
        let (local, told) = Raw::<P>::new();
        let (asks, asked) = unbounded_channel();
        let transport = Settings {
            cluster,
            me,
            session: store.session(),
            listen: Listen::Listener(listener),
            addresses: addresses.clone(),
            trust: Trust::Machine,
            limits: Limits::default(),
        };
        let parts = Parts {
            config: config.clone(),
            transport,
            store,
            local,
            asks: asked,
            recorder: Recorder::none(),
            injection: Injection::none(),
            suspected: None,
        };
        start::<P, Raw<P>>(parts).expect("a node");
        Node { asks, told }
    };
    listeners.into_iter().enumerate().map(node).collect()
}

/// Takes the node that leads out of them.
async fn elected(nodes: &mut Vec<Node>) -> Node {
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        for place in 0..nodes.len() {
            while let Ok(event) = nodes[place].told.try_recv() {
                if matches!(event, Event::Leading { .. }) {
                    return nodes.swap_remove(place);
                }
            }
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("nobody leads after {PATIENCE:?}")
}

/// Waits for the next entry of the user's that is committed; nothing where it was not.
async fn committed(leader: &mut Node) -> Option<()> {
    loop {
        match leader.told.recv().await.expect("a node that runs") {
            Event::Acknowledged { .. } => return Some(()),
            Event::Declined { .. } | Event::Unknown { .. } => return None,
            _ => {}
        }
    }
}
