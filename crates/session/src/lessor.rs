//! The leader's half: how much is left of each lease, as far as its owners may believe.
//!
//! A lease is counted in parts, of which one timer each runs. When a part is over and it was not
//! the last, what is left is noted by an entry of the log, so that the next leader goes on from
//! there; when it was the last, an entry is to end the lease. A leader that hands over notes what
//! is left of the part that runs. So each change of leader delays the end of a lease by one part at
//! most. A renewal costs no entry, unless less than all was noted before: then an entry notes that
//! all of it is left again. One entry notes many leases.
//!
//! **Why a lease that was renewed is not ended.** A renewal is answered only when all three hold:
//! nothing is under way that ends the lease; all of it is what a next leader would count from; and
//! a majority says that this is still the leader, after the renewal came. The last is for whoever
//! runs this to see to, before it hands the renewal over. What is on its way to the log when an
//! entry renews the lease comes too late to shorten or to end it: each such entry says what it had
//! seen of the lease, and is void if that is renewed by then.

use alloc::collections::BTreeMap;

/// Into which parts leases are divided, in the unit of their lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Parts {
    /// A lease has this many parts, each of the same length.
    pub number: u64,
    /// No part is shorter than this, unless less is left of the lease.
    pub least: u64,
}

impl Parts {
    /// Parts of a tenth of the lease, or of one unit if that is longer.
    pub const TENTHS: Parts = Parts { number: 10, least: 1 };

    /// Returns the length of the part that begins when `left` is left of `all`.
    fn next(self, left: u64, all: u64) -> u64 {
        (all / self.number).max(self.least).min(left)
    }
}

/// What becomes of a renewal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Renewal {
    /// It is answered, and the timer of the lease armed anew.
    Answered {
        /// How long its first part is.
        part: u64,
    },
    /// It is answered when it is noted that all of the lease is left: that is to be proposed.
    Noted {
        /// How much that is.
        all: u64,
    },
    /// It waits: the end of the lease is being written.
    Waits,
    /// There is no such lease.
    Gone,
}

/// What is to be proposed when the timer of a lease fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RunOut {
    /// That so much is left; the timer of the next part begins now.
    Note {
        /// How much.
        left: u64,
        /// How long the next part is.
        part: u64,
    },
    /// That the lease ends, or again that it does: until that is decided it is not renewed.
    End,
    /// Nothing: it is not there.
    Nothing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Counted {
    /// How much is left when the part begins that is counted.
    left: u64,
    /// From how much a next leader would count.
    noted: u64,
    /// All of it.
    all: u64,
    /// While its end is being written: the `seen` of [`Lessor::run_out`], of the last one.
    ends: Option<u64>,
}

/// The leases of a leader, by whatever names them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Lessor<L> {
    parts: Parts,
    leases: BTreeMap<L, Counted>,
}

impl<L: Ord + Copy> Lessor<L> {
    /// One that has no leases yet.
    pub const fn new(parts: Parts) -> Self {
        Lessor { parts, leases: BTreeMap::new() }
    }

    /// A lease begins, or is found by a new leader, or an entry says what is left of it. Tells how
    /// long the part is whose timer begins now, unless no more than that is counted already.
    pub fn left(&mut self, lease: L, left: u64, all: u64) -> Option<u64> {
        let counted = self.leases.get(&lease);
        if left < all && counted.is_some_and(|counted| counted.noted <= left) {
            return None;
        }
        self.leases.insert(lease, Counted { left, noted: left, all, ends: None });
        Some(self.parts.next(left, all))
    }

    /// Prepares a hand-over: returns how much of a lease is to be noted, as `left` is left of it
    /// now. Returns nothing if the next leader would count from no more than that anyway, or if
    /// the end of the lease is being written. The timer goes on.
    pub fn note(&mut self, lease: L, left: u64) -> Option<u64> {
        let counted = self.leases.get_mut(&lease)?;
        if counted.ends.is_some() || left >= counted.noted {
            return None;
        }
        // From now on a next leader may count from there.
        counted.noted = left;
        Some(left)
    }

