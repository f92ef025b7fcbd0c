//! Execution of a check, from its configuration to the report.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use tenure_core::{ProcessId, Service};

use crate::check::{Check, CheckKind};
use crate::error::CheckError;
use crate::explain::description::RunDescription;
use crate::explain::findings::FinishedSearch;
use crate::explain::replay::path_to;
use crate::explain::schedule::ScheduleRunner;
use crate::explore::{Explored, Search, SearchEnd};
use crate::limits::Watchdog;
use crate::liveness::graph::Graph;
use crate::model::Model;
use crate::model::fingerprint::missed_state_probability;
use crate::model::processes::{ModelConfig, Processes};
use crate::report::{Bounds, BypassBound, Report};
use crate::users::crashes::Saving;
use crate::users::entries::Entries;
use crate::users::entries::EntryLimits;
use crate::users::user::{Checkable, Workload};
use crate::world::initial::initial_worlds;
use crate::world::network::Network;
use crate::world::rules::Rules;
use crate::world::{Fault, Layout, MAX_PROCESSES};
use tenure_core::Judgement;
use tenure_trace::ScriptRunner;

impl<P: Checkable> Check<P> {
    /// Runs the check.
    ///
    /// # Panics
    ///
    /// Panics if the configuration is invalid or a handler panics. [`Check::try_run`] returns an
    /// error instead.
    pub fn run(self) -> Report {
        self.try_run().unwrap_or_else(|refusal| panic!("{refusal}"))
    }

    /// Runs the check.
    ///
    /// # Errors
    ///
    /// Returns a [`CheckError`] if the configuration is invalid or a handler panics.
    pub fn try_run(mut self) -> Result<Report, CheckError> {
        let started = Instant::now();
        let (processes, rules) = self.assemble()?;
        let mut report = match self.reduced(&processes, &rules) {
            Some(report) => report,
            None => self.explored(&processes, rules)?,
        };
        report.seconds = started.elapsed().as_secs_f64();
        Ok(report)
    }

    /// Runs the check with the ample-set reduction. Returns `None` if the reduction does not apply,
    /// and after a violation, because there may be a shorter run without it.
    fn reduced(&mut self, processes: &Processes<P>, rules: &Arc<Rules>) -> Option<Report> {
        if !self.ample || !rules.allow_ample() || self.bypass_cap.is_some() {
            return None;
        }
        let started = Instant::now();
        let reduced = Arc::new(Rules { ample: true, ..Rules::clone(rules) });
        let report = self.explored(processes, reduced).ok()?;
        if let Some(max) = &mut self.limits.time {
            *max = max.saturating_sub(started.elapsed());
        }
        (report.reduced && report.counterexamples.is_empty()).then_some(report)
    }

    /// Searches under these rules and returns the report.
    fn explored(
        &mut self,
        processes: &Processes<P>,
        rules: Arc<Rules>,
    ) -> Result<Report, CheckError> {
        let first = initial_worlds(processes, &rules, &self.down);
        let rules = self.forced_steps(processes, rules, &first)?;
        self.stop = self.stop.reset();
        let analyses = self.analyses_liveness();
        let _watchdog = Watchdog::start(self.limits, &self.stop, Instant::now(), analyses);
        let explored = self.search(&rules).run(first);
        let (algorithm, service) = (self.name.clone(), self.service);
        let mut finished = FinishedSearch { algorithm, service, processes, rules, explored };
        if let Some(panicked) = finished.explored.panicked.take() {
            let run = finished.run_to_panic(&panicked);
            return Err(CheckError::Panicked { message: panicked.message, run });
        }
        Ok(self.report(&mut finished))
    }

    /// Returns the rules with the steps before the search.
    fn forced_steps(
        &self,
        processes: &Processes<P>,
        rules: Arc<Rules>,
        first: &[(Vec<u32>, u64)],
    ) -> Result<Arc<Rules>, CheckError> {
        let Some((world, fingerprint)) = first.first().filter(|_| !self.prefix.is_empty()) else {
            return Ok(rules);
        };
        let mut follower = ScheduleRunner::starting_at(processes, &rules, (world, *fingerprint));
        for action in &self.prefix {
            let performed = follower.perform(action);
            performed.map_err(|impossible| CheckError::InvalidPrefix {
                reason: impossible.to_string(),
            })?;
        }
        let forced_steps = follower.steps.into_iter().collect();
        Ok(Arc::new(Rules { forced_steps, ..Rules::clone(&rules) }))
    }

