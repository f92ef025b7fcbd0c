//! State that a merge keeps about the records that it has read.

use std::collections::{BTreeMap, HashMap, VecDeque};

use tenure_core::ProcessId;

use super::dependency::{Dependency, MessageKey};

/// Maximum number of sent messages that a merge remembers individually. Of the older messages, the
/// merge remembers only the last message on each link.
const MAX_MESSAGES: usize = 1 << 16;

/// Maximum number of crashes that a merge remembers for each process.
const MAX_CRASHES: usize = 1 << 10;

/// State that a merge derives from the records that it has read: the sent messages, the crashes,
/// and the records that must be delivered before certain records of other files.
#[derive(Debug, Default)]
pub(super) struct MergeState {
    /// For each dependency on messages or on the records of a process, the number of records that
    /// the merge has read ahead and not delivered yet. The dependency on a `send` record stays in
    /// the map after the delivery, with the number 0, until the message is forgotten. Any other
    /// dependency is removed when its last record is delivered.
    pending: HashMap<Dependency, u32>,
    /// Messages whose `send` record was delivered, the oldest first. Each of these messages has the
    /// number 0 in `pending`.
    sent: VecDeque<MessageKey>,
    /// For each link from a sender to a receiver, the session and number of the last forgotten
    /// message. Messages of a link are forgotten in order.
    forgotten: HashMap<(ProcessId, ProcessId), (u64, u64)>,
    /// Crashes of each process, by time. The flag is true if the merge has delivered the record of
    /// the crash. A crashed process cannot write this record: another program writes it, such as
    /// the parent that started the process.
    crashes: HashMap<ProcessId, BTreeMap<u64, bool>>,
}

impl MergeState {
    /// Handles a record that the merge has read ahead. The record satisfies the dependency
    /// `dependency`.
    pub(super) fn on_read_ahead(&mut self, dependency: Dependency) {
        match dependency {
            Dependency::Crashing(process, time) => {
                self.crashes.entry(process).or_default().entry(time).or_insert(false);
            }
            Dependency::Sending(_) if self.pending.get(&dependency) == Some(&0) => {}
            _ => *self.pending.entry(dependency).or_insert(0) += 1,
        }
    }

    /// Handles the delivery of a record on which other records may depend. Returns true if
    /// dependent records need not wait for `dependency` any longer.
    pub(super) fn on_delivery(&mut self, dependency: Dependency) -> bool {
        match dependency {
            Dependency::Crashing(process, time) => {
                let crashes = self.crashes.entry(process).or_default();
                crashes.insert(time, true);
                if crashes.len() > MAX_CRASHES {
                    crashes.pop_first();
                }
                true
            }
            Dependency::Sending(message) => {
                let before = self.pending.insert(dependency, 0);
                if before != Some(0) {
                    self.sent.push_back(message);
                    self.forget();
                }
                true
            }
            Dependency::SessionRecords(..) => {
                let left =
                    self.pending.get(&dependency).map_or(0, |pending| pending.saturating_sub(1));
                if left > 0 {
                    self.pending.insert(dependency, left);
                } else {
                    self.pending.remove(&dependency);
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

    /// Returns true if the merge has read a record of `dependency` ahead and has not delivered it
    /// yet.
    pub(super) fn is_pending(&self, dependency: Dependency) -> bool {
        match dependency {
            Dependency::Crashing(process, time) => {
                let crashes = self.crashes.get(&process);
                crashes.and_then(|crashes| crashes.get(&time)) == Some(&false)
            }
            _ => self.pending.get(&dependency).is_some_and(|pending| *pending > 0),
        }
    }

    /// Returns true if the merge has delivered the `send` record of this message. Assumes so for a
    /// message that is not newer than the last forgotten message of its link.
    pub(super) fn was_sent(&self, message: MessageKey) -> bool {
        let MessageKey { from, session, to, number } = message;
        self.pending.get(&Dependency::Sending(message)) == Some(&0)
            || self.forgotten.get(&(from, to)).is_some_and(|last| (session, number) <= *last)
    }

    /// Returns the time of the last crash of `process` at the time `until` or earlier. `None` if
    /// the merge knows no such crash.
    pub(super) fn last_crash(&self, process: ProcessId, until: u64) -> Option<u64> {
        let crashes = self.crashes.get(&process)?;
        crashes.range(..=until).next_back().map(|(time, _)| *time)
    }

    /// Returns the number of dependencies, messages and links in this state. Crashes are not
    /// included.
    pub(super) fn retained_count(&self) -> usize {
        self.pending.len() + self.sent.len() + self.forgotten.len()
    }
}
