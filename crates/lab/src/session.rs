//! Session of the lab: one run, the tree of its moments, and the current moment.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use tenure_core::Property;
use tenure_sim::{FirstViolation, Intervention, Judgement, RunReport};
use tenure_trace::{Header, Record, RecordSubject, Trace};

use crate::act::ActionRequest;
use crate::deadline::Deadline;
use crate::engine::{MomentView, ReachedMoment, RunContinuation, RunSpec, Transition};
use crate::run_state::RunState;

/// Number of moments from which on a session cannot be continued.
const MAX_MOMENTS: usize = 50_000;

/// Maximum number of steps that the lab takes for one request.
pub(crate) const MAX_STEPS_PER_REQUEST: u64 = 10_000;

/// Maximum group size, so that the picture stays readable.
const MAX_PROCESSES: u32 = 64;

/// Checks that the lab can show a group of `size` processes. A [`RunSource`](crate::RunSource)
/// should call this function before it builds a run, because a run of millions of processes takes
/// minutes and gigabytes to build.
///
/// # Errors
///
/// A description of the problem if there are too many processes.
pub fn validate_group_size(size: u32) -> Result<(), String> {
    if size > MAX_PROCESSES {
        return Err(format!("the lab shows up to {MAX_PROCESSES} processes, not {size}"));
    }
    Ok(())
}

/// State of the run after a number of transitions. A moment contains only a description of the
/// state. To show the state itself, the lab repeats the run. The moments of a session form a tree,
/// because the user can return to an earlier moment and continue in another way.
#[derive(Clone, Debug)]
pub(crate) struct Moment {
    /// Index of the preceding moment. `None` for the beginning of the run.
    pub(crate) parent: Option<usize>,
    /// Transition that led from the preceding moment to this one.
    cause: Transition,
    /// Request of the page that caused the transition to this moment. `None` if the transition was
    /// a step, or an action of the command line.
    pub(crate) request: Option<ActionRequest>,
    pub(crate) description: String,
    /// Simulated time, in ticks.
    pub(crate) time: u64,
    /// Number of records in the trace up to this moment.
    records: u64,
    /// True if a property was violated at this moment or before. Only two kinds of properties are
    /// considered: those that the algorithm promises on its [`Card`](tenure_core::Card), and those
    /// that the user wrote.
    pub(crate) violated: bool,
    /// Message of the panic that ended the run at this moment. `None` if no handler of the
    /// algorithm panicked.
    pub(crate) panic_message: Option<String>,
}

/// One run, and the tree of its [`Moment`]s, of which one is current.
pub(crate) struct LabSession {
    pub(crate) run: RunSpec,
    pub(crate) moments: Vec<Moment>,
    /// Number of moments at the start of the session: the beginning of the run, and the moments
    /// after the actions and steps of the command line.
    pub(crate) initial_moment_count: usize,
    /// Index of the current moment.
    pub(crate) current_moment: usize,
    pub(crate) shown: CurrentMoment,
}

/// State, report and trace of the run at the current [`Moment`]. `text` contains the bytes of the
/// trace. `header` and `records` are parsed from them.
pub(crate) struct CurrentMoment {
    pub(crate) state: RunState,
    pub(crate) report: RunReport,
    pub(crate) encoded_trace: Vec<u8>,
    pub(crate) header: Header,
    pub(crate) records: Vec<Record>,
    /// The violated properties of the report.
    violations: Vec<LocatedViolation>,
}

/// Violation of a property, and the index of the first moment at which it has occurred.
struct LocatedViolation {
    property: Property,
    violation: FirstViolation,
    moment: usize,
}

impl CurrentMoment {
    fn of(shown: MomentView) -> Result<Self, String> {
        let MomentView { state, report, trace: text } = shown;
        let trace = Trace::parse(&text, "lab").map_err(|error| error.to_string())?;
        let Trace { header, records, .. } = trace;
        let violations = Vec::new();
        Ok(CurrentMoment { state, report, encoded_trace: text, header, records, violations })
    }
}

impl LabSession {
    /// Creates a session at the beginning of a run. Then executes the initial actions and steps of
    /// `run`. Returns a description of the problem if the group is too large, or if an action or
    /// the start of the run fails.
    pub(crate) fn new(run: RunSpec, deadline: &Deadline) -> Result<Self, String> {
        validate_group_size(run.size)?;
        let shown = replay_path(&run, &[], &RunContinuation::Steps(0), &mut Vec::new(), deadline);
        let shown = CurrentMoment::of(shown.map_err(ReplayError::description)?)?;
        let beginning = Moment {
            parent: None,
            cause: Transition::Step,
            request: None,
            description: "begin".to_owned(),
            time: 0,
            records: shown.records.len() as u64,
            violated: false,
            panic_message: None,
        };
        let mut session = LabSession {
            run,
            moments: vec![beginning],
            initial_moment_count: 1,
            current_moment: 0,
            shown,
        };
        session.shown.violations = session.locate_violations(0, &session.shown, deadline)?;
        session.apply_interventions(deadline)?;
        session.initial_moment_count = session.moments.len();
        Ok(session)
    }

