//! The election of E. Chang, R. Roberts, *An improved algorithm for decentralized extrema-finding
//! in circular configurations of processes*, CACM 22(5), 1979.
//!
//! Textbooks add an announcement to the algorithm of the paper, and this version contains it: after
//! the election, a message around the ring names the leader. A process is a participant once it has
//! sent or forwarded a rank. When it receives a rank, it distinguishes three cases: the rank is
//! lower than its own, higher, or equal.

use super::search::{Outbox, Process, Step};
use super::user::Reported;

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Site {
    next: usize,
    rank: u32,
    participant: bool,
    /// Rank of the elected leader; `None` before the announcement.
    elected: Option<u32>,
    /// True if the user will request an election and has not requested it yet.
    asks: bool,
    reported: Reported,
}

#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Message {
    Election(u32),
    Elected(u32),
}

/// Creates processes with these ranks in ring order; each user requests one election.
pub(crate) fn sites(ranks: &[u32]) -> Vec<Site> {
    let site = |(me, rank): (usize, &u32)| Site {
        next: (me + 1) % ranks.len(),
        rank: *rank,
        participant: false,
        elected: None,
        asks: true,
        reported: Reported::Nothing,
    };
    ranks.iter().enumerate().map(site).collect()
}

impl Process for Site {
    type Message = Message;

    fn enabled(&self) -> Option<Step> {
        self.asks.then_some(Step::Request)
    }

    fn execute(&mut self, _: Step) -> Outbox<Message> {
        self.asks = false;
        self.reported = Reported::Asked;
        if self.participant { Vec::new() } else { self.participate() }
    }

    fn receive(&mut self, _: usize, message: Message) -> Outbox<Message> {
        match message {
            Message::Election(rank) if rank > self.rank => {
                self.participant = true;
                vec![(self.next, message)]
            }
            Message::Election(rank) if rank < self.rank => {
                if self.participant {
                    Vec::new()
                } else {
                    self.participate()
                }
            }
            Message::Election(rank) => self.on_leader(rank),
            Message::Elected(rank) if rank == self.rank => {
                self.participant = false;
                Vec::new()
            }
            Message::Elected(rank) => self.on_leader(rank),
        }
    }
}

impl Site {
    fn participate(&mut self) -> Outbox<Message> {
        self.participant = true;
        vec![(self.next, Message::Election(self.rank))]
    }

    fn on_leader(&mut self, leader: u32) -> Outbox<Message> {
        self.participant = false;
        self.elected = Some(leader);
        self.reported = Reported::Leader;
        vec![(self.next, Message::Elected(leader))]
    }
}
