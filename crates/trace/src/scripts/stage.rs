//! A group of processes in memory, moved by hand, on the real protocols.

use std::collections::{BTreeMap, VecDeque};
use std::mem;

use tenure_core::{
    Batch, Environment, Group, Input, Labelled, Layer, LocalTime, Observed, Order, ProcessId,
    Protocol, TimerChange, Verdict,
};

use crate::scripts::dice::Dice;
use crate::scripts::lapse::{Lapse, Since};
use crate::scripts::script::{Action, Pick};

/// After so many steps, a group is taken never to come to rest.
pub(crate) const ENDLESS: u32 = 10_000;

/// A group of processes in memory, moved by hand.
///
/// Nothing happens by itself and nothing is left to chance: every choice is 0 unless it was said
/// what is drawn, and time stands still except when a timer fires, which is due at the lower end
/// of its delay. Move it with the words of scripts ([`Theatre`](crate::Theatre)), or with the
/// methods here, which panic where what they are asked for is not possible.
#[derive(Debug)]
pub struct Stage<P: Protocol> {
    places: Vec<Place<P>>,
    configs: Vec<P::Config>,
    pub(crate) order: Order,
    /// The oldest first.
    pub(crate) under_way: Vec<Parcel<P::Message>>,
    /// The sides between which nothing arrives; none where the network is whole.
    pub(crate) sides: Vec<Vec<ProcessId>>,
    /// How many of them each link has, where it has any.
    busy: BTreeMap<Link, usize>,
    /// What applications sent each other and have not heard yet, the oldest first.
    pub(crate) told: Vec<Link>,
    armed: u64,
    pub(crate) batch: Batch<P, Lots>,
    /// Not yet taken.
    seen: Vec<(ProcessId, Seen<P>)>,
    sent: BTreeMap<(Layer, &'static str), u64>,
    /// What happened, if it is to be told.
    lines: Option<Vec<String>>,
    /// What was done in the words of scripts, `stabilize` step by step.
    pub(crate) done: Vec<Action>,
    /// Whose saves go wrong, and how.
    lapses: BTreeMap<ProcessId, Lapse<P>>,
}

/// Two processes: from, to.
pub type Link = (ProcessId, ProcessId);

/// What happened at a process, as its user sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen<P: Protocol> {
    /// The user asked.
    Command(P::Command),
    /// The user was told.
    Event(P::Event),
    /// The process crashed.
    Crashed,
    /// It came back.
    Recovered,
}

impl<P: Protocol> Seen<P> {
    /// The same for a monitor, without causality.
    pub fn observed(&self) -> Observed<'_, P::Command, P::Event> {
        match self {
            Seen::Command(command) => Observed::Command { command, clock: None },
            Seen::Event(event) => Observed::Event(event),
            Seen::Crashed => Observed::Crashed,
            Seen::Recovered => Observed::Recovered,
        }
    }
}

#[derive(Debug)]
enum Place<P: Protocol> {
    Up { process: P, timers: BTreeMap<P::Timer, Due> },
    Down { stable: P::Stable },
}

/// When a timer is due, and how many were armed before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Due {
    at: u64,
    armed: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Parcel<M> {
    pub(crate) link: Link,
    pub(crate) message: M,
}

/// What processes draw: what is said of the next step, what is listed, then numbers from a seed
/// or, without one, 0. All clocks are the stage's.
#[derive(Debug, Default)]
pub(crate) struct Lots {
    pub(crate) said: VecDeque<u32>,
    /// What was drawn in the step that is taken.
    pub(crate) drawn: Vec<u32>,
    listed: VecDeque<u32>,
    seed: Option<u64>,
    clock: LocalTime,
}

impl Environment for Lots {
    fn choose(&mut self, bound: u32) -> u32 {
        let said = self.said.pop_front().map(|value| value.min(bound - 1));
        let value = match (said.or_else(|| self.listed.pop_front()), &mut self.seed) {
            (Some(value), _) => value,
            (None, None) => 0,
            (None, Some(seed)) => {
                *seed += 1;
                Dice(*seed).below(bound as usize) as u32
            }
        };
        self.drawn.push(value);
        value
    }

    fn local_clock(&mut self) -> LocalTime {
        self.clock
    }
}

