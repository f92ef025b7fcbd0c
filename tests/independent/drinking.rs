//! The drinking philosophers of K. M. Chandy, J. Misra, *The drinking philosophers problem*, ACM
//! TOPLAS 6(4), 1984. Each edge has a bottle, and a layer of dining philosophers decides conflicts.
//! The guarded actions of both layers are executed until none is enabled.
//!
//! Two additions make the actions independent of the order of messages. A process that waits for a
//! fork or a bottle does not request it twice. A token that arrives before its fork or bottle waits
//! for it.

use super::graphs::Graph;
use super::search::{Outbox, Process, Step};
use super::user::User;

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Site {
    /// Sessions that the user has not requested yet. Each session has one element per edge: true if
    /// the session needs the bottle of the edge.
    sessions: Vec<Vec<bool>>,
    user: User,
    /// State of the process as a dining philosopher.
    dines: Dines,
    edges: Vec<Edge>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Dines {
    Thinking,
    Hungry,
    Eating,
}

/// One end of an edge, as the process at this end sees it.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Edge {
    peer: usize,
    fork: bool,
    dirty: bool,
    fork_token: bool,
    asked_fork: bool,
    need: bool,
    bottle: bool,
    bottle_token: bool,
    asked_bottle: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Message {
    Fork,
    ForkToken,
    Bottle,
    BottleToken,
}

/// Creates the processes of a graph. At the start, the process with the smaller index at each edge
/// has the bottle and the dirty fork, and the other process has both tokens.
///
/// `sessions` contains the number of sessions of each user. Two kinds of sessions alternate. In one
/// kind, the user needs all bottles of the process. In the other kind, the user needs only the
/// bottle that the process shares with the next process. The first session of a process with an
/// even index needs all bottles.
pub(crate) fn sites(graph: &Graph, sessions: &[u32]) -> Vec<Site> {
    let edge = |me: usize, peer: usize| Edge {
        peer,
        fork: me < peer,
        dirty: me < peer,
        fork_token: me > peer,
        asked_fork: false,
        need: false,
        bottle: me < peer,
        bottle_token: me > peer,
        asked_bottle: false,
    };
    let site = |(me, neighbours): (usize, &Vec<usize>)| {
        let needs = |session: u32| {
            let all = (me + session as usize).is_multiple_of(2);
            let next = (me + 1) % graph.len();
            neighbours.iter().map(|peer| all || *peer == next).collect()
        };
        Site {
            sessions: (0..sessions[me]).rev().map(needs).collect(),
            user: User::Outside,
            dines: Dines::Thinking,
            edges: neighbours.iter().map(|peer| edge(me, *peer)).collect(),
        }
    };
    graph.iter().enumerate().map(site).collect()
}

impl Process for Site {
    type Message = Message;

    fn enabled(&self) -> Option<Step> {
        self.user.enabled(self.sessions.len() as u32)
    }

    fn execute(&mut self, step: Step) -> Outbox<Message> {
        if step == Step::Exit {
            self.user = User::Outside;
            self.edges.iter_mut().for_each(|edge| edge.need = false);
        } else {
            self.user = User::Waiting;
            let needs = self.sessions.pop().expect("a session is left");
            self.edges.iter_mut().zip(needs).for_each(|(edge, need)| edge.need = need);
        }
        self.act()
    }

    fn receive(&mut self, from: usize, message: Message) -> Outbox<Message> {
        let edge = self.edges.iter_mut().find(|edge| edge.peer == from).expect("a neighbour");
        match message {
            Message::ForkToken => edge.fork_token = true,
            Message::Fork => (edge.fork, edge.dirty, edge.asked_fork) = (true, false, false),
            Message::BottleToken => edge.bottle_token = true,
            Message::Bottle => (edge.bottle, edge.asked_bottle) = (true, false),
        }
        self.act()
    }
}

impl Site {
    /// Executes all enabled actions of the drinking and the dining philosopher.
    fn act(&mut self) -> Outbox<Message> {
        let mut sent = Vec::new();
        if self.user == User::Waiting && self.dines == Dines::Thinking {
            self.dines = Dines::Hungry;
        }
        self.dine(&mut sent);
        let (thirsty, drinks) = (self.user == User::Waiting, self.user == User::Inside);
        for edge in &mut self.edges {
            if edge.bottle && edge.bottle_token && !(edge.need && (drinks || edge.fork)) {
                edge.bottle = false;
                sent.push((edge.peer, Message::Bottle));
            }
            if thirsty && edge.need && !edge.bottle && edge.bottle_token && !edge.asked_bottle {
                (edge.bottle_token, edge.asked_bottle) = (false, true);
                sent.push((edge.peer, Message::BottleToken));
            }
        }
        if thirsty && self.edges.iter().all(|edge| edge.bottle || !edge.need) {
            self.user = User::Inside;
        }
        if self.dines == Dines::Eating && self.user != User::Waiting {
            self.dines = Dines::Thinking;
            self.dine(&mut sent);
        }
        sent
    }

    /// Executes all enabled actions of the dining philosopher. Adds its messages to `sent`.
    fn dine(&mut self, sent: &mut Outbox<Message>) {
        for edge in &mut self.edges {
            if self.dines != Dines::Eating && edge.fork && edge.dirty && edge.fork_token {
                (edge.fork, edge.dirty) = (false, false);
                sent.push((edge.peer, Message::Fork));
            }
            let lacks = self.dines == Dines::Hungry && !edge.fork && !edge.asked_fork;
            if lacks && edge.fork_token {
                (edge.fork_token, edge.asked_fork) = (false, true);
                sent.push((edge.peer, Message::ForkToken));
            }
        }
        if self.dines == Dines::Hungry && self.edges.iter().all(|edge| edge.fork) {
            self.dines = Dines::Eating;
            self.edges.iter_mut().for_each(|edge| edge.dirty = true);
        }
    }
}
