//! Opens the resources that a configuration names, and starts the node.

use std::net::ToSocketAddrs;
use std::sync::mpsc::Sender;
use std::time::Duration;

use tenure_algorithms::catalogue::CatalogueError;
use tenure_core::{Card, LockName, LockNameError, TICKS_PER_TIME_UNIT};
use tenure_runtime::store::{OpenError, StateOwner};
use tenure_runtime::transport::{
    Listen, MeshLimits, MeshSettings, MeshStartError, PeerAuthentication, ReplaceableKeys,
};
use tenure_runtime::{
    ElectionHandle, FaultInjection, Lock, LockApplication, LockRequestReceiver, NodeFailure,
    NodeStartError, RunningNode, StableStorage, TraceSink,
};
use tenure_trace::{AppendError, ClockUnit, Header, Record, TraceProducer, TraceSegments, Writer};
use thiserror::Error;
use tokio::task::JoinError;

use crate::config::{Config, ConfigError, UnsoundVariantError};
use crate::keys::{self, KeyFileError};
use crate::page::LivePageError;
use crate::protocol::{CommonNodeComponents, ProtocolFactory, protocol_from_catalogue};

/// Failure of a node, at its start or later.
#[derive(Debug, Error)]
pub enum NodeError {
    /// A value of the configuration is invalid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The configuration names an algorithm, a variant, quorums, a tree or a network that does not
    /// exist.
    #[error(transparent)]
    Unknown(#[from] CatalogueError),
    /// The configuration selects a variant with a deliberate mistake, but lacks the option that
    /// permits such variants.
    #[error(transparent)]
    Mistake(#[from] UnsoundVariantError),
    /// The key files cannot be used.
    #[error(transparent)]
    Keys(#[from] KeyFileError),
    /// The node has no keys, but would accept connections from other machines.
    #[error(
        "{0}: set private_key and public_keys (see `tenure keys new`), or set insecure = true if \
         all who can reach it are trusted"
    )]
    Unauthenticated(MeshStartError),
    /// The listen address is invalid, or its host name cannot be resolved.
    #[error("cannot listen at {address}: {reason}")]
    Address {
        /// Address as configured.
        address: String,
        /// Reason why the node cannot listen at the address.
        reason: String,
    },
    /// The data directory cannot be opened, or the saved state in it cannot be used.
    #[error(transparent)]
    Store(#[from] OpenError),
    /// The trace file cannot be created, or the file of an earlier start cannot be continued.
    #[error(transparent)]
    Trace(#[from] AppendError),
    /// The transport did not start, or the saved state is not a possible state of the protocol.
    #[error(transparent)]
    Start(#[from] NodeStartError),
    /// The running node failed. For instance, its state or its trace could not be written, or its
    /// peers evicted it.
    #[error(transparent)]
    Failure(#[from] NodeFailure),
    /// The live page of the node cannot be served.
    #[error(transparent)]
    Page(#[from] LivePageError),
    /// The workload failed.
    #[error("{0}")]
    Work(String),
}

impl NodeError {
    /// Returns true if the cause of the error is certainly the configuration or a key file. Returns
    /// false if the cause may be the environment, such as a name server that does not respond yet.
    pub fn is_misconfiguration(&self) -> bool {
        matches!(
            self,
            NodeError::Config(_)
                | NodeError::Unknown(_)
                | NodeError::Mistake(_)
                | NodeError::Keys(_)
                | NodeError::Unauthenticated(_)
        ) || matches!(self, NodeError::Page(error) if error.is_misconfiguration())
    }

    /// Returns true if the peers evicted this node.
    pub fn is_eviction(&self) -> bool {
        matches!(self, NodeError::Failure(NodeFailure::Evicted(_)))
    }
}

/// Running node. It provides locks, and reports the leader.
///
/// The node stops when all its handles and guards are dropped, or when [`Node::stop`] is called.
///
/// ```no_run
/// use std::time::Duration;
/// use tenure_daemon::{Config, Node};
///
/// # async fn serve() -> Result<(), Box<dyn std::error::Error>> {
/// let machines = ["127.0.0.1:7101", "127.0.0.1:7102", "127.0.0.1:7103"];
/// let config = Config::builder("billing")
///     .cluster_addresses(1, machines)
///     .directory("state/1")
///     .build()?;
/// let node = Node::start(&config)?;
/// let invoices = node.lock("invoices")?;
/// let Some(guard) = invoices.acquire_within(Duration::from_secs(5)).await? else {
///     return Err("another process has held the lock for five seconds".into());
/// };
/// println!("holds the lock, fencing token {}", guard.fence().to_u128());
/// drop(guard);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Node {
    /// Handle from which [`Node::lock`] and [`Node::single_lock`] derive their locks.
    pub(crate) lock: Lock,
    /// True if the node has many locks with names. If false, it has one lock without a name.
    has_names: bool,
    /// Handle of the election. The handle reports the leader that this node knows.
    pub election: ElectionHandle,
    /// Running node: its address, its connections and its task.
    pub running: RunningNode,
    /// Number of starts of the node with its data directory, including this start: 1 at the first
    /// start. Starts that failed after they opened the directory are counted.
    pub session: u64,
    /// Keys of this node and its peers, which can be replaced while the node runs. `None` if the
    /// configuration names no keys.
    pub reloadable_keys: Option<ReplaceableKeys>,
}

/// Reason why [`Node::lock`] returned no lock. The call has changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum LockLookupError {
    /// The name is empty or too long.
    #[error(transparent)]
    Name(#[from] LockNameError),
    /// The node has only one lock, which has no name.
    #[error("this node has one lock without a name: set service.named = true for named locks")]
    Nameless,
}

impl Node {
    /// Opens the data directory, and starts the node with its saved state.
    ///
    /// Must be called inside a tokio runtime. Does not run the `[work]` of the configuration, and
    /// serves no page.
    ///
    /// # Errors
    ///
    /// [`NodeError`]. Nothing is left running.
    pub fn start(config: &Config) -> Result<Node, NodeError> {
        config.check()?;
        Node::start_with_watcher(config, protocol_from_catalogue, None)
    }

    /// Starts a node of the protocol that `factory` returns. Opens the data directory and loads the
    /// saved state, as [`Node::start`] does. `watcher` receives every record of the node, even if
    /// the node writes no trace. The caller has checked the configuration.
    pub(crate) fn start_with_watcher(
        config: &Config,
        factory: ProtocolFactory,
        watcher: Option<Sender<Record>>,
    ) -> Result<Node, NodeError> {
        let (application, lock, election, requests) = LockApplication::new();
        let (running, session, reloadable_keys) =
            boot(config, factory, application, requests, watcher)?;
        let round_trip = Duration::from_millis(2 * config.detector.message_ms);
        let (lock, has_names) = (lock.with_try_acquire_timeout(round_trip), config.service.named);
        Ok(Node { lock, has_names, election, running, session, reloadable_keys })
    }

    /// Returns the lock with this name. The name denotes the same lock at all nodes of the cluster.
    ///
    /// Use names only for locks that exist for a long time. A node keeps the state of each lock
    /// until it stops. A new leader asks every node about each lock.
    ///
    /// # Errors
    ///
    /// [`LockLookupError`] if the name is empty or longer than 255 bytes, or if the node has a
    /// single lock without a name.
    pub fn lock(&self, name: &str) -> Result<Lock, LockLookupError> {
        let name = LockName::new(name)?;
        if self.has_names { Ok(self.lock.named(name)) } else { Err(LockLookupError::Nameless) }
    }

    /// Returns the lock without a name. `None` if the node has named locks.
    pub fn single_lock(&self) -> Option<Lock> {
        (!self.has_names).then(|| self.lock.clone())
    }

    /// Stops the node after it has handed over leadership and delivered its queued messages. Both
    /// steps have time limits. If a caller still waits for a lock, the caller receives an error.
    /// Guards that still exist lose their locks.
    ///
    /// Drop all guards before you call this method. If a node stops while it holds a lock, its
    /// peers see a crash in the critical section.
    ///
    /// # Errors
    ///
    /// [`NodeFailure`] if the node has failed, before this call or during the shutdown.
    ///
    /// # Panics
    ///
    /// If the task of the node has panicked.
    pub async fn stop(self) -> Result<(), NodeFailure> {
        self.lock.stop_node();
        task_result(self.running.task.await)
    }
}

/// Returns the result of a node's finished task. Returns `Ok` if the task was cancelled. Panics if
/// the task panicked.
pub(crate) fn task_result(
    ended: Result<Result<(), NodeFailure>, JoinError>,
) -> Result<(), NodeFailure> {
    ended.unwrap_or_else(|failed| match failed.try_into_panic() {
        Ok(panic) => std::panic::resume_unwind(panic),
        // The task was cancelled, because the runtime is shutting down.
        Err(_) => Ok(()),
    })
}

fn boot(
    config: &Config,
    factory: ProtocolFactory,
    application: LockApplication,
    requests: LockRequestReceiver,
    watcher: Option<Sender<Record>>,
) -> Result<(RunningNode, u64, Option<ReplaceableKeys>), NodeError> {
    let service = &config.service;
    let delay = config.detector.message_ms * TICKS_PER_TIME_UNIT;
    let parameters = service.algorithm_parameters(config.node_count(), delay)?;
    let protocol = factory(service, &parameters)?;
    let card = protocol.card(config.node_count());
    service.ensure_variants_allowed(&card)?;
    let adapter = if config.channel.fifo { " over fifo" } else { "" };
    let resources = NodeResources::open(config, &format!("{}{adapter}", card.name))?;
    let NodeResources { transport, store, session, reloadable_keys, injection } = resources;
    let mut trace_sink = trace_sink(config, &card)?;
    if let Some(watcher) = watcher {
        trace_sink = trace_sink.with_watcher(watcher);
    }
    let parts = CommonNodeComponents {
        config,
        transport,
        store,
        application,
        requests,
        trace_sink,
        injection,
    };
    let running = protocol.start(parts).map_err(|error| match error {
        NodeStartError::Transport(exposed @ MeshStartError::KeysRequired { .. }) => {
            NodeError::Unauthenticated(exposed)
        }
        error => error.into(),
    })?;
    Ok((running, session, reloadable_keys))
}

struct NodeResources {
    transport: MeshSettings,
    store: StableStorage,
    session: u64,
    reloadable_keys: Option<ReplaceableKeys>,
    injection: FaultInjection,
}

impl NodeResources {
    /// Opens the resources of a node. The saved state must have the schema `schema`.
    fn open(config: &Config, schema: &str) -> Result<NodeResources, NodeError> {
        let authentication = keys::peer_authentication(&config.cluster, config.me())?;
        let reloadable_keys = match &authentication {
            PeerAuthentication::Keys(reloadable_keys) => Some(reloadable_keys.clone()),
            PeerAuthentication::LoopbackOnly | PeerAuthentication::Unauthenticated => None,
        };
        let listen = listen(config)?;
        let cluster = config.cluster.name.clone();
        let owner = StateOwner { cluster, process: config.me(), group_size: config.node_count() };
        let store = StableStorage::open(&config.store.directory, &owner, schema)?;
        let session = store.session();
        let transport = MeshSettings {
            cluster: config.cluster.name.clone(),
            me: config.me(),
            session,
            listen,
            addresses: config.cluster.addresses.clone(),
            names: Default::default(),
            authentication,
            limits: limits(config),
        };
        let seed = config.work.as_ref().map_or(0, |work| work.seed);
        let channel = &config.channel;
        let faults = seed ^ u64::from(config.cluster.me) << 48 ^ session << 32;
        let injection = FaultInjection::new(channel.lose, channel.duplicate, faults);
        Ok(NodeResources { transport, store, session, reloadable_keys, injection })
    }
}

/// Returns the limits of the transport. The configured bound on message delays and the time limit
/// for connecting determine some limits. The other limits have default values.
fn limits(config: &Config) -> MeshLimits {
    let plain = MeshLimits::default();
    let connect = Duration::from_millis(config.connect_timeout_ms());
    MeshLimits {
        connect_timeout: connect,
        silence_timeout: plain.silence_timeout.max(2 * connect),
        // A TCP connection takes one round trip, and the handshake takes two more.
        handshake_timeout: plain.handshake_timeout.max(4 * connect),
        max_round_trip: Duration::from_millis(2 * config.detector.message_ms),
        ..plain
    }
}

fn listen(config: &Config) -> Result<Listen, NodeError> {
    let address = config.listen_address();
    let failed = |reason: String| NodeError::Address { address: address.to_owned(), reason };
    let mut resolved = address.to_socket_addrs().map_err(|error| failed(error.to_string()))?;
    let first = resolved.next().ok_or_else(|| failed("no address found".into()))?;
    Ok(Listen::Address(first))
}

fn trace_sink(config: &Config, card: &Card) -> Result<TraceSink, NodeError> {
    let Some(trace) = &config.trace else { return Ok(TraceSink::none()) };
    let header = Header {
        clock: ClockUnit::Nanosecond,
        promises: card.promises.iter().map(|promise| promise.name().to_string()).collect(),
        fenced: card.is_fenced(),
        max_inside: card.max_inside(),
        most_bypass: card.promised_bypass_bound(),
        seed: config.work.as_ref().map(|work| work.seed),
        ..Header::new(card.name.clone(), card.service, config.node_count(), TraceProducer::Node)
    };
    let trace_sink = match trace.segment_kib {
        None => TraceSink::writing_to(Writer::open_to_append(&trace.file, &header)?, trace.clocks),
        Some(kib) => {
            let failed = |error| AppendError::Io { path: trace.file.clone(), error };
            let segments =
                TraceSegments::new(&trace.file, header.clone(), kib.saturating_mul(1024));
            let segments = segments.map_err(failed)?;
            let writer = Writer::open_to_append(segments.current_path(), &header)?;
            TraceSink::writing_to(writer, trace.clocks).with_segments(segments)
        }
    };
    Ok(if trace.states { trace_sink.with_states() } else { trace_sink })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A name server may not respond yet when a machine boots, so a supervisor should try again.
    #[test]
    fn unresolved_name_is_no_misconfiguration() {
        let error = NodeError::Address { address: "a:1".into(), reason: "try again".into() };
        assert!(!error.is_misconfiguration());
    }
}
