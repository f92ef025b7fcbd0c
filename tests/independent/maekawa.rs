//! The lock of M. Maekawa, *A √N algorithm for mutual exclusion in decentralized systems*, ACM TOCS
//! 3(2), 1985, with the correction of B. A. Sanders, ACM TOCS 5(3), 1987. Each process has one
//! vote, and gives the vote to one request at a time. A process enters when its request has the
//! votes of all members of its quorum. Requests are ordered by clock and process. If a voter has
//! given its vote to a request and a smaller request arrives, the voter asks for the vote back.
//!
//! If the paper leaves a detail open, this implementation makes the same choice as Tenure. If a
//! process is in its own quorum, it votes for itself immediately, without a message. A voter
//! numbers the votes that it gives to the same request. Each vote and each release also contains
//! the number of entries into the critical section that its sender knows of.

use std::collections::BTreeSet;

use super::search::{Outbox, Process, Step};

/// A request: its clock, and the index of its process.
type Request = (u64, usize);

/// A vote for a request: the request, and the number of the vote. A voter numbers its votes for a
/// request from 1, because it may take a vote back and give it again.
type Vote = (Request, u32);

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Site {
    me: usize,
    quorum: Vec<usize>,
    requests: u32,
    clock: u64,
    entries: u64,
    claim: Option<Claim>,
    /// Request that has the vote of this process; `None` if the vote is free.
    given: Option<Vote>,
    /// Requests that wait for the vote of this process.
    waiting: BTreeSet<Vote>,
}

/// Present request of this process. `at` has one element for each voter of the quorum, in order.
/// The first field of an element is the state of the request at the voter. The second field is the
/// number of a vote: the request has this vote or waits for it.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Claim {
    request: Request,
    inside: bool,
    at: Vec<(VoteState, u32)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum VoteState {
    Asked,
    Failed,
    Locked,
    Inquired,
}

#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Message {
    Request(Request),
    Locked(Vote, u64),
    Failed(Request),
    Inquire(Vote),
    Relinquish(Vote),
    Release(Vote, u64),
}

pub(crate) fn sites(requests: &[u32], quorums: &[Vec<usize>]) -> Vec<Site> {
    let site = |(me, requests): (usize, &u32)| Site {
        me,
        quorum: quorums[me].clone(),
        requests: *requests,
        clock: 0,
        entries: 0,
        claim: None,
        given: None,
        waiting: BTreeSet::new(),
    };
    requests.iter().enumerate().map(site).collect()
}

impl Process for Site {
    type Message = Message;

    fn enabled(&self) -> Option<Step> {
        match &self.claim {
            None => (self.requests > 0).then_some(Step::Request),
            Some(claim) => claim.inside.then_some(Step::Exit),
        }
    }

    fn execute(&mut self, step: Step) -> Outbox<Message> {
        let mut sent = Vec::new();
        if step == Step::Request {
            self.requests -= 1;
            self.clock += 1;
            let request = (self.clock, self.me);
            let at = vec![(VoteState::Asked, 1); self.quorum.len()];
            self.claim = Some(Claim { request, inside: false, at });
            for voter in self.quorum.clone() {
                self.send(voter, Message::Request(request), &mut sent);
            }
            return sent;
        }
        let claim = self.claim.take().expect("an entry follows a request");
        for (voter, (_, number)) in self.quorum.clone().into_iter().zip(claim.at) {
            let release = Message::Release((claim.request, number), self.entries);
            self.send(voter, release, &mut sent);
        }
        sent
    }

    fn receive(&mut self, from: usize, message: Message) -> Outbox<Message> {
        let mut sent = Vec::new();
        self.on_message(from, message, &mut sent);
        sent
    }
}

impl Site {
    fn send(&mut self, to: usize, message: Message, sent: &mut Outbox<Message>) {
        if to == self.me {
            self.on_message(to, message, sent);
        } else {
            sent.push((to, message));
        }
    }

