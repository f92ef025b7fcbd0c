//! What liveness and measures ask of a world.

use crate::explore::successors::Worker;
use crate::model::{MonitorFacts, Stand};
use crate::world::VIOLATED;

/// What is noted of a world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Notes {
    /// As bits: who waits to be served; who waits to be informed; which monitors refuse this as an
    /// end. [`Layout`](crate::world::Layout) says where each of them is.
    pub(super) marks: u32,
    /// What the measuring monitor measures, if there is one.
    pub(super) measure: u64,
}

/// Notes what is asked of a world.
pub(super) fn note(worker: &mut Worker, world: &[u32], measuring: Option<usize>) -> Notes {
    let layout = worker.rules.layout;
    let (mut waiting, mut uninformed, mut informed) = (0, 0, false);
    for process in 0..layout.size {
        match worker.local(world, process).stand {
            Stand::Content => {}
            Stand::Waiting => waiting |= layout.waiting_mark(process),
            Stand::Uninformed => uninformed |= layout.uninformed_mark(process),
            Stand::Informed => informed = true,
        }
    }
    let uninformed = if informed { uninformed } else { 0 };
    let mut notes = Notes { marks: waiting | uninformed, measure: 0 };
    for place in 0..layout.monitors {
        let facts = facts(worker, world, place);
        // A bound on monitors keeps these bits apart from those of processes.
        notes.marks |= u32::from(facts.fails_at_end) * layout.end_mark(place);
        if measuring == Some(place) {
            notes.measure = facts.measure;
        }
    }
    notes
}

fn facts(worker: &mut Worker, world: &[u32], place: usize) -> MonitorFacts {
    let state = world[worker.rules.layout.monitor(place)];
    if state == VIOLATED {
        return MonitorFacts::default();
    }
    worker.memory.monitor(place, state)
}
