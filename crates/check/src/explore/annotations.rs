//! Annotations of global states, for the analysis of liveness and for measurements.

use crate::explore::successors::SuccessorWorker;
use crate::measure::extremes::pack_measured_marks;
use crate::model::MonitorStateFacts;
use crate::users::user::UserState;
use crate::world::VIOLATED_MONITOR;

/// Data that the search stores about a global state in addition to its content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StateAnnotations {
    /// Facts about this global state, one per bit:
    ///
    /// - For each process, bits are set while the process waits to be served, or to be informed of
    ///   a result.
    /// - For each monitor that judges ends of runs, a bit is set if no run may end in this state.
    /// - For each property written as an expression, there is one bit for each combination of
    ///   values of its variables. The bit is set if the property still requires an event.
    ///
    /// [`StateLayout`](crate::world::StateLayout) assigns the first two kinds of bits. In a search
    /// with [`SearchRules::stores_weights`](crate::world::rules::SearchRules::stores_weights), the
    /// field contains other data: the measured value and the bit
    /// [`SERVED_BIT`](crate::measure::extremes::SERVED_BIT).
    pub(crate) marks: u32,
    /// Value of the monitor at
    /// [`BreadthFirstSearch::measuring_monitor`](super::BreadthFirstSearch::measuring_monitor) in
    /// this global state. 0 if no monitor measures a value, or if `marks` contains the measured
    /// value.
    pub(crate) measure: u64,
}

/// Computes the annotations of a global state. `measured_monitor` is the index of the monitor that
/// measures a value, if any.
pub(crate) fn state_annotations(
    worker: &mut SuccessorWorker,
    world: &[u32],
    measured_monitor: Option<usize>,
) -> StateAnnotations {
    if worker.rules.stores_weights {
        return StateAnnotations { marks: measured_marks(worker, world), measure: 0 };
    }
    let layout = worker.rules.layout;
    let (mut waiting, mut uninformed, mut informed) = (0, 0, false);
    for (process, local) in world[..layout.size].iter().enumerate() {
        match worker.cache.local_facts(*local).user {
            UserState::Idle => {}
            UserState::Waiting => waiting |= layout.waiting_mask(process),
            UserState::LacksCommonResult => uninformed |= layout.uninformed_mask(process),
            UserState::HasCommonResult => informed = true,
        }
    }
    let uninformed = if informed { uninformed } else { 0 };
    let mut annotations = StateAnnotations { marks: waiting | uninformed, measure: 0 };
    for index in 0..layout.monitor_count {
        let facts = facts(worker, world, index);
        if facts.fails_at_end {
            annotations.marks |= layout.end_violation_mask(index);
        }
        if measured_monitor == Some(index) {
            annotations.measure = facts.measure;
        }
    }
    for (index, watched) in worker
        .rules
        .custom_properties
        .iter()
        .flat_map(|custom| custom.properties.iter().enumerate())
    {
        annotations.marks |= watched.pending_mask(world[layout.custom_slot(index)]);
    }
    annotations
}

/// Returns the marks of a global state for a measurement. They consist of the measured value, and
/// of the bit [`SERVED_BIT`](crate::measure::extremes::SERVED_BIT). The value has no meaning for a
/// measure that is a sum over steps.
fn measured_marks(worker: &mut SuccessorWorker, world: &[u32]) -> u32 {
    let layout = worker.rules.layout;
    let (mut value, mut is_served, mut is_uninformed, mut is_informed) = (0, true, false, false);
    for local in &world[..layout.size] {
        let row = worker.cache.local_facts(*local);
        value = value.max(row.causal_chain_length);
        is_served &= !row.has_command && row.user != UserState::Waiting;
        is_uninformed |= row.user == UserState::LacksCommonResult;
        is_informed |= row.user == UserState::HasCommonResult;
    }
    for index in 0..layout.monitor_count {
        let measured = facts(worker, world, index).measure;
        value = value.max(u32::try_from(measured).unwrap_or(u32::MAX >> 1));
    }
    pack_measured_marks(value, is_served && !(is_informed && is_uninformed))
}

/// Returns the facts about the state of the monitor at `index`. Returns default values if the run
/// has already violated its property.
fn facts(worker: &mut SuccessorWorker, world: &[u32], index: usize) -> MonitorStateFacts {
    let state = world[worker.rules.layout.monitor_slot(index)];
    if state == VIOLATED_MONITOR {
        return MonitorStateFacts::default();
    }
    worker.cache.monitor_state_facts(index, state)
}
