//! An experiment that explores every schedule of a heartbeat failure detector. The arguments bound
//! the delays. If `latency` is absent, the latency of messages has no bound.

use serde::Deserialize;
use serde_json::{Value, json};
use tenure_algorithms::detector::{AdaptiveTimeoutDetector, heartbeat};
use tenure_check::{Check, CheckError, Counterexample};
use tenure_core::Delay;
use tenure_core::monitors::{StrongAccuracy, StrongCompleteness};

const SIZE: u32 = 2;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PerfectDetectorArguments {
    /// Interval between heartbeats, in units of time.
    period: u32,
    /// Time without a heartbeat after which a process is suspected, in units of time.
    timeout: u32,
    /// Least and greatest latency of a message, in units of time. `None` if latencies have no
    /// bound.
    latency: Option<[u32; 2]>,
    /// Least and greatest duration of a step, in units of time.
    #[serde(default)]
    step: [u32; 2],
    /// Greatest deviation of the rate of a clock, in percent.
    #[serde(default)]
    drift: u32,
}

/// Explores every schedule of two processes that monitor each other. One of the two processes may
/// crash. Returns whether the detector is accurate and complete, and the number of explored states.
/// Also returns the number of steps of the shortest run that contains a false suspicion, or null if
/// there is no such run.
pub(super) fn check_detector(with: PerfectDetectorArguments) -> Result<Value, CheckError> {
    let timeout = Delay::time_units(with.timeout.into()).max;
    let detector = heartbeat::Config {
        period: Delay::time_units(with.period.into()),
        initial_timeout: timeout,
        increment: 0,
        max_timeout: timeout,
    };
    let check =
        Check::<AdaptiveTimeoutDetector>::with_protocol_config(SIZE, detector).max_crashes(1);
    let check = match with.latency {
        Some([least, most]) => {
            let check = check.synchronous(least..=most).steps_lasting(with.step[0]..=with.step[1]);
            check.drifting(with.drift * 10_000)
        }
        // Without a bound on latency, heartbeats accumulate in the links. In a check with losses, a
        // full link drops further messages.
        None => check.max_losses(1).in_flight_per_link(1),
    };
    let check = check.always(StrongAccuracy::new());
    let report = check.always_and_at_end(StrongCompleteness::new(SIZE)).try_run()?;
    Ok(json!({
        "accuracy": report.judgement_of("accuracy"),
        "completeness": report.judgement_of("completeness"),
        "steps": report.counterexample("accuracy").map(Counterexample::step_count),
        "states": report.states,
    }))
}
