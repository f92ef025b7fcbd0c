//! Configuration of the lock service: the process that is the service, durations of leases, and
//! variants with mistakes.

use tenure_core::{ConfigurableTimeout, Delay, ProcessId};
use tenure_session::SessionDurations;

use crate::Variants;
use crate::catalogue_error::CatalogueError;
use crate::parameters::{FromParameters, Parameters};
use crate::variants::variant_ids;

/// Number of parts of a lease. After each part, the service commits the time that remains.
pub(super) const LEASE_PARTS: u64 = 2;

const TTL_TIMEOUT_NAME: &str = "session-ttl";
const VALIDITY_TIMEOUT_NAME: &str = "session-validity";
const RENEWAL_TIMEOUT_NAME: &str = "session-renewal";
const COMMIT_TIMEOUT_NAME: &str = "commit";
const CHANGE_TIMEOUT_NAME: &str = "leader-change";

/// Configuration of one process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    /// Process that is the service. It must be in the group.
    pub service: ProcessId,
    /// Duration of a lease at the service, the shorter time for which a client relies on the lease,
    /// and the interval between renewals.
    pub session_durations: SessionDurations,
    /// Time from the expiry or the early release of a lease to the commit of the log entry that
    /// ends the lease.
    pub lease_end_commit_delay: Delay,
    /// Time after which the service changes its leader. The timer starts when the process of the
    /// service boots, and restarts at the end of each part of a lease. After a change, the timer is
    /// off until the next end of a part.
    pub leader_change_delay: Delay,
    /// Modulus of the numbers of renewal requests, and of the terms of leaders.
    pub renewal_modulus: u64,
    /// Variants that are switched on.
    pub variants: Variants<VariantId>,
}

impl Config {
    /// Returns a configuration in which the first process is the service and messages take at most
    /// `delay` ticks. A lease lasts `10 * delay` ticks. A client relies on its lease for only `9 *
    /// delay` ticks, so clocks may drift by 5 %. Clients send a renewal every `3 * delay` ticks.
    pub fn with_defaults(delay: u64) -> Self {
        Config {
            service: ProcessId(0),
            session_durations: SessionDurations {
                ttl: 10 * delay,
                validity: 9 * delay,
                renewal_interval: 3 * delay,
            },
            lease_end_commit_delay: Delay { min: 0, max: delay },
            leader_change_delay: Delay { min: 4 * delay, max: 6 * delay },
            renewal_modulus: tenure_core::Term::NUMBER_LIMIT,
            variants: Variants::none(),
        }
    }

    pub(crate) fn timeouts(&self) -> [ConfigurableTimeout; 5] {
        let SessionDurations { ttl, validity, renewal_interval } = self.session_durations;
        let validity_text = "time for which a session is claimed, from its last answered renewal";
        [
            ConfigurableTimeout::new(
                TTL_TIMEOUT_NAME,
                "duration of a lease at the service",
                Delay::ticks(ttl),
            ),
            ConfigurableTimeout::new(VALIDITY_TIMEOUT_NAME, validity_text, Delay::ticks(validity)),
            ConfigurableTimeout::new(
                RENEWAL_TIMEOUT_NAME,
                "interval between renewals",
                Delay::ticks(renewal_interval),
            ),
            ConfigurableTimeout::new(
                COMMIT_TIMEOUT_NAME,
                "time to commit the end of a lease",
                self.lease_end_commit_delay,
            ),
            ConfigurableTimeout::new(
                CHANGE_TIMEOUT_NAME,
                "time until the leader of the service changes",
                self.leader_change_delay,
            ),
        ]
    }

    /// Returns the duration of `parts` parts of a lease. A lease consists of [`LEASE_PARTS`] equal
    /// parts.
    pub(super) fn duration_of_parts(&self, parts: u64) -> Delay {
        Delay::ticks(parts * self.session_durations.ttl / LEASE_PARTS)
    }
}

impl FromParameters for Config {
    fn from_parameters(parameters: &Parameters) -> Result<Self, CatalogueError> {
        let (service, variants) = (parameters.coordinator, parameters.variants()?);
        let plain = Config::with_defaults(parameters.delay);
        Ok(Config {
            service,
            session_durations: times(parameters, plain.session_durations)?,
            lease_end_commit_delay: parameters
                .timeout_or(COMMIT_TIMEOUT_NAME, plain.lease_end_commit_delay),
            leader_change_delay: parameters
                .timeout_or(CHANGE_TIMEOUT_NAME, plain.leader_change_delay),
            renewal_modulus: parameters.sequence_number_modulus,
            variants,
        })
    }
}

/// Returns the durations of a session. If the user has not set a duration in `parameters`, the
/// default in `plain` applies. If necessary, the default duration of a lease is raised to allow for
/// clock drift: a service with the fastest clock must keep the lease longer than a client with the
/// slowest clock relies on it. Returns an error if the user has set a range instead of one
/// duration.
fn times(
    parameters: &Parameters,
    plain: SessionDurations,
) -> Result<SessionDurations, CatalogueError> {
    let duration = |name, plain| parameters.single_timeout_or(name, plain);
    let validity = duration(VALIDITY_TIMEOUT_NAME, plain.validity)?;
    let least = parameters.ticks_on_fastest_clock(validity).saturating_add(1);
    Ok(SessionDurations {
        ttl: duration(TTL_TIMEOUT_NAME, plain.ttl.max(least))?,
        validity,
        renewal_interval: duration(RENEWAL_TIMEOUT_NAME, plain.renewal_interval)?,
    })
}

variant_ids! {
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
