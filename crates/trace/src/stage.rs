//! Where scripts are performed in memory, one action at a time, on the real protocols.

use std::collections::BTreeMap;

use tenure_core::{
    Environment, Group, Input, Labelled, LocalTime, Node, Order, ProcessId, Protocol, Step,
    TimerChange, Verdict,
};

use crate::Spoken;
use crate::script::{Action, Asking, Pick};

/// After so many steps, stabilizing is taken to be endless.
const ENDLESS_STEPS: u32 = 10_000;

/// A group of processes in memory, moved by hand.
///
/// Nothing happens by itself and nothing is left to chance: every choice is 0, time stands
/// still except when a timer fires, which is due at the lower end of its delay. What happens
/// is noted, one line each.
#[derive(Debug)]
pub struct Stage<P: Protocol> {
    places: Vec<Place<P>>,
    configs: Vec<P::Config>,
    order: Order,
    /// The oldest first.
    under_way: Vec<Parcel<P::Message>>,
    now: u64,
    armed: u64,
    /// What applications sent each other and have not heard yet, the oldest first.
    told: Vec<(ProcessId, ProcessId)>,
    lines: Vec<String>,
    events: Vec<(ProcessId, P::Event)>,
    /// What was done, `stabilize` step by step.
    done: Vec<Action>,
    understand: fn(&Asking) -> Option<P::Command>,
}

#[derive(Debug)]
enum Place<P: Protocol> {
    Up { node: Box<Node<P, Standing>>, timers: BTreeMap<P::Timer, Due> },
    Down { stable: P::Stable },
}

/// When a timer is due, and how many were armed before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Due {
    at: u64,
    armed: u64,
}

#[derive(Clone, Debug)]
struct Parcel<M> {
    from: ProcessId,
    to: ProcessId,
    message: M,
}

/// Every choice is 0; the clock is the stage's.
#[derive(Clone, Copy, Debug)]
struct Standing(LocalTime);

impl Environment for Standing {
    fn choose(&mut self, _bound: u32) -> u32 {
        0
    }

    fn local_clock(&mut self) -> LocalTime {
        self.0
    }
}

/// What one step asked for, taken out of the node.
struct Brought<P: Protocol> {
    messages: Vec<(ProcessId, P::Message)>,
    timers: Vec<TimerChange<P::Timer>>,
    events: Vec<P::Event>,
}

impl<P: Protocol> Brought<P> {
    fn of<E: Environment>(step: Step<'_, P, E>) -> Self {
        let released = step.saved();
        Brought {
            messages: released.messages.collect(),
            timers: released.timers.collect(),
            events: released.events.collect(),
        }
    }

    fn are_seen(&self) -> bool {
        !self.messages.is_empty() || !self.events.is_empty()
    }
}

impl<P: Protocol<Command: Spoken>> Stage<P> {
    /// A group of `size` processes, freshly booted, with `config` for each.
    pub fn new(size: u32, order: Order, config: impl Fn(Group) -> P::Config) -> Self {
        Stage::with_commands(size, order, config, P::Command::understand)
    }
}

impl<P: Protocol> Stage<P> {
    /// The same for a protocol whose commands are understood by `understand`.
    pub fn with_commands(
        size: u32,
        order: Order,
        config: impl Fn(Group) -> P::Config,
        understand: fn(&Asking) -> Option<P::Command>,
    ) -> Self {
        Stage::booted(size, &[], order, config, understand)
    }

    /// The same with some who are down from the start, and so never did anything.
    pub(crate) fn booted(
        size: u32,
        down: &[ProcessId],
        order: Order,
        config: impl Fn(Group) -> P::Config,
        understand: fn(&Asking) -> Option<P::Command>,
    ) -> Self {
        let configs = (0..size).map(|me| config(Group::new(ProcessId(me), size))).collect();
        let mut stage = Stage {
            places: Vec::new(),
            configs,
            order,
            under_way: Vec::new(),
            now: 0,
            armed: 0,
            told: Vec::new(),
            lines: Vec::new(),
            events: Vec::new(),
            done: Vec::new(),
            understand,
        };
        for me in (0..size).map(ProcessId) {
            let effects = stage.boot(me, None);
            if down.contains(&me) {
                stage.shut(me);
                continue;
            }
            if effects.are_seen() {
                stage.note(format!("{me} boots"));
            }
            stage.release(me, effects);
        }
        stage
    }

