//! Execution of a measurement.

use std::sync::Arc;

use tenure_core::ProcessId;
use tenure_trace::Trace;

use crate::check::Check;
use crate::clock::Instant;
use crate::error::CheckError;
use crate::explain::description::StepwiseDescription;
use crate::explain::findings::FinishedSearch;
use crate::explain::replay::{RunPath, path_to};
use crate::explore::visited::StateId;
use crate::liveness::graph::StateGraph;
use crate::measure::extremes::{MaximumTotal, MeasureAnalysis, MeasuredPath, MinimumRun};
use crate::measure::report::{ExtremeRun, FinalStateKind, MeasureReport, MeasureValue};
use crate::measure::{Measure, MeasureConfig};
use crate::model::causality::CausalityTracking;
use crate::model::fingerprint::missed_state_probability;
use crate::plan::CheckPlan;
use crate::users::user::Checkable;
use crate::world::rules::SearchRules;

impl<P: Checkable> Check<P> {
    /// Measures all schedules. Returns the least and the greatest value of the measure, with
    /// schedules that attain these values. [`Measure::Bypass`] needs [`Check::measuring_bypass`],
    /// whose cap may differ from [`Measure::counting_cap`]. Without it, the measured bypass is 0.
    ///
    /// In a run of an election protocol, a user starts no election after it has learned of a
    /// leader. The search does not merge symmetric states. It may merge states that differ only by
    /// a shift of timestamps, because a shift changes no measure.
    ///
    /// # Errors
    ///
    /// Returns a [`CheckError`] if the configuration is invalid, if the boot of a process violates
    /// a property or sends too many messages, or if a handler panics.
    ///
    /// # Panics
    ///
    /// Panics if links have no room for a message. In synchronous time, panics if a minimum latency
    /// or duration exceeds its maximum, or if the drift of clocks is a million parts per million or
    /// more. In rounds, panics if a message does not take exactly one unit of time, or if steps
    /// take time.
    pub fn measure(mut self, of: impl Into<MeasureConfig>) -> Result<MeasureReport, CheckError> {
        let started = Instant::now();
        self.hooks.symmetry = None;
        self.plan.set_measure(of.into());
        let rules = self.build_model_and_rules()?;
        self.plan.run_measurement(&rules, started)
    }
}

impl CheckPlan {
    fn set_measure(&mut self, config: MeasureConfig) {
        self.config.model.has_single_election = true;
        if config.measure == Measure::CausalChainLength {
            self.needs.causality = CausalityTracking::Chain;
        }
        self.measure = Some(config);
    }

    fn run_measurement(
        &mut self,
        rules: &SearchRules,
        started: Instant,
    ) -> Result<MeasureReport, CheckError> {
        let rules = Arc::new(SearchRules { stores_weights: true, ..SearchRules::clone(rules) });
        let (mut finished, _watchdog) = self.run_search(rules, started, true)?;
        finished.ensure_no_panic()?;
        let report = self.analyse(&mut finished);
        Ok(MeasureReport { seconds: started.elapsed().as_secs_f64(), ..report })
    }

    fn analyse(&self, finished: &mut FinishedSearch) -> MeasureReport {
        let config = self.measure.clone().expect("a measurement has a measure");
        let states = finished.explored.state_count();
        let limit = finished.explored.ended.reached_limit();
        let mut report = MeasureReport {
            algorithm: self.config.name.clone(),
            size: self.config.size,
            measure: config.measure,
            message_kind: config.message_kind,
            maximum: None,
            minimum: None,
            minimum_run_end: None,
            is_complete: limit.is_none() && finished.explored.exceeded_bounds == [false; 2],
            states,
            transitions: finished.explored.transitions,
            seconds: 0.0,
            bounds: self.pruning_bounds(&finished.explored),
            reached_limit: limit,
            missed_state_probability: if self.config.search.stores_whole_states {
                0.0
            } else {
                missed_state_probability(states)
            },
            peak_bytes: finished.explored.bytes_peak,
        };
        let forced_label = finished.rules.forced_label();
        let graph = StateGraph::build(&mut finished.explored, forced_label, self.stop.clone());
        let first = finished.weighted_first(&graph, config.measure);
        let extremes = MeasureAnalysis { graph: &graph, first: &first };
        let cap = self.counting_cap(config.measure);
        let maximum = finished.maximum(&extremes, config.measure, cap);
        let least = extremes.least_run(config.measure.is_sum_over_steps());
        if graph.must_stop_analysis() {
            // A partial analysis proves nothing.
            report.is_complete = false;
            report.reached_limit = self.stop.reached_limit().or(report.reached_limit);
            return report;
        }
        report.maximum = Some(maximum);
        if let Some(MinimumRun { value, path, is_quiescent }) = least {
            let run = finished.actions(&graph, &path);
            report.minimum = Some(finished.extreme(counted_value(value, cap), &run, None));
            report.minimum_run_end =
                Some(if is_quiescent { FinalStateKind::Quiescent } else { FinalStateKind::Served });
        }
        report
    }

