//! The logs of a group, as far as its processes have told of them.

use alloc::collections::BTreeMap;

use crate::monitor::Observed;
use crate::process::ProcessId;
use crate::service::log::{Command, Entry, Event};

/// By process: what is in its log. Who crashes keeps it, and tells of it when it comes back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Books(BTreeMap<ProcessId, BTreeMap<u64, Entry>>);

impl Books {
    /// Takes note of what happened at a process.
    pub(super) fn note(&mut self, at: ProcessId, seen: Observed<'_, Command, Event>) {
        match seen {
            Observed::Event(Event::Stored { index, entry }) => {
                self.0.entry(at).or_default().insert(*index, entry.clone());
            }
            Observed::Event(Event::Dropped { from }) => {
                if let Some(log) = self.0.get_mut(&at) {
                    drop(log.split_off(from));
                }
            }
            Observed::Recovered => {
                self.0.remove(&at);
            }
            _ => {}
        }
    }

    /// What a process has at an index.
    pub(super) fn entry(&self, at: ProcessId, index: u64) -> Option<&Entry> {
        self.0.get(&at)?.get(&index)
    }

    /// What the others than `at` have at an index.
    pub(super) fn elsewhere(
        &self,
        at: ProcessId,
        index: u64,
    ) -> impl Iterator<Item = (ProcessId, &Entry)> {
        let others = self.0.iter().filter(move |(other, _)| **other != at);
        others.filter_map(move |(other, log)| Some((*other, log.get(&index)?)))
    }
}