    /// Performs one action.
    ///
    /// # Errors
    ///
    /// [`StageError`] when the action is not possible now; the group stays as it was, except
    /// after [`StageError::Endless`].
    pub fn perform(&mut self, action: &Action) -> Result<(), StageError> {
        self.carry_out(action)?;
        match action {
            Action::Group(_) | Action::Channel(_) | Action::Stabilize { .. } | Action::Look(_) => {}
            action => self.done.push(action.clone()),
        }
        Ok(())
    }

    fn carry_out(&mut self, action: &Action) -> Result<(), StageError> {
        match action {
            Action::Group(_) => return Err(StageError::GroupExists),
            Action::Channel(order) => self.order = *order,
            Action::Ask(asking) => self.ask(asking)?,
            Action::Deliver(pick) => {
                let place = self.find(pick, "deliver")?;
                self.deliver(place);
            }
            Action::Tell { from, to } => {
                self.up(*from)?;
                self.exists(*to)?;
                self.note(format!("{from}'s application tells {to}'s"));
                self.told.push((*from, *to));
            }
            Action::Hear(pick) => self.hear(pick)?,
            Action::Lose(pick) => {
                let place = self.find(pick, "lose")?;
                let Parcel { from, to, message } = self.under_way.remove(place);
                self.note(format!("{message:?} from {from} to {to} is lost"));
            }
            Action::Duplicate(pick) => {
                let place = self.find(pick, "duplicate")?;
                let copy = self.under_way[place].clone();
                let Parcel { from, to, message } = &copy;
                self.note(format!("{message:?} from {from} to {to} is duplicated"));
                self.under_way.insert(place + 1, copy);
            }
            // On a stage there is no time; a later message is one that is not delivered yet.
            Action::Delay { pick, .. } => drop(self.find(pick, "delay")?),
            Action::Fire { at, timer } => {
                let timer = self.armed_timer(*at, timer)?;
                self.fire(*at, &timer);
            }
            Action::Crash(at) => self.crash(*at)?,
            Action::Recover(at) => self.recover(*at)?,
            Action::Suspicion { at, peer, verdict } => {
                self.exists(*peer)?;
                self.up(*at)?;
                let verb = if *verdict == Verdict::Suspect { "suspects" } else { "trusts" };
                self.note(format!("{at} {verb} {peer}"));
                self.step(*at, Input::Suspicion { peer: *peer, verdict: *verdict });
            }
            Action::Stabilize { timers, most } => self.stabilize(*timers, *most)?,
            Action::Look(at) => self.look(*at)?,
        }
        Ok(())
    }

    /// What happened since the last call, one line each; what a step brought about is indented
    /// under it.
    pub fn take_lines(&mut self) -> Vec<String> {
        std::mem::take(&mut self.lines)
    }

    pub(crate) fn size(&self) -> u32 {
        ProcessId::at(self.places.len()).0
    }

    /// What was done since the beginning, with every step of a `stabilize`.
    pub(crate) fn done(&self) -> &[Action] {
        &self.done
    }

    /// What users were told since the beginning.
    pub fn events(&self) -> &[(ProcessId, P::Event)] {
        &self.events
    }

    /// The process `at`; `None` while it is down or when there is none.
    pub fn process(&self, at: ProcessId) -> Option<&P> {
        match self.places.get(at.index())? {
            Place::Up { node, .. } => Some(node.process()),
            Place::Down { .. } => None,
        }
    }

    /// The messages under way, the oldest first: from, to, and what they say.
    pub fn under_way(&self) -> impl Iterator<Item = (ProcessId, ProcessId, &P::Message)> {
        self.under_way.iter().map(|parcel| (parcel.from, parcel.to, &parcel.message))
    }

    fn exists(&self, at: ProcessId) -> Result<(), StageError> {
        let size = self.places.len();
        if at.index() < size { Ok(()) } else { Err(StageError::NoProcess { at, size }) }
    }

    fn up(&self, at: ProcessId) -> Result<(), StageError> {
        self.exists(at)?;
        if self.process(at).is_some() { Ok(()) } else { Err(StageError::Down { at }) }
    }

    fn ask(&mut self, asking: &Asking) -> Result<(), StageError> {
        let at = asking.at;
        self.up(at)?;
        let understood = (self.understand)(asking);
        let command = understood.ok_or_else(|| StageError::NotUnderstood(asking.clone()))?;
        self.note(format!("{at} asks {command:?}"));
        self.step(at, Input::Command(command));
        Ok(())
    }

