//! A run whose every step is said: nothing is left to latency, seeds or timers.

use std::io::Write;

use tenure_core::{Labelled, Order, ProcessId, Protocol, TICKS_PER_UNIT};
use tenure_trace::{Action, Course, Pick, Spoken, WriteError, timer_named};

use crate::core::Core;
use crate::happenings::Todo;
use crate::recorder::Recorder;
use crate::world::{Letter, World, lose, trace_duplicate};
use crate::{
    Ended, Fault, Network, Report, Settings, SettingsError, Simulation, UserCommand, UserEvent,
    When,
};

/// A course could not be followed. What was written of its trace is not complete.
#[derive(Debug, thiserror::Error)]
pub enum FollowError {
    /// No group could do so.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The trace could not be written.
    #[error(transparent)]
    Trace(#[from] WriteError),
    /// The group is of another size.
    #[error("the course is one of {course} processes, the simulation of {simulation}")]
    Size {
        /// How many the course has.
        course: u32,
        /// How many the simulation has.
        simulation: u32,
    },
    /// A step is not possible.
    #[error("step {step}, `{action}`, is not possible")]
    Impossible {
        /// Which, from 1.
        step: usize,
        /// What should be done.
        action: Action,
    },
}

/// How much time passes with each step, in ticks: more than the unit that a message takes.
const STEP: u64 = 2 * TICKS_PER_UNIT;

impl<P: Protocol> Simulation<P>
where
    P::Command: UserCommand + Spoken,
    P::Event: UserEvent,
{
    /// Takes the steps of a course, and no others, and writes what happens to `to`. Of the
    /// settings, only what is watched counts.
    ///
    /// # Errors
    ///
    /// [`FollowError`] at the first step that is not possible.
    pub fn follow(
        &self,
        course: &Course,
        to: impl Write + Send + 'static,
    ) -> Result<Report, FollowError> {
        self.check()?;
        let simulation = self.settings().size;
        if course.size != simulation {
            return Err(FollowError::Size { course: course.size, simulation });
        }
        let recorder = Recorder::new(Box::new(to), &self.header())?;
        let core = Core::new(self.steered(course), Self::offers(), Some(recorder));
        let world = World::new(core, &self.configs, &[], Vec::new(), None);
        let mut steered = Steered { world, held: Vec::new(), told: Vec::new() };
        steered.world.boot();
        steered.hold();
        for (place, action) in course.actions.iter().enumerate() {
            steered.world.core.now += STEP;
            if steered.perform(action).is_none() {
                return Err(FollowError::Impossible { step: place + 1, action: action.clone() });
            }
            steered.hold();
        }
        let Steered { mut world, held, .. } = steered;
        for letter in held {
            world.mail.push(world.core.now + STEP, letter);
        }
        let (report, _, recorder) = self.reported(world, Ended::Quiescent);
        recorder.map_or(Ok(()), Recorder::finish)?;
        Ok(report)
    }

    /// Settings in which nothing happens by itself.
    fn steered(&self, course: &Course) -> Settings {
        let plain = Settings::new(course.size);
        let crash =
            |process| Fault::Crash { process, when: When::OnMessage(u64::MAX), recovery: None };
        Settings {
            down: course.down.clone(),
            network: Network { order: Some(Order::Reordered), ..Network::default() },
            detector: None,
            faults: (0..course.size).map(|place| crash(ProcessId(place))).collect(),
            watch: self.settings().watch.clone(),
            ranks: self.settings().ranks.clone(),
            beyond_assumptions: true,
            ..plain
        }
    }
}

/// A world that does what it is told.
struct Steered<'a, P: Protocol> {
    world: World<'a, P>,
    /// What is under way, the oldest first.
    held: Vec<Letter<P::Message>>,
    /// What users have said and not heard yet: from, to and number.
    told: Vec<(ProcessId, ProcessId, u32)>,
}

