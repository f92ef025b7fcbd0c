//! Execution of a check, from its configuration to the report.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tenure_core::{ProcessId, Service};

use crate::check::{Check, CheckKind};
use crate::clock::Instant;
use crate::config::CheckConfig;
use crate::custom::fold::ServiceFold;
use crate::custom::{self, CustomProperties};
use crate::error::CheckError;
use crate::explain::description::RunDescription;
use crate::explain::findings::FinishedSearch;
use crate::explain::replay::path_to;
use crate::explain::schedule::ScheduleRunner;
use crate::explore::successors::Worker;
use crate::explore::{Explored, Search};
use crate::limits::Watchdog;
use crate::liveness::graph::Graph;
use crate::model::Model;
use crate::model::causality::Causality;
use crate::model::fingerprint::missed_state_probability;
use crate::model::intern::Interner;
use crate::model::processes::Processes;
use crate::report::{Bounds, BypassBound, Report, judgement};
use crate::users::crashes::Saving;
use crate::users::entries::Entries;
use crate::users::entries::EntryLimits;
use crate::users::user::{Checkable, Workload};
use crate::world::initial::{InitialWorlds, initial_worlds};
use crate::world::network::Network;
use crate::world::rules::Rules;
use crate::world::{Layout, MAX_PROCESSES};
use tenure_core::Judgement;
use tenure_trace::ScriptRunner;
use tenure_trace::property::{ServiceFacts, Tracked};

impl<P: Checkable> Check<P> {
    /// Runs the check and returns its report.
    ///
    /// # Panics
    ///
    /// Panics if the configuration is invalid or a handler panics. [`Check::try_run`] returns an
    /// error instead, in most cases.
    pub fn run(self) -> Report {
        self.try_run().unwrap_or_else(|refusal| panic!("{refusal}"))
    }

    /// Runs the check and returns its report.
    ///
    /// # Errors
    ///
    /// Returns a [`CheckError`] if the configuration is invalid or a handler panics.
    ///
    /// # Panics
    ///
    /// Panics if links hold no message, if the least latency or duration exceeds the greatest, if a
    /// clock may drift by a million parts per million, or if the timing does not fit rounds.
    pub fn try_run(mut self) -> Result<Report, CheckError> {
        let started = Instant::now();
        self.select_custom();
        let (processes, rules) = self.assemble()?;
        let reduced = match self.config.search.swarm {
            Some(swarm) => Some(self.run_swarm_member(swarm, &processes, Arc::clone(&rules))?),
            None => self
                .run_with_ample_sets(&processes, &rules)
                .or_else(|| self.run_with_commuting_deliveries(&processes, &rules)),
        };
        let mut report = match reduced {
            Some(report) => report,
            None => self.search_and_report(&processes, rules)?,
        };
        report.seconds = started.elapsed().as_secs_f64();
        Ok(report)
    }

    /// Selects the properties written as expressions, and adds the monitor that collects facts for
    /// them. Turns symmetry reduction off if it would merge states that a property distinguishes.
    fn select_custom(&mut self) {
        let custom = &self.config.custom;
        self.selected.extend(custom::selected(custom));
        if custom.iter().any(|property| custom::depends_on_names(property)) {
            self.hooks.symmetry = None;
        }
        if custom.iter().any(|property| custom::reads_services(property.uses())) {
            let tracked = custom.iter().map(|property| property.tracked());
            let tracked = tracked.fold(Tracked::none(self.config.service), Tracked::and);
            let index = self.monitors.len();
            let facts = ServiceFacts::new(self.config.size, tracked);
            self.monitors.push(Box::new(ServiceFold::new(facts, index)));
            self.custom_fold = Some(index);
        }
    }

    /// Runs the check with the reduction by ample sets. Returns `None` if the reduction does not
    /// apply, if the search fails, or if it finds a violation. The caller must then run the check
    /// without the reduction, because there may be a shorter counterexample.
    fn run_with_ample_sets(
        &mut self,
        processes: &Processes<P>,
        rules: &Arc<Rules>,
    ) -> Option<Report> {
        let is_visible = self.bypass_cap.is_some() || !self.config.custom.is_empty();
        if !self.config.search.uses_ample_sets || !rules.allow_ample() || is_visible {
            return None;
        }
        let started = Instant::now();
        let reduced = Arc::new(Rules { ample: true, ..Rules::clone(rules) });
        let report = self.search_and_report(processes, reduced).ok()?;
        if let Some(max) = &mut self.config.search.limits.time {
            *max = max.saturating_sub(started.elapsed());
        }
        (report.reduced && report.counterexamples.is_empty()).then_some(report)
    }