    /// Where the picked message is, if the channel lets `verb` have it.
    fn find(&self, pick: &Pick, verb: &str) -> Result<usize, StageError> {
        let Pick { from, to, .. } = *pick;
        self.exists(from)?;
        self.exists(to)?;
        let on_link = |parcel: &Parcel<P::Message>| parcel.from == from && parcel.to == to;
        let mut link = self.under_way.iter().enumerate().filter(|(_, parcel)| on_link(parcel));
        let oldest = link.clone().next().map(|(place, _)| place);
        let picked = match &pick.kind {
            None => link.nth(pick.ordinal - 1),
            Some(kind) => link
                .filter(|(_, parcel)| parcel.message.label().kind == *kind)
                .nth(pick.ordinal - 1),
        };
        let Some((place, _)) = picked else { return Err(StageError::NoMessage(pick.clone())) };
        if verb == "deliver" && self.order == Order::Fifo && Some(place) != oldest {
            return Err(StageError::Overtakes(pick.clone()));
        }
        Ok(place)
    }

    fn hear(&mut self, pick: &Pick) -> Result<(), StageError> {
        let Pick { from, to, ordinal, .. } = *pick;
        let mut link = self.told.iter().enumerate().filter(|(_, told)| **told == (from, to));
        let found = link.nth(ordinal - 1).map(|(place, _)| place);
        let place = found.ok_or_else(|| StageError::NoMessage(pick.clone()))?;
        self.told.remove(place);
        self.note(format!("{to}'s application hears {from}'s"));
        Ok(())
    }

    fn deliver(&mut self, place: usize) {
        let Parcel { from, to, message } = self.under_way.remove(place);
        if self.process(to).is_none() {
            self.note(format!("{message:?} from {from} is lost: {to} is down"));
            return;
        }
        self.note(format!("{to} receives {message:?} from {from}"));
        self.step(to, Input::Message { from, message });
    }

    /// The armed timer that `name` means: the same, or the only one that contains it.
    fn armed_timer(&self, at: ProcessId, name: &str) -> Result<P::Timer, StageError> {
        self.up(at)?;
        let Place::Up { timers, .. } = &self.places[at.index()] else {
            return Err(StageError::Down { at });
        };
        match timer_named(timers.keys(), name) {
            Some(timer) => Ok(timer.clone()),
            None => Err(StageError::NoTimer {
                at,
                timer: name.to_owned(),
                armed: format!("{:?}", timers.keys().collect::<Vec<_>>()),
            }),
        }
    }

    fn fire(&mut self, at: ProcessId, timer: &P::Timer) {
        let Place::Up { timers, .. } = &mut self.places[at.index()] else { return };
        let Some(due) = timers.remove(timer) else { return };
        self.now = self.now.max(due.at);
        self.note(format!("{at}'s timer {timer:?} fires"));
        self.step(at, Input::Timer(timer.clone()));
    }

    fn crash(&mut self, at: ProcessId) -> Result<(), StageError> {
        self.up(at)?;
        self.shut(at);
        self.note(format!("{at} crashes"));
        Ok(())
    }

    fn shut(&mut self, at: ProcessId) {
        let place = &mut self.places[at.index()];
        if let Place::Up { node, .. } = place {
            let stable = node.process().stable();
            *place = Place::Down { stable };
        }
    }

    fn recover(&mut self, at: ProcessId) -> Result<(), StageError> {
        self.exists(at)?;
        let Place::Down { stable } = &self.places[at.index()] else {
            return Err(StageError::Up { at });
        };
        let stable = Some(stable.clone());
        self.note(format!("{at} recovers"));
        let effects = self.boot(at, stable);
        self.release(at, effects);
        Ok(())
    }

    fn stabilize(&mut self, fire: bool, most: Option<u32>) -> Result<(), StageError> {
        for _ in 0..most.unwrap_or(ENDLESS_STEPS) {
            if let Some(Parcel { from, to, .. }) = self.under_way.first() {
                self.done.push(Action::Deliver(Pick::oldest(*from, *to)));
                self.deliver(0);
                continue;
            }
            match self.next_due() {
                Some((at, timer)) if fire => {
                    self.done.push(Action::Fire { at, timer: format!("{timer:?}") });
                    self.fire(at, &timer);
                }
                _ => return Ok(()),
            }
        }
        let rests = self.under_way.is_empty() && !(fire && self.next_due().is_some());
        if most.is_some() || rests { Ok(()) } else { Err(StageError::Endless) }
    }

    fn next_due(&self) -> Option<(ProcessId, P::Timer)> {
        let places = self.places.iter().enumerate().filter_map(|(index, place)| match place {
            Place::Up { timers, .. } => Some((ProcessId::at(index), timers)),
            Place::Down { .. } => None,
        });
        let armed = places.flat_map(|(at, timers)| timers.iter().map(move |it| (at, it)));
        let next = armed.min_by_key(|(_, (_, due))| **due);
        next.map(|(at, (timer, _))| (at, timer.clone()))
    }

