//! FloodMax in numbered rounds, as in N. A. Lynch, *Distributed Algorithms*, 1996. In each of
//! *diam* rounds, a process sends *max-uid* to all neighbours. A round ends when the messages of
//! all neighbours have arrived.

use std::collections::BTreeMap;

use super::graphs::{Graph, diameter};
use super::search::{Outbox, Process, Step};
use super::user::Reported;

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Site {
    neighbours: Vec<usize>,
    me: usize,
    diam: usize,
    asks: bool,
    reported: Reported,
    /// Number of the present round. It is 0 before the first round, and `diam` + 1 after the last.
    round: usize,
    max_uid: usize,
    /// Received ranks by sender. The first map belongs to the present round, and the second map to
    /// the next round.
    inbox: [BTreeMap<usize, usize>; 2],
}

#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Message {
    round: usize,
    max_uid: usize,
}

/// Creates the processes of a graph. The rank of a process is its index. The users of `initiators`
/// request one election each.
pub(crate) fn sites(graph: &Graph, initiators: &[usize]) -> Vec<Site> {
    let site = |(me, neighbours): (usize, &Vec<usize>)| Site {
        neighbours: neighbours.clone(),
        me,
        diam: diameter(graph),
        asks: initiators.contains(&me),
        reported: Reported::Nothing,
        round: 0,
        max_uid: me,
        inbox: [BTreeMap::new(), BTreeMap::new()],
    };
    graph.iter().enumerate().map(site).collect()
}

impl Process for Site {
    type Message = Message;

    fn enabled(&self) -> Option<Step> {
        self.asks.then_some(Step::Request)
    }

    fn execute(&mut self, _: Step) -> Outbox<Message> {
        (self.asks, self.reported) = (false, Reported::Asked);
        if self.round == 0 { self.begin() } else { Vec::new() }
    }

    fn receive(&mut self, from: usize, message: Message) -> Outbox<Message> {
        let mut sent = if self.round == 0 { self.begin() } else { Vec::new() };
        self.inbox[message.round - self.round].insert(from, message.max_uid);
        while self.round <= self.diam && self.inbox[0].len() == self.neighbours.len() {
            let [now, next] = std::mem::take(&mut self.inbox);
            self.max_uid = now.into_values().fold(self.max_uid, usize::max);
            self.inbox[0] = next;
            sent.extend(self.begin());
        }
        sent
    }
}

impl Site {
    /// Begins the next round. After the last round, decides on the leader.
    fn begin(&mut self) -> Outbox<Message> {
        self.round += 1;
        if self.round > self.diam {
            (self.asks, self.reported, self.max_uid) = (false, Reported::Leader, self.me);
            return Vec::new();
        }
        let message = Message { round: self.round, max_uid: self.max_uid };
        self.neighbours.iter().map(|peer| (*peer, message.clone())).collect()
    }
}
