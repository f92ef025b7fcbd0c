//! One algorithm under somebody's hands: the tree of moments, and where they are.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use tenure_core::Property;
use tenure_sim::{FirstViolation, Judgement, Report, Steer};
use tenure_trace::{Header, Reader, Record, Who};

use crate::act::Act;
use crate::engine::{Apparatus, Cause, Mark, Shown, Then};
use crate::look::Look;
use crate::patience::Patience;

/// How many moments a sitting keeps.
const MOST_MOMENTS: usize = 50_000;

/// How many steps are taken at once.
pub(crate) const MOST_STEPS: u64 = 10_000;

/// How large a group may be: what is drawn is to be seen.
const MOST_PROCESSES: u32 = 64;

/// A moment of a sitting.
#[derive(Clone, Debug)]
pub(crate) struct Moment {
    pub(crate) parent: Option<usize>,
    cause: Cause,
    pub(crate) says: String,
    pub(crate) time: u64,
    records: u64,
    /// Whether something that the card promises is violated.
    pub(crate) violated: bool,
    /// A handler broke down on the way here, and what it said.
    pub(crate) broken: Option<String>,
}

/// One algorithm under somebody's hands.
pub(crate) struct Sitting {
    pub(crate) apparatus: Apparatus,
    pub(crate) moments: Vec<Moment>,
    pub(crate) at: usize,
    pub(crate) shown: Present,
}

/// What there is to see at the present moment.
pub(crate) struct Present {
    pub(crate) look: Look,
    pub(crate) report: Report,
    pub(crate) text: Vec<u8>,
    pub(crate) header: Header,
    pub(crate) records: Vec<Record>,
}

impl Present {
    fn of(shown: Shown) -> Result<Self, String> {
        let Shown { look, report, trace: text } = shown;
        let reader = Reader::new(&*text, "lab").map_err(|error| error.to_string())?;
        let header = reader.header().clone();
        let records = reader.collect::<Result<_, _>>().map_err(|error| error.to_string())?;
        Ok(Present { look, report, text, header, records })
    }
}

impl Sitting {
    /// Sits down at the beginning.
    pub(crate) fn new(apparatus: Apparatus, patience: &Patience) -> Result<Self, String> {
        if apparatus.size > MOST_PROCESSES {
            let size = apparatus.size;
            return Err(format!("the lab shows up to {MOST_PROCESSES} processes, not {size}"));
        }
        let shown = played(&apparatus, &[], &Then::Steps(0), &mut Vec::new(), patience);
        let shown = Present::of(shown.map_err(Fault::says)?)?;
        let beginning = Moment {
            parent: None,
            cause: Cause::Step,
            says: "begin".to_owned(),
            time: 0,
            records: shown.records.len() as u64,
            violated: false,
            broken: None,
        };
        let mut sitting = Sitting { apparatus, moments: vec![beginning], at: 0, shown };
        sitting.catch_up(patience)?;
        Ok(sitting)
    }

    /// Does what is to be done before anybody looks.
    fn catch_up(&mut self, patience: &Patience) -> Result<(), String> {
        let mut steps = 0;
        for Steer { after_step, action } in std::mem::take(&mut self.apparatus.steers) {
            self.walk(after_step.saturating_sub(steps), patience)?;
            steps = steps.max(after_step);
            self.go_on(&Then::Act(action), patience)?;
        }
        self.walk(self.apparatus.steps.saturating_sub(steps), patience)
    }

    fn walk(&mut self, steps: u64, patience: &Patience) -> Result<(), String> {
        if steps > MOST_STEPS {
            return Err(format!("the lab takes up to {MOST_STEPS} steps at once, not {steps}"));
        }
        if steps == 0 { Ok(()) } else { self.go_on(&Then::Steps(steps), patience) }
    }

    /// Takes steps, if there are any.
    pub(crate) fn step(&mut self, then: &Then, patience: &Patience) -> Result<(), String> {
        self.go_on(then, patience)
    }

    /// Does what somebody wants.
    pub(crate) fn act(&mut self, act: &Act, patience: &Patience) -> Result<(), String> {
        self.go_on(&Then::Act(act.action(&self.shown.look)?), patience)
    }

    /// Goes to a moment that was reached before.
    pub(crate) fn go(&mut self, moment: usize, patience: &Patience) -> Result<bool, String> {
        if moment >= self.moments.len() {
            return Ok(false);
        }
        let (path, stay) = (self.path(moment), Then::Steps(0));
        let shown = played(&self.apparatus, &path, &stay, &mut Vec::new(), patience);
        self.shown = Present::of(shown.map_err(Fault::says)?)?;
        self.at = moment;
        Ok(true)
    }