    /// Builds the processes and the rules of the check.
    pub(crate) fn assemble(&mut self) -> Result<(Arc<Processes<P>>, Arc<Rules>), CheckError> {
        let workload = self.workload()?;
        self.check_assumptions()?;
        if self.has_fixed_stamps() {
            self.shifts = None;
        }
        let layout = Layout {
            size: self.size as usize,
            application: self.budget.of(Fault::ApplicationMessage) > 0,
            monitors: self.monitors.len(),
            sessions: self.detects_restarts,
            has_election: self.service == Service::Office,
        };
        has_marks_for_all(&layout)?;
        let timed = self.synchronous.is_some();
        let network = Arc::new(Network::new(self.order, timed, self.in_flight));
        let setting = ModelConfig {
            size: self.size,
            config: self.config.clone(),
            workload,
            crashes: self.crashes.clone(),
            saving: self.saving,
            synchronous: self.synchronous,
            causality: self.causality,
            application_causality: self.application_causality,
            observed_layer: self.observed_layer,
            observes_all_messages: self.observes_all_messages,
            ring: self.ring,
            stamping: self.stamping,
            clock_readings: self.clock_readings,
            shifts: self.shifts,
            term: self.term,
            symmetry: self.symmetry.take(),
        };
        let renamings = setting.symmetry.as_ref().map_or(1, |names| names.renamings.len());
        let monitors = std::mem::take(&mut self.monitors);
        let processes = Arc::new(Processes::new(setting, monitors, Arc::clone(&network)));
        let can_be_down = !self.down.is_empty() || self.budget.of(Fault::Crash) > 0;
        let rules = Arc::new(Rules {
            layout,
            order: self.order,
            timed,
            budget: self.budget,
            partition_side: self
                .partition_side
                .iter()
                .fold(0, |side, process| side | 1 << process.0),
            has_mute_crashes: self.saving == Saving::BeforeRelease,
            has_detectors: self.has_detectors,
            can_be_down,
            has_consequences: can_be_down || self.term.is_some(),
            can_shift_timestamps: self.shifts.is_some(),
            ample: false,
            renamings,
            has_term_bound: self.term.is_some(),
            stamped: self.shifts.is_some(),
            drops_when_full: self.drops_when_full(),
            forced_steps: HashMap::new(),
            model: Arc::clone(&processes) as Arc<dyn Model>,
            network,
        });
        Ok((processes, rules))
    }

    /// Returns true if timestamps are not shifted although the protocol defines shifts.
    fn has_fixed_stamps(&self) -> bool {
        self.budget.of(Fault::Recovery) > 0 || self.stamping.is_some()
    }

    fn workload(&self) -> Result<Workload, CheckError> {
        if self.size == 0 || self.size > MAX_PROCESSES {
            return Err(CheckError::Size { size: self.size, max: MAX_PROCESSES });
        }
        let crashes_at = self.crashes.at.iter().flatten();
        let named =
            !self.partition_side.is_empty() || self.crashes.at.is_some() || self.detects_restarts;
        let distinct = self.has_name_dependent_monitor || named;
        if self.is_symmetric && (distinct || self.analyses_liveness()) {
            return Err(CheckError::AsymmetricProperty);
        }
        let named =
            self.down.iter().chain(self.initiators.iter().flatten()).chain(&self.partition_side);
        let mut named = named.chain(crashes_at);
        if let Some(stranger) = named.find(|process| process.0 >= self.size) {
            return Err(CheckError::UnknownProcess { process: *stranger, size: self.size });
        }
        let entries = match &self.entries {
            EntryLimits::Same(each) => vec![*each; self.size as usize],
            EntryLimits::PerProcess(list) if list.len() == self.size as usize => list.clone(),
            EntryLimits::PerProcess(list) => {
                return Err(CheckError::Entries { given: list.len(), size: self.size });
            }
        };
        if entries.contains(&Entries::Unbounded) {
            if self.shifts.is_none() && !self.accepts_unbounded_entries {
                return Err(CheckError::UnboundedEntries { algorithm: self.name.clone() });
            }
            if self.has_fixed_stamps() && !self.accepts_unbounded_entries {
                return Err(CheckError::UnshiftedTimestamps);
            }
            if self.causality {
                return Err(CheckError::UnboundedOrder);
            }
        }
        let all_processes = || (0..self.size).map(ProcessId).collect();
        let initiators = self.initiators.clone().unwrap_or_else(all_processes);
        let workload = Workload::new(self.size, entries, initiators, self.service);
        Ok(workload.with_schedule(self.schedule.clone()))
    }

