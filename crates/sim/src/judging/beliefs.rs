//! The leader in which each process believes, and whether all live processes agree on one live
//! leader.

use std::collections::{BTreeMap, BTreeSet};

use tenure_core::{ProcessId, Term};

/// The leader that each process believes in, and counts of these beliefs. The parameter `up` of the
/// methods has one flag for each process, by index. The flag is true if the process is up and not
/// cut off from a majority for ever. The comments below call such a process live.
#[derive(Debug)]
pub(crate) struct LeaderBeliefs {
    /// Index of the leader that each process believes in, or [`NO_LEADER`]. Empty if the protocol
    /// elects no leader.
    leader: Vec<u32>,
    /// Number of the term that each process believes in. Empty if all numbers so far are 0, to save
    /// memory in large groups.
    term_numbers: Vec<u64>,
    /// Number of live processes that believe in a live leader.
    settled: u64,
    /// For each process, by index: the number of live processes that believe in it as the leader. 0
    /// if the process itself is not live.
    followers: Vec<u32>,
    /// Number of live leaders in which at least one live process believes.
    followed: u32,
    /// For each pair of a live leader and a term number: the number of live processes that believe
    /// in both. The term number 0 is absent.
    term_followers: BTreeMap<(u32, u64), u64>,
    /// Processes that requested an election although they believed in a leader. A process is
    /// removed when it learns the result of an election, or is not live any more.
    unanswered: BTreeSet<u32>,
}

const NO_LEADER: u32 = u32::MAX;

impl LeaderBeliefs {
    pub(crate) fn new(size: u32) -> Self {
        let size = size as usize;
        LeaderBeliefs {
            leader: vec![NO_LEADER; size],
            term_numbers: Vec::new(),
            settled: 0,
            followers: vec![0; size],
            followed: 0,
            term_followers: BTreeMap::new(),
            unanswered: BTreeSet::new(),
        }
    }

    pub(crate) const fn elects_leaders(&self) -> bool {
        !self.leader.is_empty()
    }

    pub(crate) fn leader_of(&self, process: ProcessId) -> Option<ProcessId> {
        let leader = self.leader.get(process.index()).copied()?;
        (leader != NO_LEADER).then_some(ProcessId(leader))
    }

    /// Records that a process requests an election. If the process is live, it then waits for a new
    /// result even if it believes in a leader.
    pub(crate) fn on_request(&mut self, at: ProcessId, up: &[bool]) {
        if up[at.index()] && self.leader_of(at).is_some() {
            self.unanswered.insert(at.0);
        }
    }

    pub(crate) fn on_elected(&mut self, at: ProcessId, leader: ProcessId, term: Term, up: &[bool]) {
        self.unanswered.remove(&at.0);
        self.set(at, leader.0, term.number, up);
    }

    pub(crate) fn forget_leader(&mut self, at: ProcessId, up: &[bool]) {
        self.unanswered.remove(&at.0);
        self.set(at, NO_LEADER, 0, up);
    }

    /// Computes all counts again. Called after `up` has changed.
    pub(crate) fn recount(&mut self, up: &[bool]) {
        (self.settled, self.followed) = (0, 0);
        self.followers.fill(0);
        self.term_followers.clear();
        self.unanswered.retain(|process| up[*process as usize]);
        for place in 0..self.leader.len() {
            self.count(place, up, true);
        }
    }

    /// Returns true if all live processes believe in the same live leader, and none of them waits
    /// for the result of an election that it requested. `live` is the number of live processes.
    pub(crate) fn is_unanimous(&self, live: u64) -> bool {
        self.settled == live && self.followed <= 1 && self.unanswered.is_empty()
    }

    /// Returns true if [`Self::is_unanimous`] returns true, and all live processes believe in the
    /// same term of their leader.
    pub(crate) fn is_unanimous_about_term(&self, live: u64) -> bool {
        let is_common = |(_, count): (_, &u64)| *count == self.settled;
        self.is_unanimous(live) && self.term_followers.iter().next().is_none_or(is_common)
    }

