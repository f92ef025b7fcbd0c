//! One process's vote: who has it, and who waits for it.

use alloc::vec::Vec;

use tenure_core::{ProcessId, Stamp};

/// One vote of a voter for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Ballot {
    /// The request.
    pub request: Stamp,
    /// How many votes of this voter the request has had, this one included.
    pub number: u32,
}

/// Gives one vote at a time, to the smallest request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Voter {
    lock: Lock,
    /// The smallest first.
    waiting: Vec<Ballot>,
}

/// Who has the vote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Lock {
    #[default]
    Free,
    /// For this one; if a smaller one waits, we have asked to have the vote back.
    Locked(Ballot),
}

/// Where a request finds itself when it arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Arrival {
    /// The vote is free, and now its own.
    Voted(Ballot),
    /// Somebody smaller has the vote, or waits for it.
    Behind,
    /// It is the smallest, and so was this one, for whose sake we have asked for the vote.
    InFrontOf(Ballot),
    /// It is the smallest, and only this one, who has the vote, stands in its way.
    After(Ballot),
    /// It is here already: a duplicate.
    Known,
}

impl Voter {
    pub(super) fn receive(&mut self, request: Stamp) -> Arrival {
        let ballot = Ballot { request, number: 1 };
        let current = match self.lock {
            Lock::Free => {
                self.lock = Lock::Locked(ballot);
                return Arrival::Voted(ballot);
            }
            Lock::Locked(current) => current,
        };
        if current.request == request || self.waiting.iter().any(|it| it.request == request) {
            return Arrival::Known;
        }
        let first = self.waiting.first().copied();
        self.enqueue(ballot);
        if current < ballot || first.is_some_and(|first| first < ballot) {
            return Arrival::Behind;
        }
        match first.filter(|first| *first < current) {
            Some(first) => Arrival::InFrontOf(first),
            None => Arrival::After(current),
        }
    }

    /// The vote comes back, and its request waits for the next one.
    pub(super) fn put_back(&mut self, ballot: Ballot) {
        self.enqueue(Ballot { number: ballot.number + 1, ..ballot });
    }

    /// Gives the vote to the smallest request that waits.
    pub(super) fn vote(&mut self) -> Option<Ballot> {
        if self.waiting.is_empty() {
            self.lock = Lock::Free;
            return None;
        }
        let ballot = self.waiting.remove(0);
        self.lock = Lock::Locked(ballot);
        Some(ballot)
    }

    /// Whether this very vote is out.
    pub(super) fn has_given(&self, ballot: Ballot) -> bool {
        self.lock == Lock::Locked(ballot)
    }

    /// Which process has the vote.
    pub(super) fn holder(&self) -> Option<ProcessId> {
        match self.lock {
            Lock::Free => None,
            Lock::Locked(ballot) => Some(ballot.request.process),
        }
    }

    /// A process waits no longer.
    pub(super) fn strike(&mut self, process: ProcessId) {
        self.waiting.retain(|ballot| ballot.request.process != process);
    }

    fn enqueue(&mut self, ballot: Ballot) {
        let place = self.waiting.partition_point(|other| *other < ballot);
        self.waiting.insert(place, ballot);
    }
}
