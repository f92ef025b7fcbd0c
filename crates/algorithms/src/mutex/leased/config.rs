//! Configuration of the lock service: its process, durations of leases, and mistakes.

use tenure_core::{Delay, ProcessId};
use tenure_session::SessionTimes;

use crate::Variants;
use crate::catalogue_error::CatalogueError;
use crate::parameters::{Configured, Parameters};
use crate::variants::switches;

/// Number of parts of a lease; the remaining time is recorded after each part.
pub(super) const PARTS: u64 = 2;

/// Configuration of one process.
#[derive(Clone, Debug)]
pub struct Config {
    /// The process that is the service.
    pub service: ProcessId,
    /// Duration of leases at the service, time for which they may be claimed, and renewal interval.
    pub times: SessionTimes,
    /// Time to commit a log entry that ends a lease.
    pub commit: Delay,
    /// Time until the leader changes, after a start and after each part of a lease.
    pub change: Delay,
    /// Number of distinct renewal numbers.
    pub rounds: u64,
    /// Variants that are switched on.
    pub variants: Variants<Switch>,
}

impl Config {
    /// Returns a configuration in which the first process is the service and messages take at most
    /// `delay` ticks. A lease lasts ten delays, of which nine may be claimed, which tolerates a
    /// clock drift of 5 %. Renewals are sent every three delays.
    pub fn plain(delay: u64) -> Self {
        Config {
            service: ProcessId(0),
            times: SessionTimes {
                ttl: 10 * delay,
                validity: 9 * delay,
                renewal_interval: 3 * delay,
            },
            commit: Delay { min: 0, max: delay },
            change: Delay { min: 4 * delay, max: 6 * delay },
            rounds: tenure_core::Term::NUMBERS,
            variants: Variants::none(),
        }
    }

    /// Returns the duration of a number of parts of a lease.
    pub(super) fn parts(&self, parts: u64) -> Delay {
        Delay::ticks(parts * self.times.ttl / PARTS)
    }
}

impl Configured for Config {
    fn configured(parameters: &Parameters) -> Result<Self, CatalogueError> {
        let (service, variants) = (parameters.coordinator, parameters.variants()?);
        let plain = Config::plain(parameters.delay);
        Ok(Config { service, rounds: parameters.rounds, variants, ..plain })
    }
}

switches! {
    EarlyRelease = "early-release", sound,
        "the end of a lease is committed later, and the next process is granted the lock before, \
         as soon as the holder has left";
    GrantToDeadSession = "grant-to-dead-session", unsound,
        "a waiter does not notice that its session has ended, and is granted the lock when it \
         would be next"
        => "", "-n 2 --entries 2,1 --lose 3 --in-flight 2 --property mutual-exclusion";
    AnyRelease = "any-release", unsound,
        "the next process is granted the lock early even if the one ahead had only waited"
        => "", "-n 3 --variant any-release,early-release --lose 1 --in-flight 2 \
                --property mutual-exclusion --after enter:p1,enter:p2,deliver:p2→p1,deliver:p1→p2,\
                deliver:p2→p1,deliver:p1→p2,deliver:p2→p1,enter:p3,deliver:p3→p1,deliver:p1→p3,\
                deliver:p3→p1,deliver:p1→p3,deliver:p3→p1";
    DeposedRenews = "deposed-renews", unsound,
        "a deposed leader answers renewals, of which the current leader does not know"
        => "", "-n 2 --property mutual-exclusion";
    TtlJumpsBack = "ttl-jumps-back", unsound,
        "the remaining time of a lease is not recorded, and a new leader counts from the full \
         duration: a change of leader delays its end by more than one part"
        => "", "-n 2 --crash 1 --after enter:p2,deliver:p2→p1,deliver:p1→p2,deliver:p2→p1,\
                deliver:p1→p2,crash:p2 --property starvation-freedom";
    ExpiryDisregardsRenewal = "expiry-disregards-renewal", unsound,
        "a renewal is answered, but the lease ends as without it"
        => "", "-n 2 --property mutual-exclusion";
    DeadlineFromAnswer = "deadline-from-answer", unsound,
        "a claim is measured from the response, however old that is"
        => "", "-n 2 --partition 2 --property mutual-exclusion";
    WatchFromWrongRevision = "watch-from-wrong-revision", unsound,
        "the key ahead is watched from the start of the watch, not from the revision in which it \
         was seen"
        => "", "-n 2 --property starvation-freedom";
}
