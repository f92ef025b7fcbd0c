//! `tenure compare`: all algorithms of a service on the same workload.

mod faults;
mod plot;
mod sweep;
mod table;

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde::Serialize;
use serde_json::Value;
use tenure_algorithms::catalogue::{Parameters, compositions};
use tenure_core::Service;
use tenure_lessons::nearest;

use super::failure::{Failure, Status};
use super::group::Ids;
use super::interrupt;
use super::machine::guard_memory;
use super::output::{Format, no_effect, print, print_json};
use super::program;
use super::simulate::experiment::{Interrupt, Outcome};
use super::simulate::options::RunOptions;
use super::simulate::plan::Plan;
use super::simulate::status;
use table::Row;

/// How many seeds, when nobody says.
const RUNS: u64 = 30;

/// What can be drawn.
const ENDINGS: [&str; 2] = ["svg", "html"];

const EXAMPLES: &str = "\
Examples:
  tenure compare mutex -n 9 --entries 5
  tenure compare election -n 16 --plot elections.svg
  tenure compare agreement --faults --only paxos,chandra-toueg";

/// Compare all algorithms of a service on the same workload: messages, delays, verdicts
///
/// Every algorithm gets the same seeds and the same environment; one whose card asks for more is
/// refused, and the table says why. Beside each figure stands what the card or the books say.
/// There are 30 runs of each unless --runs says otherwise, and rings are drawn at random.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Which service
    #[arg(value_enum)]
    service: Kind,
    #[command(flatten)]
    run: RunOptions,
    /// Draw messages and delays against the number of processes, a row for each family: as SVG, or
    /// as a page that tells of what is pointed at
    #[arg(long, value_name = "FILE.svg|FILE.html")]
    plot: Option<PathBuf>,
    /// Instead: what one fault does to each algorithm, by checking every schedule of small groups;
    /// exit status 1 where a card says that it survives the fault
    #[arg(long, conflicts_with = "plot")]
    faults: bool,
    /// Only these rows
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', num_args = 1..)]
    only: Vec<String>,
    /// How to print the table
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// What can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// Mutual exclusion
    Mutex,
    /// Leader election
    Election,
    /// Consensus, broadcasts, snapshots, barriers, termination, membership, names
    Agreement,
}

/// The result as JSON.
#[derive(Serialize)]
struct Data {
    service: &'static str,
    n: u32,
    seed: u64,
    runs: u64,
    algorithms: Vec<Row>,
}

/// Makes the table, and the picture where one is wanted.
pub(crate) fn run(options: &Options) -> Result<Status, Failure> {
    if options.faults {
        let matrix = faults::matrix(options.service, &rows(options)?)?;
        match options.format {
            Format::Text => print(&matrix.table())?,
            Format::Json => print_json(&matrix)?,
        }
        return Ok(matrix.status);
    }
    let is_drawn = |path: &Path| ENDINGS.iter().any(|end| path.extension() == Some(end.as_ref()));
    if let Some(path) = options.plot.as_deref().filter(|path| !is_drawn(path)) {
        let path = path.display();
        return Err(Failure::usage(format!(
            "--plot {path}: what is drawn is SVG or a page; write a name that ends in .svg or .html"
        )));
    }
    for option in idle(options)? {
        no_effect(option, "any of them");
    }
    let (table, status) = compared(options)?;
    match options.format {
        Format::Text => {
            let Data { n, seed, runs, algorithms, .. } = &table;
            print(&table::table(options.service, *n, *runs, *seed, algorithms))?;
        }
        Format::Json => print_json(&table)?,
    }
    Ok(status)
}

/// The options that were given and make no difference to any algorithm.
fn idle(options: &Options) -> Result<Vec<&'static str>, Failure> {
    let rows = rows(options)?;
    let card = |name: &&str| tenure_instances::card(name, &Parameters::plain(3));
    let services: Result<Vec<Service>, _> =
        rows.iter().map(|name| card(name).map(|card| card.service)).collect();
    let services = services.map_err(Failure::usage)?;
    let mut idle =
        rows.iter().zip(services).map(|(name, service)| options.run.group.idle(name, service));
    let first = idle.next().unwrap_or_default();
    Ok(idle.fold(first, |all, some| all.into_iter().filter(|it| some.contains(it)).collect()))
}

/// What is printed as JSON.
pub(crate) fn data(options: &Options) -> Result<Value, Failure> {
    let data = if options.faults {
        serde_json::to_value(faults::matrix(options.service, &rows(options)?)?)
    } else {
        serde_json::to_value(compared(options)?.0)
    };
    data.map_err(Failure::environment)
}

