//! Monitor of elections without terms: no process changes its leader without a cause.

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use crate::monitor::{ElectionObservation, Monitor, MonitorResult, Observation, violated};
use crate::process::ProcessId;
use crate::property::Property;
use crate::service::election;

/// Monitor of elections without terms: a process changes its leader only after a new cause. A cause
/// is a command, a crash, a recovery or a suspicion at any process. A cause is new if it occurs
/// after the previous report of the process that changes its leader.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LeaderChangesNeedCause {
    epoch: u32,
    beliefs: Vec<Belief>,
}

/// Last leader that a process reported, and the value of `LeaderChangesNeedCause::epoch` at that
/// time. The type is compact because there may be a million processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Belief {
    epoch: u32,
    /// Process number of the leader, from 0; `u32::MAX` if there is no leader.
    leader: u32,
}

const NO_BELIEF: Belief = Belief { epoch: 0, leader: u32::MAX };

impl LeaderChangesNeedCause {
    /// Creates the monitor for a group of `size` processes, in its initial state: no process has
    /// reported a leader.
    pub fn new(size: u32) -> Self {
        LeaderChangesNeedCause { epoch: 0, beliefs: vec![NO_BELIEF; size as usize] }
    }

    /// Records a cause for another election, such as a request or a suspicion. After a cause, each
    /// process may change its leader.
    pub fn allow_new_election(&mut self) {
        self.epoch += 1;
    }

    fn forget(&mut self, at: ProcessId) {
        if let Some(belief) = self.beliefs.get_mut(at.index()) {
            *belief = NO_BELIEF;
        }
    }

    fn believes(&mut self, at: ProcessId, leader: ProcessId) -> MonitorResult {
        let Some(belief) = self.beliefs.get_mut(at.index()) else { return Ok(()) };
        let now = Belief { epoch: self.epoch, leader: leader.0 };
        let before = core::mem::replace(belief, now);
        let changed = before.leader != NO_BELIEF.leader && before.leader != leader.0;
        if !changed || before.epoch != self.epoch {
            return Ok(());
        }
        let old = ProcessId(before.leader);
        violated(at, format!("{at} believed in {old} and then in {leader} in one election"))
    }
}

impl Monitor<election::Command, election::Event> for LeaderChangesNeedCause {
    fn property(&self) -> Property {
        Property::Irrevocability
    }

    fn observe(&mut self, at: ProcessId, seen: ElectionObservation<'_>) -> MonitorResult {
        match seen {
            Observation::Event(election::Event::Elected { leader, term }) if term.number == 0 => {
                return self.believes(at, *leader);
            }
            // Elections with terms are not judged here. The monitor of agreement judges that their
            // terms never decrease. After such a report, or after a report that the leader is
            // deposed, the process has no leader to change.
            Observation::Event(_) => self.forget(at),
            Observation::Crashed => {
                self.forget(at);
                self.allow_new_election();
            }
            Observation::Command { .. } | Observation::Recovered => self.allow_new_election(),
            Observation::Sent { .. } => {}
        }
        Ok(())
    }
}
