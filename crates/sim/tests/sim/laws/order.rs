//! Order of entries if users also send messages to each other.

use tenure_algorithms::mutex::{Lamport, RicartAgrawala, lamport, ricart_agrawala};
use tenure_core::{Algorithm, Mutex, Order, Timestamped};
use tenure_sim::{
    BackgroundTraffic, Distribution, Entries, Judgement, Locking, Pattern, Report, Settings,
    Simulation, Tracking, Workload,
};

/// Returns settings in which a user sends a message to another user after each request. The
/// receiver then requests the lock immediately. Messages of users are faster than those of the
/// lock.
fn talkative(size: u32, seed: u64) -> Settings {
    let mut settings = Settings::new(size);
    let locking = Locking {
        pattern: Pattern::Closed { think: Distribution::between_units(0, 40) },
        entries: Entries::Each(3),
        hold: Distribution::units(1),
    };
    let background_traffic = BackgroundTraffic::always(Distribution::units(1));
    settings.seed = seed;
    settings.workload = Workload::locking(locking).with_background_traffic(background_traffic);
    settings.network.order = Some(Order::Fifo);
    settings.network.latency = Distribution::between_units(1, 9).into();
    settings.instrumentation.order = Tracking::Always;
    settings
}

fn is_violated(report: &Report, property: &str) -> bool {
    report.judgement(property) == Some(Judgement::Violated)
}

/// Returns the number of runs in which entries violate the order of requests. For the first number,
/// the order includes messages of users. For the second, it follows only from messages of the
/// protocol. Asserts that all other properties hold.
fn count_disorder<P: Mutex + Algorithm + Timestamped>(
    config: &P::Config,
    stamped: bool,
) -> (u32, u32) {
    let mut found = (0, 0);
    for seed in 0..1000 {
        let settings = talkative(3, seed);
        let mut simulation = Simulation::<P>::for_algorithm(config.clone(), settings).unwrap();
        if stamped {
            simulation = simulation.with_timestamped_traffic();
        }
        let report = simulation.run().unwrap();
        assert!(report.metrics.user_messages > 0, "seed {seed}");
        for property in ["mutual-exclusion", "starvation-freedom", "fencing"] {
            assert_eq!(
                report.judgement(property),
                Some(Judgement::Holds),
                "{property}, seed {seed}"
            );
        }
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
    assert_eq!(alone, 0, "what the lock itself says keeps its order");
}

/// Negative control: without the clock in user messages, their order is violated.
#[test]
fn lamport_loses_wider_order_without_carried_clock() {
    let (with_messages, alone) = count_disorder::<Lamport>(&lamport::Config::default(), false);
    assert!(with_messages > 10, "{with_messages} of 1000");
    assert_eq!(alone, 0, "what the lock itself says keeps its order");
}