    /// Returns two results: the initial global states, each with its fingerprint, and a copy of
    /// `rules` that also contains the steps that the configuration prescribes before the search.
    pub(crate) fn initial_worlds_and_rules(
        &self,
        processes: &Processes<P>,
        rules: Arc<Rules>,
    ) -> Result<(InitialWorlds, Arc<Rules>), CheckError> {
        let mut first = initial_worlds(processes, &rules);
        let mut worker = Worker::new(Arc::clone(&rules));
        for (world, fingerprint) in &mut first {
            *fingerprint = worker.begin_own(world, *fingerprint).0;
        }
        let rules = self.forced_steps(processes, rules, &first)?;
        Ok((first, rules))
    }

    fn search_and_report(
        &mut self,
        processes: &Processes<P>,
        rules: Arc<Rules>,
    ) -> Result<Report, CheckError> {
        let (started, analyses) = (Instant::now(), self.analyses_liveness());
        let (mut finished, _watchdog) = self.run_search(processes, rules, started, analyses)?;
        finished.ensure_no_panic()?;
        Ok(self.report(&mut finished))
    }

    /// Performs the search of a check. `started` is the moment at which the check began. If
    /// `keeps_edges`, the search stores its steps, so that the graph can be analysed afterwards.
    /// Also returns the watchdog, which limits the search and the analysis.
    pub(crate) fn run_search<'p>(
        &mut self,
        processes: &'p Processes<P>,
        rules: Arc<Rules>,
        started: Instant,
        keeps_edges: bool,
    ) -> Result<(FinishedSearch<'p, P>, Option<Watchdog>), CheckError> {
        let (first, rules) = self.initial_worlds_and_rules(processes, rules)?;
        let search = &self.config.search;
        self.stop = self.stop.reset(search.stop_flag.clone());
        let watchdog = Watchdog::start(search.limits, &self.stop, started, keeps_edges);
        let search = Search { keeps_edges, ..self.search(&rules) };
        let explored = search.run(first);
        Ok((FinishedSearch { processes, rules, explored }, watchdog))
    }

    /// Returns a copy of `rules` that also contains the steps that the configuration prescribes
    /// before the search. The first of these steps starts in the first initial global state.
    fn forced_steps(
        &self,
        processes: &Processes<P>,
        rules: Arc<Rules>,
        first: &[(Vec<u32>, u64)],
    ) -> Result<Arc<Rules>, CheckError> {
        let prefix = &self.config.model.prefix;
        let Some((world, fingerprint)) = first.first().filter(|_| !prefix.is_empty()) else {
            return Ok(rules);
        };
        let mut follower = ScheduleRunner::starting_at(processes, &rules, (world, *fingerprint));
        for action in prefix {
            let performed = follower.perform(action);
            performed.map_err(|impossible| CheckError::InvalidPrefix {
                reason: impossible.to_string(),
            })?;
        }
        let forced_steps = follower.steps.into_iter().collect();
        Ok(Arc::new(Rules { forced_steps, ..Rules::clone(&rules) }))
    }

    pub(crate) fn assemble(&mut self) -> Result<(Arc<Processes<P>>, Arc<Rules>), CheckError> {
        let workload = self.workload()?;
        self.config.check_assumptions()?;
        self.config.assert_consistent();
        let (budget, layout) = (self.config.budget()?, self.layout()?);
        let custom = if self.measure.is_some() { &[][..] } else { &self.config.custom };
        let custom = CustomProperties::new(custom, layout, self.custom_fold)?.map(Arc::new);
        let shifts_timestamps = self.shifts_timestamps();
        let mut hooks = std::mem::take(&mut self.hooks);
        hooks.shifts = hooks.shifts.filter(|_| shifts_timestamps);
        let CheckConfig { model, faults, bounds, .. } = &self.config;
        let timed = model.latency.is_some();
        let network = Arc::new(Network::new(model.order, timed, bounds.in_flight));
        let renamings = hooks.symmetry.as_ref().map_or(1, |names| names.renamings.len());
        let has_shift_functions = hooks.shifts.is_some();
        let has_term_bound = hooks.term.is_some() && bounds.term_max.is_some();
        let processes = Arc::new(Processes {
            config: self.config.clone(),
            protocol: self.protocol.clone(),
            hooks,
            needs: self.needs.clone(),
            workload,
            locals: Interner::new(),
            messages: Interner::new(),
            observations: Interner::new(),
            monitors: std::mem::take(&mut self.monitors),
            network: Arc::clone(&network),
            measure: self.measure.clone(),
            has_terms: AtomicBool::new(false),
            is_reducing: AtomicBool::new(false),
        });
        let side = faults.partition.iter().flatten();
        let can_be_down = self.config.can_be_down();
        let rules = Arc::new(Rules {
            layout,
            order: model.order,
            timed,
            rounds: model.has_rounds,
            budget,
            partition_side: side.fold(0, |side, process| side | 1 << process.0),
            has_mute_crashes: faults.saving == Saving::BeforeRelease,
            has_detectors: model.has_detectors,
            can_be_down,
            has_consequences: can_be_down || has_term_bound,
            is_rebasing: has_shift_functions,
            ample: false,
            commuting: None,
            renamings,
            has_term_bound,
            has_shift_functions,
            drops_when_full: self.config.drops_when_full(),
            forced_steps: HashMap::new(),
            weighs: false,
            custom,
            model: Arc::clone(&processes) as Arc<dyn Model>,
            network,
        });
        Ok((processes, rules))
    }

    /// Returns an error if there are too many monitors.
    fn layout(&self) -> Result<Layout, CheckError> {
        const MARKS: usize = u32::BITS as usize;
        let CheckConfig { size, service, model, .. } = &self.config;
        let layout = Layout {
            size: *size as usize,
            application: model.application_messages > 0,
            monitors: self.monitors.len(),
            custom: if self.measure.is_some() { 0 } else { self.config.custom.len() },
            detects_restarts: model.detects_restarts,
            has_election: *service == Service::Office,
        };
        let monitors = layout.monitors + layout.custom;
        let of_processes = layout.marks_of_processes();
        if of_processes + monitors > MARKS {
            return Err(CheckError::Monitors { monitors, max: MARKS.saturating_sub(of_processes) });
        }
        Ok(layout)
    }

    /// Returns true if the options of the check permit the search to merge states that differ by a
    /// shift of timestamps. The search then does so if the protocol defines shifts.
    fn shifts_timestamps(&self) -> bool {
        let CheckConfig { faults, search, .. } = &self.config;
        search.shifts_timestamps
            && faults.recoveries == 0
            && self.hooks.stamping.is_none()
            && !self.config.custom.iter().any(|property| custom::depends_on_timestamps(property))
    }

    fn workload(&self) -> Result<Workload, CheckError> {
        let CheckConfig { size, model, faults, bounds, search, .. } = &self.config;
        let size = *size;
        if size == 0 || size > MAX_PROCESSES {
            return Err(CheckError::Size { size, max: MAX_PROCESSES });
        }
        let side = || faults.partition.iter().flatten();
        let crashes_at = faults.crash_filter.at.iter().flatten();
        let has_named_faults = side().next().is_some() || faults.crash_filter.at.is_some();
        let distinct = self.needs.names || has_named_faults || model.detects_restarts;
        if self.hooks.symmetry.is_some() && (distinct || self.analyses_liveness()) {
            return Err(CheckError::AsymmetricProperty);
        }
        let named = faults.down.iter().chain(model.initiators.iter().flatten()).chain(side());
        let mut named = named.chain(crashes_at);
        if let Some(unknown) = named.find(|process| process.0 >= size) {
            return Err(CheckError::UnknownProcess { process: *unknown, size });
        }
        let entries = match &model.entries {
            EntryLimits::Same(each) => vec![*each; size as usize],
            EntryLimits::PerProcess(list) if list.len() == size as usize => list.clone(),
            EntryLimits::PerProcess(list) => {
                return Err(CheckError::Entries { given: list.len(), size });
            }
        };
        if entries.contains(&Entries::Unbounded) {
            if !bounds.accepts_unbounded_entries {
                if !search.shifts_timestamps || self.hooks.shifts.is_none() {
                    return Err(CheckError::UnboundedEntries {
                        algorithm: self.config.name.clone(),
                    });
                }
                if !self.shifts_timestamps() {
                    return Err(CheckError::UnshiftedTimestamps);
                }
            }
            if self.needs.causality == Causality::Requests {
                return Err(CheckError::UnboundedOrder);
            }
        }
        let all_processes = || (0..size).map(ProcessId).collect();
        let initiators = model.initiators.clone().unwrap_or_else(all_processes);
        let (service, schedule) = (self.config.service, self.schedule.clone());
        let single_election = model.single_election;
        Ok(Workload { entries, initiators, single_election, size, service, schedule })
    }

    fn judges_liveness(&self) -> bool {
        let is_safety = |kind| {
            use CheckKind::{Always, AlwaysAndAtEnd, CustomSafety};
            matches!(kind, Always(_) | AlwaysAndAtEnd(_) | CustomSafety(_))
        };
        self.selected.iter().any(|selected| !is_safety(selected.kind))
    }

    /// Returns true if a selected property needs an analysis of the graph after the search.
    fn analyses_liveness(&self) -> bool {
        let is_safety = |kind| matches!(kind, CheckKind::Always(_) | CheckKind::CustomSafety(_));
        self.selected.iter().any(|selected| !is_safety(selected.kind))
    }

    fn search(&self, rules: &Arc<Rules>) -> Search<'_> {
        let bits = self.selected.iter().map(|selected| selected.kind.step_bits(rules.layout));
        Search {
            config: &self.config.search,
            rules: Arc::clone(rules),
            stop: self.stop.clone(),
            keeps_edges: self.analyses_liveness(),
            wanted: bits.fold(0, |all, bits| all | bits),
            measuring: self.bypass_cap.map(|(index, _)| index),
        }
    }

    /// Returns the report of a complete search without a violation.
    pub(crate) fn report_without_violation(&self, finished: &mut FinishedSearch<'_, P>) -> Report {
        let report = self.empty_report(finished);
        let holds = self.selected.iter().map(|selected| (selected.property, Judgement::Holds));
        Report { properties: holds.collect(), ..report }
    }

    fn empty_report(&self, finished: &mut FinishedSearch<'_, P>) -> Report {
        let states = finished.explored.states();
        let hooks = &finished.processes.hooks;
        let is_commuting = finished.rules.commuting.is_some();
        Report {
            algorithm: self.config.name.clone(),
            size: self.config.size,
            states,
            transitions: finished.explored.transitions,
            depth: finished.explored.depth,
            reduced: hooks.shifts.is_some()
                || hooks.symmetry.is_some()
                || is_commuting
                || finished.is_ample(),
            is_commuting,
            bounds: self.bounds(&finished.explored),
            has_terms: finished.processes.has_terms.load(Ordering::Relaxed),
            limit: finished.explored.ended.limit(),
            fairness: self.judges_liveness().then_some(self.config.fairness),
            missed_state_probability: if self.config.search.stores_whole_states {
                0.0
            } else {
                missed_state_probability(states)
            },
            bypass: self.bypass_bound(finished),
            bytes: finished.explored.bytes_peak,
            ..Report::default()
        }
    }

    fn report(&self, finished: &mut FinishedSearch<'_, P>) -> Report {
        let mut report = self.empty_report(finished);
        let graph = self.analyses_liveness() && !self.stop.is_raised();
        let graph = graph.then(|| {
            let forced_label = finished.rules.forced_label();
            Graph::of(&mut finished.explored, forced_label, self.stop.clone())
        });
        for selected in &self.selected {
            let mut found = finished.judge(selected, graph.as_ref());
            if graph.as_ref().is_some_and(Graph::is_stopped) {
                // A partial graph proves nothing.
                found = finished.judge(selected, None);
                report.limit = self.stop.limit();
            }
            let judgement = judgement(found.is_some(), report.limit);
            report.properties.push((selected.property, judgement));
            report.counterexamples.extend(found);
        }
        report
    }

    pub(crate) fn bounds(&self, explored: &Explored) -> Bounds {
        let [in_flight, term] = explored.exceeded;
        Bounds {
            in_flight: in_flight.then_some(self.config.bounds.in_flight),
            term_max: self.config.bounds.term_max.filter(|_| term),
            ticket_max: None,
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
