//! Violations, and their places in a diagram.

use tenure_core::{ProcessId, Property};

use super::layout::{DiagramLayout, DiagramStep};
use crate::fold::process_state::ProcessCondition;
use crate::format::{ClockUnit, Header, TraceProducer};
use crate::verify::{TraceViolation, Verification};

/// A violation of a promised property that lies in the window of a diagram.
#[derive(Clone, Debug, PartialEq)]
pub struct ViolationMark {
    /// Property that the run violates.
    pub property: Property,
    /// Description of the violation.
    pub description: String,
    /// Index of the step in which the violation occurred.
    pub step: usize,
    /// Index of the step that ended the conflict. In a conflict, several processes are inside the
    /// critical section, or lead, at the same time. `None` if the conflict did not end in the
    /// window, or if the property is not about a conflict.
    pub conflict_end_step: Option<usize>,
    /// Processes in conflict, which are inside the critical section, or lead, at the same time.
    /// Empty if the property is not about a conflict.
    pub conflicting_processes: Vec<ProcessId>,
}

impl DiagramStep {
    /// Returns true if the process has entered or left the critical section in this step, or has
    /// learned of a leader. The user of the process then receives an event. Events of agreement
    /// services do not count.
    fn has_user_event(&self) -> bool {
        self.enters || self.exits || self.leader.is_some()
    }
}

impl DiagramLayout {
    /// Finds the violations of promised properties in the window. `first_time` is the time of the
    /// first record, as the diagram counts it. The times of violations are relative to
    /// `first_time`.
    pub(super) fn place_violation_marks(&mut self, verification: &Verification, first_time: u64) {
        let counting = verification.violations.iter().filter(|it| it.is_failure);
        self.violation_marks =
            counting.filter_map(|it| self.violation_mark(it, first_time)).collect();
    }

    /// Marks the last step of a checker's counterexample as the violation, if this crate does not
    /// know the violated property. Such a property is an expression of the user, or belongs to a
    /// monitor that the program has added. Does nothing if the window ends before the trace.
    pub(super) fn mark_unknown_violation(&mut self) {
        let Header { source, violates, .. } = &self.header;
        let unknown = violates.iter().find(|name| Property::from_name(name).is_none());
        let (Some(name), TraceProducer::Checker, false) = (unknown, source, self.is_cut_off) else {
            return;
        };
        let Some(step) = self.steps.len().checked_sub(1) else { return };
        let description = crate::escaping::escape_invisible(name).into_owned();
        let property = Property::Custom("property");
        let (until, processes) = (None, Vec::new());
        self.violation_marks.push(ViolationMark {
            property,
            description,
            step,
            conflict_end_step: until,
            conflicting_processes: processes,
        });
    }

    /// Returns the index of the step in which a violation occurred. If several steps began at the
    /// time of the violation, returns the last of them with an event for a user, or the last one if
    /// there is no such event. `first_time` is as in [`DiagramLayout::place_violation_marks`].
    /// Returns `None` if the window contains no step of the violation.
    pub(super) fn step_of_violation(
        &self,
        violation: &TraceViolation,
        first_time: u64,
    ) -> Option<usize> {
        let time = first_time.saturating_add((violation.at * 1e6).round() as u64);
        let at_time = || {
            let steps = self.steps.iter().enumerate();
            steps.filter(move |(_, step)| step.time == time && step.at.is_some())
        };
        let mut has_user_event = at_time().filter(|(_, it)| it.has_user_event());
        let exact = has_user_event.next_back().or_else(|| at_time().next_back());
        exact.map(|(step, _)| step).or_else(|| self.step_under_way(time))
    }

    /// Returns the index of the step in which a violation at `time` occurred, in a trace of real
    /// nodes. A step of a real node takes time, so the violation may be later than the beginning of
    /// its step. Chooses the last step that began at `time` or before, and in which the user of the
    /// process received an event. Returns `None` for a trace in virtual time, and if the window
    /// ends before `time`.
    fn step_under_way(&self, time: u64) -> Option<usize> {
        let ends = self.steps.iter().map(|step| step.time).max()?;
        if self.header.clock == ClockUnit::Tick || self.is_cut_off && ends < time {
            return None;
        }
        let started = self.steps.iter().enumerate().filter(|(_, step)| step.time <= time);
        let telling = started.filter(|(_, step)| step.at.is_some() && step.has_user_event());
        telling.max_by_key(|(place, step)| (step.time, *place)).map(|(place, _)| place)
    }

    fn violation_mark(&self, violated: &TraceViolation, first: u64) -> Option<ViolationMark> {
        let step = self.step_of_violation(violated, first)?;
        let holders = self.spans.iter().filter(|span| {
            let is_such = match violated.property {
                Property::MutualExclusion
                | Property::LocalMutualExclusion
                | Property::MutualExclusionStrict
                | Property::KExclusion(_) => span.condition == ProcessCondition::Inside,
                Property::OneLeaderAtATime => {
                    matches!(span.condition, ProcessCondition::Leading(_))
                }
                _ => false,
            };
            let started = span.from.is_none_or(|from| from <= step);
            is_such && started && span.until.is_none_or(|until| until > step)
        });
        let holders = holders.collect::<Vec<_>>();
        let until = holders.iter().filter_map(|span| span.until).min();
        let processes = holders.iter().map(|span| span.at).collect();
        let description = crate::escaping::escape_invisible(&violated.description).into_owned();
        Some(ViolationMark {
            property: violated.property,
            description,
            step,
            conflict_end_step: until,
            conflicting_processes: processes,
        })
    }

    pub(super) fn violation_lines(&self) -> impl Iterator<Item = String> {
        self.violation_marks
            .iter()
            .map(|mark| format!("✗ {} violated: {}", mark.property, mark.description))
    }
}
