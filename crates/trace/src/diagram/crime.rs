//! What went wrong, and where it is seen in a picture.

use tenure_core::{ProcessId, Property};

use super::layout::{Layout, Step};
use crate::fold::standing::Hold;
use crate::format::ClockUnit;
use crate::verify::{Verification, Violated};

/// A violation that lies in the picture.
#[derive(Clone, Debug, PartialEq)]
pub struct Crime {
    /// Which property is violated.
    pub property: Property,
    /// What happened, in a sentence.
    pub says: String,
    /// The step that did it.
    pub step: usize,
    /// The step with which it was over, if it was.
    pub until: Option<usize>,
    /// Who is inside, or leads, and should not with the others; nobody where that is no question.
    pub who: Vec<ProcessId>,
}

impl Step {
    /// Whether a user was told that it is inside, or is not any more, or who leads.
    fn tells(&self) -> bool {
        self.enters || self.exits || self.leader.is_some()
    }
}

impl Layout {
    /// The violations that count, as far as the window shows them. Those of a judge begin with the
    /// record at `first`, in ticks since the beginning of the trace.
    pub(super) fn find_crimes(&mut self, verification: &Verification, first: u64) {
        let counting = verification.violations.iter().filter(|it| it.counts);
        self.crimes = counting.filter_map(|it| self.crime(it, first)).collect();
    }

    /// The step that violated a property, if the window shows it: of several of that time the last
    /// that told a user something.
    pub(super) fn step_of(&self, violated: &Violated, first: u64) -> Option<usize> {
        let time = first + (violated.at * 1e6).round() as u64;
        let at_time = || {
            let steps = self.steps.iter().enumerate();
            steps.filter(move |(_, step)| step.time == time && step.at.is_some())
        };
        let mut tells = at_time().filter(|(_, it)| it.tells());
        let exact = tells.next_back().or_else(|| at_time().next_back());
        exact.map(|(step, _)| step).or_else(|| self.step_under_way(time))
    }

    /// Of real nodes, whose steps take a while: the last that began before, and told a user
    /// something.
    fn step_under_way(&self, time: u64) -> Option<usize> {
        let ends = self.steps.iter().map(|step| step.time).max()?;
        if self.header.clock == ClockUnit::Tick || self.goes_on && ends < time {
            return None;
        }
        let begun = self.steps.iter().enumerate().filter(|(_, step)| step.time <= time);
        let telling = begun.filter(|(_, step)| step.at.is_some() && step.tells());
        telling.max_by_key(|(place, step)| (step.time, *place)).map(|(place, _)| place)
    }

    fn crime(&self, violated: &Violated, first: u64) -> Option<Crime> {
        let step = self.step_of(violated, first)?;
        let guilty = self.spans.iter().filter(|span| {
            let is_such = match violated.property {
                Property::MutualExclusion
                | Property::MutualExclusionStrict
                | Property::AtMost(_) => span.hold == Hold::Inside,
                Property::OneLeaderAtATime => matches!(span.hold, Hold::Leading(_)),
                _ => false,
            };
            let begun = span.from.is_none_or(|from| from <= step);
            is_such && begun && span.until.is_none_or(|until| until > step)
        });
        let guilty = guilty.collect::<Vec<_>>();
        let until = guilty.iter().filter_map(|span| span.until).min();
        let who = guilty.iter().map(|span| span.at).collect();
        let says = crate::plain::plain(&violated.says).into_owned();
        Some(Crime { property: violated.property, says, step, until, who })
    }

    /// The violations in words, a line for each.
    pub(super) fn crimes_told(&self) -> impl Iterator<Item = String> {
        self.crimes.iter().map(|crime| format!("✗ {} violated: {}", crime.property, crime.says))
    }
}
