//! The inbox: everything that the mesh has for its one consumer, in one queue.

use std::sync::Arc;

use tenure_core::ProcessId;
use tokio::sync::mpsc;

use super::context::Context;
use super::expulsion::Expelled;

/// What the mesh tells its consumer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Incoming {
    /// A message, exactly once and in the order in which `from` sent it.
    Message {
        /// Who sent it.
        from: ProcessId,
        /// Which session of the sender sent it: the one of the latest `PeerUp` of this sender.
        session: u64,
        /// The message.
        payload: Vec<u8>,
    },
    /// A connection to the peer carries messages. The same session as before means that nothing
    /// was lost; a greater one that the peer was booted anew and knows nothing of the past.
    PeerUp {
        /// Which peer.
        peer: ProcessId,
        /// Which session of it.
        session: u64,
    },
    /// The connection is gone. This accuses nobody: it may be back in a moment.
    PeerDown {
        /// Which peer.
        peer: ProcessId,
        /// The session it was connected with.
        session: u64,
    },
    /// The session has ended, as the peer itself says: it sent nothing behind this, claims nothing
    /// any more, and never comes back. A later session of it may.
    PeerLeft {
        /// Which peer.
        peer: ProcessId,
        /// Which session of it.
        session: u64,
    },
    /// Peers refuse this node for good: it must claim nothing any more. It is told once, before
    /// all that still waits.
    Expelled(Expelled),
}

/// The receiving half of a mesh, for a single consumer.
///
/// Seeing a [`Incoming::PeerUp`] here is what makes messages sent from now on mean that session
/// of the peer: those sent before meant an earlier one, and die with it.
#[derive(Debug)]
pub struct Inbox {
    pub(crate) context: Arc<Context>,
    pub(crate) receiver: mpsc::Receiver<Incoming>,
    /// Whether the consumer knows that this node is out.
    pub(crate) knows: bool,
}

impl Inbox {
    /// Waits for the next thing to know; nothing after the mesh was closed and all was received.
    /// Dropping the future loses nothing.
    pub async fn receive(&mut self) -> Option<Incoming> {
        if let Some(expelled) = self.expelled() {
            return Some(expelled);
        }
        let incoming = tokio::select! {
            biased;
            () = self.context.expulsion.happens(), if !self.knows => return self.expelled(),
            incoming = self.receiver.recv() => incoming?,
        };
        self.note(&incoming);
        Some(incoming)
    }

    /// The next thing to know if it is already here.
    pub fn try_receive(&mut self) -> Option<Incoming> {
        if let Some(expelled) = self.expelled() {
            return Some(expelled);
        }
        let incoming = self.receiver.try_recv().ok()?;
        self.note(&incoming);
        Some(incoming)
    }

    fn expelled(&mut self) -> Option<Incoming> {
        let expelled = self.context.expulsion.now().filter(|_| !self.knows)?;
        self.knows = true;
        Some(Incoming::Expelled(expelled))
    }

    fn note(&self, incoming: &Incoming) {
        if let Incoming::PeerUp { peer, session } = incoming {
            let peer = self.context.peer(*peer).expect("only peers of the group come up");
            peer.address_to(*session);
        }
    }
}
