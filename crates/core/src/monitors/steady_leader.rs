//! Monitor of leaders that are deposed without need.

use alloc::vec::Vec;
use alloc::{format, vec};

use crate::monitor::{ElectionObservation, Monitor, MonitorResult, Observation, violated};
use crate::process::ProcessId;
use crate::property::Property;
use crate::service::election;

/// Monitor of steady leadership. It reports a violation if a live leader is deposed while a
/// majority of the processes follows this leader. The majority includes the leader itself.
///
/// A leader that cannot reach the other processes should be deposed. Therefore this property
/// applies only to runs in which the leader can reach the other processes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SteadyLeader {
    /// Leader that each process believes in, by the index of the process.
    beliefs: Vec<Option<ProcessId>>,
}

impl SteadyLeader {
    /// Creates the monitor for a group of `size` processes, in its initial state: no process
    /// believes in a leader.
    pub fn new(size: u32) -> Self {
        SteadyLeader { beliefs: vec![None; size as usize] }
    }

    fn believes(&mut self, at: ProcessId, leader: Option<ProcessId>) {
        if let Some(belief) = self.beliefs.get_mut(at.index()) {
            *belief = leader;
        }
    }

    fn deposed(&mut self, at: ProcessId) -> MonitorResult {
        let leads = self.beliefs.get(at.index()) == Some(&Some(at));
        let believers = self.beliefs.iter().filter(|leader| **leader == Some(at)).count();
        self.believes(at, None);
        if !leads || 2 * believers <= self.beliefs.len() {
            return Ok(());
        }
        let others = believers - 1;
        violated(at, format!("{at} is deposed while {others} others believe in it"))
    }
}

impl Monitor<election::Command, election::Event> for SteadyLeader {
    fn property(&self) -> Property {
        Property::SteadyLeader
    }

    fn observe(&mut self, at: ProcessId, seen: ElectionObservation<'_>) -> MonitorResult {
        match seen {
            Observation::Event(election::Event::Elected { leader, .. }) => {
                self.believes(at, Some(*leader));
            }
            Observation::Event(election::Event::Deposed { .. }) => return self.deposed(at),
            Observation::Crashed => self.believes(at, None),
            Observation::Command { .. } | Observation::Recovered | Observation::Sent { .. } => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Term;

    #[test]
    fn detects_deposition_of_leader_with_majority() {
        let mut monitor = SteadyLeader::new(3);
        let term = Term { number: 1, leader: ProcessId(0) };
        let elected = election::Event::Elected { leader: ProcessId(0), term };
        let deposed = election::Event::Deposed { term };
        for at in 0..3 {
            monitor.observe(ProcessId(at), Observation::Event(&elected)).expect("no violation");
        }
        monitor.observe(ProcessId(2), Observation::Event(&deposed)).expect("no violation");
        let mut crashed = monitor.clone();
        crashed.observe(ProcessId(1), Observation::Crashed).expect("no violation");
        assert_eq!(crashed.observe(ProcessId(0), Observation::Event(&deposed)), Ok(()));
        let message = monitor.observe(ProcessId(0), Observation::Event(&deposed));
        let message = message.expect_err("one follows it").message;
        assert_eq!(message, "P1 is deposed while 1 others believe in it");
    }
}