    /// Returns the value at which this measurement stops counting. `None` if it counts to the end.
    fn counting_cap(&self, measure: Measure) -> Option<u32> {
        match measure {
            Measure::Bypass => self.bypass_cap.map(|(_, cap)| cap),
            _ => measure.counting_cap(),
        }
    }
}

/// Returns the value of a measure of which `count` was counted. The true value may be greater if
/// counting has stopped at `cap`.
fn counted_value(count: u32, cap: Option<u32>) -> MeasureValue {
    match cap {
        Some(cap) if count >= cap => MeasureValue::AtLeast(count),
        _ => MeasureValue::Exactly(count),
    }
}

impl FinishedSearch {
    /// Returns the number and the weight of each initial global state. If `measure` is
    /// [`Measure::Messages`], the weight is the number of counted messages that the processes send
    /// when they boot. For all other measures, the weight is 0.
    fn weighted_first(&self, graph: &StateGraph, measure: Measure) -> Vec<(u32, u32)> {
        let weight = |id: StateId| {
            let path = RunPath { first: id, actions: Vec::new() };
            let replay = self.start_replay(&path);
            let all_processes = (0..self.config.size).map(ProcessId);
            let up = all_processes.filter(|at| !replay.is_down(*at));
            let sent = up.map(|at| {
                let boots = self.rules.model.boot_outcomes(at);
                let boot = boots.iter().find(|boot| boot.local.id == replay.local_state_id(at));
                u32::from(boot.expect("a boot leads to one of its outcomes").weight)
            });
            if measure == Measure::Messages { sent.sum() } else { 0 }
        };
        let first = self.explored.initial_worlds.iter();
        first.map(|(id, ..)| (graph.state_number(*id), weight(*id))).collect()
    }

    /// Returns the greatest value of the measure, and a run with this value. `cap` is the value at
    /// which counting stopped, if any.
    fn maximum(
        &self,
        extremes: &MeasureAnalysis<'_>,
        measure: Measure,
        cap: Option<u32>,
    ) -> ExtremeRun {
        let graph = extremes.graph;
        if !measure.is_sum_over_steps() {
            let (value, world) = extremes.greatest_peak();
            let path = path_to(&self.explored, graph.state_id(world));
            return self.extreme(counted_value(value, cap), &path, None);
        }
        match extremes.greatest_total() {
            MaximumTotal::Total(value, path) => {
                self.extreme(MeasureValue::Exactly(value), &self.actions(graph, &path), None)
            }
            MaximumTotal::Unbounded(cycle) => {
                let entry = cycle.first().map_or(0, |(from, _)| *from);
                let mut run = path_to(&self.explored, graph.state_id(entry));
                let repeats_from = run.actions.len();
                self.extend_path(graph, &mut run, cycle);
                self.extreme(MeasureValue::Unbounded, &run, Some(repeats_from))
            }
        }
    }

    fn actions(&self, graph: &StateGraph, path: &MeasuredPath) -> RunPath {
        let mut run = RunPath { first: graph.state_id(path.first), actions: Vec::new() };
        self.extend_path(graph, &mut run, path.steps.iter().copied());
        run
    }

    fn extreme(
        &self,
        value: MeasureValue,
        path: &RunPath,
        repeats_from: Option<usize>,
    ) -> ExtremeRun {
        let mut trace: Trace = self.trace_of_path(path, true);
        let run =
            StepwiseDescription { repeats_from, ..StepwiseDescription::from_checker_trace(&trace) };
        trace.header.repeats = run.repeated_step_count();
        ExtremeRun { value, run, trace }
    }
}
