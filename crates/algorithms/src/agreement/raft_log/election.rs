//! Leader election (3.4) and its restriction on logs (3.6.1).
//!
//! **Why a leader has every committed entry.** Take an entry *e* committed in term *t*. Assume that
//! a later leader lacks *e*, and let *u* be the first term with such a leader. A majority stored
//! *e* in term *t*, and one process of this majority voted for the leader of *u*. This voter stored
//! *e* before it voted, because a process that has voted in *u* accepts nothing of *t*. The voter
//! still had *e* when it voted: every leader between *t* and *u* has *e*, and only conflicting
//! entries are truncated. So the leader's log was at least as up to date as the voter's log. If the
//! last terms of the two logs are equal, the leader's log contains the voter's log, and therefore
//! *e*. If the last term of the leader's log is later, the leader of that term had *e*. Each log
//! with an entry of that leader also contains *e*. Both cases contradict the assumption.
//!
//! With pre-vote (9.6) a process first asks in its old term whether it would be elected. So a
//! process that was partitioned, or whose log is behind, deposes no leader. A process denies
//! pre-votes until the minimum election timeout has passed since the last message from a leader.
//! Then it grants pre-votes, and after a further random wait it requests pre-votes itself.
//!
//! If two processes ask each other, the process with the more up-to-date log has priority. If the
//! logs are equal, the process with the lower id has priority. The process with priority denies the
//! request of the other process and repeats its own request. It repeats the request because the
//! other process may have denied the first request while that process still trusted the leader.
//! There is one exception. Suppose that process A grants a pre-vote to process B, but B does not
//! become the leader, and A then requests pre-votes. Now A has priority over B, because A may reach
//! a majority that B cannot reach.
//!
//! With check-quorum, a leader steps down if no majority responds within an election timeout, so
//! that its users do not wait forever. Safety depends neither on pre-vote nor on check-quorum.
//!
//! **Ahead**: with this variant a candidate requests votes before its own vote is saved, so that
//! all disks write in parallel. The candidate saves its vote at the latest in the step in which it
//! is elected. No process learns of the election before this step ends. So if the candidate crashes
//! before the save, it has not led in that term, and its own vote was not counted. After the
//! restart, the candidate may vote for another process in that term, or become a candidate in that
//! term again. The votes that it received before the crash count in its new candidacy. In between,
//! the append of an older leader may replace the end of its log by entries of lower terms, so the
//! log may become less up to date. The argument above still holds: the candidate had *e* when the
//! voter compared the logs, and all leaders from term *t* on have *e*. So their appends replace
//! only entries that conflict with the log of such a leader, and never *e*.

use alloc::collections::VecDeque;
use alloc::vec;

use tenure_core::service::log::{Content, Entry, Event};
use tenure_core::{Delay, Effects, ProcessId, ProcessSet};

use super::config::VariantId;
use super::log::EntryId;
use super::message::Message;
use super::reads::PendingReads;
use super::replication::FollowerProgress;
use super::{Leadership, RaftReplica, Role, Timer};

impl RaftReplica {
    /// Handles the election timeout. A leader ends a leadership transfer that has not succeeded,
    /// and checks that a majority still responds. A voter that follows a leader suspects the leader
    /// and waits for a further random time. A voter without a leader requests pre-votes. With the
    /// variant `no-pre-vote`, each of these voters becomes a candidate at once. A process without a
    /// vote asks whether it is still a member. The leader of a group of one process stops this
    /// timer: it always has a majority, and its group never changes.
    pub(super) fn on_election_timeout(&mut self, fx: &mut impl Effects<Self>) {
        if self.group.size() == 1 && matches!(self.role, Role::Leader(_)) {
            return;
        }
        fx.set_timer(Timer::Election, self.config.election_timeout);
        let skips_quorum_check = self.has(VariantId::NoCheckQuorum);
        self.abort_handover(fx);
        self.count_catch_up_timeout(fx);
        if let Role::Leader(Leadership { responded, .. }) = &mut self.role {
            let responded = core::mem::take(responded);
            if skips_quorum_check || self.is_majority_with_self(responded) {
                return;
            }
            return self.become_follower(fx);
        }
        let had_leader = self.leader().is_some();
        self.become_follower(fx);
        if !self.is_voter() {
            return self.ask_whether_still_member(fx);
        }
        if self.has(VariantId::NoPreVote) {
            return self.become_candidate(fx);
        }
        if had_leader {
            let Delay { min, max } = self.config.election_timeout;
            return fx.set_timer(Timer::Election, Delay { min: 0, max: max - min });
        }
        let ask = self.request_pre_vote();
        fx.broadcast(&self.other_voters(), ask);
        self.role = Role::PreCandidate { votes: self.own_vote() };
        self.maybe_become_candidate(fx);
    }

