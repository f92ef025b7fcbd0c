//! The course of a run: what must be done, step by step, for it to happen again.

use std::collections::BTreeMap;

use tenure_core::service::mutex;
use tenure_core::{Group, Order, ProcessId, Protocol};

use crate::fold::standing::{Hold, Standings};
use crate::format::{Kind, Passage, Record, Source, Trace, Who};
use crate::scripts::perform::{PerformError, perform_on};
use crate::scripts::script::{Action, Pick, Script};
use crate::scripts::spoken::{Recorded, Spoken};
use crate::scripts::stage::Stage;
use crate::scripts::theatre::{FollowError, Theatre};
use crate::scripts::users::Staged;

/// What was done in a run, step by step, and nothing of what came of it.
///
/// Any engine that follows it makes the run happen again: the simulator, the checker, and real
/// nodes whose deliveries wait to be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Course {
    /// How many processes there are.
    pub size: u32,
    /// Who was down from the start.
    pub down: Vec<ProcessId>,
    /// What was done: no `group`, `channel`, `stabilize` or `look` among it.
    pub actions: Vec<Action>,
    /// How many of the last of these go round for ever, where the run is one that does.
    pub circle: usize,
}

/// The run of a trace cannot be made again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("record {record}: {says}")]
pub struct CourseError {
    /// Which record, from 1.
    pub record: usize,
    /// What is wrong with it.
    pub says: String,
}

impl Course {
    /// The courses of a script, one for each of its groups.
    ///
    /// # Errors
    ///
    /// [`PerformError`] at the first action that is not possible.
    pub fn of_script<P: Protocol<Command: Spoken>>(
        script: &Script,
        config: impl Fn(Group) -> P::Config,
    ) -> Result<Vec<Self>, PerformError> {
        let mut stages = Vec::new();
        perform_on::<P>(&mut stages, script, config)?;
        let course = |stage: &Stage<P>| Course {
            size: stage.size(),
            down: Vec::new(),
            actions: stage.done.clone(),
            circle: 0,
        };
        Ok(stages.iter().map(course).collect())
    }

    /// Whether it is one of so many processes.
    ///
    /// # Errors
    ///
    /// [`FollowError::Size`].
    pub fn fits<E>(&self, group: u32) -> Result<(), FollowError<E>> {
        let course = self.size;
        if course == group { Ok(()) } else { Err(FollowError::Size { course, group }) }
    }

    /// The course of a recorded run.
    ///
    /// # Errors
    ///
    /// [`CourseError`] at the first record that no engine could make happen.
    pub fn of_trace(trace: &Trace) -> Result<Self, CourseError> {
        let is_searched = trace.header.source == Source::Checker;
        let (mut tracks, mut standings) = (Tracks::default(), Standings::default());
        for (place, record) in trace.records.iter().enumerate() {
            let refused = |says| CourseError { record: place + 1, says };
            may_ask(&standings, record).map_err(refused)?;
            standings.read(record);
            let followed = match (record.process, &record.kind) {
                // Of who is down from the start the checker writes that it boots and crashes.
                (Who::Process(at), Kind::Crash) if is_searched && record.time == 0 => {
                    tracks.is_down_at_first(at);
                    Ok(())
                }
                (Who::Process(at), kind) => tracks.follow(at, record.session, kind),
                (Who::Parent, Kind::Partition(sides)) => {
                    tracks.actions.push(Action::Split(sides.clone()));
                    Ok(())
                }
                (Who::Parent, Kind::Heal) => {
                    tracks.actions.push(Action::Heal);
                    Ok(())
                }
                _ => Ok(()),
            };
            followed.map_err(refused)?;
        }
        let size = trace.header.n;
        let never = (0..size).map(ProcessId).filter(|at| !tracks.lives.contains_key(at));
        let down = never.chain(tracks.down_at_first.iter().copied()).collect();
        let circle = last_steps(&tracks.actions, trace.header.repeats as usize);
        Ok(Course { size, down, actions: tracks.actions, circle })
    }

    /// How many steps it has.
    pub fn steps(&self) -> usize {
        self.steps_of(self.actions.len())
    }

    /// How many steps the first of its actions are.
    pub(crate) fn steps_of(&self, actions: usize) -> usize {
        self.actions[..actions].iter().filter(|action| action.is_step()).count()
    }

