//! The vote of one process: the request that has it, and the requests that wait for it.

use alloc::vec::Vec;

use tenure_core::{ProcessId, Timestamp};

/// One vote that a voter gives to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Ballot {
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
    /// Requests that wait for the vote, smallest first. Each ballot contains the number that the
    /// next vote for the request will have.
    waiting: Vec<Ballot>,
}

/// State of the vote: free, or given to a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Lock {
    #[default]
    Free,
    /// The voter has given its vote to this request. If a smaller request waits, the voter has
    /// asked the holder to return the vote. Maekawa's variant `basic` never asks.
    Locked(Ballot),
}

/// Result of the arrival of a request. It depends on how the new request compares with the requests
/// that the voter already knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum RequestOutcome {
    /// The vote was free and was given to the request.
    Voted(Ballot),
    /// Another request with a smaller timestamp has the vote or waits for it.
    Behind,
    /// The new request is smaller than all others. The voter has already asked the holder to return
    /// the vote, on behalf of the request that was the smallest before. The ballot contains that
    /// request.
    Displaces(Ballot),
    /// The new request is smaller than all others, but a larger request has the vote. The voter
    /// must ask the holder to return the vote. The ballot contains the larger request.
    PrecedesHolder(Ballot),
    /// The request is already known: its message is a duplicate.
    Known,
}

impl Voter {
    /// Handles a request: votes for it if the vote is free, and otherwise adds it to the waiting
    /// requests.
    pub(super) fn on_request(&mut self, request: Timestamp) -> RequestOutcome {
        let ballot = Ballot { request, number: 1 };
        let current = match self.lock {
            Lock::Free => {
                self.lock = Lock::Locked(ballot);
                return RequestOutcome::Voted(ballot);
            }
            Lock::Locked(current) => current,
        };
        if current.request == request || self.waiting.iter().any(|it| it.request == request) {
            return RequestOutcome::Known;
        }
        let first = self.waiting.first().copied();
        self.enqueue(ballot);
        if current < ballot || first.is_some_and(|first| first < ballot) {
            return RequestOutcome::Behind;
        }
        match first.filter(|first| *first < current) {
            Some(first) => RequestOutcome::Displaces(first),
            None => RequestOutcome::PrecedesHolder(current),
        }
    }

    /// Adds the request of a returned vote to the waiting requests. The vote is still marked as
    /// given to this request, until the caller calls [`Voter::vote_for_next`].
    pub(super) fn requeue_request(&mut self, ballot: Ballot) {
        self.enqueue(Ballot { number: ballot.number + 1, ..ballot });
    }

    /// Gives the vote to the smallest waiting request. Returns the vote. If no request waits, the
    /// vote becomes free, and the result is `None`.
    pub(super) fn vote_for_next(&mut self) -> Option<Ballot> {
        if self.waiting.is_empty() {
            self.lock = Lock::Free;
            return None;
        }
        let ballot = self.waiting.remove(0);
        self.lock = Lock::Locked(ballot);
        Some(ballot)
    }

    /// Returns true if `ballot` is the voter's current vote.
    pub(super) fn has_voted_for(&self, ballot: Ballot) -> bool {
        self.lock == Lock::Locked(ballot)
    }

    /// Returns the process to whose request the vote is given; `None` if the vote is free.
    pub(super) fn holder(&self) -> Option<ProcessId> {
        match self.lock {
            Lock::Free => None,
            Lock::Locked(ballot) => Some(ballot.request.process),
        }
    }

    /// Removes the waiting request of a process. If the process has the vote, it keeps the vote.
    pub(super) fn remove_waiting_request(&mut self, process: ProcessId) {
        self.waiting.retain(|ballot| ballot.request.process != process);
    }

    fn enqueue(&mut self, ballot: Ballot) {
        let place = self.waiting.partition_point(|other| *other < ballot);
        self.waiting.insert(place, ballot);
    }
}