    /// Returns true if the graph is analysed after the search.
    fn analyses_liveness(&self) -> bool {
        self.selected.iter().any(|selected| !matches!(selected.kind, CheckKind::Always(_)))
    }

    fn search(&mut self, rules: &Arc<Rules>) -> Search<'_> {
        let keeps_edges = self.analyses_liveness();
        let mut wanted = 0;
        for selected in &self.selected {
            if let CheckKind::Always(index) | CheckKind::InTheEnd(index) = selected.kind {
                wanted |= 1 << index;
            }
        }
        let on_progress = self.on_progress.as_mut();
        Search {
            rules: Arc::clone(rules),
            limits: self.limits,
            stop: self.stop.clone(),
            exact: self.exact,
            keeps_edges,
            wanted,
            measuring: self.bypass_cap.map(|(index, _)| index),
            threads: self.threads,
            on_progress: on_progress.map(|watch| &mut **watch as &mut dyn FnMut(&_)),
        }
    }

    fn report(&self, finished: &mut FinishedSearch<'_, P>) -> Report {
        let states = finished.explored.states();
        let limit = match finished.explored.ended {
            SearchEnd::Limited(limit) => Some(limit),
            SearchEnd::Complete | SearchEnd::Decided => None,
        };
        let mut report = Report {
            algorithm: self.name.clone(),
            size: self.size,
            properties: Vec::new(),
            states,
            transitions: finished.explored.transitions,
            depth: finished.explored.depth,
            reduced: self.shifts.is_some() || self.is_symmetric || finished.is_ample(),
            seconds: 0.0,
            counterexamples: Vec::new(),
            bounds: self.bounds(&finished.explored),
            has_terms: finished.processes.has_terms.load(Ordering::Relaxed),
            limit,
            missed: if self.exact { 0.0 } else { missed_state_probability(states) },
            bypass: self.bypass_bound(finished),
            bytes: finished.explored.bytes_peak,
        };
        let graph = self.analyses_liveness() && !self.stop.is_raised();
        let graph = graph.then(|| Graph::of(&mut finished.explored, self.stop.clone()));
        for selected in &self.selected {
            let mut found = finished.judge(selected, graph.as_ref());
            if graph.as_ref().is_some_and(Graph::is_stopped) {
                // A partial graph is no evidence.
                found = finished.judge(selected, None);
                report.limit = self.stop.limit();
            }
            let judgement = match (&found, report.limit) {
                (Some(_), _) => Judgement::Violated,
                (None, Some(_)) => Judgement::Incomplete,
                (None, None) => Judgement::Holds,
            };
            report.properties.push((selected.property, judgement));
            report.counterexamples.extend(found);
        }
        report
    }

    fn bounds(&self, explored: &Explored) -> Bounds {
        let [in_flight, term] = explored.exceeded;
        Bounds {
            in_flight: in_flight.then_some(self.in_flight),
            term_max: self.term.filter(|_| term).map(|(_, max)| max),
        }
    }

    fn bypass_bound(&self, finished: &mut FinishedSearch<'_, P>) -> Option<BypassBound> {
        let (_, cap) = self.bypass_cap?;
        let (max, id) = finished.explored.measured?;
        let path = path_to(&finished.explored, id);
        let max = u32::try_from(max).unwrap_or(u32::MAX);
        let run = RunDescription::of(&finished.trace(&path, false));
        Some(BypassBound { max, at_least: max >= cap, run })
    }
}

/// Returns an error if a world has too few marks for all monitors.
fn has_marks_for_all(layout: &Layout) -> Result<(), CheckError> {
    const MARKS: usize = u32::BITS as usize;
    let of_processes = layout.marks_of_processes();
    if of_processes + layout.monitors > MARKS {
        let max = MARKS - of_processes.min(MARKS);
        return Err(CheckError::Monitors { monitors: layout.monitors, max });
    }
    Ok(())
}