    /// Executes the initial actions and steps of the run. The page first shows the state after
    /// them.
    fn apply_interventions(&mut self, deadline: &Deadline) -> Result<(), String> {
        let mut steps = 0;
        for Intervention { after_step, action } in std::mem::take(&mut self.run.interventions) {
            self.walk(after_step.saturating_sub(steps), deadline)?;
            steps = steps.max(after_step);
            self.advance(&RunContinuation::Act(action), deadline)?;
        }
        self.walk(self.run.steps.saturating_sub(steps), deadline)
    }

    /// Takes `steps` steps from the current moment. Returns an error if these are too many for one
    /// request.
    fn walk(&mut self, steps: u64, deadline: &Deadline) -> Result<(), String> {
        if steps > MAX_STEPS_PER_REQUEST {
            return Err(format!(
                "the lab takes up to {MAX_STEPS_PER_REQUEST} steps at once, not {steps}"
            ));
        }
        if steps == 0 { Ok(()) } else { self.advance(&RunContinuation::Steps(steps), deadline) }
    }

    /// Performs an action that the page requests. Returns an error, and changes nothing, if the
    /// action is impossible.
    pub(crate) fn act(&mut self, act: &ActionRequest, deadline: &Deadline) -> Result<(), String> {
        self.advance(&RunContinuation::Act(act.to_action(&self.shown.state)?), deadline)?;
        if self.current_moment >= self.initial_moment_count {
            self.moments[self.current_moment].request.get_or_insert_with(|| act.clone());
        }
        Ok(())
    }

    /// Makes the moment with the index `moment` the current one. Returns false, and changes
    /// nothing, if the session has no such moment.
    pub(crate) fn select_moment(
        &mut self,
        moment: usize,
        deadline: &Deadline,
    ) -> Result<bool, String> {
        if moment >= self.moments.len() {
            return Ok(false);
        }
        let (path, stay) = (self.path(moment), RunContinuation::Steps(0));
        let shown = replay_path(&self.run, &path, &stay, &mut Vec::new(), deadline);
        let shown = CurrentMoment::of(shown.map_err(ReplayError::description)?)?;
        self.show(moment, shown, deadline)?;
        Ok(true)
    }

    /// Makes `moment` the current moment. `shown` is the state of the run there. If the result is
    /// an error, the session is unchanged.
    fn show(
        &mut self,
        moment: usize,
        shown: CurrentMoment,
        deadline: &Deadline,
    ) -> Result<(), String> {
        let violations = self.locate_violations(moment, &shown, deadline)?;
        self.shown = CurrentMoment { violations, ..shown };
        self.current_moment = moment;
        Ok(())
    }

    /// Takes steps of the simulator from the current moment, or performs an action at the current
    /// moment. For each state that the run reaches, adds a moment to the session, unless the tree
    /// contains it already. If a handler panics, also adds a moment for the panic. The last of
    /// these moments becomes the current one. If the result is an error, the session is unchanged.
    pub(crate) fn advance(
        &mut self,
        advance: &RunContinuation,
        deadline: &Deadline,
    ) -> Result<(), String> {
        if let Some(broken) = &self.moments[self.current_moment].panic_message {
            return Err(format!("{broken}; go back to do something else"));
        }
        if self.moments.len() >= MAX_MOMENTS {
            let description = "moments is the limit of a session; start another";
            return Err(format!("{MAX_MOMENTS} {description}"));
        }
        let (path, mut reached) = (self.path(self.current_moment), Vec::new());
        let (shown, panicked) = match replay_path(&self.run, &path, advance, &mut reached, deadline)
        {
            Ok(shown) => (shown, None),
            Err(ReplayError::Refused(description)) => return Err(description),
            Err(ReplayError::Panicked(description)) => {
                // Shows the state before the panic, which is the last moment in `reached`.
                let causes = reached.iter().map(|moment| moment.cause.clone());
                let path: Vec<Transition> = path.into_iter().chain(causes).collect();
                let stay = RunContinuation::Steps(0);
                let before = replay_path(&self.run, &path, &stay, &mut Vec::new(), deadline);
                (before.map_err(ReplayError::description)?, Some(description))
            }
        };
        let shown = CurrentMoment::of(shown)?;
        let (count, mut last) = (self.moments.len(), self.current_moment);
        for moment in reached {
            last = self.reach(last, moment, None);
        }
        if let Err(description) = self.show(last, shown, deadline) {
            self.moments.truncate(count);
            return Err(description);
        }
        self.mark_violations();
        if let Some(description) = panicked {
            let cause = match advance {
                RunContinuation::Act(action) => Transition::Act(action.clone()),
                _ => Transition::Step,
            };
            let Moment { time, records, .. } = self.moments[self.current_moment];
            let description = format!("the algorithm panicked: {description}");
            let moment = ReachedMoment { cause, description: description.clone(), time, records };
            self.current_moment = self.reach(self.current_moment, moment, Some(description));
        }
        Ok(())
    }

