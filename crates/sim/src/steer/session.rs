//! A run that somebody steps through, looks at, and meddles with.

use std::collections::{BTreeMap, VecDeque};
use std::io::Write;
use std::str::FromStr;

use tenure_core::{Labelled, ProcessId, Protocol, TICKS_PER_UNIT};
use tenure_trace::{Action, Course, FollowError, Impossible, Pick, Recorded, Theatre, WriteError};

use crate::engine::controls::Controls;
use crate::figures::report::{Ended, Report};
use crate::settings::refusal::SettingsError;
use crate::sim::{RunError, Simulation};
use crate::steer::next::Next;
use crate::steer::recorder::Recorder;
use crate::steer::steered::Steered;

/// What somebody does in a run that would not have happened by itself, and when.
///
/// In words: `12 lose p2→p1 request`, after step 12.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Steer {
    /// After how many steps of the run; what is done by others is no step.
    pub after_step: u64,
    /// What is done.
    pub action: Action,
}

impl FromStr for Steer {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = || format!("`{text}` is no step and action; write '12 lose p2→p1 request'");
        let (step, action) = text.trim().split_once(' ').ok_or_else(form)?;
        let after_step = step.parse().map_err(|_| form())?;
        Ok(Steer { after_step, action: action.parse()? })
    }
}

impl std::fmt::Display for Steer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.after_step, self.action)
    }
}

/// The options of a command that steers a run: `--steer '12 crash p3' --steps 20`.
pub fn steering_options(steers: &[Steer], most: Option<u64>) -> String {
    let steers = steers.iter().map(|steer| format!(" --steer '{steer}'"));
    let most = most.map(|most| format!(" --steps {most}"));
    steers.chain(most).collect()
}

/// A steered run could not be made. What was written of its trace is not complete.
#[derive(Debug, thiserror::Error)]
pub enum SteerError {
    /// Nothing was run, or the trace could not be written.
    #[error(transparent)]
    Run(#[from] RunError),
    /// What should be done is not possible then.
    #[error("`{0}` is not possible: the run is not such after that step")]
    Impossible(Steer),
    /// The run was over before.
    #[error("`{steer}` comes too late: the run is over after step {steps}")]
    Over {
        /// What should be done.
        steer: Steer,
        /// How many steps there are.
        steps: u64,
    },
    /// The steers are not in the order of their steps.
    #[error("`{0}` stands behind one of a later step")]
    Order(Steer),
}

/// A step was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Halt {
    /// The run is over.
    Ended(Ended),
    /// The course that is followed wants something that is not possible.
    Impossible(Impossible),
}

/// A message under way.
#[derive(Debug)]
pub struct UnderWay<'s, M> {
    /// Its number in the trace; of several copies, only the first has just that.
    pub id: u64,
    /// Its number in the trace, which copies share.
    pub number: u64,
    /// Who sent it.
    pub from: ProcessId,
    /// To whom.
    pub to: ProcessId,
    /// What it says.
    pub message: &'s M,
    /// When it arrives, if nothing comes between, in ticks.
    pub due: u64,
    /// How an [`Action`] says which one is meant.
    pub pick: Pick,
}

/// A run that is stepped through: the simulator itself, paused between two events.
///
/// Stepped to its end it is the run that [`Simulation::run_traced`] makes, to the byte. In
/// between, [`Session::steer`] does what would not have happened by itself.
pub struct Session<'a, P: Protocol> {
    simulation: &'a Simulation<P>,
    pub(crate) steered: Steered<'a, P>,
    /// The course that is followed instead of the queue, as far as it is still to come.
    course: Option<VecDeque<Action>>,
    pub(crate) begun: bool,
    /// Whether something was done that would not have happened by itself.
    meddled: bool,
    steps: u64,
    /// How many turns are left until the next look at limits.
    turns: u64,
    /// Whether a user was drawn who has asked, in a turn that is not over.
    drawn: bool,
    ended: Option<Ended>,
}

