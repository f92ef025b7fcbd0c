use std::collections::BTreeSet;

use tenure_core::ProcessId;

use crate::engine::random::{Random, Stream};
use crate::settings::Detector;

/// The simulated failure detector: its delays and its pending reports.
#[derive(Debug)]
pub(crate) struct DetectorOracle {
    random: Random,
    /// Pairs (observer, peer) in which the observer suspects a live peer behind a partition.
    separated: BTreeSet<(ProcessId, ProcessId)>,
    /// Number of scheduled reports.
    pending: u64,
}

impl DetectorOracle {
    pub(crate) fn new(seed: u64) -> Self {
        let random = Random::stream(seed, Stream::Detector);
        DetectorOracle { random, separated: BTreeSet::new(), pending: 0 }
    }

    /// Draws the delay of a new report, in ticks.
    pub(crate) fn schedule(&mut self, detector: Detector) -> u64 {
        self.pending += 1;
        detector.delay.draw(&mut self.random)
    }

    /// Records the delivery of a scheduled report.
    pub(crate) fn deliver(&mut self) {
        self.pending -= 1;
    }

    /// Returns true if a report is scheduled.
    pub(crate) const fn has_pending(&self) -> bool {
        self.pending > 0
    }

    /// Records that an observer suspects a live peer behind a partition.
    pub(crate) fn separate(&mut self, observer: ProcessId, peer: ProcessId) {
        self.separated.insert((observer, peer));
    }

    /// Records that a partition no longer separates an observer from a peer.
    pub(crate) fn reunite(&mut self, pair: (ProcessId, ProcessId)) {
        self.separated.remove(&pair);
    }

    /// Returns the pairs (observer, peer) in which the observer suspects a live peer.
    pub(crate) fn separated(&self) -> impl Iterator<Item = (ProcessId, ProcessId)> + '_ {
        self.separated.iter().copied()
    }
}
