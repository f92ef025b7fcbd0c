//! The election of Raft without its log and its heartbeats. The only command fires the election
//! timeout. Because there are no heartbeats, a leader learns of a later term only from requests for
//! votes.

use serde::{Deserialize, Serialize};
use tenure_core::service::Term;
use tenure_core::service::election::{Command, Event};
use tenure_core::{
    Algorithm, Card, Effects, Group, Never, ProcessId, ProcessSet, Protocol, labelled,
};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RaftElection {
    group: Group,
    term: u64,
    voted_for: Option<ProcessId>,
    role: Role,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Role {
    Follower,
    Candidate { votes: ProcessSet },
    Leader,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Message {
    RequestVote { term: u64 },
    Vote { term: u64, granted: bool },
}

labelled!(Message, Election, RequestVote => "request-vote", Vote => "vote");

impl Protocol for RaftElection {
    type Config = ();
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Never;
    type Stable = ();

    fn boot(group: Group, (): &(), _: Option<()>, _: &mut impl Effects<Self>) -> Self {
        RaftElection { group, term: 0, voted_for: None, role: Role::Follower }
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        if command == Command::Elect && self.role != Role::Leader {
            let me = self.group.me();
            self.term += 1;
            self.voted_for = Some(me);
            self.role = Role::Candidate { votes: [me].into_iter().collect() };
            fx.broadcast(&self.group.peers(), Message::RequestVote { term: self.term });
        }
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::RequestVote { term } => {
                self.update_term(term, fx);
                let granted = term == self.term && self.voted_for.is_none_or(|it| it == from);
                if granted {
                    self.voted_for = Some(from);
                }
                fx.send(from, Message::Vote { term: self.term, granted });
            }
            Message::Vote { term, granted } => {
                self.update_term(term, fx);
                if let Role::Candidate { votes } = &mut self.role
                    && granted
                    && term == self.term
                {
                    votes.insert(from);
                    if 2 * votes.len() > self.group.size() {
                        let leader = self.group.me();
                        self.role = Role::Leader;
                        let term = Term { number: self.term, leader };
                        fx.emit(Event::Elected { leader, term });
                    }
                }
            }
        }
    }
}

impl RaftElection {
    fn update_term(&mut self, term: u64, fx: &mut impl Effects<Self>) {
        if term > self.term {
            if self.role == Role::Leader {
                let leader = self.group.me();
                fx.emit(Event::Deposed { term: Term { number: self.term, leader } });
            }
            self.term = term;
            self.voted_for = None;
            self.role = Role::Follower;
        }
    }

    /// Returns the term that this process leads; `None` if it does not lead.
    pub(crate) fn led_term(&self) -> Option<u64> {
        (self.role == Role::Leader).then_some(self.term)
    }
}

impl Algorithm for RaftElection {
    fn card(_: &(), _: u32) -> Card {
        Card::election("raft-election", "Raft's election, without heartbeats", "none")
    }
}
