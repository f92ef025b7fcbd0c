//! Election on a tree by full saturation, as in N. Santoro, *Design and Analysis of Distributed
//! Algorithms*, 2007. The algorithm has three phases: the wake-up, the saturation, and the
//! announcement of the largest rank. Both saturated processes send the announcement.

use super::graphs::Graph;
use super::search::{Outbox, Process, Step};
use super::user::Reported;

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Site {
    /// Neighbours that have not sent a rank yet. The book calls this set `Neighbours`.
    left: Vec<usize>,
    neighbours: Vec<usize>,
    me: usize,
    asks: bool,
    reported: Reported,
    state: State,
    largest: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum State {
    Available,
    Active,
    Processing,
    Done,
}

#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Message {
    Activate,
    Rank(usize),
    Leader(usize),
}

/// Creates the processes of a tree with at least two vertices. The index of a process is its rank.
/// The users of `initiators` request one election each.
pub(crate) fn sites(tree: &Graph, initiators: &[usize]) -> Vec<Site> {
    let site = |(me, neighbours): (usize, &Vec<usize>)| Site {
        left: neighbours.clone(),
        neighbours: neighbours.clone(),
        me,
        asks: initiators.contains(&me),
        reported: Reported::Nothing,
        state: State::Available,
        largest: me,
    };
    tree.iter().enumerate().map(site).collect()
}

impl Process for Site {
    type Message = Message;

    fn enabled(&self) -> Option<Step> {
        self.asks.then_some(Step::Request)
    }

    fn execute(&mut self, _: Step) -> Outbox<Message> {
        (self.asks, self.reported) = (false, Reported::Asked);
        if self.state == State::Available { self.activate(None) } else { Vec::new() }
    }

    fn receive(&mut self, from: usize, message: Message) -> Outbox<Message> {
        let mut sent = Vec::new();
        if self.state == State::Available {
            sent = self.activate(Some(from));
        }
        match message {
            Message::Activate => {}
            Message::Rank(rank) if self.state == State::Active => {
                self.left.retain(|peer| *peer != from);
                self.largest = self.largest.max(rank);
                sent.extend(self.saturate());
            }
            Message::Rank(rank) => sent.extend(self.decide(self.largest.max(rank), from)),
            Message::Leader(rank) => sent.extend(self.decide(rank, from)),
        }
        sent
    }
}

impl Site {
    fn activate(&mut self, by: Option<usize>) -> Outbox<Message> {
        self.state = State::Active;
        let others = self.neighbours.iter().filter(|peer| Some(**peer) != by);
        let sent: Vec<_> = others.map(|peer| (*peer, Message::Activate)).collect();
        sent.into_iter().chain(self.saturate()).collect()
    }

    fn saturate(&mut self) -> Outbox<Message> {
        if self.left.len() > 1 {
            return Vec::new();
        }
        self.state = State::Processing;
        vec![(self.left[0], Message::Rank(self.largest))]
    }

    fn decide(&mut self, leader: usize, informed: usize) -> Outbox<Message> {
        (self.asks, self.reported, self.state) = (false, Reported::Leader, State::Done);
        // The neighbours are no longer needed.
        self.left.clear();
        self.largest = self.me;
        let others = self.neighbours.iter().filter(|peer| **peer != informed);
        others.map(|peer| (*peer, Message::Leader(leader))).collect()
    }
}
