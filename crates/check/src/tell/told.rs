//! From a finished search to judgements, and from judgements to stories.

use std::sync::Arc;

use tenure_core::{ProcessId, Property, Service};
use tenure_trace::{Header, Source, Trace};

use crate::check::{Asked, Selected};
use crate::explore::{Explored, Panicked};
use crate::liveness::circle::around;
use crate::liveness::fairness::{Condition, Unserved, lasting, unserved};
use crate::liveness::graph::Graph;
use crate::model::processes::Processes;
use crate::report::{Counterexample, Manner};
use crate::tell::recorder::Recorder;
use crate::tell::replay::{Replay, Way, way_to};
use crate::tell::story::Story;
use crate::users::user::Checkable;
use crate::world::rules::Rules;

/// A finished search, with everything needed to tell what it found.
pub(crate) struct Told<'p, P: Checkable> {
    pub(crate) algorithm: String,
    pub(crate) service: Service,
    pub(crate) processes: &'p Processes<P>,
    pub(crate) rules: Arc<Rules>,
    pub(crate) explored: Explored,
}

impl<P: Checkable> Told<'_, P> {
    /// Whether one delivery stood for many steps, and rightly: nobody sent to another than its
    /// successor.
    pub(crate) fn is_ample(&self) -> bool {
        let strayed = self.explored.workers.iter().any(|worker| worker.memory.strayed);
        let layout = self.rules.layout;
        let mut first = self.explored.first.iter().map(|(_, world, _)| world);
        let begins_on_the_ring = first.all(|world| {
            let mut used = layout.link_slots().filter(|slot| world[*slot] != 0);
            used.all(|slot| layout.is_on_the_ring(slot))
        });
        self.rules.ample && !strayed && begins_on_the_ring
    }

    /// The counterexample to a property, if it is violated.
    pub(crate) fn judge(
        &mut self,
        selected: &Selected,
        graph: Option<&Graph>,
    ) -> Option<Counterexample> {
        let property = selected.property;
        match (selected.kind, graph) {
            (Asked::Always(place), _) => self.step(property, place),
            (Asked::InTheEnd(place), Some(graph)) => {
                self.step(property, place).or_else(|| self.end(property, place, graph))
            }
            (Asked::Progress, Some(graph)) => self.unserved(property, graph, true),
            (Asked::StarvationFreedom, Some(graph)) => self.unserved(property, graph, false),
            (Asked::DeadlockFreedom, Some(graph)) => self.deadlock(property, graph),
            // Nobody wanted to wait for what takes as long as half of the search.
            (Asked::InTheEnd(place), None) => self.step(property, place),
            (Asked::Progress | Asked::StarvationFreedom | Asked::DeadlockFreedom, None) => None,
        }
    }

    /// A step that must not be taken.
    fn step(&mut self, property: Property, place: usize) -> Option<Counterexample> {
        let violated = self.explored.violations[place]?;
        let mut way = way_to(&self.explored, violated.from);
        way.actions.push(violated.action);
        let says = self.violation(&way, place);
        let found = self.counterexample(property, Manner::Step, says, &way, None);
        assert_eq!(found.length(), violated.length as usize, "a story is as long as its run");
        Some(found)
    }

    /// An end that must not last.
    fn end(&mut self, property: Property, place: usize, graph: &Graph) -> Option<Counterexample> {
        let refused = Condition::of(self.rules.layout.end_mark(place));
        let world = lasting(graph, refused).first()?;
        let way = way_to(&self.explored, graph.id(world));
        let mut replay = self.replay(&way);
        for action in &way.actions {
            replay.take(*action);
        }
        let state = replay.monitor(self.rules.layout.monitor(place));
        let verdict = self.processes.judges[place].at_end(state);
        let says = verdict.err().map_or_else(String::new, |violation| violation.says);
        Some(self.counterexample(property, Manner::End, says, &way, None))
    }

    /// A process that waits for ever to be served or, if `informed`, to be informed.
    fn unserved(
        &mut self,
        property: Property,
        graph: &Graph,
        informed: bool,
    ) -> Option<Counterexample> {
        let layout = self.rules.layout;
        let wait = |process| {
            let uninformed = if informed { layout.uninformed_mark(process) } else { 0 };
            Condition::of(layout.waiting_mark(process) | uninformed)
        };
        let waits: Vec<Condition> = (0..layout.size).map(wait).collect();
        let (manner, says, way, stem) = match unserved(graph, &waits)? {
            Unserved::Doomed { who, world } => {
                let way = way_to(&self.explored, graph.id(world));
                let manner = if who.len() > 1 { Manner::Deadlock } else { Manner::Blocked };
                (manner, format!("{} can never be served from here", together(&who)), way, None)
            }
            Unserved::Starving { who, circle } => {
                let (way, stem) = self.starvation(graph, &circle, circle[0]);
                let says = format!(
                    "{} can wait for ever although it could be served: the end of the run repeats",
                    ProcessId(who)
                );
                (Manner::Starvation, says, way, Some(stem))
            }
        };
        Some(self.counterexample(property, manner, says, &way, stem))
    }

    /// Processes that wait while none enters any more.
    fn deadlock(&mut self, property: Property, graph: &Graph) -> Option<Counterexample> {
        let layout = self.rules.layout;
        let marks = (0..layout.size).fold(0, |marks, process| marks | layout.waiting_mark(process));
        let lasting = lasting(graph, Condition::uninterrupted(marks));
        let waiting = |world: u32| {
            let waits = |process: &usize| graph.marks(world) & layout.waiting_mark(*process) != 0;
            let who = (0..layout.size).filter(waits).map(|process| process as u32);
            together(&who.collect::<Vec<_>>())
        };
        if let Some(world) = lasting.first_doomed {
            let says = format!("{} wait, and no process can ever enter again", waiting(world));
            let says = if graph.marks(world).count_ones() == 1 {
                says.replacen(" wait,", " waits,", 1)
            } else {
                says
            };
            let way = way_to(&self.explored, graph.id(world));
            return Some(self.counterexample(property, Manner::Deadlock, says, &way, None));
        }
        let circle = lasting.circle?;
        let (way, stem) = self.starvation(graph, &circle, circle[0]);
        let says = format!(
            "no process need ever enter again while {} waits: the end of the run repeats",
            waiting(circle[0])
        );
        Some(self.counterexample(property, Manner::Livelock, says, &way, Some(stem)))
    }

    /// The way into a circle and once around it, and how long the way in is.
    fn starvation(&self, graph: &Graph, circle: &[u32], entry: u32) -> (Way, usize) {
        let mut way = way_to(&self.explored, graph.id(entry));
        let stem = way.actions.len();
        let mut replay = self.replay(&way);
        for action in &way.actions {
            replay.take(*action);
        }
        for (from, step) in around(graph, circle, entry) {
            let to = graph.id(step.to);
            let action = replay.step_to(&self.explored, to, step.label);
            let action = action.unwrap_or_else(|| panic!("world {from} leads to {to:?}"));
            way.actions.push(action);
            replay.take(action);
        }
        (way, stem)
    }

    fn replay(&self, way: &Way) -> Replay<'_, P> {
        Replay::new(self.processes, &self.rules, &self.explored, way.first)
    }

    /// The way to a handler that panicked, and its step.
    pub(crate) fn breakdown(&self, panicked: &Panicked) -> Story {
        let way = way_to(&self.explored, panicked.from);
        let (header, mut recorder) = self.recorded(&way);
        if let Some((local, cause)) = panicked.ran {
            recorder.step(&self.replay(&way).broken_off(local, cause), false);
        }
        Story::of(&Trace { header, records: recorder.finish(false), torn: None })
    }

    /// What the last step of a way violates, in a sentence.
    fn violation(&self, way: &Way, place: usize) -> String {
        let (last, before) = way.actions.split_last().expect("a violation takes a step");
        let mut replay = self.replay(way);
        for action in before {
            replay.take(*action);
        }
        let state = replay.monitor(self.rules.layout.monitor(place));
        let observation = replay.observation(*last);
        let seen = self.processes.observations.get(observation);
        let verdict = self.processes.judges[place].judge(state, &seen);
        verdict.err().map_or_else(String::new, |violation| violation.says)
    }

    fn counterexample(
        &self,
        property: Property,
        manner: Manner,
        says: String,
        way: &Way,
        repeats_from: Option<usize>,
    ) -> Counterexample {
        let mut trace = self.trace(way, manner != Manner::Step);
        trace.header.violates = Some(property.name().to_owned());
        let story = Story { repeats_from, ..Story::of(&trace) };
        trace.header.repeats = story.repeating();
        Counterexample { property, manner, says, story, trace }
    }

    /// A run as a trace.
    pub(crate) fn trace(&self, way: &Way, ended: bool) -> Trace {
        let (header, recorder) = self.recorded(way);
        Trace { header, records: recorder.finish(ended), torn: None }
    }

    fn recorded(&self, way: &Way) -> (Header, Recorder<P>) {
        let size = self.processes.setting.size;
        let mut replay = self.replay(way);
        let mut recorder = Recorder::new(size);
        for at in (0..size).map(ProcessId) {
            let is_down = replay.is_down(at);
            if is_down {
                recorder.boot(at, true, &[], &[]);
                continue;
            }
            let ran = self.processes.boot_into(at, replay.local(at));
            recorder.boot(at, false, &ran.messages, &ran.events);
            recorder.state(at, replay.state(at).as_ref());
        }
        for action in &way.actions {
            let taken = replay.take(*action);
            let receiver_was_down = replay.is_down(taken.at);
            recorder.step(&taken, receiver_was_down);
            recorder.state(taken.at, replay.state(taken.at).as_ref());
        }
        (header(&self.algorithm, self.service, size), recorder)
    }
}

/// The head of a trace of the checker.
pub(crate) fn header(algorithm: &str, service: Service, size: u32) -> Header {
    Header::new(algorithm, service, size, Source::Checker)
}

fn together(who: &[u32]) -> String {
    let names: Vec<String> = who.iter().map(|process| ProcessId(*process).to_string()).collect();
    match names.as_slice() {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        names => names.concat(),
    }
}
