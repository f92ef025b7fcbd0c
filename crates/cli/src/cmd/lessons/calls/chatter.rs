//! An experiment on the order of requests for a lock. Users tell each other about their requests,
//! in messages with or without the lock's logical clock.

use serde::Deserialize;
use serde_json::{Value, json};
use tenure_algorithms::mutex::{Lamport, lamport};
use tenure_core::{ChannelOrder, Property};
use tenure_sim::{
    BackgroundTraffic, Distribution, EntriesPerProcess, GroupSizeCondition, Judgement,
    LockWorkload, RequestPattern, RunError, Settings, Simulation, Workload,
};

const RUNS: u64 = 200;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ChatterArguments {
    /// True if messages between users carry the logical clock of the lock.
    stamped: bool,
}

/// Simulates three users of Lamport's lock. The users send messages to each other. These messages
/// are faster than most messages of the lock. Returns two numbers:
///
/// - `out_of_order` is the number of runs in which the entries do not follow the order of the
///   requests. Requests are ordered by the happened-before relation, which includes the messages
///   between users.
/// - `user_messages` is the number of messages between users in all runs.
pub(super) fn count_order_violations(arguments: ChatterArguments) -> Result<Value, RunError> {
    let (mut out_of_order, mut user_messages) = (0, 0);
    for seed in 1..=RUNS {
        let config = lamport::Config::default();
        let mut simulation = Simulation::<Lamport>::for_algorithm(config, settings(seed))?;
        if arguments.stamped {
            simulation = simulation.with_timestamped_traffic();
        }
        let report = simulation.run()?;
        let violated =
            report.judgement_of(Property::OrderWithMessages.name()) == Some(Judgement::Violated);
        out_of_order += u32::from(violated);
        user_messages += report.metrics.user_messages;
    }
    Ok(json!({ "out_of_order": out_of_order, "user_messages": user_messages }))
}

fn settings(seed: u64) -> Settings {
    let locking = LockWorkload {
        pattern: RequestPattern::Closed { think: Distribution::between_time_units(0, 40) },
        entries: EntriesPerProcess::Each(3),
        hold: Distribution::time_units(1),
    };
    let chatter = BackgroundTraffic::triggering_after_each_request(Distribution::time_units(1));
    let mut settings = Settings::new(3);
    settings.seed = seed;
    settings.workload = Workload::locking(locking).with_background_traffic(chatter);
    settings.network.order = Some(ChannelOrder::Fifo);
    settings.network.latency = Distribution::between_time_units(1, 9).into();
    settings.monitoring.order_check = GroupSizeCondition::Always;
    settings
}
