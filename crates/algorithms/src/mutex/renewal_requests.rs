//! Renewable entries: requests whose response permits being inside for a limited time, measured
//! from the request.

use tenure_core::{Delay, Term, Timeout};

use crate::drift;
use crate::parameters::Parameters;

/// Names of the timeouts on the command line.
const LEASE: &str = "entry-lease";
const EXPIRY: &str = "entry-expiry";
const RENEWAL: &str = "entry-renewal";

/// Durations of an entry that expires by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryTimes {
    /// How long a grant permits being inside, from the request.
    pub lease: Delay,
    /// How long the lock stays reserved for a grant, from the grant: longer than the lease by more
    /// than the clocks' drift.
    pub expiry: Delay,
    /// Interval between requests of a process that waits or is inside: longer than a request and
    /// its response take, and shorter than the lease by as much.
    pub renewal: Delay,
    /// Number of distinct request numbers. A response delayed by that many requests would be
    /// mistaken for a new one.
    pub rounds: u64,
}

impl EntryTimes {
    /// Returns durations for messages that take at most `delay` ticks. A lease lasts nine delays
    /// and is renewed every three, so one renewal may be lost. The lock stays reserved for ten
    /// delays, which tolerates a clock drift of 5 %.
    pub fn plain(delay: u64) -> Self {
        EntryTimes {
            lease: Delay::ticks(9 * delay),
            expiry: Delay::ticks(10 * delay),
            renewal: Delay::ticks(3 * delay),
            rounds: Term::NUMBERS,
        }
    }

    /// Returns durations for the parameters: a grant lasts longer on the fastest clock than a lease
    /// on the slowest.
    pub(crate) fn of(parameters: &Parameters) -> Self {
        let plain = EntryTimes::plain(parameters.delay);
        let lease = parameters.timeout(LEASE, plain.lease);
        let least = parameters.stretched(lease.max).saturating_add(1);
        let expiry = Delay::ticks(plain.expiry.max.max(least));
        EntryTimes {
            lease,
            expiry: parameters.timeout(EXPIRY, expiry),
            renewal: parameters.timeout(RENEWAL, plain.renewal),
            rounds: parameters.rounds,
        }
    }

    /// Returns the largest clock drift at which a lease ends before its grant, in parts per
    /// million.
    pub fn drift_ppm(&self) -> u32 {
        drift::tolerated(self.lease.max, self.expiry.min)
    }

    /// Returns the timeouts that a user may set.
    pub(crate) fn timeouts(&self) -> [Timeout; 3] {
        [
            Timeout::new(LEASE, "duration of an entry, from its request", self.lease),
            Timeout::new(EXPIRY, "time for which a granted lock stays reserved", self.expiry),
            Timeout::new(RENEWAL, "interval between requests of a process", self.renewal),
        ]
    }
}

/// One of two alternating deadline timers: one for the response that permits being inside, one for
/// the next request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Side {
    /// The first of the two timers.
    Left,
    /// The second of the two timers.
    Right,
}

/// Requests of a process, and the one whose response permits being inside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct RenewalRequests {
    /// Number of the latest request.
    round: u64,
    /// Timer of the latest request, while a response to it is valid.
    pending: Option<Side>,
    /// Timer of the request whose response permits being inside.
    current: Option<Side>,
}

impl RenewalRequests {
    /// Starts a request, numbered modulo `rounds`. Returns its timer and number.
    pub(crate) fn start(&mut self, rounds: u64) -> (Side, u64) {
        let side = if self.current == Some(Side::Left) { Side::Right } else { Side::Left };
        self.pending = Some(side);
        self.round = (self.round + 1) % rounds;
        (side, self.round)
    }

    /// Records a response. If it answers the latest request in time, returns its timer and the
    /// previous one.
    pub(crate) fn on_grant(&mut self, round: u64) -> Option<(Side, Option<Side>)> {
        let side = self.pending.take_if(|_| round == self.round)?;
        Some((side, self.current.replace(side)))
    }

    /// Records that a timer fired. Returns true if it was the one that permits being inside.
    pub(crate) fn on_deadline(&mut self, side: Side) -> bool {
        self.pending = self.pending.filter(|pending| *pending != side);
        self.current == Some(side)
    }

    /// Forgets all requests.
    pub(crate) fn reset(&mut self) {
        (self.pending, self.current) = (None, None);
    }
}
