//! The mesh: one process, connected with every peer of its group.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tenure_core::{Layer, ProcessId, ProcessSet};
use thiserror::Error;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::context::Context;
use super::conversation::Amount;
use super::counters::{Counters, Counts};
use super::expulsion::Expulsion;
use super::frame::Boot;
use super::handshake::Identity;
use super::inbox::{Inbox, Incoming};
use super::link::Link;
use super::listener::{Listener, bind};
use super::outbox::{Letter, Outbox};
use super::peer::{Peer, PeerStatus};
use super::settings::{Limits, MeshError, Settings, Trust};
use crate::store::{Registry, SaveError};

/// Connections of one peer that may wait for its link: more only when it flaps.
const ACCEPTED: usize = 4;

/// The sending half of the connections with all peers, and the owner of their tasks.
///
/// Dropping it ends every connection at once; [`Mesh::close`] lets what was sent arrive first.
#[derive(Debug)]
pub struct Mesh {
    context: Arc<Context>,
    address: SocketAddr,
    links: JoinSet<()>,
    listener: JoinSet<()>,
    /// Kept so that a group of one has an inbox that waits instead of ending.
    incoming: mpsc::Sender<Incoming>,
}

/// What can be read of a mesh from anywhere: for metrics and status pages. Cheap to clone.
#[derive(Clone, Debug)]
pub struct View(Arc<Context>);

/// A message was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SendError {
    /// The peer's queue is full: the message is lost, and counted as overflowed.
    #[error("the queue for {to} is full: the message was dropped")]
    Full {
        /// The peer.
        to: ProcessId,
    },
    /// The message does not fit a frame: it is lost.
    #[error("a message of {length} bytes is longer than the {limit} allowed")]
    TooLong {
        /// The length of the message, in bytes.
        length: usize,
        /// The longest message, in bytes.
        limit: usize,
    },
    /// There is no such peer; a process is no peer of its own.
    #[error("{to} is not a peer")]
    NotAPeer {
        /// Who was meant.
        to: ProcessId,
    },
}

impl Mesh {
    /// Listens, and begins to connect with every peer; must be called inside a tokio runtime.
    ///
    /// A peer that cannot be reached is not an error: it is dialed until it answers, and
    /// [`View::peers`] tells how that goes.
    ///
    /// # Errors
    ///
    /// [`MeshError`]; nothing runs and no port is held.
    pub fn start(settings: Settings) -> Result<(Mesh, Inbox), MeshError> {
        Mesh::start_with(settings, None)
    }

    /// The same for a process that remembers its peers beyond a restart, in a registry.
    ///
    /// # Errors
    ///
    /// [`MeshError`], as of [`Mesh::start`].
    pub fn start_with(
        settings: Settings,
        registry: Option<Registry>,
    ) -> Result<(Mesh, Inbox), MeshError> {
        settings.validate()?;
        let socket = bind(settings.listen, &settings.trust)?;
        let address = socket.local_addr().map_err(MeshError::Socket)?;
        let size = settings.addresses.len();
        let identity = Identity {
            cluster: settings.cluster,
            me: settings.me,
            group_size: u32::try_from(size).expect("a group has fewer than 2^32 processes"),
            boot: Boot { session: settings.session, nonce: nonce()? },
            keyring: match settings.trust {
                Trust::Keys(keyring) => Some(keyring),
                Trust::Machine | Trust::Anybody => None,
            },
        };
        let room = Arc::new(Notify::new());
        let peers = peers(settings.addresses, settings.me, &settings.limits, &room, &registry);
        let limits = settings.limits;
        let (incoming, receiver) = mpsc::channel(limits.incoming_frames);
        let counters = Counters::default();
        let expulsion = Expulsion::new(identity.group_size, registry.clone());
        let context =
            Arc::new(Context { identity, limits, counters, expulsion, room, peers, registry });
        let mut mesh = Mesh {
            context: context.clone(),
            address,
            links: JoinSet::new(),
            listener: JoinSet::new(),
            incoming,
        };
        let links = mesh.spawn_links();
        let listener =
            Listener { context: context.clone(), socket, links, quiet: Mutex::default() };
        mesh.listener.spawn(listener.run());
        Ok((mesh, Inbox { context, receiver, knows: false }))
    }

