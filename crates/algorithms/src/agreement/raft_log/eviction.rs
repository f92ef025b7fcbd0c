//! Processes that must take no further part: removed ones, and ones that lost acknowledged entries.
//!
//! **Removal.** A leader sends its log to the members of its newest configuration (4.1), so a
//! process that is removed does not receive the entry that removes it. It would wait for a leader
//! for ever, and keep its clients waiting. With `noticing`, the leader tells it when that entry is
//! committed; and a process that was down or cut off by then is told when it asks for a vote, or,
//! if it has none, when it asks whether it is a member. It is told only if its log is less up to
//! date than the entry that removes it: otherwise a later entry may have added it again.
//!
//! **Lost entries.** A process may lose entries that it has acknowledged: its disk did not keep a
//! flush, or its directory was replaced by an older copy. A leader of the same term would wait for
//! ever for what it takes to be there: it does not send those entries again, since a rejection
//! that arrives late looks the same, and it counts the answers for its quorum. With `noticing`,
//! the leader reports to each process, in each message, what that has acknowledged.
//! Such a report is caused by the acknowledgement, and within a term a process never drops an entry
//! that it has acknowledged to its leader. So a process whose log ends before has forgotten
//! entries, whatever was delayed, repeated or lost. It takes no further part: it may have forgotten
//! its vote, and its copies were counted. As it answers nothing more, no leader counts it.
//! Nothing is noticed if the leader has changed in the meantime, as a new leader begins without
//! knowledge of the others.

use tenure_core::service::log::Event;
use tenure_core::{Effects, ProcessId};

use super::config::Switch;
use super::log::Place;
use super::members::Roster;
use super::message::Message;
use super::replication::Progress;
use super::{RaftLog, Role, Timer};

impl RaftLog {
    /// Returns true if this process takes no further part.
    pub(super) fn is_out(&self) -> bool {
        matches!(self.role, Role::Out)
    }

    /// Returns the index up to which a leader reports that a process has acknowledged entries.
    pub(super) fn reported(&self, progress: &Progress) -> u64 {
        if self.has(Switch::Noticing) { progress.matched } else { 0 }
    }

    /// Leaves if the log ends before an index that this process has acknowledged in this term.
    /// Returns true if so.
    pub(super) fn leaves_for_lack_of(&mut self, known: u64, fx: &mut impl Effects<Self>) -> bool {
        let last = self.log.last().index;
        if known <= last {
            return false;
        }
        self.step_down(fx);
        fx.cancel_timer(Timer::Election);
        self.role = Role::Out;
        fx.emit(Event::Forgotten { last, acknowledged: known });
        true
    }

    /// Tells the processes that left by an entry which has been committed since `before`.
    pub(super) fn tell_removed(&self, before: u64, fx: &mut impl Effects<Self>) {
        let Roster { at, members } = &self.roster;
        let is_news = (before + 1..=self.commit).contains(at) && !members.are_joint();
        if !is_news || !self.has(Switch::Noticing) {
            return;
        }
        let stay = members.everybody();
        for process in &self.roster_at(at - 1).members.everybody() {
            if !stay.contains(process) && process != self.group.me() {
                fx.send(process, Message::Removed { at: *at });
            }
        }
    }

    /// Tells a process whose log ends at `last` if it is known to be no member. Returns true if so.
    pub(super) fn tell_if_removed(
        &self,
        from: ProcessId,
        last: Place,
        fx: &mut impl Effects<Self>,
    ) -> bool {
        let is_removed = self.settled_without(from).is_some_and(|it| !last.is_as_up_to_date_as(it));
        if is_removed {
            fx.send(from, Message::Removed { at: self.roster.at });
        }
        is_removed
    }

    /// Returns the place of the entry that says who the members are, if it is committed and
    /// `process` is none of them.
    fn settled_without(&self, process: ProcessId) -> Option<Place> {
        let Roster { at, members } = &self.roster;
        let is_settled = *at <= self.commit && !members.are_joint();
        if !self.has(Switch::Noticing) || !is_settled || members.everybody().contains(process) {
            return None;
        }
        // The entry may be part of the snapshot. No later entry changes the members, so a log that
        // ends before the snapshot lacks no addition of the process.
        Some(self.log.place(*at).unwrap_or(self.log.base()))
    }

    /// Asks the voters whether this process, which has no vote, is still a member. One that has
    /// never been a member does not ask.
    pub(super) fn ask_membership(&self, fx: &mut impl Effects<Self>) {
        let was_member = self.roster.at > 0 || self.members().everybody().contains(self.group.me());
        if self.has(Switch::Noticing) && was_member {
            fx.broadcast(&self.electors(), Message::AskMembership { last: self.log.last() });
        }
    }

    /// Answers that question. A process that has the entry which removes it, as its last leader,
    /// learns that it is committed.
    pub(super) fn on_ask_membership(
        &self,
        from: ProcessId,
        last: Place,
        fx: &mut impl Effects<Self>,
    ) {
        if self.tell_if_removed(from, last, fx) || !matches!(self.role, Role::Leader(_)) {
            return;
        }
        if let Some(last) = self.settled_without(from) {
            fx.send(from, Message::Committed { term: self.term, last });
        }
    }

    /// Another process reports that this one was removed. A later entry may say otherwise.
    pub(super) fn on_removed(&self, at: u64, fx: &mut impl Effects<Self>) {
        if at > self.roster.at && self.members().everybody().contains(self.group.me()) {
            fx.emit(Event::Removed { at });
        }
    }
}
