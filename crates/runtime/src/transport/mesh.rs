//! Connections of one process with all peers of its group.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tenure_core::{Layer, ProcessId, ProcessSet};
use thiserror::Error;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::context::MeshContext;
use super::counters::{MeshCounters, MeshCounts};
use super::eviction::EvictionState;
use super::frame::BootId;
use super::handshake::NodeIdentity;
use super::inbox::{Inbox, MeshEvent};
use super::link::PeerLink;
use super::listener::{PeerListener, bind_listener};
use super::outbox::{Outbox, OutgoingMessage};
use super::peer::{Peer, PeerStatus};
use super::reliable_session::QueueSize;
use super::settings::{MeshLimits, MeshSettings, MeshStartError, PeerAuthentication};
use crate::names::ProcessName;
use crate::store::{MembershipRecord, SaveError};

/// Maximum number of accepted connections of one peer that wait until the link to this peer takes
/// them.
const MAX_ACCEPTED_CONNECTIONS: usize = 4;

/// Sending half of the connections with all peers, and owner of the tasks of these connections.
///
/// Dropping the mesh closes all connections immediately. [`Mesh::close`] first delivers the
/// messages that were sent.
#[derive(Debug)]
pub struct Mesh {
    context: Arc<MeshContext>,
    address: SocketAddr,
    links: JoinSet<()>,
    listener: JoinSet<()>,
    /// Sender to the inbox. In a group with one process, it keeps the inbox open.
    incoming: mpsc::Sender<MeshEvent>,
}

/// Status of a mesh, for metrics and status pages. Its only change to the mesh is
/// [`MeshStatus::record_members`]. Cheap to clone.
#[derive(Clone, Debug)]
pub struct MeshStatus(Arc<MeshContext>);

/// Reason why a [`Mesh`] did not accept a message for sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SendError {
    /// The queue of the peer is full. The message is dropped and counted as overflowed.
    #[error("the queue for this peer is full")]
    Full {
        /// Receiver of the message.
        to: ProcessId,
    },
    /// The message does not fit a frame and is dropped.
    #[error("a message of {length} bytes is longer than the {limit} allowed")]
    TooLong {
        /// Length of the message, in bytes.
        length: usize,
        /// Maximum length of a message, in bytes.
        limit: usize,
    },
    /// The receiver is not another process of the group.
    #[error("{to} is not a peer")]
    NotAPeer {
        /// Receiver of the message.
        to: ProcessId,
    },
}

impl Mesh {
    /// Starts to listen and to connect with all peers. Must be called inside a tokio runtime.
    ///
    /// An unreachable peer is not an error. It is dialed until it responds; see
    /// [`MeshStatus::peers`].
    ///
    /// # Errors
    ///
    /// [`MeshStartError`]. Then no task runs and no port is in use.
    pub fn start(settings: MeshSettings) -> Result<(Mesh, Inbox), MeshStartError> {
        Mesh::start_with_registry(settings, None)
    }

    /// Starts a mesh as [`Mesh::start`] does. If there is a membership record, the mesh remembers
    /// the boots of its peers in it.
    ///
    /// # Errors
    ///
    /// [`MeshStartError`], as for [`Mesh::start`].
    pub fn start_with_registry(
        settings: MeshSettings,
        registry: Option<MembershipRecord>,
    ) -> Result<(Mesh, Inbox), MeshStartError> {
        settings.validate()?;
        let socket = bind_listener(settings.listen, &settings.authentication)?;
        let address = socket.local_addr().map_err(MeshStartError::Socket)?;
        let size = settings.addresses.len();
        let identity = NodeIdentity {
            cluster: settings.cluster,
            me: settings.me,
            group_size: u32::try_from(size).expect("a group has fewer than 2^32 processes"),
            boot: BootId { session: settings.session, nonce: nonce()? },
            reloadable_keys: match settings.authentication {
                PeerAuthentication::Keys(reloadable_keys) => Some(reloadable_keys),
                PeerAuthentication::LoopbackOnly | PeerAuthentication::Unauthenticated => None,
            },
        };
        let room = Arc::new(Notify::new());
        let peers = peers(settings.addresses, settings.me, &settings.limits, &room, &registry);
        let limits = settings.limits;
        let (incoming, receiver) = mpsc::channel(limits.max_incoming_messages);
        let counters = MeshCounters::default();
        let eviction = EvictionState::new(identity.group_size, registry.clone());
        let context = Arc::new(MeshContext {
            identity,
            limits,
            counters,
            eviction,
            room,
            peers,
            registry,
            names: settings.names,
        });
        let mut mesh = Mesh {
            context: context.clone(),
            address,
            links: JoinSet::new(),
            listener: JoinSet::new(),
            incoming,
        };
        let links = mesh.spawn_links();
        let listener = PeerListener {
            context: context.clone(),
            socket,
            links,
            rejection_logs: Mutex::default(),
        };
        mesh.listener.spawn(listener.run());
        Ok((mesh, Inbox { context, receiver, is_eviction_reported: false }))
    }

