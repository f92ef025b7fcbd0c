//! The lessor: the part of the leader that tracks how much time each lease has left.
//!
//! The leader divides the time of a lease into parts. At the end of each part except the last, the
//! leader records the remaining time in the log. At the end of the last part, an entry of the log
//! ends the lease.
//!
//! A new leader counts from the last recorded time. Each change of leader therefore delays the end
//! of a lease by at most one part. A leader that hands over leadership first records the remaining
//! time, which makes the delay shorter. A renewal needs a log entry only if the log has recorded
//! less than the full TTL. One entry can record the remaining times of many leases.
//!
//! **Why a renewed lease does not end.** A renewal is confirmed only if three conditions hold:
//!
//! - No entry that ends the lease is pending.
//! - The log has recorded the full TTL, so a new leader would count the full TTL.
//! - A majority has confirmed this leader after the renewal arrived. The caller checks this
//!   condition before it calls [`Lessor::renew`].
//!
//! An entry that shortens or ends the lease contains the index of the last entry that renewed the
//! lease. If the lease is renewed again before such an entry is applied, the entry has no effect.

use alloc::collections::BTreeMap;

/// Lengths of the parts into which the time of a lease is divided, in the unit of the TTL. At the
/// end of each part, the leader records the remaining time of the lease in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CheckpointPolicy {
    /// Divisor that determines the length of a part, at least 1. Each part has the length TTL /
    /// `count`, rounded down, but at least `min_length`. Only the last part may be shorter.
    pub count: u64,
    /// Lower bound on the length of a part, at least 1. Only the last part may be shorter, if less
    /// of the lease is left.
    pub min_length: u64,
}

impl CheckpointPolicy {
    /// Parts of a tenth of the TTL each, but at least one unit long.
    pub const TENTHS: CheckpointPolicy = CheckpointPolicy { count: 10, min_length: 1 };

    /// Returns the length of the next part of a lease. `left` is the remaining time of the lease at
    /// the start of this part. Returns 0 if no time is left.
    fn next(self, left: u64, ttl: u64) -> u64 {
        (ttl / self.count).max(self.min_length).min(left)
    }
}

/// Outcome of a request to renew a lease: confirmed at once, later, or never.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RenewalOutcome {
    /// The renewal can be confirmed. The caller arms the timer of the lease anew.
    Accepted {
        /// Time until the timer of the lease must fire, in the unit of the TTL. It is the length of
        /// the first [part](CheckpointPolicy) of the lease.
        part_length: u64,
    },
    /// The renewal can be confirmed once a log entry has recorded the full TTL. The caller must
    /// propose this entry.
    NeedsCheckpoint {
        /// TTL of the lease. The caller proposes an entry that records this TTL as the remaining
        /// time.
        ttl: u64,
    },
    /// An entry that ends the lease is pending. The renewal waits for the outcome of this entry.
    Pending,
    /// The lease does not exist.
    NotFound,
}

/// Entry that the caller proposes to the log when the timer of a lease fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LeaseProposal {
    /// Record the remaining time of the lease, because one [part](CheckpointPolicy) of its time
    /// has passed. The next part begins now, so the caller arms the timer of the lease for the
    /// length of this part.
    Checkpoint {
        /// Remaining time of the lease, in the unit of the TTL.
        left: u64,
        /// Time until the timer of the lease must fire, in the unit of the TTL: the length of the
        /// [part](CheckpointPolicy) that begins now.
        part: u64,
    },
    /// End the lease. If the timer of the lease fires again, the caller proposes another entry that
    /// ends the lease. While such an entry is pending, the lease cannot be renewed.
    Expire,
    /// Nothing to propose, because the lease does not exist.
    None,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct LeaseState {
    /// Remaining time of the lease when its timer was last armed, in the unit of the TTL. 0 if the
    /// last part has passed.
    left: u64,
    /// Remaining time from which a new leader may count, in the unit of the TTL. The last log entry
    /// that records a remaining time contains this value. This entry may still be uncommitted.
    checkpointed: u64,
    ttl: u64,
    /// Argument `renewal_index` of the last call of [`Lessor::on_timer`] that returned
    /// [`LeaseProposal::Expire`]. `None` if no entry that ends the lease is pending.
    pending_expiry: Option<u64>,
}

/// Tracks the remaining time of leases for a leader. `Id` is the type that identifies a lease.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Lessor<Id> {
    checkpoint_interval: CheckpointPolicy,
    leases: BTreeMap<Id, LeaseState>,
}