    fn go_on(&mut self, then: &Then, patience: &Patience) -> Result<(), String> {
        if let Some(broken) = &self.moments[self.at].broken {
            return Err(format!("{broken}; go back to do something else"));
        }
        if self.moments.len() >= MOST_MOMENTS {
            let says = "moments are enough for one sitting; start another";
            return Err(format!("{MOST_MOMENTS} {says}"));
        }
        let (path, mut marks) = (self.path(self.at), Vec::new());
        let (shown, panicked) = match played(&self.apparatus, &path, then, &mut marks, patience) {
            Ok(shown) => (shown, None),
            Err(Fault::Refused(says)) => return Err(says),
            Err(Fault::Panicked(says)) => {
                // What there was before is shown: the run to the last moment that was reached.
                let causes = marks.iter().map(|mark| mark.cause.clone());
                let path: Vec<Cause> = path.into_iter().chain(causes).collect();
                let stay = Then::Steps(0);
                let before = played(&self.apparatus, &path, &stay, &mut Vec::new(), patience);
                (before.map_err(Fault::says)?, Some(says))
            }
        };
        let shown = Present::of(shown)?;
        for mark in marks {
            self.at = self.reach(mark, None);
        }
        self.shown = shown;
        self.mark_violations();
        if let Some(says) = panicked {
            let cause = match then {
                Then::Act(action) => Cause::Act(action.clone()),
                _ => Cause::Step,
            };
            let Moment { time, records, .. } = self.moments[self.at];
            let says = format!("the algorithm broke down: {says}");
            let mark = Mark { cause, says: says.clone(), time, records };
            self.at = self.reach(mark, Some(says));
        }
        Ok(())
    }

    /// The moment that a mark leads to from here: an old one, if that was done before.
    fn reach(&mut self, mark: Mark, broken: Option<String>) -> usize {
        let here = Some(self.at);
        let mut later = self.moments.iter().skip(self.at + 1);
        let known = later.position(|it| it.parent == here && it.cause == mark.cause);
        if let Some(place) = known {
            return self.at + 1 + place;
        }
        let Mark { cause, says, time, records } = mark;
        let violated = self.moments[self.at].violated;
        self.moments.push(Moment { parent: here, cause, says, time, records, violated, broken });
        self.moments.len() - 1
    }

    /// The moments from the beginning to one.
    pub(crate) fn line(&self, moment: usize) -> Vec<usize> {
        let parent = |place: &usize| self.moments[*place].parent;
        let mut line: Vec<usize> = std::iter::successors(Some(moment), parent).collect();
        line.reverse();
        line
    }

    /// What was done from the beginning to a moment, as far as it did not break down.
    fn path(&self, moment: usize) -> Vec<Cause> {
        let line = self.line(moment).into_iter().skip(1).map(|place| &self.moments[place]);
        let whole = line.take_while(|moment| moment.broken.is_none());
        whole.map(|moment| moment.cause.clone()).collect()
    }

    /// What was done by hand on the way to here, each after how many steps; and how many steps
    /// there were.
    pub(crate) fn steers(&self) -> (Vec<Steer>, u64) {
        let (mut steers, mut after_step) = (Vec::new(), 0);
        for cause in self.path(self.at) {
            match cause {
                Cause::Step => after_step += 1,
                Cause::Act(action) => steers.push(Steer { after_step, action }),
            }
        }
        (steers, after_step)
    }

    /// The records of what led here.
    pub(crate) fn happened(&self) -> &[Record] {
        let Moment { parent, records, .. } = &self.moments[self.at];
        let from = parent.map_or(0, |parent| self.moments[parent].records);
        let all = &self.shown.records;
        let (from, to) = (from as usize, (*records as usize).min(all.len()));
        all.get(from..to).unwrap_or_default()
    }

    /// Whether the card promises this property.
    pub(crate) fn is_promised(&self, property: Property) -> bool {
        self.apparatus.card.promised(Some(0)).any(|promise| promise.implies(property))
    }

    fn mark_violations(&mut self) {
        let findings = self.shown.report.findings.iter();
        let counted = findings
            .filter(|it| it.judgement == Judgement::Violated && self.is_promised(it.property))
            .filter_map(|finding| self.moment_of(finding.violation.as_ref()?));
        let Some(first) = counted.min() else { return };
        for place in self.line(self.at) {
            if place >= first {
                self.moments[place].violated = true;
            }
        }
    }

    /// The moment on the way to here at which something was violated.
    pub(crate) fn moment_of(&self, violation: &FirstViolation) -> Option<usize> {
        let line = self.line(self.at);
        let is_told = |record: &&Record| {
            record.time == violation.time && record.process == Who::Process(violation.at)
        };
        let number = self.shown.records.iter().rposition(|record| is_told(&record));
        let by_record = number.and_then(|number| {
            line.iter().find(|place| self.moments[**place].records as usize > number)
        });
        let by_time = || line.iter().find(|place| self.moments[**place].time >= violation.time);
        by_record.or_else(by_time).or(line.last()).copied()
    }
}

/// Why a moment could not be reached.
enum Fault {
    /// It is not possible.
    Refused(String),
    /// A handler of the algorithm panicked.
    Panicked(String),
}

impl Fault {
    fn says(self) -> String {
        let (Fault::Refused(says) | Fault::Panicked(says)) = self;
        says
    }
}

/// Makes the run. An algorithm that is wrong may panic; that is caught.
fn played(
    apparatus: &Apparatus,
    path: &[Cause],
    then: &Then,
    marks: &mut Vec<Mark>,
    patience: &Patience,
) -> Result<Shown, Fault> {
    // Nothing of the run is used after a panic: what is left are the marks, each whole.
    let made = catch_unwind(AssertUnwindSafe(|| apparatus.engine.go(path, then, marks, patience)));
    match made {
        Ok(shown) => shown.map_err(Fault::Refused),
        Err(panic) => Err(Fault::Panicked(words(&*panic))),
    }
}

fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("a handler panicked").to_owned()
}
