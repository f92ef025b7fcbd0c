//! Sweeps: many runs at each of many points, with statistics, files and plots. A point is an
//! algorithm with a value for each parameter.

mod axis;
mod csv;
mod experiment;
mod figure;
mod json;
pub(crate) mod merge;
mod options;
mod part;
mod perform;
pub(crate) mod plot;
mod raw;
mod results;
mod shard;
mod statistics;
mod table;

use std::path::Path;

use experiment::{BuildPlan, Experiment};
use part::Part;
use raw::RawFile;
use results::Results;
use shard::Shard;

use super::failure::{Failure, Status};
use super::machine::watch_memory_use;
use super::output::{print, print_file};
use super::simulate::options::RunOptions;

pub(crate) use options::{MeasureFormat, SweepOptions};

const DEFAULT_RUNS: u64 = 30;

pub(crate) struct Request<'a> {
    /// Names of the algorithms, with variants after `+`.
    pub(crate) algorithms: &'a [String],
    pub(crate) run: &'a RunOptions,
    pub(crate) sweep: &'a SweepOptions,
    pub(crate) plot: Option<&'a Path>,
    pub(crate) format: MeasureFormat,
    pub(crate) build: BuildPlan<'a>,
}

/// Performs all runs of a sweep and prints the results. If the options select a shard, performs
/// only the runs of that shard, and prints its results for `tenure merge`.
pub(crate) fn run(request: &Request<'_>) -> Result<Status, Failure> {
    let Request { algorithms, run, sweep, plot, format, build } = *request;
    if let Some(path) = plot {
        plot::check_extension(path)?;
        if sweep.sweep.is_empty() {
            let message = "--plot of measurements needs --sweep, such as --sweep n=3..20";
            return Err(Failure::usage(message));
        }
    }
    let runs = run.runs(DEFAULT_RUNS);
    let experiment = Experiment::new(algorithms, run, &sweep.sweep, runs, build)?;
    watch_memory_use();
    let raw = sweep.raw.as_deref().map(|path| RawFile::create(path, &experiment.header));
    let shard = sweep.shard.unwrap_or(Shard::WHOLE);
    let results = experiment.perform(shard, run.threads(), raw.transpose()?)?;
    let status = results.status();
    match sweep.shard {
        Some(shard) => print_file(&Part { shard, results }.text()?)?,
        None => print_results(&results, format, plot)?,
    }
    Ok(status)
}

fn print_results(
    results: &Results,
    format: MeasureFormat,
    plot: Option<&Path>,
) -> Result<(), Failure> {
    match format {
        MeasureFormat::Text => print(&table::table(results))?,
        MeasureFormat::Json => print_file(&json::json(results)?)?,
        MeasureFormat::Csv => print_file(&csv::csv(results))?,
        MeasureFormat::Jsonl => print_file(&json::jsonl(results)?)?,
    }
    plot.map_or(Ok(()), |path| plot::write(results, path))
}
