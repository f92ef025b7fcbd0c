//! The echo algorithm of E. Chang, *Echo algorithms: depth parallel operations on general graphs*,
//! IEEE TSE SE-8(4), 1982.
//!
//! A process counts the messages that it receives. The sender of the first message becomes the
//! father of the process, which passes the message on to all other neighbours. When the process has
//! a message from every neighbour, it answers its father.

use super::graphs::Graph;
use super::search::{Outbox, Process, Step};

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Site {
    neighbours: Vec<usize>,
    me: usize,
    /// True if the user will start a wave and has not started it yet.
    asks: bool,
    /// True from the start of the user's wave until all neighbours have answered.
    waits: bool,
    /// State of each wave, by the index of the process that has initiated it. Before the first
    /// message and after the last message of the wave, the state is `None`.
    waves: Vec<Option<Wave>>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Wave {
    father: Option<usize>,
    received: usize,
    subtree: u32,
}

#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Message {
    initiator: usize,
    /// Number of processes in the sender's subtree. `None` if the sender has not finished.
    echo: Option<u32>,
}

/// Creates the processes of a graph. The user of each process in `initiators` starts one wave.
pub(crate) fn sites(graph: &Graph, initiators: &[usize]) -> Vec<Site> {
    let site = |(me, neighbours): (usize, &Vec<usize>)| Site {
        neighbours: neighbours.clone(),
        me,
        asks: initiators.contains(&me),
        waits: false,
        waves: vec![None; graph.len()],
    };
    graph.iter().enumerate().map(site).collect()
}

impl Process for Site {
    type Message = Message;

    fn enabled(&self) -> Option<Step> {
        self.asks.then_some(Step::Request)
    }

    fn execute(&mut self, _: Step) -> Outbox<Message> {
        (self.asks, self.waits) = (false, true);
        self.join(self.me, None)
    }

    fn receive(&mut self, from: usize, message: Message) -> Outbox<Message> {
        let Message { initiator, echo } = message;
        let mut sent = match self.waves[initiator] {
            None => self.join(initiator, Some(from)),
            Some(_) => Vec::new(),
        };
        let wave = self.waves[initiator].as_mut().expect("it has joined");
        wave.received += 1;
        wave.subtree += echo.unwrap_or(0);
        if wave.received == self.neighbours.len() {
            match wave.father {
                Some(father) => {
                    sent.push((father, Message { initiator, echo: Some(wave.subtree) }));
                }
                None => self.waits = false,
            }
            self.waves[initiator] = None;
        }
        sent
    }
}

impl Site {
    fn join(&mut self, initiator: usize, father: Option<usize>) -> Outbox<Message> {
        self.waves[initiator] = Some(Wave { father, received: 0, subtree: 1 });
        let others = self.neighbours.iter().filter(|peer| Some(**peer) != father);
        others.map(|peer| (*peer, Message { initiator, echo: None })).collect()
    }
}
