//! Violations, and their place in a picture.

use tenure_core::{ProcessId, Property};

use super::layout::{Layout, Step};
use crate::fold::process_state::Condition;
use crate::format::ClockUnit;
use crate::verify::{Verification, Violated};

/// Violation within the picture.
#[derive(Clone, Debug, PartialEq)]
pub struct ViolationMark {
    /// Property that the step violated.
    pub property: Property,
    /// Description of the violation.
    pub description: String,
    /// Step of the violation.
    pub step: usize,
    /// Step at which the conflict ended, if it did.
    pub until: Option<usize>,
    /// Processes that are inside or lead in conflict with each other; empty for other properties.
    pub processes: Vec<ProcessId>,
}

impl Step {
    /// True if the process informs its user in this step that it is inside, is no longer inside, or
    /// has a leader.
    fn has_user_event(&self) -> bool {
        self.enters || self.exits || self.leader.is_some()
    }
}

impl Layout {
    /// Adds the violations that count and lie in the window. Their times are relative to the record
    /// at `first`, in ticks since the beginning of the trace.
    pub(super) fn find_violations(&mut self, verification: &Verification, first: u64) {
        let counting = verification.violations.iter().filter(|it| it.counts);
        self.violation_marks = counting.filter_map(|it| self.violation_mark(it, first)).collect();
    }

    /// Returns the step of a violation, if it lies in the window. Of several steps at that time, it
    /// is the last one with an event for a user.
    pub(super) fn step_of(&self, violated: &Violated, first: u64) -> Option<usize> {
        let time = first + (violated.at * 1e6).round() as u64;
        let at_time = || {
            let steps = self.steps.iter().enumerate();
            steps.filter(move |(_, step)| step.time == time && step.at.is_some())
        };
        let mut has_user_event = at_time().filter(|(_, it)| it.has_user_event());
        let exact = has_user_event.next_back().or_else(|| at_time().next_back());
        exact.map(|(step, _)| step).or_else(|| self.step_under_way(time))
    }

    /// Returns the last step that began before `time` and emitted an event. Used for real nodes,
    /// whose steps take time.
    fn step_under_way(&self, time: u64) -> Option<usize> {
        let ends = self.steps.iter().map(|step| step.time).max()?;
        if self.header.clock == ClockUnit::Tick || self.is_cut_off && ends < time {
            return None;
        }
        let started = self.steps.iter().enumerate().filter(|(_, step)| step.time <= time);
        let telling = started.filter(|(_, step)| step.at.is_some() && step.has_user_event());
        telling.max_by_key(|(place, step)| (step.time, *place)).map(|(place, _)| place)
    }

    fn violation_mark(&self, violated: &Violated, first: u64) -> Option<ViolationMark> {
        let step = self.step_of(violated, first)?;
        let holders = self.spans.iter().filter(|span| {
            let is_such = match violated.property {
                Property::MutualExclusion
                | Property::MutualExclusionStrict
                | Property::AtMost(_) => span.condition == Condition::Inside,
                Property::OneLeaderAtATime => matches!(span.condition, Condition::Leading(_)),
                _ => false,
            };
            let started = span.from.is_none_or(|from| from <= step);
            is_such && started && span.until.is_none_or(|until| until > step)
        });
        let holders = holders.collect::<Vec<_>>();
        let until = holders.iter().filter_map(|span| span.until).min();
        let processes = holders.iter().map(|span| span.at).collect();
        let description = crate::plain::plain(&violated.description).into_owned();
        Some(ViolationMark { property: violated.property, description, step, until, processes })
    }

    /// Returns one line per violation.
    pub(super) fn violation_lines(&self) -> impl Iterator<Item = String> {
        self.violation_marks
            .iter()
            .map(|mark| format!("✗ {} violated: {}", mark.property, mark.description))
    }
}