/// Measures every algorithm.
fn compared(options: &Options) -> Result<(Data, Status), Failure> {
    let mut options = options.clone();
    let runs = options.run.runs(RUNS)?;
    let group = &mut options.run.group;
    if !group.variant.is_empty() {
        let says = "--variant belongs to one algorithm; try it with `tenure simulate`";
        return Err(Failure::usage(says));
    }
    if options.plot.is_some()
        && (matches!(group.ids, Some(Ids::Listed(_))) || group.loads.is_some())
    {
        let says =
            "--plot draws groups of many sizes, which one list cannot rank; try --ids random";
        return Err(Failure::usage(says));
    }
    if group.ids.is_none() && group.loads.is_none() {
        group.ids = Some(Ids::Random);
    }
    guard_memory();
    let interrupt = Interrupt::watch();
    let mut algorithms = Vec::new();
    let mut worst = Status::Held;
    let rows = rows(&options)?;
    for name in rows.iter().copied() {
        let (row, status) = measure(name, &options.run, runs, &interrupt)?;
        algorithms.push(row);
        worst = worst.and(status);
    }
    if algorithms.iter().all(Row::is_refused) {
        interrupt::check("before the first row was known")?;
        let first = algorithms.first().and_then(|row| row.refused.clone()).unwrap_or_default();
        return Err(Failure::usage(first));
    }
    if let Some(path) = &options.plot {
        match sweep::sweep(options.service, &rows, &options.run, runs, &interrupt) {
            Err(failure) if failure.status == Status::Incomplete => {
                eprintln!("{}: {failure}", program::name());
                worst = worst.and(Status::Incomplete);
            }
            pictures => {
                let is_page = path.extension() == Some("html".as_ref());
                let draw = if is_page { plot::to_html } else { plot::to_svg };
                std::fs::write(path, draw(&pictures?)).map_err(|error| {
                    Failure::environment(format!("cannot write {}: {error}", path.display()))
                })?;
            }
        }
    }
    let (n, seed) = (options.run.group.size()?, options.run.seed);
    Ok((Data { service: options.service.name(), n, seed, runs, algorithms }, worst))
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Kind::Mutex => "mutex",
            Kind::Election => "election",
            Kind::Agreement => "agreement",
        }
    }
}

/// The rows that are wanted, in the order of the table.
fn rows(options: &Options) -> Result<Vec<&'static str>, Failure> {
    let mut all: Vec<&'static str> = names(options.service).collect();
    // Compositions are rows where they are asked for.
    let service = Some(options.service);
    let others = compositions().filter(|name| kind(name) == service && !all.contains(name));
    let asked = others.filter(|name| options.only.iter().any(|it| it == name));
    all.extend(asked.collect::<Vec<_>>());
    if let Some(strange) = options.only.iter().find(|name| !all.contains(&name.as_str())) {
        let nearest = nearest(strange, all.iter().copied()).join(", ");
        let says = format!("--only {strange} is no row of this table; nearest are {nearest}");
        return Err(Failure::usage(says));
    }
    let is_wanted =
        |name: &&str| options.only.is_empty() || options.only.iter().any(|it| it == name);
    Ok(all.into_iter().filter(is_wanted).collect())
}

/// The service that a name offers; nothing if there is no such name.
fn kind(name: &str) -> Option<Kind> {
    let service = tenure_instances::card(name, &Parameters::plain(3)).ok()?.service;
    Some(match service {
        Service::Mutex | Service::Office => Kind::Mutex,
        Service::Election => Kind::Election,
        _ => Kind::Agreement,
    })
}

/// The locks under a leader: that which nodes run by default, and the textbook's.
const UNDER_A_LEADER: [&str; 2] = ["coordinated:raft", "coordinated:bully"];

/// All algorithms of a service, and the locks under a leader.
fn names(kind: Kind) -> impl Iterator<Item = &'static str> {
    let names: Box<dyn Iterator<Item = &'static str>> = match kind {
        Kind::Mutex => Box::new(tenure_instances::locks().chain(UNDER_A_LEADER)),
        Kind::Election => Box::new(tenure_instances::elections()),
        Kind::Agreement => Box::new(tenure_instances::agreements()),
    };
    names
}

/// One line of the table. What the algorithm refuses is a line, too.
fn measure(
    name: &'static str,
    options: &RunOptions,
    runs: u64,
    interrupt: &Interrupt,
) -> Result<(Row, Status), Failure> {
    if interrupt.is_raised() {
        return Ok((Row::refused(name, "interrupted"), Status::Incomplete));
    }
    let performed = Plan::new(name, options, &[])
        .and_then(|plan| perform(&plan, options, runs, interrupt).map(|outcome| (plan, outcome)));
    match performed {
        Ok((plan, outcome)) => Ok((Row::new(name, &plan, &outcome), status(&outcome))),
        Err(failure) if failure.status == Status::Usage => {
            Ok((Row::refused(name, &failure.to_string()), Status::Held))
        }
        Err(failure) => Err(failure),
    }
}

fn perform(
    plan: &Plan,
    options: &RunOptions,
    runs: u64,
    interrupt: &Interrupt,
) -> Result<Outcome, Failure> {
    plan.perform(runs, options.threads, None, interrupt)
}
