use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

use crate::process::ProcessId;

/// How often others enter while one waits, measured in constant time per entry.
///
/// Whoever enters has bypassed the one who has waited longest at least as often as any other,
/// so that one is enough to look at. The result is that of the monitor
/// [`Bypass`](super::Bypass), which a test compares it with.
#[derive(Clone, Debug, Default)]
pub struct BypassMeter {
    /// Requests in order: who, and how many entries there had been.
    requests: VecDeque<(ProcessId, u64)>,
    /// By process: which of the requests is its own and still open, counted from the first.
    open: Vec<Option<u64>>,
    /// How many requests were taken off the front.
    forgotten: u64,
    entries: u64,
    /// By process: which of all entries was its last one.
    last: Vec<u64>,
    /// By process: which were its own before, as far as somebody waits since before.
    own: Vec<VecDeque<u64>>,
    worst: u32,
    worst_pair: Option<(ProcessId, ProcessId)>,
}

impl BypassMeter {
    /// Before the first request, of so many processes.
    pub fn new(size: u32) -> Self {
        let size = size as usize;
        let own = vec![VecDeque::new(); size];
        BypassMeter { open: vec![None; size], last: vec![0; size], own, ..BypassMeter::default() }
    }

    /// `process` asks to enter.
    pub fn requested(&mut self, process: ProcessId) {
        self.ended(process);
        self.open[process.index()] = Some(self.forgotten + self.requests.len() as u64);
        self.requests.push_back((process, self.entries));
    }

    /// The request of `process` was served, or the process crashed.
    pub fn ended(&mut self, process: ProcessId) {
        self.open[process.index()] = None;
        while let Some((first, _)) = self.requests.front()
            && self.open[first.index()] != Some(self.forgotten)
        {
            self.requests.pop_front();
            self.forgotten += 1;
        }
    }

    /// `process` enters. Returns whom it has bypassed most, and how often.
    pub fn entered(&mut self, process: ProcessId) -> Option<(ProcessId, u32)> {
        self.ended(process);
        self.entries += 1;
        let before = core::mem::replace(&mut self.last[process.index()], self.entries);
        let (waiter, since) = self.requests.front().copied()?;
        let times = if before <= since { 1 } else { self.again(process, before, since) };
        if times > self.worst {
            self.worst = times;
            self.worst_pair = Some((process, waiter));
        }
        Some((waiter, times))
    }

    /// `process` has entered once more, after `before`. Returns how often it has since `since`.
    fn again(&mut self, process: ProcessId, before: u64, since: u64) -> u32 {
        let own = &mut self.own[process.index()];
        own.push_back(before);
        while own.front().is_some_and(|entry| *entry <= since) {
            own.pop_front();
        }
        u32::try_from(own.len() + 1).unwrap_or(u32::MAX)
    }

    /// The most entries of one process during one wait of another.
    pub const fn worst(&self) -> u32 {
        self.worst
    }

    /// The most entries of one process during the longest wait that is not over.
    pub fn present(&self) -> u32 {
        let Some((_, since)) = self.requests.front() else { return 0 };
        let passed = |(last, own): (&u64, &VecDeque<u64>)| {
            own.iter().chain([last]).filter(|entry| *entry > since).count()
        };
        let most = self.last.iter().zip(&self.own).map(passed).max();
        most.and_then(|most| u32::try_from(most).ok()).unwrap_or(0)
    }

    /// Who entered most often, while who waited.
    pub const fn worst_pair(&self) -> Option<(ProcessId, ProcessId)> {
        self.worst_pair
    }
}
