//! Queue of everything that a mesh delivers to its user.

use std::sync::Arc;

use tenure_core::ProcessId;
use tokio::sync::mpsc;

use super::context::MeshContext;
use super::eviction::Eviction;

/// Event that the mesh delivers through its [`Inbox`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MeshEvent {
    /// A message of a peer. The messages of one session of the peer are delivered exactly once and
    /// in the order of sending.
    Message {
        /// Sender of the message.
        from: ProcessId,
        /// Session of the sender. The latest [`MeshEvent::PeerConnected`] of the sender contains
        /// the same session.
        session: u64,
        /// Payload of the message.
        payload: Vec<u8>,
    },
    /// A connection to the peer is established. If the session is the same as before, no message
    /// was lost. If the session is higher, the peer has booted again and lost its volatile state.
    PeerConnected {
        /// Connected peer.
        peer: ProcessId,
        /// Session of the peer.
        session: u64,
    },
    /// The connection to the peer is lost. The peer is not suspected, because it may reconnect
    /// immediately.
    PeerDisconnected {
        /// Disconnected peer.
        peer: ProcessId,
        /// Session of the lost connection.
        session: u64,
    },
    /// The peer has ended its session with a goodbye. All messages of that session have been
    /// delivered, and the session never returns. A later session of the peer may connect.
    PeerSessionEnded {
        /// Peer that left.
        peer: ProcessId,
        /// Session that ended.
        session: u64,
    },
    /// This node was evicted and must give up all its rights. This item is delivered once, before
    /// all pending items.
    Evicted(Eviction),
}

/// Receiving half of a mesh, with a single user.
///
/// After the user has received an [`MeshEvent::PeerConnected`], [`Mesh::send`](super::Mesh::send)
/// addresses the new session of the peer. Messages that were sent before belong to the previous
/// session. The mesh drops them if the previous session has ended.
#[derive(Debug)]
pub struct Inbox {
    pub(crate) context: Arc<MeshContext>,
    pub(crate) receiver: mpsc::Receiver<MeshEvent>,
    pub(crate) is_eviction_reported: bool,
}

impl Inbox {
    /// Waits for the next item. Returns `None` once the mesh is closed and all items were received.
    /// Dropping the future loses nothing.
    pub async fn receive(&mut self) -> Option<MeshEvent> {
        if let Some(evicted) = self.take_eviction() {
            return Some(evicted);
        }
        let incoming = tokio::select! {
            biased;
            () = self.context.eviction.wait_for_eviction(), if !self.is_eviction_reported => {
                return self.take_eviction();
            }
            incoming = self.receiver.recv() => incoming?,
        };
        self.record_session(&incoming);
        Some(incoming)
    }

    /// Returns the next item without waiting. Returns `None` if no item is pending.
    pub fn try_receive(&mut self) -> Option<MeshEvent> {
        if let Some(evicted) = self.take_eviction() {
            return Some(evicted);
        }
        let incoming = self.receiver.try_recv().ok()?;
        self.record_session(&incoming);
        Some(incoming)
    }

    fn take_eviction(&mut self) -> Option<MeshEvent> {
        let evicted = self.context.eviction.evicted().filter(|_| !self.is_eviction_reported)?;
        self.is_eviction_reported = true;
        Some(MeshEvent::Evicted(evicted))
    }

    fn record_session(&self, incoming: &MeshEvent) {
        if let MeshEvent::PeerConnected { peer, session } = incoming {
            let peer = self.context.peer(*peer).expect("only peers of the group connect");
            peer.set_target_session(*session);
        }
    }
}
