//! Tests that entries follow the order of the requests, even if users also send messages to each
//! other.

use tenure_algorithms::mutex::{Lamport, RicartAgrawala, lamport, ricart_agrawala};
use tenure_core::{Algorithm, ChannelOrder, ExposesLogicalClock, Mutex};
use tenure_sim::{Distribution, GroupSizeCondition, Settings, Simulation};

use crate::common::runs::{assert_hold, is_violated, seeded, talkative};

/// Returns settings in which users send messages to each other. The messages between users are
/// faster than the messages of the lock.
fn settings(size: u32, seed: u64) -> Settings {
    let workload = talkative(3, Distribution::between_time_units(0, 40));
    let mut settings = seeded(size, seed, workload, Distribution::between_time_units(1, 9));
    settings.network.order = Some(ChannelOrder::Fifo);
    settings.monitoring.order_check = GroupSizeCondition::Always;
    settings
}

/// Returns the number of runs in which entries violate the order of requests, for two definitions
/// of this order. In the first definition, messages between users and messages of the protocol
/// order the requests. In the second definition, only messages of the protocol order the requests.
/// Asserts that all other properties hold.
fn count_disorder<P: Mutex + Algorithm + ExposesLogicalClock>(
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

/// In this test, messages between users do not carry the logical clock. The test judges two orders
/// of requests. The wider order takes messages between users into account, and entries must violate
/// it in some runs. The narrower order ignores these messages, and entries must keep it.
#[test]
fn lamport_loses_wider_order_without_carried_clock() {
    let (with_messages, alone) = count_disorder::<Lamport>(&lamport::Config::default(), false);
    assert!(with_messages > 10, "{with_messages} of 1000");
    assert_eq!(alone, 0, "messages of the lock alone keep the order");
}
