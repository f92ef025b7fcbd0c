//! A world small enough to read: processes, links, timers, and a seeded hand that moves them.
#![allow(dead_code, reason = "each test crate uses a part of it")]

pub(crate) mod detector;
pub(crate) mod election;
pub(crate) mod mutex;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use tenure_core::{
    Batch, Environment, Group, Input, Labelled, Layer, LocalTime, Order, ProcessId, Protocol,
    TimerChange, Verdict,
};

/// Numbers that are the same on every machine: splitmix64.
#[derive(Clone, Debug)]
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((word ^ (word >> 31)) % bound as u64) as usize
    }

    pub(crate) fn one_in(&mut self, bound: usize) -> bool {
        self.below(bound) == 0
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        if from.is_empty() { None } else { from.get(self.below(from.len())) }
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

/// The process that people call by this number.
pub(crate) fn p(number: u32) -> ProcessId {
    ProcessId(number - 1)
}

/// What happened at a process, as its user sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Seen<P: Protocol> {
    Command(P::Command),
    Event(P::Event),
    Crashed,
    Recovered,
}

/// A group of processes, moved from outside, one input at a time.
pub(crate) struct World<P: Protocol> {
    pub(crate) size: u32,
    config: P::Config,
    order: Order,
    pub(crate) processes: Vec<Option<P>>,
    stable: Vec<P::Stable>,
    links: BTreeMap<(ProcessId, ProcessId), VecDeque<P::Message>>,
    /// By process: when each is due, and how many were armed before it.
    timers: Vec<BTreeMap<P::Timer, (u64, u64)>>,
    armed: u64,
    /// Stands still, except that a timer fires when it is due or later.
    now: u64,
    /// Everything that users did and saw, not yet taken.
    seen: Vec<(ProcessId, Seen<P>)>,
    /// How many messages of each kind were sent.
    pub(crate) sent: BTreeMap<(Layer, &'static str), u64>,
    batch: Batch<P, Lots>,
}

/// What processes draw: what is listed, then numbers from a seed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lots {
    pub(crate) listed: VecDeque<u32>,
    pub(crate) seed: u64,
}

impl Environment for Lots {
    fn choose(&mut self, bound: u32) -> u32 {
        if let Some(value) = self.listed.pop_front() {
            return value;
        }
        self.seed += 1;
        Dice(self.seed).below(bound as usize) as u32
    }

    fn local_clock(&mut self) -> LocalTime {
        LocalTime::ZERO
    }
}

/// Two processes: from, to.
pub(crate) type Link = (ProcessId, ProcessId);

impl<P: Protocol> World<P> {
    pub(crate) fn new(size: u32, order: Order, config: P::Config) -> Self {
        let mut world: World<P> = World {
            size,
            config,
            order,
            processes: vec![None; size as usize],
            stable: Vec::new(),
            links: BTreeMap::new(),
            timers: vec![BTreeMap::new(); size as usize],
            armed: 0,
            now: 0,
            seen: Vec::new(),
            sent: BTreeMap::new(),
            batch: Batch::default(),
        };
        for me in world.everybody() {
            world.boot(me, None);
            let stable = world.process(me).stable();
            world.stable.push(stable);
        }
        world
    }

    pub(crate) fn everybody(&self) -> Vec<ProcessId> {
        (0..self.size).map(ProcessId).collect()
    }

    pub(crate) fn live(&self) -> Vec<ProcessId> {
        self.everybody().into_iter().filter(|at| self.is_up(*at)).collect()
    }

    pub(crate) fn is_up(&self, at: ProcessId) -> bool {
        self.processes[at.index()].is_some()
    }

    pub(crate) fn process(&self, at: ProcessId) -> &P {
        self.processes[at.index()].as_ref().expect("the process is up")
    }

    pub(crate) fn command(&mut self, at: ProcessId, command: P::Command) {
        self.seen.push((at, Seen::Command(command.clone())));
        self.step(at, Input::Command(command));
    }

