//! Steps of a global state, for replays. This code is not generic, so it is compiled once instead
//! of once per protocol.

use crate::explore::Explored;
use crate::explore::successors::{Successor, Worker, WorldRef};
use crate::explore::visited::StateId;
use crate::world::action::Action;

impl Worker {
    pub(crate) fn possible_actions(&mut self, from: WorldRef<'_>) -> Vec<Action> {
        let mut steps = Vec::new();
        self.successors(from, &mut |successor| steps.push(successor.action));
        steps
    }

    /// Returns the first step from the state `from` that has this label and leads to the visited
    /// global state `to`. Returns `None` if there is no such step.
    pub(crate) fn find_action_to(
        &mut self,
        from: WorldRef<'_>,
        explored: &Explored,
        to: StateId,
        label: u32,
    ) -> Option<Action> {
        let (mut found, weighs) = (None, self.rules.weighs);
        let mut visit = |successor: Successor<'_>| {
            if found.is_none()
                && successor.stored_label(weighs) == label
                && explored.find(successor.result.key, successor.world) == Some(to)
            {
                found = Some(successor.action);
            }
        };
        self.successors(from, &mut visit);
        self.time_steps(from, &mut visit);
        found
    }
}
