//! A process's request for votes, and the response of each voter.

use alloc::vec::Vec;

use tenure_core::{ProcessId, ProcessSet, Timestamp};

use super::voter::NumberedRequest;

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
    /// Number of the vote that the process has from this voter, or for which it waits. The first
    /// vote of this voter for the request has number 1. The number grows by one when the process
    /// returns the vote.
    number: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum VoteState {
    /// The voter has neither voted for the request nor reported a smaller request.
    Awaited,
    /// The request does not have the vote, because the voter knows a smaller request. The voter may
    /// vote for the smaller request first.
    Failed,
    /// The voter has voted for the request.
    Locked,
    /// The voter has voted for the request and asked for its vote back.
    Inquired,
}

impl QuorumRequest {
    pub(super) fn new(request: Timestamp, quorum: &ProcessSet) -> Self {
        let answer = |voter| Answer { voter, state: VoteState::Awaited, number: 1 };
        QuorumRequest { request, answers: quorum.iter().map(answer).collect() }
    }

    /// Records the vote of a voter. Does nothing if `number` is not the number of the awaited vote.
    pub(super) fn on_locked(&mut self, voter: ProcessId, number: u32) {
        if let Some(answer) = self.answer(voter)
            && answer.number == number
            && !answer.state.is_locked()
        {
            answer.state = VoteState::Locked;
        }
    }

    /// Records that a voter knows a smaller request. Does nothing if the voter has already voted
    /// for this request.
    pub(super) fn on_failed(&mut self, voter: ProcessId) {
        if let Some(answer) = self.answer(voter)
            && answer.state == VoteState::Awaited
        {
            answer.state = VoteState::Failed;
        }
    }

    /// Records that a voter asks for the return of its vote. Does nothing if this process does not
    /// have the voter's vote with the number `number`.
    pub(super) fn on_inquire(&mut self, voter: ProcessId, number: u32) {
        if let Some(answer) = self.answer(voter)
            && (answer.state, answer.number) == (VoteState::Locked, number)
        {
            answer.state = VoteState::Inquired;
        }
    }

    /// Gives back each vote whose voter has asked for its return, and returns the list of these
    /// votes. Gives back no vote while the request has not failed at any voter of the quorum.
    pub(super) fn relinquish_inquired_votes(&mut self) -> Vec<(ProcessId, NumberedRequest)> {
        let mut given = Vec::new();
        if self.answers.iter().all(|answer| answer.state != VoteState::Failed) {
            return given;
        }
        for answer in self.answers.iter_mut().filter(|it| it.state == VoteState::Inquired) {
            given.push((
                answer.voter,
                NumberedRequest { request: self.request, number: answer.number },
            ));
            answer.state = VoteState::Failed;
            answer.number += 1;
        }
        given
    }

    /// Returns the votes of all voters of the quorum. `None` while any vote is missing.
    pub(super) fn all_votes(&self) -> Option<Vec<(ProcessId, NumberedRequest)>> {
        let ballot = |it: &Answer| NumberedRequest { request: self.request, number: it.number };
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
