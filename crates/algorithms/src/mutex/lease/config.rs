//! What is fixed about a lease: who grants, how long, and which mistakes are switched on.

use tenure_core::{Delay, ProcessId};

use super::Switch::{Impatient, NoMargin};
use crate::Variants;
use crate::catalogue::{Configured, Parameters, Unknown};
use crate::mutex::Times;
use crate::variants::switches;

/// What is fixed for life.
#[derive(Clone, Debug)]
pub struct Config {
    /// Who grants.
    pub grantor: ProcessId,
    /// How long entries last.
    pub times: Times,
    /// Which variants are switched on.
    pub variants: Variants<Switch>,
}

impl Config {
    /// The first process grants, and messages take at most `delay` ticks.
    pub fn plain(delay: u64) -> Self {
        let (grantor, times) = (ProcessId(0), Times::plain(delay));
        Config { grantor, times, variants: Variants::none() }
    }

    /// How long whoever is inside takes itself to be.
    pub(super) fn held(&self) -> Delay {
        let Times { lease, expiry, .. } = self.times;
        if self.variants.has(NoMargin) { expiry } else { lease }
    }

    /// How long the grantor keeps the lock for them.
    pub(super) fn kept(&self) -> Delay {
        let Times { expiry, renewal, .. } = self.times;
        if self.variants.has(Impatient) { renewal } else { expiry }
    }
}

/// How many questions late an answer may be: whose turn it is asks again at once.
const LATE: u64 = 1;

impl Configured for Config {
    fn configured(parameters: &Parameters) -> Result<Self, Unknown> {
        let (grantor, variants) = (parameters.coordinator, parameters.variants()?);
        let times = Times::of(parameters);
        let rounds = times.rounds.max(LATE + 1);
        Ok(Config { grantor, times: Times { rounds, ..times }, variants })
    }
}

switches! {
    DeadlineFromAnswer = "deadline-from-answer", unsound,
        "a lease is counted from when the answer came, however old it was"
        => "", "-n 2 --partition 2 --property mutual-exclusion";
    NoMargin = "no-margin", unsound,
        "whoever is inside stays for as long as the lock is kept for it: nothing is left for clocks"
        => "", "-n 2 --partition 2 --property mutual-exclusion";
    RenewalIgnored = "renewal-ignored", unsound,
        "a renewal is answered, but the lock is kept no longer than it would have been"
        => "", "-n 2 --property mutual-exclusion";
    Impatient = "impatient", unsound,
        "the lock is kept only until a renewal is due, and given away when one is late"
        => "", "-n 2 --property mutual-exclusion";
    ForgottenGrants = "forgotten-grants", unsound,
        "a grantor that comes back grants at once, though what it had granted still lasts"
        => "", "-n 3 --entries 0,1,1 --crash 1 --recover 1 --property mutual-exclusion";
}
