//! `tenure compare`: measures all algorithms of a service with the same workload.

mod faults;
mod plot;
mod plot_by_group_size;
mod table;

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde::Serialize;
use serde_json::Value;
use tenure_algorithms::catalogue::{Parameters, composition_names};
use tenure_core::{Card, Service};
use tenure_trace::files;

use super::capture::print_stderr_line;
use super::failure::{Failure, Status};
use super::group::IdsOption;
use super::interrupt;
use super::machine::stop_at_memory_limit;
use super::output::{print, print_json, warn_no_effect};
use super::program;
use super::simulate::options::RunOptions;
use super::simulate::plan::{SimulationPlan, split_variants};
use super::simulate::status;
use super::sweep::{self as measurements, MeasureFormat, SweepOptions};
use crate::nearest::nearest;
use table::ComparisonRow;

const DEFAULT_RUNS: u64 = 30;

const PLOT_EXTENSIONS: [&str; 2] = ["svg", "html"];

const EXAMPLES: &str = "\
Examples:
  tenure compare mutex -n 9 --entries 5
  tenure compare election -n 16 --plot elections.svg
  tenure compare mutex --only central,lamport --sweep n=3..20 --plot locks.svg
  tenure compare agreement --faults --only paxos,chandra-toueg";

/// Compare all algorithms of a service with the same workload: messages, delays, verdicts
///
/// Every algorithm runs with the same seeds and in the same environment. An algorithm that needs
/// stronger assumptions than this environment meets is skipped, and the table says why. Each
/// measured figure stands beside the theoretical one. Each algorithm has 30 runs unless --runs is
/// given, and rings are drawn at random.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Service to compare
    #[arg(value_enum)]
    service: ComparedService,
    #[command(flatten)]
    run: RunOptions,
    /// Plot messages and delays against the number of processes, one row per family of algorithms,
    /// as .svg or as an interactive .html page; with --sweep, messages and times against the first
    /// parameter, with 95 % confidence intervals, as .svg, .png or .pdf
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Show the effect of one fault on each algorithm instead, by checking every schedule of small
    /// groups; exit status 1 if a card claims to tolerate a fault and does not. Options of runs
    /// have no effect
    #[arg(long, conflicts_with = "plot")]
    faults: bool,
    /// Only these algorithms; NAME+VARIANT is a variant of one
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', num_args = 1..)]
    only: Vec<String>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: MeasureFormat,
    #[command(flatten)]
    sweep: SweepOptions,
}

/// Services that can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
enum ComparedService {
    /// Mutual exclusion
    Mutex,
    /// Leader election
    Election,
    /// All other services, such as consensus, broadcasts, snapshots, barriers, membership and logs
    Agreement,
}

#[derive(Serialize)]
struct Data {
    service: ComparedService,
    n: u32,
    seed: u64,
    runs: u64,
    algorithms: Vec<ComparisonRow>,
}

pub(crate) fn run(options: &Options) -> Result<Status, Failure> {
    let is_sweep = options.sweep.is_sweep_requested(options.format);
    if options.faults {
        if is_sweep {
            let message = "--faults has no measurements: leave out --sweep, --shard and --raw, and \
                           use --format text or json";
            return Err(Failure::usage(message));
        }
        let matrix = faults::check_fault_matrix(options.service, &plain_rows(options)?)?;
        match options.format {
            MeasureFormat::Json => print_json(&matrix)?,
            _ => print(&matrix.table())?,
        }
        return Ok(matrix.status);
    }
    if is_sweep {
        return run_sweep(options);
    }
    let is_drawn =
        |path: &Path| PLOT_EXTENSIONS.iter().any(|end| path.extension() == Some(end.as_ref()));
    if let Some(path) = options.plot.as_deref().filter(|path| !is_drawn(path)) {
        let path = path.display();
        return Err(Failure::usage(format!(
            "invalid value '{path}' for --plot: expected a file name that ends in .svg or .html"
        )));
    }
    for option in unused_options(options)? {
        warn_no_effect(option, "these algorithms");
    }
    let (table, mut status) = measure_all(options)?;
    match options.format {
        MeasureFormat::Json => print_json(&table)?,
        _ => {
            let Data { n, seed, runs, algorithms, .. } = &table;
            print(&table::comparison_table(options.service, *n, *runs, *seed, algorithms))?;
        }
    }
    if let Some(path) = &options.plot {
        status = status.worse(write_plot(options, path)?);
    }
    Ok(status)
}