impl<P: Protocol> Stage<P> {
    /// A group of `size` processes, freshly booted, with `config` for each.
    pub fn new(size: u32, order: Order, config: impl Fn(Group) -> P::Config) -> Self {
        Stage::booted(size, &[], order, config, false)
    }

    /// The same with one configuration for all.
    pub fn alike(size: u32, order: Order, config: P::Config) -> Self {
        Stage::new(size, order, |_| config.clone())
    }

    /// A stage that tells what happens: see [`Stage::take_lines`].
    pub fn telling(size: u32, order: Order, config: impl Fn(Group) -> P::Config) -> Self {
        Stage::booted(size, &[], order, config, true)
    }

    /// The same with some who are down from the start, and so never did anything.
    pub(crate) fn booted(
        size: u32,
        down: &[ProcessId],
        order: Order,
        config: impl Fn(Group) -> P::Config,
        tells: bool,
    ) -> Self {
        let configs = (0..size).map(|me| config(Group::new(ProcessId(me), size))).collect();
        let mut stage = Stage {
            places: Vec::new(),
            configs,
            order,
            under_way: Vec::new(),
            sides: Vec::new(),
            busy: BTreeMap::new(),
            told: Vec::new(),
            armed: 0,
            batch: Batch::default(),
            seen: Vec::new(),
            sent: BTreeMap::new(),
            lines: tells.then(Vec::new),
            done: Vec::new(),
            lapses: BTreeMap::new(),
        };
        for me in (0..size).map(ProcessId) {
            let up = stage.boot(me, None);
            stage.places.push(up);
            if down.contains(&me) {
                stage.batch.clear();
                stage.shut(me);
                continue;
            }
            if !(stage.batch.messages.is_empty() && stage.batch.events.is_empty()) {
                stage.note(|| format!("{me} boots"));
            }
            stage.release(me);
        }
        stage.batch.environment.drawn.clear();
        stage
    }

    /// What processes will draw: what is listed, and then numbers from a seed.
    pub fn will_draw(&mut self, listed: impl IntoIterator<Item = u32>, seed: u64) {
        let lots = &mut self.batch.environment;
        (lots.listed, lots.seed) = (listed.into_iter().collect(), Some(seed));
    }

    /// How many processes there are.
    pub fn size(&self) -> u32 {
        ProcessId::at(self.places.len()).0
    }

    /// All of them.
    pub fn everybody(&self) -> Vec<ProcessId> {
        (0..self.size()).map(ProcessId).collect()
    }

    /// Those who are up.
    pub fn live(&self) -> Vec<ProcessId> {
        self.everybody().into_iter().filter(|at| self.is_up(*at)).collect()
    }

    /// Whether a process is up.
    pub fn is_up(&self, at: ProcessId) -> bool {
        self.process(at).is_some()
    }

    /// The process `at`; `None` while it is down or when there is none.
    pub fn process(&self, at: ProcessId) -> Option<&P> {
        match self.places.get(at.index())? {
            Place::Up { process, .. } => Some(process),
            Place::Down { .. } => None,
        }
    }

    /// The messages under way, the oldest first: from, to, and what they say.
    pub fn under_way(&self) -> impl Iterator<Item = (ProcessId, ProcessId, &P::Message)> {
        self.under_way.iter().map(|parcel| (parcel.link.0, parcel.link.1, &parcel.message))
    }

    /// Those of a link, the oldest first.
    pub fn queue(&self, link: Link) -> Vec<&P::Message> {
        let on_link = self.under_way.iter().filter(|parcel| parcel.link == link);
        on_link.map(|parcel| &parcel.message).collect()
    }

    /// The links that have something under way, in order.
    pub fn busy_links(&self) -> Vec<Link> {
        self.busy.keys().copied().collect()
    }

    /// The armed timers of all processes.
    pub fn armed_timers(&self) -> Vec<(ProcessId, P::Timer)> {
        self.timers().map(|(at, timer, _)| (at, timer.clone())).collect()
    }

    /// The timer that is due first, and whose it is.
    pub fn next_timer(&self) -> Option<(ProcessId, P::Timer)> {
        let next = self.timers().min_by_key(|(.., due)| *due);
        next.map(|(at, timer, _)| (at, timer.clone()))
    }

