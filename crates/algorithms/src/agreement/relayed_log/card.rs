//! What a log that is asked anywhere assumes, survives, costs and promises.

use alloc::string::ToString;

use tenure_core::theory::Theory;
use tenure_core::{Algorithm, Card, Cost, Crashes, Faults, Property};

use super::{Config, RaftLog, RelayedLog, Switch};
use crate::Variants;

impl Algorithm for RelayedLog {
    fn card(config: &Config, size: u32) -> Card {
        let log = RaftLog::card(&config.log, size);
        let least = 2 * u64::from(size - 1);
        let sound = log.variants.iter().filter(|variant| variant.sound).cloned();
        Card {
            name: "relayed-log".to_string(),
            title: "whoever is asked has the leader of a log do it, and says what became of it"
                .to_string(),
            faults: Faults {
                crashes: Crashes::Recovery,
                ..Faults::none(
                    "takes entries anywhere while a majority is up and connected; what is passed \
                     on and lost on the way is unknown when the leader changes, and waits till \
                     then",
                )
                .of_majority()
            },
            messages: Cost::per_agreement("2(N−1), 2 more elsewhere, and heartbeats", least, None)
                .in_part()
                .none_alone(size),
            theory: Some(Theory::agreement("2 at the leader; elsewhere till it hears of that", 2)),
            variants: sound.chain(Variants::<Switch>::declared()).collect(),
            ..log
        }
        .promising([Property::AtMostOnce])
    }

    fn highest_term(&self) -> u64 {
        self.log.highest_term()
    }
}
