//! Queries of a replay. They are not generic, so the rules of a step are compiled once instead of
//! once per protocol.

use crate::explore::Explored;
use crate::explore::successors::{Worker, WorldRef};
use crate::explore::visited::StateId;
use crate::world::action::Action;

impl Worker {
    /// Returns all steps that are possible in a world.
    pub(crate) fn steps(&mut self, seed: WorldRef<'_>) -> Vec<Action> {
        let mut steps = Vec::new();
        self.successors(seed, &mut |successor| steps.push(successor.action));
        steps
    }

    /// Returns the first step with this label that leads to the visited world `to`.
    pub(crate) fn step_to(
        &mut self,
        seed: WorldRef<'_>,
        explored: &Explored,
        to: StateId,
        label: u32,
    ) -> Option<Action> {
        let mut found = None;
        self.successors(seed, &mut |successor| {
            if found.is_none()
                && successor.label == label
                && explored.find(successor.result.key, successor.world) == Some(to)
            {
                found = Some(successor.action);
            }
        });
        found
    }
}
