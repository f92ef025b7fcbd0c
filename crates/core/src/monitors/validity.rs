use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use crate::service::election;
use crate::{Monitor, Observed, ProcessId, Property, Rank, Violation};

/// In the end everybody who believes in a leader believes in the live process with the largest
/// rank.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Validity {
    ranks: Vec<Rank>,
    live: Vec<bool>,
    beliefs: Vec<Option<ProcessId>>,
}

impl Validity {
    /// For processes with these ranks, all of them live.
    pub fn new(ranks: Vec<Rank>) -> Self {
        let size = ranks.len();
        Validity { ranks, live: vec![true; size], beliefs: vec![None; size] }
    }

    /// The same with some processes down from the start.
    #[must_use]
    pub fn without(mut self, down: &[ProcessId]) -> Self {
        for process in down {
            self.live[process.index()] = false;
        }
        self
    }

    fn largest(&self) -> Option<ProcessId> {
        let live = (0..self.ranks.len()).filter(|place| self.live[*place]);
        live.max_by_key(|place| self.ranks[*place]).map(ProcessId::at)
    }
}

impl Monitor<election::Command, election::Event> for Validity {
    fn property(&self) -> Property {
        Property::Validity
    }

    fn observe(
        &mut self,
        at: ProcessId,
        seen: Observed<'_, election::Command, election::Event>,
    ) -> Result<(), Violation> {
        let belief = &mut self.beliefs[at.index()];
        match seen {
            Observed::Event(election::Event::Elected { leader, .. }) => *belief = Some(*leader),
            Observed::Event(election::Event::Deposed { .. }) => *belief = None,
            Observed::Crashed => {
                *belief = None;
                self.live[at.index()] = false;
            }
            Observed::Recovered => self.live[at.index()] = true,
            Observed::Command { .. } => {}
        }
        Ok(())
    }

    fn at_end(&self) -> Result<(), Violation> {
        let Some(largest) = self.largest() else { return Ok(()) };
        for (place, belief) in self.beliefs.iter().enumerate() {
            if let Some(leader) = belief
                && *leader != largest
            {
                let at = ProcessId::at(place);
                let says = format!("in the end {at} believes in {leader}, and not in {largest}");
                return Err(Violation { at, says });
            }
        }
        Ok(())
    }
}
