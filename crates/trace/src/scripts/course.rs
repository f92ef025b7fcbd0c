//! The course of a run: what must be done, step by step, for it to happen again.

use std::collections::{BTreeMap, BTreeSet};

use tenure_core::service::mutex;
use tenure_core::{Facts, Group, Layer, Observed, Order, ProcessId, Protocol};

use crate::format::{Kind, Passage, Trace, Who};
use crate::scripts::perform::PerformError;
use crate::scripts::perform::perform_on;
use crate::scripts::script::{Action, Pick, Script};
use crate::scripts::spoken::{Recorded, Spoken};
use crate::scripts::stage::Stage;
use crate::scripts::theatre::{FollowError, Theatre};

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
        let mut tracks = Tracks::default();
        for (place, record) in trace.records.iter().enumerate() {
            let Who::Process(at) = record.process else { continue };
            let followed = tracks.follow(at, record.session, &record.kind);
            followed.map_err(|says| CourseError { record: place + 1, says })?;
        }
        let size = trace.header.n;
        let never = (0..size).map(ProcessId).filter(|at| !tracks.lives.contains_key(at));
        let down = never.chain(tracks.down_at_first.iter().copied()).collect();
        Ok(Course { size, down, actions: tracks.actions })
    }

    /// The same and then everything that was still under way, the oldest first, timers included,
    /// in `most` further steps at most, whoever is inside exiting when nothing else is left: how a
    /// run goes on that nobody hinders any more.
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
        let mut stage = Stage::<P>::booted(size, down, Order::Reordered, config, false);
        stage.follow(self)?;
        let mut inside = BTreeSet::new();
        let mut left = most;
        loop {
            while left > 0 && stage.go_on(true) {
                left -= 1;
            }
            for (at, seen) in stage.take_seen() {
                match seen.observed() {
                    Observed::Event(event) => match event.of_mutex() {
                        Some(mutex::Event::Entered { .. }) => drop(inside.insert(at)),
                        Some(mutex::Event::Exited) => drop(inside.remove(&at)),
                        None => {}
                    },
                    Observed::Crashed => drop(inside.remove(&at)),
                    _ => {}
                }
            }
            let Some(at) = inside.pop_first() else { break };
            let step = stage.done.len() + 1;
            let exit = stage.perform(&Action::Ask(mutex::Command::Exit.say(at)));
            exit.map_err(|why| FollowError::Impossible { step, why })?;
        }
        Ok(Course { actions: stage.done, ..self.clone() })
    }
}

/// The session and the number of a message.
type SentAs = (u64, u64);

/// What is under way, and who is up, while a trace is read.
#[derive(Default)]
struct Tracks {
    actions: Vec<Action>,
    /// By process: whether it is up.
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
                let heard = passage.layer == Layer::Application;
                self.actions.push(if heard { Action::Hear(pick) } else { Action::Deliver(pick) });
            }
            Kind::Drop(passage) => {
                let pick = self.take((at, session), passage.peer, passage)?;
                let is_up = self.lives.get(&passage.peer).is_some_and(|up| *up);
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
            Kind::Suspicion { peer, verdict } => {
                self.actions.push(Action::Suspicion { at, peer: *peer, verdict: *verdict });
            }
            Kind::Crash if self.actions.is_empty() => {
                self.lives.insert(at, false);
                self.down_at_first.push(at);
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

    fn send(&mut self, from: ProcessId, session: u64, passage: &Passage) {
        let applications = passage.layer == Layer::Application;
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
        let applications = passage.layer == Layer::Application;
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
    use crate::{Asked, Header, Record, Service, Source};

    fn asked(asked: Asked) -> Result<Vec<Action>, CourseError> {
        let header = Header::new("primary-backup", Service::Other, 1, Source::Simulator);
        let records = [Kind::Boot, Kind::Command(asked)];
        let records = records.map(|kind| Record::new(0, ProcessId(0), kind)).to_vec();
        Course::of_trace(&Trace { header, records, torn: None }).map(|course| course.actions)
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
