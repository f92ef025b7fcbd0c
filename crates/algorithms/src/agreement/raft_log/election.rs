//! Who leads (3.4), and which logs may (3.6.1).
//!
//! **Why the leader has what was committed.** Take an entry that was committed in term *t*, and the
//! first later term *u* whose leader lacks it. A majority had stored the entry in term *t*; one of
//! them voted for that leader. It stored the entry first, for whoever votes in *u* takes nothing of
//! *t* any more. Nor had it lost the entry by then, as every leader between *t* and *u* has it and
//! cuts only what conflicts. So the leader's log was as up to date as one that has the entry. If
//! their last terms are the same, the leader's is no shorter, and alike up to the end of the
//! voter's: it has the entry. If its last term is later, the leader of that term had the entry, and
//! it is in every log with a later entry of that leader. Either way it has what it lacks.
//!
//! With pre-vote (9.6) a process first asks whether it would be elected, in its old term: one that
//! was cut off, or whose log is behind, deposes nobody. Who has heard a leader within the shortest
//! election timeout says no; from then on it would vote, and asks for itself after the rest of its
//! own, which is drawn. So the first who asks is elected, and not the second, when all had the same
//! leader. Of two who ask each other, the one with the better log goes on, or else the one with the
//! lower number: it says no, and asks again who did not know yet that the leader is missed. Who has
//! said yes to it and asks later has waited in vain, and is not refused: it may reach a majority
//! where the other does not. With check-quorum a leader whom no majority has answered for an
//! election timeout steps down, so that its users do not wait for ever. Safety needs none of it.
//!
//! **Ahead**: with that variant a candidate asks for votes before its own is saved, so that its
//! disk and those of the others work at the same time. Whoever is elected saves its vote with that
//! step at the latest, before anybody hears of it: so it never leads in that term again. Whoever
//! crashes before has led nobody. It may vote for another in that term, as nobody has counted on
//! its vote; or stand in it once more, and a vote that it was given before is as good as then, as
//! what a log takes in between only makes it more up to date.

use alloc::collections::VecDeque;
use alloc::vec;

use tenure_core::service::log::{Content, Entry, Event};
use tenure_core::{Delay, Effects, ProcessId, ProcessSet};

use super::config::Switch;
use super::log::Place;
use super::message::Message;
use super::reads::Reads;
use super::replication::Progress;
use super::{Leadership, RaftLog, Role, Timer};

impl RaftLog {
    /// Nobody leads, as far as we can tell; or we do, and see whether that is still so.
    pub(super) fn on_election_timeout(&mut self, fx: &mut impl Effects<Self>) {
        fx.set_timer(Timer::Election, self.config.election);
        let patient = self.has(Switch::NoCheckQuorum);
        self.keep_the_lead(fx);
        self.lose_patience(fx);
        if let Role::Leader(Leadership { heard, .. }) = &mut self.role {
            let heard = core::mem::take(heard);
            if patient || self.are_majority_with_me(heard) {
                return;
            }
            return self.step_down(fx);
        }
        let heard_a_leader = self.leader().is_some();
        self.step_down(fx);
        if !self.counts() {
            return self.ask_membership(fx);
        }
        if self.has(Switch::NoPreVote) {
            return self.stand(fx);
        }
        if heard_a_leader {
            let Delay { min, max } = self.config.election;
            return fx.set_timer(Timer::Election, Delay { min: 0, max: max - min });
        }
        let ask = self.request_pre_vote();
        fx.broadcast(&self.electors(), ask);
        self.role = Role::PreCandidate { votes: self.only_me() };
        self.stand_if_wanted(fx);
    }

    fn request_pre_vote(&self) -> Message {
        Message::RequestPreVote { term: self.term + 1, last: self.log.last() }
    }

    /// For how long a leader is not missed of which nothing is heard.
    fn patience(&self) -> Delay {
        let all = self.config.election;
        if self.has(Switch::NoPreVote) { all } else { Delay::ticks(all.min) }
    }

    pub(super) fn stand_if_wanted(&mut self, fx: &mut impl Effects<Self>) {
        if let Role::PreCandidate { votes } = &self.role
            && self.are_majority(votes)
        {
            self.stand(fx);
        }
    }

    /// Begins a term, with a vote for ourselves.
    pub(super) fn stand(&mut self, fx: &mut impl Effects<Self>) {
        let electors = self.electors();
        let saved = (self.has(Switch::Ahead) && !electors.is_empty())
            .then_some((self.term, self.voted_for));
        if saved.is_some() {
            fx.set_timer(Timer::Store, Delay::NONE);
        }
        self.term += 1;
        self.voted_for = Some(self.group.me());
        self.role = Role::Candidate { votes: self.only_me(), saved };
        let (term, last) = (self.term, self.log.last());
        fx.broadcast(&electors, Message::RequestVote { term, last });
        self.lead_if_elected(fx);
    }

