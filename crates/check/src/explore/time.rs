//! The passing of one unit of time, and the end of a step that takes time. The search does not
//! count these two changes as steps of a run.

use crate::explore::successor::{
    ScratchWorld, StepResult, Successor, SuccessorVisitor, TIME_LABEL, WorldRef,
};
use crate::explore::successors::SuccessorWorker;
use crate::world::action::{Action, ActionKind};

impl SuccessorWorker {
    /// Visits two kinds of successors of a global state: those reached when a process ends a step
    /// that takes time, and the one reached when one unit of time passes. Visits no states in
    /// asynchronous time, or if a step is prescribed in the global state.
    pub(crate) fn visit_time_steps(
        &mut self,
        from: WorldRef<'_>,
        visit: &mut impl SuccessorVisitor,
    ) {
        if !self.rules.is_timed || self.rules.forced_step(from.world).is_some() {
            return;
        }
        let mut world = std::mem::take(&mut self.scratch);
        world.copy_from_slice(from.world);
        self.forget_changes();
        let mut scratch = ScratchWorld { world: &mut world, fingerprint: from.fingerprint };
        for process in 0..self.rules.layout.size {
            if let Some(label) = self.cache.local_facts(scratch.world[process]).step_end {
                let at = Action::new(ActionKind::StepEnd, process, 0, 0);
                self.visit_input(&mut scratch, at, label, visit);
            }
        }
        if let Some(result) = self.tick(&mut world, from.fingerprint) {
            let action = Action::new(ActionKind::Tick, 0, 0, 0);
            visit(Successor { action, label: TIME_LABEL, world: &world, result });
        }
        self.scratch = world;
    }

    /// Lets one unit of time pass. Returns `None` if a timer, a delivery or another step must come
    /// first. Also returns `None` if nothing in the state depends on time.
    /// [`SuccessorWorker::undo_changes`] cannot revert this step.
    pub(super) fn tick(&mut self, world: &mut [u32], fingerprint: u64) -> Option<StepResult> {
        let layout = self.rules.layout;
        let due = self.rules.forced_step(world).is_some()
            || (0..layout.size).any(|p| self.cache.local_facts(world[p]).is_urgent)
            || (0..layout.size).any(|p| self.rules.has_pending_trust(world, p))
            || layout.link_slots().any(|slot| self.cache.cached_queue(world[slot]).is_urgent)
            || self.has_round_step_left(world);
        if due {
            return None;
        }
        let (mut later, mut moved) = (fingerprint, false);
        for (slot, part) in world[..layout.fault_counts_slot()].iter_mut().enumerate() {
            if slot >= layout.size && *part == 0 {
                continue;
            }
            let aged = self.cache.advance_time(*part, slot >= layout.size);
            moved |= aged.id != *part;
            *part = aged.id;
            later = later.wrapping_add(aged.fingerprint_change);
        }
        let key = self.canonical_key(world, later);
        moved.then_some(StepResult { key, ..StepResult::new(later) })
    }
}
