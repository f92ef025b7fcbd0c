//! Membership changes (chapter 4).
//!
//! Each process uses the latest membership entry in its log, committed or not. The process counts
//! votes and copies by this membership as soon as the entry is in its log. If the entry is
//! truncated, the previous membership applies again.
//!
//! **Why a change preserves one leader per term and committed entries** (4.3). Between the old and
//! the new membership lies a joint phase. In this phase, a decision needs a majority of the old
//! voters and a majority of the new voters. So a decision of the old membership and a decision of
//! the joint phase share an old voter. A decision of the joint phase and a decision of the new
//! membership share a new voter. The new membership takes effect only after the joint entry is
//! committed. From then on no majority of the old membership elects a process that lacks this
//! entry.
//!
//! New voters catch up first (4.2.1): they receive the log, but do not count towards a majority.
//! They catch up in rounds. A round ends when the new voters have every entry that existed when the
//! round began. After a round that takes less than an election timeout, the new voters lack only a
//! few entries. Then the joint phase begins. A leader that is no longer a member leads until the
//! change is committed, and does not count itself. Then it asks another voter to start an election
//! (4.2.2). A removed process may not know of its removal and may request pre-votes. Processes that
//! receive messages from a leader deny these requests (4.2.3).

use alloc::boxed::Box;

use tenure_core::service::log::{Content, DeclineReason, Entry, Event, Members};
use tenure_core::{Effects, ProcessId, ProcessSet};

use super::message::Message;
use super::replication::FollowerProgress;
use super::{Leadership, RaftReplica, Role};

/// If a new voter has not caught up after this number of election timeouts, the membership change
/// is abandoned.
const MAX_CHANGE_TIMEOUTS: u32 = 10;

/// A membership and the entry that established it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct MembershipEntry {
    /// Index of the membership entry; 0 for the initial membership.
    pub(super) at: u64,
    pub(super) members: Members,
}

/// Membership change that was requested. It is pending until its final entry is in the log.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct PendingMembershipChange {
    /// Ticket of the user's request; `None` for a change required by the configuration.
    pub(super) ticket: Option<u64>,
    stage: Stage,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Stage {
    /// The new voters receive the log, but do not count towards a majority yet.
    CatchingUp {
        to: Members,
        /// Index of the last log entry at the start of this catch-up round. The round ends when all
        /// new voters have this entry.
        round_end: u64,
        /// True if an election timeout has passed during this catch-up round.
        is_slow: bool,
        /// Number of election timeouts that remain before the change is abandoned.
        timeouts_left: u32,
    },
    /// The joint entry is in the log. Each decision needs a majority of the old voters and a
    /// majority of the new voters.
    Joint,
}

impl PendingMembershipChange {
    /// Returns true if the joint entry of this change is not in the log yet.
    pub(super) fn is_joint_entry_pending(&self) -> bool {
        self.stage != Stage::Joint
    }
}

impl RaftReplica {
    /// Returns the latest membership in the log.
    pub fn members(&self) -> &Members {
        &self.membership.members
    }

    /// Returns the initial membership. It applies while the log has no membership entry.
    pub(super) fn initial_members(&self) -> Members {
        let all = || Members::from_voters(ProcessSet::first_n(self.group.size()));
        self.config.initial_members.clone().unwrap_or_else(all)
    }

    /// Sets the membership to that of the latest membership entry in the log. If there is none,
    /// uses the membership of the snapshot or, without a snapshot, the initial membership. Called
    /// at boot, and after the log was truncated or replaced by a snapshot.
    pub(super) fn reload_membership_from_log(&mut self) {
        self.membership = self.membership_entry_at(self.log.last().index);
    }

    pub(super) fn membership_entry_at(&self, index: u64) -> MembershipEntry {
        let membership_in = |at: u64| match &self.log.entry(at)?.content {
            Content::Members(members) => {
                Some(MembershipEntry { at, members: Members::clone(members) })
            }
            _ => None,
        };
        let found = (self.log.first_index()..=index).rev().find_map(membership_in);
        let snapshot = || {
            let snapshot = self.snapshot.as_ref()?;
            Some(MembershipEntry { at: snapshot.last.index, members: snapshot.members.clone() })
        };
        let first = || MembershipEntry { at: 0, members: self.initial_members() };
        found.or_else(snapshot).unwrap_or_else(first)
    }

    /// Returns the membership in effect at `index`, for a snapshot. Searches the log only if the
    /// membership has changed after `index`.
    pub(super) fn members_at(&self, index: u64) -> Members {
        if self.membership.at <= index {
            return self.membership.members.clone();
        }
        self.membership_entry_at(index).members
    }

