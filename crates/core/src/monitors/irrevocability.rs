use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use crate::monitor::{Monitor, Observed, OfElection, Violation};
use crate::process::ProcessId;
use crate::property::Property;
use crate::service::election;

/// Without terms, nobody changes its mind unless somebody asked for an election, crashed, came
/// back or was suspected in between.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Irrevocability {
    epoch: u32,
    told: Vec<Belief>,
}

/// What a process was told last, and when: compact, for there may be a million.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Belief {
    epoch: u32,
    /// The largest number for nobody.
    leader: u32,
}

const NOTHING: Belief = Belief { epoch: 0, leader: u32::MAX };

impl Irrevocability {
    /// Before anybody was told anything.
    pub fn new(size: u32) -> Self {
        Irrevocability { epoch: 0, told: vec![NOTHING; size as usize] }
    }

    /// Something happened that may rightly start another election.
    pub fn upset(&mut self) {
        self.epoch += 1;
    }

    fn forget(&mut self, at: ProcessId) {
        if let Some(told) = self.told.get_mut(at.index()) {
            *told = NOTHING;
        }
    }

    fn believes(&mut self, at: ProcessId, leader: ProcessId) -> Result<(), Violation> {
        let Some(told) = self.told.get_mut(at.index()) else { return Ok(()) };
        let now = Belief { epoch: self.epoch, leader: leader.0 };
        let before = core::mem::replace(told, now);
        let changed = before.leader != NOTHING.leader && before.leader != leader.0;
        if !changed || before.epoch != self.epoch {
            return Ok(());
        }
        let old = ProcessId(before.leader);
        let says = format!("{at} believed in {old} and then in {leader} in one election");
        Err(Violation { at, says })
    }
}

impl Monitor<election::Command, election::Event> for Irrevocability {
    fn property(&self) -> Property {
        Property::Irrevocability
    }

    fn observe(&mut self, at: ProcessId, seen: OfElection<'_>) -> Result<(), Violation> {
        match seen {
            Observed::Event(election::Event::Elected { leader, term }) if term.number == 0 => {
                return self.believes(at, *leader);
            }
            // A term names its leader, and that terms only grow is what agreement judges.
            Observed::Event(_) => self.forget(at),
            Observed::Crashed => {
                self.forget(at);
                self.upset();
            }
            Observed::Command { .. } | Observed::Recovered => self.upset(),
            Observed::Sent { .. } => {}
        }
        Ok(())
    }
}