/// Measures groups of several sizes, plots their messages and delays, and writes the plot to a
/// file. If the command is interrupted, writes no file, prints the reason, and returns
/// [`Status::Incomplete`].
fn write_plot(options: &Options, path: &Path) -> Result<Status, Failure> {
    let mut run = options.run.clone();
    set_default_ids(&mut run)?;
    let runs = run.runs_or(DEFAULT_RUNS);
    match plot_by_group_size::plot_over_group_sizes(options.service, &rows(options)?, &run, runs) {
        Err(failure) if failure.status == Status::Incomplete => {
            print_stderr_line(&format!("{}: {failure}", program::name()));
            Ok(Status::Incomplete)
        }
        pictures => {
            let is_page = path.extension() == Some("html".as_ref());
            let draw = if is_page { plot::to_html } else { plot::to_svg };
            files::write(path, draw(&pictures?).as_bytes()).map_err(Failure::cannot_write(path))?;
            Ok(Status::Success)
        }
    }
}

fn run_sweep(options: &Options) -> Result<Status, Failure> {
    for option in unused_options(options)? {
        warn_no_effect(option, "these algorithms");
    }
    let mut run = options.run.clone();
    set_default_ids(&mut run)?;
    measurements::run(&measurements::SweepRequest {
        algorithms: &rows(options)?,
        run: &run,
        sweep: &options.sweep,
        plot: options.plot.as_deref(),
        format: options.format,
        build: &|algorithm, run| SimulationPlan::new(algorithm, run, &[]),
    })
}

/// Makes each run draw the ranks of its processes at random, unless the user gives ranks or loads.
/// Returns a usage failure if `--variant` is given, because a variant belongs to a single
/// algorithm.
fn set_default_ids(run: &mut RunOptions) -> Result<(), Failure> {
    let group = &mut run.group;
    if !group.variant.is_empty() {
        let message = "--variant applies to a single algorithm: use `tenure simulate`, or name the \
                       variant in --only NAME+VARIANT";
        return Err(Failure::usage(message));
    }
    if group.ids.is_none() && group.loads.is_none() {
        group.ids = Some(IdsOption::Random);
    }
    Ok(())
}

/// Returns the given options that have no effect on any of the selected algorithms.
fn unused_options(options: &Options) -> Result<Vec<&'static str>, Failure> {
    let mut unused = Vec::new();
    for row in rows(options)? {
        let card = row_card(&row)?;
        unused.push(options.run.unused_options(&card));
    }
    let mut unused = unused.into_iter();
    let first = unused.next().unwrap_or_default();
    Ok(unused.fold(first, |all, some| all.into_iter().filter(|it| some.contains(it)).collect()))
}

/// Returns the card of an algorithm, or of a variant such as `NAME+VARIANT`, in a group of three
/// processes.
fn row_card(row: &str) -> Result<Card, Failure> {
    let (name, variants) = split_variants(row);
    let variants = variants.map(str::to_owned).collect();
    let parameters = Parameters { variants, ..Parameters::with_defaults(3) };
    tenure_instances::card(name, &parameters).map_err(Failure::usage)
}

pub(crate) fn run_to_json(options: &Options) -> Result<Value, Failure> {
    let data = if options.faults {
        serde_json::to_value(faults::check_fault_matrix(options.service, &plain_rows(options)?)?)
    } else if options.sweep.is_sweep_requested(options.format) {
        return Err(Failure::usage("a sweep is supported by the command only: leave it out"));
    } else {
        serde_json::to_value(measure_all(options)?.0)
    };
    data.map_err(Failure::environment)
}

fn measure_all(options: &Options) -> Result<(Data, Status), Failure> {
    let mut options = options.clone();
    let runs = options.run.runs_or(DEFAULT_RUNS);
    options.run.check_seeds(runs)?;
    let group = &options.run.group;
    if options.plot.is_some()
        && (matches!(group.ids, Some(IdsOption::Listed(_))) || group.loads.is_some())
    {
        let message = "--plot needs groups of different sizes, which one list of ranks does not \
                       fit: use --ids random";
        return Err(Failure::usage(message));
    }
    set_default_ids(&mut options.run)?;
    stop_at_memory_limit();
    let mut algorithms = Vec::new();
    let mut worst = Status::Success;
    let rows = rows(&options)?;
    for name in &rows {
        let (row, status) = measure(name, &options.run, runs)?;
        algorithms.push(row);
        worst = worst.worse(status);
    }
    if algorithms.iter().all(ComparisonRow::is_not_run) {
        interrupt::fail_if_interrupted("before the first row was known")?;
        let first = algorithms.first().and_then(|row| row.refused.clone()).unwrap_or_default();
        return Err(Failure::usage(first));
    }
    let (n, seed) = (options.run.group.size()?, options.run.seed);
    Ok((Data { service: options.service, n, seed, runs, algorithms }, worst))
}

