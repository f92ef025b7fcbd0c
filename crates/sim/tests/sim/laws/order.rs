//! Tests that entries follow the order of the requests, even if users also send messages to each
//! other.

use tenure_algorithms::mutex::{Lamport, RicartAgrawala, lamport, ricart_agrawala};
use tenure_core::{Algorithm, ChannelOrder, Mutex, Timestamped};
use tenure_sim::{Distribution, GroupSizeCondition, Settings, Simulation};

use crate::common::runs::{assert_hold, is_violated, seeded, talkative};

/// Returns settings with users that send messages to each other. These messages are faster than
/// those of the lock.
fn settings(size: u32, seed: u64) -> Settings {
    let workload = talkative(3, Distribution::between_units(0, 40));
    let mut settings = seeded(size, seed, workload, Distribution::between_units(1, 9));
    settings.network.order = Some(ChannelOrder::Fifo);
    settings.instrumentation.order = GroupSizeCondition::Always;
    settings
}

/// Returns two numbers of runs in which entries violate the order of requests. For the first
/// number, a request also precedes another through messages between users. For the second, it
/// precedes another only through messages of the protocol. Asserts that all other properties hold.
fn count_disorder<P: Mutex + Algorithm + Timestamped>(
    config: &P::Config,
    stamped: bool,
) -> (u32, u32) {
    let mut found = (0, 0);
    for seed in 0..1000 {
        let mut simulation =
            Simulation::<P>::for_algorithm(config.clone(), settings(3, seed)).unwrap();
        if stamped {
            simulation = simulation.with_timestamped_traffic();
        }
        let report = simulation.run().unwrap();
        assert!(report.metrics.user_messages > 0, "seed {seed}");
        let promises = ["mutual-exclusion", "starvation-freedom", "fencing"];
        assert_hold(&report, &promises, &format!("seed {seed}"));
        found.0 += u32::from(is_violated(&report, "order-with-messages"));
        found.1 += u32::from(is_violated(&report, "order"));
    }
    found
}

#[test]
fn lamport_keeps_order_with_carried_clock() {
    assert_eq!(count_disorder::<Lamport>(&lamport::Config::default(), true), (0, 0));
}

#[test]
fn ricart_agrawala_keeps_order_with_carried_clock() {
    let config = ricart_agrawala::Config::default();
    assert_eq!(count_disorder::<RicartAgrawala>(&config, true), (0, 0));
    let (with_messages, alone) = count_disorder::<RicartAgrawala>(&config, false);
    assert!(with_messages > 10, "the negative control: {with_messages} of 1000");
    assert_eq!(alone, 0, "messages of the lock alone keep the order");
}

/// Messages between users do not carry the logical clock here. In some runs, entries must then
/// violate the order of requests that takes these messages into account. Entries must keep the
/// order that ignores them.
#[test]
fn lamport_loses_wider_order_without_carried_clock() {
    let (with_messages, alone) = count_disorder::<Lamport>(&lamport::Config::default(), false);
    assert!(with_messages > 10, "{with_messages} of 1000");
    assert_eq!(alone, 0, "messages of the lock alone keep the order");
}