    /// Adds a moment to the tree as a child of the moment `parent`, and returns the index of the
    /// new moment. If `parent` has a child with the same transition already, adds nothing and
    /// returns the index of that child.
    fn reach(&mut self, parent: usize, moment: ReachedMoment, broken: Option<String>) -> usize {
        let mut later = self.moments.iter().skip(parent + 1);
        let known = later.position(|it| it.parent == Some(parent) && it.cause == moment.cause);
        if let Some(place) = known {
            return parent + 1 + place;
        }
        let ReachedMoment { cause, description, time, records } = moment;
        let violated = self.moments[parent].violated;
        self.moments.push(Moment {
            parent: Some(parent),
            cause,
            request: None,
            description,
            time,
            records,
            violated,
            panic_message: broken,
        });
        self.moments.len() - 1
    }

    /// Returns the indices of the moments from the beginning to `moment`.
    pub(crate) fn moments_to(&self, moment: usize) -> Vec<usize> {
        let parent = |place: &usize| self.moments[*place].parent;
        let mut line: Vec<usize> = std::iter::successors(Some(moment), parent).collect();
        line.reverse();
        line
    }

    /// Returns the transitions from the beginning of the run to a moment. Leaves out the last
    /// transition if a handler panicked in it.
    fn path(&self, moment: usize) -> Vec<Transition> {
        let line = self.moments_to(moment).into_iter().skip(1).map(|place| &self.moments[place]);
        let whole = line.take_while(|moment| moment.panic_message.is_none());
        whole.map(|moment| moment.cause.clone()).collect()
    }

    /// Returns the actions on the way from the beginning of the run to the current moment, each
    /// with the number of steps that precede it. Also returns the number of all steps on this way.
    pub(crate) fn interventions_and_steps(&self) -> (Vec<Intervention>, u64) {
        let (mut interventions, mut after_step) = (Vec::new(), 0);
        for cause in self.path(self.current_moment) {
            match cause {
                Transition::Step => after_step += 1,
                Transition::Act(action) => interventions.push(Intervention { after_step, action }),
            }
        }
        (interventions, after_step)
    }

    /// Returns the trace records that the transition to the current moment has added.
    pub(crate) fn latest_records(&self) -> &[Record] {
        let Moment { parent, records, .. } = &self.moments[self.current_moment];
        let from = parent.map_or(0, |parent| self.moments[parent].records);
        let all = &self.shown.records;
        let (from, to) = (from as usize, (*records as usize).min(all.len()));
        all.get(from..to).unwrap_or_default()
    }

    /// Returns true if the algorithm of the run promises `property`, or if the user wrote
    /// `property`.
    pub(crate) fn is_promised(&self, property: Property) -> bool {
        // The user wrote the custom properties.
        matches!(property, Property::Custom(_))
            || self.run.card.promises_under_drift(Some(0)).any(|promise| promise.implies(property))
    }

    /// Marks the moments on the way to the current moment, from the first violation of a promised
    /// property on.
    fn mark_violations(&mut self) {
        let counted = self.shown.violations.iter().filter(|it| self.is_promised(it.property));
        let Some(first) = counted.map(|it| it.moment).min() else { return };
        for place in self.moments_to(self.current_moment) {
            if place >= first {
                self.moments[place].violated = true;
            }
        }
    }

    /// Returns the index of the first moment at which the violation of `property` has occurred.
    /// Returns `None` if the property is not violated at the current moment.
    pub(crate) fn moment_of_violation(&self, property: Property) -> Option<usize> {
        self.shown.violations.iter().find(|it| it.property == property).map(|it| it.moment)
    }

