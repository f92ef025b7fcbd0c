use std::collections::BTreeMap;

use serde::Serialize;
use tenure_core::{Layer, ProcessId};

use crate::format::{Kind, Passage};

/// The messages of a run. Those that a process sends to itself are not counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Traffic {
    /// Messages sent, by layer and kind.
    pub sent: BTreeMap<Layer, BTreeMap<String, u64>>,
    /// Messages received, duplicates included.
    pub received: u64,
    /// Messages lost.
    pub dropped: u64,
    /// Messages duplicated.
    pub duplicated: u64,
}

impl Traffic {
    /// How many messages of one layer were sent.
    pub fn sent_in(&self, layer: Layer) -> u64 {
        self.sent.get(&layer).map_or(0, |kinds| kinds.values().sum())
    }

    /// How many messages were sent.
    pub fn total(&self) -> u64 {
        self.sent.values().flat_map(BTreeMap::values).sum()
    }

    pub(super) fn read(&mut self, at: ProcessId, kind: &Kind) {
        match kind {
            Kind::Send(passage) if passage.peer != at => self.send(passage),
            Kind::Receive(passage) if passage.peer != at => self.received += 1,
            Kind::Drop(_) => self.dropped += 1,
            Kind::Duplicate(_) => self.duplicated += 1,
            _ => {}
        }
    }

    fn send(&mut self, passage: &Passage) {
        let kinds = self.sent.entry(passage.layer).or_default();
        match kinds.get_mut(&*passage.message) {
            Some(sent) => *sent += 1,
            None => drop(kinds.insert(passage.message.to_string(), 1)),
        }
    }
}
