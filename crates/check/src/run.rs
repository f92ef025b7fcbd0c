//! Execution of a check, from its configuration to the report.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::check::Check;
use crate::clock::Instant;
use crate::config::CheckConfig;
use crate::custom;
use crate::custom::fact_collector::FactCollectingMonitor;
use crate::error::CheckError;
use crate::explain::description::StepwiseDescription;
use crate::explain::findings::FinishedSearch;
use crate::explain::replay::path_to;
use crate::explain::schedule::ScheduleRunner;
use crate::explore::forced_steps::forced_step_fingerprint;
use crate::explore::successors::SuccessorWorker;
use crate::explore::{BreadthFirstSearch, SearchResult};
use crate::limits::Watchdog;
use crate::liveness::graph::StateGraph;
use crate::model::SearchModel;
use crate::model::fingerprint::missed_state_probability;
use crate::model::intern::Interner;
use crate::model::protocol_model::ProtocolModel;
use crate::plan::{CheckPlan, ValidPlan};
use crate::report::{BypassBound, CheckReport, ReachedBounds, judgement};
use crate::users::crashes::SaveTiming;
use crate::users::user::Checkable;
use crate::world::initial::{InitialWorlds, initial_worlds};
use crate::world::network::QueueInterner;
use crate::world::rules::{ForcedStep, SearchRules};
use tenure_core::Judgement;
use tenure_trace::ScriptRunner;
use tenure_trace::property::{FactSelection, ServiceFacts};

impl<P: Checkable> Check<P> {
    /// Runs the check and returns its report.
    ///
    /// # Panics
    ///
    /// Panics if the configuration is invalid or a handler panics. [`Check::try_run`] returns an
    /// error in most of these cases.
    pub fn run(self) -> CheckReport {
        self.try_run().unwrap_or_else(|refusal| panic!("{refusal}"))
    }

    /// Runs the check and returns its report.
    ///
    /// # Errors
    ///
    /// Returns a [`CheckError`] in these cases:
    ///
    /// - The configuration is invalid.
    /// - The boot of a process violates a property, or sends too many messages for a link.
    /// - The table of a swarm search does not fit into memory.
    /// - A handler panics.
    ///
    /// # Panics
    ///
    /// Panics if links have no room for a message. In synchronous time, panics if a minimum latency
    /// or duration exceeds its maximum, or if the drift of clocks is a million parts per million or
    /// more. In rounds, panics if a message does not take exactly one unit of time, or if steps
    /// take time.
    pub fn try_run(mut self) -> Result<CheckReport, CheckError> {
        let started = Instant::now();
        self.select_custom();
        let rules = self.build_model_and_rules()?;
        self.plan.run(rules, started)
    }

    /// Selects the properties written as expressions. If a property reads phases, leaders, fences
    /// or events, adds the monitor that collects these facts. If symmetry reduction would merge
    /// states that a property distinguishes, turns the reduction off.
    fn select_custom(&mut self) {
        let custom = &self.plan.config.custom_properties;
        self.plan.selected.extend(custom::select_custom_properties(custom));
        if custom.iter().any(|property| custom::depends_on_names(property)) {
            self.hooks.symmetry = None;
        }
        if let Some(facts) = self.plan.service_facts() {
            let index = self.monitors.len();
            self.monitors.push(Box::new(FactCollectingMonitor::new(facts, index)));
            self.plan.fact_collector = Some(index);
        }
    }

    /// Creates the model of the protocol, and the rules of the search. Moves the hooks and the
    /// monitors of this check into the model. Returns an error if the configuration is invalid.
    pub(crate) fn build_model_and_rules(&mut self) -> Result<Arc<SearchRules>, CheckError> {
        let valid = self.plan.validate(self.hooks.provided_hooks(), self.monitors.len())?;
        let mut hooks = std::mem::take(&mut self.hooks);
        hooks.shifts = hooks.shifts.filter(|_| valid.hooks.has_shifts);
        let network = Arc::new(self.plan.config.network_interner());
        let model = ProtocolModel {
            config: self.plan.config.clone(),
            protocol: self.protocol.clone(),
            hooks,
            needs: self.plan.needs.clone(),
            workload: valid.workload.clone(),
            locals: Interner::new(),
            messages: Interner::new(),
            observations: Interner::new(),
            monitors: std::mem::take(&mut self.monitors),
            network: Arc::clone(&network),
            measure: self.plan.measure.clone(),
            has_terms: AtomicBool::new(false),
            is_reducing: AtomicBool::new(false),
        };
        Ok(self.plan.rules(valid, Arc::new(model), network))
    }
}

