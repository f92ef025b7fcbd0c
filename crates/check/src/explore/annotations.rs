//! Annotations of worlds for liveness and measurements.

use crate::explore::successors::Worker;
use crate::model::{MonitorFacts, UserStatus};
use crate::world::VIOLATED;

/// Annotations of a world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Annotations {
    /// Bits for processes that wait to be served, processes that wait to be informed, and monitors
    /// that reject the world as an end. [`Layout`](crate::world::Layout) assigns them.
    pub(super) marks: u32,
    /// Value of the measuring monitor, or 0.
    pub(super) measure: u64,
}

/// Computes the annotations of a world.
pub(super) fn annotate(
    worker: &mut Worker,
    world: &[u32],
    measuring: Option<usize>,
) -> Annotations {
    let layout = worker.rules.layout;
    let (mut waiting, mut uninformed, mut informed) = (0, 0, false);
    for process in 0..layout.size {
        match worker.local(world, process).user_status {
            UserStatus::Idle => {}
            UserStatus::Waiting => waiting |= layout.waiting_mark(process),
            UserStatus::Uninformed => uninformed |= layout.uninformed_mark(process),
            UserStatus::Informed => informed = true,
        }
    }
    let uninformed = if informed { uninformed } else { 0 };
    let mut annotations = Annotations { marks: waiting | uninformed, measure: 0 };
    for index in 0..layout.monitors {
        let facts = facts(worker, world, index);
        // The limit on monitors keeps these bits apart from those of processes.
        annotations.marks |= u32::from(facts.fails_at_end) * layout.end_mark(index);
        if measuring == Some(index) {
            annotations.measure = facts.measure;
        }
    }
    annotations
}

fn facts(worker: &mut Worker, world: &[u32], index: usize) -> MonitorFacts {
    let state = world[worker.rules.layout.monitor(index)];
    if state == VIOLATED {
        return MonitorFacts::default();
    }
    worker.cache.monitor(index, state)
}
