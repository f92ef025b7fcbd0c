//! What is fixed about a log that is asked anywhere, and which mistakes are switched on.

use super::raft_log;
use crate::Variants;
use crate::catalogue::{Configured, Parameters, Unknown};
use crate::variants::switches;

/// What is fixed for a life.
#[derive(Clone, Debug)]
pub struct Config {
    /// Of the log.
    pub log: raft_log::Config,
    /// Which life of this process it is. It may be the same for all of them where no two commands
    /// of a user have the same ticket, whatever crashes between them.
    pub life: u64,
    /// Which mistakes are switched on.
    pub variants: Variants<Switch>,
}

impl Config {
    /// As it should be, around a log that is configured so.
    pub fn around(log: raft_log::Config) -> Self {
        Config { log, life: 0, variants: Variants::none() }
    }

    /// The same in a certain life.
    pub fn of_life(self, life: u64) -> Self {
        Config { life, ..self }
    }
}

impl Configured for Config {
    /// The variants of the log are those of this as well.
    fn configured(parameters: &Parameters) -> Result<Self, Unknown> {
        let (variants, of_log) = parameters.split();
        Ok(Config { variants, ..Config::around(raft_log::Config::configured(&of_log)?) })
    }
}

switches! {
    EarlyAnswer = "early-answer", unsound,
        "an answer is told as it comes, to a user who was not told of so much of the log"
        => "", "-n 3 --entries 1,1,0 --property linearizable-reads \
                --variant early-answer,no-pre-vote --in-flight 2";
    AskedAgain = "asked-again", unsound,
        "what had no answer is asked again of the next leader"
        => "", "-n 3 --entries 0,0,1 --property at-most-once --variant asked-again,no-pre-vote \
                --in-flight 2";
    DeclinedInDoubt = "declined-in-doubt", unsound,
        "what had no answer is said to have had no effect"
        => "", "-n 3 --property at-most-once --variant declined-in-doubt,no-pre-vote --in-flight 1";
}
