//! Breadth-first search over all schedules, one step at a time.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::Hash;

/// A process of an algorithm, with the remaining requests of its user and its timer.
pub(crate) trait Process: Clone + Eq + Hash {
    /// Messages of the algorithm.
    type Message: Clone + Eq + Hash + Ord;

    /// Returns a step that is enabled without a message.
    fn enabled(&self) -> Option<Step>;

    /// Executes the step.
    fn execute(&mut self, step: Step) -> Outbox<Self::Message>;

    /// Receives a message.
    fn receive(&mut self, from: usize, message: Self::Message) -> Outbox<Self::Message>;

    /// Returns a second step that is enabled: a process that holds a token or has a timer may have
    /// a choice.
    fn also_enabled(&self) -> Option<Step> {
        None
    }

    /// Returns a third step that is enabled, of a process with two timers.
    fn third_enabled(&self) -> Option<Step> {
        None
    }

    /// Returns true if the search excludes states with this process. Steps to such states count.
    fn exceeds_bound(&self) -> bool {
        false
    }
}

/// Messages to send, each with its receiver.
pub(crate) type Outbox<M> = Vec<(usize, M)>;

/// A step without a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The user requests entry or an election.
    Request,
    /// The user leaves.
    Exit,
    /// The timer fires.
    Expire,
}

/// Order of delivery on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// First in, first out.
    Fifo,
    /// Any order: a link is a multiset, and equal messages are interchangeable.
    Unordered,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct State<P, M> {
    processes: Vec<P>,
    /// Messages by sender and receiver.
    links: Vec<Vec<M>>,
}

/// Returns the number of reachable states, and the number of steps to them. The start counts as a
/// step to the initial state.
pub(crate) fn count<P: Process>(processes: Vec<P>, order: Delivery) -> (u64, u64) {
    count_with_ends(processes, order, |_| ())
}

/// Like [`count`]. Calls `on_end` with the processes of each state without a next step.
pub(crate) fn count_with_ends<P: Process>(
    processes: Vec<P>,
    order: Delivery,
    on_end: impl FnMut(&[P]),
) -> (u64, u64) {
    search(processes, order, usize::MAX, on_end)
}

/// Like [`count`], but excludes states with more than `in_flight` messages on a link. Steps to such
/// states count.
pub(crate) fn count_within<P: Process>(
    processes: Vec<P>,
    order: Delivery,
    in_flight: usize,
) -> (u64, u64) {
    search(processes, order, in_flight, |_| ())
}

fn search<P: Process>(
    processes: Vec<P>,
    order: Delivery,
    in_flight: usize,
    mut on_end: impl FnMut(&[P]),
) -> (u64, u64) {
    let links = vec![Vec::new(); processes.len() * processes.len()];
    let first = State { processes, links };
    let mut seen = HashSet::from([first.clone()]);
    let mut waiting = VecDeque::from([first]);
    let mut steps = 1;
    while let Some(state) = waiting.pop_front() {
        let next_states = successors(&state, order);
        if next_states.is_empty() {
            on_end(&state.processes);
        }
        for next in next_states {
            steps += 1;
            let is_full = next.links.iter().any(|link| link.len() > in_flight);
            if is_full || next.processes.iter().any(Process::exceeds_bound) {
                continue;
            }
            if seen.insert(next.clone()) {
                waiting.push_back(next);
            }
        }
    }
    (seen.len() as u64, steps)
}

/// Returns the least and the greatest number of messages that are delivered until no step is
/// possible. Every schedule must end, so no state may repeat.
pub(crate) fn extremes<P: Process>(processes: Vec<P>, order: Delivery) -> (u64, u64) {
    let links = vec![Vec::new(); processes.len() * processes.len()];
    remaining(&State { processes, links }, order, &mut HashMap::new())
}

fn remaining<P: Process>(
    state: &State<P, P::Message>,
    order: Delivery,
    known: &mut HashMap<State<P, P::Message>, (u64, u64)>,
) -> (u64, u64) {
    if let Some(found) = known.get(state) {
        return *found;
    }
    let local = local_steps(state, order).into_iter().map(|next| (next, 0));
    let delivered = deliveries(state, order).into_iter().map(|next| (next, 1));
    let all: Vec<(u64, u64)> = local
        .chain(delivered)
        .map(|(next, messages)| {
            let (least, greatest) = remaining(&next, order, known);
            (least + messages, greatest + messages)
        })
        .collect();
    let least = all.iter().map(|it| it.0).min().unwrap_or(0);
    let found = (least, all.iter().map(|it| it.1).max().unwrap_or(0));
    known.insert(state.clone(), found);
    found
}

fn successors<P: Process>(
    state: &State<P, P::Message>,
    order: Delivery,
) -> Vec<State<P, P::Message>> {
    local_steps(state, order).into_iter().chain(deliveries(state, order)).collect()
}

fn local_steps<P: Process>(
    state: &State<P, P::Message>,
    order: Delivery,
) -> Vec<State<P, P::Message>> {
    let mut all = Vec::new();
    for (place, process) in state.processes.iter().enumerate() {
        let steps = [process.enabled(), process.also_enabled(), process.third_enabled()];
        for step in steps.into_iter().flatten() {
            let mut next = state.clone();
            let sent = next.processes[place].execute(step);
            all.push(next.sending(place, sent, order));
        }
    }
    all
}

fn deliveries<P: Process>(
    state: &State<P, P::Message>,
    order: Delivery,
) -> Vec<State<P, P::Message>> {
    let size = state.processes.len();
    let mut all = Vec::new();
    for (link, queue) in state.links.iter().enumerate() {
        let (from, to) = (link / size, link % size);
        for (place, message) in queue.iter().enumerate() {
            // On a first-in, first-out link, only the first message is delivered. In any order, one
            // of each group of equal messages is delivered: equal messages are adjacent.
            let repeats = place > 0 && (order == Delivery::Fifo || queue[place - 1] == *message);
            if repeats {
                continue;
            }
            let mut next = state.clone();
            let message = next.links[link].remove(place);
            let sent = next.processes[to].receive(from, message);
            all.push(next.sending(to, sent, order));
        }
    }
    all
}

impl<P, M: Ord> State<P, M> {
    fn sending(mut self, from: usize, sent: Outbox<M>, order: Delivery) -> Self {
        let size = self.processes.len();
        for (to, message) in sent {
            let link = &mut self.links[from * size + to];
            link.push(message);
            if order == Delivery::Unordered {
                link.sort();
            }
        }
        self
    }
}
