//! When an entry is committed (3.6.2), and how the others hear of it.
//!
//! **Why copies of an older term do not count.** A majority may have an entry of term 2 while a log
//! that ends with one of term 3 exists elsewhere, made by a leader that reached nobody: it would be
//! elected, and cut the entry (Figure 3.7). Once a majority has an entry of the leader's *own* term
//! behind it, such a log is no longer as up to date as theirs.
//!
//! The others hear what is committed with the next message that has entries or a heartbeat.
//! **Announced**, they hear it at once, by a message that says nothing else: nobody answers it, and
//! nothing rests on it, for the next one says the same.

use tenure_core::service::log::Event;
use tenure_core::{Delay, Effects, ProcessId};

use super::config::Switch;
use super::log::Place;
use super::message::Message;
use super::replication::Flow;
use super::{Leadership, RaftLog, Role, Timer};

impl RaftLog {
    /// Commits what a majority has.
    pub(super) fn commit_by_majority(&mut self, fx: &mut impl Effects<Self>) {
        let Role::Leader(Leadership { peers, .. }) = &self.role else { return };
        let matched = |peer: ProcessId| peers[peer.index()].matched;
        let own = self.counts_own();
        let index = self.reached_by_majority(own, matched).min(own);
        let before = self.commit;
        if self.commits_by_counting(index) {
            self.commit_to(index, fx);
            self.tell_removed(before, fx);
        }
        if self.commit > before && self.has(Switch::Announcing) {
            self.announce(fx);
        }
        let Role::Leader(Leadership { proposed, .. }) = &mut self.role else { return };
        while let Some((index, ticket)) = proposed.pop_front_if(|(index, _)| *index <= self.commit)
        {
            fx.emit(Event::Acknowledged { ticket, index });
        }
        self.answer_change(fx);
        self.go_on_changing(fx);
    }

    /// Has the others know what is committed without waiting for the next message that they have to
    /// answer; where it is sent together, in the step after, which may have such a message.
    fn announce(&mut self, fx: &mut impl Effects<Self>) {
        let followers = self.followers();
        if self.has(Switch::Together) && !followers.is_empty() {
            let Role::Leader(Leadership { untold, .. }) = &mut self.role else { return };
            *untold = true;
            return fx.set_timer(Timer::Send, Delay::NONE);
        }
        for follower in &followers {
            self.announce_to(follower, fx);
        }
    }

    /// Tells a process that was sent what is committed that it is.
    pub(super) fn announce_to(&self, to: ProcessId, fx: &mut impl Effects<Self>) {
        let Role::Leader(Leadership { peers, .. }) = &self.role else { return };
        let (progress, last) = (&peers[to.index()], self.log.place(self.commit));
        if let Some(last) = last.filter(|last| progress.next > last.index)
            && progress.flow == Flow::Streaming
        {
            fx.send(to, Message::Committed { term: self.term, last });
        }
    }

    /// The leader of our term says that all up to this entry is committed. Where our log has it,
    /// all before it is as in the leader's; where it has not, the leader will send it.
    pub(super) fn hear_of_commit(&mut self, last: Place, fx: &mut impl Effects<Self>) {
        if self.log.has(last) {
            self.commit_to(last.index, fx);
        }
    }

    /// Tells our user what is committed.
    pub(super) fn commit_to(&mut self, index: u64, fx: &mut impl Effects<Self>) {
        while self.commit < index
            && let Some(entry) = self.log.entry(self.commit + 1).cloned()
        {
            self.commit += 1;
            fx.emit(Event::Committed { index: self.commit, entry });
            self.want_snapshot(fx);
        }
    }
}