    /// A lease is over.
    pub fn ended(&mut self, lease: L) {
        self.leases.remove(&lease);
    }

    /// A lease was to end, and the entry did not end it: all of it is left. Returns the length of
    /// its first part, whose timer begins now.
    ///
    /// `seen` is that of [`Lessor::run_out`], from which the entry was made. Returns nothing if it
    /// is not that of the last end that was proposed: then the lease was renewed and is counted
    /// since, or another end is under way that may still be carried out.
    pub fn spared(&mut self, lease: L, seen: u64) -> Option<u64> {
        let counted = self.leases.get_mut(&lease)?;
        if counted.ends != Some(seen) {
            return None;
        }
        (counted.left, counted.ends) = (counted.all, None);
        Some(self.parts.next(counted.all, counted.all))
    }

    /// A renewal, from somebody to whom this is the leader.
    pub fn renew(&mut self, lease: L) -> Renewal {
        let Some(counted) = self.leases.get_mut(&lease) else { return Renewal::Gone };
        let all = counted.all;
        if counted.ends.is_some() {
            return Renewal::Waits;
        }
        if counted.noted < all {
            return Renewal::Noted { all };
        }
        counted.left = all;
        Renewal::Answered { part: self.parts.next(all, all) }
    }

    /// The timer of a lease fires: a part of it is over, or its end is to be written again. `seen`
    /// grows with each entry that renews the lease, and an end is void if that is more by then.
    pub fn run_out(&mut self, lease: L, seen: u64) -> RunOut {
        let Some(counted) = self.leases.get_mut(&lease) else { return RunOut::Nothing };
        let Counted { left, all, .. } = *counted;
        counted.left = left - self.parts.next(left, all);
        if counted.left == 0 {
            counted.ends = Some(seen);
            return RunOut::End;
        }
        // From now on a next leader may count from there.
        counted.noted = counted.left;
        RunOut::Note { left: counted.left, part: self.parts.next(counted.left, all) }
    }