impl CheckPlan {
    /// Runs the check in a model. `started` is the moment at which the check began.
    fn run(
        &mut self,
        rules: Arc<SearchRules>,
        started: Instant,
    ) -> Result<CheckReport, CheckError> {
        let reduced = match self.config.search.swarm {
            Some(swarm) => Some(self.run_swarm_member(swarm, Arc::clone(&rules))?),
            None => self
                .run_with_ample_sets(&rules)
                .or_else(|| self.run_with_commuting_deliveries(&rules)),
        };
        let mut report = match reduced {
            Some(report) => report,
            None => self.search_and_report(rules)?,
        };
        report.seconds = started.elapsed().as_secs_f64();
        Ok(report)
    }

    /// Returns the initial facts of the monitor that collects facts for the properties written as
    /// expressions. Returns `None` if no such property needs facts.
    fn service_facts(&self) -> Option<ServiceFacts> {
        let custom = &self.config.custom_properties;
        if !custom.iter().any(|property| custom::reads_service_facts(property.inputs())) {
            return None;
        }
        let tracked = custom.iter().map(|property| property.tracked_facts());
        let tracked = tracked.fold(FactSelection::none(self.config.service), FactSelection::union);
        Some(ServiceFacts::new(self.config.size, tracked))
    }

    /// Runs the check with the reduction by ample sets. Returns `None` if the reduction does not
    /// apply, if the search fails, or if it finds a violation. The caller must then run the check
    /// without the reduction, because there may be a shorter counterexample. The duration of this
    /// search is subtracted from the time limit.
    fn run_with_ample_sets(&mut self, rules: &Arc<SearchRules>) -> Option<CheckReport> {
        let is_visible = self.bypass_cap.is_some() || !self.config.custom_properties.is_empty();
        if !self.config.search.uses_ample_sets || !rules.permits_ample_sets() || is_visible {
            return None;
        }
        let started = Instant::now();
        let reduced = Arc::new(SearchRules { uses_ample_sets: true, ..SearchRules::clone(rules) });
        let report = self.search_and_report(reduced).ok()?;
        if let Some(max) = &mut self.config.search.limits.time {
            *max = max.saturating_sub(started.elapsed());
        }
        (report.reduced && report.counterexamples.is_empty()).then_some(report)
    }

    /// Returns the initial global states, each with its fingerprint. Also returns a copy of `rules`
    /// that contains the steps that the configuration prescribes at the beginning of a run.
    pub(crate) fn prepare_initial_worlds(
        &self,
        rules: Arc<SearchRules>,
    ) -> Result<(InitialWorlds, Arc<SearchRules>), CheckError> {
        let mut first = initial_worlds(&rules, &self.config.faults.initially_down)?;
        let mut worker = SuccessorWorker::new(Arc::clone(&rules));
        for (world, fingerprint) in &mut first {
            *fingerprint = worker.init_custom_properties(world, *fingerprint).0;
        }
        let rules = self.force_steps(rules, &mut first)?;
        Ok((first, rules))
    }

    fn search_and_report(&mut self, rules: Arc<SearchRules>) -> Result<CheckReport, CheckError> {
        let (started, analyses) = (Instant::now(), self.needs_graph_analysis());
        let (mut finished, _watchdog) = self.run_search(rules, started, analyses)?;
        finished.ensure_no_panic()?;
        Ok(self.report(&mut finished))
    }

