//! Configuration of the relayed log.

use super::raft_log;
use crate::Variants;
use crate::catalogue_error::CatalogueError;
use crate::parameters::{Configured, Parameters};
use crate::variants::switches;

/// Configuration of one process.
#[derive(Clone, Debug)]
pub struct Config {
    /// Configuration of the log.
    pub log: raft_log::Config,
    /// Incarnation of this process. It may be the same after each restart if no two commands of a
    /// user ever have the same ticket.
    pub incarnation: u64,
    /// Mistakes that are switched on.
    pub variants: Variants<Switch>,
}

impl Config {
    /// Returns a correct configuration around a log.
    pub fn around(log: raft_log::Config) -> Self {
        Config { log, incarnation: 0, variants: Variants::none() }
    }

    /// Sets the incarnation.
    pub fn with_incarnation(self, incarnation: u64) -> Self {
        Config { incarnation, ..self }
    }
}

impl Configured for Config {
    /// The variants of the log are accepted as well.
    fn configured(parameters: &Parameters) -> Result<Self, CatalogueError> {
        let (variants, of_log) = parameters.split();
        Ok(Config { variants, ..Config::around(raft_log::Config::configured(&of_log)?) })
    }
}

switches! {
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
