//! Clocks that are brought together by a leader.

use std::collections::BTreeMap;

use tenure_algorithms::application::{Berkeley, berkeley};
use tenure_core::service::clock::{Command, Event};
use tenure_core::service::led;
use tenure_core::{ProcessId, Term};
use tenure_sim::{Fault, RunError, Settings, Span, When};

use super::{ELECTION, first_wins, longest, run, simulation};

/// Clocks, and the network between them.
#[derive(Clone, Debug, PartialEq)]
pub struct Clocks {
    /// What each clock shows at the start, in ticks. The first process is the first leader.
    pub starts: Vec<i64>,
    /// How far apart two clocks that count may be, in ticks; `None`: all count.
    pub tolerance: Option<u64>,
    /// How long a message takes.
    pub latency: Span,
    /// How much faster or slower than real time a clock may run, in parts of a million.
    pub drift_ppm: u32,
    /// How long after the election the leader crashes, in ticks; `None`: never.
    pub crash: Option<u64>,
    /// What decides every draw.
    pub seed: u64,
}

impl Clocks {
    /// Clocks that run true and all count; a message takes one unit.
    pub fn starting_at(starts: impl Into<Vec<i64>>) -> Self {
        Clocks {
            starts: starts.into(),
            tolerance: None,
            latency: Span::units(1),
            drift_ppm: 0,
            crash: None,
            seed: 1,
        }
    }
}

/// What became of the clocks.
#[derive(Clone, Debug, PartialEq)]
pub struct Synchronised {
    /// By process: the adjustments of its clock, in order, in ticks.
    pub adjustments: Vec<Vec<i64>>,
    /// By process: what its clock shows in the end, less the time that has passed since the
    /// start; `None` where it has crashed.
    pub clocks: Vec<Option<i64>>,
    /// The furthest that two clocks are apart in the end, in ticks.
    pub spread: u64,
    /// Who led, one after the other.
    pub leaders: Vec<Term>,
    /// How many messages of each kind were sent.
    pub messages: BTreeMap<&'static str, u64>,
}

/// Sets the clocks, elects, and reads the clocks when all is over.
///
/// # Errors
///
/// [`RunError`] when the parameters make no sense.
///
/// ```
/// use tenure_instances::applications::berkeley::{Clocks, synchronise};
///
/// // 3:00 at the leader, 3:25 and 2:50, in minutes.
/// let met = synchronise(&Clocks::starting_at([180, 205, 170])).unwrap();
/// assert_eq!(met.adjustments, [[5], [-20], [15]]);
/// assert_eq!(met.clocks, [Some(185); 3]);
/// ```
pub fn synchronise(clocks: &Clocks) -> Result<Synchronised, RunError> {
    let size = u32::try_from(clocks.starts.len()).unwrap_or(u32::MAX);
    let mut settings = Settings::new(size);
    settings.network.latency = clocks.latency.into();
    settings.time.drift_ppm = clocks.drift_ppm;
    settings.seed = clocks.seed;
    let delay = longest(clocks.latency);
    let end = ELECTION + clocks.crash.unwrap_or(0) + 40 * delay * u64::from(size);
    settings.limits.until = Some(end);
    if let Some(after) = clocks.crash {
        let (process, when) = (ProcessId(0), When::At(ELECTION + after));
        settings.faults.push(Fault::Crash { process, when, recovery: None });
    }
    let config = berkeley::Config { tolerance: clocks.tolerance, every: None };
    let mut simulation = simulation::<Berkeley>(config, first_wins(size, delay), settings);
    for (place, to) in clocks.starts.iter().enumerate() {
        let process = ProcessId::at(place);
        let set = led::Command::Application(Command::Set { to: *to });
        let read = led::Command::Application(Command::Read);
        simulation = simulation.command(0, process, set).command(end, process, read);
    }
    let run = run(&simulation)?;
    let mut met = Synchronised {
        adjustments: vec![Vec::new(); clocks.starts.len()],
        clocks: vec![None; clocks.starts.len()],
        spread: 0,
        leaders: run.terms(),
        messages: run.messages(),
    };
    for (at, process, event) in run.told() {
        match event {
            Event::Adjusted { by, .. } => met.adjustments[process.index()].push(*by),
            Event::Shows { time } => {
                met.clocks[process.index()] = Some(time - at.cast_signed());
            }
        }
    }
    let shown = || met.clocks.iter().flatten();
    let ends = shown().min().zip(shown().max());
    met.spread = ends.map_or(0, |(least, most)| most.abs_diff(*least));
    Ok(met)
}
