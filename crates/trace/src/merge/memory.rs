//! Memory of a merge about the records that it has read.

use std::collections::{BTreeMap, HashMap, VecDeque};

use tenure_core::ProcessId;

use super::dependency::{Dependency, MessageKey};

/// Maximum number of sent messages that a merge remembers one by one. Of older messages, it
/// remembers only the last one on each link.
const MAX_MESSAGES: usize = 1 << 16;

/// Maximum number of crashes that a merge remembers for each process.
const MAX_CRASHES: usize = 1 << 10;

/// Memory of a merge about the records that it has read: records for which others may wait, sent
/// messages, and crashes.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// For each dependency, the number of records that satisfy it, were read ahead, and are not
    /// delivered yet. If a dependency is missing, the merge has read no such record, or has
    /// forgotten it. The number of a `send` record becomes 0 when the record is delivered.
    pending: HashMap<Dependency, u32>,
    /// Messages in `pending` whose `send` record was delivered, the oldest first.
    sent: VecDeque<MessageKey>,
    /// For each link from a sender to a receiver, the session and number of the last forgotten
    /// message. Messages of a link are forgotten in order.
    forgotten: HashMap<(ProcessId, ProcessId), (u64, u64)>,
    /// For each process, the times of its crashes. Only other programs, such as the parent, record
    /// a crash. The value is true if the record of the crash was delivered.
    crashes: HashMap<ProcessId, BTreeMap<u64, bool>>,
}

impl Memory {
    /// Handles a record that the merge has read ahead. The record satisfies the dependency `gives`.
    pub(super) fn on_read_ahead(&mut self, gives: Dependency) {
        match gives {
            Dependency::Crashing(process, time) => {
                self.crashes.entry(process).or_default().entry(time).or_insert(false);
            }
            Dependency::Sending(_) if self.pending.get(&gives) == Some(&0) => {}
            _ => *self.pending.entry(gives).or_insert(0) += 1,
        }
    }

    /// Handles the delivery of a record that satisfies the dependency `gives`. Returns true if the
    /// dependency is now satisfied completely, so that no record has to wait for it any more.
    pub(super) fn on_delivery(&mut self, gives: Dependency) -> bool {
        match gives {
            Dependency::Crashing(process, time) => {
                let crashes = self.crashes.entry(process).or_default();
                crashes.insert(time, true);
                if crashes.len() > MAX_CRASHES {
                    crashes.pop_first();
                }
                true
            }
            Dependency::Sending(message) => {
                let before = self.pending.insert(gives, 0);
                if before != Some(0) {
                    self.sent.push_back(message);
                    self.forget();
                }
                true
            }
            Dependency::Writing(..) => {
                let left = self.pending.get(&gives).map_or(0, |pending| pending.saturating_sub(1));
                if left > 0 {
                    self.pending.insert(gives, left);
                } else {
                    self.pending.remove(&gives);
                }
                left == 0
            }
        }
    }

    fn forget(&mut self) {
        if self.sent.len() <= MAX_MESSAGES {
            return;
        }
        let Some(message) = self.sent.pop_front() else { return };
        self.pending.remove(&Dependency::Sending(message));
        let MessageKey { from, session, to, number } = message;
        let last = self.forgotten.entry((from, to)).or_default();
        *last = (*last).max((session, number));
    }

    /// Returns true if a record that satisfies the dependency was read ahead but is not delivered
    /// yet.
    pub(super) fn is_to_come(&self, dependency: Dependency) -> bool {
        match dependency {
            Dependency::Crashing(process, time) => {
                let crashes = self.crashes.get(&process);
                crashes.and_then(|crashes| crashes.get(&time)) == Some(&false)
            }
            _ => self.pending.get(&dependency).is_some_and(|pending| *pending > 0),
        }
    }

    /// Returns true if the merge has delivered the `send` record of this message.
    pub(super) fn was_sent(&self, message: MessageKey) -> bool {
        let MessageKey { from, session, to, number } = message;
        self.pending.get(&Dependency::Sending(message)) == Some(&0)
            || self.forgotten.get(&(from, to)).is_some_and(|last| (session, number) <= *last)
    }

    /// Returns the time of the last crash of a process at `until` or before. `None` if no such
    /// crash is known.
    pub(super) fn last_crash(&self, process: ProcessId, until: u64) -> Option<u64> {
        let crashes = self.crashes.get(&process)?;
        crashes.range(..=until).next_back().map(|(time, _)| *time)
    }

    /// Returns the number of dependencies, messages and links in this memory. Crashes are not
    /// included.
    pub(super) fn held(&self) -> usize {
        self.pending.len() + self.sent.len() + self.forgotten.len()
    }
}
