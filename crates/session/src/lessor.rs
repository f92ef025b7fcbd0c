//! The leader's half: how much is left of each lease, as far as its owners may believe.
//!
//! A lease is counted in parts, of which one timer each runs. When a part is over and it was not
//! the last, what is left is noted by an entry of the log, so that the next leader goes on from
//! there; when it was the last, an entry is to end the lease. Renewals cost no entry, but for the
//! first after parts were noted, which notes that all of it is left again.
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
    /// Leases of at most this length have one part: a next leader counts from the beginning.
    pub short: u64,
    /// How long each part is of the second half of a longer one; the first half is one part.
    pub every: u64,
}

impl Parts {
    /// How long the part is that begins when so much is left of all.
    fn next(self, left: u64, all: u64) -> u64 {
        let half = all / 2;
        match () {
            () if all <= self.short => left,
            () if left > half => left - half,
            () => self.every.min(left),
        }
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
    /// Whether its end is being written.
    ends: bool,
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
    /// long the part is whose timer begins now, unless it is counted from there already.
    pub fn left(&mut self, lease: L, left: u64, all: u64) -> Option<u64> {
        let counted = self.leases.get(&lease);
        if left < all && counted.is_some_and(|counted| counted.noted == left) {
            return None;
        }
        self.leases.insert(lease, Counted { left, noted: left, all, ends: false });
        Some(self.parts.next(left, all))
    }

    /// A lease is over.
    pub fn ended(&mut self, lease: L) {
        self.leases.remove(&lease);
    }

    /// A lease was to end, and the entry did not end it: all of it is left. Tells how long its
    /// first part is, whose timer begins now.
    pub fn spared(&mut self, lease: L) -> Option<u64> {
        let counted = self.leases.get_mut(&lease)?;
        (counted.left, counted.ends) = (counted.all, false);
        Some(self.parts.next(counted.all, counted.all))
    }

    /// A renewal, from somebody to whom this is the leader.
    pub fn renew(&mut self, lease: L) -> Renewal {
        let Some(counted) = self.leases.get_mut(&lease) else { return Renewal::Gone };
        let all = counted.all;
        if counted.ends {
            return Renewal::Waits;
        }
        if counted.noted < all {
            return Renewal::Noted { all };
        }
        counted.left = all;
        Renewal::Answered { part: self.parts.next(all, all) }
    }

    /// The timer of a lease fires: a part of it is over, or its end is to be written again.
    pub fn run_out(&mut self, lease: L) -> RunOut {
        let Some(counted) = self.leases.get_mut(&lease) else { return RunOut::Nothing };
        let Counted { left, all, .. } = *counted;
        counted.left = left - self.parts.next(left, all);
        if counted.left == 0 {
            counted.ends = true;
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
    use super::*;

    const EACH: Parts = Parts { short: 1, every: 1 };

    #[test]
    fn a_lease_runs_out_part_by_part_unless_it_is_renewed() {
        let mut lessor = Lessor::new(EACH);
        assert_eq!(lessor.left('a', 2, 2), Some(1));
        assert_eq!(lessor.renew('a'), Renewal::Answered { part: 1 });
        assert_eq!(lessor.run_out('a'), RunOut::Note { left: 1, part: 1 });
        let noted = Renewal::Noted { all: 2 };
        assert_eq!(lessor.renew('a'), noted, "a next leader would count from one part");
        assert_eq!(lessor.left('a', 1, 2), None, "it is counted from there already");
        assert_eq!(lessor.left('a', 2, 2), Some(1));
        assert_eq!(lessor.run_out('a'), RunOut::Note { left: 1, part: 1 });
        assert_eq!(lessor.run_out('a'), RunOut::End);
        assert_eq!(lessor.renew('a'), Renewal::Waits);
        lessor.ended('a');
        assert_eq!((lessor.renew('a'), lessor.run_out('a')), (Renewal::Gone, RunOut::Nothing));
    }

    /// Nobody knows what became of the entry: it may still come, so no renewal is answered.
    #[test]
    fn an_end_is_written_until_it_is_decided() {
        let mut lessor = Lessor::new(EACH);
        assert_eq!(lessor.left('a', 1, 1), Some(1));
        assert_eq!((lessor.run_out('a'), lessor.run_out('a')), (RunOut::End, RunOut::End));
        assert_eq!(lessor.renew('a'), Renewal::Waits);
        assert_eq!(lessor.spared('a'), Some(1));
        assert_eq!(lessor.renew('a'), Renewal::Answered { part: 1 });
    }

    #[test]
    fn of_a_long_lease_only_the_second_half_is_noted_and_of_a_short_one_nothing() {
        let mut lessor = Lessor::new(Parts { short: 10, every: 5 });
        assert_eq!(lessor.left("long", 61, 61), Some(31));
        assert_eq!(lessor.beyond("long"), Some(30));
        assert_eq!(lessor.run_out("long"), RunOut::Note { left: 30, part: 5 });
        for left in [25, 20, 15, 10, 5] {
            assert_eq!(lessor.run_out("long"), RunOut::Note { left, part: 5 });
        }
        assert_eq!(lessor.run_out("long"), RunOut::End);
        assert_eq!(lessor.left("found", 3, 61), Some(3));
        assert_eq!(lessor.left("short", 10, 10), Some(10));
        assert_eq!(lessor.run_out("short"), RunOut::End);
    }
}
