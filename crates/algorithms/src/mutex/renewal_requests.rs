//! Requests of a process whose entries to the critical section expire. A process renews its entry
//! by further requests. Each response permits the process to be inside for a limited time, measured
//! from the request that the response answers.

use tenure_core::{ConfigurableTimeout, Delay, Term};

use crate::drift;
use crate::parameters::Parameters;

const LEASE_TIMEOUT_NAME: &str = "entry-lease";
const EXPIRY_TIMEOUT_NAME: &str = "entry-expiry";
const RENEWAL_TIMEOUT_NAME: &str = "entry-renewal";

/// Durations of an entry to the critical section that expires by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseDurations {
    /// Time for which a grant permits a process to be inside the critical section, measured from
    /// the request.
    pub lease: Delay,
    /// Time for which the lock stays reserved, measured from the grant. It must last longer than a
    /// lease, even if the clocks drift.
    pub reservation: Delay,
    /// Interval between the requests of a process that waits for the critical section or is inside
    /// it. The interval must be longer than the time from a request to its response. A lease must
    /// be so long that the response to the next request arrives before the lease ends.
    pub renewal_interval: Delay,
    /// Modulus of the request numbers. After `request_modulus` further requests, the number of a
    /// request is used again. If the response to the old request arrives only then, the process
    /// mistakes this response for the response to its current request.
    pub request_modulus: u64,
}

impl LeaseDurations {
    /// Returns durations for messages that take at most `delay` ticks. A lease lasts nine times
    /// `delay`, and is renewed every three times `delay`. The lock stays reserved for ten times
    /// `delay`. One renewal may be lost, and clocks may drift by 5 %.
    pub fn for_message_delay(delay: u64) -> Self {
        LeaseDurations {
            lease: Delay::ticks(9 * delay),
            reservation: Delay::ticks(10 * delay),
            renewal_interval: Delay::ticks(3 * delay),
            request_modulus: Term::NUMBER_LIMIT,
        }
    }

    /// Returns the durations that the user has set in `parameters`. The default of a duration is
    /// its value in [`LeaseDurations::for_message_delay`], with one exception. The default
    /// of `reservation` is increased if necessary, so that even on the fastest clock, it lasts
    /// longer than a lease on the slowest clock.
    pub(crate) fn from_parameters(parameters: &Parameters) -> Self {
        let plain = LeaseDurations::for_message_delay(parameters.delay);
        let lease = parameters.timeout_or(LEASE_TIMEOUT_NAME, plain.lease);
        let least = parameters.ticks_on_fastest_clock(lease.max).saturating_add(1);
        let expiry = Delay::ticks(plain.reservation.max.max(least));
        LeaseDurations {
            lease,
            reservation: parameters.timeout_or(EXPIRY_TIMEOUT_NAME, expiry),
            renewal_interval: parameters.timeout_or(RENEWAL_TIMEOUT_NAME, plain.renewal_interval),
            request_modulus: parameters.sequence_number_modulus,
        }
    }

    /// Returns the largest clock drift that the durations tolerate, in parts per million. Up to
    /// this drift, a lease ends before the reservation of the lock ends.
    pub fn tolerated_drift_ppm(&self) -> u32 {
        drift::tolerated_drift_ppm(self.lease.max, self.reservation.min)
    }

    pub(crate) fn timeouts(&self) -> [ConfigurableTimeout; 3] {
        [
            ConfigurableTimeout::new(
                LEASE_TIMEOUT_NAME,
                "duration of an entry, from its request",
                self.lease,
            ),
            ConfigurableTimeout::new(
                EXPIRY_TIMEOUT_NAME,
                "time for which a granted lock stays reserved",
                self.reservation,
            ),
            ConfigurableTimeout::new(
                RENEWAL_TIMEOUT_NAME,
                "interval between requests of a process",
                self.renewal_interval,
            ),
        ]
    }
}

/// One of two deadline timers that alternate. One timer belongs to the request whose response
/// permits the process to be inside the critical section. The other timer belongs to the next
/// request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DeadlineSlot {
    /// The first of the two timers.
    Left,
    /// The second of the two timers.
    Right,
}

/// The latest request of a process, and the request whose response permits the process to be inside
/// the critical section.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct RenewalRequests {
    /// Number of the latest request, modulo `request_modulus`.
    round: u64,
    /// Timer of the latest request. `None` before the first request, and once the response has
    /// arrived or the deadline has passed.
    pending: Option<DeadlineSlot>,
    /// Timer of the request whose response permits the process to be inside the critical section at
    /// present. `None` while no response permits this.
    current: Option<DeadlineSlot>,
}

impl RenewalRequests {
    /// Starts a new request. Returns the timer and the number of the request. Numbers wrap to 0 at
    /// `modulus`.
    pub(crate) fn start_request(&mut self, modulus: u64) -> (DeadlineSlot, u64) {
        let slot = if self.current == Some(DeadlineSlot::Left) {
            DeadlineSlot::Right
        } else {
            DeadlineSlot::Left
        };
        self.pending = Some(slot);
        self.round = (self.round + 1) % modulus;
        (slot, self.round)
    }

    /// Records the response to the request with the number `round`. If this request is not the
    /// latest request, or if its deadline has passed, returns `None`. Otherwise the response
    /// permits the process to be inside the critical section, and replaces the permission of an
    /// earlier response. Returns two timers: the timer of this request, and the timer of the
    /// request whose permission was replaced, if there was one.
    pub(crate) fn on_grant(&mut self, round: u64) -> Option<(DeadlineSlot, Option<DeadlineSlot>)> {
        let slot = self.pending.take_if(|_| round == self.round)?;
        Some((slot, self.current.replace(slot)))
    }

    /// Handles the firing of one of the two deadline timers. Returns true if the timer ends the
    /// permission to be inside the critical section. The caller then leaves the critical section
    /// and calls [`RenewalRequests::reset`].
    pub(crate) fn on_deadline(&mut self, slot: DeadlineSlot) -> bool {
        self.pending = self.pending.filter(|pending| *pending != slot);
        self.current == Some(slot)
    }

    /// Forgets the pending and the current request. Later requests continue the numbering.
    pub(crate) fn reset(&mut self) {
        (self.pending, self.current) = (None, None);
    }
}