    /// Returns the live processes that believe in no live leader, or that wait for the result of an
    /// election.
    pub(crate) fn unsettled_processes<'a>(
        &'a self,
        up: &'a [bool],
    ) -> impl Iterator<Item = ProcessId> + 'a {
        let unanswered =
            |place: usize| self.unanswered.iter().any(|process| *process as usize == place);
        let without =
            move |place: &usize| up[*place] && (!self.is_settled(*place, up) || unanswered(*place));
        (0..self.leader.len()).filter(without).map(ProcessId::from_index)
    }

    /// Returns the live processes that believe that they are the leader.
    pub(crate) fn self_declared_leaders<'a>(
        &'a self,
        up: &'a [bool],
    ) -> impl Iterator<Item = ProcessId> + 'a {
        let leads = move |place: &usize| up[*place] && self.leader[*place] as usize == *place;
        (0..self.leader.len()).filter(leads).map(ProcessId::from_index)
    }

    fn set(&mut self, at: ProcessId, leader: u32, term_number: u64, up: &[bool]) {
        if self.leader.is_empty() {
            return;
        }
        self.count(at.index(), up, false);
        self.leader[at.index()] = leader;
        if term_number > 0 && self.term_numbers.is_empty() {
            self.term_numbers = vec![0; self.leader.len()];
        }
        if let Some(number) = self.term_numbers.get_mut(at.index()) {
            *number = term_number;
        }
        self.count(at.index(), up, true);
    }

    /// If `add` is true, adds the belief of the process with the index `place` to the counts.
    /// Otherwise, removes this belief from the counts. Does nothing if the process is not live or
    /// does not believe in a live leader, because the counts contain no such belief.
    fn count(&mut self, place: usize, up: &[bool], add: bool) {
        if !self.is_settled(place, up) {
            return;
        }
        let followers = &mut self.followers[self.leader[place] as usize];
        if add {
            self.settled += 1;
            self.followed += u32::from(*followers == 0);
            *followers += 1;
        } else {
            self.settled -= 1;
            *followers -= 1;
            self.followed -= u32::from(*followers == 0);
        }
        self.count_term(place, add);
    }

    /// As [`Self::count`], for the term in which the process believes.
    fn count_term(&mut self, place: usize, add: bool) {
        let number = self.term_numbers.get(place).copied().unwrap_or(0);
        if number == 0 {
            return;
        }
        let followers = self.term_followers.entry((self.leader[place], number)).or_default();
        if add {
            *followers += 1;
        } else {
            *followers -= 1;
            if *followers == 0 {
                self.term_followers.remove(&(self.leader[place], number));
            }
        }
    }

    /// Returns true if the process with the index `place` is live and believes in a live leader.
    fn is_settled(&self, place: usize, up: &[bool]) -> bool {
        let leader = self.leader[place];
        up[place] && leader != NO_LEADER && up[leader as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [bool; 3] = [true; 3];
    /// A partition cuts off P3.
    const MAJORITY: [bool; 3] = [true, true, false];

    /// P1 and P2 believe in P1, and P3 believes in itself.
    fn divided(up: &[bool]) -> LeaderBeliefs {
        let mut beliefs = LeaderBeliefs::new(3);
        for (at, leader) in [(0, 0), (1, 0), (2, 2)] {
            let leader = ProcessId(leader);
            beliefs.on_elected(ProcessId(at), leader, Term { number: 1, leader }, up);
        }
        beliefs
    }

    fn leaders(beliefs: &LeaderBeliefs, up: &[bool]) -> Vec<u32> {
        beliefs.self_declared_leaders(up).map(|leader| leader.0).collect()
    }

    #[test]
    fn processes_cut_off_by_partition_do_not_count() {
        let whole = divided(&ALL);
        assert!(!whole.is_unanimous(3) && !whole.is_unanimous_about_term(3));
        assert_eq!(leaders(&whole, &ALL), [0, 2]);
        let mut cut_off_later = divided(&ALL);
        cut_off_later.recount(&MAJORITY);
        for beliefs in [divided(&MAJORITY), cut_off_later] {
            assert!(beliefs.is_unanimous(2) && beliefs.is_unanimous_about_term(2));
            assert_eq!(beliefs.unsettled_processes(&MAJORITY).count(), 0);
            assert_eq!(leaders(&beliefs, &MAJORITY), [0]);
        }
    }

    #[test]
    fn request_of_process_cut_off_is_not_awaited() {
        let mut beliefs = divided(&MAJORITY);
        beliefs.on_request(ProcessId(2), &MAJORITY);
        assert!(beliefs.is_unanimous(2));
        beliefs.on_request(ProcessId(1), &MAJORITY);
        assert!(!beliefs.is_unanimous(2));
        beliefs.recount(&[true, false, false]);
        assert!(beliefs.is_unanimous(1), "no process waits for the request of P2 any more");
    }

    #[test]
    fn leader_cut_off_by_partition_leaves_its_followers_unsettled() {
        let up = [false, true, true];
        let mut beliefs = divided(&ALL);
        beliefs.recount(&up);
        assert!(!beliefs.is_unanimous(2));
        assert!(beliefs.unsettled_processes(&up).eq([ProcessId(1)]));
    }
}