/// Returns the selected algorithms in the order of the table, each followed by its selected
/// variants. Returns a usage failure if an algorithm or a variant is unknown.
fn rows(options: &Options) -> Result<Vec<String>, Failure> {
    let plain = plain_names(options)?;
    let is_wanted =
        |name: &&str| options.only.is_empty() || options.only.iter().any(|it| it == name);
    let rows = plain.iter().flat_map(|name| {
        let variants = options
            .only
            .iter()
            .filter(move |it| it.split_once('+').is_some_and(|(plain, _)| plain == *name));
        Some(*name).filter(is_wanted).into_iter().chain(variants.map(String::as_str))
    });
    let rows: Vec<String> = rows.map(str::to_owned).collect();
    for row in rows.iter().filter(|row| row.contains('+')) {
        row_card(row)?;
    }
    Ok(rows)
}

/// Returns the selected algorithms for the table of faults. Returns a usage failure if a variant is
/// selected, because this table has no variants.
fn plain_rows(options: &Options) -> Result<Vec<&'static str>, Failure> {
    if let Some(variant) = options.only.iter().find(|name| name.contains('+')) {
        let message = format!("--faults checks no variants: replace '{variant}' by its algorithm");
        return Err(Failure::usage(message));
    }
    plain_names(options)
}

/// Returns the names of the selected algorithms. If the user selects a variant, the result contains
/// the name of its algorithm.
fn plain_names(options: &Options) -> Result<Vec<&'static str>, Failure> {
    let only: Vec<&str> = options.only.iter().map(|name| split_variants(name).0).collect();
    let mut all: Vec<&'static str> = algorithms_of(options.service).collect();
    // Other compositions of algorithms, such as `fifo:bully`, are included only if the user selects
    // them.
    let service = Some(options.service);
    let others =
        composition_names().filter(|name| service_of(name) == service && !all.contains(name));
    let selected = others.filter(|name| only.contains(name));
    all.extend(selected.collect::<Vec<_>>());
    if let Some(unknown) = only.iter().find(|name| !all.contains(*name)) {
        let nearest = nearest(unknown, all.iter().copied()).join(", ");
        let message = format!("unknown algorithm '{unknown}' for --only: nearest are {nearest}");
        return Err(Failure::usage(message));
    }
    Ok(all.into_iter().filter(|name| only.is_empty() || only.contains(name)).collect())
}

/// Returns the service of an algorithm; `None` if there is no such algorithm.
fn service_of(name: &str) -> Option<ComparedService> {
    let service = tenure_instances::card(name, &Parameters::with_defaults(3)).ok()?.service;
    Some(match service {
        Service::Mutex | Service::MutexAndElection => ComparedService::Mutex,
        Service::Election => ComparedService::Election,
        _ => ComparedService::Agreement,
    })
}

/// Locks with an elected leader that the comparison includes. The first is the default lock of
/// nodes. The second uses the election algorithm that most textbooks describe.
const LOCKS_WITH_LEADER: [&str; 2] = ["coordinated:raft", "coordinated:bully"];

/// Returns the names of the algorithms of a service that a comparison includes by default. For
/// locks, these include [`LOCKS_WITH_LEADER`].
fn algorithms_of(kind: ComparedService) -> impl Iterator<Item = &'static str> {
    let names: Box<dyn Iterator<Item = &'static str>> = match kind {
        ComparedService::Mutex => Box::new(tenure_instances::lock_names().chain(LOCKS_WITH_LEADER)),
        ComparedService::Election => Box::new(tenure_instances::election_names()),
        ComparedService::Agreement => Box::new(tenure_instances::agreement_names()),
    };
    names
}

/// Measures one algorithm in `runs` runs. If the algorithm rejects the options, or if the command
/// was interrupted before, the returned row has the reason instead of figures.
fn measure(
    name: &str,
    options: &RunOptions,
    runs: u64,
) -> Result<(ComparisonRow, Status), Failure> {
    if interrupt::is_interrupted() {
        return Ok((ComparisonRow::not_run(name, "interrupted"), Status::Incomplete));
    }
    let performed = SimulationPlan::new(name, options, &[]).and_then(|plan| {
        let outcome = plan.perform_runs(runs, options.threads(), None)?;
        Ok((ComparisonRow::new(name, &plan, &outcome), status(&outcome)))
    });
    match performed {
        Err(failure) if failure.status == Status::Usage => {
            Ok((ComparisonRow::not_run(name, &failure.to_string()), Status::Success))
        }
        performed => performed,
    }
}
