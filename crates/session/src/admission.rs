//! Admission to a lock: the rules that decide which claims of a queue hold the lock.
//!
//! A claim holds the lock if it can share the lock with all earlier claims of the queue. No claim
//! overtakes another: the earlier claims alone decide whether a claim holds the lock, and new
//! claims come last. So a holder stays a holder until its own key is deleted, and a writer is not
//! overtaken by readers that arrive later.
//!
//! **Why no claim waits forever.** [`AccessMode::blocking_claims`] returns keys of earlier claims.
//! The claim can hold the lock only after at least one of these keys is deleted. The client of the
//! claim watches all these keys, from the revision in which it read the queue. So the client learns
//! of the first of these deletions. After each deletion the client reads the queue again.

use alloc::collections::BTreeMap;
use alloc::collections::btree_map::Entry;
use alloc::vec;
use alloc::vec::Vec;

/// Kind of access to a lock that a claim requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AccessMode {
    /// No other claim may hold the lock: a mutex, a writer or a leader.
    #[default]
    Exclusive,
    /// Other shared claims may hold the lock at the same time: a reader.
    Shared,
    /// Other claims that take permits may hold the lock at the same time: a counting semaphore.
    Permits {
        /// Number of permits that the claim takes, from 1 to `capacity`. A value outside of this
        /// range counts as the nearest bound.
        weight: u32,
        /// Number of permits that all holders together may have, at least 1. All claims of a queue
        /// should state the same number. If the numbers differ, the smallest number among this
        /// claim and all earlier claims applies to this claim.
        capacity: u32,
    },
}

impl AccessMode {
    /// Returns the keys of the earlier claims that block a claim. The result is empty if the claim
    /// holds the lock. Otherwise, the claim cannot hold the lock before one of these keys is
    /// deleted.
    ///
    /// `earlier` contains all earlier claims of the queue, from the last one to the first one. The
    /// method reads the earlier claims in this order. If an earlier claim cannot share the lock
    /// with this claim, the method stops and returns only the key of that earlier claim.
    pub fn blocking_claims<K>(self, earlier: impl IntoIterator<Item = (K, AccessMode)>) -> Vec<K> {
        let (mut holders, mut keys) = (HolderSummary::NONE, Vec::new());
        for (key, other) in earlier {
            if !self.can_share_with(other) {
                return vec![key];
            }
            holders.add_holder(other);
            keys.push(key);
        }
        if holders.can_admit(self) { Vec::new() } else { keys }
    }

    /// Returns true if two claims with these accesses may hold a lock together. Assumes that there
    /// are enough permits.
    const fn can_share_with(self, other: AccessMode) -> bool {
        matches!(
            (self, other),
            (AccessMode::Shared, AccessMode::Shared)
                | (AccessMode::Permits { .. }, AccessMode::Permits { .. })
        )
    }

    /// Returns true if a claim with this access holds the lock as soon as its blocker has released
    /// the lock. The blocker must hold the lock, and its key must be the only key that
    /// [`AccessMode::blocking_claims`] returned for the claim. `holder` is the access of the
    /// blocker.
    ///
    /// If the result is false, the waiting client must read the queue again after the release. If
    /// the claim is a writer, earlier readers may still block it: `blocking_claims` returns only
    /// the last of them. If the claim takes permits, claims between the blocker and this claim may
    /// have taken the released permits.
    pub const fn acquires_on_release_of(self, holder: AccessMode) -> bool {
        matches!(
            (self, holder),
            (AccessMode::Exclusive | AccessMode::Shared, AccessMode::Exclusive)
        )
    }
}

/// Summary of the holders of a lock, which are the first claims of its queue. It shows whether the
/// next claim of the queue holds the lock as well.
///
/// Two summaries are equal if they summarize equal sets of holders. The order in which holders were
/// added and removed has no effect.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HolderSummary {
    count: u64,
    /// True if the holders are readers.
    is_shared: bool,
    /// Number of permits that all holders take together.
    taken: u64,
    /// Capacities that the holders state, each with the number of holders that state it. Empty if
    /// no holder takes permits. With these numbers, the removal of a holder needs no scan of the
    /// other holders, of which there may be many.
    capacities: BTreeMap<u32, u32>,
}

impl HolderSummary {
    /// Summary of an empty set of holders: the lock is free.
    pub const NONE: HolderSummary =
        HolderSummary { count: 0, is_shared: false, taken: 0, capacities: BTreeMap::new() };

    /// Returns the number of holders.
    pub const fn holder_count(&self) -> u64 {
        self.count
    }