    /// How many of the steps had been taken when the last of these records was written, which
    /// are the first of a run that followed this course.
    pub fn done_in(&self, records: &[Record]) -> usize {
        self.steps_of(self.places_in(records).len())
    }

    /// How many records there are behind each block of a script that does something, in a run that
    /// followed its last group.
    ///
    /// # Errors
    ///
    /// [`PerformError`] at the first action that is not possible.
    pub fn behind_blocks<P: Protocol<Command: Spoken>>(
        script: &Script,
        config: impl Fn(Group) -> P::Config,
        records: &[Record],
    ) -> Result<Vec<u64>, PerformError> {
        let mut done = Vec::new();
        for (place, block) in script.blocks.iter().enumerate() {
            if block.actions().next().is_some() {
                let before = Script { blocks: script.blocks[..=place].to_vec() };
                let courses = Course::of_script::<P>(&before, &config)?;
                done.push(courses.last().map_or(0, |course| course.actions.len()));
            }
        }
        let courses = Course::of_script::<P>(script, &config)?;
        let Some(course) = courses.last() else { return Ok(Vec::new()) };
        let begun = course.places_in(records);
        let behind = |done: usize| begun.get(done).copied().unwrap_or(records.len()) as u64;
        Ok(done.into_iter().map(behind).collect())
    }

    /// Where the first record of each action stands that was done, among those of a run that
    /// followed this course.
    fn places_in(&self, records: &[Record]) -> Vec<usize> {
        let mut places = Vec::new();
        for (place, record) in records.iter().enumerate() {
            let mut left = self.actions[places.len()..].iter();
            if let Some(passed) = left.position(|action| begins(action, record)) {
                places.resize(places.len() + passed + 1, place);
            }
        }
        places
    }

    /// The same and then, where it ends in a circle, that again and again. Otherwise everything
    /// that was still under way, the oldest first, timers included, whoever is inside exiting when
    /// nothing else is left: how a run goes on that nobody hinders any more. It takes `most`
    /// further steps at most.
    ///
    /// # Errors
    ///
    /// [`FollowError`] when the course is not one of this protocol.
    pub fn carried_on<P: Recorded>(
        &self,
        config: impl Fn(Group) -> P::Config,
        most: u32,
    ) -> Result<Self, FollowError> {
        let (size, down) = (self.size, &self.down);
        let stage = Stage::<P>::booted(size, down, Order::Reordered, config, false);
        let mut staged = Staged::new(stage);
        staged.follow(self)?;
        if self.circle > 0 && self.goes_round(&mut staged, most) {
            return Ok(Course { actions: staged.stage.done, ..self.clone() });
        }
        let mut left = most;
        loop {
            while left > 0 && staged.go_on() {
                left -= 1;
            }
            let Some(at) = staged.inside() else { break };
            let step = staged.stage.done.len() + 1;
            let exit = staged.perform(&Action::Ask(mutex::Command::Exit.say(at)));
            exit.map_err(|why| FollowError::Impossible { step, why })?;
        }
        Ok(Course { actions: staged.stage.done, ..self.clone() })
    }

    /// Goes round the circle as often as `most` steps allow, or not at all: where processes are
    /// alike it may be another that takes the same step in the next round.
    fn goes_round(&self, stage: &mut impl Theatre, most: u32) -> bool {
        let circle = &self.actions[self.actions.len() - self.circle..];
        let rounds = (most as usize / self.circle).max(1);
        let goes = circle.iter().all(|action| stage.perform(action).is_ok());
        goes && (1..rounds).flat_map(|_| circle).all(|action| stage.perform(action).is_ok())
    }
}

/// How many of the last actions are so many steps, with what is drawn in them.
fn last_steps(actions: &[Action], steps: usize) -> usize {
    let mut left = steps;
    let is_of_them = |action: &&Action| {
        let is_step = action.is_step();
        let is_of_them = left > 0 || !is_step;
        left = left.saturating_sub(usize::from(is_step));
        is_of_them
    };
    match steps {
        0 => 0,
        _ => actions.iter().rev().take_while(is_of_them).count(),
    }
}

