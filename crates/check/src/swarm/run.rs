//! Execution of a swarm search, from the configuration of a check to its report.

use std::sync::Arc;

use tenure_core::Judgement;

use super::report::SwarmMemberCoverage;
use super::search::{SwarmPanic, SwarmResult, SwarmSearch, SwarmViolation, ViolatedBits};
use super::table::mix_bits;
use super::{HASHES, SwarmMemberConfig};
use crate::clock::Instant;
use crate::error::CheckError;
use crate::explain::findings::FinishedSearch;
use crate::explain::replay::RunPath;
use crate::explore::SearchResult;
use crate::explore::successors::SuccessorWorker;
use crate::explore::visited::StateId;
use crate::limits::Watchdog;
use crate::model::fingerprint::missed_state_probability;
use crate::plan::{CheckPlan, PropertyCheckKind, SelectedProperty};
use crate::report::{CheckReport, Counterexample};
use crate::world::rules::SearchRules;

/// Maximum number of searches for a shorter run that violates the same property.
const SHORTENINGS: u64 = 40;

/// Size of the table in a search for a shorter run, in bytes per state that the search may visit.
const BYTES_PER_STATE: u64 = 8;

/// Minimum value of the limit on states in a search for a shorter run.
const LEAST_STATES: u64 = 20_000;

impl CheckPlan {
    /// Performs the search of one member of a swarm.
    ///
    /// Judges safety in every state. Judges liveness only in states in which a run can end. Further
    /// steps may be possible in such a state, but the run need not take any of them. Never reports
    /// that a property holds.
    pub(crate) fn run_swarm_member(
        &mut self,
        swarm: SwarmMemberConfig,
        rules: Arc<SearchRules>,
    ) -> Result<CheckReport, CheckError> {
        let (first, rules) = self.prepare_initial_worlds(rules)?;
        let flag = self.config.search.stop_flag.clone();
        self.stop = self.stop.for_new_search(flag);
        let limits = self.config.search.limits;
        let _watchdog = Watchdog::start(limits, &self.stop, Instant::now(), false);
        let mut worker = SuccessorWorker::new(Arc::clone(&rules));
        let mut result = self.swarm_search(swarm, &rules, None).run(&mut worker, &first)?;
        let ids = (0..first.len()).map(first_id);
        let worlds = ids.zip(&first).map(|(id, (world, key))| (id, world.clone(), *key)).collect();
        let explored = SearchResult {
            initial_worlds: worlds,
            exceeded_bounds: result.exceeded,
            ..SearchResult::default()
        };
        let finished =
            FinishedSearch { config: self.config.clone(), rules: Arc::clone(&rules), explored };
        if let Some(SwarmPanic { first, actions, handler, message }) = result.panicked.take() {
            let path = RunPath { first: first_id(first), actions };
            let run = finished.describe_run_to_panic(&path, handler);
            return Err(CheckError::Panicked { message, run });
        }
        let violated = result.violation.clone().map(|found| {
            let states = result.states;
            self.shortened(found, states, swarm, &rules, &mut worker, &first)
        });
        let mut report = self.swarm_report(swarm, &finished, &result);
        for selected in &self.selected {
            let violated = violated.as_ref().filter(|found| self.violates(selected, found, &rules));
            let found = violated.map(|found| counterexample(&finished, selected, found));
            let is_violated = found.is_some();
            let judgement = if is_violated { Judgement::Violated } else { Judgement::Incomplete };
            report.properties.push((selected.property, judgement));
            report.counterexamples.extend(found);
        }
        Ok(report)
    }