    /// Returns the processes to which the leader replicates its log, except the leader itself.
    pub(super) fn replication_targets(&self) -> ProcessSet {
        let mut followers = self.membership.members.all();
        if let Role::Leader(Leadership { change: Some(change), .. }) = &self.role
            && let Stage::CatchingUp { to, .. } = &change.stage
        {
            followers.extend(&to.all());
        }
        followers.remove(self.group.me());
        followers
    }

    pub(super) fn other_voters(&self) -> ProcessSet {
        let mut other_voters = self.membership.members.all_voters();
        other_voters.remove(self.group.me());
        other_voters
    }

    pub(super) fn change_members(&mut self, ticket: u64, to: Members, fx: &mut impl Effects<Self>) {
        if self.is_handing_over() {
            return self.decline(ticket, DeclineReason::HandingOver, fx);
        }
        let Role::Leader(_) = &self.role else {
            return self.decline(ticket, DeclineReason::NotLeading, fx);
        };
        if self.is_changing() {
            return self.decline(ticket, DeclineReason::Changing, fx);
        }
        let is_known = to.all().iter().all(|member| self.group.contains(member));
        if to.voters.is_empty() || to.voters.intersects(&to.learners) || !is_known {
            return self.decline(ticket, DeclineReason::NoGroup, fx);
        }
        self.start_change(Some(ticket), to, fx);
    }

    /// Returns true if this leader has a membership change that is not complete. A change is
    /// complete when its final entry is known to be committed. Returns false if this process does
    /// not lead.
    fn is_changing(&self) -> bool {
        let Role::Leader(Leadership { change, .. }) = &self.role else { return false };
        change.is_some() || self.membership.at > self.commit || self.members().is_joint()
    }

    fn start_change(&mut self, ticket: Option<u64>, to: Members, fx: &mut impl Effects<Self>) {
        let round_end = self.log.last().index;
        self.reset_new_followers(&to);
        let stage =
            Stage::CatchingUp { to, round_end, is_slow: false, timeouts_left: MAX_CHANGE_TIMEOUTS };
        let Role::Leader(Leadership { change, .. }) = &mut self.role else { return };
        *change = Some(Box::new(PendingMembershipChange { ticket, stage }));
        self.broadcast_append(fx);
        self.advance_membership_change(fx);
    }

    /// Continues a membership change. Starts the change that the configuration requires. Starts the
    /// joint phase when the new voters have caught up, and ends it when the joint entry is
    /// committed. If the committed membership excludes this leader as a voter, the leader resigns.
    pub(super) fn advance_membership_change(&mut self, fx: &mut impl Effects<Self>) {
        self.maybe_start_target_change(fx);
        self.check_caught_up(fx);
        let is_known = self.membership.at <= self.commit;
        if !is_known || !matches!(self.role, Role::Leader(_)) {
            return;
        }
        if self.members().is_joint() {
            let outgoing = ProcessSet::new();
            self.append_members(Members { outgoing, ..self.members().clone() }, fx);
        } else if !self.members().voters.contains(self.group.me()) {
            self.resign_after_removal(fx);
        }
    }

    /// Resets the replication progress of the processes that join. A process that rejoins may have
    /// lost its log in the meantime. So its earlier progress no longer counts.
    fn reset_new_followers(&mut self, to: &Members) {
        let last = self.log.last().index;
        let present = self.membership.members.all();
        let Role::Leader(Leadership { peers, .. }) = &mut self.role else { return };
        for added in to.all().iter().filter(|it| !present.contains(*it)) {
            let progress = &mut peers[added.index()];
            if progress.has_match_up_to(1) {
                *progress = FollowerProgress::new(last);
            }
        }
    }

    /// Starts the change to the members that the configuration requires, if the current members
    /// differ. Does nothing unless this process leads and knows which entries are committed.
    fn maybe_start_target_change(&mut self, fx: &mut impl Effects<Self>) {
        let wanted = self.config.target_members.as_ref().filter(|wanted| *wanted != self.members());
        let Some(wanted) = wanted.cloned() else { return };
        let is_leader = matches!(self.role, Role::Leader(_));
        let knows = self.log.entry_id(self.commit).is_some_and(|place| place.term == self.term);
        if is_leader && knows && !self.is_changing() {
            self.start_change(None, wanted, fx);
        }
    }

