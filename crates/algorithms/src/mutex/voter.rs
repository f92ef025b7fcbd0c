//! The vote of one process: the request that has it, and the requests that wait for it.

use alloc::vec::Vec;

use tenure_core::{ProcessId, Timestamp};

/// A request, with the number of times that the voter has given its vote to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct NumberedRequest {
    /// Timestamp of the request.
    pub request: Timestamp,
    /// Number of times that the voter has given its vote to this request, including this vote.
    pub number: u32,
}

/// The vote of one process. The voter gives the vote to one request at a time. If several requests
/// wait, it votes for the smallest request first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Voter {
    lock: Lock,
    /// Requests that wait for the vote, smallest first. The number in each element is the one that
    /// the next vote for the request will have.
    waiting: Vec<NumberedRequest>,
}

/// State of the vote: free, or given to a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Lock {
    #[default]
    Free,
    /// The voter has given its vote to this request. If a smaller request waits, the voter has
    /// asked the holder to return the vote. Maekawa's variant `basic` never asks.
    Locked(NumberedRequest),
}

/// Result of the arrival of a request. It depends on how the new request compares with the requests
/// that the voter already knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum RequestOutcome {
    /// The vote was free and was given to the request.
    Voted(NumberedRequest),
    /// Another request with a smaller timestamp has the vote or waits for it.
    Behind,
    /// The new request is smaller than all others. The voter has already asked the holder to return
    /// the vote, on behalf of the request that was the smallest before. The variant contains that
    /// request.
    Displaces(NumberedRequest),
    /// The new request is smaller than all others, but a larger request has the vote. The voter
    /// must ask the holder to return the vote. The variant contains the vote for the larger
    /// request.
    PrecedesHolder(NumberedRequest),
    /// The request is already known: its message is a duplicate.
    Known,
}

impl Voter {
    /// Handles a request: votes for it if the vote is free, and otherwise adds it to the waiting
    /// requests. Has no effect if the request has the vote or waits already.
    pub(super) fn on_request(&mut self, request: Timestamp) -> RequestOutcome {
        let vote = NumberedRequest { request, number: 1 };
        let current = match self.lock {
            Lock::Free => {
                self.lock = Lock::Locked(vote);
                return RequestOutcome::Voted(vote);
            }
            Lock::Locked(current) => current,
        };
        if current.request == request || self.waiting.iter().any(|it| it.request == request) {
            return RequestOutcome::Known;
        }
        let first = self.waiting.first().copied();
        self.enqueue(vote);
        if current < vote || first.is_some_and(|first| first < vote) {
            return RequestOutcome::Behind;
        }
        match first.filter(|first| *first < current) {
            Some(first) => RequestOutcome::Displaces(first),
            None => RequestOutcome::PrecedesHolder(current),
        }
    }

    /// Adds the request of a returned vote to the waiting requests. The vote is still marked as
    /// given to this request, until the caller calls [`Voter::vote_for_next`].
    pub(super) fn requeue_request(&mut self, vote: NumberedRequest) {
        self.enqueue(NumberedRequest { number: vote.number + 1, ..vote });
    }

    /// Gives the vote to the smallest waiting request. Returns the vote. If no request waits, the
    /// vote becomes free, and the result is `None`.
    pub(super) fn vote_for_next(&mut self) -> Option<NumberedRequest> {
        if self.waiting.is_empty() {
            self.lock = Lock::Free;
            return None;
        }
        let vote = self.waiting.remove(0);
        self.lock = Lock::Locked(vote);
        Some(vote)
    }

    /// Returns true if `vote` is the voter's current vote.
    pub(super) fn has_voted_for(&self, vote: NumberedRequest) -> bool {
        self.lock == Lock::Locked(vote)
    }

    /// Returns the process to whose request the vote is given; `None` if the vote is free.
    pub(super) fn holder(&self) -> Option<ProcessId> {
        match self.lock {
            Lock::Free => None,
            Lock::Locked(vote) => Some(vote.request.process),
        }
    }

    /// Removes the waiting request of a process. If the process has the vote, it keeps the vote.
    pub(super) fn remove_waiting_request(&mut self, process: ProcessId) {
        self.waiting.retain(|vote| vote.request.process != process);
    }

    fn enqueue(&mut self, vote: NumberedRequest) {
        let place = self.waiting.partition_point(|other| *other < vote);
        self.waiting.insert(place, vote);
    }
}