    /// The armed timers of one process.
    pub(crate) fn timers_of(&self, at: ProcessId) -> Vec<&P::Timer> {
        self.timers().filter(|(whose, ..)| *whose == at).map(|(_, timer, _)| timer).collect()
    }

    fn timers(&self) -> impl Iterator<Item = (ProcessId, &P::Timer, Due)> {
        let up = self.places.iter().enumerate().filter_map(|(index, place)| match place {
            Place::Up { timers, .. } => Some((ProcessId::at(index), timers)),
            Place::Down { .. } => None,
        });
        up.flat_map(|(at, timers)| timers.iter().map(move |(timer, due)| (at, timer, *due)))
    }

    /// How many messages were sent, by layer and kind.
    pub fn sent(&self) -> &BTreeMap<(Layer, &'static str), u64> {
        &self.sent
    }

    /// How many messages of a kind were sent.
    pub fn sent_of(&self, kind: &str) -> u64 {
        self.sent.iter().filter(|((_, named), _)| *named == kind).map(|(_, count)| count).sum()
    }

    /// How many messages were sent.
    pub fn total_sent(&self) -> u64 {
        self.sent.values().sum()
    }

    /// What users did and saw since the last call.
    pub fn take_seen(&mut self) -> Vec<(ProcessId, Seen<P>)> {
        mem::take(&mut self.seen)
    }

    /// What happened since the last call, one line each; what a step brought about is indented
    /// under it. Nothing, unless the stage is [telling](Stage::telling).
    pub fn take_lines(&mut self) -> Vec<String> {
        self.lines.as_mut().map(mem::take).unwrap_or_default()
    }

    pub(crate) fn note(&mut self, line: impl FnOnce() -> String) {
        if let Some(lines) = &mut self.lines {
            lines.push(line());
        }
    }
}

/// Moves.
impl<P: Protocol> Stage<P> {
    /// The local user asks.
    #[track_caller]
    pub fn command(&mut self, at: ProcessId, command: P::Command) {
        self.note(|| format!("{at} asks {command:?}"));
        self.seen.push((at, Seen::Command(command.clone())));
        self.step(at, Input::Command(command));
    }

    /// The detector of a process speaks of a peer.
    #[track_caller]
    pub fn suspicion(&mut self, at: ProcessId, peer: ProcessId, verdict: Verdict) {
        let verb = if verdict == Verdict::Suspect { "suspects" } else { "trusts" };
        self.note(|| format!("{at} {verb} {peer}"));
        self.step(at, Input::Suspicion { peer, verdict });
    }

    /// A process loses all but its stable state.
    #[track_caller]
    pub fn crash(&mut self, at: ProcessId) {
        self.shut(at);
        self.seen.push((at, Seen::Crashed));
        self.note(|| format!("{at} crashes"));
    }

    #[track_caller]
    fn shut(&mut self, at: ProcessId) {
        let lapse = self.lapses.remove(&at);
        let place = &mut self.places[at.index()];
        let Place::Up { process, .. } = place else { panic!("{at} is up") };
        let stable = match lapse {
            Some(Lapse::Unsaved(before)) => before.stable(),
            _ => process.stable(),
        };
        *place = Place::Down { stable };
    }

    /// What a process does from here on is saved, and nobody hears of it: it will crash.
    pub fn mute(&mut self, at: ProcessId) {
        self.note(|| format!("{at} is mute"));
        self.lapses.insert(at, Lapse::Mute(Since::Nothing));
    }

    /// What a process does from here on is not saved when it crashes.
    #[track_caller]
    pub fn not_save(&mut self, at: ProcessId) {
        let before = self.process(at).unwrap_or_else(|| panic!("{at} is up")).clone();
        self.note(|| format!("{at} does not save its next step"));
        self.lapses.insert(at, Lapse::Unsaved(before));
    }

    /// A process boots with what it had saved.
    #[track_caller]
    pub fn recover(&mut self, at: ProcessId) {
        let Place::Down { stable } = &self.places[at.index()] else { panic!("{at} is down") };
        let stable = stable.clone();
        self.note(|| format!("{at} recovers"));
        self.seen.push((at, Seen::Recovered));
        self.places[at.index()] = self.boot(at, Some(stable));
        self.release(at);
    }