    fn check_caught_up(&mut self, fx: &mut impl Effects<Self>) {
        let last = self.log.last().index;
        let waits_for_log = self.requires_catch_up();
        let Role::Leader(Leadership { peers, change: Some(change), .. }) = &mut self.role else {
            return;
        };
        let Stage::CatchingUp { to, round_end, is_slow, .. } = &mut change.stage else { return };
        let outgoing = self.membership.members.voters.clone();
        let mut newcomers = to.voters.iter().filter(|voter| !outgoing.contains(*voter));
        if waits_for_log {
            if !newcomers.all(|newcomer| peers[newcomer.index()].has_match_up_to(*round_end)) {
                return;
            }
            if core::mem::take(is_slow) {
                *round_end = last;
                return;
            }
        }
        let to = to.clone();
        change.stage = Stage::Joint;
        let to = self.members_of_first_entry(Members { outgoing, ..to });
        self.append_members(to, fx);
    }

    /// Counts an election timeout during the catch-up phase of a membership change. After
    /// [`MAX_CHANGE_TIMEOUTS`] timeouts, abandons the change.
    pub(super) fn count_catch_up_timeout(&mut self, fx: &mut impl Effects<Self>) {
        let Role::Leader(Leadership { change: in_progress, .. }) = &mut self.role else { return };
        let Some(change) = in_progress else { return };
        let Stage::CatchingUp { is_slow, timeouts_left, .. } = &mut change.stage else { return };
        *is_slow = true;
        *timeouts_left -= 1;
        if *timeouts_left == 0 {
            let ticket = change.ticket;
            *in_progress = None;
            ticket.into_iter().for_each(|it| self.decline(it, DeclineReason::NotCaughtUp, fx));
        }
    }

    /// Appends a membership entry and sends it to the followers. The membership applies
    /// immediately. If it is not joint, the entry is the final entry of the change.
    fn append_members(&mut self, members: Members, fx: &mut impl Effects<Self>) {
        let is_last = !members.is_joint();
        let content = Content::Members(Box::new(members));
        self.append_entry(Entry { term: self.term, content }, fx);
        let index = self.log.last().index;
        if let Role::Leader(Leadership { change, final_change, .. }) = &mut self.role
            && is_last
        {
            *final_change = change.take().and_then(|change| Some((index, change.ticket?)));
        }
        self.maybe_commit(fx);
        self.broadcast_append(fx);
    }

    /// Stops leading, because the removal of this process is committed. First asks a voter that has
    /// the whole log to start an election.
    fn resign_after_removal(&mut self, fx: &mut impl Effects<Self>) {
        self.broadcast_heartbeat(fx);
        let last = self.log.last().index;
        if let Role::Leader(Leadership { peers, .. }) = &self.role {
            let mut voters = self.membership.members.voters.iter();
            let heir = voters.find(|voter| peers[voter.index()].has_match_up_to(last));
            let term = self.term;
            heir.into_iter().for_each(|heir| fx.send(heir, Message::TimeoutNow { term }));
        }
        self.become_follower(fx);
    }

    pub(super) fn report_completed_change(&mut self, fx: &mut impl Effects<Self>) {
        let Role::Leader(Leadership { final_change, .. }) = &mut self.role else { return };
        if let Some((index, ticket)) = final_change.take_if(|(index, _)| *index <= self.commit) {
            fx.emit(Event::MembersChanged { ticket, index });
        }
    }

    /// Returns true if this process has a vote in the latest membership of its log.
    pub(crate) fn is_voter(&self) -> bool {
        self.membership.members.is_voter(self.group.me())
    }

    /// Returns the highest number that a majority of the voters has reached, such as the highest
    /// log index that a majority stores. During a membership change, both a majority of the old
    /// voters and a majority of the new voters must have reached it. `own` is the number of this
    /// process, and `number_of` returns the number of another process.
    pub(super) fn highest_reached_by_quorum(
        &self,
        own: u64,
        number_of: impl Fn(ProcessId) -> u64,
    ) -> u64 {
        let besides = self.learners_counted_in_quorum();
        let number = |process| if process == self.group.me() { own } else { number_of(process) };
        let reached = |side: &ProcessSet| {
            let numbers = || side.iter().chain(&besides).map(number);
            let is_reached = |least: &u64| {
                let there = numbers().filter(|number| number >= least).count() as u64;
                there * 2 > u64::from(side.len())
            };
            numbers().filter(is_reached).max().unwrap_or(0)
        };
        let Members { voters, outgoing, .. } = self.members();
        let both = [voters, outgoing].into_iter().filter(|side| !side.is_empty());
        both.map(reached).min().unwrap_or(0)
    }
}
