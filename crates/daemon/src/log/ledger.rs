//! The one log, as its members were told of it, beside what its clients were told.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use tenure_core::service::log::{Content, Entry, Payload};
use tenure_core::{ProcessId, Property};

use super::history::{End, Fault, Operation, Saw, What};
use super::machine::{Change, Machine, Tag};

/// What the members of a group were told to be committed. That they all were told the same is for
/// the monitors of the log to judge.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// From index 1: what each entry changes, and its term.
    entries: Vec<(Option<Change>, u64)>,
    /// By term: who led.
    leaders: BTreeMap<u64, ProcessId>,
    /// By member that is up: how much of that it was told in this life.
    told: BTreeMap<ProcessId, u64>,
    /// Of which entries a member has a snapshot, or had: the last one for which it stands.
    snapshots: BTreeSet<(ProcessId, u64)>,
    /// How many snapshots a leader sent.
    sent: u64,
    /// What the entries come to, at the last of some of them.
    states: BTreeMap<u64, Machine>,
    /// The first member that began with another state than the entries come to.
    astray: Option<Fault>,
}

impl Ledger {
    /// A member leads.
    pub fn leads(&mut self, at: ProcessId, term: u64) {
        self.leaders.insert(term, at);
    }

    /// Whether a member led in one of these terms.
    pub fn has_led(&self, at: ProcessId, terms: Range<u64>) -> bool {
        self.leaders.range(terms).any(|(_, leader)| *leader == at)
    }

    /// A member is told that an entry is committed.
    pub fn committed(&mut self, at: ProcessId, index: u64, entry: &Entry) {
        self.told.insert(at, index);
        if index == self.entries.len() as u64 + 1 {
            let change = match &entry.content {
                Content::Payload(payload) => Change::of(payload),
                _ => None,
            };
            self.entries.push((change, entry.term));
        }
    }

    /// The state of a member stands for all entries up to there.
    pub fn compacted(&mut self, at: ProcessId, index: u64) {
        self.snapshots.insert((at, index));
    }

    /// A member begins with a snapshot: its own, or one that a leader sent.
    pub fn restored(&mut self, at: ProcessId, index: u64, state: &Payload) {
        self.told.insert(at, index);
        self.sent += u64::from(self.snapshots.insert((at, index)));
        let entries = self.state_at(index).snapshot();
        if entries != *state && self.astray.is_none() {
            let says = format!(
                "{at} begins with {state} as of {index}, and the entries up to there come to \
                 {entries}"
            );
            self.astray = Some(Fault { property: Property::StateMachineSafety, says });
        }
    }

    /// What the entries up to an index come to.
    fn state_at(&mut self, index: u64) -> Machine {
        let last = self.states.range(..=index).next_back();
        let (done, mut state) = last.map(|(at, it)| (*at, it.clone())).unwrap_or_default();
        let many = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        let next = self.entries.iter().take(many(index)).skip(many(done));
        next.filter_map(|(change, _)| *change).for_each(|change| {
            state.apply(change);
        });
        self.states.insert(index, state.clone());
        state
    }

    /// How many snapshots there were, and how many of them a leader sent.
    pub fn snapshots(&self) -> (u64, u64) {
        (self.snapshots.len() as u64, self.sent)
    }

    /// A member has crashed: it will be told all again.
    pub fn crashed(&mut self, at: ProcessId) {
        self.told.remove(&at);
    }

    /// How many entries are committed.
    pub fn entries(&self) -> u64 {
        self.entries.len() as u64
    }

    /// The terms of the first and of the last entry.
    pub fn terms(&self) -> Option<(u64, u64)> {
        Some((self.entries.first()?.1, self.entries.last()?.1))
    }

    /// Who was told of every entry.
    pub fn complete(&self) -> Vec<ProcessId> {
        let all = self.told.iter().filter(|(_, told)| **told == self.entries());
        all.map(|(at, _)| *at).collect()
    }

    /// What the counter has come to.
    pub fn counter(&self) -> u64 {
        self.additions().len() as u64
    }

    /// By increment, the value that it made of the counter: each counts where it stands first.
    fn additions(&self) -> BTreeMap<Tag, u64> {
        let mut additions = BTreeMap::new();
        for (change, _) in &self.entries {
            if let Some(Change::Add(tag)) = change {
                let next = additions.len() as u64 + 1;
                additions.entry(*tag).or_insert(next);
            }
        }
        additions
    }

    /// By change that is in the log, the term in which it came there, the last time.
    pub fn terms_of_changes(&self) -> BTreeMap<Tag, u64> {
        let changes = self.entries.iter();
        changes.filter_map(|(change, term)| Some((change.as_ref()?.tag(), *term))).collect()
    }

    /// How often each write is in the log.
    fn writes(&self) -> BTreeMap<Tag, u64> {
        let mut writes = BTreeMap::new();
        for (change, _) in &self.entries {
            if let Some(Change::Set(tag)) = change {
                *writes.entry(*tag).or_insert(0) += 1;
            }
        }
        writes
    }

    /// Somebody asked for whatever is there.
    fn all_asked(&self, operations: &[Operation]) -> Result<(), Fault> {
        let asked: BTreeSet<(Tag, bool)> =
            operations.iter().map(|it| (it.tag, it.what == What::Add)).collect();
        let changes = self.entries.iter().filter_map(|(change, _)| *change);
        let is_asked =
            |change: &Change| asked.contains(&(change.tag(), matches!(change, Change::Add(_))));
        changes.into_iter().find(|change| !is_asked(change)).map_or(Ok(()), |change| {
            let says = format!("{change} is in the log, and nobody asked for it");
            Err(Fault { property: Property::NoCreation, says })
        })
    }

