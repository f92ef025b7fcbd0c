//! Configuration of the relayed log.

use alloc::vec::Vec;

use tenure_core::Variant;

use super::raft_log;
use crate::catalogue_error::CatalogueError;
use crate::parameters::{FromParameters, Parameters};
use crate::variants::{UnknownVariant, Variants, variant_ids};

/// Configuration of one process.
#[derive(Clone, Debug)]
pub struct Config {
    /// Configuration of the log.
    pub log: raft_log::Config,
    /// Number that distinguishes this start of the process from its earlier starts. The number may
    /// stay the same if the tickets of the user are unique across restarts.
    pub incarnation: u64,
    /// Variants that are switched on, each with a known mistake.
    pub variants: Variants<VariantId>,
}

impl Config {
    /// Returns a configuration that contains `log`, the incarnation 0, and no variants.
    pub fn with_log_config(log: raft_log::Config) -> Self {
        Config { log, incarnation: 0, variants: Variants::none() }
    }

    /// Sets the number that distinguishes this start of the process from its earlier starts.
    pub fn in_session(self, incarnation: u64) -> Self {
        Config { incarnation, ..self }
    }
}

/// Returns the variants that the relayed log accepts: its own variants, and the sound variants of
/// [`raft_log`].
pub(super) fn accepted_variants() -> Vec<Variant> {
    let of_log = Variants::<raft_log::VariantId>::declarations().into_iter();
    of_log.filter(|variant| variant.sound).chain(Variants::<VariantId>::declarations()).collect()
}

impl FromParameters for Config {
    /// Creates the configuration from the parameters. Permits all variants of the relayed log
    /// itself, and the sound variants of [`raft_log`]. Only the algorithm `raft-log` permits the
    /// unsound variants of [`raft_log`].
    fn from_parameters(parameters: &Parameters) -> Result<Self, CatalogueError> {
        let (variants, of_log) = parameters.partition_variants();
        let known = || accepted_variants().into_iter().map(|variant| variant.name);
        if let Some(name) = of_log.variants.iter().find(|name| known().all(|it| it != **name)) {
            return Err(UnknownVariant { name: name.clone(), known: known().collect() }.into());
        }
        Ok(Config {
            variants,
            ..Config::with_log_config(raft_log::Config::from_parameters(&of_log)?)
        })
    }
}

variant_ids! {
    EarlyAnswer = "early-answer", unsound,
        "an answer is reported when it arrives, before the user has seen that part of the log"
        => "", "-n 3 --entries 1,1,0 --property linearizable-reads \
                --variant early-answer,no-pre-vote --in-flight 2";
    AskedAgain = "asked-again", unsound,
        "a request without an answer is sent to the next leader as well"
        => "", "-n 3 --entries 0,0,1 --property at-most-once --variant asked-again,no-pre-vote \
                --in-flight 2";
    DeclinedInDoubt = "declined-in-doubt", unsound,
        "a request without an answer is reported as having no effect"
        => "", "-n 3 --property at-most-once --variant declined-in-doubt,no-pre-vote --in-flight 1";
}