impl<P: Protocol> Steered<'_, P>
where
    P::Command: UserCommand + Spoken,
    P::Event: UserEvent,
{
    /// What was sent waits until it is told to arrive.
    fn hold(&mut self) {
        while let Some((_, letter)) = self.world.mail.pop() {
            self.held.push(letter);
        }
    }

    /// Performs one action; nothing where it is not possible.
    fn perform(&mut self, action: &Action) -> Option<()> {
        match action {
            Action::Ask(asking) => {
                let command = self.up(asking.at).and_then(|_| P::Command::understand(asking))?;
                self.world.command(asking.at, command);
            }
            Action::Deliver(pick) => {
                let letter = self.pick(pick).map(|place| self.held.remove(place))?;
                self.world.hand_over(letter);
            }
            Action::Lose(pick) => {
                let Letter { from, to, tag, message } =
                    self.pick(pick).map(|place| self.held.remove(place))?;
                self.world.core.dropped(message.label());
                lose(&mut self.world.core, from, to, tag, &message);
            }
            Action::Duplicate(pick) => self.duplicate(pick)?,
            Action::Tell { from, to } => {
                let chat = self.up(*from).map(|from| self.world.core.chat(from, *to, None))?;
                self.told.push((*from, *to, chat));
            }
            Action::Hear(pick) => {
                let mut link = self.told.iter().enumerate();
                let place = link
                    .by_ref()
                    .filter(|(_, told)| (told.0, told.1) == (pick.from, pick.to))
                    .nth(pick.ordinal.checked_sub(1)?)
                    .map(|(place, _)| place)?;
                let (_, _, chat) = self.told.remove(place);
                let todo = self.world.core.hear(chat);
                self.world.carry_out(todo);
            }
            Action::Fire { at, timer } => {
                let armed = self.world.timers.of(self.up(*at)?);
                let timer = timer_named(armed.iter(), timer)?.clone();
                self.world.timers.cancel(*at, &timer);
                self.world.fire(*at, timer);
            }
            Action::Crash(at) => {
                let todo = self.up(*at).map(|at| self.world.core.crash(at, at.0))?;
                self.world.carry_out(todo);
            }
            Action::Recover(at) => {
                let is_down = !self.world.core.up.get(at.index())?;
                is_down.then(|| {
                    self.world.carry_out(Todo::Recover { process: *at, lost: false });
                })?;
            }
            Action::Suspicion { at, peer, verdict } => {
                let (observer, peer, verdict) = (self.up(*at)?, *peer, *verdict);
                self.world.carry_out(Todo::Suspicion { observer, peer, verdict });
            }
            Action::Group(_) | Action::Channel(_) | Action::Stabilize { .. } | Action::Look(_) => {
                return None;
            }
        }
        Some(())
    }

    fn up(&self, at: ProcessId) -> Option<ProcessId> {
        self.world.core.up.get(at.index())?.then_some(at)
    }

    fn pick(&self, pick: &Pick) -> Option<usize> {
        let is = |letter: &Letter<P::Message>| {
            let kind = letter.message.label().kind;
            (letter.from, letter.to) == (pick.from, pick.to)
                && pick.kind.as_ref().is_none_or(|wanted| wanted == kind)
        };
        let mut alike = self.held.iter().enumerate().filter(|(_, letter)| is(letter));
        alike.nth(pick.ordinal.checked_sub(1)?).map(|(place, _)| place)
    }

    fn duplicate(&mut self, pick: &Pick) -> Option<()> {
        let place = self.pick(pick)?;
        let Letter { from, to, tag, message } = &self.held[place];
        let copy = Letter { from: *from, to: *to, tag: *tag, message: message.clone() };
        let core = &mut self.world.core;
        core.duplicated(copy.message.label());
        core.copy_tag(copy.tag);
        trace_duplicate(core, copy.from, copy.to, copy.tag, &copy.message);
        self.held.insert(place + 1, copy);
        Some(())
    }
}
