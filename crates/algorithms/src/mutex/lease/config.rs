//! Configuration of the lease: the grantor, durations, and variants with mistakes.

use tenure_core::{Delay, ProcessId};

use super::VariantId::{Impatient, NoMargin};
use crate::Variants;
use crate::catalogue_error::CatalogueError;
use crate::mutex::LeaseDurations;
use crate::parameters::{FromParameters, Parameters};
use crate::variants::variant_ids;

/// Configuration of one process.
#[derive(Clone, Debug)]
pub struct Config {
    /// Process that grants the leases. It must be in the group.
    pub grantor: ProcessId,
    /// Durations of leases and grants, and the renewal interval.
    pub durations: LeaseDurations,
    /// Variants that are switched on.
    pub variants: Variants<VariantId>,
}

impl Config {
    /// Returns a configuration in which the first process is the grantor. Messages take at most
    /// `delay` ticks.
    pub fn with_defaults(delay: u64) -> Self {
        let (grantor, times) = (ProcessId(0), LeaseDurations::for_message_delay(delay));
        Config { grantor, durations: times, variants: Variants::none() }
    }

    /// Returns the time for which a process considers itself inside the critical section, measured
    /// from its request.
    pub(super) fn lease_duration(&self) -> Delay {
        let LeaseDurations { lease, reservation: expiry, .. } = self.durations;
        if self.variants.has(NoMargin) { expiry } else { lease }
    }

    /// Returns the time for which the grantor reserves the lock, measured from its grant.
    pub(super) fn grant_duration(&self) -> Delay {
        let LeaseDurations { reservation: expiry, renewal_interval: renewal, .. } = self.durations;
        if self.variants.has(Impatient) { renewal } else { expiry }
    }
}

/// Maximum number of requests that a process sends after a request and before the response to that
/// request arrives. One is possible: a waiting process requests again when it is notified that its
/// turn has come.
const MAX_LATE_ROUNDS: u64 = 1;

impl FromParameters for Config {
    fn from_parameters(parameters: &Parameters) -> Result<Self, CatalogueError> {
        let (grantor, variants) = (parameters.coordinator, parameters.variants()?);
        let times = LeaseDurations::from_parameters(parameters);
        let request_modulus = times.request_modulus.max(MAX_LATE_ROUNDS + 1);
        Ok(Config { grantor, durations: LeaseDurations { request_modulus, ..times }, variants })
    }
}

variant_ids! {
    DeadlineFromAnswer = "deadline-from-answer", unsound,
        "a lease is measured from its response, however old that is"
        => "", "-n 2 --partition 2 --property mutual-exclusion";
    NoMargin = "no-margin", unsound,
        "a process stays inside as long as the lock is reserved for it, without a margin for \
         clock drift"
        => "", "-n 2 --partition 2 --property mutual-exclusion";
    RenewalIgnored = "renewal-ignored", unsound,
        "a renewal is answered without extending the reservation"
        => "", "-n 2 --property mutual-exclusion";
    Impatient = "impatient", unsound,
        "the lock is reserved only until a renewal is due, and granted to another when one is \
         late"
        => "", "-n 2 --property mutual-exclusion";
    ForgottenGrants = "forgotten-grants", unsound,
        "a restarted grantor grants at once, although its earlier grants may still be valid"
        => "", "-n 3 --entries 0,1,1 --crash 1 --recover 1 --property mutual-exclusion";
}
