use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::Serialize;
use tenure_core::Fence;

use super::findings::Found;
use crate::format::{Access, Operation};

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

/// Two entries that overlapped.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    lower: Fence,
    higher: Fence,
    time: u64,
}

impl Pair {
    /// Of entries with these fences, of which the second began at this time.
    pub(super) fn of(one: Fence, other: Fence, time: u64) -> Self {
        Pair { lower: one.min(other), higher: one.max(other), time }
    }
}

/// How many fences and pairs are looked back upon. A fence from before that is let in is stale in
/// any case.
const REMEMBERED: usize = 1 << 16;

/// What the resource saw.
#[derive(Clone, Debug, Default)]
pub(super) struct Resource {
    pub(super) accesses: Accesses,
    puts: u64,
    value: u64,
    /// By fence: the places of the first and the last access that was accepted.
    accepted: BTreeMap<Fence, (u64, u64)>,
    highest: Option<Fence>,
    /// The first access that was accepted with a fence lower than one before it.
    pub(super) stale: Option<Found>,
    /// The pairs of entries of which nothing is decided.
    pairs: VecDeque<Pair>,
    /// The fences of pairs that have one between them.
    twins: BTreeSet<Fence>,
    /// The first pair of which an access with the lower fence was accepted after one with the
    /// higher.
    let_in: Option<Pair>,
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
                self.decide(fence);
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
        if self.twins.contains(&fence) {
            self.decide(fence);
        }
        if self.accepted.len() > REMEMBERED {
            self.accepted.pop_first();
        }
    }

    /// Two entries overlap.
    pub(super) fn overlap(&mut self, pair: Pair) {
        if self.was_let_in(&pair) {
            // All that are in `pairs` came before.
            self.let_in.get_or_insert(pair);
        }
        if self.let_in.is_some() {
            return;
        }
        if pair.lower == pair.higher {
            self.twins.insert(pair.lower);
        }
        self.pairs.push_back(pair);
        if self.pairs.len() > REMEMBERED
            && let Some(oldest) = self.pairs.pop_front()
        {
            self.twins.remove(&oldest.lower);
        }
    }

    /// An access with this fence was accepted: looks for the first pair of which it is the lower
    /// one, and forgets those that came after.
    fn decide(&mut self, fence: Fence) {
        let mut pairs = self.pairs.iter();
        let place = pairs.position(|pair| pair.lower == fence && self.was_let_in(pair));
        if let Some(place) = place {
            self.let_in = Some(self.pairs[place]);
            self.pairs.truncate(place);
        }
    }

    /// Whether an access with the lower fence was accepted after one with the higher.
    fn was_let_in(&self, pair: &Pair) -> bool {
        match (self.accepted.get(&pair.lower), self.accepted.get(&pair.higher)) {
            (Some((_, last)), Some((first, _))) => last > first,
            _ => false,
        }
    }

    /// The first overlap that the resource did not mend.
    pub(super) fn let_in(&self) -> Option<Found> {
        self.let_in.map(|Pair { lower, higher, time }| Found {
            time,
            says: format!(
                "the entries with fences {lower} and {higher} overlapped, and the resource \
                 accepted an access with {lower} after one with {higher}"
            ),
        })
    }

    pub(super) fn held(&self) -> usize {
        self.accepted.len() + self.pairs.len() + self.twins.len()
    }

    /// Whether there was any access at all.
    pub(super) fn seen(&self) -> bool {
        self.accesses != Accesses::default()
    }

    pub(super) fn counter(&self) -> Option<Counter> {
        let (expected, found) = (self.puts, self.value);
        let lost = expected.cast_signed().wrapping_sub(found.cast_signed());
        self.seen().then_some(Counter { expected, found, lost })
    }
}