    /// Returns true if a claim that requests `access` may hold the lock together with the holders
    /// in this summary. The claim must be the next of the queue.
    pub fn can_admit(&self, access: AccessMode) -> bool {
        if self.count == 0 {
            return true;
        }
        match access {
            AccessMode::Exclusive => false,
            AccessMode::Shared => self.is_shared,
            AccessMode::Permits { weight, capacity } => {
                let taken = self.taken.saturating_add(permits(weight, capacity));
                let lowest = self.capacities.first_key_value();
                lowest.is_some_and(|(lowest, _)| taken <= u64::from(capacity.max(1).min(*lowest)))
            }
        }
    }

    /// Adds a holder with this access. The caller must have checked this access with
    /// [`HolderSummary::can_admit`].
    pub fn add_holder(&mut self, access: AccessMode) {
        self.count += 1;
        match access {
            AccessMode::Exclusive => {}
            AccessMode::Shared => self.is_shared = true,
            AccessMode::Permits { weight, capacity } => {
                self.taken = self.taken.saturating_add(permits(weight, capacity));
                *self.capacities.entry(capacity.max(1)).or_default() += 1;
            }
        }
    }

    /// Removes a holder with this access. The caller must have added a holder with the same access.
    pub fn remove_holder(&mut self, access: AccessMode) {
        self.count = self.count.saturating_sub(1);
        self.is_shared &= self.count > 0;
        if let AccessMode::Permits { weight, capacity } = access {
            self.taken = self.taken.saturating_sub(permits(weight, capacity));
            if let Entry::Occupied(mut same) = self.capacities.entry(capacity.max(1)) {
                *same.get_mut() -= 1;
                if *same.get() == 0 {
                    same.remove();
                }
            }
        }
    }
}

impl Default for HolderSummary {
    fn default() -> Self {
        HolderSummary::NONE
    }
}

