//! One run instead of all: the checker takes the steps that a course says.

use std::sync::Arc;

use tenure_core::ProcessId;
use tenure_core::service::agreement;
use tenure_trace::{
    Action, Course, FollowError, Impossible, Pick, Spoken, Theatre, Trace, timer_named,
};

use crate::check::Check;
use crate::model::processes::Processes;
use crate::refusal::Refusal;
use crate::tell::recorder::Recorder;
use crate::tell::replay::{Replay, Taken, What};
use crate::tell::told::header;
use crate::users::crashing::Saving;
use crate::users::entries::{Entries, EntriesOfAll};
use crate::users::user::Checkable;
use crate::world::action::{Action as Step, Kind};
use crate::world::rules::Rules;
use crate::world::start::first_worlds;
use crate::world::{Fault, Faults, MOST_FAULTS};

/// More messages than any course leaves on a link.
const ROOMY: usize = 200;

impl<P: Checkable> Check<P> {
    /// Takes the steps of a course, and no others, and tells what happens. Budgets, entries and
    /// the order of links are those that the course needs; time is asynchronous.
    ///
    /// # Errors
    ///
    /// [`FollowError`] at the first step that is not possible.
    pub fn follow(mut self, course: &Course) -> Result<Trace, FollowError<Refusal>> {
        course.fits(self.size)?;
        self.make_room(course);
        let (processes, rules) = self.assemble()?;
        let first = first_worlds(&processes, &rules, &course.down);
        let (world, fingerprint) = first.first().expect("everybody boots in some way");
        let mut follower = Follower::beginning(&processes, &rules, (world, *fingerprint));
        Theatre::follow(&mut follower, course)?;
        let header = header(&self.name, self.service, self.size);
        Ok(Trace { header, records: follower.recorder.finish(true), torn: None })
    }

    /// Lets everything happen that the course wants, as often as it wants it.
    fn make_room(&mut self, course: &Course) {
        let asked = |at: ProcessId| {
            let mine = |action: &&Action| matches!(action, Action::Ask(asking) if asking.at == at);
            let times = course.actions.iter().filter(mine).count();
            Entries::AtMost(u32::try_from(times).unwrap_or(u32::MAX))
        };
        let everybody: Vec<ProcessId> = (0..self.size).map(ProcessId).collect();
        self.entries = EntriesOfAll::OneByOne(everybody.iter().map(|at| asked(*at)).collect());
        self.initiators = Some(everybody);
        self.course = Some(course.actions.iter().filter_map(agreed::<P>).collect());
        self.down.clone_from(&course.down);
        self.order = tenure_core::Order::Reordered;
        self.synchronous = None;
        self.shifts = None;
        self.symmetry = None;
        self.detects = true;
        self.sessions = true;
        self.in_flight = ROOMY;
        let any = |is: fn(&Action) -> bool| course.actions.iter().any(is);
        self.saving = match () {
            () if any(|action| matches!(action, Action::Mute(_))) => Saving::Apart,
            () if any(|action| matches!(action, Action::Unsaved(_))) => Saving::Late,
            () => Saving::AtOnce,
        };
        self.judges.clear();
        self.selected.clear();
        self.side.clear();
        self.budget = [
            Fault::Loss,
            Fault::Duplication,
            Fault::Crash,
            Fault::Recovery,
            Fault::FalseSuspicion,
            Fault::ApplicationMessage,
        ]
        .into_iter()
        .fold(Faults::default(), |budget, fault| budget.with(fault, MOST_FAULTS));
    }
}

/// What an action asks of a service of agreement, if it does.
fn agreed<P: Checkable>(action: &Action) -> Option<(ProcessId, agreement::Command)> {
    let Action::Ask(asking) = action else { return None };
    Some((asking.at, P::Command::understand(asking)?.agreed()?))
}

/// A run that does what it is told.
pub(crate) struct Follower<'p, P: Checkable> {
    replay: Replay<'p, P>,
    recorder: Recorder<P>,
    /// What was done so far, each step with the fingerprint of the world before it.
    pub(crate) steps: Vec<(u64, Step)>,
    /// What is drawn in the next step, as far as it was said.
    drawn: Vec<u32>,
    /// Whose last step is not saved when they crash.
    unsaved: Vec<ProcessId>,
}

