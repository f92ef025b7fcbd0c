use std::collections::HashMap;

use serde::Serialize;
use tenure_core::Fence;

use super::findings::Found;
use crate::{Access, Operation};

/// How often the resource was accessed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Accesses {
    /// Accesses that it granted.
    pub accepted: u64,
    /// Accesses that it refused.
    pub refused: u64,
}

/// The counter that everybody increments by reading, adding and writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Counter {
    /// How many puts the resource accepted: each is an increment.
    pub expected: u64,
    /// The value in the end.
    pub found: u64,
    /// Increments that another one overwrote.
    pub lost: i64,
}

/// What the resource saw.
#[derive(Clone, Debug, Default)]
pub(super) struct Resource {
    pub(super) accesses: Accesses,
    puts: u64,
    value: u64,
    /// By fence: the places of the first and the last access that was accepted.
    accepted: HashMap<Fence, (u64, u64)>,
    highest: Option<Fence>,
    /// The first access that was accepted with a fence lower than one before it.
    pub(super) stale: Option<Found>,
}

impl Resource {
    pub(super) fn read(&mut self, time: u64, access: &Access) {
        if !access.accepted {
            self.accesses.refused += 1;
            return;
        }
        self.accesses.accepted += 1;
        self.puts += u64::from(access.operation == Operation::Put);
        self.value = access.value;
        let Some(fence) = access.fence else { return };
        let place = self.accesses.accepted;
        self.accepted.entry(fence).or_insert((place, place)).1 = place;
        match self.highest {
            Some(highest) if fence < highest => {
                let Access { by, .. } = access;
                self.stale.get_or_insert_with(|| {
                    let says = format!(
                        "the resource accepted an access of {by} with fence {fence}, \
                         after one with fence {highest}"
                    );
                    Found { time, says }
                });
            }
            _ => self.highest = Some(fence),
        }
    }

    /// Whether there was any access at all.
    pub(super) fn seen(&self) -> bool {
        self.accesses != Accesses::default()
    }

    /// Whether an access with the lower fence was accepted after one with the higher.
    pub(super) fn let_in(&self, lower: Fence, higher: Fence) -> bool {
        match (self.accepted.get(&lower), self.accepted.get(&higher)) {
            (Some((_, last)), Some((first, _))) => last > first,
            _ => false,
        }
    }

    pub(super) fn counter(&self) -> Option<Counter> {
        let (expected, found) = (self.puts, self.value);
        let lost = expected.cast_signed().wrapping_sub(found.cast_signed());
        self.seen().then_some(Counter { expected, found, lost })
    }
}
