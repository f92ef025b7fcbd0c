//! Monitor that rejects two leaders at the same time: in any terms, or only in the same term.

use alloc::collections::BTreeMap;
use alloc::format;

use crate::monitor::{ElectionObservation, Monitor, MonitorResult, Observation, violated};
use crate::process::ProcessId;
use crate::property::Property;
use crate::service::{Term, election};

/// Pairs of leaders that the monitor [`OneLeader`] forbids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LeaderScope {
    /// Any two live processes that lead at the same time, whatever their terms.
    Overall,
    /// Any two live processes that lead at the same time under the same term number.
    PerTerm,
}

/// Monitor of simultaneous leaders: no two live processes believe at the same time that they lead.
/// With [`LeaderScope::PerTerm`], the rule applies only to leaders with the same term number. In
/// elections without terms, all leaders have the number 0.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OneLeader {
    scope: LeaderScope,
    leaders: BTreeMap<ProcessId, Term>,
}

impl OneLeader {
    /// Creates the monitor in its initial state: no process believes that it leads.
    pub fn new(scope: LeaderScope) -> Self {
        OneLeader { scope, leaders: BTreeMap::new() }
    }
}

impl Monitor<election::Command, election::Event> for OneLeader {
    fn property(&self) -> Property {
        match self.scope {
            LeaderScope::Overall => Property::OneLeaderAtATime,
            LeaderScope::PerTerm => Property::OneLeaderPerTerm,
        }
    }

    fn observe(&mut self, at: ProcessId, seen: ElectionObservation<'_>) -> MonitorResult {
        match seen {
            Observation::Event(election::Event::Elected { leader, term }) if *leader == at => {
                self.leaders.insert(at, *term);
            }
            Observation::Command { .. } | Observation::Sent { .. } => return Ok(()),
            _ => {
                self.leaders.remove(&at);
                return Ok(());
            }
        }
        let mine = self.leaders[&at];
        let rival = self.leaders.iter().find(|(process, term)| {
            **process != at && (self.scope == LeaderScope::Overall || term.number == mine.number)
        });
        let Some((other, term)) = rival else { return Ok(()) };
        violated(at, format!("{at} (term {mine}) and {other} (term {term}) both lead"))
    }
}
