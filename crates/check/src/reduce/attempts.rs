//! Repeats a check with the reduction by commuting deliveries until all chosen deliveries commute
//! with the later steps of their receivers.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use crate::clock::Instant;
use crate::explain::findings::FinishedSearch;
use crate::explore::SearchEnd;
use crate::explore::successors::SuccessorWorker;
use crate::liveness::fairness::{
    TransientCondition, find_lasting_states, find_progress_violation, waiting_conditions_by_process,
};
use crate::liveness::graph::{OUT_OF_BOUNDS, OutEdge, StateGraph};
use crate::plan::{CheckPlan, PropertyCheckKind};
use crate::reduce::certificate::{CertificationResult, certify_deliveries};
use crate::reduce::deliveries::LocalDelivery;
use crate::reduce::id_hash::IdSet;
use crate::report::CheckReport;
use crate::strong_components::StrongComponentSearch;
use crate::users::entries::RequestLimit;
use crate::world::StateLayout;
use crate::world::rules::SearchRules;

/// Maximum number of searches with the reduction.
const MAX_ATTEMPTS: usize = 100;

enum Attempt {
    /// The search proves that no property is violated. Contains the report of the search.
    Report(Box<CheckReport>),
    /// The search has chosen these deliveries, but they do not commute with all later steps. The
    /// next search must not choose them.
    Wrong(Vec<LocalDelivery>),
    /// The search with the reduction proves nothing. The check must search without the reduction.
    Failed,
}

impl CheckPlan {
    /// Runs the check with the reduction by commuting deliveries. Returns the report if the search
    /// proves that no property is violated. Returns `None` if the reduction does not apply, or if
    /// the search proves nothing, for instance because it finds a violation. The caller must then
    /// search without the reduction, which also finds a shortest run to the violation.
    pub(crate) fn run_with_commuting_deliveries(
        &mut self,
        rules: &Arc<SearchRules>,
    ) -> Option<CheckReport> {
        if !self.config.search.uses_commuting_deliveries
            || !rules.permits_commuting_deliveries()
            || !self.can_commute()
        {
            return None;
        }
        let started = Instant::now();
        let limit = self.config.search.limits.time;
        // The searches with the reduction get half of the time. The rest remains for a search
        // without the reduction.
        self.config.search.limits.time = limit.map(|limit| limit / 2);
        rules.model.set_reducing(true);
        let report = self.attempts(rules, started);
        rules.model.set_reducing(false);
        self.config.search.limits.time = limit.map(|limit| limit.saturating_sub(started.elapsed()));
        report
    }

    /// Returns true if the properties and the workload permit the reduction.
    fn can_commute(&self) -> bool {
        let model = &self.config.model;
        let is_bounded = match &model.request_limits {
            crate::RequestLimits::Same(each) => *each != RequestLimit::Unbounded,
            crate::RequestLimits::PerProcess(list) => !list.contains(&RequestLimit::Unbounded),
        };
        is_bounded
            && model.prefix.is_empty()
            && model.application_messages == 0
            && self.config.custom_properties.is_empty()
            && self.bypass_cap.is_none()
    }

    /// Repeats the search until its chosen deliveries commute, and returns its report. Returns
    /// `None` if a search fails, excludes no further delivery, or is the last one permitted.
    fn attempts(&mut self, rules: &Arc<SearchRules>, started: Instant) -> Option<CheckReport> {
        let mut excluded: IdSet<LocalDelivery> = IdSet::default();
        for _ in 0..MAX_ATTEMPTS {
            let rules = SearchRules {
                shifts_timestamps: false,
                excluded_deliveries: Some(Arc::new(excluded.clone())),
                ..SearchRules::clone(rules)
            };
            match self.attempt(Arc::new(rules), started) {
                Attempt::Report(report) => return Some(*report),
                Attempt::Wrong(wrong) => {
                    let before = excluded.len();
                    excluded.extend(wrong);
                    if excluded.len() == before {
                        return None;
                    }
                }
                Attempt::Failed => return None,
            }
        }
        None
    }

