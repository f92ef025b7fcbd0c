//! Performs the runs of a sweep on several threads.

use std::ops::Range;

use tenure_sim::{EndReason, RunControls, run_parallel};

use super::experiment::SweepPlan;
use super::figure::MeasuredQuantity;
use super::raw::RawCsvFile;
use super::results::{PointResults, SweepResults};
use super::shard::Shard;
use crate::cmd::failure::Failure;
use crate::cmd::interrupt;
use crate::cmd::progress_bar::progress_line;
use crate::cmd::simulate::plan::SimulationPlan;

const RUNS_PER_JOB: u64 = 16;

/// Seed of a run, and the measured figures of this run. Each figure is in millionths of its unit.
pub(super) type RunMeasurements = (u64, Vec<(MeasuredQuantity, u64)>);

struct JobResult {
    point: usize,
    cell: PointResults,
    /// Measurements of the single runs; empty unless `--raw` is given.
    raw: Vec<RunMeasurements>,
    interrupted: bool,
}

impl SweepPlan {
    /// Performs the runs that belong to `shard`, which is a part of the runs of each point. If
    /// `raw` is given, writes the figures of each run to this file.
    ///
    /// # Errors
    ///
    /// If a run cannot be performed or the file cannot be written, returns the first failure. If
    /// the user interrupts the command, returns a failure with the status incomplete. In both
    /// cases, the file has the figures of some runs only.
    pub(super) fn perform(
        self,
        shard: Shard,
        threads: usize,
        raw: Option<RawCsvFile>,
    ) -> Result<SweepResults, Failure> {
        let runs = shard.runs(self.header.runs);
        let plans = self.plans.iter().enumerate();
        let active: Vec<(usize, &SimulationPlan)> =
            plans.filter_map(|(point, plan)| Some((point, plan.as_ref()?))).collect();
        let jobs_per_point = (runs.end - runs.start).div_ceil(RUNS_PER_JOB);
        let jobs = (active.len() as u64).saturating_mul(jobs_per_point);
        let bar = progress_line(
            Some((active.len() as u64).saturating_mul(runs.end - runs.start)),
            "{elapsed:>4} {bar:30} {pos} of {len} runs, {eta} left",
        );
        let is_raw = raw.is_some();
        let seed = self.header.seed;
        let job = |number: usize| {
            let (place, job) = (number as u64 / jobs_per_point, number as u64 % jobs_per_point);
            let (point, plan) = active[usize::try_from(place).unwrap_or(usize::MAX)];
            let first = runs.start + job * RUNS_PER_JOB;
            let numbers = first..runs.end.min(first + RUNS_PER_JOB);
            perform_job(point, plan, seed, numbers, is_raw)
        };
        let mut cells = vec![PointResults::default(); self.plans.len()];
        let (mut failure, mut raw, mut interrupted) = (None, raw, false);
        let mut add = |result: JobResult| {
            interrupted |= result.interrupted;
            cells[result.point].merge(&result.cell);
            bar.inc(result.cell.runs);
            match &mut raw {
                Some(raw) => raw.add(&self.header.points[result.point], &result.raw),
                None => Ok(()),
            }
        };
        run_parallel(usize::try_from(jobs).unwrap_or(usize::MAX), threads, job, |result| {
            failure = result.and_then(&mut add).err();
            failure.is_none() && !interrupt::is_interrupted()
        });
        bar.finish_and_clear();
        if let Some(failure) = failure {
            return Err(failure);
        }
        if interrupted || interrupt::is_interrupted() {
            return Err(Failure::incomplete("interrupted before all points were measured"));
        }
        if let Some(raw) = raw {
            raw.finish()?;
        }
        Ok(SweepResults { header: self.header, point_results: cells })
    }
}

fn perform_job(
    point: usize,
    plan: &SimulationPlan,
    seed: u64,
    numbers: Range<u64>,
    is_raw: bool,
) -> Result<JobResult, Failure> {
    let mut result =
        JobResult { point, cell: PointResults::default(), raw: Vec::new(), interrupted: false };
    // The configuration depends on the seed only if ranks are drawn.
    let fixed =
        (!plan.has_random_ids).then(|| plan.build_algorithm(plan.common_settings())).transpose()?;
    let stop = interrupt::flag();
    for number in numbers {
        let settings = plan.settings_for_seed(seed.wrapping_add(number));
        let controls = RunControls::new().stopped_by(&stop);
        let report = match &fixed {
            Some(algorithm) => plan.simulate_algorithm(&**algorithm, settings, None, controls)?,
            None => plan.simulate_run(settings, None, controls)?,
        };
        if report.ended == EndReason::Stopped {
            result.interrupted = true;
            break;
        }
        let figures = result.cell.add(plan, &report);
        if is_raw {
            result.raw.push((report.seed, figures));
        }
    }
    Ok(result)
}