/// Whether a record is the first that an action leaves.
fn begins(action: &Action, record: &Record) -> bool {
    let Who::Process(me) = record.process else {
        return matches!(
            (action, &record.kind),
            (Action::Split(_), Kind::Partition(_)) | (Action::Heal, Kind::Heal)
        );
    };
    let link = |pick: &Pick, from, to| (pick.from, pick.to) == (from, to);
    match (action, &record.kind) {
        (Action::Ask(asking), Kind::Command(_)) => asking.at == me,
        (Action::Deliver(pick) | Action::Hear(pick), Kind::Receive(passage)) => {
            link(pick, passage.peer, me)
        }
        (Action::Deliver(pick) | Action::Lose(pick), Kind::Drop(passage))
        | (Action::Duplicate(pick), Kind::Duplicate(passage)) => link(pick, me, passage.peer),
        (Action::Tell { from, to }, Kind::Send(passage)) => {
            passage.is_of_users() && (*from, *to) == (me, passage.peer)
        }
        (Action::Fire { at, .. }, Kind::Timer(_))
        | (Action::Mute(at), Kind::Mute)
        | (Action::Crash(at), Kind::Crash)
        | (Action::Recover(at), Kind::Recover)
        | (Action::Suspicion { at, .. }, Kind::Suspicion { .. }) => *at == me,
        _ => false,
    }
}

/// Whether its user may ask a process for that: to enter outside, and to exit inside.
fn may_ask(standings: &Standings, record: &Record) -> Result<(), String> {
    let (Who::Process(at), Kind::Command(asked)) = (record.process, &record.kind) else {
        return Ok(());
    };
    let standing = standings.of(at);
    let holds = |hold| standing.since(hold).is_some();
    match asked.mutex() {
        Some(mutex::Command::Enter) if holds(Hold::Waiting) || holds(Hold::Inside) => {
            Err(format!("{at} asks to enter while it waits or is inside"))
        }
        Some(mutex::Command::Exit) if standing.leaving || !holds(Hold::Inside) => {
            Err(format!("{at} asks to exit and is not inside"))
        }
        _ => Ok(()),
    }
}

/// The session and the number of a message.
type SentAs = (u64, u64);

/// What is under way, and who is up, while a trace is read.
#[derive(Default)]
struct Tracks {
    actions: Vec<Action>,
    /// Who has booted, and whether they are up.
    lives: BTreeMap<ProcessId, bool>,
    down_at_first: Vec<ProcessId>,
    /// By link and layer: session and number of what is under way, the oldest first.
    links: BTreeMap<(ProcessId, ProcessId, bool), Vec<SentAs>>,
}

impl Tracks {
    fn follow(&mut self, at: ProcessId, session: u64, kind: &Kind) -> Result<(), String> {
        match kind {
            Kind::Boot => drop(self.lives.insert(at, true)),
            Kind::Command(asked) => {
                let asking = asked.say(at);
                let asking = asking.ok_or_else(|| "a command that no script can say".to_owned())?;
                self.actions.push(Action::Ask(asking));
            }
            Kind::Send(passage) => self.send(at, session, passage),
            Kind::Receive(passage) => {
                let pick = self.take((passage.peer, passage.session), at, passage)?;
                let heard = passage.is_of_users();
                self.actions.push(if heard { Action::Hear(pick) } else { Action::Deliver(pick) });
            }
            Kind::Drop(passage) => {
                let pick = self.take((at, session), passage.peer, passage)?;
                let is_up = self.lives.get(&passage.peer).is_some_and(|is_up| *is_up);
                // Whoever is down gets it and does nothing: no fault of the network.
                self.actions.push(if is_up { Action::Lose(pick) } else { Action::Deliver(pick) });
            }
            Kind::Duplicate(passage) => {
                let (place, link) = self.find((at, session), passage.peer, passage)?;
                let sent = link[place];
                link.insert(place + 1, sent);
                self.actions.push(Action::Duplicate(pick(at, passage.peer, place)));
            }
            Kind::Timer(timer) => self.actions.push(Action::Fire { at, timer: timer.clone() }),
            // What was drawn at the first boot is drawn before all that can be said.
            Kind::Choice(choice) => {
                self.of_last_step(Action::Choose { at, value: choice.value }, at)
            }
            Kind::Unsaved => self.of_last_step(Action::Unsaved(at), at),
            Kind::Mute => self.actions.push(Action::Mute(at)),
            Kind::Suspicion { peer, verdict } => {
                self.actions.push(Action::Suspicion { at, peer: *peer, verdict: *verdict });
            }
            Kind::Crash => {
                self.lives.insert(at, false);
                self.actions.push(Action::Crash(at));
            }
            Kind::Recover => {
                self.lives.insert(at, true);
                self.actions.push(Action::Recover(at));
            }
            _ => {}
        }
        Ok(())
    }

