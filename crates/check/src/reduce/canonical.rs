//! Canonical worlds: one for all that differ only by a shift of every stamp, or by an exchange
//! of names.

use crate::model::memory::{Memory, Part};
use crate::world::{Faults, Layout, VIOLATED};

/// Makes the smallest stamp of a world 0, and tells the new fingerprint. What it was before goes
/// to `changed`.
pub(crate) fn rebased(
    memory: &mut Memory,
    layout: Layout,
    world: &mut [u32],
    changed: &mut Vec<(u32, u32)>,
    fingerprint: u64,
) -> u64 {
    let Some(smallest) = smallest(memory, layout, world) else { return fingerprint };
    if smallest == 0 {
        return fingerprint;
    }
    let mut fingerprint = fingerprint;
    for (slot, part) in parts(layout) {
        if world[slot] == 0 || world[slot] == VIOLATED {
            continue;
        }
        let shifted = memory.shift(part, world[slot], smallest);
        changed.push((slot as u32, world[slot]));
        world[slot] = shifted.id;
        fingerprint = fingerprint.wrapping_add(shifted.change);
    }
    fingerprint
}

pub(crate) fn smallest(memory: &mut Memory, layout: Layout, world: &[u32]) -> Option<u64> {
    let mut smallest = None;
    for (slot, part) in parts(layout) {
        let id = world[slot];
        if id == 0 || id == VIOLATED {
            continue;
        }
        let here = match part {
            Part::Local => memory.local(id).smallest,
            Part::Queue => memory.queue(id).smallest,
            Part::Monitor(place) => memory.monitor(place, id).smallest,
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

/// The smallest fingerprint of a world under all ways to exchange names. Monitors are left out:
/// what a symmetric search watches follows from the processes.
pub(crate) fn smallest_name(
    memory: &mut Memory,
    layout: Layout,
    world: &[u32],
    renamings: usize,
) -> u64 {
    let spent = Faults(world[layout.spent()]).fingerprint();
    let print = |renaming| {
        let parts = parts(layout).filter(|(slot, _)| *slot < layout.spent() && world[*slot] != 0);
        parts.fold(spent, |sum, (slot, part)| {
            sum.wrapping_add(memory.rename(part, world[slot], renaming))
        })
    };
    (0..renamings).map(print).min().expect("the identity is a renaming")
}

/// Every slot that may hold stamps or names.
fn parts(layout: Layout) -> impl Iterator<Item = (usize, Part)> {
    let locals = (0..layout.size).map(|slot| (slot, Part::Local));
    let links = layout.link_slots().map(|slot| (slot, Part::Queue));
    let monitors =
        (0..layout.monitors).map(move |place| (layout.monitor(place), Part::Monitor(place)));
    locals.chain(links).chain(monitors)
}