    /// How much is left of a lease when the part is over that is counted.
    pub fn beyond(&self, lease: L) -> Option<u64> {
        let Counted { left, all, .. } = *self.leases.get(&lease)?;
        Some(left - self.parts.next(left, all))
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    const EACH: Parts = Parts { number: 10, least: 1 };

    #[test]
    fn lease_runs_out_in_parts_unless_renewed() {
        let mut lessor = Lessor::new(EACH);
        assert_eq!(lessor.left('a', 2, 2), Some(1));
        assert_eq!(lessor.renew('a'), Renewal::Answered { part: 1 });
        assert_eq!(lessor.run_out('a', 0), RunOut::Note { left: 1, part: 1 });
        let noted = Renewal::Noted { all: 2 };
        assert_eq!(lessor.renew('a'), noted, "a next leader would count from one part");
        assert_eq!(lessor.left('a', 1, 2), None, "it is counted from there already");
        assert_eq!(lessor.left('a', 2, 2), Some(1));
        assert_eq!(lessor.run_out('a', 0), RunOut::Note { left: 1, part: 1 });
        assert_eq!(lessor.run_out('a', 0), RunOut::End);
        assert_eq!(lessor.renew('a'), Renewal::Waits);
        lessor.ended('a');
        assert_eq!((lessor.renew('a'), lessor.run_out('a', 0)), (Renewal::Gone, RunOut::Nothing));
    }

    /// The entry may still be committed, so no renewal is answered.
    #[test]
    fn renewal_waits_until_an_end_is_decided() {
        let mut lessor = Lessor::new(EACH);
        assert_eq!(lessor.left('a', 1, 1), Some(1));
        assert_eq!((lessor.run_out('a', 3), lessor.run_out('a', 3)), (RunOut::End, RunOut::End));
        assert_eq!(lessor.renew('a'), Renewal::Waits);
        assert_eq!(lessor.spared('a', 3), Some(1));
        assert_eq!(lessor.renew('a'), Renewal::Answered { part: 1 });
        assert_eq!(lessor.spared('a', 3), None, "the same end, proposed twice");
    }

    /// The first end is decided after the lease was renewed by an entry and has run out again.
    #[test]
    fn renewal_waits_for_the_last_of_two_ends() {
        let mut lessor = Lessor::new(EACH);
        assert_eq!(lessor.left('a', 1, 1), Some(1));
        assert_eq!(lessor.run_out('a', 3), RunOut::End);
        assert_eq!(lessor.left('a', 1, 1), Some(1), "an entry renews it");
        assert_eq!(lessor.run_out('a', 5), RunOut::End);
        assert_eq!(lessor.spared('a', 3), None);
        assert_eq!(lessor.renew('a'), Renewal::Waits, "the second end is under way");
        assert_eq!(lessor.spared('a', 5), Some(1));
        assert_eq!(lessor.renew('a'), Renewal::Answered { part: 1 });
    }

    #[test]
    fn parts_are_a_tenth_of_the_lease_or_one_unit() {
        let mut lessor = Lessor::new(Parts::TENTHS);
        assert_eq!(lessor.left("long", 61, 61), Some(6));
        assert_eq!(lessor.beyond("long"), Some(55));
        for left in (1..=9).rev().map(|part| 6 * part + 1) {
            assert_eq!(lessor.run_out("long", 0), RunOut::Note { left, part: 6 });
        }
        assert_eq!(lessor.run_out("long", 0), RunOut::Note { left: 1, part: 1 });
        assert_eq!(lessor.run_out("long", 0), RunOut::End);
        assert_eq!(lessor.left("found", 3, 61), Some(3));
        assert_eq!(lessor.left("short", 2, 2), Some(1));
        assert_eq!(lessor.run_out("short", 0), RunOut::Note { left: 1, part: 1 });
    }

    #[test]
    fn hand_over_notes_what_is_left_and_renewals_are_noted_after_it() {
        let mut lessor = Lessor::new(Parts::TENTHS);
        assert_eq!(lessor.left('a', 60, 60), Some(6));
        assert_eq!(lessor.note('a', 60), None);
        assert_eq!(lessor.note('a', 57), Some(57));
        assert_eq!(lessor.note('a', 57), None, "it is noted");
        assert_eq!(lessor.renew('a'), Renewal::Noted { all: 60 }, "a next leader has 57");
        assert_eq!(lessor.left('a', 57, 60), None, "its timer goes on");
        assert_eq!(lessor.left('a', 58, 60), None, "an older note that took its time");
        assert_eq!(lessor.run_out('a', 0), RunOut::Note { left: 54, part: 6 });
        assert_eq!(lessor.left('b', 1, 1), Some(1));
        assert_eq!(lessor.run_out('b', 0), RunOut::End);
        assert_eq!(lessor.note('b', 0), None, "its end is being written");
    }

    /// All schedules of leases that nobody renews: after each part the leader may stay, be killed
    /// in the middle of the next part, or hand over there.
    #[test]
    fn each_change_of_leader_delays_the_end_by_one_part_at_most() {
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
                let mut lessor = Lessor::new(Parts::TENTHS);
                let mut part = lessor.left('a', all, all).expect("it begins");
                let mut steps = schedule.into_iter();
                loop {
                    match steps.next() {
                        None | Some(Then::Stays) => {}
                        Some(then) => {
                            // Nearly all of the part has passed.
                            passed += part;
                            allowed += if then == Then::HandsOver { 1 } else { part };
                            if then == Then::HandsOver {
                                let left = lessor.beyond('a').expect("it is there") + 1;
                                noted = lessor.note('a', left).unwrap_or(noted);
                            }
                            lessor = Lessor::new(Parts::TENTHS);
                            part = lessor.left('a', noted, all).expect("it is found");
                            continue;
                        }
                    }
                    passed += part;
                    match lessor.run_out('a', 0) {
                        RunOut::Note { left, part: next } => (noted, part) = (left, next),
                        RunOut::End => break,
                        RunOut::Nothing => panic!("the lease is there"),
                    }
                }
                assert!(passed <= allowed, "{all}: {passed} after {allowed}");
            }
        }
    }
}