    /// Returns the address of the listener. If port 0 was requested, the address contains the port
    /// that the operating system chose.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sends a message to the session of `to` that the latest [`MeshEvent::PeerConnected`]
    /// reported. Before the first report, the message is for the first session of `to`. Never
    /// waits.
    ///
    /// While that session and the session of this process last, the message arrives exactly once
    /// and in order, even if connections break. The message is dropped if the session of `to` has
    /// ended.
    ///
    /// # Errors
    ///
    /// [`SendError`]. The mesh then drops this message, but no other message.
    pub fn send(&self, to: ProcessId, payload: Vec<u8>) -> Result<(), SendError> {
        self.enqueue(to, payload, None, false)
    }

    /// Sends a heartbeat. The next heartbeat of the same layer makes this heartbeat obsolete. While
    /// the peer is unreachable, only the latest heartbeat of each layer is kept. An urgent
    /// heartbeat may overtake all messages that wait for the link.
    ///
    /// # Errors
    ///
    /// [`SendError`], as for [`Mesh::send`]. After [`SendError::Full`], the previous heartbeat of
    /// the layer may be dropped, too. An urgent heartbeat never fails with [`SendError::Full`].
    pub fn send_heartbeat(
        &self,
        to: ProcessId,
        layer: Layer,
        payload: Vec<u8>,
        is_urgent: bool,
    ) -> Result<(), SendError> {
        self.enqueue(to, payload, Some(layer), is_urgent)
    }

    fn enqueue(
        &self,
        to: ProcessId,
        payload: Vec<u8>,
        heartbeat_layer: Option<Layer>,
        is_urgent: bool,
    ) -> Result<(), SendError> {
        let peer = self.context.peer(to).ok_or(SendError::NotAPeer { to })?;
        let limit = self.context.limits.max_payload_bytes();
        let length = payload.len();
        if length > limit {
            return Err(SendError::TooLong { length, limit });
        }
        let letter =
            OutgoingMessage { session: peer.target_session(), payload, heartbeat_layer, is_urgent };
        peer.outbox.push(letter).map_err(|_| {
            self.context.counters.overflowed.add(1);
            SendError::Full { to }
        })
    }

    /// Counts an invalid message of a peer, and closes the connection with the peer. Closes nothing
    /// if the peer has a newer session than `session`. The peer may connect again.
    pub fn report_invalid_message(&self, peer: ProcessId, session: u64) {
        self.context.counters.implausible.add(1);
        if let Some(peer) = self.context.peer(peer).filter(|peer| peer.newest_session() == session)
        {
            peer.invalid_message.notify_one();
        }
    }

    /// Returns true if all connected peers keep up: their queues are at most half full.
    ///
    /// If this function returns false, a consumer should accept no new requests from its users. The
    /// consumer must still receive messages. If it stopped, full queues on both sides could cause a
    /// deadlock. If a queue stays more than half full for longer than
    /// [`MeshLimits::half_full_timeout`], this function ignores the peer.
    pub fn accepts_user_requests(&self) -> bool {
        let half_full_timeout = self.context.limits.half_full_timeout;
        let mut peers = self.context.peers.iter().flatten();
        peers.all(|peer| !peer.is_connected() || peer.outbox.has_room(half_full_timeout))
    }

    /// Waits until [`Mesh::accepts_user_requests`] returns true. Dropping the future loses nothing.
    pub async fn wait_until_accepting(&self) {
        let half_full_timeout = self.context.limits.half_full_timeout;
        loop {
            let notified = self.context.room.notified();
            tokio::pin!(notified);
            notified.as_mut().enable();
            if self.accepts_user_requests() {
                return;
            }
            // `accepts_user_requests` also becomes true without a notification, when
            // `half_full_timeout` has passed.
            let _ = timeout(half_full_timeout, notified).await;
        }
    }

    pub(crate) fn group_size(&self) -> u32 {
        self.context.identity.group_size
    }

