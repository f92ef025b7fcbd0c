//! From a check to its report: assemble, explore, judge, tell.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use tenure_core::{ProcessId, Service};

use crate::check::{Asked, Check};
use crate::explore::{Ended, Explored, Search};
use crate::limits::Watchdog;
use crate::liveness::graph::Graph;
use crate::model::Model;
use crate::model::fingerprint::probability_of_a_missed_state;
use crate::model::processes::{Processes, Setting};
use crate::refusal::Refusal;
use crate::report::{Bounds, Bypassing, Report};
use crate::tell::follow::Follower;
use crate::tell::replay::way_to;
use crate::tell::story::Story;
use crate::tell::told::Told;
use crate::users::crashing::Saving;
use crate::users::entries::Entries;
use crate::users::entries::EntriesOfAll;
use crate::users::user::{Checkable, Workload};
use crate::world::parcel::Freight;
use crate::world::rules::Rules;
use crate::world::start::first_worlds;
use crate::world::{Fault, Layout, MOST_PROCESSES};
use tenure_core::Judgement;
use tenure_trace::Theatre;

impl<P: Checkable> Check<P> {
    /// Explores, and reports.
    ///
    /// # Panics
    ///
    /// When the check makes no sense, and when a handler panics: [`Check::try_run`] says why
    /// instead.
    pub fn run(self) -> Report {
        self.try_run().unwrap_or_else(|refusal| panic!("{refusal}"))
    }

    /// Explores, and reports.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] when the check makes no sense, and when a handler panics.
    pub fn try_run(mut self) -> Result<Report, Refusal> {
        let started = Instant::now();
        let (processes, rules) = self.assemble()?;
        let mut report = match self.reduced(&processes, &rules) {
            Some(report) => report,
            None => self.explored(&processes, rules)?,
        };
        report.seconds = started.elapsed().as_secs_f64();
        Ok(report)
    }

    /// The report of a search in which one delivery stands for many steps. `None` where that is
    /// not possible, and where something is found, for there may be a shorter way to it.
    fn reduced(&mut self, processes: &Processes<P>, rules: &Arc<Rules>) -> Option<Report> {
        if !self.ample || !rules.allow_ample() || self.bypass_cap.is_some() {
            return None;
        }
        let started = Instant::now();
        let reduced = Arc::new(Rules { ample: true, ..Rules::clone(rules) });
        let report = self.explored(processes, reduced).ok()?;
        if let Some(most) = &mut self.limits.time {
            *most = most.saturating_sub(started.elapsed());
        }
        (report.reduced && report.counterexamples.is_empty()).then_some(report)
    }

    /// Explores under these rules, and reports.
    fn explored(&mut self, processes: &Processes<P>, rules: Arc<Rules>) -> Result<Report, Refusal> {
        let first = first_worlds(processes, &rules, &self.down);
        let rules = self.steered(processes, rules, &first)?;
        self.stop = self.stop.renewed();
        let analyses = self.analyses_liveness();
        let _watchdog = Watchdog::start(self.limits, &self.stop, Instant::now(), analyses);
        let explored = self.search(&rules).run(first);
        let (algorithm, service) = (self.name.clone(), self.service);
        let mut told = Told { algorithm, service, processes, rules, explored };
        if let Some(panicked) = told.explored.panicked.take() {
            let story = told.breakdown(&panicked);
            return Err(Refusal::Panicked { says: panicked.says, story });
        }
        Ok(self.report(&mut told))
    }

    /// The same rules, where nothing else happens at first than what was asked for.
    fn steered(
        &self,
        processes: &Processes<P>,
        rules: Arc<Rules>,
        first: &[(Vec<u32>, u64)],
    ) -> Result<Arc<Rules>, Refusal> {
        let Some((world, fingerprint)) = first.first().filter(|_| !self.after.is_empty()) else {
            return Ok(rules);
        };
        let mut follower = Follower::beginning(processes, &rules, (world, *fingerprint));
        for action in &self.after {
            let performed = follower.perform(action);
            performed.map_err(|impossible| Refusal::After { says: impossible.to_string() })?;
        }
        let steered = follower.steps.into_iter().collect();
        Ok(Arc::new(Rules { steered, ..Rules::clone(&rules) }))
    }

