//! From a configuration to a running node.

use std::net::ToSocketAddrs;
use std::sync::mpsc::Sender;
use std::time::Duration;

use tenure_algorithms::catalogue::Unknown;
use tenure_core::{Card, Name, NameError, Property, TICKS_PER_UNIT};
use tenure_runtime::store::{OpenError, Owner};
use tenure_runtime::transport::{Keyring, Limits, Listen, MeshError, Settings, Trust};
use tenure_runtime::{
    Asks, Failure, Front, Injection, Leadership, Lock, Recorder, Running, StartError, Store,
};
use tenure_trace::{AppendError, ClockUnit, Header, Record, Segments, Source, Writer};
use thiserror::Error;
use tokio::task::JoinError;

use crate::config::Config;
use crate::keys::{self, KeyFileError};
use crate::office::{Materials, Offices, of_house};
use crate::page::PageError;

/// Why a node did not start, or could not go on.
#[derive(Debug, Error)]
pub enum NodeError {
    /// There is no such algorithm.
    #[error(transparent)]
    Unknown(#[from] Unknown),
    /// The keys cannot be used.
    #[error(transparent)]
    Keys(#[from] KeyFileError),
    /// Anybody could reach this node and pretend to be a peer.
    #[error(
        "{0}; make keys with `tenure keys new` and name them as private_key and public_keys, or \
         say insecure = true if everybody who can reach it is trusted"
    )]
    Exposed(MeshError),
    /// The address at which this node should listen means nothing.
    #[error("this node cannot listen at `{address}`: {says}")]
    Address {
        /// As configured.
        address: String,
        /// Why not.
        says: String,
    },
    /// What was saved cannot be had.
    #[error(transparent)]
    Store(#[from] OpenError),
    /// The trace cannot be continued.
    #[error(transparent)]
    Trace(#[from] AppendError),
    /// The transport or the protocol did not start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The node stopped: its state or its trace could not be written.
    #[error(transparent)]
    Failure(#[from] Failure),
    /// The page cannot be served.
    #[error(transparent)]
    Page(#[from] PageError),
    /// The work could not be done.
    #[error("{0}")]
    Work(String),
    /// A lock is wanted, and the node is one that keeps a log.
    #[error("a node with [log] has no lock: `tenure node` runs it")]
    KeepsLog,
}

impl NodeError {
    /// Whether the configuration is to blame, rather than the machine.
    pub fn is_misconfiguration(&self) -> bool {
        matches!(
            self,
            NodeError::Unknown(_)
                | NodeError::Keys(_)
                | NodeError::Exposed(_)
                | NodeError::Address { .. }
                | NodeError::Page(_)
                | NodeError::KeepsLog
        )
    }

    /// Whether peers refused this node for good.
    pub fn is_expulsion(&self) -> bool {
        matches!(self, NodeError::Failure(Failure::Expelled(_)))
    }
}

/// One node, running: its locks, and who leads.
///
/// It stops when every handle and guard is gone, or by [`Node::stop`].
///
/// ```no_run
/// use std::time::Duration;
/// use tenure_daemon::{Config, Node};
///
/// # async fn serve() -> Result<(), Box<dyn std::error::Error>> {
/// let machines = ["127.0.0.1:7101", "127.0.0.1:7102", "127.0.0.1:7103"];
/// let config = Config::builder("billing").node(1, machines).directory("state/1").build()?;
/// let node = Node::start(&config)?;
/// let invoices = node.lock("invoices")?;
/// let Some(guard) = invoices.enter_within(Duration::from_secs(5)).await? else {
///     return Err("somebody else writes invoices for more than five seconds".into());
/// };
/// println!("inside, with fence {}", guard.fence().to_u128());
/// drop(guard);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Node {
    /// The only lock, or that of which those by name are made.
    pub(crate) lock: Lock,
    /// Whether locks have names.
    named: bool,
    /// Who leads, as this node knows.
    pub leadership: Leadership,
    /// Where it listens, and its task.
    pub running: Running,
    /// Which boot of its process this is, from 1.
    pub session: u64,
    /// The keys by which it knows its peers, if it has any: they can be replaced while it runs.
    pub keyring: Option<Keyring>,
}

/// There is no such lock. Nothing changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum LockError {
    /// The text is no name.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The node has one lock, and no names.
    #[error("this node has one lock without a name: service.named is false in its configuration")]
    Nameless,
}

impl Node {
    /// Opens what the node stands on, and starts its process with what it had saved.
    ///
    /// Must be called inside a tokio runtime. `[work]` in the configuration is not done here.
    ///
    /// # Errors
    ///
    /// [`NodeError`]; nothing is left running.
    pub fn start(config: &Config) -> Result<Node, NodeError> {
        Node::start_watched(config, of_house, None)
    }

    /// The same with these offices, and with a watcher who is told of every record that the node
    /// writes or could write.
    pub(crate) fn start_watched(
        config: &Config,
        offices: Offices,
        watcher: Option<Sender<Record>>,
    ) -> Result<Node, NodeError> {
        let (front, lock, leadership, asks) = Front::new();
        let (running, session, keyring) = boot(config, offices, front, asks, watcher)?;
        let there_and_back = Duration::from_millis(2 * config.detector.message_ms);
        let (lock, named) = (lock.at_once_within(there_and_back), config.service.named);
        Ok(Node { lock, named, leadership, running, session, keyring })
    }

    /// The lock of this name, which every node of the cluster has from when somebody asks for it.
    ///
    /// Names are for what stays: what a node knows of a lock it keeps until it stops, and whoever
    /// comes to lead asks everybody about each.
    ///
    /// # Errors
    ///
    /// [`LockError`], when the name is empty or longer than 255 bytes, or when the node has one
    /// lock and no names.
    pub fn lock(&self, name: &str) -> Result<Lock, LockError> {
        let name = Name::new(name)?;
        if self.named { Ok(self.lock.named(name)) } else { Err(LockError::Nameless) }
    }

    /// The only lock, where locks have no names.
    pub fn only_lock(&self) -> Option<Lock> {
        (!self.named).then(|| self.lock.clone())
    }

    /// Leaves in good order, whoever still has handles: what was sent arrives first, whoever waits
    /// for a lock is told, and guards are lost. Drop guards before: to the others, whoever is
    /// inside then has crashed there.
    ///
    /// # Errors
    ///
    /// [`Failure`], when the node had failed before.
    pub async fn stop(self) -> Result<(), Failure> {
        self.lock.end_node();
        outcome(self.running.task.await)
    }
}

/// What a node's task came to.
pub(crate) fn outcome(ended: Result<Result<(), Failure>, JoinError>) -> Result<(), Failure> {
    ended.unwrap_or_else(|failed| match failed.try_into_panic() {
        Ok(panic) => std::panic::resume_unwind(panic),
        // Cancelled: the runtime is going away.
        Err(_) => Ok(()),
    })
}

fn boot(
    config: &Config,
    offices: Offices,
    front: Front,
    asks: Asks,
    watcher: Option<Sender<Record>>,
) -> Result<(Running, u64, Option<Keyring>), NodeError> {
    if config.log.is_some() {
        return Err(NodeError::KeepsLog);
    }
    let service = &config.service;
    let delay = config.detector.message_ms * TICKS_PER_UNIT;
    let parameters = service.parameters(config.size(), delay)?;
    let office = offices(service, &parameters)?;
    let card = office.card(config.size());
    let adapter = if config.channel.fifo { " over fifo" } else { "" };
    let ground = Ground::of(config, &format!("{}{adapter}", card.name))?;
    let Ground { transport, store, session, keyring, injection } = ground;
    let mut recorder = recorder(config, &card)?;
    if let Some(watcher) = watcher {
        recorder = recorder.watched_by(watcher);
    }
    let materials = Materials { config, transport, store, front, asks, recorder, injection };
    let running = office.start(materials).map_err(|error| match error {
        StartError::Transport(exposed @ MeshError::KeysRequired { .. }) => {
            NodeError::Exposed(exposed)
        }
        error => error.into(),
    })?;
    Ok((running, session, keyring))
}

/// What a node stands on, whatever it runs.
pub(crate) struct Ground {
    pub(crate) transport: Settings,
    pub(crate) store: Store,
    pub(crate) session: u64,
    pub(crate) keyring: Option<Keyring>,
    pub(crate) injection: Injection,
}

impl Ground {
    /// Opens it, for a process whose saved state is that of this algorithm.
    pub(crate) fn of(config: &Config, schema: &str) -> Result<Ground, NodeError> {
        let trust = keys::trust(&config.cluster, config.me())?;
        let keyring = match &trust {
            Trust::Keys(keyring) => Some(keyring.clone()),
            Trust::Machine | Trust::Anybody => None,
        };
        let listen = listen(config)?;
        let cluster = config.cluster.name.clone();
        let owner = Owner { cluster, process: config.me(), group_size: config.size() };
        let store = Store::open(&config.store.directory, &owner, schema)?;
        let session = store.session();
        let transport = Settings {
            cluster: config.cluster.name.clone(),
            me: config.me(),
            session,
            listen,
            addresses: config.cluster.addresses.clone(),
            trust,
            limits: limits(config),
        };
        let seed = config.work.as_ref().map_or(0, |work| work.seed);
        let channel = &config.channel;
        let faults = seed ^ u64::from(config.cluster.me) << 48 ^ session << 32;
        let injection = Injection::new(channel.lose, channel.duplicate, faults);
        Ok(Ground { transport, store, session, keyring, injection })
    }
}

/// What of the limits follows from how far the machines are apart.
fn limits(config: &Config) -> Limits {
    let plain = Limits::default();
    let connect = Duration::from_millis(config.connect_ms());
    Limits {
        connect,
        unheard: plain.unheard.max(2 * connect),
        // To connect is there and back once, to shake hands twice more.
        handshake: plain.handshake.max(4 * connect),
        round_trip: Duration::from_millis(2 * config.detector.message_ms),
        ..plain
    }
}

fn listen(config: &Config) -> Result<Listen, NodeError> {
    let address = config.listen();
    let failed = |says: String| NodeError::Address { address: address.to_owned(), says };
    let mut resolved = address.to_socket_addrs().map_err(|error| failed(error.to_string()))?;
    let first = resolved.next().ok_or_else(|| failed("the name has no address".into()))?;
    Ok(Listen::Address(first))
}

pub(crate) fn recorder(config: &Config, card: &Card) -> Result<Recorder, NodeError> {
    let Some(trace) = &config.trace else { return Ok(Recorder::none()) };
    // A command of a log is written down when its effects leave. One that was saved when the node
    // was killed before that is committed later, and its trace does not say who asked for it.
    let is_told = |promise: &&Property| config.log.is_none() || **promise != Property::NoCreation;
    let promises = card.promises.iter().filter(is_told);
    let header = Header {
        clock: ClockUnit::Nanosecond,
        promises: promises.map(|promise| promise.name().to_string()).collect(),
        fenced: card.fenced(),
        most_inside: card.most_inside(),
        most_bypass: card.most_bypass(),
        seed: config.work.as_ref().map(|work| work.seed),
        ..Header::new(card.name.clone(), card.service, config.size(), Source::Node)
    };
    let recorder = match trace.segment_kib {
        None => Recorder::to(Writer::append(&trace.file, &header)?, trace.clocks),
        Some(kib) => {
            let failed = |error| AppendError::Io { path: trace.file.clone(), error };
            let segments = Segments::new(&trace.file, header.clone(), kib.saturating_mul(1024));
            let segments = segments.map_err(failed)?;
            let writer = Writer::append(segments.current(), &header)?;
            Recorder::to(writer, trace.clocks).in_segments(segments)
        }
    };
    Ok(if trace.states { recorder.with_states() } else { recorder })
}
