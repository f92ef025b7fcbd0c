//! What a mesh counts, for metrics and for tests.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use super::refusal::Refusal;

/// One number that only grows.
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

/// All that a mesh counts, as it runs.
#[derive(Debug, Default)]
pub(crate) struct Counters {
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
    refused: [Counter; Refusal::ALL.len()],
}

impl Counters {
    pub(crate) fn refuse(&self, refusal: Refusal) {
        self.refused[usize::from(refusal.code() - 1)].add(1);
    }

    pub(crate) fn read(&self) -> Counts {
        let refused = Refusal::ALL.into_iter().zip(self.refused.iter().map(Counter::read));
        Counts {
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

/// What a mesh had counted at one moment. All count from the start of the mesh.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Messages written to a connection, those written again after a reconnection included.
    pub messages_sent: u64,
    /// Messages handed to the consumer, each once.
    pub messages_received: u64,
    /// Bytes written after handshakes.
    pub bytes_sent: u64,
    /// Bytes read after handshakes.
    pub bytes_received: u64,
    /// Calls to write, each of which may have carried many messages.
    pub writes: u64,
    /// Messages that came again and were dropped.
    pub duplicates: u64,
    /// Messages for a session that had ended.
    pub discarded: u64,
    /// Messages that were refused because the peer's queue was full.
    pub overflowed: u64,
    /// Connections of proven peers closed for bytes that made no sense.
    pub malformed: u64,
    /// Messages that the consumer did not believe; the connection was closed each time.
    pub implausible: u64,
    /// Connections that reached a peer, in either direction.
    pub connections: u64,
    /// Those of them that were not the first to that peer.
    pub reconnections: u64,
    /// Attempts to reach a peer that came to nothing.
    pub failed_dials: u64,
    /// Incoming connections refused during the handshake, by reason; reasons never met are absent.
    pub refused: BTreeMap<Refusal, u64>,
}
