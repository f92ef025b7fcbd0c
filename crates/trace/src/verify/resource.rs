//! Verification of accesses to the resource. It finds stale accesses that were accepted, and lost
//! updates of the counter.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::Serialize;
use tenure_core::Fence;

use super::findings::DetectedViolation;
use crate::format::{ResourceAccessRecord, ResourceOperation};

/// Numbers of accesses to the resource that the lock protects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ResourceAccessCounts {
    /// Number of accepted accesses.
    pub accepted: u64,
    /// Number of rejected accesses.
    pub refused: u64,
}

/// Final state of a counter that clients increment without atomicity: they read, add and write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ResourceCounterResult {
    /// Number of accepted writes. Each write is an increment, so the counter should reach this
    /// value.
    pub expected: u64,
    /// Value of the counter in the last accepted access.
    pub found: u64,
    /// Number of increments that other increments have overwritten: `expected` − `found`. Negative
    /// if the counter is too large.
    pub lost: i64,
}

/// Two entries to the critical section that overlapped.
#[derive(Clone, Copy, Debug)]
pub(super) struct OverlappingEntries {
    lower: Fence,
    higher: Fence,
    time: u64,
}

impl OverlappingEntries {
    /// Creates the pair of entries with these fences, in any order. `time` is the time at which the
    /// later entry began.
    pub(super) fn new(one: Fence, other: Fence, time: u64) -> Self {
        OverlappingEntries { lower: one.min(other), higher: one.max(other), time }
    }
}

/// Maximum number of fences that verification remembers. The same maximum applies to the pairs of
/// overlapping entries. The lowest fences are forgotten first. An access with a forgotten fence is
/// always stale, because the resource has accepted accesses with higher fences.
const MAX_REMEMBERED: usize = 1 << 16;

/// State of the verification of accesses to the resource. It reads the accesses in the order in
/// which the resource handled them.
#[derive(Clone, Debug, Default)]
pub(super) struct ResourceVerifier {
    pub(super) accesses: ResourceAccessCounts,
    puts: u64,
    value: u64,
    /// Positions of the first and of the last access with each fence. The position of an access is
    /// its place among the accepted accesses.
    accepted: BTreeMap<Fence, (u64, u64)>,
    highest: Option<Fence>,
    /// First stale access that the resource accepted. An access is stale if its fence is lower than
    /// the fence of an access that the resource accepted earlier.
    pub(super) first_stale_access: Option<DetectedViolation>,
    /// Pairs of overlapping entries for which no violation has been seen yet. A violation is an
    /// access with the pair's lower fence that the resource accepts after an access with the higher
    /// fence.
    pairs: VecDeque<OverlappingEntries>,
    /// Fences that two overlapping entries share.
    twins: BTreeSet<Fence>,
    /// First pair with a violation: the resource accepted an access with the lower fence of the
    /// pair after an access with the higher fence.
    stale_pair: Option<OverlappingEntries>,
}

impl ResourceVerifier {
    pub(super) fn verify_access(&mut self, time: u64, access: &ResourceAccessRecord) {
        if !access.accepted {
            self.accesses.refused += 1;
            return;
        }
        self.accesses.accepted += 1;
        self.puts += u64::from(access.operation == ResourceOperation::Put);
        self.value = access.value;
        let Some(fence) = access.fence else { return };
        let place = self.accesses.accepted;
        self.accepted.entry(fence).or_insert((place, place)).1 = place;
        match self.highest {
            Some(highest) if fence < highest => {
                self.decide(fence);
                let ResourceAccessRecord { by, .. } = access;
                self.first_stale_access.get_or_insert_with(|| {
                    let description = format!(
                        "the resource accepted an access of {by} with fence {fence}, \
                         after one with fence {highest}"
                    );
                    DetectedViolation { time, description }
                });
            }
            _ => self.highest = Some(fence),
        }
        if self.twins.contains(&fence) {
            self.decide(fence);
        }
        if self.accepted.len() > MAX_REMEMBERED {
            self.accepted.pop_first();
        }
    }

    /// Handles two entries that overlap. Each entry has a fence. If the resource has accepted first
    /// an access with the higher fence and then one with the lower fence, the pair is a violation.
    /// Remembers the pair if no violation has been found so far.
    pub(super) fn on_overlap(&mut self, pair: OverlappingEntries) {
        if self.is_stale(&pair) {
            // The remembered pairs are older than this pair. If one of them becomes a violation
            // later, it replaces this pair.
            self.stale_pair.get_or_insert(pair);
        }
        if self.stale_pair.is_some() {
            return;
        }
        if pair.lower == pair.higher {
            self.twins.insert(pair.lower);
        }
        self.pairs.push_back(pair);
        if self.pairs.len() > MAX_REMEMBERED
            && let Some(oldest) = self.pairs.pop_front()
        {
            self.twins.remove(&oldest.lower);
        }
    }

    /// Handles an access with the fence `fence` that the resource accepted. If this access shows
    /// that a remembered pair of entries is a violation, stores the pair in `stale_pair`. Then
    /// forgets this pair and all later pairs, because only the first violation is reported.
    fn decide(&mut self, fence: Fence) {
        let mut pairs = self.pairs.iter();
        let place = pairs.position(|pair| pair.lower == fence && self.is_stale(pair));
        if let Some(place) = place {
            self.stale_pair = Some(self.pairs[place]);
            self.pairs.truncate(place);
        }
    }

    /// Returns true if the pair is a violation: the resource accepted an access with the lower
    /// fence after an access with the higher fence.
    fn is_stale(&self, pair: &OverlappingEntries) -> bool {
        match (self.accepted.get(&pair.lower), self.accepted.get(&pair.higher)) {
            (Some((_, last)), Some((first, _))) => last > first,
            _ => false,
        }
    }

    /// Returns the first overlap that is a violation: the resource accepted an access with the
    /// lower fence after an access with the higher fence. `None` if there is no such overlap.
    pub(super) fn overlap_violation(&self) -> Option<DetectedViolation> {
        self.stale_pair.map(|OverlappingEntries { lower, higher, time }| DetectedViolation {
            time,
            description: format!(
                "the entries with fences {lower} and {higher} overlapped, and the resource \
                 accepted an access with {lower} after one with {higher}"
            ),
        })
    }

    pub(super) fn retained_count(&self) -> usize {
        self.accepted.len() + self.pairs.len() + self.twins.len()
    }

    pub(super) fn has_accesses(&self) -> bool {
        self.accesses != ResourceAccessCounts::default()
    }

    pub(super) fn counter_result(&self) -> Option<ResourceCounterResult> {
        let (expected, found) = (self.puts, self.value);
        let lost = expected.cast_signed().wrapping_sub(found.cast_signed());
        self.has_accesses().then_some(ResourceCounterResult { expected, found, lost })
    }
}
