//! Committed log as the members reported it, compared with the responses to clients.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use tenure_core::service::log::{Content, Entry, Payload};
use tenure_core::{ProcessId, Property};

use super::history::{Completion, Observation, Operation, OperationKind, Violation};
use super::state_machine::{Change, OperationId, StateMachine};

/// Committed entries and snapshots of a group. Monitors of the log check that all members agree.
#[derive(Clone, Debug, Default)]
pub struct CommittedLog {
    /// Change and term of each entry, from index 1.
    entries: Vec<(Option<Change>, u64)>,
    /// Leader of each term.
    leaders: BTreeMap<u64, ProcessId>,
    /// Last index that each running member has applied in its session.
    applied: BTreeMap<ProcessId, u64>,
    /// Members and last indices of their snapshots.
    snapshots: BTreeSet<(ProcessId, u64)>,
    /// Number of snapshots that a leader sent.
    snapshots_sent: u64,
    /// Cached states, by the index of their last entry.
    states: BTreeMap<u64, StateMachine>,
    /// First restored state that differs from the log.
    state_violation: Option<Violation>,
}

impl CommittedLog {
    /// Records that a member leads.
    pub fn record_leader(&mut self, at: ProcessId, term: u64) {
        self.leaders.insert(term, at);
    }

    /// True if the member led in one of these terms.
    pub fn has_led(&self, at: ProcessId, terms: Range<u64>) -> bool {
        self.leaders.range(terms).any(|(_, leader)| *leader == at)
    }

    /// Records that a member reported an entry as committed.
    pub fn record_commit(&mut self, at: ProcessId, index: u64, entry: &Entry) {
        self.applied.insert(at, index);
        if index == self.entries.len() as u64 + 1 {
            let change = match &entry.content {
                Content::Payload(payload) => Change::of(payload),
                _ => None,
            };
            self.entries.push((change, entry.term));
        }
    }

    /// Records that a member replaced all entries up to an index by a snapshot.
    pub fn record_compaction(&mut self, at: ProcessId, index: u64) {
        self.snapshots.insert((at, index));
    }

    /// Records that a member restored a snapshot, its own or one of a leader. Compares the state
    /// with the log.
    pub fn record_restore(&mut self, at: ProcessId, index: u64, state: &Payload) {
        self.applied.insert(at, index);
        self.snapshots_sent += u64::from(self.snapshots.insert((at, index)));
        let entries = self.state_at(index).snapshot();
        if entries != *state && self.state_violation.is_none() {
            let message = format!(
                "{at} record_start with {state} as of {index}, and the entries up to there come to \
                 {entries}"
            );
            self.state_violation =
                Some(Violation { property: Property::StateMachineSafety, message: message });
        }
    }

