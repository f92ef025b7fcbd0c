//! Card of the bully election: assumptions, faults, costs and promises.

use alloc::sync::Arc;
use alloc::vec;

use tenure_core::theory::ExpectedCosts;
use tenure_core::{
    Algorithm, Card, ConfigurableTimeout, CrashModel, DetectorClass, MessageCost, Rank, Timing,
    ToleratedFaults,
};

use super::config::{ANSWER_TIMEOUT_NAME, COORDINATOR_TIMEOUT_NAME};
use super::{Bully, Config, VariantId};
use crate::Variants;

impl Algorithm for Bully {
    fn card(config: &Config, size: u32) -> Card {
        let n = u64::from(size);
        Card {
            timing: Timing::Synchronous,
            faults: ToleratedFaults {
                crashes: CrashModel::Recovery,
                ..ToleratedFaults::duplication_only(
                    "survives any number of crashes and recoveries, but no lost message",
                )
            },
            detection: DetectorClass::Perfect,
            messages: messages(config, n),
            theory: Some(ExpectedCosts::election(1)),
            timeouts: vec![
                ConfigurableTimeout::new(
                    ANSWER_TIMEOUT_NAME,
                    "T: time without an answer after which a process announces itself",
                    config.answer_timeout,
                ),
                ConfigurableTimeout::new(
                    COORDINATOR_TIMEOUT_NAME,
                    "T1: time after an answer without a leader after which a process starts again",
                    config.coordinator_timeout,
                ),
            ],
            variants: Variants::<VariantId>::declarations(),
            ..Card::election(
                "bully",
                "a process leads if no higher one responds",
                "Garcia-Molina, IEEE Transactions on Computers C-31(1), 1982",
            )
        }
    }

    fn with_ranks(config: &Config, ranks: Arc<[Rank]>) -> Config {
        Config { ranks, ..config.clone() }
    }

    fn highest_term(&self) -> u64 {
        self.number
    }
}

/// Returns the cost of the algorithm with its variants in a group of `n` processes.
fn messages(config: &Config, n: u64) -> MessageCost {
    let (formula, most) = if config.variants.has(VariantId::LiteralRestart) {
        ("at least N−1", None)
    } else if config.variants.has(VariantId::TellAll) {
        // All processes except the highest send N−1 election messages.
        ("N−1 … 3N(N−1)/2", Some(3 * n * (n - 1) / 2))
    } else {
        ("N−1 … N²−1", Some(n * n - 1))
    };
    MessageCost::per_election(formula, n - 1, most)
}