impl<P: Recorded> Simulation<P> {
    /// Boots the processes of a run and waits; what happens is written to `to`.
    ///
    /// # Errors
    ///
    /// As [`Simulation::run_traced`].
    pub fn session(&self, to: impl Write + Send + 'static) -> Result<Session<'_, P>, RunError> {
        let mut steered = Steered::new(self.recorded_world(to)?);
        steered.world.boot();
        Ok(Session::new(self, steered, None))
    }

    /// Boots the processes of a course, whose actions are the first steps; then, or as soon as
    /// somebody does something else, it goes on as a run.
    ///
    /// # Errors
    ///
    /// As [`Simulation::follow`], but for steps that are not possible, which come to light when
    /// they are taken.
    pub fn session_along(
        &self,
        course: &Course,
        to: impl Write + Send + 'static,
    ) -> Result<Session<'_, P>, FollowError<RunError>> {
        let steered = self.boot_along(course, to)?;
        Ok(Session::new(self, steered, Some(course.actions.iter().cloned().collect())))
    }

    /// Runs once and does what the steers say; after `most` steps, if that is said, the run is
    /// stopped. Writes what happens to `to`.
    ///
    /// # Errors
    ///
    /// [`SteerError`] at the first steer that cannot be done.
    pub fn run_steered(
        &self,
        steers: &[Steer],
        most: Option<u64>,
        to: impl Write + Send + 'static,
        mut controls: Controls<'_>,
    ) -> Result<Report, SteerError> {
        let mut session = self.session(to)?;
        for steer in steers {
            if steer.after_step < session.steps {
                return Err(SteerError::Order(steer.clone()));
            }
            while session.steps < steer.after_step {
                if session.step_with(&mut controls).is_err() {
                    let steps = session.steps;
                    return Err(SteerError::Over { steer: steer.clone(), steps });
                }
            }
            let done = session.steer(&steer.action);
            done.map_err(|_| SteerError::Impossible(steer.clone()))?;
        }
        let most = most.unwrap_or(u64::MAX);
        while session.steps < most && session.step_with(&mut controls).is_ok() {}
        session.finish().map_err(|error| SteerError::Run(error.into()))
    }
}

impl<'a, P: Recorded> Session<'a, P> {
    fn new(
        simulation: &'a Simulation<P>,
        steered: Steered<'a, P>,
        course: Option<VecDeque<Action>>,
    ) -> Self {
        let begun = course.is_some();
        Session {
            simulation,
            steered,
            course,
            begun,
            meddled: begun,
            steps: 0,
            turns: 0,
            drawn: false,
            ended: None,
        }
    }

    /// Takes the next step. The first one is that everything begins: users ask as planned.
    ///
    /// # Errors
    ///
    /// [`Halt`] when there is none.
    pub fn step(&mut self) -> Result<(), Halt> {
        self.step_with(&mut Controls::new())
    }

    fn step_with(&mut self, controls: &mut Controls<'_>) -> Result<(), Halt> {
        if let Some(course) = &mut self.course {
            while let Some(action) = course.pop_front() {
                let is_last = course.is_empty();
                self.steered.perform(&action).map_err(Halt::Impossible)?;
                if !action.is_step() {
                    continue;
                }
                self.steps += 1;
                if is_last {
                    self.leave_course();
                }
                return Ok(());
            }
            self.leave_course();
        }
        if let Some(ended) = self.ended {
            return Err(Halt::Ended(ended));
        }
        if !self.begun {
            self.begun = true;
            self.steps += 1;
            self.steered.world.begin(&Controls::new());
            return Ok(());
        }
        loop {
            let idle = self.is_idle();
            if let Some(ended) = self.turn(controls) {
                self.ended = Some(ended);
                return Err(Halt::Ended(ended));
            }
            if self.drawn || !idle {
                self.steps += 1;
                return Ok(());
            }
        }
    }

    /// One turn of the run's own loop, with a look at limits as often as it has. A turn that
    /// begins with a user who is drawn is two.
    fn turn(&mut self, controls: &mut Controls<'_>) -> Option<Ended> {
        let world = &mut self.steered.world;
        if std::mem::take(&mut self.drawn) {
            return world.advance();
        }
        if self.turns == 0 {
            if let Some(ended) = world.pause(controls) {
                return Some(ended);
            }
            self.turns = world.chunk();
        }
        self.turns -= 1;
        if world.draws() {
            self.drawn = world.draw();
            return None;
        }
        world.turn()
    }

