//! Intervals in which conditions hold. The module builds them from records: a record may begin or
//! end intervals.

use std::collections::{BTreeMap, BTreeSet};

use tenure_core::ProcessId;

use super::layout::{ConditionSpan, PartitionSpan};
use crate::fold::process_state::{ConditionGroup, ProcessCondition, ProcessStateChange};

/// Intervals in which conditions hold at processes, and intervals in which the network is
/// partitioned. Some intervals have ended, and others still last.
#[derive(Clone, Debug, Default)]
pub(super) struct SpanTracker {
    done: Vec<ConditionSpan>,
    open: BTreeMap<(ProcessId, ConditionGroup), ConditionSpan>,
    /// Processes that have received or passed on a token before the current record.
    token_known: BTreeSet<ProcessId>,
    /// First process that entered the critical section in the run.
    first_inside: Option<ProcessId>,
    /// For each process that entered the critical section, the step in which the process last
    /// entered. `None` if the window does not contain this step.
    inside_since: BTreeMap<ProcessId, Option<usize>>,
    regions: Vec<PartitionSpan>,
    split: Option<PartitionSpan>,
}

impl SpanTracker {
    /// Begins the interval in which `condition` holds at the process `at`. If another condition of
    /// the same group holds, ends the interval of that condition. The new interval begins at
    /// `step`. `step` is `None` if the condition held at the beginning of the window.
    fn begin(&mut self, at: ProcessId, condition: ProcessCondition, step: Option<usize>) {
        self.end_condition(at, condition.group(), step);
        let span = ConditionSpan { at, condition, from: step, until: None };
        self.open.insert((at, condition.group()), span);
    }

    /// Ends the open interval of a condition from the group `group` at the process `at`. The
    /// interval ends at `step`. If `step` is `None`, the interval ends before the window, and is
    /// dropped. Has no effect if no interval of the group is open at `at`.
    pub(super) fn end_condition(
        &mut self,
        at: ProcessId,
        group: ConditionGroup,
        step: Option<usize>,
    ) {
        let Some(span) = self.open.remove(&(at, group)) else { return };
        if step.is_some() {
            self.done.push(ConditionSpan { until: step, ..span });
        }
    }

    pub(super) fn apply_change(
        &mut self,
        at: ProcessId,
        change: ProcessStateChange,
        step: Option<usize>,
    ) {
        match change {
            ProcessStateChange::ConditionBegins(condition) => {
                if condition == ProcessCondition::Inside {
                    self.first_inside.get_or_insert(at);
                    self.inside_since.insert(at, step);
                }
                self.begin(at, condition, step);
            }
            ProcessStateChange::ConditionEnds(condition, _) => {
                self.end_condition(at, condition.group(), step)
            }
            _ => {}
        }
    }

    pub(super) fn is_down(&self, at: ProcessId) -> bool {
        self.open.contains_key(&(at, ConditionGroup::Down))
    }

    pub(super) fn record_crash(&mut self, at: ProcessId, step: Option<usize>) {
        for group in [
            ConditionGroup::Lock,
            ConditionGroup::Lead,
            ConditionGroup::Token,
            ConditionGroup::Stopped,
        ] {
            self.end_condition(at, group, step);
        }
        self.begin(at, ProcessCondition::Down, step);
    }

    /// Begins the interval in which the process `at` has a token, because a token has arrived
    /// there.
    pub(super) fn begin_token_span(&mut self, at: ProcessId, step: Option<usize>) {
        self.token_known.insert(at);
        self.begin(at, ProcessCondition::Token, step);
    }

    /// Ends the interval in which the process `at` had a token, because `at` passes the token on.
    /// If the trace does not show how `at` received its first token, estimates the start of the
    /// interval. If no other process entered the critical section first, the interval begins at the
    /// start of the run. Otherwise it begins at the last entry of `at`, and is omitted if this
    /// entry lies before the window.
    pub(super) fn end_token_span(&mut self, at: ProcessId, step: Option<usize>) {
        if self.token_known.insert(at) && step.is_some() {
            let made = self.first_inside.is_some_and(|first| first != at);
            let since = self.inside_since.get(&at).copied().flatten();
            if !made || since.is_some() {
                let from = since.filter(|_| made);
                self.done.push(ConditionSpan {
                    at,
                    condition: ProcessCondition::Token,
                    from,
                    until: step,
                });
            }
        }
        self.end_condition(at, ConditionGroup::Token, step);
    }

    pub(super) fn begin_partition(&mut self, sides: Vec<Vec<ProcessId>>, step: Option<usize>) {
        self.end_partition(step);
        self.split = Some(PartitionSpan { from: step, until: None, sides });
    }

    pub(super) fn end_partition(&mut self, step: Option<usize>) {
        let Some(region) = self.split.take() else { return };
        if step.is_some() {
            self.regions.push(PartitionSpan { until: step, ..region });
        }
    }

    pub(super) fn finish(mut self) -> (Vec<ConditionSpan>, Vec<PartitionSpan>) {
        self.done.extend(self.open.into_values());
        self.done
            .sort_by_key(|span| (span.at, span.condition.group(), span.from, span.until.is_none()));
        self.regions.extend(self.split);
        (self.done, self.regions)
    }
}