    /// The address at which the mesh listens, with the port the system chose if it did.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sends a message to the session of `to` that the consumer has seen come up last, or, before
    /// any, to its first. Never waits.
    ///
    /// It arrives exactly once, behind all earlier ones, as long as that session and this one
    /// live, however often connections break. If that session has ended it is discarded.
    ///
    /// # Errors
    ///
    /// [`SendError`]; the message is dropped and everything else goes on.
    pub fn send(&self, to: ProcessId, payload: Vec<u8>) -> Result<(), SendError> {
        self.post(to, payload, None, false)
    }

    /// The same for a heartbeat, which says nothing that the next of its layer does not say: of
    /// those that wait for a peer which is not reached, the last one of each layer is kept.
    ///
    /// # Errors
    ///
    /// [`SendError`], as of [`Mesh::send`].
    pub fn send_latest(
        &self,
        to: ProcessId,
        layer: Layer,
        payload: Vec<u8>,
    ) -> Result<(), SendError> {
        self.post(to, payload, Some(layer), false)
    }

    /// The same for a heartbeat that may overtake all that waits for the peer.
    ///
    /// # Errors
    ///
    /// [`SendError`], as of [`Mesh::send`], but never for want of room.
    pub fn send_urgent(
        &self,
        to: ProcessId,
        layer: Layer,
        payload: Vec<u8>,
    ) -> Result<(), SendError> {
        self.post(to, payload, Some(layer), true)
    }

    fn post(
        &self,
        to: ProcessId,
        payload: Vec<u8>,
        latest_of: Option<Layer>,
        is_urgent: bool,
    ) -> Result<(), SendError> {
        let peer = self.context.peer(to).ok_or(SendError::NotAPeer { to })?;
        let limit = self.context.limits.longest_payload();
        let length = payload.len();
        if length > limit {
            return Err(SendError::TooLong { length, limit });
        }
        let letter = Letter { session: peer.addressed(), payload, latest_of, is_urgent };
        peer.outbox.push(letter).map_err(|_| {
            self.context.counters.overflowed.add(1);
            SendError::Full { to }
        })
    }

    /// Closes the connection with a session of a peer, which said what cannot be true. It may come
    /// back, as after any loss of a connection.
    pub fn disbelieve(&self, peer: ProcessId, session: u64) {
        self.context.counters.implausible.add(1);
        if let Some(peer) = self.context.peer(peer).filter(|peer| peer.newest() == session) {
            peer.disbelieved.notify_one();
        }
    }

    /// Whether every connected peer keeps up: its queue is less than half full. When not, a
    /// consumer should take nothing new from its local user, and go on receiving: if all stopped
    /// receiving because all are full, nothing would ever move again. A peer that makes no room
    /// within [`Limits::patience`] no longer counts.
    pub fn has_room(&self) -> bool {
        let patience = self.context.limits.patience;
        let mut peers = self.context.peers.iter().flatten();
        peers.all(|peer| !peer.is_connected() || peer.outbox.has_room(patience))
    }

    /// Waits until [`Mesh::has_room`]. Dropping the future loses nothing.
    pub async fn room(&self) {
        let patience = self.context.limits.patience;
        loop {
            let notified = self.context.room.notified();
            tokio::pin!(notified);
            notified.as_mut().enable();
            if self.has_room() {
                return;
            }
            // Patience may end without any notification.
            let _ = timeout(patience, notified).await;
        }
    }

    /// How many processes the group has.
    pub(crate) fn group_size(&self) -> u32 {
        self.context.identity.group_size
    }

