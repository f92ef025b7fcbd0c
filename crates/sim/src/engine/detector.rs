//! The failure detector of a run: delays of its reports, and suspicions that partitions cause.

use std::collections::BTreeSet;

use tenure_core::ProcessId;

use crate::engine::random::{Random, RandomStream};
use crate::settings::DetectorSettings;

/// State of the simulated failure detector. It draws the delays of the reports, counts the reports
/// that are scheduled but not yet delivered, and remembers the suspicions that partitions cause.
#[derive(Debug)]
pub(crate) struct DetectorOracle {
    random: Random,
    /// Pairs (observer, peer) in which the observer received a report about a live peer while a
    /// partition separated them. The observer suspects the peer until the partition ends.
    separated: BTreeSet<(ProcessId, ProcessId)>,
    /// Number of reports that are scheduled but not yet delivered.
    pending: u64,
}

impl DetectorOracle {
    pub(crate) fn new(seed: u64) -> Self {
        let random = Random::stream(seed, RandomStream::Detector);
        DetectorOracle { random, separated: BTreeSet::new(), pending: 0 }
    }

    /// Counts a new report as scheduled, and returns its random delay, in ticks.
    pub(crate) fn begin_report(&mut self, detector: DetectorSettings) -> u64 {
        self.pending += 1;
        detector.delay.draw(&mut self.random)
    }

    pub(crate) fn record_report_delivery(&mut self) {
        self.pending -= 1;
    }

    pub(crate) const fn has_pending_report(&self) -> bool {
        self.pending > 0
    }

    pub(crate) fn add_separated_pair(&mut self, observer: ProcessId, peer: ProcessId) {
        self.separated.insert((observer, peer));
    }

    pub(crate) fn remove_separated_pair(&mut self, pair: (ProcessId, ProcessId)) {
        self.separated.remove(&pair);
    }

    pub(crate) fn separated_pairs(&self) -> impl Iterator<Item = (ProcessId, ProcessId)> + '_ {
        self.separated.iter().copied()
    }
}
