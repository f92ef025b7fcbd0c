//! E. Chang, R. Roberts, *An improved algorithm for decentralized extrema-finding in circular
//! configurations of processes*, CACM 22(5), 1979, with the announcement of textbooks: a mark on
//! participants, three cases for a rank that arrives, and a lap that tells of the leader.

use super::search::{Act, Process, Sent};

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Site {
    next: usize,
    rank: u32,
    participant: bool,
    /// The rank of the leader.
    elected: Option<u32>,
    /// Whether the user will still ask for an election.
    asks: bool,
    /// Whether the user has been told of a leader since it asked, or at all.
    told: Told,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Told {
    Nothing,
    Asked,
    Leader,
}

#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Message {
    Election(u32),
    Elected(u32),
}

/// The ranks in the direction of messages; everybody's user asks for an election, once.
pub(crate) fn sites(ranks: &[u32]) -> Vec<Site> {
    let site = |(me, rank): (usize, &u32)| Site {
        next: (me + 1) % ranks.len(),
        rank: *rank,
        participant: false,
        elected: None,
        asks: true,
        told: Told::Nothing,
    };
    ranks.iter().enumerate().map(site).collect()
}

impl Process for Site {
    type Message = Message;

    fn may(&self) -> Option<Act> {
        self.asks.then_some(Act::Ask)
    }

    fn act(&mut self, _: Act) -> Sent<Message> {
        self.asks = false;
        self.told = Told::Asked;
        if self.participant { Vec::new() } else { self.take_part() }
    }

    fn hear(&mut self, _: usize, message: Message) -> Sent<Message> {
        match message {
            Message::Election(rank) if rank > self.rank => {
                self.participant = true;
                vec![(self.next, message)]
            }
            Message::Election(rank) if rank < self.rank => {
                if self.participant {
                    Vec::new()
                } else {
                    self.take_part()
                }
            }
            Message::Election(rank) => self.learn(rank),
            Message::Elected(rank) if rank == self.rank => {
                self.participant = false;
                Vec::new()
            }
            Message::Elected(rank) => self.learn(rank),
        }
    }
}

impl Site {
    fn take_part(&mut self) -> Sent<Message> {
        self.participant = true;
        vec![(self.next, Message::Election(self.rank))]
    }

    fn learn(&mut self, leader: u32) -> Sent<Message> {
        self.participant = false;
        self.elected = Some(leader);
        self.told = Told::Leader;
        vec![(self.next, Message::Elected(leader))]
    }
}
