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
//! runs this to see to, before it hands the renewal over.

use alloc::collections::BTreeMap;

/// What becomes of a renewal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Renewal {
    /// It is answered, and the timer of a part armed anew.
    Answered,
    /// It is answered when it is noted that all of the lease is left: that is to be proposed, and
    /// the timer of a part armed anew then.
    Noted,
    /// It waits: the end of the lease is being written.
    Waits,
    /// There is no such lease.
    Gone,
}

/// What is to be proposed when a part of a lease is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RunOut {
    /// That so many parts are left; the timer of the next begins now.
    Note {
        /// How many.
        left: u64,
    },
    /// That the lease ends.
    End,
    /// Nothing: it is not there, or its end is being written.
    Nothing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Term {
    /// How many parts are left.
    left: u64,
    /// From how many a next leader would count.
    noted: u64,
    /// All of them.
    all: u64,
    /// Whether its end is being written.
    ends: bool,
}

/// The leases of a leader, by whatever names them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Lessor<L> {
    leases: BTreeMap<L, Term>,
}

impl<L> Default for Lessor<L> {
    fn default() -> Self {
        Lessor { leases: BTreeMap::new() }
    }
}

impl<L: Ord + Copy> Lessor<L> {
    /// A lease begins, or is found by a new leader, or an entry notes what is left of it: so many
    /// parts of all. The timer of a part begins now.
    pub fn left(&mut self, lease: L, left: u64, all: u64) {
        self.leases.insert(lease, Term { left, noted: left, all, ends: false });
    }

    /// A lease is over.
    pub fn ended(&mut self, lease: L) {
        self.leases.remove(&lease);
    }

    /// A lease was to end, and the entry did not end it: all of it is left.
    pub fn spared(&mut self, lease: L) {
        if let Some(term) = self.leases.get_mut(&lease) {
            (term.left, term.ends) = (term.all, false);
        }
    }

    /// A renewal, from somebody to whom this is the leader.
    pub fn renew(&mut self, lease: L) -> Renewal {
        let Some(term) = self.leases.get_mut(&lease) else { return Renewal::Gone };
        if term.ends {
            return Renewal::Waits;
        }
        if term.noted < term.all {
            return Renewal::Noted;
        }
        term.left = term.all;
        Renewal::Answered
    }

    /// A part of a lease is over.
    pub fn run_out(&mut self, lease: L) -> RunOut {
        let Some(term) = self.leases.get_mut(&lease).filter(|term| !term.ends) else {
            return RunOut::Nothing;
        };
        term.left -= 1;
        if term.left == 0 {
            term.ends = true;
            return RunOut::End;
        }
        // From now on a next leader may count from there.
        term.noted = term.left;
        RunOut::Note { left: term.left }
    }

    /// Whether the end of a lease is being written.
    pub fn ends(&self, lease: L) -> bool {
        self.leases.get(&lease).is_some_and(|term| term.ends)
    }

    /// Whether the end of any lease is being written.
    pub fn ends_any(&self) -> bool {
        self.leases.values().any(|term| term.ends)
    }

    /// How many parts are left of a lease.
    pub fn parts_left(&self, lease: L) -> Option<u64> {
        self.leases.get(&lease).map(|term| term.left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_runs_out_part_by_part_unless_it_is_renewed() {
        let mut lessor = Lessor::default();
        lessor.left('a', 2, 2);
        assert_eq!(lessor.renew('a'), Renewal::Answered);
        assert_eq!(lessor.run_out('a'), RunOut::Note { left: 1 });
        assert_eq!(lessor.renew('a'), Renewal::Noted, "a next leader would count from one part");
        lessor.left('a', 2, 2);
        assert_eq!(lessor.run_out('a'), RunOut::Note { left: 1 });
        assert_eq!(lessor.run_out('a'), RunOut::End);
        assert_eq!((lessor.renew('a'), lessor.run_out('a')), (Renewal::Waits, RunOut::Nothing));
        lessor.ended('a');
        assert_eq!(lessor.renew('a'), Renewal::Gone);
    }
}
