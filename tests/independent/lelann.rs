//! The election of G. Le Lann, *Distributed systems: towards a formal approach*, IFIP Congress,
//! 1977. Each process sends its own rank before it forwards the rank of another process. It lists
//! all ranks, and decides when its own rank returns.

use super::search::{Outbox, Process, Step};
use super::user::Reported;

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Site {
    next: usize,
    rank: u32,
    asks: bool,
    reported: Reported,
    /// Ranks of the active processes, in the order of arrival. Empty before the election.
    list: Vec<u32>,
}

/// Creates processes with these ranks in ring order. The users of `initiators` request one election
/// each.
pub(crate) fn sites(ranks: &[u32], initiators: &[usize]) -> Vec<Site> {
    let site = |(me, rank): (usize, &u32)| Site {
        next: (me + 1) % ranks.len(),
        rank: *rank,
        asks: initiators.contains(&me),
        reported: Reported::Nothing,
        list: Vec::new(),
    };
    ranks.iter().enumerate().map(site).collect()
}

impl Process for Site {
    type Message = u32;

    fn enabled(&self) -> Option<Step> {
        self.asks.then_some(Step::Request)
    }

    fn execute(&mut self, _: Step) -> Outbox<u32> {
        (self.asks, self.reported) = (false, Reported::Asked);
        self.join()
    }

    fn receive(&mut self, _: usize, rank: u32) -> Outbox<u32> {
        if rank == self.rank {
            (self.asks, self.reported) = (false, Reported::Leader);
            return Vec::new();
        }
        let mut sent = self.join();
        self.list.push(rank);
        sent.push((self.next, rank));
        sent
    }
}

impl Site {
    fn join(&mut self) -> Outbox<u32> {
        if !self.list.is_empty() {
            return Vec::new();
        }
        self.list.push(self.rank);
        vec![(self.next, self.rank)]
    }

    /// Returns the ranks of the active processes in ascending order, once this process has decided.
    pub(crate) fn decided(&self) -> Option<Vec<u32>> {
        let mut list = self.list.clone();
        list.sort_unstable();
        (self.reported == Reported::Leader).then_some(list)
    }
}
