//! Synchronisation of clocks by an elected leader, with the Berkeley algorithm.

use std::collections::BTreeMap;

use tenure_algorithms::application::{Berkeley, berkeley};
use tenure_core::service::clock_synchronisation::{Command, Event};
use tenure_core::service::with_election;
use tenure_core::{ProcessId, Term};
use tenure_sim::{CrashTrigger, Distribution, Fault, RunError, Settings};

use super::{ELECTION_START, first_process_wins, max_latency, run, simulation};

/// Clocks, network and faults of one run of clock synchronisation.
#[derive(Clone, Debug, PartialEq)]
pub struct BerkeleyScenario {
    /// Initial value of the clock of each process, in ticks, by index. The first process becomes
    /// the first leader.
    pub initial_clocks: Vec<i64>,
    /// Maximum difference, in ticks, between the clocks that contribute to the average. The leader
    /// uses the largest set of clocks that satisfies this limit. If `None`, all clocks contribute.
    pub tolerance: Option<u64>,
    /// Latency of each message, in ticks.
    pub latency: Distribution,
    /// Maximum drift of a clock from real time, in parts per million.
    pub drift_ppm: u32,
    /// Time from the start of the election to a crash of the first process, in ticks. `None` if the
    /// process does not crash.
    pub crash_after: Option<u64>,
    /// Seed of all random numbers.
    pub seed: u64,
}

impl BerkeleyScenario {
    /// Creates a scenario whose clocks initially show `starts`, in ticks. The clocks do not drift,
    /// all clocks contribute to the average, no process crashes, and each message takes one unit.
    /// The seed is 1.
    pub fn with_initial_clocks(starts: impl Into<Vec<i64>>) -> Self {
        BerkeleyScenario {
            initial_clocks: starts.into(),
            tolerance: None,
            latency: Distribution::time_units(1),
            drift_ppm: 0,
            crash_after: None,
            seed: 1,
        }
    }
}

/// Result of one run of clock synchronisation.
#[derive(Clone, Debug, PartialEq)]
pub struct BerkeleyOutcome {
    /// For each process, by index: the adjustments of its clock, in ticks, oldest first.
    pub adjustments: Vec<Vec<i64>>,
    /// For each process, by index: the final value of its clock minus the elapsed time, in ticks.
    /// `None` if the process has crashed.
    pub clock_offsets: Vec<Option<i64>>,
    /// Largest difference between two values in `clocks`, in ticks. 0 if there are none.
    pub spread: u64,
    /// Elected leaders, in the order of their terms.
    pub leaders: Vec<Term>,
    /// Number of messages that the application sent, by kind. Messages of the election do not
    /// count.
    pub messages: BTreeMap<&'static str, u64>,
}

/// Sets the clocks, runs the election and the Berkeley algorithm, and reads the clocks at the end.
///
/// # Errors
///
/// [`RunError`] if the scenario is invalid. Nothing was run.
///
/// ```
/// use tenure_instances::applications::berkeley::{BerkeleyScenario, synchronise_clocks};
///
/// // 3:00 at the leader, 3:25 and 2:50, in minutes.
/// let scenario = BerkeleyScenario::with_initial_clocks([180, 205, 170]);
/// let outcome = synchronise_clocks(&scenario).unwrap();
/// assert_eq!(outcome.adjustments, [[5], [-20], [15]]);
/// assert_eq!(outcome.clock_offsets, [Some(185); 3]);
/// ```
pub fn synchronise_clocks(scenario: &BerkeleyScenario) -> Result<BerkeleyOutcome, RunError> {
    let size = u32::try_from(scenario.initial_clocks.len()).unwrap_or(u32::MAX);
    let mut settings = Settings::new(size);
    settings.network.latency = scenario.latency.into();
    settings.time.drift_ppm = scenario.drift_ppm;
    settings.seed = scenario.seed;
    let delay = max_latency(scenario.latency);
    let end = ELECTION_START + scenario.crash_after.unwrap_or(0) + 40 * delay * u64::from(size);
    settings.limits.until = Some(end);
    if let Some(after) = scenario.crash_after {
        let (process, when) = (ProcessId(0), CrashTrigger::At(ELECTION_START + after));
        settings.faults.push(Fault::Crash { process, when, recovery: None });
    }
    let config = berkeley::Config { tolerance: scenario.tolerance, round_interval: None };
    let mut simulation = simulation::<Berkeley>(config, first_process_wins(size, delay), settings);
    for (place, to) in scenario.initial_clocks.iter().enumerate() {
        let process = ProcessId::from_index(place);
        let set = with_election::Command::Application(Command::Set { to: *to });
        let read = with_election::Command::Application(Command::Read);
        simulation = simulation.with_command(0, process, set).with_command(end, process, read);
    }
    let run = run(&simulation)?;
    let mut outcome = BerkeleyOutcome {
        adjustments: vec![Vec::new(); scenario.initial_clocks.len()],
        clock_offsets: vec![None; scenario.initial_clocks.len()],
        spread: 0,
        leaders: run.terms(),
        messages: run.messages(),
    };
    for (at, process, event) in run.application_events() {
        match event {
            Event::Adjusted { by, .. } => outcome.adjustments[process.index()].push(*by),
            Event::Shows { time } => {
                outcome.clock_offsets[process.index()] = Some(time - at.cast_signed());
            }
        }
    }
    let shown = || outcome.clock_offsets.iter().flatten();
    let ends = shown().min().zip(shown().max());
    outcome.spread = ends.map_or(0, |(least, most)| most.abs_diff(*least));
    Ok(outcome)
}