    /// Judges what clients were told: whatever was acknowledged is there, once; what was refused
    /// is not.
    ///
    /// # Errors
    ///
    /// The first [`Fault`].
    pub fn judge(&self, operations: &[Operation]) -> Result<(), Fault> {
        self.astray.clone().map_or(Ok(()), Err)?;
        self.all_asked(operations)?;
        let (additions, writes) = (self.additions(), self.writes());
        for Operation { tag, what, end, .. } in operations {
            let there = match what {
                What::Add => u64::from(additions.contains_key(tag)),
                What::Set => writes.get(tag).copied().unwrap_or(0),
                What::GetCounter | What::GetRegister => continue,
            };
            let fault = |property, says: String| Err(Fault { property, says });
            match end {
                End::Answered(..) if there == 0 => {
                    let says = format!("{tag} was acknowledged, and is not in the log");
                    return fault(Property::Durability, says);
                }
                End::Refused if there > 0 => {
                    let says = format!("{tag} was refused, and is in the log");
                    return fault(Property::Integrity, says);
                }
                _ if there > 1 => {
                    let says = format!("{tag} was asked once, and is in the log {there} times");
                    return fault(Property::Integrity, says);
                }
                End::Answered(_, Saw::Counter(value)) if additions.get(tag) != Some(value) => {
                    let made = additions.get(tag).copied().unwrap_or(0);
                    let says = format!(
                        "{tag} was told that it made the counter {value}, and by the log it made \
                         it {made}"
                    );
                    return fault(Property::StateMachineSafety, says);
                }
                _ => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAG: Tag = Tag { client: 1, number: 1 };
    const OTHER: Tag = Tag { client: 2, number: 1 };

    fn ledger(changes: &[Change]) -> Ledger {
        let mut ledger = Ledger::default();
        for (place, change) in changes.iter().enumerate() {
            let entry = Entry { term: 1, content: Content::Payload(change.payload()) };
            for at in [0, 1] {
                ledger.committed(ProcessId(at), place as u64 + 1, &entry);
            }
        }
        ledger
    }

    fn operation(what: What, end: End) -> Operation {
        Operation { tag: TAG, what, asked: 1, end }
    }

    fn judged(changes: &[Change], what: What, end: End) -> Option<Property> {
        let other = Operation { tag: OTHER, what: What::Add, asked: 1, end: End::Unknown };
        ledger(changes).judge(&[operation(what, end), other]).err().map(|fault| fault.property)
    }

    #[test]
    fn an_acknowledged_operation_that_is_not_there_is_found() {
        let end = End::Answered(2, Saw::Counter(1));
        assert_eq!(judged(&[], What::Add, end), Some(Property::Durability));
        assert_eq!(judged(&[Change::Add(TAG)], What::Add, end), None);
        let end = End::Answered(2, Saw::Written);
        assert_eq!(judged(&[Change::Add(OTHER)], What::Set, end), Some(Property::Durability));
        assert_eq!(judged(&[], What::Set, End::Unknown), None);
        assert_eq!(judged(&[Change::Add(TAG)], What::Set, end), Some(Property::NoCreation));
    }

    #[test]
    fn what_is_there_twice_or_was_refused_is_found() {
        let (set, add) = (Change::Set(TAG), Change::Add(TAG));
        let written = End::Answered(2, Saw::Written);
        assert_eq!(judged(&[set, set], What::Set, written), Some(Property::Integrity));
        assert_eq!(judged(&[set, set], What::Set, End::Unknown), Some(Property::Integrity));
        assert_eq!(judged(&[set], What::Set, End::Refused), Some(Property::Integrity));
        // An increment is counted once, however often it is there.
        let counted = End::Answered(2, Saw::Counter(1));
        assert_eq!(judged(&[add, add], What::Add, counted), None);
        let twice = [Change::Add(OTHER), add, add];
        assert_eq!(judged(&twice, What::Add, counted), Some(Property::StateMachineSafety));
        assert_eq!(ledger(&twice).counter(), 2);
    }

    #[test]
    fn who_begins_with_another_state_than_the_log_comes_to_is_found() {
        let set = Change::Set(TAG);
        let written = End::Answered(2, Saw::Written);
        let operations = [Operation { tag: TAG, what: What::Set, asked: 1, end: written }];
        for (state, astray) in [("0_1.1", false), ("0_none", true)] {
            let mut ledger = ledger(&[set]);
            ledger.compacted(ProcessId(0), 1);
            ledger.crashed(ProcessId(0));
            let state = Payload::new(state.as_bytes());
            for at in [0, 2] {
                ledger.restored(ProcessId(at), 1, &state);
            }
            assert_eq!(ledger.snapshots(), (2, 1), "the third was sent it");
            assert_eq!(ledger.complete().len(), 3);
            let judged = ledger.judge(&operations).err().map(|fault| fault.property);
            assert_eq!(judged, astray.then_some(Property::StateMachineSafety), "{state}");
        }
    }

    #[test]
    fn whoever_was_told_less_is_not_complete() {
        let mut ledger = ledger(&[Change::Add(TAG)]);
        assert_eq!(ledger.complete(), [ProcessId(0), ProcessId(1)]);
        let entry = Entry { term: 3, content: Content::Nothing };
        ledger.committed(ProcessId(1), 2, &entry);
        ledger.crashed(ProcessId(0));
        assert_eq!(ledger.complete(), [ProcessId(1)]);
        assert_eq!((ledger.entries(), ledger.terms()), (2, Some((1, 3))));
    }
}
