//! Writes that survive their primary.

use std::collections::BTreeMap;

use tenure_algorithms::Variants;
use tenure_algorithms::application::PrimaryBackup;
use tenure_algorithms::application::primary_backup::{self, Switch};
use tenure_core::service::led;
use tenure_core::service::replication::{Command, Event};
use tenure_core::{Order, ProcessId, TICKS_PER_UNIT, Term};
use tenure_sim::{Fault, RunError, Settings, Span, When};

use super::{ELECTION, first_wins, longest, run, simulation};

/// Who writes how often, and what goes wrong.
#[derive(Clone, Debug, PartialEq)]
pub struct Writing {
    /// How many processes. The first is the first primary.
    pub size: u32,
    /// How often the user of each process tries to write: all but the primary refuse.
    pub writes: u32,
    /// How long one waits between two writes, in ticks.
    pub every: u64,
    /// How long a message takes.
    pub latency: Span,
    /// Who crashes, and at which tick.
    pub crashes: Vec<(ProcessId, u64)>,
    /// From which tick to which the first process is cut off from the others, who suspect it
    /// meanwhile, while it suspects nobody.
    pub isolation: Option<(u64, u64)>,
    /// Which variants of the algorithm are switched on.
    pub variants: Variants<Switch>,
    /// What decides every draw.
    pub seed: u64,
}

impl Writing {
    /// Everybody tries ten times, every 5 units; a message takes 1 to 3 units; nothing goes wrong.
    pub fn among(size: u32) -> Self {
        Writing {
            size,
            writes: 10,
            every: 5 * TICKS_PER_UNIT,
            latency: Span::between_units(1, 3),
            crashes: Vec::new(),
            isolation: None,
            variants: Variants::none(),
            seed: 1,
        }
    }
}

/// What became of the writes.
#[derive(Clone, Debug, PartialEq)]
pub struct Written {
    /// Who was told that a write will not be lost: in which term, at which place, and what.
    pub acknowledged: Vec<(ProcessId, Term, u64, u64)>,
    /// What each primary began with.
    pub served: Vec<(Term, Vec<u64>)>,
    /// How many attempts were refused.
    pub refused: u64,
    /// What each process has in the end, the crashed included.
    pub lists: Vec<Vec<u64>>,
    /// What was acknowledged, and is missing or in another place at the last primary.
    pub lost: Vec<u64>,
    /// How many messages of each kind were sent.
    pub messages: BTreeMap<&'static str, u64>,
}

/// Elects a primary, and has every user try to write.
///
/// # Errors
///
/// [`RunError`] when the parameters make no sense.
///
/// ```
/// use tenure_instances::applications::replication::{Writing, write};
///
/// let written = write(&Writing::among(3)).unwrap();
/// assert_eq!((written.acknowledged.len(), written.lost.len()), (10, 0));
/// // 2(N − 1) messages a write.
/// assert_eq!(written.messages["update"], 10 * 2);
/// ```
pub fn write(writing: &Writing) -> Result<Written, RunError> {
    let size = writing.size;
    let delay = longest(writing.latency);
    // The first change of primary is over by then.
    let begin = ELECTION + 20 * delay;
    let end = begin + u64::from(writing.writes) * writing.every + 40 * delay * u64::from(size);
    let settings = settings(writing, end);
    let config = primary_backup::Config { variants: writing.variants };
    let mut simulation = simulation::<PrimaryBackup>(config, first_wins(size, delay), settings);
    for attempt in 0..writing.writes {
        for process in (0..size).map(ProcessId) {
            let value = u64::from(process.number()) * 1000 + u64::from(attempt) + 1;
            let write = led::Command::Application(Command::Write { value });
            simulation =
                simulation.command(begin + u64::from(attempt) * writing.every, process, write);
        }
    }
    let run = run(&simulation)?;
    let lists = run.processes.iter().map(|process| process.application().writes().to_vec());
    let mut written = Written {
        acknowledged: Vec::new(),
        served: Vec::new(),
        refused: 0,
        lists: lists.collect(),
        lost: Vec::new(),
        messages: run.messages(),
    };
    for (_, process, event) in run.told() {
        match event {
            Event::Serving { term, writes } => written.served.push((*term, writes.clone())),
            Event::Acknowledged { term, place, value } => {
                written.acknowledged.push((process, *term, *place, *value));
            }
            Event::Refused { .. } => written.refused += 1,
        }
    }
    let last = written.served.iter().map(|(term, _)| *term).max();
    if let Some(list) = last.map(|term| &written.lists[term.leader.index()]) {
        let has = |place: u64, value: u64| list.get(place as usize - 1) == Some(&value);
        let acknowledged = written.acknowledged.iter();
        let lost = acknowledged.filter(|(.., place, value)| !has(*place, *value));
        written.lost = lost.map(|(.., value)| *value).collect();
    }
    Ok(written)
}

fn settings(writing: &Writing, end: u64) -> Settings {
    let mut settings = Settings::new(writing.size);
    settings.network.latency = writing.latency.into();
    settings.network.order = Some(Order::Fifo);
    settings.seed = writing.seed;
    settings.limits.until = Some(end);
    for (process, at) in &writing.crashes {
        let (process, when) = (*process, When::At(*at));
        settings.faults.push(Fault::Crash { process, when, recovery: None });
    }
    if let Some((from, until)) = writing.isolation {
        let (side, until) = (vec![ProcessId(0)], Some(until));
        settings.faults.push(Fault::Partition { side, from, until });
        let others = (1..writing.size).map(ProcessId);
        settings.faults.extend(others.map(|observer| {
            let peer = ProcessId(0);
            Fault::Suspicion { observer, peer, from, until }
        }));
    }
    settings
}
