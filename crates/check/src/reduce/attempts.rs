//! Repeats a check with the reduction by commuting deliveries until the certificate of its search
//! is sound.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tenure_core::{Property, Requirement};

use crate::clock::Instant;
use crate::components::Components;
use crate::explain::findings::FinishedSearch;
use crate::explore::SearchEnd;
use crate::explore::successors::Worker;
use crate::liveness::fairness::{
    Condition, find_lasting_states, find_progress_violation, wait_conditions,
};
use crate::liveness::graph::{Graph, OUT_OF_BOUNDS, OutEdge};
use crate::plan::{CheckKind, Plan};
use crate::reduce::certificate::{CertificationResult, certify};
use crate::reduce::deliveries::LocalDelivery;
use crate::reduce::id_hash::IdSet;
use crate::report::Report;
use crate::users::entries::Entries;
use crate::world::Layout;
use crate::world::rules::Rules;

const MAX_ATTEMPTS: usize = 100;

enum Attempt {
    /// The search proves that no property is violated. Contains the report of the search.
    Report(Box<Report>),
    /// The search has chosen these deliveries, but they do not commute with all later steps. The
    /// next search must not choose them.
    Wrong(Vec<LocalDelivery>),
    /// The search with the reduction proves nothing. The check must search without the reduction.
    Failed,
}

impl Plan {
    /// Runs the check with the reduction by commuting deliveries. Returns the report if the search
    /// proves that no property is violated. Returns `None` if the reduction does not apply, or if
    /// the search proves nothing, for instance because it finds a violation. The caller must then
    /// search without the reduction, which also finds a shortest run to the violation.
    pub(crate) fn run_with_commuting_deliveries(&mut self, rules: &Arc<Rules>) -> Option<Report> {
        if !self.config.search.uses_commuting_deliveries
            || !rules.allow_commuting()
            || !self.can_commute()
        {
            return None;
        }
        let started = Instant::now();
        let limit = self.config.search.limits.time;
        // If these searches do not end, the search without the reduction gets the other half of the
        // time.
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
        let is_bounded = match &model.entries {
            crate::EntryLimits::Same(each) => *each != Entries::Unbounded,
            crate::EntryLimits::PerProcess(list) => !list.contains(&Entries::Unbounded),
        };
        let observes_order = |property: Property| {
            property.requires() == Requirement::Messages
                && !matches!(property, Property::Cost | Property::Topology)
        };
        is_bounded
            && model.prefix.is_empty()
            && model.application_messages == 0
            && self.config.custom.is_empty()
            && self.bypass_cap.is_none()
            && !self.selected.iter().any(|selected| observes_order(selected.property))
    }

    fn attempts(&mut self, rules: &Arc<Rules>, started: Instant) -> Option<Report> {
        let mut excluded: IdSet<LocalDelivery> = IdSet::default();
        for _ in 0..MAX_ATTEMPTS {
            let rules = Rules {
                is_rebasing: false,
                excluded_deliveries: Some(Arc::new(excluded.clone())),
                ..Rules::clone(rules)
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

    fn attempt(&mut self, rules: Arc<Rules>, begun: Instant) -> Attempt {
        // The analysis needs the edges to find out whether the graph has cycles.
        let Ok((mut finished, _watchdog)) = self.run_search(rules, begun, true) else {
            return Attempt::Failed;
        };
        let explored = &mut finished.explored;
        if explored.panicked.is_some()
            || explored.ended != SearchEnd::Complete
            || explored.exceeded != [false; 2]
            || explored.violations.iter().any(Option::is_some)
        {
            return Attempt::Failed;
        }
        let layout = finished.rules.layout;
        let initial = (0..layout.size).map(|process| {
            let worlds = explored.first.iter();
            worlds.map(|(_, world, _)| world[process]).collect()
        });
        let initial = initial.collect();
        match certified(&mut explored.workers, initial) {
            Some(CertificationResult::Sound) => self.decide(&mut finished),
            Some(CertificationResult::Wrong(wrong)) => Attempt::Wrong(wrong),
            Some(CertificationResult::TooLarge) | None => Attempt::Failed,
        }
    }

    /// Analyses the graph of a search whose certificate is sound. If no property is violated,
    /// returns the report of the search. If a property is violated, the graph has a cycle, or the
    /// analysis was stopped, returns [`Attempt::Failed`].
    fn decide(&self, finished: &mut FinishedSearch) -> Attempt {
        let (label, layout) = (finished.rules.forced_label(), finished.rules.layout);
        let graph = Graph::build(&mut finished.explored, label, self.stop.clone());
        let is_decided = !graph.is_stopped() && is_acyclic(&graph);
        let has_failed = self.selected.iter().any(|it| self.fails(it.kind, layout, &graph));
        if !is_decided || has_failed || graph.is_stopped() {
            return Attempt::Failed;
        }
        Attempt::Report(Box::new(self.report_without_violation(finished)))
    }

    /// Returns true if the graph violates the property of this kind. A property that is not judged
    /// after the search counts as not violated.
    fn fails(&self, kind: CheckKind, layout: Layout, graph: &Graph) -> bool {
        let fairness = self.config.fairness;
        match kind {
            CheckKind::Always(_) | CheckKind::CustomSafety(_) | CheckKind::CustomLiveness(_) => {
                false
            }
            CheckKind::AlwaysAndAtEnd(index) => {
                let refused = Condition::until_all_cleared(layout.end_mask(index));
                find_lasting_states(graph, refused, crate::Fairness::Weak).first().is_some()
            }
            CheckKind::Progress => {
                find_progress_violation(graph, &wait_conditions(layout, true), fairness).is_some()
            }
            CheckKind::StarvationFreedom | CheckKind::DeadlockFreedom => {
                // Without cycles, a deadlock is a process that waits at the end of a run.
                find_progress_violation(graph, &wait_conditions(layout, false), fairness).is_some()
            }
        }
    }
}

/// Examines whether the deliveries that a search has chosen commute with all later steps. Returns
/// `None` if a handler panics in a state that the search has not reached.
fn certified(workers: &mut [Worker], initial: Vec<Vec<u32>>) -> Option<CertificationResult> {
    // The workers are not used again after a panic.
    catch_unwind(AssertUnwindSafe(|| certify(workers, initial))).ok()
}

fn is_acyclic(graph: &Graph) -> bool {
    let mut is_acyclic = true;
    let stays = |_, step: OutEdge| step.to != OUT_OF_BOUNDS;
    Components::new(graph, |_| true, stays).for_each(|part| {
        let returns = |world: &u32| graph.steps(*world).iter().any(|step| part.contains(step.to));
        is_acyclic &= !part.members.iter().any(returns);
    });
    is_acyclic
}
