//! A run behind a wall: the server does not know which protocol it is.

use std::io::Write;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tenure_core::{Card, Protocol};
use tenure_sim::{Halt, Report, Session, Simulation, Steer};
use tenure_trace::{Action, Course, Recorded, Trace};

use crate::ground::Ground;
use crate::look::Look;
use crate::patience::Patience;

/// How one moment comes from another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The next thing that the simulator would do.
    Step,
    /// What somebody did.
    Act(Action),
}

/// What is to happen at the end of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Then {
    /// At most so many steps.
    Steps(u64),
    /// At most so many steps, until a user is told something.
    UntilTold(u64),
    /// What somebody does.
    Act(Action),
}

/// A moment that was reached at the end of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// How.
    pub cause: Cause,
    /// What it was, in words.
    pub says: String,
    /// When, in ticks.
    pub time: u64,
    /// How many records of the trace there were then.
    pub records: u64,
}

/// Who makes runs: it knows the algorithms and what their options mean.
pub trait Workshop: Send + Sync + 'static {
    /// The algorithms, as data.
    fn algorithms(&self) -> Value;

    /// A run from what would follow `tenure simulate`.
    ///
    /// # Errors
    ///
    /// What is wrong with the words, in a sentence.
    fn of_words(&self, words: &[String]) -> Result<Apparatus, String>;

    /// A run that begins along a recorded one.
    ///
    /// # Errors
    ///
    /// Why the trace is not one that can be made again, in a sentence.
    fn of_trace(&self, trace: &Trace) -> Result<Apparatus, String>;
}

/// A run that can be made, as often as one likes.
pub struct Apparatus {
    /// What follows `tenure simulate`, or where the run comes from.
    pub words: String,
    /// The algorithm's card.
    pub card: Card,
    /// How many processes there are.
    pub size: u32,
    /// Where they stand in the picture.
    pub ground: Ground,
    /// The command that makes the run again; nothing where no command does.
    pub replay: Option<String>,
    /// What is done in it before anybody looks, in the order of the steps.
    pub steers: Vec<Steer>,
    /// How many steps are taken before anybody looks.
    pub steps: u64,
    /// What makes it.
    pub engine: Box<dyn Engine>,
}

/// Makes the same run again and again, each time to some moment.
pub trait Engine: Send + Sync {
    /// Goes along a path from the beginning, and does one thing more. Each moment that is reached
    /// by that is noted in `marks` at once, so that they are known if a handler panics.
    ///
    /// # Errors
    ///
    /// What is not possible, in a sentence, or that patience ended on the way. Where it ends
    /// behind the path, what was reached is shown.
    fn go(
        &self,
        path: &[Cause],
        then: &Then,
        marks: &mut Vec<Mark>,
        patience: &Patience,
    ) -> Result<Shown, String>;
}

/// What there is to see at a moment.
pub struct Shown {
    /// The processes, what is under way, and what comes next.
    pub(crate) look: Look,
    /// What the simulator's judges say of the run up to there.
    pub(crate) report: Report,
    /// The trace up to there.
    pub(crate) trace: Vec<u8>,
}

/// The runs of one simulation, perhaps along a course at first.
pub struct Run<P: Protocol> {
    simulation: Simulation<P>,
    course: Option<Course>,
}

impl<P: Protocol> Run<P> {
    /// The runs of a simulation.
    pub fn new(simulation: Simulation<P>) -> Self {
        Run { simulation, course: None }
    }

    /// Runs that begin along a course.
    pub fn along(simulation: Simulation<P>, course: Course) -> Self {
        Run { simulation, course: Some(course) }
    }
}

impl<P: Recorded> Run<P> {
    fn session(&self, page: &Page) -> Result<Session<'_, P>, String> {
        match &self.course {
            None => self.simulation.session(page.clone()).map_err(|error| error.to_string()),
            Some(course) => {
                let session = self.simulation.session_along(course, page.clone());
                session.map_err(|error| error.to_string())
            }
        }
    }
}

impl<P: Recorded> Engine for Run<P> {
    fn go(
        &self,
        path: &[Cause],
        then: &Then,
        marks: &mut Vec<Mark>,
        patience: &Patience,
    ) -> Result<Shown, String> {
        let page = Page::default();
        let mut session = self.session(&page)?;
        for cause in path {
            patience.check()?;
            match cause {
                Cause::Step => taken(session.step())?,
                Cause::Act(action) => session.steer(action).map_err(|no| no.to_string())?,
            }
        }
        match then {
            Then::Act(action) => {
                session.steer(action).map_err(|no| no.to_string())?;
                let says = action.to_string();
                marks.push(mark(&session, Cause::Act(action.clone()), says));
            }
            Then::Steps(most) => steps(&mut session, *most, false, marks, patience)?,
            Then::UntilTold(most) => steps(&mut session, *most, true, marks, patience)?,
        }
        // Nothing but the end itself is left: it is reached, so that the judges know.
        if session.next().is_none() {
            taken(session.step())?;
        }
        let look = Look::at(&session);
        let report = session.finish().map_err(|error| error.to_string())?;
        let trace = std::mem::take(&mut *page.0.lock().expect("nobody panics while writing"));
        Ok(Shown { look, report, trace })
    }
}

fn steps<P: Recorded>(
    session: &mut Session<'_, P>,
    most: u64,
    until_told: bool,
    marks: &mut Vec<Mark>,
    patience: &Patience,
) -> Result<(), String> {
    let told = session.told();
    for taken_so_far in 0..most {
        if taken_so_far > 0 && patience.is_over() {
            break;
        }
        patience.check()?;
        let Some(next) = session.next() else { break };
        match session.step() {
            Ok(()) => marks.push(mark(session, Cause::Step, next.says)),
            Err(Halt::Ended(_)) => break,
            Err(halt) => return taken(Err(halt)),
        }
        if until_told && session.told() > told {
            break;
        }
    }
    Ok(())
}

fn mark<P: Recorded>(session: &Session<'_, P>, cause: Cause, says: String) -> Mark {
    Mark { cause, says, time: session.now(), records: session.records() }
}

/// A step that finds the end is none; one that a course wants and cannot have is a failure.
fn taken(step: Result<(), Halt>) -> Result<(), String> {
    match step {
        Ok(()) | Err(Halt::Ended(_)) => Ok(()),
        Err(Halt::Impossible(why)) => Err(format!("the recorded run cannot go on: {why}")),
    }
}

/// A trace in memory that outlives its writer.
#[derive(Clone, Default)]
struct Page(Arc<Mutex<Vec<u8>>>);

impl Write for Page {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("nobody panics while writing").write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
