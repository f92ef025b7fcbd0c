//! Message counts of a trace.

use std::collections::BTreeMap;

use serde::Serialize;
use tenure_core::{Layer, ProcessId};

use crate::format::{MessageRecord, RecordKind};

/// Numbers of messages in a run. Messages from a process to itself count neither as sent nor as
/// received.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MessageCounts {
    /// Number of messages sent, by layer and kind.
    pub sent: BTreeMap<Layer, BTreeMap<String, u64>>,
    /// Number of messages received. Each copy of a duplicated message counts.
    pub received: u64,
    /// Number of messages lost.
    pub dropped: u64,
    /// Number of messages duplicated.
    pub duplicated: u64,
}

impl MessageCounts {
    /// Returns the number of messages that processes have sent in one layer.
    pub fn sent_count_in_layer(&self, layer: Layer) -> u64 {
        self.sent.get(&layer).map_or(0, |kinds| kinds.values().sum())
    }

    /// Returns the number of messages that processes have sent in all layers.
    pub fn total_sent(&self) -> u64 {
        self.sent.values().flat_map(BTreeMap::values).sum()
    }

    pub(super) fn count_record(&mut self, at: ProcessId, kind: &RecordKind) {
        match kind {
            RecordKind::Send(message_record) if message_record.peer != at => {
                self.send(message_record)
            }
            RecordKind::Receive(message_record) if message_record.peer != at => self.received += 1,
            RecordKind::Drop(_) => self.dropped += 1,
            RecordKind::Duplicate(_) => self.duplicated += 1,
            _ => {}
        }
    }

    fn send(&mut self, message_record: &MessageRecord) {
        let kinds = self.sent.entry(message_record.layer).or_default();
        match kinds.get_mut(&*message_record.message) {
            Some(sent) => *sent += 1,
            None => drop(kinds.insert(message_record.message.to_string(), 1)),
        }
    }
}