impl<P: Checkable> Theatre for Follower<'_, P> {
    /// Takes the step that an action asks for, if there is one.
    fn perform(&mut self, action: &Action) -> Result<(), Impossible> {
        if let Some(kind) = action.of_all() {
            self.recorder.of_all(kind);
            return Ok(());
        }
        match action {
            Action::Choose { value, .. } => {
                self.drawn.push(*value);
                return Ok(());
            }
            Action::Unsaved(at) => {
                self.unsaved.push(*at);
                return Ok(());
            }
            _ => {}
        }
        let found = self.replay.steps().into_iter().find(|step| self.is(action, *step));
        self.drawn.clear();
        let step = found.ok_or_else(|| Impossible::Now(action.clone()))?;
        match action {
            Action::Crash(at) => self.unsaved.retain(|unsaved| unsaved != at),
            Action::Deliver(pick) | Action::Lose(pick) | Action::Duplicate(pick) => {
                self.recorder.mean(pick, false);
            }
            Action::Hear(pick) => self.recorder.mean(pick, true),
            _ => {}
        }
        self.steps.push((self.replay.fingerprint, step));
        let taken = self.replay.take(step);
        let receiver_was_down = self.replay.is_down(taken.at);
        self.recorder.step(&taken, receiver_was_down);
        self.recorder.state(taken.at, self.replay.state(taken.at).as_ref());
        Ok(())
    }
}

impl<'p, P: Checkable> Follower<'p, P> {
    /// Before anything was done.
    pub(crate) fn beginning(
        processes: &'p Processes<P>,
        rules: &Arc<Rules>,
        (world, fingerprint): (&[u32], u64),
    ) -> Self {
        let replay = Replay::beginning(processes, rules, world, fingerprint);
        let recorder = Recorder::new(processes.setting.size);
        let mut follower = Follower {
            replay,
            recorder,
            steps: Vec::new(),
            drawn: Vec::new(),
            unsaved: Vec::new(),
        };
        follower.boot(processes);
        follower
    }

    fn boot(&mut self, processes: &Processes<P>) {
        for at in (0..processes.setting.size).map(ProcessId) {
            if self.replay.is_down(at) {
                self.recorder.boot(at, true, &[], &[]);
                continue;
            }
            let ran = processes.boot_into(at, self.replay.local(at));
            self.recorder.boot(at, false, &ran.messages, &ran.events);
            self.recorder.state(at, self.replay.state(at).as_ref());
        }
    }

    fn is(&mut self, action: &Action, step: Step) -> bool {
        let Taken { kind, at, what, drawn, .. } = self.replay.told(step);
        if self.drawn.iter().zip(&drawn).any(|(said, drawn)| *said != drawn.value) {
            return false;
        }
        match (action, what, kind) {
            (Action::Ask(asking), What::Command(command), _) => {
                asking.at == at && P::Command::understand(asking).as_ref() == Some(&command)
            }
            (Action::Fire { at: whose, timer: name }, What::Timer(timer), _) => {
                let armed = self.replay.armed(at);
                *whose == at && timer_named(armed.iter(), name) == Some(&timer)
            }
            (Action::Deliver(pick), What::Passage(from, to, message), Kind::Deliver)
            | (Action::Lose(pick), What::Passage(from, to, message), Kind::Lose)
            | (Action::Duplicate(pick), What::Passage(from, to, message), Kind::Duplicate) => {
                self.picks(pick, (from, to), &message, false)
            }
            (Action::Hear(pick), What::Passage(from, to, None), Kind::Deliver) => {
                self.picks(pick, (from, to), &None, true)
            }
            (Action::Tell { from, to }, What::Passage(sender, receiver, None), Kind::Send) => {
                (*from, *to) == (sender, receiver)
            }
            (Action::Crash(whose), what, Kind::Crash) => {
                let is_unsaved = matches!(what, What::Unsaved);
                *whose == at && is_unsaved == self.unsaved.contains(whose)
            }
            (Action::Mute(whose), _, Kind::Mute) | (Action::Recover(whose), _, Kind::Recover) => {
                *whose == at
            }
            (Action::Suspicion { at: whose, peer, verdict }, What::Suspicion(of, says), _) => {
                (*whose, *peer, *verdict) == (at, of, says)
            }
            _ => false,
        }
    }

    fn picks(
        &self,
        pick: &Pick,
        link: (ProcessId, ProcessId),
        message: &Option<P::Message>,
        applications: bool,
    ) -> bool {
        let picked = self.recorder.picked(pick, applications);
        (pick.from, pick.to) == link && picked.as_ref() == Some(message)
    }
}
