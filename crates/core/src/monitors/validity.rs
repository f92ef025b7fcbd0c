use alloc::format;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use crate::monitor::{Monitor, Observed, OfElection, Violation};
use crate::process::ProcessId;
use crate::process_set::ProcessSet;
use crate::property::Property;
use crate::rank::Rank;
use crate::service::election;

/// In the end everybody who believes in a leader believes in the live process with the largest
/// rank.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Validity {
    /// Empty: the number of the process.
    ranks: Arc<[Rank]>,
    down: ProcessSet,
    beliefs: Vec<Option<ProcessId>>,
}

impl Validity {
    /// For processes with these ranks, all of them live.
    pub fn new(ranks: impl Into<Arc<[Rank]>>) -> Self {
        let ranks = ranks.into();
        let size = u32::try_from(ranks.len()).expect("a group has fewer than 2^32 processes");
        Validity::of(size, ranks)
    }

    /// For so many processes with these ranks, or with their numbers for ranks.
    pub fn of(size: u32, ranks: impl Into<Arc<[Rank]>>) -> Self {
        let beliefs = vec![None; size as usize];
        Validity { ranks: ranks.into(), down: ProcessSet::new(), beliefs }
    }

    /// The same with some processes down from the start.
    #[must_use]
    pub fn without(mut self, down: &[ProcessId]) -> Self {
        for process in down {
            self.down.insert(*process);
        }
        self
    }

    fn rank(&self, process: ProcessId) -> Option<Rank> {
        let id = || Rank::of_id(process.number());
        if self.ranks.is_empty() { Some(id()) } else { self.ranks.get(process.index()).copied() }
    }

    fn largest(&self) -> Option<ProcessId> {
        let all = (0..self.beliefs.len()).map(ProcessId::at);
        let live = all.filter(|process| !self.down.contains(*process));
        if self.ranks.is_empty() {
            live.max()
        } else {
            live.max_by_key(|process| self.ranks[process.index()])
        }
    }
}

impl Monitor<election::Command, election::Event> for Validity {
    fn property(&self) -> Property {
        Property::Validity
    }

    fn observe(&mut self, at: ProcessId, seen: OfElection<'_>) -> Result<(), Violation> {
        let Some(belief) = self.beliefs.get_mut(at.index()) else { return Ok(()) };
        match seen {
            Observed::Event(election::Event::Elected { leader, .. }) => *belief = Some(*leader),
            Observed::Event(election::Event::Deposed { .. }) => *belief = None,
            Observed::Crashed => {
                *belief = None;
                self.down.insert(at);
            }
            Observed::Recovered => {
                self.down.remove(at);
            }
            Observed::Command { .. } | Observed::Sent { .. } => {}
        }
        Ok(())
    }

    fn at_end(&self) -> Result<(), Violation> {
        let Some(largest) = self.largest() else { return Ok(()) };
        for (place, belief) in self.beliefs.iter().enumerate() {
            // Where two have the largest rank, one is as good as the other.
            if let Some(leader) = belief
                && *leader != largest
                && (self.down.contains(*leader) || self.rank(*leader) != self.rank(largest))
            {
                let at = ProcessId::at(place);
                let says = format!("in the end {at} believes in {leader}, and not in {largest}");
                return Err(Violation { at, says });
            }
        }
        Ok(())
    }
}
