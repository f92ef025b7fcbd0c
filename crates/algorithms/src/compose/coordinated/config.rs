//! What is fixed about a lock at a leader: whether entries end by themselves, and which mistakes
//! are switched on.

use tenure_core::{Algorithm, Delay, Election, Property};

use crate::catalogue::Parameters;
use crate::mutex::Times;
use crate::variants::{Variants, switches};

/// What is fixed for life.
#[derive(Clone, Debug)]
pub struct Config<C> {
    /// Of the election.
    pub election: C,
    /// How long entries last, if they end by themselves; they do not where nothing is said.
    pub times: Option<Times>,
}

impl<C> Config<C> {
    /// The same at the leader of what the election becomes.
    pub(crate) fn map<D>(self, election: impl FnOnce(C) -> D) -> Config<D> {
        Config { election: election(self.election), times: self.times }
    }
}

impl<C> From<C> for Config<C> {
    fn from(election: C) -> Self {
        Config { election, times: None }
    }
}

switches! {
    HolderStays = "holder-stays", unsound,
        "an entry does not end by itself, and what a suspect has is given away at once"
        => "", "-n 2 --timing synchronous --latency 0 --partition 1 --property mutual-exclusion";
    GivenAtOnce = "given-at-once", unsound,
        "what a suspect has is given away at once, though its entry may last for a while"
        => "", "-n 2 --timing synchronous --latency 0 --partition 1 --property mutual-exclusion";
}

/// Entries end by themselves under a leader who leads at a time while clocks keep time.
pub(crate) fn configured<E: Election + Algorithm>(
    election: E::Config,
    variants: Variants<Switch>,
    parameters: &Parameters,
) -> Config<E::Config> {
    let ends = is_clocked(&E::card(&election, parameters.size).clocked);
    let plain = Times::of(parameters);
    let times = match variants.has(Switch::GivenAtOnce) {
        true => Times { expiry: Delay::ticks(0), ..plain },
        false => plain,
    };
    let stays = variants.has(Switch::HolderStays);
    Config { election, times: (ends && !stays).then_some(times) }
}

/// Whether the leader of an election has a lease.
pub(super) fn is_clocked(clocked: &[Property]) -> bool {
    clocked.contains(&Property::OneLeaderAtATime)
}
