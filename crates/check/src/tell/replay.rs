//! A run that the search found, taken again step by step with everything in full.

use std::sync::Arc;

use tenure_core::{Order, ProcessId, Protocol, Verdict};
use tenure_trace::Choice;

use crate::explore::Explored;
use crate::explore::successors::{Seed, TIME, Worker};
use crate::explore::visited::StateId;
use crate::model::memory::Part;
use crate::model::processes::Processes;
use crate::reduce::canonical::smallest;
use crate::users::user::{Checkable, User};
use crate::world::action::{Action, Cause, Kind};
use crate::world::local::{Life, Local};
use crate::world::rules::Rules;

/// The way to a world: the world that it begins with, and the steps.
#[derive(Clone, Debug)]
pub(crate) struct Way {
    pub(crate) first: StateId,
    pub(crate) actions: Vec<Action>,
}

/// A shortest way to a world.
pub(crate) fn way_to(explored: &Explored, id: StateId) -> Way {
    let mut actions = Vec::new();
    let mut first = id;
    loop {
        let origin = explored.shards[first.shard()].origin(first.place());
        if origin.parent == StateId::OUTSIDE {
            break;
        }
        actions.push(origin.action);
        first = origin.parent;
    }
    actions.reverse();
    Way { first, actions }
}

/// One step of a run, in full.
pub(crate) struct Taken<P: Protocol> {
    pub(crate) kind: Kind,
    /// Who was given something; for a loss or a duplication, the sender.
    pub(crate) at: ProcessId,
    pub(crate) what: What<P>,
    /// What it sent.
    pub(crate) messages: Vec<(ProcessId, P::Message)>,
    /// What it told its user.
    pub(crate) events: Vec<P::Event>,
    /// What it drew.
    pub(crate) drawn: Vec<Choice>,
}

/// What a step was about.
pub(crate) enum What<P: Protocol> {
    Command(P::Command),
    Timer(P::Timer),
    /// A message (`None` for one of the application) from one to another.
    Passage(ProcessId, ProcessId, Option<P::Message>),
    Suspicion(ProcessId, Verdict),
    /// These, as bits, are cut off from the others.
    Split(u32),
    /// A crash, before what the last step changed is saved.
    Unsaved,
    Nothing,
}

/// A run being taken again: the world as the search knew it, and the same without reductions.
pub(crate) struct Replay<'p, P: Checkable> {
    processes: &'p Processes<P>,
    pub(crate) reduced: Worker,
    plain: Worker,
    /// The world as the search knew it.
    pub(crate) world: Vec<u32>,
    pub(crate) fingerprint: u64,
    /// The same with all stamps as they really were.
    real: Vec<u32>,
    /// By how much the stamps differ.
    shift: u64,
}

impl<'p, P: Checkable> Replay<'p, P> {
    pub(crate) fn new(
        processes: &'p Processes<P>,
        rules: &Arc<Rules>,
        explored: &Explored,
        first: StateId,
    ) -> Self {
        let begin = explored.first.iter().find(|(id, ..)| *id == first);
        let (_, world, fingerprint) = begin.expect("a way begins where the search began");
        Replay::beginning(processes, rules, world, *fingerprint)
    }

    /// A run that begins with a world.
    pub(crate) fn beginning(
        processes: &'p Processes<P>,
        rules: &Arc<Rules>,
        world: &[u32],
        fingerprint: u64,
    ) -> Self {
        let plain = Rules { rebases: false, ..Rules::clone(rules) };
        Replay {
            processes,
            reduced: Worker::new(Arc::clone(rules)),
            plain: Worker::new(Arc::new(plain)),
            world: world.to_vec(),
            fingerprint,
            real: world.to_vec(),
            shift: 0,
        }
    }

    /// Takes a step, and tells it in full.
    pub(crate) fn take(&mut self, action: Action) -> Taken<P> {
        let real_action = self.translate(action);
        let taken = self.told(real_action);
        let fate = self.reduced.advance(&mut self.world, self.fingerprint, action);
        self.fingerprint = fate.expect("the search took this step").fingerprint;
        let fate = self.plain.advance(&mut self.real, 0, real_action);
        assert!(fate.is_some(), "a step is possible without reductions too");
        if self.reduced.rules.rebases {
            let layout = self.plain.rules.layout;
            self.shift = smallest(&mut self.plain.memory, layout, &self.real).unwrap_or(0);
        }
        taken
    }

    /// The step from here to a world.
    pub(crate) fn step_to(
        &mut self,
        explored: &Explored,
        to: StateId,
        label: u32,
    ) -> Option<Action> {
        let world = self.world.clone();
        let seed = Seed { world: &world, fingerprint: self.fingerprint };
        let found = self.reduced.step_to(seed, explored, to, label);
        if found.is_some() || label != TIME {
            return found;
        }
        Some(Action::new(Kind::Tick, 0, 0, 0))
    }

    /// The state of a monitor before a step, and what the step shows it.
    pub(crate) fn monitor(&self, slot: usize) -> u32 {
        self.real[slot]
    }

    /// What monitors see of a step that is about to be taken.
    pub(crate) fn observation(&mut self, action: Action) -> u32 {
        let action = self.translate(action);
        let Some(cause) = self.plain.cause(&self.real, action) else { return 0 };
        let process = self.process(action);
        let memory = &mut self.plain.memory;
        memory.outcome_at(self.real[process], cause, action.outcome()).observation
    }

