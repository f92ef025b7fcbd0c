//! The logs of a group, as far as its processes have told of them.

use alloc::collections::BTreeMap;

use crate::monitor::Observed;
use crate::process::ProcessId;
use crate::service::log::{Command, Entry, Event};

/// By process: what is in its log. Who crashes keeps it, and tells of it when it comes back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Books(BTreeMap<ProcessId, Book>);

/// The log of one process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Book {
    /// For what a snapshot stands there: the index of the last such entry, and its term.
    compacted: (u64, u64),
    entries: BTreeMap<u64, Entry>,
}

impl Books {
    /// Takes note of what happened at a process.
    pub(super) fn note(&mut self, at: ProcessId, seen: Observed<'_, Command, Event>) {
        match seen {
            Observed::Event(Event::Stored { index, entry }) => {
                self.0.entry(at).or_default().entries.insert(*index, entry.clone());
            }
            Observed::Event(Event::Dropped { from }) => {
                if let Some(book) = self.0.get_mut(&at) {
                    drop(book.entries.split_off(from));
                }
            }
            Observed::Event(Event::Compacted { index, .. }) => {
                let Some(book) = self.0.get_mut(&at) else { return };
                if let Some(last) = book.entries.get(index) {
                    book.compacted = (*index, last.term);
                    book.entries = book.entries.split_off(&(index + 1));
                }
            }
            Observed::Event(Event::Restored { index, term, .. }) => {
                let book = Book { compacted: (*index, *term), entries: BTreeMap::new() };
                self.0.insert(at, book);
            }
            Observed::Recovered => {
                self.0.remove(&at);
            }
            _ => {}
        }
    }

    /// What a process has at an index.
    pub(super) fn entry(&self, at: ProcessId, index: u64) -> Option<&Entry> {
        self.0.get(&at)?.entries.get(&index)
    }

    /// Whether a snapshot of a process stands for what it had at an index.
    pub(super) fn is_compacted(&self, at: ProcessId, index: u64) -> bool {
        self.0.get(&at).is_some_and(|book| index <= book.compacted.0)
    }

    /// The term that a process has at an index, 0 where it has nothing; `None` where only a
    /// snapshot could say.
    pub(super) fn term(&self, at: ProcessId, index: u64) -> Option<u64> {
        let Some(book) = self.0.get(&at) else { return Some(0) };
        match book.entries.get(&index) {
            Some(entry) => Some(entry.term),
            None if index == book.compacted.0 => Some(book.compacted.1),
            None => (index > book.compacted.0).then_some(0),
        }
    }

    /// What the others than `at` have at an index.
    pub(super) fn elsewhere(
        &self,
        at: ProcessId,
        index: u64,
    ) -> impl Iterator<Item = (ProcessId, &Entry)> {
        let others = self.0.iter().filter(move |(other, _)| **other != at);
        others.filter_map(move |(other, book)| Some((*other, book.entries.get(&index)?)))
    }
}