impl<Id: Ord + Copy> Lessor<Id> {
    /// Creates a lessor without leases.
    pub const fn new(checkpoint_interval: CheckpointPolicy) -> Self {
        Lessor { checkpoint_interval, leases: BTreeMap::new() }
    }

    /// Adds a lease with the remaining time `remaining`, or sets the remaining time of a known
    /// lease. The caller does this when the lease begins, when this leader takes over, and when an
    /// entry has recorded a new time. Returns the time until the timer of the lease must fire: the
    /// length of the next [part](CheckpointPolicy).
    ///
    /// If `remaining` is less than `ttl` and the log has already recorded `remaining` or a shorter
    /// time, returns `None` and changes nothing. The running timer then continues.
    pub fn start_countdown(&mut self, lease: Id, remaining: u64, ttl: u64) -> Option<u64> {
        let state = self.leases.get(&lease);
        if remaining < ttl && state.is_some_and(|state| state.checkpointed <= remaining) {
            return None;
        }
        self.leases.insert(
            lease,
            LeaseState { left: remaining, checkpointed: remaining, ttl, pending_expiry: None },
        );
        Some(self.checkpoint_interval.next(remaining, ttl))
    }

    /// Prepares a handover of leadership. `remaining` is the remaining time of the lease. Returns
    /// the remaining time that the caller must record in the log for the new leader.
    ///
    /// Returns `None` if the caller need not record anything: the recorded time is at most
    /// `remaining`, an entry that ends the lease is pending, or the lease does not exist. The
    /// running timer of the lease continues in any case.
    pub fn checkpoint_for_handover(&mut self, lease: Id, remaining: u64) -> Option<u64> {
        let state = self.leases.get_mut(&lease)?;
        if state.pending_expiry.is_some() || remaining >= state.checkpointed {
            return None;
        }
        // The caller proposes an entry with this time. A new leader may count from this time even
        // before this leader learns that the entry is committed.
        state.checkpointed = remaining;
        Some(remaining)
    }

    /// Removes a lease that has ended.
    pub fn remove(&mut self, lease: Id) {
        self.leases.remove(&lease);
    }

    /// Handles a log entry that did not end its lease, because another entry had renewed the lease
    /// first. `renewal_index` is the argument of the call of [`Lessor::on_timer`] that proposed
    /// this entry.
    ///
    /// If the lessor waits for the outcome of this entry, sets the remaining time of the lease to
    /// the full TTL. Then returns the time until the timer of the lease must fire: the length of
    /// the first [part](CheckpointPolicy).
    ///
    /// Otherwise, returns `None` and changes nothing. In this case, the lease does not exist, was
    /// renewed in the meantime, or has a later pending entry.
    pub fn on_expiry_rejected(&mut self, lease: Id, renewal_index: u64) -> Option<u64> {
        let state = self.leases.get_mut(&lease)?;
        if state.pending_expiry != Some(renewal_index) {
            return None;
        }
        (state.left, state.pending_expiry) = (state.ttl, None);
        Some(self.checkpoint_interval.next(state.ttl, state.ttl))
    }

    /// Decides on a request to renew a lease. If the renewal is accepted, the remaining time of the
    /// lease becomes the full TTL. The caller must know that a majority has confirmed this leader
    /// after the request arrived.
    pub fn renew(&mut self, lease: Id) -> RenewalOutcome {
        let Some(state) = self.leases.get_mut(&lease) else { return RenewalOutcome::NotFound };
        let ttl = state.ttl;
        if state.pending_expiry.is_some() {
            return RenewalOutcome::Pending;
        }
        if state.checkpointed < ttl {
            return RenewalOutcome::NeedsCheckpoint { ttl };
        }
        state.left = ttl;
        RenewalOutcome::Accepted { part_length: self.checkpoint_interval.next(ttl, ttl) }
    }