    /// Queues of reordering links are sorted by content, and so differ where stamps do.
    fn translate(&mut self, action: Action) -> Action {
        let about_a_link = matches!(action.kind(), Kind::Deliver | Kind::Lose | Kind::Duplicate);
        let rules = Arc::clone(&self.reduced.rules);
        if !rules.rebases || rules.order == Order::Fifo || !about_a_link {
            return action;
        }
        let slot = action.place();
        let wanted = {
            let queue = self.reduced.memory.queue(self.world[slot]);
            self.reduced.memory.item_of(queue, action.item()).parcel
        };
        let queue = self.plain.memory.queue(self.real[slot]);
        let places = 0..self.plain.memory.items(queue).len();
        let item = places
            .into_iter()
            .find(|item| {
                let parcel = self.plain.memory.item_of(queue, *item).parcel;
                let alone = rules.freight.push(0, parcel).expect("a link holds one").id;
                let shifted = self.plain.memory.shift(Part::Queue, alone, self.shift).id;
                rules.freight.content(shifted) == [wanted]
            })
            .expect("what is under way is under way without reductions too");
        Action::new(action.kind(), slot, item, action.outcome())
    }

    fn process(&self, action: Action) -> usize {
        let layout = self.plain.rules.layout;
        if action.kind() == Kind::Deliver {
            layout.receiver(action.place())
        } else {
            action.place()
        }
    }

    /// Tells a step in full without taking it.
    pub(crate) fn told(&mut self, action: Action) -> Taken<P> {
        let quiet = |at, what| Taken {
            kind: action.kind(),
            at,
            what,
            messages: Vec::new(),
            events: Vec::new(),
            drawn: Vec::new(),
        };
        let Some(cause) = self.plain.cause(&self.real, action) else {
            let what = self.broken(action);
            let at = match &what {
                What::Passage(from, ..) => *from,
                _ => ProcessId(0),
            };
            return quiet(at, what);
        };
        let process = self.process(action);
        let local = self.processes.locals.get(self.real[process]);
        let what = match (cause, &local.life) {
            (Cause::Crash, Life::Hasty { .. }) if action.outcome() == 0 => What::Unsaved,
            _ => self.what(&local, cause),
        };
        let ran = self.processes.runs(&local, cause).swap_remove(action.outcome());
        let taken = quiet(local.at, what);
        Taken { messages: ran.messages, events: ran.events, drawn: ran.drawn, ..taken }
    }

    fn broken(&mut self, action: Action) -> What<P> {
        if action.kind() == Kind::Tick {
            return What::Nothing;
        }
        if action.kind() == Kind::Cut {
            return What::Split(self.plain.rules.side);
        }
        let queue = self.plain.memory.queue(self.real[action.place()]);
        self.passage(self.plain.memory.item_of(queue, action.item()).parcel)
    }

    fn passage(&self, parcel: u32) -> What<P> {
        let parcel = self.processes.freight.parcel_of(parcel);
        let message = (parcel.message != 0)
            .then(|| P::Message::clone(&self.processes.messages.get(parcel.message)));
        What::Passage(ProcessId(parcel.from), ProcessId(parcel.to), message)
    }

    fn what(&self, local: &Local<P>, cause: Cause) -> What<P> {
        match cause {
            Cause::Command(place) => {
                What::Command(local.user.offers().swap_remove(place as usize).command)
            }
            Cause::Timer(place) => What::Timer(local.timers[place as usize].timer.clone()),
            Cause::Deliver(parcel) => self.passage(parcel),
            Cause::Suspect(peer) | Cause::Meet(peer) => {
                What::Suspicion(ProcessId(peer), Verdict::Suspect)
            }
            Cause::Trust(peer) | Cause::Greet(peer) => {
                What::Suspicion(ProcessId(peer), Verdict::Trust)
            }
            Cause::Send(to) => What::Passage(local.at, ProcessId(to), None),
            Cause::Crash | Cause::Recover | Cause::Mute => What::Nothing,
        }
    }

    /// The local state of a process, by number.
    pub(crate) fn local(&self, at: ProcessId) -> u32 {
        self.real[at.index()]
    }

    /// What a process holds, if it is up.
    pub(crate) fn state(&self, at: ProcessId) -> Option<P> {
        self.processes.locals.get(self.real[at.index()]).life.process().cloned()
    }

    /// The armed timers of a process.
    pub(crate) fn armed(&self, at: ProcessId) -> Vec<P::Timer> {
        let local = self.processes.locals.get(self.real[at.index()]);
        local.timers.iter().map(|armed| armed.timer.clone()).collect()
    }

    /// Every step that may be taken now.
    pub(crate) fn steps(&mut self) -> Vec<Action> {
        let world = self.world.clone();
        self.reduced.steps(Seed { world: &world, fingerprint: self.fingerprint })
    }

    /// A step that nobody lived to tell the effects of.
    pub(crate) fn broken_off(&self, local: u32, cause: Cause) -> Taken<P> {
        let local = self.processes.locals.get(local);
        let what = self.what(&local, cause);
        let kind = match cause {
            Cause::Command(_) | Cause::Timer(_) => Kind::Own,
            Cause::Deliver(_) => Kind::Deliver,
            Cause::Suspect(_) => Kind::Suspect,
            Cause::Trust(_) => Kind::Trust,
            Cause::Crash => Kind::Crash,
            Cause::Recover => Kind::Recover,
            Cause::Send(_) => Kind::Send,
            Cause::Meet(_) => Kind::Meet,
            Cause::Greet(_) => Kind::Greet,
            Cause::Mute => Kind::Mute,
        };
        let (messages, events, drawn) = (Vec::new(), Vec::new(), Vec::new());
        Taken { kind, at: local.at, what, messages, events, drawn }
    }

    /// Whether a process is down now.
    pub(crate) fn is_down(&self, at: ProcessId) -> bool {
        let local = self.processes.locals.get(self.real[at.index()]);
        matches!(local.life, Life::Down(_))
    }
}

/// A unit of time that passes, as stories and traces say it.
pub(crate) const TIME_PASSES: &str = "a unit of time passes";
