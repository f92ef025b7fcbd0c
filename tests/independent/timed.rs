//! Breadth-first search over all schedules of a synchronous system, in whole units of time.
//!
//! Each message in flight, each step in progress and each running timer has an age. A message
//! arrives, a step ends and a timer fires only at an age within given bounds. When an age has
//! reached its upper bound, the message must arrive, the step must end or the timer must fire
//! before more time passes.
//!
//! A process changes its state as soon as it handles an input. The messages of the step leave, and
//! its timers start, at the end of the step. The steps of a process take place one after another.

use std::collections::{HashSet, VecDeque};
use std::hash::Hash;

/// Known bounds of a synchronous system, in whole units of time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Least and greatest latency of a message.
    pub(crate) latency: (u32, u32),
    /// Least and greatest duration of a step.
    pub(crate) step: (u32, u32),
    /// Greatest deviation of the rate of a clock, in percent.
    pub(crate) drift: u32,
}

impl Bounds {
    /// Returns true if a timer of `duration` units may fire, when `age` units have passed since its
    /// start. The timer may fire if a clock within the bounds can have measured the duration.
    fn may_fire(self, duration: u32, age: u32) -> bool {
        age * (100 + self.drift) >= duration * 100
    }

    /// Returns true if a timer of `duration` units must fire now, when `age` units have passed
    /// since its start. Suppose that one more unit passes. If even the slowest clock then shows
    /// more than `duration`, the timer must fire now.
    fn must_fire(self, duration: u32, age: u32) -> bool {
        (age + 1) * (100 - self.drift) > duration * 100
    }
}

/// Effects that a step of a process has when it ends.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Effects<M> {
    /// Messages that are sent, each with the index of its receiver.
    pub(crate) sent: Vec<(usize, M)>,
    /// Timers that the step starts or restarts. For each timer: its number, and its duration in
    /// units of time.
    pub(crate) started: Vec<(usize, u32)>,
    pub(crate) cancelled: Vec<usize>,
}

/// A process of an algorithm with timers, which are identified by numbers.
pub(crate) trait TimedProcess: Clone + Eq + Hash {
    type Message: Clone + Eq + Hash + Ord;

    /// Executes the first step of the process, before time begins.
    fn boot(&mut self) -> Effects<Self::Message>;

    /// Handles the next request of the user. Returns `None` if the user has no more requests.
    fn request(&mut self) -> Option<Effects<Self::Message>>;

    fn receive(&mut self, from: usize, message: Self::Message) -> Effects<Self::Message>;

    fn expire(&mut self, timer: usize) -> Effects<Self::Message>;

