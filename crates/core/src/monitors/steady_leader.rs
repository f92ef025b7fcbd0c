use alloc::vec::Vec;
use alloc::{format, vec};

use crate::monitor::{Monitor, Observed, OfElection, Violation};
use crate::process::ProcessId;
use crate::property::Property;
use crate::service::election;

/// Nobody leaves its office while a majority believes in it, itself included, unless it crashes.
///
/// A leader that is cut off from all of them leaves it in time, rightly: this is for leaders that
/// are well.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SteadyLeader {
    /// By process: whom it believes in.
    beliefs: Vec<Option<ProcessId>>,
}

impl SteadyLeader {
    /// In a group of `size` processes, before anybody was elected.
    pub fn of(size: u32) -> Self {
        SteadyLeader { beliefs: vec![None; size as usize] }
    }

    fn believes(&mut self, at: ProcessId, leader: Option<ProcessId>) {
        if let Some(belief) = self.beliefs.get_mut(at.index()) {
            *belief = leader;
        }
    }

    fn deposed(&mut self, at: ProcessId) -> Result<(), Violation> {
        let leads = self.beliefs.get(at.index()) == Some(&Some(at));
        let believers = self.beliefs.iter().filter(|leader| **leader == Some(at)).count();
        self.believes(at, None);
        if !leads || 2 * believers <= self.beliefs.len() {
            return Ok(());
        }
        let others = believers - 1;
        let says = format!("{at} is deposed while {others} others believe in it");
        Err(Violation { at, says })
    }
}

impl Monitor<election::Command, election::Event> for SteadyLeader {
    fn property(&self) -> Property {
        Property::SteadyLeader
    }

    fn observe(&mut self, at: ProcessId, seen: OfElection<'_>) -> Result<(), Violation> {
        match seen {
            Observed::Event(election::Event::Elected { leader, .. }) => {
                self.believes(at, Some(*leader));
            }
            Observed::Event(election::Event::Deposed { .. }) => return self.deposed(at),
            Observed::Crashed => self.believes(at, None),
            Observed::Command { .. } | Observed::Recovered | Observed::Sent { .. } => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Term;

    #[test]
    fn who_is_deposed_by_a_minority_was_steady_no_longer() {
        let mut monitor = SteadyLeader::of(3);
        let term = Term { number: 1, leader: ProcessId(0) };
        let elected = election::Event::Elected { leader: ProcessId(0), term };
        let deposed = election::Event::Deposed { term };
        for at in 0..3 {
            monitor.observe(ProcessId(at), Observed::Event(&elected)).expect("it is told");
        }
        monitor.observe(ProcessId(2), Observed::Event(&deposed)).expect("it only followed");
        let mut crashed = monitor.clone();
        crashed.observe(ProcessId(1), Observed::Crashed).expect("it may");
        assert_eq!(crashed.observe(ProcessId(0), Observed::Event(&deposed)), Ok(()));
        let says = monitor.observe(ProcessId(0), Observed::Event(&deposed));
        let says = says.expect_err("one follows it").says;
        assert_eq!(says, "P1 is deposed while 1 others believe in it");
    }
}