    /// Handles the timer of a lease, and returns the entry that the caller must propose. The timer
    /// fires at the end of each [part](CheckpointPolicy) of the lease. After the last part, the
    /// caller may arm the timer again, to propose once more that the lease ends.
    ///
    /// `renewal_index` is the index of the last log entry that renewed the lease. The caller puts
    /// this index into the entry that ends the lease. If another log entry renews the lease first,
    /// the entry that ends the lease has no effect.
    pub fn on_timer(&mut self, lease: Id, renewal_index: u64) -> LeaseProposal {
        let Some(state) = self.leases.get_mut(&lease) else { return LeaseProposal::None };
        let LeaseState { left, ttl, .. } = *state;
        state.left = left - self.checkpoint_interval.next(left, ttl);
        if state.left == 0 {
            state.pending_expiry = Some(renewal_index);
            return LeaseProposal::Expire;
        }
        // The caller proposes an entry with this time. A new leader may count from this time even
        // before this leader learns that the entry is committed.
        state.checkpointed = state.left;
        LeaseProposal::Checkpoint {
            left: state.left,
            part: self.checkpoint_interval.next(state.left, ttl),
        }
    }

    /// Returns the remaining time of the lease at the end of the [part](CheckpointPolicy) that is
    /// running now. The timer of the lease fires at that moment. Returns `None` if the lease does
    /// not exist.
    pub fn remaining_at_next_checkpoint(&self, lease: Id) -> Option<u64> {
        let LeaseState { left, ttl, .. } = *self.leases.get(&lease)?;
        Some(left - self.checkpoint_interval.next(left, ttl))
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn lease_runs_out_in_parts_unless_renewed() {
        let mut lessor = Lessor::new(CheckpointPolicy::TENTHS);
        assert_eq!(lessor.start_countdown('a', 2, 2), Some(1));
        assert_eq!(lessor.renew('a'), RenewalOutcome::Accepted { part_length: 1 });
        assert_eq!(lessor.on_timer('a', 0), LeaseProposal::Checkpoint { left: 1, part: 1 });
        let noted = RenewalOutcome::NeedsCheckpoint { ttl: 2 };
        assert_eq!(lessor.renew('a'), noted, "a new leader would count from one part");
        assert_eq!(lessor.start_countdown('a', 1, 2), None, "it is counted from there already");
        assert_eq!(lessor.start_countdown('a', 2, 2), Some(1));
        assert_eq!(lessor.on_timer('a', 0), LeaseProposal::Checkpoint { left: 1, part: 1 });
        assert_eq!(lessor.on_timer('a', 0), LeaseProposal::Expire);
        assert_eq!(lessor.renew('a'), RenewalOutcome::Pending);
        lessor.remove('a');
        assert_eq!(
            (lessor.renew('a'), lessor.on_timer('a', 0)),
            (RenewalOutcome::NotFound, LeaseProposal::None)
        );
    }

    #[test]
    fn renewal_waits_until_an_end_is_decided() {
        let mut lessor = Lessor::new(CheckpointPolicy::TENTHS);
        assert_eq!(lessor.start_countdown('a', 1, 1), Some(1));
        assert_eq!(
            (lessor.on_timer('a', 3), lessor.on_timer('a', 3)),
            (LeaseProposal::Expire, LeaseProposal::Expire)
        );
        assert_eq!(lessor.renew('a'), RenewalOutcome::Pending);
        assert_eq!(lessor.on_expiry_rejected('a', 3), Some(1));
        assert_eq!(lessor.renew('a'), RenewalOutcome::Accepted { part_length: 1 });
        assert_eq!(lessor.on_expiry_rejected('a', 3), None, "the same end, proposed twice");
    }

    /// An entry that ends a lease is pending when another entry renews the lease. Then the lease
    /// runs out again, so that a second entry that ends it is pending. A renewal waits for the
    /// outcome of the second entry.
    #[test]
    fn renewal_waits_for_the_last_of_two_ends() {
        let mut lessor = Lessor::new(CheckpointPolicy::TENTHS);
        assert_eq!(lessor.start_countdown('a', 1, 1), Some(1));
        assert_eq!(lessor.on_timer('a', 3), LeaseProposal::Expire);
        assert_eq!(lessor.start_countdown('a', 1, 1), Some(1), "an entry renews the lease");
        assert_eq!(lessor.on_timer('a', 5), LeaseProposal::Expire);
        assert_eq!(lessor.on_expiry_rejected('a', 3), None);
        assert_eq!(lessor.renew('a'), RenewalOutcome::Pending, "the second end is pending");
        assert_eq!(lessor.on_expiry_rejected('a', 5), Some(1));
        assert_eq!(lessor.renew('a'), RenewalOutcome::Accepted { part_length: 1 });
    }

    #[test]
    fn parts_are_a_tenth_of_the_lease_or_one_unit() {
        let mut lessor = Lessor::new(CheckpointPolicy::TENTHS);
        assert_eq!(lessor.start_countdown("long", 61, 61), Some(6));
        assert_eq!(lessor.remaining_at_next_checkpoint("long"), Some(55));
        for left in (1..=9).rev().map(|part| 6 * part + 1) {
            assert_eq!(lessor.on_timer("long", 0), LeaseProposal::Checkpoint { left, part: 6 });
        }
        assert_eq!(lessor.on_timer("long", 0), LeaseProposal::Checkpoint { left: 1, part: 1 });
        assert_eq!(lessor.on_timer("long", 0), LeaseProposal::Expire);
        assert_eq!(lessor.start_countdown("found", 3, 61), Some(3));
        assert_eq!(lessor.start_countdown("short", 2, 2), Some(1));
        assert_eq!(lessor.on_timer("short", 0), LeaseProposal::Checkpoint { left: 1, part: 1 });
    }

    #[test]
    fn handover_checkpoints_remaining_time_and_later_renewals() {
        let mut lessor = Lessor::new(CheckpointPolicy::TENTHS);
        assert_eq!(lessor.start_countdown('a', 60, 60), Some(6));
        assert_eq!(lessor.checkpoint_for_handover('a', 60), None);
        assert_eq!(lessor.checkpoint_for_handover('a', 57), Some(57));
        assert_eq!(lessor.checkpoint_for_handover('a', 57), None, "it is recorded already");
        assert_eq!(
            lessor.renew('a'),
            RenewalOutcome::NeedsCheckpoint { ttl: 60 },
            "a new leader would count from 57"
        );
        assert_eq!(lessor.start_countdown('a', 57, 60), None, "the timer continues");
        assert_eq!(lessor.start_countdown('a', 58, 60), None, "an older record that was delayed");
        assert_eq!(lessor.on_timer('a', 0), LeaseProposal::Checkpoint { left: 54, part: 6 });
        assert_eq!(lessor.start_countdown('b', 1, 1), Some(1));
        assert_eq!(lessor.on_timer('b', 0), LeaseProposal::Expire);
        assert_eq!(lessor.checkpoint_for_handover('b', 0), None, "its end is pending");
    }

    /// Each change of leader delays the end of a lease by at most one part. The test tries several
    /// TTLs of a lease that is not renewed. In each of the first parts of the lease, at most 8, the
    /// leader stays, is killed, or hands over leadership: the test explores all combinations. In
    /// all later parts the leader stays.
    #[test]
    fn leader_change_delays_expiry_by_at_most_one_part() {
        #[derive(Clone, Copy, PartialEq)]
        enum Then {
            Stays,
            IsKilled,
            HandsOver,
        }
        for all in [1_u64, 2, 7, 10] {
            let depth = u32::try_from(all).expect("short").min(8);
            for schedule in 0..3_u64.pow(depth) {
                let step = |at: u32| match schedule / 3_u64.pow(at) % 3 {
                    0 => Then::Stays,
                    1 => Then::IsKilled,
                    _ => Then::HandsOver,
                };
                let schedule: Vec<Then> = (0..depth).map(step).collect();
                let (mut noted, mut passed, mut allowed) = (all, 0, all);
                let mut lessor = Lessor::new(CheckpointPolicy::TENTHS);
                let mut part = lessor.start_countdown('a', all, all).expect("the lease begins");
                let mut steps = schedule.into_iter();
                loop {
                    match steps.next() {
                        None | Some(Then::Stays) => {}
                        Some(then) => {
                            // In the worst case, the leader changes just before the end of the
                            // part.
                            passed += part;
                            allowed += if then == Then::HandsOver { 1 } else { part };
                            if then == Then::HandsOver {
                                let left = lessor
                                    .remaining_at_next_checkpoint('a')
                                    .expect("the lease exists")
                                    + 1;
                                noted = lessor.checkpoint_for_handover('a', left).unwrap_or(noted);
                            }
                            lessor = Lessor::new(CheckpointPolicy::TENTHS);
                            part = lessor
                                .start_countdown('a', noted, all)
                                .expect("the lease is found");
                            continue;
                        }
                    }
                    passed += part;
                    match lessor.on_timer('a', 0) {
                        LeaseProposal::Checkpoint { left, part: next } => {
                            (noted, part) = (left, next)
                        }
                        LeaseProposal::Expire => break,
                        LeaseProposal::None => panic!("the lease exists"),
                    }
                }
                assert!((all..=allowed).contains(&passed), "TTL {all}: {passed} after {allowed}");
            }
        }
    }
}