    /// Does what would not have happened by itself. What is planned happens all the same, but
    /// for the rest of a course.
    ///
    /// # Errors
    ///
    /// [`Impossible`].
    pub fn steer(&mut self, action: &Action) -> Result<(), Impossible> {
        let of_courses = matches!(
            action,
            Action::Tell { .. } | Action::Hear(_) | Action::Split(_) | Action::Heal
        );
        if of_courses || self.steered.act(action).is_none() {
            return Err(Impossible::Now(action.clone()));
        }
        self.leave_course();
        self.meddled = true;
        (self.ended, self.drawn) = (None, false);
        Ok(())
    }

    fn leave_course(&mut self) {
        if self.course.take().is_some() {
            self.steered.let_go(TICKS_PER_UNIT);
        }
    }

    /// How many steps were taken.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// The time, in ticks.
    pub fn now(&self) -> u64 {
        self.steered.world.core.now
    }

    /// How many records there are in the trace.
    pub fn records(&self) -> u64 {
        self.steered.world.core.recorder.as_ref().map_or(0, Recorder::records)
    }

    /// How often users were told something.
    pub fn told(&self) -> u64 {
        self.steered.world.core.recorder.as_ref().map_or(0, Recorder::told)
    }

    /// All processes, also those that are down: then they are as they were when they crashed.
    pub fn processes(&self) -> &[P] {
        &self.steered.world.processes
    }

    /// Whether a process is up.
    pub fn is_up(&self, process: ProcessId) -> bool {
        self.steered.world.core.up.get(process.index()).is_some_and(|up| *up)
    }

    /// The armed timers of all processes, and when they fire, in ticks; the soonest first.
    pub fn timers(&self) -> Vec<(ProcessId, &P::Timer, u64)> {
        let world = &self.steered.world;
        let acts = world.core.agenda.in_order().into_iter();
        acts.filter_map(|(due, act)| match act {
            crate::engine::agenda::Act::Timer { slot, generation } => {
                let (at, timer) = world.timers.armed_in(*slot, *generation)?;
                Some((at, timer, due))
            }
            _ => None,
        })
        .collect()
    }

    /// What is under way, the oldest first.
    pub fn under_way(&self) -> Vec<UnderWay<'_, P::Message>> {
        let mut all: Vec<UnderWay<'_, P::Message>> = Vec::new();
        let (mut alike, mut copies) = (BTreeMap::new(), BTreeMap::new());
        for sent in self.steered.under_way() {
            let (letter, number) = (sent.letter, sent.number);
            let kind = letter.message.label().kind;
            let ordinal = alike.entry((letter.from, letter.to, kind)).or_insert(0);
            *ordinal += 1;
            let mut pick = Pick::oldest(letter.from, letter.to);
            (pick.kind, pick.ordinal) = (Some(kind.to_owned()), *ordinal);
            let copy: &mut u64 = copies.entry(number).or_default();
            all.push(UnderWay {
                id: number + (*copy << 32),
                number,
                from: letter.from,
                to: letter.to,
                message: &letter.message,
                due: sent.due,
                pick,
            });
            *copy += 1;
        }
        all
    }

    /// What the next step does; nothing when the run is over.
    pub fn next(&self) -> Option<Next> {
        match &self.course {
            Some(course) if !course.is_empty() => {
                course.iter().find(|it| it.is_step()).and_then(|it| self.next_of_course(it))
            }
            _ if self.ended.is_some() => None,
            _ => self.next_by_itself(),
        }
    }

    /// Ends the run where it is and tells of it, as complete as it has become.
    ///
    /// # Errors
    ///
    /// [`WriteError`] when the trace could not be written.
    pub fn finish(self) -> Result<Report, WriteError> {
        let ended = self.ended.unwrap_or(Ended::Stopped);
        let (mut report, _, recorder) = self.simulation.reported(self.steered.world, ended);
        if !self.meddled {
            self.simulation.judge_cost(&mut report);
        }
        recorder.map_or(Ok(()), Recorder::finish)?;
        Ok(report)
    }
}

impl From<SettingsError> for SteerError {
    fn from(error: SettingsError) -> Self {
        SteerError::Run(error.into())
    }
}