    fn request_pre_vote(&self) -> Message {
        Message::RequestPreVote { term: self.term + 1, last: self.log.last() }
    }

    fn follower_timeout(&self) -> Delay {
        let all = self.config.election_timeout;
        if self.has(VariantId::NoPreVote) { all } else { Delay::ticks(all.min) }
    }

    pub(super) fn maybe_become_candidate(&mut self, fx: &mut impl Effects<Self>) {
        if let Role::PreCandidate { votes } = &self.role
            && self.is_majority(votes)
        {
            self.become_candidate(fx);
        }
    }

    pub(super) fn become_candidate(&mut self, fx: &mut impl Effects<Self>) {
        let other_voters = self.other_voters();
        let saved = (self.has(VariantId::Ahead) && !other_voters.is_empty())
            .then_some((self.term, self.voted_for));
        if saved.is_some() {
            fx.set_timer(Timer::Store, Delay::ZERO);
        }
        self.term += 1;
        self.voted_for = Some(self.group.me());
        self.role = Role::Candidate { votes: self.own_vote(), saved };
        let (term, last) = (self.term, self.log.last());
        fx.broadcast(&other_voters, Message::RequestVote { term, last });
        self.maybe_become_leader(fx);
    }

    pub(super) fn on_vote(
        &mut self,
        from: ProcessId,
        term: u64,
        granted: bool,
        fx: &mut impl Effects<Self>,
    ) {
        self.update_term(term, fx);
        if let Role::Candidate { votes, .. } = &mut self.role
            && granted
            && term == self.term
        {
            votes.insert(from);
            self.maybe_become_leader(fx);
        }
    }

    /// Makes this process the leader if a majority has voted for it. The leader appends an entry of
    /// the new term. When this entry is committed, all entries before it are committed as well.
    pub(super) fn maybe_become_leader(&mut self, fx: &mut impl Effects<Self>) {
        let Role::Candidate { votes, .. } = &self.role else { return };
        if !self.is_majority(votes) {
            return;
        }
        let responded = votes.clone();
        self.persist_all(fx);
        let progress = FollowerProgress::new(self.log.last().index);
        self.role = Role::Leader(Leadership {
            peers: vec![progress; self.group.size() as usize],
            responded,
            ahead: 0,
            has_unannounced_commit: false,
            proposed: VecDeque::new(),
            reads: PendingReads::default(),
            handover: None,
            change: None,
            final_change: None,
        });
        fx.emit(Event::Leading { term: self.term });
        self.append_to_own_log(Entry { term: self.term, content: Content::Nothing }, fx);
        self.maybe_commit(fx);
        self.broadcast_heartbeat(fx);
    }

