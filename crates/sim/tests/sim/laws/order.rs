//! Which order of requests the entries keep, with users who also talk to each other.

use tenure_algorithms::mutex::{Lamport, RicartAgrawala, lamport, ricart_agrawala};
use tenure_claims::claims;
use tenure_core::{Algorithm, Mutex, Order, Stamped};
use tenure_sim::{
    Chatter, Entries, Judgement, Locking, Pattern, Report, Settings, Simulation, Span, Watched,
    Workload,
};

/// Users who think, ask, tell somebody of it, and ask at once when they are told. What they say
/// travels faster than what the lock says.
fn talkative(size: u32, seed: u64) -> Settings {
    let mut settings = Settings::new(size);
    let locking = Locking {
        pattern: Pattern::Closed { think: Span::between_units(0, 40) },
        entries: Entries::Each(3),
        hold: Span::units(1),
    };
    let chatter = Chatter::always(Span::units(1));
    settings.seed = seed;
    settings.workload = Workload::locking(locking).with_chatter(chatter);
    settings.network.order = Some(Order::Fifo);
    settings.network.latency = Span::between_units(1, 9).into();
    settings.watch.order = Watched::Always;
    settings
}

fn is_violated(report: &Report, property: &str) -> bool {
    report.verdict(property) == Some(Judgement::Violated)
}

/// How often the order with the application's messages is violated, and how often that of the
/// protocol's alone; everything else has to hold.
fn disorder<P: Mutex + Algorithm + Stamped>(config: &P::Config, stamped: bool) -> (u32, u32) {
    let mut found = (0, 0);
    for seed in 0..1000 {
        let settings = talkative(3, seed);
        let mut simulation = Simulation::<P>::of(config.clone(), settings).unwrap();
        if stamped {
            simulation = simulation.with_stamped_chatter();
        }
        let report = simulation.run().unwrap();
        assert!(report.metrics.chatted > 0, "seed {seed}");
        for property in ["mutual-exclusion", "starvation-freedom", "fencing"] {
            assert_eq!(report.verdict(property), Some(Judgement::Holds), "{property}, seed {seed}");
        }
        found.0 += u32::from(is_violated(&report, "order-with-messages"));
        found.1 += u32::from(is_violated(&report, "order"));
    }
    found
}

#[claims("7-L7", "Q-18", "I-20")]
#[test]
fn lamport_keeps_the_order_when_users_carry_its_clock() {
    assert_eq!(disorder::<Lamport>(&lamport::Config::default(), true), (0, 0));
}

#[claims("7-R6")]
#[test]
fn ricart_agrawala_keeps_the_order_when_users_carry_its_clock() {
    let config = ricart_agrawala::Config::default();
    assert_eq!(disorder::<RicartAgrawala>(&config, true), (0, 0));
    let (with_messages, alone) = disorder::<RicartAgrawala>(&config, false);
    assert!(with_messages > 10, "the negative control: {with_messages} of 1000");
    assert_eq!(alone, 0, "what the lock itself says keeps its order");
}

/// The negative control.
#[claims("7-L8", "I-20")]
#[test]
fn lamport_loses_the_order_with_messages_when_users_carry_no_clock() {
    let (with_messages, alone) = disorder::<Lamport>(&lamport::Config::default(), false);
    assert!(with_messages > 10, "{with_messages} of 1000");
    assert_eq!(alone, 0, "what the lock itself says keeps its order");
}
