use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

use crate::process::ProcessId;

/// Measures how often other processes enter while one waits, in constant time per entry.
///
/// An entering process has bypassed the longest waiting one at least as often as any other, so only
/// that one is examined. A test compares the result with the monitor [`Bypass`](super::Bypass).
#[derive(Clone, Debug, Default)]
pub struct BypassMeter {
    /// Open and completed requests in order: the process, and the number of entries before it.
    requests: VecDeque<(ProcessId, u64)>,
    /// Index of each process's open request, counted from the first of the run.
    open: Vec<Option<u64>>,
    /// Number of requests removed from the front.
    removed: u64,
    entries: u64,
    /// Number of the last entry of each process.
    last_entry: Vec<u64>,
    /// Earlier entries of each process that are newer than the oldest open request.
    earlier_entries: Vec<VecDeque<u64>>,
    max_bypass: u32,
    max_bypass_pair: Option<(ProcessId, ProcessId)>,
}

impl BypassMeter {
    /// Creates the meter for a group of `size`, before the first request.
    pub fn new(size: u32) -> Self {
        let size = size as usize;
        let earlier_entries = vec![VecDeque::new(); size];
        BypassMeter {
            open: vec![None; size],
            last_entry: vec![0; size],
            earlier_entries,
            ..BypassMeter::default()
        }
    }

    /// Records a request.
    pub fn on_request(&mut self, process: ProcessId) {
        self.on_request_end(process);
        self.open[process.index()] = Some(self.removed + self.requests.len() as u64);
        self.requests.push_back((process, self.entries));
    }

    /// Records the end of a request, by entry or crash.
    pub fn on_request_end(&mut self, process: ProcessId) {
        self.open[process.index()] = None;
        while let Some((first, _)) = self.requests.front()
            && self.open[first.index()] != Some(self.removed)
        {
            self.requests.pop_front();
            self.removed += 1;
        }
    }

    /// Records an entry. Returns the process that it has bypassed most, and how often.
    pub fn on_entry(&mut self, process: ProcessId) -> Option<(ProcessId, u32)> {
        self.on_request_end(process);
        self.entries += 1;
        let before = core::mem::replace(&mut self.last_entry[process.index()], self.entries);
        let (waiter, since) = self.requests.front().copied()?;
        let times = if before <= since { 1 } else { self.count_since(process, before, since) };
        if times > self.max_bypass {
            self.max_bypass = times;
            self.max_bypass_pair = Some((process, waiter));
        }
        Some((waiter, times))
    }

    /// Records one more entry after `before`. Returns the number of entries since `since`.
    fn count_since(&mut self, process: ProcessId, before: u64, since: u64) -> u32 {
        let own = &mut self.earlier_entries[process.index()];
        own.push_back(before);
        while own.front().is_some_and(|entry| *entry <= since) {
            own.pop_front();
        }
        u32::try_from(own.len() + 1).unwrap_or(u32::MAX)
    }

    /// Returns the maximum number of entries of one process during one wait of another.
    pub const fn max_bypass(&self) -> u32 {
        self.max_bypass
    }

    /// Returns the maximum number of entries of one process during the longest open wait.
    pub fn current_bypass(&self) -> u32 {
        let Some((_, since)) = self.requests.front() else { return 0 };
        let passed = |(last, own): (&u64, &VecDeque<u64>)| {
            own.iter().chain([last]).filter(|entry| *entry > since).count()
        };
        let most = self.last_entry.iter().zip(&self.earlier_entries).map(passed).max();
        most.and_then(|most| u32::try_from(most).ok()).unwrap_or(0)
    }

    /// Returns the process that entered most often during a wait, and the waiting one.
    pub const fn max_bypass_pair(&self) -> Option<(ProcessId, ProcessId)> {
        self.max_bypass_pair
    }
}
