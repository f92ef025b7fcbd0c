use alloc::collections::BTreeMap;
use alloc::format;

use crate::monitor::{Monitor, Observed, OfElection, Violation};
use crate::process::ProcessId;
use crate::property::Property;
use crate::service::{Term, election};

/// Within what there may be only one leader at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Two live processes never both believe themselves leader.
    Overall,
    /// Two live processes never both believe themselves leader under the same term number.
    PerTerm,
}

/// One leader at a time: no two live processes believe themselves leader at once.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OneLeader {
    scope: Scope,
    leaders: BTreeMap<ProcessId, Term>,
}

impl OneLeader {
    /// Before anybody was elected.
    pub fn new(scope: Scope) -> Self {
        OneLeader { scope, leaders: BTreeMap::new() }
    }
}

impl Monitor<election::Command, election::Event> for OneLeader {
    fn property(&self) -> Property {
        match self.scope {
            Scope::Overall => Property::OneLeaderAtATime,
            Scope::PerTerm => Property::OneLeaderPerTerm,
        }
    }

    fn observe(&mut self, at: ProcessId, seen: OfElection<'_>) -> Result<(), Violation> {
        match seen {
            Observed::Event(election::Event::Elected { leader, term }) if *leader == at => {
                self.leaders.insert(at, *term);
            }
            Observed::Command { .. } | Observed::Sent { .. } => return Ok(()),
            _ => {
                self.leaders.remove(&at);
                return Ok(());
            }
        }
        let mine = self.leaders[&at];
        let rival = self.leaders.iter().find(|(process, term)| {
            **process != at && (self.scope == Scope::Overall || term.number == mine.number)
        });
        let Some((other, term)) = rival else { return Ok(()) };
        let says = format!("{at} (term {mine}) and {other} (term {term}) both lead");
        Err(Violation { at, says })
    }
}