    fn on_message(&mut self, from: usize, message: Message, sent: &mut Outbox<Message>) {
        match message {
            Message::Request(request) => self.on_request(request, sent),
            Message::Relinquish(vote) => {
                if self.given == Some(vote) {
                    self.waiting.insert((vote.0, vote.1 + 1));
                    self.grant(sent);
                }
            }
            Message::Release(vote, entries) => {
                self.entries = self.entries.max(entries);
                if self.given == Some(vote) {
                    self.grant(sent);
                }
            }
            Message::Locked(vote, entries) => {
                self.entries = self.entries.max(entries);
                self.on_locked(from, vote, sent);
            }
            Message::Failed(request) => {
                if let Some((vote_state, _)) = self.vote_state(from, request)
                    && *vote_state == VoteState::Asked
                {
                    *vote_state = VoteState::Failed;
                }
                self.return_votes(sent);
            }
            Message::Inquire((request, number)) => {
                if let Some(at) = self.vote_state(from, request)
                    && *at == (VoteState::Locked, number)
                {
                    at.0 = VoteState::Inquired;
                }
                self.return_votes(sent);
            }
        }
    }

    /// Handles a new request at a voter. If the vote is free, gives the vote to the request.
    /// Otherwise the request waits, and the voter sends one message:
    ///
    /// - If a smaller request waits or has the vote, the voter reports to the new request that it
    ///   has failed.
    /// - Otherwise, if a waiting request is smaller than the request with the vote, the voter
    ///   reports to the waiting request that it has failed.
    /// - Otherwise, the voter asks for the vote back.
    fn on_request(&mut self, request: Request, sent: &mut Outbox<Message>) {
        self.clock = self.clock.max(request.0);
        let Some(given) = self.given else {
            self.given = Some((request, 1));
            let vote = Message::Locked((request, 1), self.entries);
            return self.send(request.1, vote, sent);
        };
        let first = self.waiting.first().map(|(first, _)| *first);
        self.waiting.insert((request, 1));
        let smallest = given.0.min(first.unwrap_or(given.0));
        let message = match first {
            _ if smallest < request => Message::Failed(request),
            Some(first) if first < given.0 => Message::Failed(first),
            _ => Message::Inquire(given),
        };
        let to = match &message {
            Message::Failed(failed) => failed.1,
            _ => given.0.1,
        };
        self.send(to, message, sent);
    }

    /// Gives the free vote of this process to the smallest waiting request.
    fn grant(&mut self, sent: &mut Outbox<Message>) {
        self.given = self.waiting.pop_first();
        if let Some(vote) = self.given {
            self.send(vote.0.1, Message::Locked(vote, self.entries), sent);
        }
    }

    fn on_locked(&mut self, from: usize, (request, number): Vote, sent: &mut Outbox<Message>) {
        if self.claim.as_ref().is_none_or(|claim| claim.request != request) {
            let release = Message::Release((request, number), self.entries);
            return self.send(from, release, sent);
        }
        let Some(at) = self.vote_state(from, request) else { return };
        if at.1 == number && !matches!(at.0, VoteState::Locked | VoteState::Inquired) {
            at.0 = VoteState::Locked;
        }
        let Some(claim) = self.claim.as_mut() else { return };
        let is_locked =
            |(it, _): &(VoteState, u32)| matches!(it, VoteState::Locked | VoteState::Inquired);
        if claim.at.iter().all(is_locked) {
            claim.inside = true;
            // A process in the critical section keeps its votes until its exit.
            claim.at.iter_mut().for_each(|at| at.0 = VoteState::Locked);
            self.entries += 1;
        }
    }

    /// Gives the vote back to each voter that has asked for its vote, if the request of this
    /// process has failed at some voter.
    fn return_votes(&mut self, sent: &mut Outbox<Message>) {
        let Some(claim) = self.claim.as_mut().filter(|claim| !claim.inside) else { return };
        if claim.at.iter().all(|(vote_state, _)| *vote_state != VoteState::Failed) {
            return;
        }
        let mut given_back = Vec::new();
        for (voter, at) in self.quorum.iter().zip(&mut claim.at) {
            if at.0 == VoteState::Inquired {
                given_back.push((*voter, Message::Relinquish((claim.request, at.1))));
                *at = (VoteState::Failed, at.1 + 1);
            }
        }
        for (voter, message) in given_back {
            self.send(voter, message, sent);
        }
    }

    /// Returns the state of this process's waiting request at a voter.
    fn vote_state(&mut self, voter: usize, request: Request) -> Option<&mut (VoteState, u32)> {
        let claim = self.claim.as_mut().filter(|it| it.request == request && !it.inside)?;
        claim.at.get_mut(self.quorum.iter().position(|it| *it == voter)?)
    }
}