    /// Responds to a pre-vote request. Denies the pre-vote if `term` is not later than the current
    /// term, if this process knows a leader, or if the log of the sender is less up to date. If the
    /// sender was removed from the group and must be notified, sends only a notice of removal.
    ///
    /// If both processes request pre-votes at the same time, this process compares their
    /// priorities. If this process has priority and still lacks the sender's pre-vote, it denies
    /// the request and repeats its own request to the sender.
    pub(super) fn on_request_pre_vote(
        &mut self,
        from: ProcessId,
        term: u64,
        last: EntryId,
        fx: &mut impl Effects<Self>,
    ) {
        if self.notify_if_removed(from, last, fx) {
            return;
        }
        let (is_pre_candidate, has_granted) = match &self.role {
            Role::PreCandidate { votes } => (true, votes.contains(from)),
            _ => (false, false),
        };
        let is_competing = is_pre_candidate && !has_granted && term <= self.term + 1;
        let continues = is_competing && self.has_priority_over(from, last);
        let free = self.leader().is_none() && !continues;
        let granted = term > self.term && free && self.is_candidate_log_up_to_date(last);
        if granted && is_pre_candidate {
            self.role = Role::Follower { leader: None };
        }
        let response_term = if granted { term } else { self.term };
        fx.send(from, Message::PreVote { term: response_term, granted });
        if continues {
            fx.send(from, self.request_pre_vote());
        }
    }

    /// Handles the response to a pre-vote request. A denial contains the current term of the
    /// sender. If the sender's term is later than the term of this process, this process adopts the
    /// sender's term.
    pub(super) fn on_pre_vote(
        &mut self,
        from: ProcessId,
        term: u64,
        granted: bool,
        fx: &mut impl Effects<Self>,
    ) {
        if !granted {
            return self.update_term(term, fx);
        }
        if let Role::PreCandidate { votes } = &mut self.role
            && term == self.term + 1
        {
            votes.insert(from);
            self.maybe_become_candidate(fx);
        }
    }

    /// Returns true if this process should become the leader rather than the process `other`.
    /// `last` is the last entry in the log of `other`.
    fn has_priority_over(&self, other: ProcessId, last: EntryId) -> bool {
        let ours = self.log.last();
        ours.is_as_up_to_date_as(last) && (ours != last || self.group.me() < other)
    }

    /// Responds to a vote request. Grants at most one vote per term, and only if the candidate's
    /// log is at least as up to date as this process's log. If the candidate was removed from the
    /// group and must be notified, sends only a notice of removal.
    pub(super) fn on_request_vote(
        &mut self,
        from: ProcessId,
        term: u64,
        last: EntryId,
        fx: &mut impl Effects<Self>,
    ) {
        if self.notify_if_removed(from, last, fx) {
            return;
        }
        self.update_term(term, fx);
        let free = self.voted_for.is_none_or(|candidate| candidate == from);
        let granted = term == self.term && free && self.is_candidate_log_up_to_date(last);
        if granted {
            self.voted_for = Some(from);
            if matches!(self.role, Role::PreCandidate { .. }) {
                self.role = Role::Follower { leader: None };
            }
            fx.set_timer(Timer::Election, self.config.election_timeout);
        }
        fx.send(from, Message::Vote { term: self.term, granted });
    }

    /// Joins `term` as a follower, if `term` is later than the current term.
    pub(super) fn update_term(&mut self, term: u64, fx: &mut impl Effects<Self>) {
        if term > self.term {
            self.become_follower(fx);
            self.term = term;
            self.voted_for = None;
        }
    }

    /// Makes this process a follower of `leader` in the current term, and returns true. If this
    /// process itself leads the current term, returns false.
    pub(super) fn follow_leader(&mut self, leader: ProcessId, fx: &mut impl Effects<Self>) -> bool {
        if matches!(self.role, Role::Leader(_)) {
            return false;
        }
        fx.set_timer(Timer::Election, self.follower_timeout());
        if self.leader() != Some(leader) {
            self.persist_all(fx);
            self.role = Role::Follower { leader: Some(leader) };
            fx.emit(Event::Following { term: self.term, leader: Some(leader) });
        }
        true
    }

    fn is_majority_with_self(&self, mut processes: ProcessSet) -> bool {
        processes.insert(self.group.me());
        self.is_majority(&processes)
    }
}
