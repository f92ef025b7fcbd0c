//! Canonical form of global states, for searches that merge equivalent states. States that differ
//! only by a shift of all timestamps become equal. States that differ only by a renaming of the
//! processes get the same fingerprint.

use crate::explore::forced_steps::forced_step_fingerprint;
use crate::model::cache::{SlotKind, StepCache};
use crate::world::rules::SearchRules;
use crate::world::{FaultCounts, StateLayout, VIOLATED_MONITOR};

/// Shifts all timestamps of a global state, so that the smallest one becomes 0. Returns the new
/// fingerprint. Appends each slot that changes to `changed`, with its old value.
pub(crate) fn shift_timestamps_to_zero(
    cache: &mut StepCache,
    layout: StateLayout,
    world: &mut [u32],
    changed: &mut Vec<(u32, u32)>,
    fingerprint: u64,
) -> u64 {
    let Some(smallest) = smallest_timestamp(cache, layout, world) else { return fingerprint };
    if smallest == 0 {
        return fingerprint;
    }
    let mut fingerprint = fingerprint;
    for (slot, part) in parts(layout) {
        if world[slot] == 0 || world[slot] == VIOLATED_MONITOR {
            continue;
        }
        let shifted = cache.shift(part, world[slot], smallest);
        changed.push((slot as u32, world[slot]));
        world[slot] = shifted.id;
        fingerprint = fingerprint.wrapping_add(shifted.fingerprint_change);
    }
    fingerprint
}

/// Returns the smallest timestamp in a global state. `None` if the state contains no timestamp.
pub(crate) fn smallest_timestamp(
    cache: &mut StepCache,
    layout: StateLayout,
    world: &[u32],
) -> Option<u64> {
    let mut smallest = None;
    for (slot, part) in parts(layout) {
        let id = world[slot];
        if id == 0 || id == VIOLATED_MONITOR {
            continue;
        }
        let here = match part {
            SlotKind::Local => cache.local_facts(id).smallest_timestamp,
            SlotKind::Queue => cache.cached_queue(id).smallest_timestamp,
            SlotKind::Monitor(index) => cache.monitor_state_facts(index, id).smallest_timestamp,
        };
        smallest = match (smallest, here) {
            (Some(least), Some(here)) => Some(u64::min(least, here)),
            (least, here) => least.or(here),
        };
        if smallest == Some(0) {
            return smallest; // nothing can be smaller
        }
    }
    smallest
}

/// Returns the smallest fingerprint that a global state has under any renaming of its processes.
/// The fingerprint omits the monitors. In a search with symmetry reduction, the states of the
/// monitors follow from the states of the processes.
pub(crate) fn canonical_fingerprint(
    cache: &mut StepCache,
    rules: &SearchRules,
    world: &[u32],
) -> u64 {
    let layout = rules.layout;
    let spent = FaultCounts(world[layout.fault_counts_slot()]).fingerprint();
    let forced = if layout.has_forced_steps { world[layout.forced_step_slot()] } else { 0 };
    let start = spent.wrapping_add(forced_step_fingerprint(forced));
    let print = |renaming| {
        let parts = parts(layout)
            .filter(|(slot, _)| *slot < layout.fault_counts_slot() && world[*slot] != 0);
        parts.fold(start, |sum, (slot, part)| {
            sum.wrapping_add(cache.renamed_fingerprint(part, world[slot], renaming))
        })
    };
    (0..rules.renaming_count).map(print).min().expect("the identity is a renaming")
}

/// Returns the slots of a global state that may contain timestamps or names.
fn parts(layout: StateLayout) -> impl Iterator<Item = (usize, SlotKind)> {
    let locals = (0..layout.size).map(|slot| (slot, SlotKind::Local));
    let links = layout.link_slots().map(|slot| (slot, SlotKind::Queue));
    let monitors = (0..layout.monitor_count)
        .map(move |index| (layout.monitor_slot(index), SlotKind::Monitor(index)));
    locals.chain(links).chain(monitors)
}