    /// Performs the search of a check. `started` is the moment at which the check began. If
    /// `keeps_edges` is true, the search stores its steps, so that the graph can be analysed
    /// afterwards. Also returns the watchdog. The caller keeps it until the analysis has ended.
    pub(crate) fn run_search(
        &mut self,
        rules: Arc<SearchRules>,
        started: Instant,
        keeps_edges: bool,
    ) -> Result<(FinishedSearch, Option<Watchdog>), CheckError> {
        let (first, rules) = self.prepare_initial_worlds(rules)?;
        let search = &self.config.search;
        self.stop = self.stop.for_new_search(search.stop_flag.clone());
        let watchdog = Watchdog::start(search.limits, &self.stop, started, keeps_edges);
        let search = BreadthFirstSearch { keeps_edges, ..self.search(&rules) };
        let explored = search.run(first);
        Ok((FinishedSearch { config: self.config.clone(), rules, explored }, watchdog))
    }

    /// Returns a copy of `rules` that also contains the steps that the configuration prescribes at
    /// the beginning of a run, separately for each initial state. Puts the index of the first step
    /// from an initial state, plus 1, into this state. Removes the initial states from which the
    /// steps are impossible. Returns an error if no initial state is left.
    fn force_steps(
        &self,
        rules: Arc<SearchRules>,
        first: &mut InitialWorlds,
    ) -> Result<Arc<SearchRules>, CheckError> {
        let prefix = &self.config.model.prefix;
        if prefix.is_empty() {
            return Ok(rules);
        }
        let (mut forced_steps, mut impossible) = (Vec::new(), None);
        let slot = rules.layout.forced_step_slot();
        first.retain_mut(|(world, fingerprint)| {
            let mut follower = ScheduleRunner::starting_at(&rules, (world, *fingerprint));
            if let Err(error) = prefix.iter().try_for_each(|action| follower.perform(action)) {
                impossible.get_or_insert(error);
                return false;
            }
            let begin = forced_steps.len() as u32 + 1;
            let steps = (begin + 1..).zip(follower.steps);
            forced_steps.extend(steps.map(|(next, action)| ForcedStep { action, next }));
            if let Some(last) = forced_steps.last_mut().filter(|last| last.next > begin) {
                last.next = 0;
                world[slot] = begin;
                *fingerprint = fingerprint.wrapping_add(forced_step_fingerprint(begin));
            }
            true
        });
        if let Some(impossible) = impossible.filter(|_| first.is_empty()) {
            return Err(CheckError::InvalidPrefix { reason: impossible.to_string() });
        }
        Ok(Arc::new(SearchRules { forced_steps, ..SearchRules::clone(&rules) }))
    }

    /// Returns the rules of a search in this model.
    fn rules(
        &self,
        valid: ValidPlan,
        model: Arc<dyn SearchModel>,
        network: Arc<QueueInterner>,
    ) -> Arc<SearchRules> {
        let ValidPlan { budget, layout, custom_properties: custom, hooks, .. } = valid;
        let CheckConfig { model: options, faults, bounds, .. } = &self.config;
        let side = faults.partition_side.iter().flatten();
        let can_be_down = self.config.can_processes_be_down();
        let has_term_bound = hooks.has_term && bounds.term_max.is_some();
        Arc::new(SearchRules {
            layout,
            order: options.order,
            is_timed: options.latency.is_some(),
            has_rounds: options.has_rounds,
            budget,
            partition_side: side.fold(0, |side, process| side | 1 << process.0),
            has_mute_crashes: faults.saving == SaveTiming::BeforeRelease,
            has_detectors: options.has_detectors,
            can_processes_be_down: can_be_down,
            has_crashes_or_term_bound: can_be_down || has_term_bound,
            shifts_timestamps: hooks.has_shifts,
            uses_ample_sets: false,
            excluded_deliveries: None,
            renaming_count: hooks.renaming_count.unwrap_or(1),
            is_symmetric: hooks.renaming_count.is_some(),
            has_term_bound,
            has_shift_functions: hooks.has_shifts,
            drops_when_link_full: self.config.drops_when_link_full(),
            forced_steps: Vec::new(),
            stores_weights: false,
            custom_properties: custom,
            model,
            network,
        })
    }

