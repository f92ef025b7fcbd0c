//! Counterexamples to properties that the user has written as expressions.

use tenure_core::Property;

use super::findings::FinishedSearch;
use super::replay::{RunPath, path_to};
use crate::custom::PreparedProperty;
use crate::liveness::fairness::{ProgressViolation, TransientCondition, find_progress_violation};
use crate::liveness::graph::StateGraph;
use crate::report::{Counterexample, ViolationKind};

impl FinishedSearch {
    /// Returns a counterexample with a shortest run that violates the safety property at `index` of
    /// the properties written as expressions. `None` if the search found no violation.
    pub(super) fn shortest_custom_violation(
        &self,
        property: Property,
        index: usize,
    ) -> Option<Counterexample> {
        let layout = self.rules.layout;
        let violated = self.explored.violations[layout.monitor_count + index]?;
        let mut path = path_to(&self.explored, violated.from);
        path.actions.extend((violated.length > 0).then_some(violated.action));
        Some(self.custom_step_violation(property, index, &path))
    }

    /// Returns a counterexample for the run `path`. The last state of this run violates the safety
    /// property at `index` of the properties written as expressions.
    pub(crate) fn custom_step_violation(
        &self,
        property: Property,
        index: usize,
        path: &RunPath,
    ) -> Counterexample {
        let mut replay = self.replay_path(path);
        if path.actions.is_empty() {
            let world = replay.world.clone();
            replay.reduced_worker.initial_custom_violations(&world);
        }
        let found = &replay.reduced_worker.custom_property_cache.violated;
        let binding = found.iter().find(|(known, _)| *known == index);
        let binding = binding.map_or_else(Vec::new, |(_, binding)| binding.clone());
        let explanation = self.watched(index).property.explain_violation(&binding);
        self.counterexample(property, ViolationKind::Step, explanation, path, None)
    }

    /// Explains why a run that ends in a given global state violates the liveness property at
    /// `index`: the property demands an event that has not happened. `marks` are the marks of this
    /// global state.
    pub(crate) fn explain_missing_event(&self, index: usize, marks: u32) -> String {
        let watched = self.watched(index);
        let is_due = |binding: &usize| marks & watched.binding_mask(*binding) != 0;
        let due = (0..watched.bindings.len()).find(is_due).expect("a binding is pending");
        let missing = watched.property.explain_pending(&watched.bindings[due]);
        format!("{missing}, and the run can end here")
    }

    /// Looks for a fair run in which an event that the property demands never happens. Returns
    /// `None` if there is no such run.
    pub(super) fn custom_liveness_violation(
        &self,
        property: Property,
        index: usize,
        graph: &StateGraph,
    ) -> Option<Counterexample> {
        let watched = self.watched(index);
        let bindings = 0..watched.bindings.len();
        let conditions: Vec<TransientCondition> = bindings
            .map(|binding| TransientCondition::until_all_cleared(watched.binding_mask(binding)))
            .collect();
        let fairness = self.config.fairness;
        let missing =
            |binding: u32| watched.property.explain_pending(&watched.bindings[binding as usize]);
        Some(match find_progress_violation(graph, &conditions, fairness)? {
            ProgressViolation::Doomed { conditions: bindings, world } => {
                let explanation = format!("{}, in any run from here", missing(bindings[0]));
                self.counterexample_ending_at(
                    graph,
                    world,
                    property,
                    ViolationKind::Blocked,
                    explanation,
                )
            }
            ProgressViolation::Stopped { condition: binding, world } => {
                let explanation = format!("{} if the run stops here", missing(binding));
                self.counterexample_ending_at(
                    graph,
                    world,
                    property,
                    ViolationKind::End,
                    explanation,
                )
            }
            ProgressViolation::Starving { condition: binding, cycle } => {
                let explanation = missing(binding);
                self.counterexample_with_cycle(
                    graph,
                    &cycle,
                    property,
                    ViolationKind::Starvation,
                    explanation,
                )
            }
        })
    }

    fn watched(&self, index: usize) -> &PreparedProperty {
        &self.rules.custom_properties.as_deref().expect("the search has properties").properties
            [index]
    }
}