    /// How long there and back takes at most, as far as anybody said.
    pub(crate) fn round_trip(&self) -> Duration {
        self.context.limits.round_trip
    }

    /// What can be read from anywhere, also after the mesh has gone.
    pub fn view(&self) -> View {
        View(self.context.clone())
    }

    /// Says goodbye, and ends all connections after what was sent has been acknowledged by every
    /// peer that is connected, or after `grace`, whichever comes first. Peers that are not
    /// connected get nothing any more.
    pub async fn close(mut self, grace: Duration) {
        // The links notice that nobody can hand them a connection any more, and finish.
        self.listener.shutdown().await;
        drop(self.incoming);
        let finish = async { while self.links.join_next().await.is_some() {} };
        if timeout(grace, finish).await.is_err() {
            self.links.shutdown().await;
        }
    }

    /// Starts one link per peer; gives where each waits for accepted connections.
    fn spawn_links(&mut self) -> Vec<Option<mpsc::Sender<super::link::Connection>>> {
        let context = self.context.clone();
        let spawn = |peer: &Option<Arc<Peer>>| {
            let peer = peer.clone()?;
            let (sender, accepted) = mpsc::channel(ACCEPTED);
            let link = Link::new(context.clone(), peer, self.incoming.clone(), accepted);
            self.links.spawn(link.run());
            Some(sender)
        };
        context.peers.iter().map(spawn).collect()
    }
}

impl View {
    /// What was counted since the start.
    pub fn counts(&self) -> Counts {
        self.0.counters.read()
    }

    /// How things stand with every peer, in order of their ids.
    pub fn peers(&self) -> Vec<PeerStatus> {
        self.0.peers.iter().flatten().map(|peer| peer.status()).collect()
    }

    /// Whether a peer is connected. One that was killed is not, as soon as the system says so; one
    /// that is cut off still is for some time.
    pub fn reaches(&self, peer: ProcessId) -> bool {
        let peer = self.0.peers.get(peer.index()).and_then(Option::as_ref);
        peer.is_some_and(|peer| peer.is_connected())
    }

    /// Notes who is a member since an entry of the log, where a registry is kept. The sessions of a
    /// process that is no member any more are forgotten, and those of a process that is no member
    /// are not compared: another process may be about to take its place. Blocks on the disk.
    ///
    /// # Errors
    ///
    /// [`SaveError`]; nothing is noted then.
    pub fn set_members(&self, index: u64, members: &ProcessSet) -> Result<(), SaveError> {
        let Some(registry) = &self.0.registry else { return Ok(()) };
        for process in registry.set_members(index, members)? {
            self.0.peer(process).into_iter().for_each(|peer| peer.forget());
        }
        Ok(())
    }

    /// The peers that are connected and for whom no more than so many messages are held: whom
    /// something new reaches soon.
    pub fn near(&self, frames: usize) -> ProcessSet {
        let peers = self.0.peers.iter().flatten();
        let near = peers.filter(|it| it.is_connected() && it.outbox.held().frames <= frames);
        near.map(|peer| peer.process).collect()
    }
}

/// What tells this boot from every other, whatever state it began with.
fn nonce() -> Result<u64, MeshError> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes)
        .map_err(|error| MeshError::Entropy(std::io::Error::other(error)))?;
    Ok(u64::from_le_bytes(bytes))
}

fn peers(
    addresses: Vec<String>,
    me: ProcessId,
    limits: &Limits,
    room: &Arc<Notify>,
    registry: &Option<Registry>,
) -> Vec<Option<Arc<Peer>>> {
    let most = Amount { frames: limits.queue_frames, bytes: limits.queue_bytes };
    let peer = |(index, address)| {
        let process = ProcessId::at(index);
        let outbox = Outbox::new(most, room.clone());
        let peer = || Peer::new(process, address, outbox, registry.clone());
        (process != me).then(|| Arc::new(peer()))
    };
    addresses.into_iter().enumerate().map(peer).collect()
}