    fn is_down_at_first(&mut self, at: ProcessId) {
        self.lives.insert(at, false);
        self.down_at_first.push(at);
    }

    /// Says something beforehand of the step that a process began last.
    fn of_last_step(&mut self, says: Action, at: ProcessId) {
        let step = self.actions.iter().rposition(|action| action.actor() == Some(at));
        if let Some(step) = step {
            self.actions.insert(step, says);
        }
    }

    fn send(&mut self, from: ProcessId, session: u64, passage: &Passage) {
        let applications = passage.is_of_users();
        if applications {
            self.actions.push(Action::Tell { from, to: passage.peer });
        }
        let link = self.links.entry((from, passage.peer, applications)).or_default();
        link.push((session, passage.number));
    }

    /// Where a message is on its link.
    fn find(
        &mut self,
        (from, session): (ProcessId, u64),
        to: ProcessId,
        passage: &Passage,
    ) -> Result<(usize, &mut Vec<SentAs>), String> {
        let applications = passage.is_of_users();
        let link = self.links.entry((from, to, applications)).or_default();
        let sent = link.iter().position(|sent| *sent == (session, passage.number));
        match sent {
            Some(place) => Ok((place, link)),
            None => Err(format!("{from} never sent {} {}", passage.message, passage.number)),
        }
    }

    fn take(
        &mut self,
        sender: (ProcessId, u64),
        to: ProcessId,
        passage: &Passage,
    ) -> Result<Pick, String> {
        let (place, link) = self.find(sender, to, passage)?;
        link.remove(place);
        Ok(pick(sender.0, to, place))
    }
}

fn pick(from: ProcessId, to: ProcessId, place: usize) -> Pick {
    Pick { ordinal: place + 1, ..Pick::oldest(from, to) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tenure_core::service::{commit, led, replication};

    use super::*;
    use crate::Service;
    use crate::format::{Asked, Header, Record};

    fn asked(asked: Asked) -> Result<Vec<Action>, CourseError> {
        let header = Header::new("primary-backup", Service::Other, 1, Source::Simulator);
        let records = [Kind::Boot, Kind::Command(asked)];
        let records = records.map(|kind| Record::new(0, ProcessId(0), kind)).to_vec();
        Course::of_trace(&Trace { header, records, torn: None }).map(|course| course.actions)
    }

    #[test]
    fn nobody_asks_twice_nor_leaves_where_he_is_not() {
        let asks = |commands: &[mutex::Command]| {
            let header = Header::new("central", Service::Mutex, 2, Source::Simulator);
            let asked = commands.iter().map(|command| Kind::Command((*command).into()));
            let kinds = std::iter::once(Kind::Boot).chain(asked);
            let records = kinds.map(|kind| Record::new(0, ProcessId(0), kind)).collect();
            let refused = Course::of_trace(&Trace { header, records, torn: None }).err();
            refused.map(|refused| refused.record)
        };
        assert_eq!(asks(&[mutex::Command::Enter]), None);
        assert_eq!(asks(&[mutex::Command::Enter, mutex::Command::Enter]), Some(3));
        assert_eq!(asks(&[mutex::Command::Exit]), Some(2));
    }

    #[test]
    fn what_an_application_was_asked_can_be_asked_again() {
        let write = replication::Command::Write { value: 7 };
        let again = asked(led::Command::Application(write).into());
        assert_eq!(again, Ok(vec![Action::Ask(write.say(ProcessId(0)))]));
        let veto = asked(commit::Command::Veto.into());
        assert_eq!(veto, Ok(vec![Action::Ask(commit::Command::Veto.say(ProcessId(0)))]));
        assert!(asked(Asked::Other(json!("Dance"))).is_err(), "nobody says so");
    }
}
