//! Breadth first through everything that can happen, one thing at a time.

use std::collections::{HashSet, VecDeque};
use std::hash::Hash;

/// One process of an algorithm, with what its user still wants and its armed timer.
pub(crate) trait Process: Clone + Eq + Hash {
    /// What processes say to each other.
    type Message: Clone + Eq + Hash + Ord;

    /// What may happen here without a message.
    fn may(&self) -> Option<Act>;

    /// That happens.
    fn act(&mut self, act: Act) -> Sent<Self::Message>;

    /// A message arrives.
    fn hear(&mut self, from: usize, message: Self::Message) -> Sent<Self::Message>;

    /// What may happen besides: a holder of a token, and whoever has a timer, has a choice.
    fn may_as_well(&self) -> Option<Act> {
        None
    }

    /// Whether worlds with this are not looked at, though a step leads to them.
    fn is_beyond(&self) -> bool {
        false
    }
}

/// To whom, and what.
pub(crate) type Sent<M> = Vec<(usize, M)>;

/// What happens at a process without a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// The user asks to enter, or for an election.
    Ask,
    /// The user leaves.
    Leave,
    /// The timer fires.
    Fire,
}

/// Which message of a link may arrive next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Links {
    /// The one that was sent first.
    InOrder,
    /// Any: a link is a bag, and of two messages that say the same it does not matter which.
    AnyOrder,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct World<P, M> {
    processes: Vec<P>,
    /// From each to each.
    links: Vec<Vec<M>>,
}

/// How many worlds can be reached from these processes, and how many steps lead to one of them; the
/// start is the first.
pub(crate) fn count<P: Process>(processes: Vec<P>, order: Links) -> (u64, u64) {
    let links = vec![Vec::new(); processes.len() * processes.len()];
    let first = World { processes, links };
    let mut seen = HashSet::from([first.clone()]);
    let mut waiting = VecDeque::from([first]);
    let mut steps = 1;
    while let Some(world) = waiting.pop_front() {
        for next in successors(&world, order) {
            steps += 1;
            if next.processes.iter().any(Process::is_beyond) {
                continue;
            }
            if seen.insert(next.clone()) {
                waiting.push_back(next);
            }
        }
    }
    (seen.len() as u64, steps)
}

fn successors<P: Process>(world: &World<P, P::Message>, order: Links) -> Vec<World<P, P::Message>> {
    let size = world.processes.len();
    let mut all = Vec::new();
    for (place, process) in world.processes.iter().enumerate() {
        for act in process.may().into_iter().chain(process.may_as_well()) {
            let mut next = world.clone();
            let sent = next.processes[place].act(act);
            all.push(next.sending(place, sent, order));
        }
    }
    for (link, queue) in world.links.iter().enumerate() {
        let (from, to) = (link / size, link % size);
        for (place, message) in queue.iter().enumerate() {
            // In order, only the first; in any order, one of each, and equals are side by side.
            let repeats = place > 0 && (order == Links::InOrder || queue[place - 1] == *message);
            if repeats {
                continue;
            }
            let mut next = world.clone();
            let message = next.links[link].remove(place);
            let sent = next.processes[to].hear(from, message);
            all.push(next.sending(to, sent, order));
        }
    }
    all
}

impl<P, M: Ord> World<P, M> {
    fn sending(mut self, from: usize, sent: Sent<M>, order: Links) -> Self {
        let size = self.processes.len();
        for (to, message) in sent {
            let link = &mut self.links[from * size + to];
            link.push(message);
            if order == Links::AnyOrder {
                link.sort();
            }
        }
        self
    }
}
