//! An experiment that counts the false suspicions of a heartbeat failure detector.

use serde::Deserialize;
use serde_json::{Value, json};
use tenure_algorithms::compose::{WithDetector, with_detector};
use tenure_algorithms::detector::{AdaptiveTimeoutDetector, heartbeat};
use tenure_core::{Delay, Effects, Group, PeerVerdict, ProcessId, Protocol, TICKS_PER_TIME_UNIT};
use tenure_sim::{CrashTrigger, Distribution, Fault, RunError, Settings, Simulation};

/// User of a failure detector. It records each suspicion that the detector reports.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Witness {
    suspected: Vec<ProcessId>,
}

impl Protocol for Witness {
    type Config = ();
    type Command = ();
    type Event = ();
    type Message = ();
    type Timer = ();
    type Stable = ();

    fn boot(_: Group, (): &(), _: Option<()>, _: &mut impl Effects<Self>) -> Self {
        Witness { suspected: Vec::new() }
    }

    fn stable(&self) {}

    fn on_command(&mut self, (): (), _: &mut impl Effects<Self>) {}

    fn on_message(&mut self, _: ProcessId, (): (), _: &mut impl Effects<Self>) {}

    fn on_suspicion(&mut self, peer: ProcessId, verdict: PeerVerdict, _: &mut impl Effects<Self>) {
        if verdict == PeerVerdict::Suspect {
            self.suspected.push(peer);
        }
    }
}

/// Interval between heartbeats, in units of time.
const HEARTBEAT_PERIOD: u64 = 10;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DetectorArguments {
    /// Time without a heartbeat after which a process is suspected, in units of time.
    timeout: u64,
    /// Least and greatest latency of a message, in units of time.
    takes: [u64; 2],
    /// Time at which P2 crashes, in units of time.
    crash: u64,
}

/// Simulates two processes, P1 and P2, that monitor each other. P2 crashes during the run. Returns
/// the number of false suspicions, and whether P1 detects the crash.
pub(super) fn count_false_suspicions(with: DetectorArguments) -> Result<Value, RunError> {
    let DetectorArguments { timeout, takes: [least, most], crash } = with;
    let mut settings = Settings::new(2);
    settings.detector = None;
    settings.network.latency = Distribution::between_time_units(least, most).into();
    settings.limits.until = Some((2 * crash + timeout) * TICKS_PER_TIME_UNIT);
    let when = CrashTrigger::At(crash * TICKS_PER_TIME_UNIT);
    settings.faults = vec![Fault::Crash { process: ProcessId(1), when, recovery: None }];
    let detector = heartbeat::Config {
        period: Delay::time_units(HEARTBEAT_PERIOD),
        initial_timeout: timeout * TICKS_PER_TIME_UNIT,
        increment: 0,
        max_timeout: timeout * TICKS_PER_TIME_UNIT,
    };
    let config = with_detector::Config { detector, inner: () };
    let simulation =
        Simulation::<WithDetector<AdaptiveTimeoutDetector, Witness>>::new(config, settings);
    let (_, processes) = simulation.run_and_inspect()?;
    let suspicions = |of: usize| processes[of].inner().suspected.len() as u64;
    let found = suspicions(0) > 0;
    // All suspicions by P2 are false, because P1 does not crash. Of the suspicions by P1, at most
    // one is true: the last one, if P1 has detected the crash of P2.
    Ok(json!({ "wrong": suspicions(1) + suspicions(0) - u64::from(found), "found": found }))
}