/// Returns `weight`, raised to at least 1 and lowered to at most `capacity`.
fn permits(weight: u32, capacity: u32) -> u64 {
    u64::from(weight.clamp(1, capacity.max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn permits_of(weight: u32, capacity: u32) -> AccessMode {
        AccessMode::Permits { weight, capacity }
    }

    /// Returns the indices of the earlier claims that block the last claim of `queue`.
    fn blockers(queue: &[AccessMode]) -> Vec<usize> {
        let (own, earlier) = queue.split_last().expect("a claim");
        own.blocking_claims(earlier.iter().copied().enumerate().rev())
    }

    const KINDS: [AccessMode; 5] = [
        AccessMode::Exclusive,
        AccessMode::Shared,
        permits_of(1, 3),
        permits_of(2, 3),
        permits_of(1, 2),
    ];

    /// Calls `visit` with every queue of up to four claims.
    fn each_queue(mut visit: impl FnMut(&[AccessMode])) {
        let mut queues: Vec<Vec<AccessMode>> = vec![Vec::new()];
        for _ in 0..4 {
            let longer =
                queues.iter().flat_map(|queue| KINDS.map(|kind| [&queue[..], &[kind]].concat()));
            queues = longer.collect();
            queues.iter().for_each(|queue| visit(queue));
        }
    }

    fn holds(queue: &[AccessMode]) -> bool {
        blockers(queue).is_empty()
    }

    /// The service and a client decide in different ways whether a claim holds the lock. The
    /// service goes from the first claim of the queue to the last. A client goes from its own claim
    /// back to the first. Both must find the same holders.
    #[test]
    fn head_of_queue_and_blockers_agree() {
        each_queue(|queue| {
            let mut holders = HolderSummary::NONE;
            let admitted = queue.iter().take_while(|access| {
                let is_admitted = holders.can_admit(**access);
                if is_admitted {
                    holders.add_holder(**access);
                }
                is_admitted
            });
            let admitted = admitted.count();
            for end in 1..=queue.len() {
                assert_eq!(holds(&queue[..end]), end <= admitted, "{:?}", &queue[..end]);
            }
        });
    }

    /// Removes every possible set of holders, in both orders. The summary must be that of the
    /// remaining holders.
    #[test]
    fn removal_leaves_summary_of_remaining_holders() {
        let summary_of = |accesses: &[AccessMode]| {
            let mut holders = HolderSummary::NONE;
            accesses.iter().for_each(|access| holders.add_holder(*access));
            holders
        };
        each_queue(|queue| {
            let head = (1..=queue.len()).take_while(|end| holds(&queue[..*end])).count();
            for removed in 0..1_usize << head {
                let is_removed = |place: &usize| (removed >> place) & 1 == 1;
                let gone = (0..head).filter(is_removed);
                let rest = (0..head).filter(|place| !is_removed(place));
                let rest: Vec<_> = rest.map(|place| queue[place]).collect();
                let (mut forward, mut backward) =
                    (summary_of(&queue[..head]), summary_of(&queue[..head]));
                gone.clone().for_each(|place| forward.remove_holder(queue[place]));
                gone.rev().for_each(|place| backward.remove_holder(queue[place]));
                assert_eq!(forward, summary_of(&rest), "{queue:?} without {removed:b}");
                assert_eq!(backward, forward, "{queue:?} without {removed:b}");
            }
        });
    }

    #[test]
    fn readers_share_and_wait_for_an_earlier_writer() {
        use AccessMode::{Exclusive, Shared};
        assert_eq!(blockers(&[Shared, Shared, Shared]), []);
        assert_eq!(blockers(&[Shared, Shared, Exclusive]), [1]);
        assert_eq!(blockers(&[Exclusive, Shared, Exclusive, Shared, Shared]), [2]);
        assert_eq!(blockers(&[permits_of(1, 2), Shared]), [0]);
    }

    #[test]
    fn permits_are_counted_by_weight_and_lowest_capacity() {
        assert_eq!(blockers(&[permits_of(2, 3), permits_of(1, 3)]), []);
        assert_eq!(blockers(&[permits_of(2, 3), permits_of(2, 3)]), [0]);
        assert_eq!(blockers(&[permits_of(1, 1), permits_of(1, 9)]), [0]);
        assert_eq!(blockers(&[permits_of(9, 2)]), [], "a weight above the capacity takes all");
        assert_eq!(blockers(&[permits_of(0, 0), permits_of(1, 2)]), [0]);
        assert_eq!(blockers(&[permits_of(1, 3), AccessMode::Shared, permits_of(1, 3)]), [1]);
    }

    /// Checks that the holders are the first claims of the queue. An exclusive holder must be the
    /// only holder, and a reader must share the lock with readers only. If the holders take
    /// permits, the sum of these permits must not exceed the smallest capacity that a holder
    /// states.
    #[test]
    fn holders_are_the_head_of_the_queue_and_compatible() {
        each_queue(|queue| {
            let head = (1..=queue.len()).take_while(|end| holds(&queue[..*end])).count();
            let held = (1..=queue.len()).filter(|end| holds(&queue[..*end])).count();
            assert_eq!(head, held, "a claim overtakes another: {queue:?}");
            assert!(head > 0, "the first claim waits: {queue:?}");
            let holders = &queue[..head];
            let taken = holders.iter().map(|holder| match holder {
                AccessMode::Permits { weight, .. } => *weight,
                AccessMode::Exclusive | AccessMode::Shared => 1,
            });
            let taken: u32 = taken.sum();
            for holder in holders {
                let is_right = match holder {
                    AccessMode::Exclusive => head == 1,
                    AccessMode::Shared => holders.iter().all(|it| *it == AccessMode::Shared),
                    AccessMode::Permits { capacity, .. } => taken <= *capacity,
                };
                assert!(is_right, "{queue:?}");
            }
        });
    }

    /// Deletes every possible set of earlier claims from every queue, and checks the last claim. If
    /// the claim held the lock before the deletions, it must hold the lock afterwards. If the claim
    /// waited and all its blockers still exist, it must not hold the lock. So a waiting client that
    /// watches only the blockers notices every change that can give it the lock.
    #[test]
    fn claim_waits_while_all_blockers_exist() {
        each_queue(|queue| {
            let (own, earlier) = queue.split_last().expect("a claim");
            let before = blockers(queue);
            for deleted in 0..1_usize << earlier.len() {
                let is_deleted = |place: &usize| (deleted >> place) & 1 == 1;
                let rest = (0..earlier.len()).filter(|place| !is_deleted(place));
                let after: Vec<_> = rest.map(|place| earlier[place]).chain([*own]).collect();
                if before.is_empty() {
                    assert!(holds(&after), "{queue:?} without {deleted:b}");
                } else if !before.iter().any(is_deleted) {
                    assert!(!holds(&after), "{queue:?} without {deleted:b}");
                }
            }
        });
    }

    /// Deletes the only blocker of a waiting claim. The claim must hold the lock afterwards if
    /// [`AccessMode::acquires_on_release_of`] is true for the claim and this blocker. If the method
    /// returns false, the claim must still wait in some of the queues.
    #[test]
    fn claim_takes_over_from_exclusive_holder_only() {
        let mut others = 0;
        each_queue(|queue| {
            let blocked_by = blockers(queue);
            let [blocker] = blocked_by[..] else { return };
            if !holds(&queue[..=blocker]) {
                return;
            }
            let rest = [&queue[..blocker], &queue[blocker + 1..]].concat();
            let own = queue[queue.len() - 1];
            if own.acquires_on_release_of(queue[blocker]) {
                assert!(holds(&rest), "{queue:?}");
            } else {
                others += usize::from(!holds(&rest));
            }
        });
        assert!(others > 0);
    }
}