    /// An armed timer fires.
    #[track_caller]
    pub fn fire(&mut self, at: ProcessId, timer: P::Timer) {
        let due = self.disarm(at, &timer).expect("the timer is armed");
        let clock = &mut self.batch.environment.clock;
        *clock = LocalTime(clock.0.max(due.at));
        self.note(|| format!("{at}'s timer {timer:?} fires"));
        self.step(at, Input::Timer(timer));
    }

    /// A timer is disarmed that the process wants armed.
    pub fn forget_timer(&mut self, at: ProcessId, timer: &P::Timer) {
        self.disarm(at, timer);
    }

    fn disarm(&mut self, at: ProcessId, timer: &P::Timer) -> Option<Due> {
        let Place::Up { timers, .. } = &mut self.places[at.index()] else { return None };
        timers.remove(timer)
    }

    /// A message arrives that nobody on this stage has sent.
    #[track_caller]
    pub fn inject(&mut self, from: ProcessId, to: ProcessId, message: P::Message) {
        self.note(|| format!("{to} receives {message:?} from {from}"));
        self.step(to, Input::Message { from, message });
    }

    /// The message of a link that has so many before it arrives, whatever the order of the
    /// channel.
    #[track_caller]
    pub fn pass(&mut self, link: Link, before: usize) {
        let place = self.place(link, before);
        self.arrive(place);
    }

    /// A message of a link arrives: the oldest, or any where the channel reorders.
    #[track_caller]
    pub fn deliver(&mut self, link: Link, dice: &mut Dice) {
        let before = match self.order {
            Order::Fifo => 0,
            Order::Reordered => dice.below(self.queue(link).len()),
        };
        self.pass(link, before);
    }

    /// The oldest message of a link arrives twice, at some time.
    #[track_caller]
    pub fn duplicate(&mut self, link: Link) {
        self.copy(self.place(link, 0));
    }

    /// The oldest message of a link never arrives.
    #[track_caller]
    pub fn lose(&mut self, link: Link) {
        self.remove(self.place(link, 0));
    }

    /// Delivers whatever is under way, in random order, and fires no timer.
    pub fn drain(&mut self, dice: &mut Dice) {
        while let Some(link) = dice.pick(&self.busy_links()) {
            self.deliver(*link, dice);
        }
    }

    /// Delivers until nothing is under way; then lets the timer fire that is due first, and so
    /// on, until there is nothing to do.
    #[track_caller]
    pub fn settle(&mut self) {
        for _ in 0..ENDLESS {
            self.drain(&mut Dice(0));
            match self.next_timer() {
                Some((at, timer)) => self.fire(at, timer),
                None => return,
            }
        }
        panic!("there is always something to do");
    }

    /// Delivers the oldest message, whatever its link, or else lets the timer fire that is due
    /// first, if timers do; tells whether there was something to do.
    pub(crate) fn go_on(&mut self, timers: bool) -> bool {
        if let Some(place) = self.next_parcel() {
            let (from, to) = self.under_way[place].link;
            self.arrive(place);
            self.did(Action::Deliver(Pick::oldest(from, to)));
            return true;
        }
        let Some((at, timer)) = self.next_timer().filter(|_| timers) else { return false };
        let action = Action::Fire { at, timer: format!("{timer:?}") };
        self.fire(at, timer);
        self.did(action);
        true
    }

    /// Notes what was done, behind what was drawn in it.
    pub(crate) fn did(&mut self, action: Action) {
        let lots = &mut self.batch.environment;
        lots.said.clear();
        let drawn = mem::take(&mut lots.drawn).into_iter();
        let at = action.actor();
        self.done.extend(drawn.filter_map(|value| Some(Action::Choose { at: at?, value })));
        self.done.push(action);
    }

    /// The oldest message that can arrive, whatever its link.
    pub(crate) fn next_parcel(&self) -> Option<usize> {
        self.under_way.iter().position(|parcel| !self.is_cut(parcel.link))
    }

    /// Whether nothing arrives over a link. Who is on no side is on one of its own.
    pub(crate) fn is_cut(&self, (from, to): Link) -> bool {
        let side = |at| self.sides.iter().position(|side| side.contains(&at));
        !self.sides.is_empty() && from != to && (side(from) != side(to) || side(from).is_none())
    }

