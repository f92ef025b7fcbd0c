//! What was read ahead, and what has happened lately.

use std::collections::{BTreeMap, HashMap, VecDeque};

use tenure_core::ProcessId;

use super::awaited::{Awaited, MessageKey};

/// How many messages that were sent are remembered one by one.
const MESSAGES: usize = 1 << 16;

/// How many crashes of a process are remembered.
const CRASHES: usize = 1 << 10;

/// What was read ahead and is still to come, and what has happened: of messages the latest.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// How much of each was read and is still to come. What is not in here was not read, or is
    /// forgotten.
    pending: HashMap<Awaited, u32>,
    /// The messages in `pending` that were sent, the first first.
    sent: VecDeque<MessageKey>,
    /// By link: the session and the number of the last message that was forgotten. Numbers grow.
    forgotten: HashMap<(ProcessId, ProcessId), (u64, u64)>,
    /// When each process crashed, as others wrote it down, and whether that has happened.
    crashes: HashMap<ProcessId, BTreeMap<u64, bool>>,
}

impl Memory {
    /// A record that gives this was read.
    pub(super) fn read(&mut self, gives: Awaited) {
        match gives {
            Awaited::Crashing(process, time) => {
                self.crashes.entry(process).or_default().entry(time).or_insert(false);
            }
            Awaited::Sending(_) if self.pending.get(&gives) == Some(&0) => {}
            _ => *self.pending.entry(gives).or_insert(0) += 1,
        }
    }

    /// A record that gives this has happened. Returns whether nobody need wait for it any more.
    pub(super) fn happened(&mut self, gives: Awaited) -> bool {
        match gives {
            Awaited::Crashing(process, time) => {
                let crashes = self.crashes.entry(process).or_default();
                crashes.insert(time, true);
                if crashes.len() > CRASHES {
                    crashes.pop_first();
                }
                true
            }
            Awaited::Sending(message) => {
                let before = self.pending.insert(gives, 0);
                if before != Some(0) {
                    self.sent.push_back(message);
                    self.forget();
                }
                true
            }
            Awaited::Writing(..) => {
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
        if self.sent.len() <= MESSAGES {
            return;
        }
        let Some(message) = self.sent.pop_front() else { return };
        self.pending.remove(&Awaited::Sending(message));
        let MessageKey { from, session, to, number } = message;
        let last = self.forgotten.entry((from, to)).or_default();
        *last = (*last).max((session, number));
    }

    /// Whether a record that gives this was read and is still to come.
    pub(super) fn is_to_come(&self, awaited: Awaited) -> bool {
        match awaited {
            Awaited::Crashing(process, time) => {
                let crashes = self.crashes.get(&process);
                crashes.and_then(|crashes| crashes.get(&time)) == Some(&false)
            }
            _ => self.pending.get(&awaited).is_some_and(|pending| *pending > 0),
        }
    }

    /// Whether a message was sent.
    pub(super) fn was_sent(&self, message: MessageKey) -> bool {
        let MessageKey { from, session, to, number } = message;
        self.pending.get(&Awaited::Sending(message)) == Some(&0)
            || self.forgotten.get(&(from, to)).is_some_and(|last| (session, number) <= *last)
    }

    /// The last crash of a process up to a time.
    pub(super) fn last_crash(&self, process: ProcessId, until: u64) -> Option<u64> {
        let crashes = self.crashes.get(&process)?;
        crashes.range(..=until).next_back().map(|(time, _)| *time)
    }

    /// How much is held.
    pub(super) fn held(&self) -> usize {
        self.pending.len() + self.sent.len() + self.forgotten.len()
    }
}