    /// Returns true if this process exceeds a bound of the search. The search then excludes the
    /// state that contains the process.
    fn exceeds_bound(&self) -> bool {
        false
    }
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Site<P: TimedProcess> {
    process: P,
    /// Unfinished steps of the process, each with its age and effects. The steps take place one
    /// after another, so only the age of the first step grows.
    steps: Vec<(u32, Effects<P::Message>)>,
    /// Running timers of the process, in ascending order. A timer consists of its number, its
    /// duration and its age.
    timers: Vec<(usize, u32, u32)>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct State<P: TimedProcess> {
    sites: Vec<Site<P>>,
    /// Messages in transit, in ascending order. Each element consists of the sender, the receiver,
    /// the content and the age of a message.
    transit: Vec<(usize, usize, P::Message, u32)>,
}

/// Returns the least number of inputs after which `is_wrong` holds in some schedule. Inputs are
/// requests, deliveries and expiries. Returns `None` if `is_wrong` holds in no schedule.
pub(crate) fn shortest<P: TimedProcess>(
    processes: Vec<P>,
    bounds: Bounds,
    is_wrong: impl Fn(&[P]) -> bool,
) -> Option<usize> {
    let mut first = State { sites: Vec::new(), transit: Vec::new() };
    for process in processes {
        first.sites.push(Site { process, steps: Vec::new(), timers: Vec::new() });
    }
    for at in 0..first.sites.len() {
        let effects = first.sites[at].process.boot();
        first.take_step(at, effects, bounds);
    }
    let mut seen = HashSet::from([first.clone()]);
    let mut level = VecDeque::from([first]);
    for inputs in 1.. {
        let mut next = VecDeque::new();
        while let Some(state) = level.pop_front() {
            for later in state.without_input(bounds) {
                if seen.insert(later.clone()) {
                    level.push_back(later);
                }
            }
            for later in state.with_input(bounds) {
                let processes: Vec<P> = later.sites.iter().map(|it| it.process.clone()).collect();
                if is_wrong(&processes) {
                    return Some(inputs);
                }
                let is_within = !processes.iter().any(P::exceeds_bound);
                if is_within && seen.insert(later.clone()) {
                    next.push_back(later);
                }
            }
        }
        if next.is_empty() {
            return None;
        }
        level = next;
    }
    unreachable!("the loop has no end")
}

impl<P: TimedProcess> State<P> {
    fn take_step(&mut self, at: usize, effects: Effects<P::Message>, bounds: Bounds) {
        let site = &mut self.sites[at];
        let stopped = |timer: usize| {
            effects.cancelled.contains(&timer) || effects.started.iter().any(|it| it.0 == timer)
        };
        site.timers.retain(|(timer, ..)| !stopped(*timer));
        for (_, waiting) in &mut site.steps {
            waiting.started.retain(|(timer, _)| !stopped(*timer));
        }
        let effects = Effects { cancelled: Vec::new(), ..effects };
        if bounds.step.1 == 0 {
            self.release(at, effects);
        } else {
            self.sites[at].steps.push((0, effects));
        }
    }

    fn release(&mut self, at: usize, effects: Effects<P::Message>) {
        let timers = &mut self.sites[at].timers;
        timers.extend(effects.started.into_iter().map(|(timer, duration)| (timer, duration, 0)));
        timers.sort_unstable();
        self.transit.extend(effects.sent.into_iter().map(|(to, message)| (at, to, message, 0)));
        self.transit.sort();
    }

    /// Returns the states that can follow without an input. In each of them, one process has
    /// completed a step, or one unit of time has passed.
    fn without_input(&self, bounds: Bounds) -> Vec<Self> {
        let mut all = Vec::new();
        for at in 0..self.sites.len() {
            let may_end = |step: &(u32, Effects<P::Message>)| step.0 >= bounds.step.0;
            if self.sites[at].steps.first().is_some_and(may_end) {
                let mut next = self.clone();
                let (_, effects) = next.sites[at].steps.remove(0);
                next.release(at, effects);
                all.push(next);
            }
        }
        let is_late = |(.., age): &(usize, usize, P::Message, u32)| *age >= bounds.latency.1;
        let is_due = |site: &Site<P>| {
            site.steps.first().is_some_and(|(age, _)| *age >= bounds.step.1)
                || site.timers.iter().any(|(_, duration, age)| bounds.must_fire(*duration, *age))
        };
        if !self.transit.iter().any(is_late) && !self.sites.iter().any(is_due) {
            let mut next = self.clone();
            next.transit.iter_mut().for_each(|message| message.3 += 1);
            for site in &mut next.sites {
                site.steps.iter_mut().take(1).for_each(|step| step.0 += 1);
                site.timers.iter_mut().for_each(|timer| timer.2 += 1);
            }
            all.push(next);
        }
        all
    }

    /// Returns the next states after an input: a request, a delivery or the expiry of a timer.
    fn with_input(&self, bounds: Bounds) -> Vec<Self> {
        let mut all = Vec::new();
        let mut add = |mut next: Self, at: usize, effects| {
            next.take_step(at, effects, bounds);
            all.push(next);
        };
        for at in 0..self.sites.len() {
            let mut next = self.clone();
            if let Some(effects) = next.sites[at].process.request() {
                add(next, at, effects);
            }
            for (place, (timer, duration, age)) in self.sites[at].timers.iter().enumerate() {
                if bounds.may_fire(*duration, *age) {
                    let mut next = self.clone();
                    next.sites[at].timers.remove(place);
                    let effects = next.sites[at].process.expire(*timer);
                    add(next, at, effects);
                }
            }
        }
        for (place, (from, to, message, age)) in self.transit.iter().enumerate() {
            if *age >= bounds.latency.0 {
                let mut next = self.clone();
                next.transit.remove(place);
                let effects = next.sites[*to].process.receive(*from, message.clone());
                add(next, *to, effects);
            }
        }
        all
    }
}