    #[track_caller]
    fn place(&self, link: Link, before: usize) -> usize {
        let mut sent = self.under_way.iter().enumerate().filter(|(_, sent)| sent.link == link);
        sent.nth(before).expect("so many messages are under way").0
    }

    fn take(&mut self, place: usize) -> Parcel<P::Message> {
        let parcel = self.under_way.remove(place);
        let left = self.busy.get_mut(&parcel.link).expect("its link is busy");
        *left -= 1;
        if *left == 0 {
            self.busy.remove(&parcel.link);
        }
        parcel
    }

    fn put(&mut self, place: usize, parcel: Parcel<P::Message>) {
        *self.busy.entry(parcel.link).or_default() += 1;
        self.under_way.insert(place, parcel);
    }

    pub(crate) fn arrive(&mut self, place: usize) {
        let Parcel { link: (from, to), message } = self.take(place);
        if self.is_up(to) {
            self.inject(from, to, message);
        } else {
            self.note(|| format!("{message:?} from {from} is lost: {to} is down"));
        }
    }

    pub(crate) fn remove(&mut self, place: usize) {
        let Parcel { link: (from, to), message } = self.take(place);
        self.note(|| format!("{message:?} from {from} to {to} is lost"));
    }

    pub(crate) fn copy(&mut self, place: usize) {
        let copy = self.under_way[place].clone();
        let Parcel { link: (from, to), message } = &copy;
        self.note(|| format!("{message:?} from {from} to {to} is duplicated"));
        self.put(place + 1, copy);
    }

    pub(crate) fn look(&mut self, at: ProcessId) {
        let line = match &self.places[at.index()] {
            Place::Up { process, timers } if timers.is_empty() => format!("{process:?}"),
            Place::Up { process, timers } => {
                format!("{process:?}, armed {:?}", timers.keys().collect::<Vec<_>>())
            }
            Place::Down { stable } => format!("down, saved {stable:?}"),
        };
        self.note(|| format!("{at} is {line}"));
    }

    fn boot(&mut self, me: ProcessId, stable: Option<P::Stable>) -> Place<P> {
        let size = ProcessId::at(self.configs.len()).0;
        let config = &self.configs[me.index()];
        let process = P::boot(Group::new(me, size), config, stable, &mut self.batch.effects());
        Place::Up { process, timers: BTreeMap::new() }
    }

    #[track_caller]
    fn step(&mut self, at: ProcessId, input: Input<P>) {
        let Place::Up { process, timers } = &mut self.places[at.index()] else {
            panic!("{at} is up")
        };
        let Some(Lapse::Mute(since)) = self.lapses.get_mut(&at) else {
            process.step(input, &mut self.batch.effects());
            return self.release(at);
        };
        let mut after = process.clone();
        after.step(input, &mut self.batch.effects());
        *since = since.and(after.stable() != process.stable());
        if *since == Since::Saved {
            *process = after;
            for change in &self.batch.timers {
                let (TimerChange::Set(timer, _) | TimerChange::Cancel(timer)) = change;
                timers.remove(timer);
            }
        } else {
            timers.clear();
        }
        self.batch.clear();
    }

    #[track_caller]
    fn release(&mut self, at: ProcessId) {
        for (to, message) in mem::take(&mut self.batch.messages) {
            assert!(to != at, "{at} sends {message:?} to itself");
            self.note(|| format!("  sends {to} {message:?}"));
            let label = message.label();
            *self.sent.entry((label.layer, label.kind)).or_default() += 1;
            self.put(self.under_way.len(), Parcel { link: (at, to), message });
        }
        if let Place::Up { timers, .. } = &mut self.places[at.index()] {
            for change in self.batch.timers.drain(..) {
                match change {
                    TimerChange::Set(timer, after) => {
                        self.armed += 1;
                        let due = self.batch.environment.clock.0 + after.min;
                        timers.insert(timer, Due { at: due, armed: self.armed });
                    }
                    TimerChange::Cancel(timer) => drop(timers.remove(&timer)),
                }
            }
        }
        for event in mem::take(&mut self.batch.events) {
            self.note(|| format!("  is told {event:?}"));
            self.seen.push((at, Seen::Event(event)));
        }
    }
}
