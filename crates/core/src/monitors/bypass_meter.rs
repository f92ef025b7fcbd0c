//! A meter of bypass: it measures how often other processes enter while a process waits. The meter
//! is fast enough to be used in every run. Unlike a monitor of bounded bypass, the meter does not
//! compare the measured number with a bound.

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

use crate::process::ProcessId;

/// Measures bypass: how often one process enters while another process waits. Recording an entry
/// takes constant time.
///
/// At each entry, the meter examines only the process that has waited longest. The entering process
/// has bypassed no other waiting process more often than this one.
#[derive(Clone, Debug, Default)]
pub struct BypassMeter {
    /// Requests in the order in which they were made, beginning with the oldest request that still
    /// waits. Later requests in this list may have ended. Each element holds the process, and the
    /// number of entries in the run before the request.
    requests: VecDeque<(ProcessId, u64)>,
    /// For each process: the index of its open request, if it has one. Index 0 is the first request
    /// of the run.
    open: Vec<Option<u64>>,
    /// Number of requests that were removed from the front of `requests`.
    removed: u64,
    /// Number of entries of all processes in the run so far.
    entries: u64,
    /// For each process: the number of its last entry. The first entry of the run has number 1.
    last_entry: Vec<u64>,
    /// For each process, in ascending order: the numbers of its entries since the oldest request
    /// that still waits. The last entry of the process is not in this list, but in `last_entry`.
    /// The list may also contain older entries.
    earlier_entries: Vec<VecDeque<u64>>,
    max_bypass: u32,
    max_bypass_pair: Option<(ProcessId, ProcessId)>,
}

impl BypassMeter {
    /// Creates the meter for a group of `size`, in its initial state: no process has requested.
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

    /// Records a request of `process`. An open request of this process ends.
    pub fn on_request(&mut self, process: ProcessId) {
        self.on_request_end(process);
        self.open[process.index()] = Some(self.removed + self.requests.len() as u64);
        self.requests.push_back((process, self.entries));
    }

    /// Records that the open request of `process` has ended, because the process entered or
    /// crashed.
    pub fn on_request_end(&mut self, process: ProcessId) {
        self.open[process.index()] = None;
        while let Some((first, _)) = self.requests.front()
            && self.open[first.index()] != Some(self.removed)
        {
            self.requests.pop_front();
            self.removed += 1;
        }
    }

    /// Records an entry of `process`. Returns the process that has waited longest, and the number
    /// of entries of `process` during this wait. Returns `None` if no process waits.
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

    /// Returns the number of entries that `process` has made after entry number `since` of the run,
    /// including its latest entry. `before` is the number of the previous entry of `process`. The
    /// meter stores `before` for later calls.
    fn count_since(&mut self, process: ProcessId, before: u64, since: u64) -> u32 {
        let own = &mut self.earlier_entries[process.index()];
        own.push_back(before);
        while own.front().is_some_and(|entry| *entry <= since) {
            own.pop_front();
        }
        u32::try_from(own.len() + 1).unwrap_or(u32::MAX)
    }

    /// Returns the maximum bypass so far: the largest number of entries of one process during one
    /// wait of another process.
    pub const fn max_bypass(&self) -> u32 {
        self.max_bypass
    }

    /// Returns the largest number of entries of one process since the oldest open request; 0 if no
    /// request is open.
    pub fn current_bypass(&self) -> u32 {
        let Some((_, since)) = self.requests.front() else { return 0 };
        let passed = |(last, own): (&u64, &VecDeque<u64>)| {
            own.iter().chain([last]).filter(|entry| *entry > since).count()
        };
        let most = self.last_entry.iter().zip(&self.earlier_entries).map(passed).max();
        most.and_then(|most| u32::try_from(most).ok()).unwrap_or(0)
    }

    /// Returns the pair of processes with the maximum bypass: first the process that entered, then
    /// the process that waited. Returns `None` if no bypass has occurred.
    pub const fn max_bypass_pair(&self) -> Option<(ProcessId, ProcessId)> {
        self.max_bypass_pair
    }
}