    /// Returns the state that results from the entries up to an index.
    fn state_at(&mut self, index: u64) -> StateMachine {
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

    /// Returns the numbers of all snapshots, and of those that a leader sent.
    pub fn snapshots(&self) -> (u64, u64) {
        (self.snapshots.len() as u64, self.snapshots_sent)
    }

    /// Records that a member crashed, so that it reports all entries again.
    pub fn record_crash(&mut self, at: ProcessId) {
        self.applied.remove(&at);
    }

    /// Returns the number of committed entries.
    pub fn entries(&self) -> u64 {
        self.entries.len() as u64
    }

    /// Returns the terms of the first and the last entry.
    pub fn terms(&self) -> Option<(u64, u64)> {
        Some((self.entries.first()?.1, self.entries.last()?.1))
    }

    /// Returns the members that have applied every entry.
    pub fn complete(&self) -> Vec<ProcessId> {
        let all = self.applied.iter().filter(|(_, applied)| **applied == self.entries());
        all.map(|(at, _)| *at).collect()
    }

    /// Returns the value of the counter.
    pub fn counter(&self) -> u64 {
        self.increments().len() as u64
    }

    /// Returns the new value of the counter for each increment. Only its first entry counts.
    fn increments(&self) -> BTreeMap<OperationId, u64> {
        let mut increments = BTreeMap::new();
        for (change, _) in &self.entries {
            if let Some(Change::Add(tag)) = change {
                let next = increments.len() as u64 + 1;
                increments.entry(*tag).or_insert(next);
            }
        }
        increments
    }

    /// Returns the term of the last entry for each change.
    pub fn terms_of_changes(&self) -> BTreeMap<OperationId, u64> {
        let changes = self.entries.iter();
        changes.filter_map(|(change, term)| Some((change.as_ref()?.tag(), *term))).collect()
    }

    /// Returns the number of entries for each write.
    fn writes(&self) -> BTreeMap<OperationId, u64> {
        let mut writes = BTreeMap::new();
        for (change, _) in &self.entries {
            if let Some(Change::Set(tag)) = change {
                *writes.entry(*tag).or_insert(0) += 1;
            }
        }
        writes
    }

    /// Checks that a client requested every change in the log.
    fn check_creation(&self, operations: &[Operation]) -> Result<(), Violation> {
        let requested: BTreeSet<(OperationId, bool)> =
            operations.iter().map(|it| (it.tag, it.kind == OperationKind::Add)).collect();
        let changes = self.entries.iter().filter_map(|(change, _)| *change);
        let is_asked =
            |change: &Change| requested.contains(&(change.tag(), matches!(change, Change::Add(_))));
        changes.into_iter().find(|change| !is_asked(change)).map_or(Ok(()), |change| {
            let message = format!("{change} is in the log, and no client requested it");
            Err(Violation { property: Property::NoCreation, message: message })
        })
    }

    /// Checks the responses to clients: an acknowledged operation took effect once, a rejected one
    /// did not.
    ///
    /// # Errors
    ///
    /// The first [`Violation`].
    pub fn check(&self, operations: &[Operation]) -> Result<(), Violation> {
        self.state_violation.clone().map_or(Ok(()), Err)?;
        self.check_creation(operations)?;
        let (increments, writes) = (self.increments(), self.writes());
        for Operation { tag, kind, end, .. } in operations {
            let there = match kind {
                OperationKind::Add => u64::from(increments.contains_key(tag)),
                OperationKind::Set => writes.get(tag).copied().unwrap_or(0),
                OperationKind::GetCounter | OperationKind::GetRegister => continue,
            };
            let fault = |property, message: String| Err(Violation { property, message: message });
            match end {
                Completion::Answered(..) if there == 0 => {
                    let message = format!("{tag} was acknowledged, but is not in the log");
                    return fault(Property::Durability, message);
                }
                Completion::Refused if there > 0 => {
                    let message = format!("{tag} was rejected, but is in the log");
                    return fault(Property::Integrity, message);
                }
                _ if there > 1 => {
                    let message =
                        format!("{tag} was requested once, but is in the log {there} times");
                    return fault(Property::Integrity, message);
                }
                Completion::Answered(_, Observation::Counter(value))
                    if increments.get(tag) != Some(value) =>
                {
                    let made = increments.get(tag).copied().unwrap_or(0);
                    let message = format!(
                        "the response to {tag} was counter {value}, but by the log it made the \
                         counter {made}"
                    );
                    return fault(Property::StateMachineSafety, message);
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

    const TAG: OperationId = OperationId { client: 1, number: 1 };
    const OTHER: OperationId = OperationId { client: 2, number: 1 };

    fn committed_log(changes: &[Change]) -> CommittedLog {
        let mut committed_log = CommittedLog::default();
        for (place, change) in changes.iter().enumerate() {
            let entry = Entry { term: 1, content: Content::Payload(change.payload()) };
            for at in [0, 1] {
                committed_log.record_commit(ProcessId(at), place as u64 + 1, &entry);
            }
        }
        committed_log
    }

    fn operation(kind: OperationKind, end: Completion) -> Operation {
        Operation { tag: TAG, kind, asked_at: 1, end }
    }

    fn checked(changes: &[Change], kind: OperationKind, end: Completion) -> Option<Property> {
        let other = Operation {
            tag: OTHER,
            kind: OperationKind::Add,
            asked_at: 1,
            end: Completion::Unknown,
        };
        committed_log(changes)
            .check(&[operation(kind, end), other])
            .err()
            .map(|fault| fault.property)
    }

    #[test]
    fn detects_lost_acknowledged_operation() {
        let end = Completion::Answered(2, Observation::Counter(1));
        assert_eq!(checked(&[], OperationKind::Add, end), Some(Property::Durability));
        assert_eq!(checked(&[Change::Add(TAG)], OperationKind::Add, end), None);
        let end = Completion::Answered(2, Observation::Written);
        assert_eq!(
            checked(&[Change::Add(OTHER)], OperationKind::Set, end),
            Some(Property::Durability)
        );
        assert_eq!(checked(&[], OperationKind::Set, Completion::Unknown), None);
        assert_eq!(
            checked(&[Change::Add(TAG)], OperationKind::Set, end),
            Some(Property::NoCreation)
        );
    }

    #[test]
    fn detects_repeated_or_rejected_operation() {
        let (set, add) = (Change::Set(TAG), Change::Add(TAG));
        let written = Completion::Answered(2, Observation::Written);
        assert_eq!(checked(&[set, set], OperationKind::Set, written), Some(Property::Integrity));
        assert_eq!(
            checked(&[set, set], OperationKind::Set, Completion::Unknown),
            Some(Property::Integrity)
        );
        assert_eq!(
            checked(&[set], OperationKind::Set, Completion::Refused),
            Some(Property::Integrity)
        );
        // An increment counts once, however many entries it has.
        let counted = Completion::Answered(2, Observation::Counter(1));
        assert_eq!(checked(&[add, add], OperationKind::Add, counted), None);
        let repeated = [Change::Add(OTHER), add, add];
        assert_eq!(
            checked(&repeated, OperationKind::Add, counted),
            Some(Property::StateMachineSafety)
        );
        assert_eq!(committed_log(&repeated).counter(), 2);
    }

    #[test]
    fn detects_snapshot_that_differs_from_the_log() {
        let set = Change::Set(TAG);
        let written = Completion::Answered(2, Observation::Written);
        let operations =
            [Operation { tag: TAG, kind: OperationKind::Set, asked_at: 1, end: written }];
        for (state, state_violation) in [("0_1.1", false), ("0_none", true)] {
            let mut committed_log = committed_log(&[set]);
            committed_log.record_compaction(ProcessId(0), 1);
            committed_log.record_crash(ProcessId(0));
            let state = Payload::new(state.as_bytes());
            for at in [0, 2] {
                committed_log.record_restore(ProcessId(at), 1, &state);
            }
            assert_eq!(committed_log.snapshots(), (2, 1), "the third one was sent");
            assert_eq!(committed_log.complete().len(), 3);
            let checked = committed_log.check(&operations).err().map(|fault| fault.property);
            assert_eq!(checked, state_violation.then_some(Property::StateMachineSafety), "{state}");
        }
    }

    #[test]
    fn complete_members_have_applied_every_entry() {
        let mut committed_log = committed_log(&[Change::Add(TAG)]);
        assert_eq!(committed_log.complete(), [ProcessId(0), ProcessId(1)]);
        let entry = Entry { term: 3, content: Content::Nothing };
        committed_log.record_commit(ProcessId(1), 2, &entry);
        committed_log.record_crash(ProcessId(0));
        assert_eq!(committed_log.complete(), [ProcessId(1)]);
        assert_eq!((committed_log.entries(), committed_log.terms()), (2, Some((1, 3))));
    }
}
