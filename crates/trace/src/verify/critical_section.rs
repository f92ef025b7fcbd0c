//! Entries to the critical section: their number, latency, overlaps and fences.

use std::collections::{BTreeSet, HashMap, VecDeque};

use tenure_core::service::mutex::Event;
use tenure_core::{Fence, Layer, ProcessId};

use super::durations::Durations;
use super::findings::DetectedViolation;
use super::resource::OverlappingEntries;
use crate::format::{Record, RecordKind};
use crate::merge::MessageKey;

/// Statistics of entries to the critical section, and the monitor of their fences.
#[derive(Clone, Debug, Default)]
pub(super) struct CriticalSectionVerifier {
    max_inside: usize,
    inside: Vec<(ProcessId, Fence)>,
    pub(super) entry_count: u64,
    /// Times from request to entry, in ticks or nanoseconds.
    pub(super) latency: Durations,
    /// Number of pairs of entries that overlap while more processes are inside the critical section
    /// than permitted.
    pub(super) overlaps: u64,
    /// Highest fence of the entries so far. `None` before the first entry.
    highest: Option<Fence>,
    /// Number of entries with a fence that is lower than the fence of an earlier entry.
    pub(super) late: u64,
    known: KnownFences,
}

impl CriticalSectionVerifier {
    /// Creates the statistics of a trace without entries. At most `max_inside` processes may be
    /// inside the critical section at the same time. `fenced` is true if entries have fences, which
    /// are then checked.
    pub(super) fn new(max_inside: u32, fenced: bool) -> Self {
        let max_inside = usize::try_from(max_inside).unwrap_or(usize::MAX);
        CriticalSectionVerifier {
            max_inside,
            known: KnownFences { fenced, ..KnownFences::default() },
            ..CriticalSectionVerifier::default()
        }
    }

    /// Handles an event of a lock. If more processes are then inside the critical section than
    /// permitted, returns the pairs of entries that overlap because of this event. Otherwise,
    /// returns an empty list.
    pub(super) fn on_event(
        &mut self,
        time: u64,
        at: ProcessId,
        event: Event,
    ) -> Vec<OverlappingEntries> {
        match event {
            Event::Entered { fence } => self.entered(time, at, fence),
            Event::Exited => {
                self.on_exit(at);
                Vec::new()
            }
        }
    }

    /// Handles the record of a sent or received message. A receiver learns of the highest fence
    /// that the sender knew when it sent the message.
    pub(super) fn on_message(&mut self, at: ProcessId, record: &Record) {
        self.known.on_message(at, record);
    }

    pub(super) fn retained_count(&self) -> usize {
        let KnownFences { carried, sent, used, .. } = &self.known;
        self.latency.retained_count() + carried.len() + sent.len() + used.len()
    }

    /// Returns the first entry with a wrong fence, if any. A fence is wrong if another entry has
    /// the same fence, or if an entry in the causal past has a higher fence.
    pub(super) fn fence_violation(&self) -> Option<&DetectedViolation> {
        self.known.found.as_ref()
    }

    fn entered(&mut self, time: u64, at: ProcessId, fence: Fence) -> Vec<OverlappingEntries> {
        self.entry_count += 1;
        self.on_exit(at);
        let mut pairs = Vec::new();
        if self.inside.len() >= self.max_inside {
            let others = self.inside.iter();
            pairs.extend(others.map(|(_, other)| OverlappingEntries::new(fence, *other, time)));
            self.overlaps += pairs.len() as u64;
        }
        self.inside.push((at, fence));
        self.late += u64::from(self.highest.is_some_and(|highest| fence < highest));
        self.highest = self.highest.max(Some(fence));
        self.known.entered(time, at, fence);
        pairs
    }

    /// Handles the end of an entry: the process `at` exited or crashed. Does nothing if the process
    /// is not inside the critical section.
    pub(super) fn on_exit(&mut self, at: ProcessId) {
        self.inside.retain(|(process, _)| *process != at);
    }
}

/// Maximum number of messages in flight that verification remembers. The same maximum applies to
/// the fences of past entries.
const MAX_REMEMBERED: usize = 1 << 16;

/// Fences that each process can know: the fences of its own entries, and the fences of which it
/// learns by messages.
///
/// A process may enter with a lower fence than an earlier entry of another process. This is not
/// always a fault of the lock. For example, an old grant may arrive late after a false suspicion,
/// and the resource then rejects the access of the process. The lock is at fault only if the
/// process can know the higher fence: the earlier entry is then in the causal past of the later
/// entry.
#[derive(Clone, Debug, Default)]
struct KnownFences {
    fenced: bool,
    by_process: HashMap<ProcessId, Fence>,
    /// For each message in flight, the highest fence that its sender knew.
    carried: HashMap<MessageKey, Fence>,
    /// Messages in the order in which they were sent. Some of these messages may have arrived
    /// already.
    sent: VecDeque<MessageKey>,
    /// Fences with which processes have entered. If there are too many, the lowest fences are
    /// forgotten.
    used: BTreeSet<Fence>,
    found: Option<DetectedViolation>,
}

impl KnownFences {
    fn on_message(&mut self, at: ProcessId, record: &Record) {
        if !self.fenced {
            return;
        }
        match &record.kind {
            // Only messages of the lock tell their receiver of fences. Messages of other layers,
            // such as heartbeats and acknowledgements, do not.
            RecordKind::Send(message_record) if message_record.layer == Layer::Mutex => {
                if let Some(known) = self.by_process.get(&at) {
                    let key = MessageKey::of_sent(at, record.session, message_record);
                    self.carried.insert(key, *known);
                    self.sent.push_back(key);
                    self.forget();
                }
            }
            RecordKind::Receive(message_record) if message_record.layer == Layer::Mutex => {
                if let Some(fence) =
                    self.carried.remove(&MessageKey::of_received(at, message_record))
                {
                    let known = self.by_process.entry(at).or_insert(fence);
                    *known = fence.max(*known);
                }
            }
            _ => {}
        }
    }

    /// Forgets messages that were sent long ago and have not arrived, as if they were lost.
    fn forget(&mut self) {
        if self.sent.len() > MAX_REMEMBERED
            && let Some(oldest) = self.sent.pop_front()
        {
            self.carried.remove(&oldest);
        }
    }

    fn entered(&mut self, time: u64, at: ProcessId, fence: Fence) {
        if !self.fenced || self.found.is_some() {
            return;
        }
        let known = self.by_process.get(&at).copied();
        let description = if !self.used.insert(fence) {
            format!("{at} entered with fence {fence}, which another entry had")
        } else if let Some(known) = known.filter(|known| fence < *known) {
            format!("{at} entered with fence {fence}, after fence {known} in its own past")
        } else {
            self.by_process.insert(at, fence);
            if self.used.len() > MAX_REMEMBERED {
                self.used.pop_first();
            }
            return;
        };
        self.found = Some(DetectedViolation { time, description });
    }
}
