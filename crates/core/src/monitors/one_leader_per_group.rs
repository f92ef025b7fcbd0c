//! Monitor of elections in which groups with different leaders may coexist.

use alloc::collections::BTreeMap;
use alloc::format;

use crate::monitor::{ElectionObservation, Monitor, MonitorResult, Observation, violated};
use crate::process::ProcessId;
use crate::property::Property;
use crate::service::{Term, election};

/// Monitor of elections in which processes may follow different leaders at the same time. The
/// processes that follow one leader form a group. A group is named by its term: a number and the
/// leader.
///
/// No process follows a leader before this leader has reported that it leads the group, or a later
/// group. At the end, if a live process follows a leader, this leader is live and leads the group
/// of the process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct OneLeaderPerGroup {
    /// Group that each live process follows or leads, if any.
    beliefs: BTreeMap<ProcessId, Term>,
    /// For each process that has led a group: the highest term number under which it has led.
    led: BTreeMap<ProcessId, u64>,
}

impl OneLeaderPerGroup {
    /// Creates the monitor in its initial state: no process has a leader.
    pub fn new() -> Self {
        OneLeaderPerGroup::default()
    }
}

impl Monitor<election::Command, election::Event> for OneLeaderPerGroup {
    fn property(&self) -> Property {
        Property::OneLeaderPerGroup
    }

    fn observe(&mut self, at: ProcessId, seen: ElectionObservation<'_>) -> MonitorResult {
        match seen {
            Observation::Event(election::Event::Elected { leader, term }) => {
                self.beliefs.insert(at, *term);
                if *leader == at {
                    let led = self.led.entry(at).or_default();
                    *led = term.number.max(*led);
                }
                if self.led.get(leader).is_none_or(|led| *led < term.number) {
                    let message = format!("{at} follows {leader}, which does not lead {term} yet");
                    return violated(at, message);
                }
            }
            Observation::Event(election::Event::Deposed { .. }) | Observation::Crashed => {
                self.beliefs.remove(&at);
            }
            Observation::Command { .. } | Observation::Recovered | Observation::Sent { .. } => {}
        }
        Ok(())
    }

    fn check_final_state(&self) -> MonitorResult {
        let left = |(_, term): &(&ProcessId, &Term)| self.beliefs.get(&term.leader) != Some(*term);
        let Some((at, term)) = self.beliefs.iter().find(left) else { return Ok(()) };
        let (at, leader) = (*at, term.leader);
        violated(at, format!("in the end {at} follows {leader}, which does not lead {term}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: ProcessId = ProcessId(0);
    const SECOND: ProcessId = ProcessId(1);

    fn elected(number: u64, leader: ProcessId) -> election::Event {
        election::Event::Elected { leader, term: Term { number, leader } }
    }

    #[test]
    fn accepts_groups_side_by_side() {
        let mut monitor = OneLeaderPerGroup::new();
        for process in [FIRST, SECOND] {
            monitor.observe(process, Observation::Event(&elected(1, process))).unwrap();
        }
        assert_eq!(monitor.check_final_state(), Ok(()));
        monitor.observe(FIRST, Observation::Event(&elected(1, SECOND))).unwrap();
        assert_eq!(monitor.check_final_state(), Ok(()));
    }

    #[test]
    fn rejects_follower_before_its_leader() {
        let mut monitor = OneLeaderPerGroup::new();
        monitor.observe(FIRST, Observation::Event(&elected(1, FIRST))).unwrap();
        let early = monitor.observe(SECOND, Observation::Event(&elected(2, FIRST)));
        assert!(early.unwrap_err().message.contains("does not lead"));
    }

    #[test]
    fn rejects_group_without_its_leader_in_the_end() {
        let mut monitor = OneLeaderPerGroup::new();
        monitor.observe(FIRST, Observation::Event(&elected(1, FIRST))).unwrap();
        monitor.observe(SECOND, Observation::Event(&elected(1, FIRST))).unwrap();
        monitor.observe(FIRST, Observation::Event(&elected(2, FIRST))).unwrap();
        assert_eq!(monitor.check_final_state().unwrap_err().at, SECOND);
        let mut crashed = OneLeaderPerGroup::new();
        crashed.observe(FIRST, Observation::Event(&elected(1, FIRST))).unwrap();
        crashed.observe(SECOND, Observation::Event(&elected(1, FIRST))).unwrap();
        crashed.observe(FIRST, Observation::Crashed).unwrap();
        assert_eq!(crashed.check_final_state().unwrap_err().at, SECOND);
    }
}
