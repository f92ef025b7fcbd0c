//! Performs runs on several threads, and aggregates their results in the order of their seeds.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use tenure_core::Property;
use tenure_sim::{
    CandidateResult, EndReason, Finding, Judgement, Moments, RunControls, RunReport, RunStatistics,
    Settings, inexpressible_settings, run_parallel, shrink,
};

use super::plan::{SimulationPlan, TraceFile};
use super::theory::{self, CostDeviation};
use crate::cmd::failure::Failure;
use crate::cmd::interrupt;
use crate::cmd::progress_bar::{ProgressBar, progress_line};

pub(crate) struct SimulationOutcome {
    /// Report of the run with the first seed.
    pub(crate) first: RunReport,
    pub(crate) summary: RunStatistics,
    /// Messages that the algorithm itself sends, without the messages of lower layers. An election
    /// contributes its number of messages. A run of any other algorithm contributes its mean number
    /// of messages per critical-section entry or agreement.
    pub(crate) messages: Moments,
    /// Number of runs with at least one entry, election or agreement.
    pub(crate) measured_runs: u64,
    /// Result of comparing numbers of messages with the bounds on the algorithm's
    /// [`Card`](tenure_core::Card). For elections, it is the worst result of all elections. For any
    /// other algorithm, it is the result for the mean of `messages`.
    pub(crate) cost_deviation: CostDeviation,
    /// Messages as in the field `messages`, and in addition the messages of lower layers.
    pub(crate) total_messages: Moments,
    /// Numbers of messages that theory predicts exactly for runs with random ranks. The prediction
    /// for a run depends on the order of the ranks in the ring of that run. `None` if theory gives
    /// no exact number for some run, or the same number for all runs.
    pub(crate) predicted: Option<Moments>,
    /// For each kind of fault, the numbers of injected and of observed faults in all runs.
    pub(crate) faults: BTreeMap<&'static str, (u64, u64)>,
    /// Warnings that occurred in every run.
    pub(crate) warnings: Vec<String>,
    /// Violations of the properties that the algorithm promises or the user requests.
    pub(crate) violations: Vec<ReplayableViolation>,
    /// True if a required property remained undecided. A property is required if the algorithm
    /// promises the property or the user requests it.
    pub(crate) incomplete: bool,
    /// True if fewer runs were performed than requested, or if the first run was stopped early.
    pub(crate) interrupted: bool,
}

pub(crate) struct ReplayableViolation {
    pub(crate) finding: Finding,
    /// Number of runs that violate the property.
    pub(crate) runs: u64,
    /// Seed of the first run that violates the property.
    pub(crate) seed: u64,
    /// Command that replays the run of `seed`.
    pub(crate) replay: String,
    /// Command that replays a smaller run with the same violation; `None` if none was found.
    pub(crate) shrunk: Option<String>,
}

const MAX_SHRINK_ATTEMPTS: usize = 400;

/// Total number of events after which no further smaller run is attempted.
const MAX_SHRINK_EVENTS: u64 = 4_000_000;

impl SimulationPlan {
    /// Performs `runs` runs with consecutive seeds, or fewer after an interrupt. If `trace` is
    /// given, writes a trace of the first run. Returns the failure of the first run that fails.
    pub(crate) fn perform_runs(
        &self,
        runs: u64,
        threads: usize,
        trace: Option<TraceFile<'_>>,
    ) -> Result<SimulationOutcome, Failure> {
        let bar = progress(runs, &self.card.name);
        let stop = interrupt::flag();
        let first = self.common_settings().seed;
        let run = |number: usize| {
            let settings = self.settings_for_seed(first.wrapping_add(number as u64));
            let predicted = theory::exact_messages_of_drawn_ring(self, &settings);
            let watched = bar.clone();
            let controls = RunControls::new().stopped_by(&stop).reporting(move |progress| {
                if runs == 1 {
                    let events = progress.events;
                    watched.set_message(format!("{events} events, {} entries", progress.entered));
                }
            });
            let trace = trace.filter(|_| number == 0);
            self.simulate_run(settings, trace, controls).map(|report| (report, predicted))
        };
        let mut tally = Tally::default();
        let jobs = usize::try_from(runs).unwrap_or(usize::MAX);
        run_parallel(jobs, threads, run, |ran| {
            bar.inc(1);
            tally.add(self, ran).is_continue()
        });
        bar.finish_and_clear();
        tally.outcome(self, runs)
    }
}

#[derive(Default)]
struct Tally {
    first: Option<RunReport>,
    failure: Option<Failure>,
    summary: RunStatistics,
    messages: Moments,
    measured: u64,
    outside: CostDeviation,
    all: Moments,
    predicted: Moments,
    faults: BTreeMap<&'static str, (u64, u64)>,
    warnings: BTreeMap<String, u64>,
    /// For each violated property: the first violation, the seed of the run with this violation,
    /// and the number of runs that violate the property.
    violations: BTreeMap<Property, (Finding, u64, u64)>,
    incomplete: bool,
}

