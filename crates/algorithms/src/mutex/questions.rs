//! Questions whose answers let somebody be inside, for a time that runs from when they were asked.

use tenure_core::{Delay, Term, Timeout};

use crate::catalogue::Parameters;
use crate::drift;

/// The names of the timeouts on the command line.
const LEASE: &str = "entry-lease";
const EXPIRY: &str = "entry-expiry";
const RENEWAL: &str = "entry-renewal";

/// How long entries last that end by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// How long whoever was granted the lock may be inside, from when it asked.
    pub lease: Delay,
    /// How long it is kept for them, from when it was granted: longer than a lease, by more than
    /// clocks differ.
    pub expiry: Delay,
    /// How often whoever waits or is inside asks again: longer than a question and its answer take,
    /// and shorter than a lease by as much.
    pub renewal: Delay,
    /// How many questions have numbers of their own: an answer that is late by so many would be
    /// taken for a new one.
    pub rounds: u64,
}

impl Times {
    /// Times where messages take at most `delay` ticks: a renewal every three delays, of which one
    /// may be lost in a lease of nine; and grants are kept for ten, so that no clock may be 5 %
    /// fast or slow.
    pub fn plain(delay: u64) -> Self {
        Times {
            lease: Delay::ticks(9 * delay),
            expiry: Delay::ticks(10 * delay),
            renewal: Delay::ticks(3 * delay),
            rounds: Term::NUMBERS,
        }
    }

    /// Times that follow from parameters: a grant is kept for longer on the fastest clock than a
    /// lease lasts on the slowest.
    pub(crate) fn of(parameters: &Parameters) -> Self {
        let plain = Times::plain(parameters.delay);
        let lease = parameters.timeout(LEASE, plain.lease);
        let least = parameters.stretched(lease.max).saturating_add(1);
        let expiry = Delay::ticks(plain.expiry.max.max(least));
        Times {
            lease,
            expiry: parameters.timeout(EXPIRY, expiry),
            renewal: parameters.timeout(RENEWAL, plain.renewal),
            rounds: parameters.rounds,
        }
    }

    /// Returns the largest drift of clocks that keeps a lease shorter than its grant, in parts in
    /// a million.
    pub fn drift_ppm(&self) -> u32 {
        drift::tolerated(self.lease.max, self.expiry.min)
    }

    /// What a user may set of them.
    pub(crate) fn timeouts(&self) -> [Timeout; 3] {
        [
            Timeout::new(LEASE, "an entry lasts for so long after it was asked for", self.lease),
            Timeout::new(EXPIRY, "a granted lock is kept for so long", self.expiry),
            Timeout::new(RENEWAL, "from one request of a process to the next", self.renewal),
        ]
    }
}

/// Of two times that run, one for the answer by which we are inside and one for the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Side {
    /// The one.
    Left,
    /// The other.
    Right,
}

/// What a process has asked, and by which answer it is inside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Questions {
    /// The number of the last one.
    round: u64,
    /// The side of the last one, while an answer to it counts.
    asked: Option<Side>,
    /// The side of the one by whose answer we are inside.
    by: Option<Side>,
}

impl Questions {
    /// One more, of so many that are told apart: on which side its time runs, and its number.
    pub(crate) fn ask(&mut self, rounds: u64) -> (Side, u64) {
        let side = if self.by == Some(Side::Left) { Side::Right } else { Side::Left };
        self.asked = Some(side);
        self.round = (self.round + 1) % rounds;
        (side, self.round)
    }

    /// We are inside by the answer to the last one, if this is to the last one and in time: on
    /// which side that is, and on which we were inside before.
    pub(crate) fn answered(&mut self, round: u64) -> Option<(Side, Option<Side>)> {
        let side = self.asked.take_if(|_| round == self.round)?;
        Some((side, self.by.replace(side)))
    }

    /// The time of a side is over. Tells whether it was that by which we are inside.
    pub(crate) fn is_over(&mut self, side: Side) -> bool {
        self.asked = self.asked.filter(|asked| *asked != side);
        self.by == Some(side)
    }

    /// We want nothing any more.
    pub(crate) fn end(&mut self) {
        (self.asked, self.by) = (None, None);
    }
}
