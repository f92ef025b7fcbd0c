//! Monitors of services in which only some sessions exclude each other.

use alloc::collections::BTreeMap;
use alloc::format;

use crate::monitor::{Monitor, MonitorResult, Observation, violated};
use crate::process::ProcessId;
use crate::process_set::ProcessSet;
use crate::property::Property;
use crate::service::{drinking, forum};

/// Monitor of the drinking philosophers: two neighbours never drink from their common bottle at the
/// same time. A crash ends the session of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct BottleExclusion {
    /// For each drinking process: the neighbours with which the process shares a bottle of its
    /// session.
    sessions: BTreeMap<ProcessId, ProcessSet>,
}

impl Monitor<drinking::Command, drinking::Event> for BottleExclusion {
    fn property(&self) -> Property {
        Property::SessionExclusion
    }

    fn observe(
        &mut self,
        at: ProcessId,
        seen: Observation<'_, drinking::Command, drinking::Event>,
    ) -> MonitorResult {
        match seen {
            Observation::Event(drinking::Event::Drinking { bottles }) => {
                let mut sessions = self.sessions.iter();
                let other =
                    sessions.find(|(peer, theirs)| bottles.contains(**peer) && theirs.contains(at));
                if let Some((peer, _)) = other {
                    let message = format!("{at} drinks from the bottle from which {peer} drinks");
                    return violated(at, message);
                }
                self.sessions.insert(at, bottles.clone());
            }
            Observation::Event(drinking::Event::Tranquil)
            | Observation::Crashed
            | Observation::Recovered => {
                self.sessions.remove(&at);
            }
            Observation::Command { .. } | Observation::Sent { .. } => {}
        }
        Ok(())
    }
}

/// Monitor of group mutual exclusion: two processes never attend different forums at the same time.
/// A crash ends the session of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ForumExclusion {
    /// Number of the forum that each process attends.
    sessions: BTreeMap<ProcessId, u64>,
}

impl ForumExclusion {
    /// Returns the number of processes that attend a forum.
    pub fn attendee_count(&self) -> usize {
        self.sessions.len()
    }
}

impl Monitor<forum::Command, forum::Event> for ForumExclusion {
    fn property(&self) -> Property {
        Property::SessionExclusion
    }

    fn observe(
        &mut self,
        at: ProcessId,
        seen: Observation<'_, forum::Command, forum::Event>,
    ) -> MonitorResult {
        match seen {
            Observation::Event(forum::Event::Attending { forum }) => {
                let other = self.sessions.iter().find(|(_, theirs)| *theirs != forum);
                if let Some((peer, theirs)) = other {
                    let message =
                        format!("{at} attends forum {forum} while {peer} attends forum {theirs}");
                    return violated(at, message);
                }
                self.sessions.insert(at, *forum);
            }
            Observation::Event(forum::Event::Departed)
            | Observation::Crashed
            | Observation::Recovered => {
                self.sessions.remove(&at);
            }
            Observation::Command { .. } | Observation::Sent { .. } => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_bottle_is_used_once() {
        let drinks = |monitor: &mut BottleExclusion, at, bottles: &[u32]| {
            let bottles = bottles.iter().copied().map(ProcessId).collect();
            let event = drinking::Event::Drinking { bottles };
            monitor.observe(ProcessId(at), Observation::Event(&event))
        };
        let mut monitor = BottleExclusion::default();
        assert_eq!(drinks(&mut monitor, 0, &[1]), Ok(()));
        assert_eq!(drinks(&mut monitor, 1, &[2]), Ok(()), "P2 does not need the bottle of P1");
        let message = drinks(&mut monitor, 2, &[0, 1]).expect_err("P2 drinks from it").message;
        assert_eq!(message, "P3 drinks from the bottle from which P2 drinks");
        let tranquil = Observation::Event(&drinking::Event::Tranquil);
        assert_eq!(monitor.observe(ProcessId(1), tranquil), Ok(()));
        assert_eq!(drinks(&mut monitor, 2, &[0, 1]), Ok(()));
    }

    #[test]
    fn one_forum_at_a_time() {
        let attends = |monitor: &mut ForumExclusion, at, forum| {
            let event = forum::Event::Attending { forum };
            monitor.observe(ProcessId(at), Observation::Event(&event))
        };
        let mut monitor = ForumExclusion::default();
        assert_eq!((attends(&mut monitor, 0, 7), attends(&mut monitor, 1, 7)), (Ok(()), Ok(())));
        assert_eq!(monitor.attendee_count(), 2);
        let message = attends(&mut monitor, 2, 8).expect_err("another forum").message;
        assert_eq!(message, "P3 attends forum 8 while P1 attends forum 7");
        for at in [0, 1] {
            let departed = Observation::Event(&forum::Event::Departed);
            assert_eq!(monitor.observe(ProcessId(at), departed), Ok(()));
        }
        assert_eq!(attends(&mut monitor, 2, 8), Ok(()));
    }
}
