use std::collections::{BTreeSet, HashMap, VecDeque};

use tenure_core::service::mutex::Event;
use tenure_core::{Fence, Layer, ProcessId};

use super::durations::Durations;
use super::findings::Found;
use super::resource::Pair;
use crate::format::{Kind, Record};
use crate::merge::MessageKey;

/// Who entered and left, and how long it took.
#[derive(Clone, Debug, Default)]
pub(super) struct Entries {
    most_inside: usize,
    inside: Vec<(ProcessId, Fence)>,
    pub(super) total: u64,
    /// From asking to entering, in ticks.
    pub(super) latency: Durations,
    /// How many pairs of entries overlapped.
    pub(super) overlaps: u64,
    highest: Option<Fence>,
    /// Entries with a fence below that of an entry before them.
    pub(super) late: u64,
    known: Known,
}

impl Entries {
    /// At most `most_inside` may be inside; fences are followed when entries have them.
    pub(super) fn new(most_inside: u32, fenced: bool) -> Self {
        let most_inside = usize::try_from(most_inside).unwrap_or(usize::MAX);
        Entries { most_inside, known: Known { fenced, ..Known::default() }, ..Entries::default() }
    }

    /// The process was told something; returns what overlaps because of it.
    pub(super) fn told(&mut self, time: u64, at: ProcessId, event: Event) -> Vec<Pair> {
        match event {
            Event::Entered { fence } => self.entered(time, at, fence),
            Event::Exited => {
                self.left(at);
                Vec::new()
            }
        }
    }

    /// Follows what is known of fences through messages.
    pub(super) fn passage(&mut self, at: ProcessId, record: &Record) {
        self.known.passage(at, record);
    }

    pub(super) fn held(&self) -> usize {
        let Known { carried, sent, used, .. } = &self.known;
        self.latency.held() + carried.len() + sent.len() + used.len()
    }

    /// The first entry whose fence was not above one in its own past.
    pub(super) fn fence_went_back(&self) -> Option<&Found> {
        self.known.found.as_ref()
    }

    fn entered(&mut self, time: u64, at: ProcessId, fence: Fence) -> Vec<Pair> {
        self.total += 1;
        self.left(at);
        let mut pairs = Vec::new();
        if self.inside.len() >= self.most_inside {
            let others = self.inside.iter();
            pairs.extend(others.map(|(_, other)| Pair::of(fence, *other, time)));
            self.overlaps += pairs.len() as u64;
        }
        self.inside.push((at, fence));
        self.late += u64::from(self.highest.is_some_and(|highest| fence < highest));
        self.highest = self.highest.max(Some(fence));
        self.known.entered(time, at, fence);
        pairs
    }

    /// Ends an entry: the process exited or crashed.
    pub(super) fn left(&mut self, at: ProcessId) {
        self.inside.retain(|(process, _)| *process != at);
    }
}

/// How many messages under way, and how many fences, are looked back upon.
const REMEMBERED: usize = 1 << 16;

/// The highest fence in each process's past.
///
/// After a false suspicion an old grant may arrive late: an entry with a lower fence than
/// others have had by then, though nobody it heard of. That is no fault of the lock, and the
/// resource refuses it. A fence that goes back within one's own past is a fault.
#[derive(Clone, Debug, Default)]
struct Known {
    fenced: bool,
    by_process: HashMap<ProcessId, Fence>,
    /// What messages under way tell their receivers.
    carried: HashMap<MessageKey, Fence>,
    /// The messages in the order in which they were sent, some of which have arrived.
    sent: VecDeque<MessageKey>,
    /// The highest fences that were used.
    used: BTreeSet<Fence>,
    found: Option<Found>,
}

impl Known {
    fn passage(&mut self, at: ProcessId, record: &Record) {
        if !self.fenced {
            return;
        }
        match &record.kind {
            // Only the lock's own messages tell the lock anything: a heartbeat, or an
            // acknowledgement of the channel below, may overtake what the lock still waits for.
            Kind::Send(passage) if passage.layer == Layer::Mutex => {
                if let Some(known) = self.by_process.get(&at) {
                    let key = MessageKey::sent(at, record.session, passage);
                    self.carried.insert(key, *known);
                    self.sent.push_back(key);
                    self.forget();
                }
            }
            Kind::Receive(passage) if passage.layer == Layer::Mutex => {
                if let Some(told) = self.carried.remove(&MessageKey::received(at, passage)) {
                    let known = self.by_process.entry(at).or_insert(told);
                    *known = told.max(*known);
                }
            }
            _ => {}
        }
    }

    /// What was sent long ago and has not arrived is lost.
    fn forget(&mut self) {
        if self.sent.len() > REMEMBERED
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
        let says = if !self.used.insert(fence) {
            format!("{at} entered with fence {fence}, which another entry had")
        } else if let Some(known) = known.filter(|known| fence < *known) {
            format!("{at} entered with fence {fence}, after fence {known} in its own past")
        } else {
            self.by_process.insert(at, fence);
            if self.used.len() > REMEMBERED {
                self.used.pop_first();
            }
            return;
        };
        self.found = Some(Found { time, says });
    }
}
