//! Counters of a mesh, for metrics and tests.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use super::rejection_reason::RejectionReason;

#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, amount: u64) {
        self.0.fetch_add(amount, Ordering::Relaxed);
    }

    fn read(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

#[derive(Debug, Default)]
pub(crate) struct MeshCounters {
    pub(crate) messages_sent: Counter,
    pub(crate) messages_received: Counter,
    pub(crate) bytes_sent: Counter,
    pub(crate) bytes_received: Counter,
    pub(crate) writes: Counter,
    pub(crate) duplicates: Counter,
    pub(crate) discarded: Counter,
    pub(crate) overflowed: Counter,
    pub(crate) malformed: Counter,
    pub(crate) implausible: Counter,
    pub(crate) connections: Counter,
    pub(crate) reconnections: Counter,
    pub(crate) failed_dials: Counter,
    refused: [Counter; RejectionReason::ALL.len()],
}

impl MeshCounters {
    pub(crate) fn count_rejection(&self, reason: RejectionReason) {
        self.refused[usize::from(reason.code() - 1)].add(1);
    }

    pub(crate) fn read(&self) -> MeshCounts {
        let refused = RejectionReason::ALL.into_iter().zip(self.refused.iter().map(Counter::read));
        MeshCounts {
            messages_sent: self.messages_sent.read(),
            messages_received: self.messages_received.read(),
            bytes_sent: self.bytes_sent.read(),
            bytes_received: self.bytes_received.read(),
            writes: self.writes.read(),
            duplicates: self.duplicates.read(),
            discarded: self.discarded.read(),
            overflowed: self.overflowed.read(),
            malformed: self.malformed.read(),
            implausible: self.implausible.read(),
            connections: self.connections.read(),
            reconnections: self.reconnections.read(),
            failed_dials: self.failed_dials.read(),
            refused: refused.filter(|(_, count)| *count > 0).collect(),
        }
    }
}

/// Values of all counters of a mesh at one time. The counters start at 0 with the mesh.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MeshCounts {
    /// Number of messages written to connections. A message that is sent again after a reconnection
    /// is counted again.
    pub messages_sent: u64,
    /// Number of messages delivered to the [`Inbox`](super::Inbox), without duplicates.
    pub messages_received: u64,
    /// Number of bytes written to connections after their handshakes.
    pub bytes_sent: u64,
    /// Number of bytes read from connections after their handshakes.
    pub bytes_received: u64,
    /// Number of write calls. Each call may write many messages.
    pub writes: u64,
    /// Number of duplicate messages that were received and dropped.
    pub duplicates: u64,
    /// Number of messages to a peer that were dropped because the target session had ended.
    pub discarded: u64,
    /// Number of messages to a peer that were dropped because its queue was full.
    pub overflowed: u64,
    /// Number of connections that were closed after their handshakes because of malformed data.
    pub malformed: u64,
    /// Number of messages that the user of the mesh rejected as invalid. Each rejection closes the
    /// connection.
    pub implausible: u64,
    /// Number of connections established with peers, including the connections that a peer dialed.
    pub connections: u64,
    /// Number of connections established with a peer that had been connected before.
    pub reconnections: u64,
    /// Number of failed attempts to connect to a peer.
    pub failed_dials: u64,
    /// Number of rejected connections, by reason: incoming connections whose handshakes failed, and
    /// connections to a peer whose boot was rejected after the handshake. Reasons that did not
    /// occur are absent.
    pub refused: BTreeMap<RejectionReason, u64>,
}