    fn search(&self, rules: &Arc<SearchRules>) -> BreadthFirstSearch<'_> {
        let bits =
            self.selected.iter().map(|selected| selected.kind.step_violation_mask(rules.layout));
        BreadthFirstSearch {
            config: &self.config.search,
            rules: Arc::clone(rules),
            stop: self.stop.clone(),
            keeps_edges: self.needs_graph_analysis(),
            judged_property_bits: bits.fold(0, |all, bits| all | bits),
            measuring_monitor: self.bypass_cap.map(|(index, _)| index),
        }
    }

    /// Returns the report of a complete search without a violation: every selected property holds.
    pub(crate) fn report_without_violation(&self, finished: &mut FinishedSearch) -> CheckReport {
        let report = self.empty_report(finished);
        let holds = self.selected.iter().map(|selected| (selected.property, Judgement::Holds));
        CheckReport { properties: holds.collect(), ..report }
    }

    fn empty_report(&self, finished: &mut FinishedSearch) -> CheckReport {
        let states = finished.explored.state_count();
        let rules = &finished.rules;
        let is_commuting = rules.excluded_deliveries.is_some();
        CheckReport {
            algorithm: self.config.name.clone(),
            size: self.config.size,
            states,
            transitions: finished.explored.transitions,
            depth: finished.explored.depth,
            // A reduction may omit the shortest run to a violation.
            fully_explored_depth: (!is_commuting && !rules.uses_ample_sets)
                .then_some(finished.explored.depth),
            reduced: rules.has_shift_functions
                || rules.is_symmetric
                || is_commuting
                || finished.is_ample_reduction_valid(),
            is_commuting,
            bounds: self.pruning_bounds(&finished.explored),
            has_terms: rules.model.has_terms(),
            reached_limit: finished.explored.ended.reached_limit(),
            fairness: self.has_liveness_property().then_some(self.config.fairness),
            missed_state_probability: if self.config.search.stores_whole_states {
                0.0
            } else {
                missed_state_probability(states)
            },
            bypass: self.bypass_bound(finished),
            peak_bytes: finished.explored.bytes_peak,
            ..CheckReport::default()
        }
    }

    fn report(&self, finished: &mut FinishedSearch) -> CheckReport {
        let mut report = self.empty_report(finished);
        let graph = self.needs_graph_analysis() && !self.stop.must_stop_check();
        let graph = graph.then(|| {
            let forced_label = finished.rules.forced_label();
            StateGraph::build(&mut finished.explored, forced_label, self.stop.clone())
        });
        for selected in &self.selected {
            let mut found = finished.judge(selected, graph.as_ref());
            if graph.as_ref().is_some_and(StateGraph::must_stop_analysis) {
                // A partial graph proves nothing.
                found = finished.judge(selected, None);
                report.reached_limit = self.stop.reached_limit();
            }
            let judgement = judgement(found.is_some(), report.reached_limit);
            report.properties.push((selected.property, judgement));
            report.counterexamples.extend(found);
        }
        report
    }

    pub(crate) fn pruning_bounds(&self, explored: &SearchResult) -> ReachedBounds {
        let [in_flight, term] = explored.exceeded_bounds;
        ReachedBounds {
            in_flight: in_flight.then_some(self.config.bounds.in_flight),
            term_max: self.config.bounds.term_max.filter(|_| term),
            ticket_max: None,
        }
    }

    fn bypass_bound(&self, finished: &mut FinishedSearch) -> Option<BypassBound> {
        let (_, cap) = self.bypass_cap?;
        let (max, id) = finished.explored.greatest_measured?;
        let path = path_to(&finished.explored, id);
        let max = u32::try_from(max).unwrap_or(u32::MAX);
        let run = StepwiseDescription::from_checker_trace(&finished.trace_of_path(&path, false));
        let at_least = max >= cap || finished.explored.ended.reached_limit().is_some();
        Some(BypassBound { max, is_lower_bound: at_least, run })
    }
}