    pub(crate) fn suspicion(&mut self, at: ProcessId, peer: ProcessId, verdict: Verdict) {
        self.step(at, Input::Suspicion { peer, verdict });
    }

    pub(crate) fn crash(&mut self, at: ProcessId) {
        self.stable[at.index()] = self.process(at).stable();
        self.processes[at.index()] = None;
        self.timers[at.index()].clear();
        self.seen.push((at, Seen::Crashed));
    }

    pub(crate) fn recover(&mut self, at: ProcessId) {
        self.seen.push((at, Seen::Recovered));
        let stable = self.stable[at.index()].clone();
        self.boot(at, Some(stable));
    }

    /// What processes will draw, before they draw from the seed.
    pub(crate) fn will_draw(&mut self, listed: impl IntoIterator<Item = u32>, seed: u64) {
        self.batch.environment = Lots { listed: listed.into_iter().collect(), seed };
    }

    /// A message arrives that nobody in this world has sent.
    pub(crate) fn inject(&mut self, from: ProcessId, to: ProcessId, message: P::Message) {
        self.step(to, Input::Message { from, message });
    }

    /// Delivers the oldest message of a link, whatever the order of the channel.
    pub(crate) fn pass(&mut self, from: u32, to: u32) {
        self.pass_nth(from, to, 0);
    }

    /// Delivers the message of a link that has so many before it.
    pub(crate) fn pass_nth(&mut self, from: u32, to: u32, place: usize) {
        let link = (p(from), p(to));
        let queue = self.links.get_mut(&link).expect("the link is busy");
        let message = queue.remove(place).expect("so many messages are under way");
        if self.is_up(link.1) {
            self.step(link.1, Input::Message { from: link.0, message });
        }
    }

    /// What is under way on a busy link, the oldest first.
    pub(crate) fn queue(&self, link: Link) -> &VecDeque<P::Message> {
        &self.links[&link]
    }

    /// The message that has been under way for the longest on a busy link.
    pub(crate) fn oldest(&self, link: Link) -> &P::Message {
        self.links[&link].front().expect("the link is busy")
    }

    /// How many messages are under way on a link.
    pub(crate) fn under_way(&self, from: u32, to: u32) -> usize {
        self.links.get(&(p(from), p(to))).map_or(0, VecDeque::len)
    }

    /// The links that have something under way.
    pub(crate) fn busy_links(&self) -> Vec<Link> {
        self.links.iter().filter(|(_, queue)| !queue.is_empty()).map(|(link, _)| *link).collect()
    }

    pub(crate) fn armed_timers(&self) -> Vec<(ProcessId, P::Timer)> {
        let armed = self.timers.iter().enumerate();
        armed
            .flat_map(|(at, timers)| {
                timers.keys().map(move |timer| (ProcessId::at(at), timer.clone()))
            })
            .collect()
    }

    /// Delivers one message of a link: the oldest, or any where the channel reorders.
    pub(crate) fn deliver(&mut self, link: Link, dice: &mut Dice) {
        let queue = self.links.get_mut(&link).expect("the link is busy");
        let place = if self.order == Order::Fifo { 0 } else { dice.below(queue.len()) };
        let message = queue.remove(place).expect("the link is busy");
        if self.is_up(link.1) {
            self.step(link.1, Input::Message { from: link.0, message });
        }
    }

    /// The oldest message of a link arrives twice, at some time.
    pub(crate) fn duplicate(&mut self, link: Link) {
        let queue = self.links.get_mut(&link).expect("the link is busy");
        let copy = queue.front().expect("the link is busy").clone();
        queue.push_front(copy);
    }

    /// The oldest message of a link never arrives.
    pub(crate) fn lose(&mut self, link: Link) {
        self.links.get_mut(&link).expect("the link is busy").pop_front();
    }