impl Tally {
    fn add(
        &mut self,
        plan: &SimulationPlan,
        ran: Result<(RunReport, Option<u64>), Failure>,
    ) -> ControlFlow<()> {
        let (report, predicted) = match ran {
            Ok(ran) => ran,
            Err(failure) => {
                self.failure = Some(failure);
                return ControlFlow::Break(());
            }
        };
        let stopped = report.ended == EndReason::Stopped;
        if stopped && self.first.is_some() {
            return ControlFlow::Break(());
        }
        self.summary.add(&report);
        let measured = theory::measured_messages(plan, &report);
        self.measured += u64::from(!measured.is_empty());
        for measured in measured {
            self.messages.add(measured.own);
            self.all.add(measured.all);
        }
        let elections = &report.metrics.elections;
        let outside = CostDeviation::of_elections(&plan.card.messages, elections);
        self.outside = self.outside.max(outside);
        if let Some(predicted) = predicted {
            self.predicted.add(predicted as f64);
        }
        for count in &report.faults {
            let (injected, observed) = self.faults.entry(count.fault).or_default();
            *injected += count.injected;
            *observed += count.observed;
        }
        for warning in &report.warnings {
            *self.warnings.entry(warning.clone()).or_default() += 1;
        }
        self.judge(plan, &report);
        self.first.get_or_insert(report);
        if stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn judge(&mut self, plan: &SimulationPlan, report: &RunReport) {
        for finding in report.findings.iter().filter(|finding| plan.is_required(finding.property)) {
            match finding.judgement {
                Judgement::Holds => {}
                Judgement::Incomplete => self.incomplete = true,
                Judgement::Violated => {
                    let fresh = || (finding.clone(), report.seed, 0);
                    self.violations.entry(finding.property).or_insert_with(fresh).2 += 1;
                }
            }
        }
    }

    fn outcome(self, plan: &SimulationPlan, runs: u64) -> Result<SimulationOutcome, Failure> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        let Some(first) = self.first else {
            return Err(Failure::incomplete("interrupted before the first run was complete"));
        };
        let made = self.summary.runs();
        let always = self.warnings.into_iter().filter(|(_, times)| *times == made);
        let violations =
            self.violations.into_values().map(|(finding, seed, runs)| ReplayableViolation {
                replay: plan.replay_command(&plan.settings_for_seed(seed)),
                shrunk: plan.shrunk(seed, finding.property),
                finding,
                runs,
                seed,
            });
        Ok(SimulationOutcome {
            violations: violations.collect(),
            interrupted: made < runs || first.ended == EndReason::Stopped,
            predicted: (self.predicted.count() == made).then_some(self.predicted),
            warnings: always.map(|(warning, _)| warning).collect(),
            incomplete: self.incomplete,
            cost_deviation: theory::cost_deviation(plan, self.outside, &self.messages),
            messages: self.messages,
            measured_runs: self.measured,
            total_messages: self.all,
            summary: self.summary,
            faults: self.faults,
            first,
        })
    }
}

impl SimulationPlan {
    /// Searches for a smaller run that violates the same property as the run of `seed`. If the
    /// search finds such a run, returns the command that replays the smaller run.
    fn shrunk(&self, seed: u64, property: Property) -> Option<String> {
        // Does not search in two cases. With `--steer`, the step numbers would denote other steps
        // in a smaller run. With `--eventually`, even a run in which nothing happens is a
        // violation.
        if !self.intervention_plan.is_empty() || property.name().starts_with("eventually ") {
            return None;
        }
        let mut events = 0;
        let stop = interrupt::flag();
        let settings = self.settings_for_seed(seed);
        let found = shrink(&settings, MAX_SHRINK_ATTEMPTS, |candidate| {
            if events > MAX_SHRINK_EVENTS || interrupt::is_interrupted() {
                return CandidateResult::Stopped;
            }
            if !self.can_replay(candidate) {
                return CandidateResult::CannotRun;
            }
            let controls = RunControls::new().stopped_by(&stop);
            // Settings that do not meet the assumptions of the algorithm are not run.
            let Ok(report) = self.simulate_run(candidate.clone(), None, controls) else {
                return CandidateResult::CannotRun;
            };
            events += report.metrics.events;
            match report.judgement_of(property.name()) {
                Some(Judgement::Violated) => CandidateResult::Fails(Box::new(report)),
                _ => CandidateResult::Passes,
            }
        })?;
        (found.settings != settings).then(|| self.replay_command(&found.settings))
    }

    fn can_replay(&self, settings: &Settings) -> bool {
        let initiators = match &settings.workload.initiators {
            Some(tenure_sim::Initiators::Listed(listed)) => !listed.is_empty(),
            _ => true,
        };
        let any_process_is_up = (settings.down.len() as u64) < u64::from(settings.size);
        initiators
            && any_process_is_up
            && self.parameters.coordinator.0 < settings.size
            && inexpressible_settings(settings).is_empty()
    }
}

fn progress(runs: u64, name: &str) -> ProgressBar {
    let bar = match runs {
        1 => progress_line(None, "{elapsed:>4} {spinner} {msg}"),
        _ => progress_line(Some(runs), "{elapsed:>4} {bar:30} {pos} of {len} runs, {msg}"),
    };
    bar.set_message(name.to_owned());
    bar
}
