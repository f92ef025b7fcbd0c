//! What is fixed about a lock service: who it is, how long leases last, and which mistakes are
//! switched on.

use tenure_core::{Delay, ProcessId};
use tenure_session::Times;

use crate::Variants;
use crate::catalogue::{Configured, Parameters, Unknown};
use crate::variants::switches;

/// Into how many parts a lease is divided, each of which is noted when it is over.
pub(super) const PARTS: u64 = 2;

/// What is fixed for life.
#[derive(Clone, Debug)]
pub struct Config {
    /// Who is the service.
    pub service: ProcessId,
    /// How long leases last at the service, may be claimed, and are left without a renewal.
    pub times: Times,
    /// How long an entry of the log takes that ends a lease.
    pub commit: Delay,
    /// After a start, and after a part of any lease, another of the service leads within this.
    pub change: Delay,
    /// How many renewals have numbers of their own.
    pub rounds: u64,
    /// Which variants are switched on.
    pub variants: Variants<Switch>,
}

impl Config {
    /// The first process is the service, and messages take at most `delay` ticks: a lease of ten
    /// delays, of which nine may be claimed, so that no clock may be 5 % fast or slow; a renewal
    /// every three.
    pub fn plain(delay: u64) -> Self {
        Config {
            service: ProcessId(0),
            times: Times { ttl: 10 * delay, claim: 9 * delay, renewal: 3 * delay },
            commit: Delay { min: 0, max: delay },
            change: Delay { min: 4 * delay, max: 6 * delay },
            rounds: tenure_core::Term::NUMBERS,
            variants: Variants::none(),
        }
    }

    /// How long so many parts of a lease are.
    pub(super) fn parts(&self, parts: u64) -> Delay {
        Delay::ticks(parts * self.times.ttl / PARTS)
    }
}

impl Configured for Config {
    fn configured(parameters: &Parameters) -> Result<Self, Unknown> {
        let (service, variants) = (parameters.coordinator, parameters.variants()?);
        let plain = Config::plain(parameters.delay);
        Ok(Config { service, rounds: parameters.rounds, variants, ..plain })
    }
}

switches! {
    EarlyRelease = "early-release", sound,
        "the end of a lease is written after a while, and who is next is let in before, as soon as \
         whoever was inside has left";
    GrantToDeadSession = "grant-to-dead-session", unsound,
        "who waits does not notice that its session is over, and is let in when it would be next"
        => "", "-n 2 --entries 2,1 --lose 3 --in-flight 2 --property mutual-exclusion";
    AnyRelease = "any-release", unsound,
        "who is next is let in early also when the one ahead had only waited"
        => "", "-n 3 --variant any-release,early-release --lose 1 --in-flight 2 \
                --property mutual-exclusion --after enter:p1,enter:p2,deliver:p2→p1,deliver:p1→p2,\
                deliver:p2→p1,deliver:p1→p2,deliver:p2→p1,enter:p3,deliver:p3→p1,deliver:p1→p3,\
                deliver:p3→p1,deliver:p1→p3,deliver:p3→p1";
    DeposedRenews = "deposed-renews", unsound,
        "a leader that was deposed answers renewals, of which the one that leads knows nothing"
        => "", "-n 2 --property mutual-exclusion";
    TtlJumpsBack = "ttl-jumps-back", unsound,
        "what is left of a lease is not noted, and a new leader counts from the beginning: a \
         change of leader delays its end by more than a part"
        => "", "-n 2 --crash 1 --after enter:p2,deliver:p2→p1,deliver:p1→p2,deliver:p2→p1,\
                deliver:p1→p2,crash:p2 --property starvation-freedom";
    ExpiryDisregardsRenewal = "expiry-disregards-renewal", unsound,
        "a renewal is answered, and the lease ends as if there had been none"
        => "", "-n 2 --property mutual-exclusion";
    DeadlineFromAnswer = "deadline-from-answer", unsound,
        "a claim is counted from when the answer came, however old it was"
        => "", "-n 2 --partition 2 --property mutual-exclusion";
    WatchFromWrongRevision = "watch-from-wrong-revision", unsound,
        "whoever is ahead is watched from when the watch begins, and not from when they were seen"
        => "", "-n 2 --property starvation-freedom";
}