    pub(crate) fn fire(&mut self, at: ProcessId, timer: P::Timer) {
        let (due, _) = self.timers[at.index()].remove(&timer).expect("the timer is armed");
        self.now = self.now.max(due);
        self.step(at, Input::Timer(timer));
    }

    /// Delivers until nothing is under way; then lets the timer fire that is due first, and so
    /// on, until there is nothing to do.
    pub(crate) fn settle(&mut self) {
        for _ in 0..10_000 {
            self.drain(&mut Dice(0));
            match self.next_timer() {
                Some((at, timer)) => self.fire(at, timer),
                None => return,
            }
        }
        panic!("there is always something to do");
    }

    /// Delivers whatever is under way, in random order, and fires no timer.
    pub(crate) fn drain(&mut self, dice: &mut Dice) {
        while let Some(link) = dice.pick(&self.busy_links()) {
            self.deliver(*link, dice);
        }
    }

    pub(crate) fn take_seen(&mut self) -> Vec<(ProcessId, Seen<P>)> {
        std::mem::take(&mut self.seen)
    }

    pub(crate) fn total_sent(&self) -> u64 {
        self.sent.values().sum()
    }

    /// How many messages of a kind were sent.
    pub(crate) fn sent_of(&self, kind: &str) -> u64 {
        self.sent.iter().filter(|((_, named), _)| *named == kind).map(|(_, count)| count).sum()
    }

    pub(crate) fn forget_timer(&mut self, at: ProcessId, timer: &P::Timer) {
        self.timers[at.index()].remove(timer);
    }

    pub(crate) fn next_timer(&self) -> Option<(ProcessId, P::Timer)> {
        let timers = self.timers.iter().enumerate();
        let all =
            timers.flat_map(|(at, timers)| timers.iter().map(move |(it, due)| (*due, at, it)));
        all.min().map(|(_, at, timer)| (ProcessId::at(at), timer.clone()))
    }

    fn boot(&mut self, me: ProcessId, stable: Option<P::Stable>) {
        let group = Group::new(me, self.size);
        let process = P::boot(group, &self.config, stable, &mut self.batch);
        self.processes[me.index()] = Some(process);
        self.release(me);
    }

    fn step(&mut self, at: ProcessId, input: Input<P>) {
        let process = self.processes[at.index()].as_mut().expect("the process is up");
        process.step(input, &mut self.batch);
        self.release(at);
    }

    fn release(&mut self, at: ProcessId) {
        for (to, message) in self.batch.messages.drain(..) {
            assert!(to != at, "{at} sends {message:?} to itself");
            let label = message.label();
            *self.sent.entry((label.layer, label.kind)).or_default() += 1;
            self.links.entry((at, to)).or_default().push_back(message);
        }
        for change in self.batch.timers.drain(..) {
            let timers = &mut self.timers[at.index()];
            match change {
                TimerChange::Set(timer, after) => {
                    self.armed += 1;
                    timers.insert(timer, (self.now + after.min, self.armed));
                }
                TimerChange::Cancel(timer) => drop(timers.remove(&timer)),
            }
        }
        for event in self.batch.events.drain(..) {
            self.seen.push((at, Seen::Event(event)));
        }
    }
}

/// All orders of `1..=n`, by Heap's method.
pub(crate) fn permutations(n: u32, mut visit: impl FnMut(&[u32])) {
    fn arrange(items: &mut [u32], last: usize, visit: &mut impl FnMut(&[u32])) {
        if last == 0 {
            return visit(items);
        }
        for place in 0..=last {
            arrange(items, last - 1, visit);
            let swapped = if last % 2 == 1 { place } else { 0 };
            items.swap(swapped, last);
        }
    }
    let mut items: Vec<u32> = (1..=n).collect();
    let last = items.len().saturating_sub(1);
    arrange(&mut items, last, &mut visit);
}

#[test]
fn every_permutation_is_visited_once() {
    let mut seen = BTreeSet::new();
    permutations(5, |ring| assert!(seen.insert(ring.to_vec())));
    assert_eq!(seen.len(), 120);
}
