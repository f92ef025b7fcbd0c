//! Monitor of the elected process, which must have the largest or the smallest rank.

use alloc::format;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use crate::monitor::{ElectionObservation, Monitor, MonitorResult, Observation, violated};
use crate::process::ProcessId;
use crate::process_set::ProcessSet;
use crate::property::Property;
use crate::rank::Rank;
use crate::service::election;

/// Monitor of the elected process: at the end, every process that believes in a leader believes in
/// the live process with the largest rank. A monitor of [`Property::SmallestLeads`] instead
/// requires the smallest rank.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BestRankLeads {
    /// Rank of each process. Empty if the rank of each process equals its number, from 1.
    ranks: Arc<[Rank]>,
    /// True if the process with the smallest rank must lead. If false, the process with the largest
    /// rank must lead.
    smallest: bool,
    down: ProcessSet,
    beliefs: Vec<Option<ProcessId>>,
}

impl BestRankLeads {
    /// Creates the monitor for a group with one process per rank: `ranks[i]` is the rank of the
    /// process with the index *i*, from 0. No process is down.
    pub fn new(ranks: impl Into<Arc<[Rank]>>) -> Self {
        let ranks = ranks.into();
        let size = u32::try_from(ranks.len()).expect("a group has fewer than 2^32 processes");
        BestRankLeads::with_size(size, ranks)
    }

    /// Creates the monitor for `size` processes with these ranks. If `ranks` is empty, the rank of
    /// a process is its number, from 1.
    pub fn with_size(size: u32, ranks: impl Into<Arc<[Rank]>>) -> Self {
        let beliefs = vec![None; size as usize];
        BestRankLeads { ranks: ranks.into(), smallest: false, down: ProcessSet::new(), beliefs }
    }

    /// Returns the monitor of [`Property::SmallestLeads`] if `smallest` is true, and of
    /// [`Property::Validity`] otherwise.
    #[must_use]
    pub fn requiring_smallest_rank(self, smallest: bool) -> Self {
        BestRankLeads { smallest, ..self }
    }

    /// Marks the processes `down` as down from the start.
    #[must_use]
    pub fn with_initially_down(mut self, down: &[ProcessId]) -> Self {
        for process in down {
            self.down.insert(*process);
        }
        self
    }

    fn rank(&self, process: ProcessId) -> Option<Rank> {
        let id = || Rank::from_id(process.display_number());
        if self.ranks.is_empty() { Some(id()) } else { self.ranks.get(process.index()).copied() }
    }

    /// Returns the live process that must lead. Of several processes with this rank, returns one.
    /// Returns `None` if all processes are down.
    fn rightful(&self) -> Option<ProcessId> {
        let all = (0..self.beliefs.len()).map(ProcessId::from_index);
        let live = all.filter(|process| !self.down.contains(*process));
        match (self.smallest, self.ranks.is_empty()) {
            (false, true) => live.max(),
            (false, false) => live.max_by_key(|process| self.ranks[process.index()]),
            (true, true) => live.min(),
            (true, false) => live.min_by_key(|process| self.ranks[process.index()]),
        }
    }
}

impl Monitor<election::Command, election::Event> for BestRankLeads {
    fn property(&self) -> Property {
        if self.smallest { Property::SmallestLeads } else { Property::Validity }
    }

    fn observe(&mut self, at: ProcessId, seen: ElectionObservation<'_>) -> MonitorResult {
        let Some(belief) = self.beliefs.get_mut(at.index()) else { return Ok(()) };
        match seen {
            Observation::Event(election::Event::Elected { leader, .. }) => *belief = Some(*leader),
            Observation::Event(election::Event::Deposed { .. }) => *belief = None,
            Observation::Crashed => {
                *belief = None;
                self.down.insert(at);
            }
            Observation::Recovered => {
                self.down.remove(at);
            }
            Observation::Command { .. } | Observation::Sent { .. } => {}
        }
        Ok(())
    }

    fn check_final_state(&self) -> MonitorResult {
        let Some(rightful) = self.rightful() else { return Ok(()) };
        for (place, belief) in self.beliefs.iter().enumerate() {
            // If another process has the same rank as `rightful`, either may be the leader.
            if let Some(leader) = belief
                && *leader != rightful
                && (self.down.contains(*leader) || self.rank(*leader) != self.rank(rightful))
            {
                let at = ProcessId::from_index(place);
                let message =
                    format!("in the end {at} believes in {leader}, and not in {rightful}");
                return violated(at, message);
            }
        }
        Ok(())
    }
}
