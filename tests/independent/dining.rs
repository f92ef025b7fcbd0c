//! The dining philosophers of K. M. Chandy, J. Misra, *The drinking philosophers problem*, ACM
//! TOPLAS 6(4), 1984. Each edge has a fork and a request token. The guarded actions of the paper
//! are executed until none is enabled.
//!
//! Two additions make the actions independent of the order of messages. A process that waits for a
//! fork does not request it again, even if the token returns before the fork. A token that arrives
//! before the fork waits for the fork.

use super::graphs::Graph;
use super::search::{Outbox, Process, Step};
use super::user::User;

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Site {
    me: usize,
    requests: u32,
    user: User,
    edges: Vec<Edge>,
}

/// One end of an edge, as the process at this end sees it.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Edge {
    peer: usize,
    fork: bool,
    dirty: bool,
    token: bool,
    /// True if this process has requested the fork and has not received it yet.
    asked: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Message {
    Fork,
    Token,
}

/// Creates the processes of a graph. `requests` contains the number of entries of each user. At the
/// start, the process with the smaller index at each edge has the dirty fork, and the other process
/// has the token.
pub(crate) fn sites(graph: &Graph, requests: &[u32]) -> Vec<Site> {
    let edge = |me: usize, peer: usize| Edge {
        peer,
        fork: me < peer,
        dirty: me < peer,
        token: me > peer,
        asked: false,
    };
    let site = |(me, neighbours): (usize, &Vec<usize>)| Site {
        me,
        requests: requests[me],
        user: User::Outside,
        edges: neighbours.iter().map(|peer| edge(me, *peer)).collect(),
    };
    graph.iter().enumerate().map(site).collect()
}

impl Process for Site {
    type Message = Message;

    fn enabled(&self) -> Option<Step> {
        self.user.enabled(self.requests)
    }

    fn execute(&mut self, step: Step) -> Outbox<Message> {
        if step == Step::Exit {
            self.user = User::Outside;
        } else {
            self.requests -= 1;
            self.user = User::Waiting;
        }
        self.act()
    }

    fn receive(&mut self, from: usize, message: Message) -> Outbox<Message> {
        let edge = self.edges.iter_mut().find(|edge| edge.peer == from).expect("a neighbour");
        match message {
            Message::Token => edge.token = true,
            Message::Fork => (edge.fork, edge.dirty, edge.asked) = (true, false, false),
        }
        self.act()
    }
}

impl Site {
    /// Executes all enabled actions: release a dirty fork (R2), request a fork (R1), eat (D2).
    fn act(&mut self) -> Outbox<Message> {
        let mut sent = Vec::new();
        for edge in &mut self.edges {
            if self.user != User::Inside && edge.fork && edge.dirty && edge.token {
                (edge.fork, edge.dirty) = (false, false);
                sent.push((edge.peer, Message::Fork));
            }
            if self.user == User::Waiting && !edge.fork && edge.token && !edge.asked {
                (edge.token, edge.asked) = (false, true);
                sent.push((edge.peer, Message::Token));
            }
        }
        if self.user == User::Waiting && self.edges.iter().all(|edge| edge.fork) {
            self.user = User::Inside;
            self.edges.iter_mut().for_each(|edge| edge.dirty = true);
        }
        sent
    }
}
