//! M. Maekawa, *A √N algorithm for mutual exclusion in decentralized systems*, ACM TOCS 3(2), 1985,
//! with the correction of B. A. Sanders, ACM TOCS 5(3), 1987: everybody has one vote, whoever has
//! those of its quorum is inside, and a vote is asked back for a smaller request.
//!
//! What the papers leave open is as in Tenure: who is in its own quorum votes for itself without a
//! message, at once; the votes of one process for one request are numbered; and votes and releases
//! tell of the highest number of entries that one has heard of.

use std::collections::BTreeSet;

use super::search::{Act, Process, Sent};

/// A clock and a process.
type Request = (u64, usize);

/// A request, and which vote of the same voter for it.
type Vote = (Request, u32);

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Site {
    me: usize,
    quorum: Vec<usize>,
    wishes: u32,
    clock: u64,
    entries: u64,
    claim: Option<Claim>,
    /// Who has our vote, and who waits for it.
    given: Option<Vote>,
    waiting: BTreeSet<Vote>,
}

/// Our own request, and where it stands at each member of the quorum.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Claim {
    request: Request,
    inside: bool,
    at: Vec<(Standing, u32)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Standing {
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

pub(crate) fn sites(wishes: &[u32], quorums: &[Vec<usize>]) -> Vec<Site> {
    let site = |(me, wishes): (usize, &u32)| Site {
        me,
        quorum: quorums[me].clone(),
        wishes: *wishes,
        clock: 0,
        entries: 0,
        claim: None,
        given: None,
        waiting: BTreeSet::new(),
    };
    wishes.iter().enumerate().map(site).collect()
}

impl Process for Site {
    type Message = Message;

    fn may(&self) -> Option<Act> {
        match &self.claim {
            None => (self.wishes > 0).then_some(Act::Ask),
            Some(claim) => claim.inside.then_some(Act::Leave),
        }
    }

    fn act(&mut self, act: Act) -> Sent<Message> {
        let mut sent = Vec::new();
        if act == Act::Ask {
            self.wishes -= 1;
            self.clock += 1;
            let request = (self.clock, self.me);
            let at = vec![(Standing::Asked, 1); self.quorum.len()];
            self.claim = Some(Claim { request, inside: false, at });
            for voter in self.quorum.clone() {
                self.tell(voter, Message::Request(request), &mut sent);
            }
            return sent;
        }
        let claim = self.claim.take().expect("only who has asked is inside");
        for (voter, (_, number)) in self.quorum.clone().into_iter().zip(claim.at) {
            let release = Message::Release((claim.request, number), self.entries);
            self.tell(voter, release, &mut sent);
        }
        sent
    }

    fn hear(&mut self, from: usize, message: Message) -> Sent<Message> {
        let mut sent = Vec::new();
        self.take(from, message, &mut sent);
        sent
    }
}

impl Site {
    fn tell(&mut self, to: usize, message: Message, sent: &mut Sent<Message>) {
        if to == self.me {
            self.take(to, message, sent);
        } else {
            sent.push((to, message));
        }
    }

    fn take(&mut self, from: usize, message: Message, sent: &mut Sent<Message>) {
        match message {
            Message::Request(request) => self.on_request(request, sent),
            Message::Relinquish(vote) => {
                if self.given == Some(vote) {
                    self.waiting.insert((vote.0, vote.1 + 1));
                    self.give(sent);
                }
            }
            Message::Release(vote, entries) => {
                self.entries = self.entries.max(entries);
                if self.given == Some(vote) {
                    self.give(sent);
                }
            }
            Message::Locked(vote, entries) => {
                self.entries = self.entries.max(entries);
                self.on_locked(from, vote, sent);
            }
            Message::Failed(request) => {
                if let Some((standing, _)) = self.standing(from, request)
                    && *standing == Standing::Asked
                {
                    *standing = Standing::Failed;
                }
                self.give_way(sent);
            }
            Message::Inquire((request, number)) => {
                if let Some(at) = self.standing(from, request)
                    && *at == (Standing::Locked, number)
                {
                    at.0 = Standing::Inquired;
                }
                self.give_way(sent);
            }
        }
    }

    /// Who votes: one that comes between is told that it failed, and so is one that is displaced
    /// from the front; who stands before all but the holder has the vote asked back.
    fn on_request(&mut self, request: Request, sent: &mut Sent<Message>) {
        self.clock = self.clock.max(request.0);
        let Some(given) = self.given else {
            self.given = Some((request, 1));
            let vote = Message::Locked((request, 1), self.entries);
            return self.tell(request.1, vote, sent);
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
        self.tell(to, message, sent);
    }

    /// Our vote is free: the smallest that waits has it.
    fn give(&mut self, sent: &mut Sent<Message>) {
        self.given = self.waiting.pop_first();
        if let Some(vote) = self.given {
            self.tell(vote.0.1, Message::Locked(vote, self.entries), sent);
        }
    }

    fn on_locked(&mut self, from: usize, (request, number): Vote, sent: &mut Sent<Message>) {
        if self.claim.as_ref().is_none_or(|claim| claim.request != request) {
            let release = Message::Release((request, number), self.entries);
            return self.tell(from, release, sent);
        }
        let Some(at) = self.standing(from, request) else { return };
        if at.1 == number && !matches!(at.0, Standing::Locked | Standing::Inquired) {
            at.0 = Standing::Locked;
        }
        let Some(claim) = self.claim.as_mut() else { return };
        let is_locked =
            |(it, _): &(Standing, u32)| matches!(it, Standing::Locked | Standing::Inquired);
        if claim.at.iter().all(is_locked) {
            claim.inside = true;
            // Whoever is inside gives nothing back before it leaves: who asked for it is all one.
            claim.at.iter_mut().for_each(|at| at.0 = Standing::Locked);
            self.entries += 1;
        }
    }

    /// Who asks: gives back what was asked for, if it has failed somewhere.
    fn give_way(&mut self, sent: &mut Sent<Message>) {
        let Some(claim) = self.claim.as_mut().filter(|claim| !claim.inside) else { return };
        if claim.at.iter().all(|(standing, _)| *standing != Standing::Failed) {
            return;
        }
        let mut given_back = Vec::new();
        for (voter, at) in self.quorum.iter().zip(&mut claim.at) {
            if at.0 == Standing::Inquired {
                given_back.push((*voter, Message::Relinquish((claim.request, at.1))));
                *at = (Standing::Failed, at.1 + 1);
            }
        }
        for (voter, message) in given_back {
            self.tell(voter, message, sent);
        }
    }

    /// Where a request of ours that waits stands at a voter.
    fn standing(&mut self, voter: usize, request: Request) -> Option<&mut (Standing, u32)> {
        let claim = self.claim.as_mut().filter(|it| it.request == request && !it.inside)?;
        claim.at.get_mut(self.quorum.iter().position(|it| *it == voter)?)
    }
}
