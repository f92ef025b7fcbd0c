//! One process's request: where it stands at each of its voters.

use alloc::vec::Vec;

use tenure_core::{ProcessId, ProcessSet, Stamp};

use super::voter::Ballot;

/// A request that waits for the votes of a quorum.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Candidate {
    pub(super) request: Stamp,
    answers: Vec<Answer>,
}

/// Where the request stands at one voter.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Answer {
    voter: ProcessId,
    standing: Standing,
    /// The number of the vote that we have, or get next.
    number: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Standing {
    Awaited,
    /// The voter has, or may have, a smaller request.
    Failed,
    Locked,
    /// Locked, and the voter has asked to have its vote back.
    Inquired,
}

impl Candidate {
    pub(super) fn new(request: Stamp, quorum: &ProcessSet) -> Self {
        let answer = |voter| Answer { voter, standing: Standing::Awaited, number: 1 };
        Candidate { request, answers: quorum.iter().map(answer).collect() }
    }

    /// The vote of this number arrives.
    pub(super) fn lock(&mut self, voter: ProcessId, number: u32) {
        if let Some(answer) = self.answer(voter)
            && answer.number == number
            && !answer.standing.is_locked()
        {
            answer.standing = Standing::Locked;
        }
    }

    pub(super) fn fail(&mut self, voter: ProcessId) {
        if let Some(answer) = self.answer(voter)
            && answer.standing == Standing::Awaited
        {
            answer.standing = Standing::Failed;
        }
    }

    /// The voter asks for the vote of this number.
    pub(super) fn inquire(&mut self, voter: ProcessId, number: u32) {
        if let Some(answer) = self.answer(voter)
            && (answer.standing, answer.number) == (Standing::Locked, number)
        {
            answer.standing = Standing::Inquired;
        }
    }

    /// Gives back the votes that were inquired after, if we have failed somewhere.
    pub(super) fn give_way(&mut self) -> Vec<(ProcessId, Ballot)> {
        let mut given = Vec::new();
        if self.answers.iter().all(|answer| answer.standing != Standing::Failed) {
            return given;
        }
        for answer in self.answers.iter_mut().filter(|it| it.standing == Standing::Inquired) {
            given.push((answer.voter, Ballot { request: self.request, number: answer.number }));
            answer.standing = Standing::Failed;
            answer.number += 1;
        }
        given
    }

    /// All the votes, when they are all here.
    pub(super) fn elected(&self) -> Option<Vec<(ProcessId, Ballot)>> {
        let ballot = |it: &Answer| Ballot { request: self.request, number: it.number };
        self.answers
            .iter()
            .map(|it| it.standing.is_locked().then(|| (it.voter, ballot(it))))
            .collect()
    }

    fn answer(&mut self, voter: ProcessId) -> Option<&mut Answer> {
        self.answers.iter_mut().find(|answer| answer.voter == voter)
    }
}

impl Standing {
    fn is_locked(self) -> bool {
        matches!(self, Standing::Locked | Standing::Inquired)
    }
}
