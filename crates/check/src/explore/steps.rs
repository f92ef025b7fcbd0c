//! What a run that is taken again asks of a world: answered here, where nothing is generic, so that
//! the rules of a step are compiled once and not once more for every protocol.

use crate::explore::Explored;
use crate::explore::successors::{Seed, Worker};
use crate::explore::visited::StateId;
use crate::world::action::Action;

impl Worker {
    /// Every step that may be taken in a world.
    pub(crate) fn steps(&mut self, seed: Seed<'_>) -> Vec<Action> {
        let mut steps = Vec::new();
        self.successors(seed, &mut |successor| steps.push(successor.action));
        steps
    }

    /// The first step of this label that leads to a world that was seen, if there is one.
    pub(crate) fn step_to(
        &mut self,
        seed: Seed<'_>,
        explored: &Explored,
        to: StateId,
        label: u32,
    ) -> Option<Action> {
        let mut found = None;
        self.successors(seed, &mut |successor| {
            if found.is_none()
                && successor.label == label
                && explored.find(successor.fate.key, successor.world) == Some(to)
            {
                found = Some(successor.action);
            }
        });
        found
    }
}