    fn look(&mut self, at: ProcessId) -> Result<(), StageError> {
        self.exists(at)?;
        let line = match &self.places[at.index()] {
            Place::Up { node, timers } if timers.is_empty() => format!("{:?}", node.process()),
            Place::Up { node, timers } => {
                format!("{:?}, armed {:?}", node.process(), timers.keys().collect::<Vec<_>>())
            }
            Place::Down { stable } => format!("down, saved {stable:?}"),
        };
        self.note(format!("{at} is {line}"));
        Ok(())
    }

    fn boot(&mut self, me: ProcessId, stable: Option<P::Stable>) -> Brought<P> {
        let size = u32::try_from(self.configs.len()).expect("a group has fewer than 2^32 members");
        let group = Group::new(me, size);
        let clock = Standing(LocalTime(self.now));
        let mut node = Box::new(Node::boot(group, &self.configs[me.index()], stable, clock));
        let effects = Brought::of(node.pending());
        let place = Place::Up { node, timers: BTreeMap::new() };
        match self.places.get_mut(me.index()) {
            Some(old) => *old = place,
            None => self.places.push(place),
        }
        effects
    }

    fn step(&mut self, at: ProcessId, input: Input<P>) {
        let Place::Up { node, .. } = &mut self.places[at.index()] else { return };
        *node.environment() = Standing(LocalTime(self.now));
        let effects = Brought::of(node.step(input));
        self.release(at, effects);
    }

    fn release(&mut self, at: ProcessId, effects: Brought<P>) {
        for (to, message) in effects.messages {
            self.note(format!("  sends {to} {message:?}"));
            self.under_way.push(Parcel { from: at, to, message });
        }
        for change in effects.timers {
            let Place::Up { timers, .. } = &mut self.places[at.index()] else { continue };
            match change {
                TimerChange::Set(timer, after) => {
                    self.armed += 1;
                    timers.insert(timer, Due { at: self.now + after.min, armed: self.armed });
                }
                TimerChange::Cancel(timer) => drop(timers.remove(&timer)),
            }
        }
        for event in effects.events {
            self.note(format!("  is told {event:?}"));
            self.events.push((at, event));
        }
    }

    fn note(&mut self, line: String) {
        self.lines.push(line);
    }
}

/// The timer that a script calls `name`: the same, or the only one that contains it.
pub fn timer_named<'t, T: std::fmt::Debug>(
    timers: impl Iterator<Item = &'t T> + Clone,
    name: &str,
) -> Option<&'t T> {
    let wanted = plain(name);
    let is = |timer: &&T| plain(&format!("{timer:?}")) == wanted;
    if let Some(timer) = timers.clone().find(is) {
        return Some(timer);
    }
    let mut alike = timers.filter(|timer| plain(&format!("{timer:?}")).contains(&wanted));
    let first = alike.next();
    if alike.next().is_some() { None } else { first }
}

/// A name without case, dashes, underscores and spaces: `answer-timeout` is `AnswerTimeout`.
fn plain(name: &str) -> String {
    let letters = name.chars().filter(|letter| !matches!(letter, '-' | '_' | ' '));
    letters.flat_map(char::to_lowercase).collect()
}

/// An action is not possible now.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StageError {
    /// A stage is one group.
    #[error("the group exists already; a new one needs a new stage")]
    GroupExists,
    /// There is no such process.
    #[error("there is no {at} in a group of {size}")]
    NoProcess {
        /// Who was named.
        at: ProcessId,
        /// How many there are.
        size: usize,
    },
    /// A process that crashed can only recover.
    #[error("{at} is down; recover it first")]
    Down {
        /// Which.
        at: ProcessId,
    },
    /// Only a process that crashed can recover.
    #[error("{at} is up; only a crashed process recovers")]
    Up {
        /// Which.
        at: ProcessId,
    },
    /// The words mean no command of this protocol.
    #[error("`{0}` is no command of this protocol")]
    NotUnderstood(Asking),
    /// There is no such message under way.
    #[error("no such message is under way: {0}")]
    NoMessage(Pick),
    /// The channel is first in, first out.
    #[error("the channel is FIFO and {0} is not the oldest message; say `channel reordered`")]
    Overtakes(Pick),
    /// There is no such timer, or more than one.
    #[error("`{timer}` is not exactly one of {at}'s armed timers {armed}")]
    NoTimer {
        /// Whose.
        at: ProcessId,
        /// Which was named.
        timer: String,
        /// Which are armed.
        armed: String,
    },
    /// There is always something more to do.
    #[error("after {ENDLESS_STEPS} steps there is still something to do; say `stabilize 20`")]
    Endless,
}
