//! Breadth-first search over all schedules of an algorithm, one step at a time.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::Hash;

/// A process of an algorithm. The state of the process includes its timer, and the number of
/// requests that the user has not made yet.
pub(crate) trait Process: Clone + Eq + Hash {
    type Message: Clone + Eq + Hash + Ord;

    /// Returns a step that the process can take without a message; `None` if there is none.
    fn enabled(&self) -> Option<Step>;

    fn execute(&mut self, step: Step) -> Outbox<Self::Message>;

    fn receive(&mut self, from: usize, message: Self::Message) -> Outbox<Self::Message>;

    /// Returns a second possible step, besides the step of [`enabled`](Process::enabled). The
    /// second step needs no message either. A process with a token or a timer, for example, has
    /// such a step. Returns `None` if there is no second step.
    fn also_enabled(&self) -> Option<Step> {
        None
    }

    /// Returns a third possible step, besides the steps of [`enabled`](Process::enabled) and
    /// [`also_enabled`](Process::also_enabled). The third step needs no message either. A process
    /// with two timers, for example, has such a step. Returns `None` if there is no third step.
    fn third_enabled(&self) -> Option<Step> {
        None
    }

    /// Returns true if this process exceeds a bound of the search. The search then excludes the
    /// state that contains the process, but still counts the step to this state.
    fn exceeds_bound(&self) -> bool {
        false
    }
}

/// Messages to send, each with the index of its receiver.
pub(crate) type Outbox<M> = Vec<(usize, M)>;

/// A step of a process that handles no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The user requests entry or an election.
    Request,
    Exit,
    Expire,
}

/// Order in which a link delivers its messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// A link delivers messages in the order of sending.
    Fifo,
    /// A link delivers messages in any order. Equal messages are interchangeable.
    Unordered,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct State<P, M> {
    processes: Vec<P>,
    /// For each pair of sender and receiver, the messages in transit.
    links: Vec<Vec<M>>,
}

/// Returns the number of reachable states, and the number of steps between them. The start of the
/// processes is counted as one step, which leads to the initial state.
pub(crate) fn count<P: Process>(processes: Vec<P>, order: Delivery) -> (u64, u64) {
    count_with_ends(processes, order, |_| ())
}

/// Returns the number of reachable states and of steps. Calls `on_end` with the processes of each
/// state from which no step is possible.
pub(crate) fn count_with_ends<P: Process>(
    processes: Vec<P>,
    order: Delivery,
    on_end: impl FnMut(&[P]),
) -> (u64, u64) {
    search(processes, order, usize::MAX, on_end)
}

/// Returns the number of reachable states and of steps, but excludes states with more than
/// `in_flight` messages on a link. Steps to excluded states are counted.
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

/// Returns the least and the greatest number of messages that a schedule delivers until no step is
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
            // A FIFO link delivers only its first message. An unordered link delivers one of
            // several equal messages, which are adjacent in the queue.
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
            let place = match order {
                Delivery::Fifo => link.len(),
                Delivery::Unordered => link.partition_point(|other| *other <= message),
            };
            link.insert(place, message);
        }
        self
    }
}
