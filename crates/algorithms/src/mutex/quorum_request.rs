//! A process's request for votes, and the response of each voter.

use alloc::vec::Vec;

use tenure_core::{ProcessId, ProcessSet, Timestamp};

use super::voter::Ballot;

/// A request that waits for the votes of a quorum.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct QuorumRequest {
    pub(super) request: Timestamp,
    answers: Vec<Answer>,
}

/// Answer of one voter of the quorum to the request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Answer {
    voter: ProcessId,
    state: VoteState,
    /// Number of the vote that the process has, or for which it waits. The first vote of this voter
    /// for the request has number 1. The number grows when the process returns the vote.
    number: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum VoteState {
    Awaited,
    /// The voter has not voted for the request. It knows a smaller request and may vote for that
    /// request first.
    Failed,
    Locked,
    /// The voter has voted for the request and asked for its vote back.
    Inquired,
}

impl QuorumRequest {
    pub(super) fn new(request: Timestamp, quorum: &ProcessSet) -> Self {
        let answer = |voter| Answer { voter, state: VoteState::Awaited, number: 1 };
        QuorumRequest { request, answers: quorum.iter().map(answer).collect() }
    }

    /// Records the vote of a voter. If `number` is not the number of the awaited vote, has no
    /// effect.
    pub(super) fn on_locked(&mut self, voter: ProcessId, number: u32) {
        if let Some(answer) = self.answer(voter)
            && answer.number == number
            && !answer.state.is_locked()
        {
            answer.state = VoteState::Locked;
        }
    }

    pub(super) fn on_failed(&mut self, voter: ProcessId) {
        if let Some(answer) = self.answer(voter)
            && answer.state == VoteState::Awaited
        {
            answer.state = VoteState::Failed;
        }
    }

    /// Records that a voter asks for the return of its vote. Ignores the inquiry if `number` is not
    /// the number of the voter's latest vote.
    pub(super) fn on_inquire(&mut self, voter: ProcessId, number: u32) {
        if let Some(answer) = self.answer(voter)
            && (answer.state, answer.number) == (VoteState::Locked, number)
        {
            answer.state = VoteState::Inquired;
        }
    }

    /// Gives back each vote whose voter has asked for its return, and returns the list of these
    /// votes. If no voter of the quorum has reported a smaller request, gives back no vote.
    pub(super) fn relinquish_inquired_votes(&mut self) -> Vec<(ProcessId, Ballot)> {
        let mut given = Vec::new();
        if self.answers.iter().all(|answer| answer.state != VoteState::Failed) {
            return given;
        }
        for answer in self.answers.iter_mut().filter(|it| it.state == VoteState::Inquired) {
            given.push((answer.voter, Ballot { request: self.request, number: answer.number }));
            answer.state = VoteState::Failed;
            answer.number += 1;
        }
        given
    }

    /// Returns the votes of all voters of the quorum. `None` while any vote is missing.
    pub(super) fn all_votes(&self) -> Option<Vec<(ProcessId, Ballot)>> {
        let ballot = |it: &Answer| Ballot { request: self.request, number: it.number };
        self.answers.iter().map(|it| it.state.is_locked().then(|| (it.voter, ballot(it)))).collect()
    }

    fn answer(&mut self, voter: ProcessId) -> Option<&mut Answer> {
        self.answers.iter_mut().find(|answer| answer.voter == voter)
    }
}

impl VoteState {
    fn is_locked(self) -> bool {
        matches!(self, VoteState::Locked | VoteState::Inquired)
    }
}
