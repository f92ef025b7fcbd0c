//! Echo with extinction, as in G. Tel, *Introduction to Distributed Algorithms*, 2nd edition, 2000,
//! with the variables *caw* (currently active wave), *rec* and *father*. The leader is announced
//! along the tree.

use std::collections::BTreeSet;

use super::graphs::Graph;
use super::search::{Outbox, Process, Step};
use super::user::Reported;

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Site {
    neighbours: Vec<usize>,
    me: usize,
    /// True if the user will request an election and has not requested it yet.
    asks: bool,
    reported: Reported,
    /// *caw*: initiator of the largest wave so far. The index of a process is its rank.
    caw: Option<usize>,
    father: Option<usize>,
    /// *rec*: neighbours, except the father, that have sent the active wave.
    rec: BTreeSet<usize>,
    sons: BTreeSet<usize>,
}

#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Message {
    Explore(usize),
    Echo(usize),
    Leader(usize),
}

/// Creates the processes of a graph. The users of `initiators` request one election each.
pub(crate) fn sites(graph: &Graph, initiators: &[usize]) -> Vec<Site> {
    let site = |(me, neighbours): (usize, &Vec<usize>)| Site {
        neighbours: neighbours.clone(),
        me,
        asks: initiators.contains(&me),
        reported: Reported::Nothing,
        caw: None,
        father: None,
        rec: BTreeSet::new(),
        sons: BTreeSet::new(),
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
        if self.caw.is_some() { Vec::new() } else { self.join(self.me, None) }
    }

    fn receive(&mut self, from: usize, message: Message) -> Outbox<Message> {
        match message {
            Message::Explore(wave) if self.caw < Some(wave) => self.join(wave, Some(from)),
            Message::Explore(wave) | Message::Echo(wave) if self.caw == Some(wave) => {
                self.rec.insert(from);
                if message == Message::Echo(wave) {
                    self.sons.insert(from);
                }
                self.complete()
            }
            Message::Explore(_) | Message::Echo(_) => Vec::new(),
            Message::Leader(_) => self.learn(),
        }
    }
}

impl Site {
    fn join(&mut self, wave: usize, father: Option<usize>) -> Outbox<Message> {
        (self.caw, self.father) = (Some(wave), father);
        self.rec.clear();
        self.sons.clear();
        let others = self.neighbours.iter().filter(|peer| Some(**peer) != father);
        let sent = others.map(|peer| (*peer, Message::Explore(wave)));
        sent.collect::<Vec<_>>().into_iter().chain(self.complete()).collect()
    }

    fn complete(&mut self) -> Outbox<Message> {
        let expected = self.neighbours.len() - usize::from(self.father.is_some());
        if self.rec.len() < expected {
            return Vec::new();
        }
        match (self.father, self.caw) {
            (Some(father), Some(wave)) => vec![(father, Message::Echo(wave))],
            _ => self.learn(),
        }
    }

    /// Handles the news that the active wave has won. Clears the variables that are not needed any
    /// more.
    fn learn(&mut self) -> Outbox<Message> {
        (self.asks, self.reported, self.father) = (false, Reported::Leader, None);
        self.rec.clear();
        let wave = self.caw.expect("the largest wave has reached all");
        let sons = std::mem::take(&mut self.sons);
        sons.into_iter().map(|son| (son, Message::Leader(wave))).collect()
    }
}