    /// The processes and the rules of this check.
    pub(crate) fn assemble(&mut self) -> Result<(Arc<Processes<P>>, Arc<Rules>), Refusal> {
        let workload = self.workload()?;
        self.check_assumptions()?;
        if self.never_shifts() {
            self.shifts = None;
        }
        let layout = Layout {
            size: self.size as usize,
            application: self.budget.of(Fault::ApplicationMessage) > 0,
            monitors: self.judges.len(),
            sessions: self.sessions,
            elects_too: self.service == Service::Office,
        };
        has_marks_for_all(&layout)?;
        let timed = self.synchronous.is_some();
        let freight = Arc::new(Freight::new(self.order, timed, self.in_flight));
        let setting = Setting {
            size: self.size,
            config: self.config.clone(),
            workload,
            crashes: self.crashes.clone(),
            saving: self.saving,
            synchronous: self.synchronous,
            causality: self.causality,
            application_causality: self.application_causality,
            watched: self.watched,
            counts: self.counts,
            ring: self.ring,
            stamping: self.stamping,
            clock_readings: self.clock_readings,
            shifts: self.shifts,
            term: self.term,
            symmetry: self.symmetry.take(),
        };
        let renamings = setting.symmetry.as_ref().map_or(1, |names| names.renamings.len());
        let judges = std::mem::take(&mut self.judges);
        let processes = Arc::new(Processes::new(setting, judges, Arc::clone(&freight)));
        let somebody_may_be_down = !self.down.is_empty() || self.budget.of(Fault::Crash) > 0;
        let rules = Arc::new(Rules {
            layout,
            order: self.order,
            timed,
            budget: self.budget,
            side: self.side.iter().fold(0, |side, process| side | 1 << process.0),
            mutes: self.saving == Saving::Apart,
            detects: self.detects,
            somebody_may_be_down,
            has_consequences: somebody_may_be_down || self.term.is_some(),
            rebases: self.shifts.is_some(),
            ample: false,
            renamings,
            bounds_terms: self.term.is_some(),
            stamped: self.shifts.is_some(),
            drops: self.drops_when_full(),
            steered: HashMap::new(),
            model: Arc::clone(&processes) as Arc<dyn Model>,
            freight,
        });
        Ok((processes, rules))
    }

    /// Whether stamps stay as they are in this check, although the protocol could shift them.
    fn never_shifts(&self) -> bool {
        self.budget.of(Fault::Recovery) > 0 || self.stamping.is_some()
    }

    fn workload(&self) -> Result<Workload, Refusal> {
        if self.size == 0 || self.size > MOST_PROCESSES {
            return Err(Refusal::Size { size: self.size, most: MOST_PROCESSES });
        }
        let crashes_at = self.crashes.at.iter().flatten();
        let named = !self.side.is_empty() || self.crashes.at.is_some() || self.sessions;
        let distinct = self.watches_names || named;
        if self.is_symmetric && (distinct || self.analyses_liveness()) {
            return Err(Refusal::Symmetric);
        }
        let named = self.down.iter().chain(self.initiators.iter().flatten()).chain(&self.side);
        let mut named = named.chain(crashes_at);
        if let Some(stranger) = named.find(|process| process.0 >= self.size) {
            return Err(Refusal::Stranger { process: *stranger, size: self.size });
        }
        let entries = match &self.entries {
            EntriesOfAll::Each(each) => vec![*each; self.size as usize],
            EntriesOfAll::OneByOne(list) if list.len() == self.size as usize => list.clone(),
            EntriesOfAll::OneByOne(list) => {
                return Err(Refusal::Entries { given: list.len(), size: self.size });
            }
        };
        if entries.contains(&Entries::Unbounded) {
            if self.shifts.is_none() && !self.accepts_endless {
                return Err(Refusal::Endless { algorithm: self.name.clone() });
            }
            if self.never_shifts() && !self.accepts_endless {
                return Err(Refusal::Unshifted);
            }
            if self.causality {
                return Err(Refusal::EndlessOrder);
            }
        }
        let everybody = || (0..self.size).map(ProcessId).collect();
        let initiators = self.initiators.clone().unwrap_or_else(everybody);
        let workload = Workload::new(self.size, entries, initiators, self.service);
        Ok(workload.along(self.course.clone()))
    }