    /// Returns a search for violations of the property `only`, or of all selected properties if
    /// `only` is `None`.
    fn swarm_search(
        &self,
        swarm: SwarmMemberConfig,
        rules: &SearchRules,
        only: Option<&SelectedProperty>,
    ) -> SwarmSearch<'_> {
        let (mut wanted, mut forbidden_at_end) = (0, 0);
        for selected in self.selected.iter().filter(|it| only.is_none_or(|only| only == *it)) {
            wanted |= selected.kind.step_violation_mask(rules.layout);
            forbidden_at_end |= end_violation_mask(selected.kind, rules);
        }
        SwarmSearch {
            config: &self.config.search,
            stop: self.stop.clone(),
            bytes: swarm.table_bytes,
            seed: mix_bits(swarm.member),
            depth_max: swarm.depth_max,
            states_max: u64::MAX,
            judged_property_bits: wanted,
            forbidden_at_end,
        }
    }

    /// Searches repeatedly for shorter runs that violate the same property as `found`. Returns the
    /// shortest run, or `found` if there is no shorter run. If `found` violates several properties,
    /// considers only the first of these properties. The limit on the states of each search is a
    /// quarter of the states of the first search, but at least [`LEAST_STATES`].
    fn shortened(
        &self,
        mut found: SwarmViolation,
        states: u64,
        swarm: SwarmMemberConfig,
        rules: &SearchRules,
        worker: &mut SuccessorWorker,
        first: &[(Vec<u32>, u64)],
    ) -> SwarmViolation {
        let selected = self.selected.iter().find(|it| self.violates(it, &found, rules));
        let states_max = (states / 4).max(LEAST_STATES);
        // After a failed search, all later searches only require that the run is one step shorter.
        let mut has_failed = false;
        for number in 1..=SHORTENINGS {
            let length = found.actions.len() as u32;
            if length <= 1 {
                break;
            }
            let search = self.swarm_search(swarm, rules, selected);
            let search = SwarmSearch {
                seed: mix_bits(search.seed ^ number),
                bytes: search.bytes.min(states_max.saturating_mul(BYTES_PER_STATE)),
                depth_max: length - 1 - if has_failed { 0 } else { length / 8 },
                states_max,
                ..search
            };
            let Ok(result) = search.run(worker, first) else { break };
            let shorter = result.violation.filter(|_| result.panicked.is_none());
            let shorter = shorter.filter(|it| it.actions.len() < found.actions.len());
            match shorter {
                Some(shorter) => found = shorter,
                None if has_failed => break,
                None => has_failed = true,
            }
        }
        found
    }

    fn violates(
        &self,
        selected: &SelectedProperty,
        found: &SwarmViolation,
        rules: &SearchRules,
    ) -> bool {
        match found.kind {
            ViolatedBits::Step(bits) => bits & selected.kind.step_violation_mask(rules.layout) != 0,
            ViolatedBits::End(marks) => marks & end_violation_mask(selected.kind, rules) != 0,
        }
    }

    fn swarm_report(
        &self,
        swarm: SwarmMemberConfig,
        finished: &FinishedSearch,
        result: &SwarmResult,
    ) -> CheckReport {
        let rules = &finished.rules;
        let omitted = result.table.expected_omissions();
        let is_exhausted =
            result.cut_states == 0 && result.limit.is_none() && result.violation.is_none();
        let coverage = SwarmMemberCoverage {
            member: swarm.member,
            members: swarm.members,
            bits: result.table.bit_count(),
            bits_set: result.table.bits_set(),
            hashes: HASHES,
            expected_omissions: omitted,
            omission_probability: omitted / (omitted + result.states.max(1) as f64),
            cut_states: result.cut_states,
            depth_max: swarm.depth_max,
            is_exhausted,
        };
        CheckReport {
            algorithm: self.config.name.clone(),
            size: self.config.size,
            states: result.states,
            transitions: result.transitions,
            depth: result.depth,
            reduced: rules.has_shift_functions || rules.is_symmetric,
            bounds: self.pruning_bounds(&finished.explored),
            has_terms: rules.model.has_terms(),
            reached_limit: result.limit,
            missed_state_probability: missed_state_probability(result.states),
            peak_bytes: result.bytes_peak,
            swarm: Some(coverage),
            ..CheckReport::default()
        }
    }
}

fn first_id(index: usize) -> StateId {
    StateId::new(0, index)
}

/// Returns the marks, as a mask, that must not be set in the last global state of a run. Each of
/// these marks would violate a property of this kind.
fn end_violation_mask(kind: PropertyCheckKind, rules: &SearchRules) -> u32 {
    let layout = rules.layout;
    let waiting = || (0..layout.size).fold(0, |marks, at| marks | layout.waiting_mask(at));
    let uninformed = || (0..layout.size).fold(0, |marks, at| marks | layout.uninformed_mask(at));
    match kind {
        PropertyCheckKind::Always(_) | PropertyCheckKind::CustomSafety(_) => 0,
        PropertyCheckKind::AlwaysAndAtEnd(index) => layout.end_violation_mask(index),
        PropertyCheckKind::Progress => waiting() | uninformed(),
        PropertyCheckKind::DeadlockFreedom | PropertyCheckKind::StarvationFreedom => waiting(),
        PropertyCheckKind::CustomLiveness(index) => {
            rules.custom_properties.as_ref().map_or(0, |custom| {
                let watched = &custom.properties[index];
                (0..watched.bindings.len())
                    .fold(0, |marks, binding| marks | watched.binding_mask(binding))
            })
        }
    }
}

fn counterexample(
    finished: &FinishedSearch,
    selected: &SelectedProperty,
    found: &SwarmViolation,
) -> Counterexample {
    let path = RunPath { first: first_id(found.first), actions: found.actions.clone() };
    match (found.kind, selected.kind) {
        (ViolatedBits::Step(_), PropertyCheckKind::CustomSafety(index)) => {
            finished.custom_step_violation(selected.property, index, &path)
        }
        (
            ViolatedBits::Step(_),
            PropertyCheckKind::Always(index) | PropertyCheckKind::AlwaysAndAtEnd(index),
        ) => finished.step_violation(selected.property, index, &path),
        (ViolatedBits::End(_), PropertyCheckKind::AlwaysAndAtEnd(index)) => {
            finished.end_violation(selected.property, index, &path)
        }
        (ViolatedBits::End(marks), kind) => {
            let marks = marks & end_violation_mask(kind, &finished.rules);
            finished.early_end_violation(selected, marks, &path)
        }
        (ViolatedBits::Step(_), kind) => unreachable!("no step violates {kind:?}"),
    }
}