    /// Finds the moment of each violation in the report of `moment`. `shown` is the state of the
    /// run there. A violation that has occurred on the way to this moment and to the current moment
    /// is not searched again. Returns an error if the deadline has passed.
    fn locate_violations(
        &self,
        moment: usize,
        shown: &CurrentMoment,
        deadline: &Deadline,
    ) -> Result<Vec<LocatedViolation>, String> {
        let line = self.moments_to(moment);
        let findings = shown.report.findings.iter();
        let violated = findings.filter(|it| it.judgement == Judgement::Violated);
        let found = violated.filter_map(|it| Some((it.property, it.violation.as_ref()?)));
        let located = found.map(|(property, violation)| {
            let is_same = |it: &&LocatedViolation| {
                (it.property, &it.violation) == (property, violation) && line.contains(&it.moment)
            };
            let moment = match self.shown.violations.iter().find(is_same) {
                Some(known) => known.moment,
                None => {
                    let records = &shown.records;
                    self.locate_violation(property, violation, records, &line, deadline)?
                }
            };
            Ok(LocatedViolation { property, violation: violation.clone(), moment })
        });
        located.collect()
    }

    /// Returns the index of the first moment at which `violation` has occurred. The search covers
    /// the moments in `line`, which begins with the first moment of the run. `records` is the trace
    /// of the run up to the last of these moments. If no record shows the violation, the search
    /// uses its time. If that fails, the result is the last moment. Returns an error if the
    /// deadline has passed.
    fn locate_violation(
        &self,
        property: Property,
        violation: &FirstViolation,
        records: &[Record],
        line: &[usize],
        deadline: &Deadline,
    ) -> Result<usize, String> {
        let candidates = self.moments_with_records_of(violation, records, line);
        let Some((last, earlier)) = candidates.split_last() else {
            let by_time = line.iter().find(|place| self.moments[**place].time >= violation.time);
            return Ok(*by_time.unwrap_or(&line[line.len() - 1]));
        };
        // The process took several steps at this time. Repeats the run up to some of them.
        let (mut from, mut to) = (0, earlier.len());
        while from < to {
            let middle = from.midpoint(to);
            match self.is_violated_at(earlier[middle], property, violation, deadline)? {
                true => to = middle,
                false => from = middle + 1,
            }
        }
        Ok(earlier.get(from).copied().unwrap_or(*last))
    }

    /// Returns those moments of `line` whose records contain a record of the process and the time
    /// of the violation.
    fn moments_with_records_of(
        &self,
        violation: &FirstViolation,
        records: &[Record],
        line: &[usize],
    ) -> Vec<usize> {
        let subject = RecordSubject::Process(violation.at);
        let records = records.iter().enumerate();
        let shows = records.filter(|(_, it)| it.time == violation.time && it.process == subject);
        let moments = shows.filter_map(|(number, _)| {
            let later =
                line.partition_point(|place| self.moments[*place].records as usize <= number);
            line.get(later).copied()
        });
        let mut moments: Vec<usize> = moments.collect();
        moments.dedup();
        moments
    }

    /// Returns true if the report at a moment contains this violation. Returns an error if the run
    /// cannot be repeated up to the moment before the deadline.
    fn is_violated_at(
        &self,
        moment: usize,
        property: Property,
        violation: &FirstViolation,
        deadline: &Deadline,
    ) -> Result<bool, String> {
        let (path, stay) = (self.path(moment), RunContinuation::Steps(0));
        let view = replay_path(&self.run, &path, &stay, &mut Vec::new(), deadline);
        let view = view.map_err(ReplayError::description)?;
        let mut findings = view.report.findings.iter();
        Ok(findings.any(|it| it.property == property && it.violation.as_ref() == Some(violation)))
    }
}

/// Reason why a run could not be repeated and continued.
enum ReplayError {
    /// An action or a step is not possible, the trace is faulty, the deadline has passed, or the
    /// client has disconnected. The field describes the problem.
    Refused(String),
    /// A handler of the algorithm panicked. The field is the message of the panic.
    Panicked(String),
}

impl ReplayError {
    fn description(self) -> String {
        let (ReplayError::Refused(description) | ReplayError::Panicked(description)) = self;
        description
    }
}

/// Repeats the run along the transitions in `path`. Then takes the steps or the action that
/// `advance` requests. Appends the new moments to `reached`. If the algorithm panics, returns an
/// error, and `reached` contains the moments before the panic.
fn replay_path(
    run: &RunSpec,
    path: &[Transition],
    advance: &RunContinuation,
    reached: &mut Vec<ReachedMoment>,
    deadline: &Deadline,
) -> Result<MomentView, ReplayError> {
    // After a panic, only the moments in `reached` are used, each of which is complete.
    let made = catch_unwind(AssertUnwindSafe(|| {
        run.engine.replay_and_advance(path, advance, reached, deadline)
    }));
    match made {
        Ok(shown) => shown.map_err(ReplayError::Refused),
        Err(panic) => Err(ReplayError::Panicked(panic_message(&*panic))),
    }
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("a handler panicked").to_owned()
}