    /// True if the graph of a search is analysed after it.
    fn analyses_liveness(&self) -> bool {
        self.selected.iter().any(|selected| !matches!(selected.kind, Asked::Always(_)))
    }

    fn search(&mut self, rules: &Arc<Rules>) -> Search<'_> {
        let keeps_edges = self.analyses_liveness();
        let mut wanted = 0;
        for selected in &self.selected {
            if let Asked::Always(place) | Asked::InTheEnd(place) = selected.kind {
                wanted |= 1 << place;
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
            measuring: self.bypass_cap.map(|(place, _)| place),
            threads: self.threads,
            on_progress: on_progress.map(|watch| &mut **watch as &mut dyn FnMut(&_)),
        }
    }

    fn report(&self, told: &mut Told<'_, P>) -> Report {
        let states = told.explored.states();
        let limit = match told.explored.ended {
            Ended::Limited(limit) => Some(limit),
            Ended::Complete | Ended::Decided => None,
        };
        let mut report = Report {
            algorithm: self.name.clone(),
            size: self.size,
            properties: Vec::new(),
            states,
            transitions: told.explored.transitions,
            depth: told.explored.depth,
            reduced: self.shifts.is_some() || self.is_symmetric || told.is_ample(),
            seconds: 0.0,
            counterexamples: Vec::new(),
            bounds: self.bounds(&told.explored),
            has_terms: told.processes.has_terms.load(Ordering::Relaxed),
            limit,
            missed: if self.exact { 0.0 } else { probability_of_a_missed_state(states) },
            bypass: self.bypassing(told),
            bytes: told.explored.bytes_peak,
        };
        let graph = self.analyses_liveness() && !self.stop.is_raised();
        let graph = graph.then(|| Graph::of(&mut told.explored, self.stop.clone()));
        for selected in &self.selected {
            let mut found = told.judge(selected, graph.as_ref());
            if graph.as_ref().is_some_and(Graph::is_stopped) {
                // What was seen of a part of it is no evidence.
                found = told.judge(selected, None);
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
        let [in_flight, term] = explored.cuts;
        Bounds {
            in_flight: in_flight.then_some(self.in_flight),
            term_max: self.term.filter(|_| term).map(|(_, most)| most),
        }
    }

    fn bypassing(&self, told: &mut Told<'_, P>) -> Option<Bypassing> {
        let (_, cap) = self.bypass_cap?;
        let (most, id) = told.explored.measured?;
        let way = way_to(&told.explored, id);
        let most = u32::try_from(most).unwrap_or(u32::MAX);
        let story = Story::of(&told.trace(&way, false));
        Some(Bypassing { most, at_least: most >= cap, story })
    }
}

/// Rejects more monitors than a world has marks for.
fn has_marks_for_all(layout: &Layout) -> Result<(), Refusal> {
    const MARKS: usize = u32::BITS as usize;
    let of_processes = layout.marks_of_processes();
    if of_processes + layout.monitors > MARKS {
        let most = MARKS - of_processes.min(MARKS);
        return Err(Refusal::Monitors { monitors: layout.monitors, most });
    }
    Ok(())
}
