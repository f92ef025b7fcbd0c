//! Lookup of the steps of a global state, for replays. This code is not generic, so it is compiled
//! only once for all protocols.

use crate::explore::SearchResult;
use crate::explore::successor::{Successor, WorldRef};
use crate::explore::successors::SuccessorWorker;
use crate::explore::visited::StateId;
use crate::world::action::Action;

impl SuccessorWorker {
    /// Returns the actions that lead from a global state to the states that
    /// [`Self::visit_successors`] visits. They do not include the passing of time and the ends of
    /// steps.
    pub(crate) fn possible_actions(&mut self, from: WorldRef<'_>) -> Vec<Action> {
        let mut steps = Vec::new();
        self.visit_successors(from, &mut |successor| steps.push(successor.action));
        steps
    }

    /// Returns the first step from the state `from` that has this label in the graph and leads to
    /// the visited global state `to`. Returns `None` if there is no such step.
    pub(crate) fn find_action_to(
        &mut self,
        from: WorldRef<'_>,
        explored: &SearchResult,
        to: StateId,
        label: u32,
    ) -> Option<Action> {
        let (mut found, weighs) = (None, self.rules.stores_weights);
        let mut visit = |successor: Successor<'_>| {
            if found.is_none()
                && successor.stored_label(weighs) == label
                && explored.find_state(successor.result.key, successor.world) == Some(to)
            {
                found = Some(successor.action);
            }
        };
        self.visit_successors(from, &mut visit);
        self.visit_time_steps(from, &mut visit);
        found
    }
}