    pub(super) fn on_vote(
        &mut self,
        from: ProcessId,
        term: u64,
        granted: bool,
        fx: &mut impl Effects<Self>,
    ) {
        self.notice(term, fx);
        if let Role::Candidate { votes, .. } = &mut self.role
            && granted
            && term == self.term
        {
            votes.insert(from);
            self.lead_if_elected(fx);
        }
    }

    /// Begins to lead, with an entry of our own term: once that is committed, so is all before it.
    pub(super) fn lead_if_elected(&mut self, fx: &mut impl Effects<Self>) {
        let Role::Candidate { votes, .. } = &self.role else { return };
        if !self.are_majority(votes) {
            return;
        }
        let heard = votes.clone();
        self.keep_ahead(fx);
        let progress = Progress::behind(self.log.last().index);
        self.role = Role::Leader(Leadership {
            peers: vec![progress; self.group.size() as usize],
            heard,
            ahead: 0,
            untold: false,
            proposed: VecDeque::new(),
            reads: Reads::default(),
            handover: None,
            change: None,
            changed: None,
        });
        fx.emit(Event::Leading { term: self.term });
        self.take(Entry { term: self.term, content: Content::Nothing }, fx);
        self.commit_by_majority(fx);
        self.beat(fx);
    }

    /// Would we vote? Not while we hear a leader, nor for a log that lacks what ours has, nor for
    /// somebody who is to vote for us and did not say yet that it would.
    pub(super) fn on_request_pre_vote(
        &mut self,
        from: ProcessId,
        term: u64,
        last: Place,
        fx: &mut impl Effects<Self>,
    ) {
        if self.tell_if_removed(from, last, fx) {
            return;
        }
        let (asks, has_said_yes) = match &self.role {
            Role::PreCandidate { votes } => (true, votes.contains(from)),
            _ => (false, false),
        };
        let at_once = asks && !has_said_yes && term <= self.term + 1;
        let goes_on = at_once && self.comes_before(from, last);
        let free = self.leader().is_none() && !goes_on;
        let granted = term > self.term && free && self.heeds_log(last);
        if granted && asks {
            self.role = Role::Follower { leader: None };
        }
        let said = if granted { term } else { self.term };
        fx.send(from, Message::PreVote { term: said, granted });
        if goes_on {
            fx.send(from, self.request_pre_vote());
        }
    }

    /// Somebody would vote for us, or knows a later term.
    pub(super) fn on_pre_vote(
        &mut self,
        from: ProcessId,
        term: u64,
        granted: bool,
        fx: &mut impl Effects<Self>,
    ) {
        if !granted {
            return self.notice(term, fx);
        }
        if let Role::PreCandidate { votes } = &mut self.role
            && term == self.term + 1
        {
            votes.insert(from);
            self.stand_if_wanted(fx);
        }
    }

    /// Whether we are to be elected before another whose log ends there.
    fn comes_before(&self, other: ProcessId, last: Place) -> bool {
        let ours = self.log.last();
        ours.is_as_up_to_date_as(last) && (ours != last || self.group.me() < other)
    }

    /// Votes once in a term, and for no log that lacks what ours has.
    pub(super) fn on_request_vote(
        &mut self,
        from: ProcessId,
        term: u64,
        last: Place,
        fx: &mut impl Effects<Self>,
    ) {
        if self.tell_if_removed(from, last, fx) {
            return;
        }
        self.notice(term, fx);
        let free = self.voted_for.is_none_or(|candidate| candidate == from);
        let granted = term == self.term && free && self.heeds_log(last);
        if granted {
            self.voted_for = Some(from);
            if matches!(self.role, Role::PreCandidate { .. }) {
                self.role = Role::Follower { leader: None };
            }
            fx.set_timer(Timer::Election, self.config.election);
        }
        fx.send(from, Message::Vote { term: self.term, granted });
    }

    /// Takes note of a later term than ours.
    pub(super) fn notice(&mut self, term: u64, fx: &mut impl Effects<Self>) {
        if term > self.term {
            self.step_down(fx);
            self.term = term;
            self.voted_for = None;
        }
    }

    /// The leader of our term is there. Whether that can be: nobody else leads when we do.
    pub(super) fn follow(&mut self, leader: ProcessId, fx: &mut impl Effects<Self>) -> bool {
        if matches!(self.role, Role::Leader(_)) {
            return false;
        }
        fx.set_timer(Timer::Election, self.patience());
        if self.leader() != Some(leader) {
            self.keep_ahead(fx);
            self.role = Role::Follower { leader: Some(leader) };
            fx.emit(Event::Following { term: self.term, leader: Some(leader) });
        }
        true
    }

    fn are_majority_with_me(&self, mut processes: ProcessSet) -> bool {
        processes.insert(self.group.me());
        self.are_majority(&processes)
    }
}
