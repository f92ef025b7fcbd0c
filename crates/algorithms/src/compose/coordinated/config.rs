//! Configuration and variants of the lock at a leader.

use tenure_core::{Algorithm, Delay, Election, Property};

use crate::mutex::LeaseDurations;
use crate::parameters::Parameters;
use crate::variants::{UnknownVariant, Variants, variant_ids};

/// Configuration of one process.
#[derive(Clone, Debug)]
pub struct Config<C> {
    /// Configuration of the election.
    pub election: C,
    /// Durations that limit an entry to the critical section; `None` if entries do not expire.
    pub entry_durations: Option<LeaseDurations>,
}

impl<C> Config<C> {
    pub(crate) fn map<D>(self, election: impl FnOnce(C) -> D) -> Config<D> {
        Config { election: election(self.election), entry_durations: self.entry_durations }
    }
}

impl<C> From<C> for Config<C> {
    fn from(election: C) -> Self {
        Config { election, entry_durations: None }
    }
}

variant_ids! {
    HolderStays = "holder-stays", unsound,
        "entries do not expire, and the lock of a suspect is reassigned at once"
        => "", "-n 2 --timing synchronous --latency 0 --partition 1 --beyond-assumptions \
                --property mutual-exclusion";
    GivenAtOnce = "given-at-once", unsound,
        "the lock of a suspect is reassigned at once, although its entry has not expired"
        => "", "-n 2 --timing synchronous --latency 0 --partition 1 --beyond-assumptions \
                --property mutual-exclusion";
}

/// Returns a configuration for the lock at the leader of `election`. Entries to the critical
/// section expire if the leader has a lease and the variant `holder-stays` is switched off.
///
/// # Errors
///
/// Returns an error if a variant is switched on and the leader has no lease, because the variants
/// concern the expiry of entries.
pub(crate) fn config_for_election<E: Election + Algorithm>(
    election: E::Config,
    variants: Variants<VariantId>,
    parameters: &Parameters,
) -> Result<Config<E::Config>, UnknownVariant> {
    let card = E::card(&election, parameters.size);
    if !has_leader_lease(&card.timed_promises) {
        variants.expect_none(card.variants.iter().map(|variant| variant.name))?;
        return Ok(Config { election, entry_durations: None });
    }
    let plain = LeaseDurations::from_parameters(parameters);
    let times = match variants.has(VariantId::GivenAtOnce) {
        true => LeaseDurations { reservation: Delay::ticks(0), ..plain },
        false => plain,
    };
    let never_expires = variants.has(VariantId::HolderStays);
    Ok(Config { election, entry_durations: (!never_expires).then_some(times) })
}

/// Returns true if the leader of an election has a lease. `timed_promises` are the properties that
/// the election promises while clocks run at the expected rates. The leader has a lease if
/// [`Property::OneLeaderAtATime`] is among these properties.
pub(super) fn has_leader_lease(timed_promises: &[Property]) -> bool {
    timed_promises.contains(&Property::OneLeaderAtATime)
}
