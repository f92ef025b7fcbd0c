use alloc::collections::BTreeMap;
use alloc::format;

use crate::monitor::{Monitor, Observed, OfElection, Violation};
use crate::process::ProcessId;
use crate::property::Property;
use crate::service::{Term, election};

/// One leader per term, terms only grow at a process, and in the end all who are live and
/// took part believe in the same leader, who is live.
///
/// A process that never took part may hold an old belief or none: it is not judged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Agreement {
    beliefs: BTreeMap<ProcessId, Belief>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Belief {
    /// The term and leader last told; `None` before that and after `Deposed`.
    leader: Option<(Term, ProcessId)>,
    /// The highest term ever told since boot.
    highest: Option<Term>,
    crashed: bool,
}

impl Agreement {
    /// Before anybody was elected.
    pub fn new() -> Self {
        Agreement::default()
    }

    /// Whom each process believes in; `None` for those that were told nothing or were told to
    /// forget. Crashed processes are left out.
    pub fn believed(&self) -> impl Iterator<Item = (ProcessId, Option<ProcessId>)> + '_ {
        self.beliefs
            .iter()
            .filter(|(_, belief)| !belief.crashed)
            .map(|(process, belief)| (*process, belief.leader.map(|(_, leader)| leader)))
    }

    fn elected(&mut self, at: ProcessId, leader: ProcessId, term: Term) -> Result<(), Violation> {
        let belief = self.beliefs.entry(at).or_default();
        let violated = |says| Err(Violation { at, says });
        if term.number > 0 && term.leader != leader {
            return violated(format!("{at} was told of {leader} in the term {term}"));
        }
        if term.number > 0
            && let Some(highest) = belief.highest
            && term < highest
        {
            return violated(format!("{at} went back from term {highest} to term {term}"));
        }
        belief.leader = Some((term, leader));
        belief.highest = belief.highest.max(Some(term));
        Ok(())
    }
}

impl Monitor<election::Command, election::Event> for Agreement {
    fn property(&self) -> Property {
        Property::Agreement
    }

    fn observe(&mut self, at: ProcessId, seen: OfElection<'_>) -> Result<(), Violation> {
        match seen {
            Observed::Event(election::Event::Elected { leader, term }) => {
                return self.elected(at, *leader, *term);
            }
            Observed::Event(election::Event::Deposed { .. }) => {
                self.beliefs.entry(at).or_default().leader = None;
            }
            Observed::Crashed => {
                self.beliefs.insert(at, Belief { crashed: true, ..Belief::default() });
            }
            Observed::Recovered => {
                self.beliefs.insert(at, Belief::default());
            }
            Observed::Command { .. } | Observed::Sent { .. } => {}
        }
        Ok(())
    }

    fn at_end(&self) -> Result<(), Violation> {
        let mut believers = self.beliefs.iter().filter_map(|(process, belief)| {
            belief.leader.map(|(term, leader)| (*process, term, leader))
        });
        let Some((first, first_term, first_leader)) = believers.next() else { return Ok(()) };
        for (at, term, leader) in believers {
            if (term, leader) != (first_term, first_leader) {
                let says = format!(
                    "in the end {first} believes in {first_leader} (term {first_term}) \
                     and {at} in {leader} (term {term})"
                );
                return Err(Violation { at, says });
            }
        }
        if self.beliefs.get(&first_leader).is_some_and(|belief| belief.crashed) {
            let says = format!("in the end all believe in {first_leader}, who has crashed");
            return Err(Violation { at: first, says });
        }
        Ok(())
    }
}
