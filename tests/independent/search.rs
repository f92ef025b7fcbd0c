//! Breadth-first search over all schedules, one step at a time.

use std::collections::{HashSet, VecDeque};
use std::hash::Hash;

/// A process of an algorithm, with the remaining requests of its user and its timer.
pub(crate) trait Process: Clone + Eq + Hash {
    /// Messages of the algorithm.
    type Message: Clone + Eq + Hash + Ord;

    /// An enabled step without a message.
    fn enabled(&self) -> Option<Step>;

    /// Executes the step.
    fn execute(&mut self, step: Step) -> Outbox<Self::Message>;

    /// Receives a message.
    fn receive(&mut self, from: usize, message: Self::Message) -> Outbox<Self::Message>;

    /// Another enabled step: a token holder or a process with a timer has a choice.
    fn also_enabled(&self) -> Option<Step> {
        None
    }

    /// Returns true if states with this process are excluded, though steps to them count.
    fn exceeds_bound(&self) -> bool {
        false
    }
}

/// Receivers and messages.
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

/// Numbers of reachable states and of steps to them; the start is the first step.
pub(crate) fn count<P: Process>(processes: Vec<P>, order: Delivery) -> (u64, u64) {
    let links = vec![Vec::new(); processes.len() * processes.len()];
    let first = State { processes, links };
    let mut seen = HashSet::from([first.clone()]);
    let mut waiting = VecDeque::from([first]);
    let mut steps = 1;
    while let Some(state) = waiting.pop_front() {
        for next in successors(&state, order) {
            steps += 1;
            if next.processes.iter().any(Process::exceeds_bound) {
                continue;
            }
            if seen.insert(next.clone()) {
                waiting.push_back(next);
            }
        }
    }
    (seen.len() as u64, steps)
}

fn successors<P: Process>(
    state: &State<P, P::Message>,
    order: Delivery,
) -> Vec<State<P, P::Message>> {
    let size = state.processes.len();
    let mut all = Vec::new();
    for (place, process) in state.processes.iter().enumerate() {
        for step in process.enabled().into_iter().chain(process.also_enabled()) {
            let mut next = state.clone();
            let sent = next.processes[place].execute(step);
            all.push(next.sending(place, sent, order));
        }
    }
    for (link, queue) in state.links.iter().enumerate() {
        let (from, to) = (link / size, link % size);
        for (place, message) in queue.iter().enumerate() {
            // First in, first out: only the first message. Any order: one of each group of equal
            // messages, which are adjacent.
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