    pub(crate) fn name(&self, process: ProcessId) -> ProcessName<'_> {
        self.context.names.name(process)
    }

    /// Returns the configured upper bound on the round-trip time. It is not measured.
    pub(crate) fn max_round_trip(&self) -> Duration {
        self.context.limits.max_round_trip
    }

    /// Returns a handle that reads the status of the mesh. The handle outlives the mesh.
    pub fn status(&self) -> MeshStatus {
        MeshStatus(self.context.clone())
    }

    /// Closes the mesh. Sends a goodbye to each connected peer. When a peer has acknowledged all
    /// messages, the connection with this peer is closed, at the latest after `grace`. Messages to
    /// disconnected peers are dropped.
    pub async fn close(mut self, grace: Duration) {
        // The links finish when their channels from the listener are closed.
        self.listener.shutdown().await;
        drop(self.incoming);
        let finish = async { while self.links.join_next().await.is_some() {} };
        if timeout(grace, finish).await.is_err() {
            self.links.shutdown().await;
        }
    }

    /// Starts one link per peer. Returns the channels that pass accepted connections to the links.
    fn spawn_links(&mut self) -> Vec<Option<mpsc::Sender<super::link::PeerConnection>>> {
        let context = self.context.clone();
        let spawn = |peer: &Option<Arc<Peer>>| {
            let peer = peer.clone()?;
            let (sender, accepted) = mpsc::channel(MAX_ACCEPTED_CONNECTIONS);
            let link = PeerLink::new(context.clone(), peer, self.incoming.clone(), accepted);
            self.links.spawn(link.run());
            Some(sender)
        };
        context.peers.iter().map(spawn).collect()
    }
}

impl MeshStatus {
    /// Returns the values of the counters since the start of the mesh.
    pub fn counts(&self) -> MeshCounts {
        self.0.counters.read()
    }

    /// Returns the status of all peers, in order of their ids.
    pub fn peers(&self) -> Vec<PeerStatus> {
        self.0.peers.iter().flatten().map(|peer| peer.status()).collect()
    }

    /// Returns true if a peer is connected. If a peer crashes, the operating system reports the
    /// loss of the connection soon. If a peer is partitioned, the loss is detected only after a
    /// while.
    pub fn is_connected(&self, peer: ProcessId) -> bool {
        let peer = self.0.peers.get(peer.index()).and_then(Option::as_ref);
        peer.is_some_and(|peer| peer.is_connected())
    }

    /// Returns true if a peer is connected and its queue is at most half full. With the default
    /// limits, the queue then accepts the next message. Ignores [`MeshLimits::half_full_timeout`].
    pub fn has_room_for(&self, peer: ProcessId) -> bool {
        let peer = self.0.peers.get(peer.index()).and_then(Option::as_ref);
        peer.is_some_and(|peer| peer.is_connected() && peer.outbox.has_room(Duration::MAX))
    }

    /// Records which processes are members after log entry `log_index`. Forgets the sessions of
    /// processes that are no longer members, since other processes may take their places. Does
    /// nothing if the mesh has no membership record. Blocks on the disk.
    ///
    /// # Errors
    ///
    /// [`SaveError`]. The mesh then continues with the earlier members.
    pub fn record_members(&self, log_index: u64, members: &ProcessSet) -> Result<(), SaveError> {
        let Some(registry) = &self.0.registry else { return Ok(()) };
        for process in registry.record_members(log_index, members)? {
            self.0.peer(process).into_iter().for_each(|peer| peer.clear_newest_boot());
        }
        Ok(())
    }

    /// Returns the connected peers to which at most `max_queued` messages are unacknowledged, so
    /// that a new message arrives soon.
    pub fn peers_with_short_queues(&self, max_queued: usize) -> ProcessSet {
        let peers = self.0.peers.iter().flatten();
        let near =
            peers.filter(|it| it.is_connected() && it.outbox.held_size().messages <= max_queued);
        near.map(|peer| peer.process).collect()
    }
}

/// Returns a random number for this boot. The number distinguishes this boot from the boot of
/// another node that runs from a copy of the same saved state.
fn nonce() -> Result<u64, MeshStartError> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes)
        .map_err(|error| MeshStartError::Entropy(std::io::Error::other(error)))?;
    Ok(u64::from_le_bytes(bytes))
}

fn peers(
    addresses: Vec<String>,
    me: ProcessId,
    limits: &MeshLimits,
    room: &Arc<Notify>,
    registry: &Option<MembershipRecord>,
) -> Vec<Option<Arc<Peer>>> {
    let capacity =
        QueueSize { messages: limits.max_queued_messages, bytes: limits.max_queued_bytes };
    let peer = |(index, address)| {
        let process = ProcessId::from_index(index);
        let outbox = Outbox::new(capacity, room.clone());
        let peer = || Peer::new(process, address, outbox, registry.clone());
        (process != me).then(|| Arc::new(peer()))
    };
    addresses.into_iter().enumerate().map(peer).collect()
}
