//! Monitor of elections: one leader in each term, and one leader for all processes at the end.

use alloc::collections::BTreeMap;
use alloc::format;

use crate::monitor::{ElectionObservation, Monitor, MonitorResult, Observation, violated};
use crate::process::ProcessId;
use crate::property::Property;
use crate::service::{Term, election};

/// Monitor of elections: the leader that a process reports is the winner of the reported term, and
/// the terms that a process reports never decrease. At the end, all live processes that believe in
/// a leader believe in the same leader, which is not down.
///
/// At the end, the monitor does not judge a process that has reported no leader since its boot.
/// Neither does it judge a process whose last report is that the leader is deposed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct LeaderAgreement {
    beliefs: BTreeMap<ProcessId, Belief>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Belief {
    /// Last term and leader that the process reported. `None` before its first report, after a
    /// crash, and after it reported that the leader is deposed.
    leader: Option<(Term, ProcessId)>,
    /// Highest term that the process has reported since boot; `None` if it has reported none.
    highest: Option<Term>,
    crashed: bool,
}

impl LeaderAgreement {
    /// Creates the monitor in its initial state: no process has reported a leader.
    pub fn new() -> Self {
        LeaderAgreement::default()
    }

    /// Marks the processes `down` as down from the start. At the end, no live process may believe
    /// in one of them, unless it has recovered.
    #[must_use]
    pub fn with_initially_down(mut self, down: &[ProcessId]) -> Self {
        for process in down {
            self.mark_crashed(*process);
        }
        self
    }

    fn mark_crashed(&mut self, at: ProcessId) {
        self.beliefs.insert(at, Belief { crashed: true, ..Belief::default() });
    }

    /// Returns each live process that has reported a leader or has recovered, with the leader that
    /// it believes in. This leader is `None` if the process has reported no leader since its boot,
    /// or has reported that its leader is deposed.
    pub fn believed_leaders(&self) -> impl Iterator<Item = (ProcessId, Option<ProcessId>)> + '_ {
        self.beliefs
            .iter()
            .filter(|(_, belief)| !belief.crashed)
            .map(|(process, belief)| (*process, belief.leader.map(|(_, leader)| leader)))
    }

    fn elected(&mut self, at: ProcessId, leader: ProcessId, term: Term) -> MonitorResult {
        let belief = self.beliefs.entry(at).or_default();
        if term.number > 0 && term.leader != leader {
            return violated(at, format!("{at} learned of leader {leader} in term {term}"));
        }
        if term.number > 0
            && let Some(highest) = belief.highest
            && term < highest
        {
            return violated(at, format!("{at} went back from term {highest} to term {term}"));
        }
        belief.leader = Some((term, leader));
        belief.highest = belief.highest.max(Some(term));
        Ok(())
    }
}

impl Monitor<election::Command, election::Event> for LeaderAgreement {
    fn property(&self) -> Property {
        Property::Agreement
    }

    fn observe(&mut self, at: ProcessId, seen: ElectionObservation<'_>) -> MonitorResult {
        match seen {
            Observation::Event(election::Event::Elected { leader, term }) => {
                return self.elected(at, *leader, *term);
            }
            Observation::Event(election::Event::Deposed { .. }) => {
                self.beliefs.entry(at).or_default().leader = None;
            }
            Observation::Crashed => self.mark_crashed(at),
            Observation::Recovered => {
                self.beliefs.insert(at, Belief::default());
            }
            Observation::Command { .. } | Observation::Sent { .. } => {}
        }
        Ok(())
    }

    fn check_final_state(&self) -> MonitorResult {
        let mut believers = self.beliefs.iter().filter_map(|(process, belief)| {
            belief.leader.map(|(term, leader)| (*process, term, leader))
        });
        let Some((first, first_term, first_leader)) = believers.next() else { return Ok(()) };
        for (at, term, leader) in believers {
            if (term, leader) != (first_term, first_leader) {
                let message = format!(
                    "in the end {first} believes in {first_leader} (term {first_term}) \
                     and {at} in {leader} (term {term})"
                );
                return violated(at, message);
            }
        }
        if self.beliefs.get(&first_leader).is_some_and(|belief| belief.crashed) {
            let message = format!("in the end all believe in {first_leader}, which has crashed");
            return violated(first, message);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_leader_that_is_down_from_the_start() {
        let [leader, follower] = [ProcessId(0), ProcessId(1)];
        let elected = election::Event::Elected { leader, term: Term { number: 0, leader } };
        let believed = |mut monitor: LeaderAgreement| {
            monitor.observe(follower, Observation::Event(&elected)).expect("no violation");
            monitor
        };
        assert_eq!(believed(LeaderAgreement::new()).check_final_state(), Ok(()));
        let mut monitor = believed(LeaderAgreement::new().with_initially_down(&[leader]));
        let message = monitor.check_final_state().expect_err("the leader is down").message;
        assert_eq!(message, "in the end all believe in P1, which has crashed");
        monitor.observe(leader, Observation::Recovered).expect("no violation");
        assert_eq!(monitor.check_final_state(), Ok(()));
    }
}
