//! Requests and renewals of entries that expire. A response permits a process to be inside the
//! critical section for a limited time, measured from its request.

use tenure_core::{Delay, Term, Timeout};

use crate::drift;
use crate::parameters::Parameters;

const LEASE: &str = "entry-lease";
const EXPIRY: &str = "entry-expiry";
const RENEWAL: &str = "entry-renewal";

/// Durations of an entry to the critical section that expires by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryDurations {
    /// Time for which a grant permits a process to be inside the critical section, measured from
    /// the request.
    pub lease: Delay,
    /// Time for which the lock stays reserved, measured from the grant. It is longer than the lease
    /// by more than the clocks drift.
    pub expiry: Delay,
    /// Interval between requests of a process that waits for the critical section or is inside it.
    /// A request and its response together take less time than this interval. The lease is longer
    /// than the interval by at least this time, so a renewal is answered before the lease ends.
    pub renewal: Delay,
    /// Modulus of the request numbers. A response that is delayed by that many requests would be
    /// mistaken for a response to the current request.
    pub request_modulus: u64,
}

impl EntryDurations {
    /// Returns durations for messages that take at most `delay` ticks. A lease lasts nine delays
    /// and is renewed every three, so one renewal may be lost. The lock stays reserved for ten
    /// delays, which tolerates a clock drift of 5 %.
    pub fn plain(delay: u64) -> Self {
        EntryDurations {
            lease: Delay::ticks(9 * delay),
            expiry: Delay::ticks(10 * delay),
            renewal: Delay::ticks(3 * delay),
            request_modulus: Term::NUMBER_LIMIT,
        }
    }

    /// Returns the durations that the user has set in `parameters`, and those of `plain` for all
    /// others. By default, the lock stays reserved long enough for clocks that drift: the
    /// reservation on the fastest clock is longer than a lease on the slowest clock.
    pub(crate) fn of(parameters: &Parameters) -> Self {
        let plain = EntryDurations::plain(parameters.delay);
        let lease = parameters.timeout(LEASE, plain.lease);
        let least = parameters.stretched(lease.max).saturating_add(1);
        let expiry = Delay::ticks(plain.expiry.max.max(least));
        EntryDurations {
            lease,
            expiry: parameters.timeout(EXPIRY, expiry),
            renewal: parameters.timeout(RENEWAL, plain.renewal),
            request_modulus: parameters.number_modulus,
        }
    }

    /// Returns the largest clock drift at which a lease ends before the reservation of the lock, in
    /// parts per million.
    pub fn drift_ppm(&self) -> u32 {
        drift::tolerated(self.lease.max, self.expiry.min)
    }

    pub(crate) fn timeouts(&self) -> [Timeout; 3] {
        [
            Timeout::new(LEASE, "duration of an entry, from its request", self.lease),
            Timeout::new(EXPIRY, "time for which a granted lock stays reserved", self.expiry),
            Timeout::new(RENEWAL, "interval between requests of a process", self.renewal),
        ]
    }
}

/// One of two deadline timers that alternate. One belongs to the request whose response permits the
/// process to be inside the critical section. The other belongs to the next request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Side {
    /// The first of the two timers.
    Left,
    /// The second of the two timers.
    Right,
}

/// Two requests of one process: the latest one, and the one whose response permits the process to
/// be inside the critical section.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct RenewalRequests {
    /// Number of the latest request, modulo `request_modulus`.
    round: u64,
    /// Timer of the latest request, until its response arrives or its deadline passes.
    pending: Option<Side>,
    /// Timer of the request whose response permits the process to be inside the critical section
    /// now. `None` if there is no such response.
    current: Option<Side>,
}

impl RenewalRequests {
    /// Starts a request, numbered modulo `modulus`. Returns its timer and number.
    pub(crate) fn start(&mut self, modulus: u64) -> (Side, u64) {
        let side = if self.current == Some(Side::Left) { Side::Right } else { Side::Left };
        self.pending = Some(side);
        self.round = (self.round + 1) % modulus;
        (side, self.round)
    }

    /// Records a response. If the response answers the latest request in time, returns two timers:
    /// that of this request, and that of the earlier request whose response permitted the entry
    /// until now. The second timer is `None` if no earlier response permitted the entry. Returns
    /// `None` for all other responses.
    pub(crate) fn on_grant(&mut self, round: u64) -> Option<(Side, Option<Side>)> {
        let side = self.pending.take_if(|_| round == self.round)?;
        Some((side, self.current.replace(side)))
    }

    /// Records that one of the two deadline timers has fired. Returns true if this timer belongs to
    /// the request whose response permits the process to be inside the critical section. The
    /// permission then ends.
    pub(crate) fn on_deadline(&mut self, side: Side) -> bool {
        self.pending = self.pending.filter(|pending| *pending != side);
        self.current == Some(side)
    }

    /// Forgets all requests. The next request continues their numbering.
    pub(crate) fn reset(&mut self) {
        (self.pending, self.current) = (None, None);
    }
}
