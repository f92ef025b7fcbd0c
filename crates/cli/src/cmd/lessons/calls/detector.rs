//! A failure detector that waits for heartbeats, and how often it is wrong.

use serde::Deserialize;
use serde_json::{Value, json};
use tenure_algorithms::compose::{Detected, detected};
use tenure_algorithms::detector::{Heartbeat, heartbeat};
use tenure_core::{Delay, Effects, Group, ProcessId, Protocol, TICKS_PER_UNIT, Verdict};
use tenure_sim::{Fault, RunError, Settings, Simulation, Span, When};

/// Counts whom its detector suspects.
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

    fn on_suspicion(&mut self, peer: ProcessId, verdict: Verdict, _: &mut impl Effects<Self>) {
        if verdict == Verdict::Suspect {
            self.suspected.push(peer);
        }
    }
}

/// How often anybody beats, in units.
const PERIOD: u64 = 10;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Watching {
    /// How long one waits for a heartbeat, in units.
    timeout: u64,
    /// What a message takes, from and to, in units.
    takes: [u64; 2],
    /// When P2 crashes.
    crash: u64,
}

/// Two processes watch each other, and P2 crashes. How often was somebody accused who was up, and
/// was P2 found?
pub(super) fn doubts(with: Watching) -> Result<Value, RunError> {
    let Watching { timeout, takes: [least, most], crash } = with;
    let mut settings = Settings::new(2);
    settings.detector = None;
    settings.network.latency = Span::between_units(least, most).into();
    settings.limits.until = Some((2 * crash + timeout) * TICKS_PER_UNIT);
    let when = When::At(crash * TICKS_PER_UNIT);
    settings.faults = vec![Fault::Crash { process: ProcessId(1), when, recovery: None }];
    let detector = heartbeat::Config {
        period: Delay::units(PERIOD),
        timeout: timeout * TICKS_PER_UNIT,
        increment: 0,
        longest: timeout * TICKS_PER_UNIT,
    };
    let config = detected::Config { detector, inner: () };
    let simulation = Simulation::<Detected<Heartbeat, Witness>>::new(config, settings);
    let (_, processes) = simulation.run_and_inspect()?;
    let accused = |of: usize| processes[of].inner().suspected.len() as u64;
    let found = accused(0) > 0;
    // Everything that P2 said was wrong, and all but the last that P1 said.
    Ok(json!({ "wrong": accused(1) + accused(0) - u64::from(found), "found": found }))
}