    fn attempt(&mut self, rules: Arc<SearchRules>, begun: Instant) -> Attempt {
        // The analysis needs the edges to find out whether the graph has cycles.
        let Ok((mut finished, _watchdog)) = self.run_search(rules, begun, true) else {
            return Attempt::Failed;
        };
        let explored = &mut finished.explored;
        if explored.panicked.is_some()
            || explored.ended != SearchEnd::Complete
            || explored.exceeded_bounds != [false; 2]
            || explored.violations.iter().any(Option::is_some)
        {
            return Attempt::Failed;
        }
        let layout = finished.rules.layout;
        let initial = (0..layout.size).map(|process| {
            let worlds = explored.initial_worlds.iter();
            worlds.map(|(_, world, _)| world[process]).collect()
        });
        let initial = initial.collect();
        match certified(&mut explored.workers, initial) {
            Some(CertificationResult::Sound) => self.decide(&mut finished),
            Some(CertificationResult::Wrong(wrong)) => Attempt::Wrong(wrong),
            Some(CertificationResult::TooLarge) | None => Attempt::Failed,
        }
    }

    /// Analyses the graph of a search whose chosen deliveries commute with all later steps. Returns
    /// [`Attempt::Failed`] if a property is violated, if the graph has a cycle, or if the analysis
    /// was stopped. Otherwise returns the report of the search.
    fn decide(&self, finished: &mut FinishedSearch) -> Attempt {
        let (label, layout) = (finished.rules.forced_label(), finished.rules.layout);
        let graph = StateGraph::build(&mut finished.explored, label, self.stop.clone());
        let is_decided = !graph.must_stop_analysis() && is_acyclic(&graph);
        let has_failed = self.selected.iter().any(|it| self.fails(it.kind, layout, &graph));
        if !is_decided || has_failed || graph.must_stop_analysis() {
            return Attempt::Failed;
        }
        Attempt::Report(Box::new(self.report_without_violation(finished)))
    }

    /// Returns true if the analysis of the graph finds a violation of the property that `kind`
    /// checks. Returns false for a property that each step decides. Expressions exclude the
    /// reduction, so they are never judged here.
    fn fails(&self, kind: PropertyCheckKind, layout: StateLayout, graph: &StateGraph) -> bool {
        let fairness = self.config.fairness;
        match kind {
            PropertyCheckKind::Always(_)
            | PropertyCheckKind::CustomSafety(_)
            | PropertyCheckKind::CustomLiveness(_) => false,
            PropertyCheckKind::AlwaysAndAtEnd(index) => {
                let refused =
                    TransientCondition::until_all_cleared(layout.end_violation_mask(index));
                find_lasting_states(graph, refused, crate::Fairness::Weak).first().is_some()
            }
            PropertyCheckKind::Progress => find_progress_violation(
                graph,
                &waiting_conditions_by_process(layout, true),
                fairness,
            )
            .is_some(),
            PropertyCheckKind::StarvationFreedom | PropertyCheckKind::DeadlockFreedom => {
                // Without cycles, a deadlock is a process that waits at the end of a run.
                find_progress_violation(
                    graph,
                    &waiting_conditions_by_process(layout, false),
                    fairness,
                )
                .is_some()
            }
        }
    }
}

/// Examines whether the deliveries that a search has chosen commute with all later steps. Returns
/// `None` if a handler panics in a state that the search has not reached.
fn certified(
    workers: &mut [SuccessorWorker],
    initial: Vec<Vec<u32>>,
) -> Option<CertificationResult> {
    // The workers are not used again after a panic.
    catch_unwind(AssertUnwindSafe(|| certify_deliveries(workers, initial))).ok()
}

/// Returns true if no run can return to a global state that it has left.
fn is_acyclic(graph: &StateGraph) -> bool {
    let mut is_acyclic = true;
    let stays = |_, step: OutEdge| step.to != OUT_OF_BOUNDS;
    StrongComponentSearch::new(graph, |_| true, stays).visit_components(|part| {
        let returns = |world: &u32| graph.steps(*world).iter().any(|step| part.contains(step.to));
        is_acyclic &= !part.members.iter().any(returns);
    });
    is_acyclic
}
