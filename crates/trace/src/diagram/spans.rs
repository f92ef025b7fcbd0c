//! Intervals in which conditions hold. They begin and end while records are read.

use std::collections::{BTreeMap, BTreeSet};

use tenure_core::ProcessId;

use super::layout::{Region, Span};
use crate::fold::process_state::{Condition, ConditionGroup, StateChange};

/// Intervals of a run: those that have ended, and those that still last.
#[derive(Clone, Debug, Default)]
pub(super) struct Spans {
    done: Vec<Span>,
    open: BTreeMap<(ProcessId, ConditionGroup), Span>,
    /// Processes for which the records so far show whether they have a token.
    token_known: BTreeSet<ProcessId>,
    /// First process that entered the critical section, if any.
    first_inside: Option<ProcessId>,
    /// Step in which each process last entered. `None` if it lies before the window.
    inside_since: BTreeMap<ProcessId, Option<usize>>,
    regions: Vec<Region>,
    split: Option<Region>,
}

impl Spans {
    /// Begins an interval at a step, or before the window. Ends the interval of the same group.
    fn begin(&mut self, at: ProcessId, condition: Condition, step: Option<usize>) {
        self.end(at, condition.sort(), step);
        let span = Span { at, condition, from: step, until: None };
        self.open.insert((at, condition.sort()), span);
    }

    /// Ends the interval of this group. Drops it if it ended before the window.
    pub(super) fn end(&mut self, at: ProcessId, sort: ConditionGroup, step: Option<usize>) {
        let Some(span) = self.open.remove(&(at, sort)) else { return };
        if step.is_some() {
            self.done.push(Span { until: step, ..span });
        }
    }

    /// Applies a change of state at a step.
    pub(super) fn apply(&mut self, at: ProcessId, change: StateChange, step: Option<usize>) {
        match change {
            StateChange::Begins(condition) => {
                if condition == Condition::Inside {
                    self.first_inside.get_or_insert(at);
                    self.inside_since.insert(at, step);
                }
                self.begin(at, condition, step);
            }
            StateChange::Ends(condition, _) => self.end(at, condition.sort(), step),
            _ => {}
        }
    }

    pub(super) fn is_down(&self, at: ProcessId) -> bool {
        self.open.contains_key(&(at, ConditionGroup::Down))
    }

    /// Ends all intervals of a process that crashed, and begins the interval in which it is down.
    pub(super) fn crash(&mut self, at: ProcessId, step: Option<usize>) {
        for sort in [
            ConditionGroup::Lock,
            ConditionGroup::Lead,
            ConditionGroup::Token,
            ConditionGroup::Stopped,
        ] {
            self.end(at, sort, step);
        }
        self.begin(at, Condition::Down, step);
    }

    /// Begins the interval in which a process has a token that has arrived.
    pub(super) fn get_token(&mut self, at: ProcessId, step: Option<usize>) {
        self.token_known.insert(at);
        self.begin(at, Condition::Token, step);
    }

    /// Ends the interval in which a process had a token that it passes on.
    ///
    /// If no record shows where the token came from, the first process that sends one had it from
    /// the beginning. A process that entered without a token, after another process had been
    /// inside, created it.
    pub(super) fn give_token(&mut self, at: ProcessId, step: Option<usize>) {
        if self.token_known.insert(at) && step.is_some() {
            let made = self.first_inside.is_some_and(|first| first != at);
            let since = self.inside_since.get(&at).copied().flatten();
            if !made || since.is_some() {
                let from = since.filter(|_| made);
                self.done.push(Span { at, condition: Condition::Token, from, until: step });
            }
        }
        self.end(at, ConditionGroup::Token, step);
    }

    pub(super) fn split(&mut self, sides: Vec<Vec<ProcessId>>, step: Option<usize>) {
        self.heal(step);
        self.split = Some(Region { from: step, until: None, sides });
    }

    pub(super) fn heal(&mut self, step: Option<usize>) {
        let Some(region) = self.split.take() else { return };
        if step.is_some() {
            self.regions.push(Region { until: step, ..region });
        }
    }

    /// Returns all intervals and partitions in a deterministic order.
    pub(super) fn finish(mut self) -> (Vec<Span>, Vec<Region>) {
        self.done.extend(self.open.into_values());
        self.done
            .sort_by_key(|span| (span.at, span.condition.sort(), span.from, span.until.is_none()));
        self.regions.extend(self.split);
        (self.done, self.regions)
    }
}
