use alloc::collections::BTreeMap;
use alloc::format;

use super::books::Books;
use crate::monitor::{Monitor, Observed, Violation};
use crate::process::ProcessId;
use crate::property::Property;
use crate::service::log::{Command, Entry, Event};

/// *Leader completeness*: whoever leads has in its log what was committed in an earlier term. Of
/// what was acknowledged: the same, which is that nothing acknowledged is ever lost. A snapshot has
/// all that it stands for: that it was made of what is committed, *state machine safety* says.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Completeness {
    /// Whether only what was acknowledged counts.
    acknowledged: bool,
    books: Books,
    /// By process that is up: the term that it knows of.
    terms: BTreeMap<ProcessId, u64>,
    /// By process that leads: its term.
    leading: BTreeMap<ProcessId, u64>,
    /// By index: what is committed there, and the earliest term in which that was known.
    committed: BTreeMap<u64, (Entry, u64)>,
}

impl Completeness {
    /// Before anything was committed.
    pub fn new() -> Self {
        Completeness {
            acknowledged: false,
            books: Books::default(),
            terms: BTreeMap::new(),
            leading: BTreeMap::new(),
            committed: BTreeMap::new(),
        }
    }

    /// The same, of what was acknowledged.
    #[must_use]
    pub fn of_acknowledged(self) -> Self {
        Completeness { acknowledged: true, ..self }
    }

    fn lacks(&self, leader: ProcessId, term: u64, index: u64) -> Result<(), Violation> {
        let (entry, known) = &self.committed[&index];
        let has = self.books.entry(leader, index) == Some(entry);
        if *known >= term || has || self.books.is_compacted(leader, index) {
            return Ok(());
        }
        let what = if self.acknowledged { "acknowledged" } else { "committed" };
        let says = format!(
            "{entry} was {what} at {index} in term {known}, and {leader}, who leads in term \
             {term}, does not have it"
        );
        Err(Violation { at: leader, says })
    }

    fn leads(&mut self, at: ProcessId, term: u64) -> Result<(), Violation> {
        self.terms.insert(at, term);
        self.leading.insert(at, term);
        self.committed.keys().try_for_each(|index| self.lacks(at, term, *index))
    }

    fn commits(&mut self, at: ProcessId, index: u64, entry: &Entry) -> Result<(), Violation> {
        let known = self.terms.get(&at).copied().unwrap_or(entry.term);
        let first = self.committed.entry(index).or_insert_with(|| (entry.clone(), known));
        first.1 = first.1.min(known);
        self.leading.iter().try_for_each(|(leader, term)| self.lacks(*leader, *term, index))
    }
}

impl Default for Completeness {
    fn default() -> Self {
        Completeness::new()
    }
}

impl Monitor<Command, Event> for Completeness {
    fn property(&self) -> Property {
        if self.acknowledged { Property::Durability } else { Property::LeaderCompleteness }
    }

    fn observe(
        &mut self,
        at: ProcessId,
        seen: Observed<'_, Command, Event>,
    ) -> Result<(), Violation> {
        self.books.note(at, seen);
        match seen {
            Observed::Event(Event::Leading { term }) => self.leads(at, *term),
            Observed::Event(Event::Following { term, .. } | Event::Relaying { term, .. }) => {
                self.terms.insert(at, *term);
                self.leading.remove(&at);
                Ok(())
            }
            Observed::Event(Event::Committed { index, entry }) if !self.acknowledged => {
                self.commits(at, *index, entry)
            }
            Observed::Event(Event::Acknowledged { index, .. }) if self.acknowledged => {
                match self.books.entry(at, *index).cloned() {
                    Some(entry) => self.commits(at, *index, &entry),
                    None => {
                        let says = format!("{at} acknowledges {index}, which it does not have");
                        Err(Violation { at, says })
                    }
                }
            }
            Observed::Crashed => {
                self.terms.remove(&at);
                self.leading.remove(&at);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use super::*;
    use crate::service::log::Content;

    const ONE: ProcessId = ProcessId(0);
    const TWO: ProcessId = ProcessId(1);

    fn entry(term: u64) -> Entry {
        Entry { term, content: Content::Nothing }
    }

    fn holds(events: &[(ProcessId, Event)]) -> bool {
        let mut monitor = Completeness::new();
        events.iter().all(|(at, event)| monitor.observe(*at, Observed::Event(event)).is_ok())
    }

    #[test]
    fn a_later_leader_without_a_committed_entry_is_seen_whichever_is_told_first() {
        let stored = Event::Stored { index: 1, entry: entry(1) };
        let committed = Event::Committed { index: 1, entry: entry(1) };
        let leads = |term| Event::Leading { term };
        let first: Vec<_> = [leads(1), stored.clone(), committed].map(|event| (ONE, event)).into();
        assert!(holds(&first));
        assert!(!holds(&[first.clone(), vec![(TWO, leads(2))]].concat()));
        assert!(!holds(&[vec![(TWO, leads(2))], first.clone()].concat()));
        assert!(holds(&[first.clone(), vec![(TWO, stored.clone()), (TWO, leads(2))]].concat()));
        // Of a leader of an earlier term, whom nobody heeds any more, nothing is expected.
        let late: Vec<_> = [(ONE, leads(3))].into_iter().chain(first.into_iter().skip(1)).collect();
        assert!(holds(&[late, vec![(TWO, leads(2))]].concat()));
    }
}
