//! Who keeps the log, and how that changes (chapter 4).
//!
//! A process goes by the last entry of its log that says who does, committed or not: a vote or a
//! copy is counted by it from the moment at which the entry is there, and the one before holds
//! again when it is cut.
//!
//! **Why no term has two leaders, and nothing is committed twice, while members change** (4.3).
//! From those of before to those of after leads a time in which both are needed: a majority of
//! each. Whoever goes by the old ones alone and whoever goes by both share an old one; whoever goes
//! by both and by the new ones alone share a new one. And nobody goes by the new ones alone before
//! the entry that needs both is committed, so that from then on no majority of the old ones elects
//! anybody who lacks it.
//!
//! Who is to vote catches up first (4.2.1): it is sent the log and does not count. Each round of
//! that ends when it has all that there was when the round began; after a round that was shorter
//! than an election timeout it lacks so little that it holds up nobody. A leader that is no member
//! any more leads until that is committed, does not count itself, and then has somebody else stand
//! (4.2.2). Whoever was left out and does not know asks before it stands, and nobody who hears a
//! leader says yes (4.2.3).

use alloc::boxed::Box;

use tenure_core::service::log::{Content, Entry, Event, Members, Reason};
use tenure_core::{Effects, ProcessId, ProcessSet};

use super::message::Message;
use super::replication::Progress;
use super::{Leadership, RaftLog, Role};

/// How many election timeouts who is to vote may take to catch up.
const PATIENCE: u32 = 10;

/// Who keeps the log, and which entry says so.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Roster {
    /// The index of the entry; 0 if it is none, but those who begin.
    pub(super) at: u64,
    pub(super) members: Members,
}

/// What our user asked for, until the entry that ends it is in the log.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Change {
    /// Under which our user waits for that; nobody does if the change is one that was wanted from
    /// the beginning.
    pub(super) ticket: Option<u64>,
    stage: Stage,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Stage {
    /// Those who are to vote get the log.
    CatchingUp {
        to: Members,
        /// The round ends when they have it up to here.
        goal: u64,
        /// Whether the election timeout has fired in this round.
        is_slow: bool,
        /// How often it may fire yet.
        patience: u32,
    },
    /// The entry that needs both majorities is in the log.
    Joint,
}

impl Change {
    /// Whether nothing of it is in the log.
    pub(super) fn is_without_trace(&self) -> bool {
        self.stage != Stage::Joint
    }
}

impl RaftLog {
    /// Who keeps the log, as far as it says.
    pub fn members(&self) -> &Members {
        &self.roster.members
    }

    /// Who begins.
    pub(super) fn first_members(&self) -> Members {
        let everybody = || Members::of(ProcessSet::first(self.group.size()));
        self.config.members.clone().unwrap_or_else(everybody)
    }

    /// Looks for the last entry that says who keeps the log.
    pub(super) fn find_members(&mut self) {
        self.roster = self.roster_at(self.log.last().index);
    }

    /// Who kept the log at an index.
    pub(super) fn roster_at(&self, index: u64) -> Roster {
        let says = |at: u64| match &self.log.entry(at)?.content {
            Content::Members(members) => Some(Roster { at, members: Members::clone(members) }),
            _ => None,
        };
        let found = (self.log.base().index + 1..=index).rev().find_map(says);
        let snapshot = || {
            let snapshot = self.snapshot.as_ref()?;
            Some(Roster { at: snapshot.last.index, members: snapshot.members.clone() })
        };
        let first = || Roster { at: 0, members: self.first_members() };
        found.or_else(snapshot).unwrap_or_else(first)
    }

    /// Who kept the log where a snapshot ends, without a walk where nothing changed since.
    pub(super) fn members_at(&self, index: u64) -> Members {
        if self.roster.at <= index {
            return self.roster.members.clone();
        }
        self.roster_at(index).members
    }

    /// To whom a leader sends its log, itself left out.
    pub(super) fn followers(&self) -> ProcessSet {
        let mut followers = self.roster.members.everybody();
        if let Role::Leader(Leadership { change: Some(change), .. }) = &self.role
            && let Stage::CatchingUp { to, .. } = &change.stage
        {
            followers.extend(&to.everybody());
        }
        followers.remove(self.group.me());
        followers
    }

    /// Whose votes a candidate asks for.
    pub(super) fn electors(&self) -> ProcessSet {
        let mut electors = self.roster.members.who_count();
        electors.remove(self.group.me());
        electors
    }

    /// Our user has the log kept by others.
    pub(super) fn change_members(&mut self, ticket: u64, to: Members, fx: &mut impl Effects<Self>) {
        if self.hands_over() {
            return self.decline(ticket, Reason::HandingOver, fx);
        }
        let Role::Leader(_) = &self.role else {
            return self.decline(ticket, Reason::NotLeading, fx);
        };
        if self.is_changing() {
            return self.decline(ticket, Reason::Changing, fx);
        }
        let known = to.everybody().iter().all(|member| self.group.contains(member));
        if to.voters.is_empty() || to.voters.intersects(&to.learners) || !known {
            return self.decline(ticket, Reason::NoGroup, fx);
        }
        self.begin_to_change(Some(ticket), to, fx);
    }

    /// Whether a change is under way, or wanted, or not known to be committed.
    fn is_changing(&self) -> bool {
        let Role::Leader(Leadership { change, .. }) = &self.role else { return false };
        change.is_some() || self.roster.at > self.commit || self.members().are_joint()
    }

    fn begin_to_change(&mut self, ticket: Option<u64>, to: Members, fx: &mut impl Effects<Self>) {
        let goal = self.log.last().index;
        self.forget_strangers(&to);
        let stage = Stage::CatchingUp { to, goal, is_slow: false, patience: PATIENCE };
        let Role::Leader(Leadership { change, .. }) = &mut self.role else { return };
        *change = Some(Box::new(Change { ticket, stage }));
        self.send_news_to_all(fx);
        self.go_on_changing(fx);
    }

    /// Begins the change when those who are to vote have caught up, and ends it when both
    /// majorities have it.
    pub(super) fn go_on_changing(&mut self, fx: &mut impl Effects<Self>) {
        self.change_as_wanted(fx);
        self.see_who_caught_up(fx);
        let is_known = self.roster.at <= self.commit;
        if !is_known || !matches!(self.role, Role::Leader(_)) {
            return;
        }
        if self.members().are_joint() {
            let outgoing = ProcessSet::new();
            self.store_members(Members { outgoing, ..self.members().clone() }, fx);
        } else if !self.members().voters.contains(self.group.me()) {
            self.leave_the_lead(fx);
        }
    }

    /// Whoever comes in is asked what it has, even if it was a member before: it may have lost that
    /// since, as nobody counted on it.
    fn forget_strangers(&mut self, to: &Members) {
        let last = self.log.last().index;
        let there = self.roster.members.everybody();
        let Role::Leader(Leadership { peers, .. }) = &mut self.role else { return };
        for stranger in to.everybody().iter().filter(|it| !there.contains(*it)) {
            let progress = &mut peers[stranger.index()];
            if progress.has(1) {
                *progress = Progress::behind(last);
            }
        }
    }

    /// Begins with the change that was wanted from the beginning, once we know what is committed.
    fn change_as_wanted(&mut self, fx: &mut impl Effects<Self>) {
        let wanted = self.config.wanted.as_ref().filter(|wanted| *wanted != self.members());
        let Some(wanted) = wanted.cloned() else { return };
        let leads = matches!(self.role, Role::Leader(_));
        let knows = self.log.place(self.commit).is_some_and(|place| place.term == self.term);
        if leads && knows && !self.is_changing() {
            self.begin_to_change(None, wanted, fx);
        }
    }

    fn see_who_caught_up(&mut self, fx: &mut impl Effects<Self>) {
        let last = self.log.last().index;
        let waits_for_log = self.waits_to_catch_up();
        let Role::Leader(Leadership { peers, change: Some(change), .. }) = &mut self.role else {
            return;
        };
        let Stage::CatchingUp { to, goal, is_slow, .. } = &mut change.stage else { return };
        let outgoing = self.roster.members.voters.clone();
        let mut newcomers = to.voters.iter().filter(|voter| !outgoing.contains(*voter));
        if waits_for_log {
            if !newcomers.all(|newcomer| peers[newcomer.index()].has(*goal)) {
                return;
            }
            if core::mem::take(is_slow) {
                *goal = last;
                return;
            }
        }
        let to = to.clone();
        change.stage = Stage::Joint;
        let to = self.begins_with(Members { outgoing, ..to });
        self.store_members(to, fx);
    }

    /// An election timeout has passed.
    pub(super) fn lose_patience(&mut self, fx: &mut impl Effects<Self>) {
        let Role::Leader(Leadership { change: going_on, .. }) = &mut self.role else { return };
        let Some(change) = going_on else { return };
        let Stage::CatchingUp { is_slow, patience, .. } = &mut change.stage else { return };
        *is_slow = true;
        *patience -= 1;
        if *patience == 0 {
            let ticket = change.ticket;
            *going_on = None;
            ticket.into_iter().for_each(|it| self.decline(it, Reason::NotCaughtUp, fx));
        }
    }

    /// Goes by these from now on.
    fn store_members(&mut self, members: Members, fx: &mut impl Effects<Self>) {
        let is_last = !members.are_joint();
        let content = Content::Members(Box::new(members));
        self.store(Entry { term: self.term, content }, fx);
        let index = self.log.last().index;
        if let Role::Leader(Leadership { change, changed, .. }) = &mut self.role
            && is_last
        {
            *changed = change.take().and_then(|change| Some((index, change.ticket?)));
        }
        self.commit_by_majority(fx);
        self.send_news_to_all(fx);
    }

    /// We are no member any more, and that is committed: somebody else stands.
    fn leave_the_lead(&mut self, fx: &mut impl Effects<Self>) {
        self.beat(fx);
        let last = self.log.last().index;
        if let Role::Leader(Leadership { peers, .. }) = &self.role {
            let mut voters = self.roster.members.voters.iter();
            let heir = voters.find(|voter| peers[voter.index()].has(last));
            let term = self.term;
            heir.into_iter().for_each(|heir| fx.send(heir, Message::TimeoutNow { term }));
        }
        self.step_down(fx);
    }

    /// Tells our user that the change is committed.
    pub(super) fn answer_change(&mut self, fx: &mut impl Effects<Self>) {
        let Role::Leader(Leadership { changed, .. }) = &mut self.role else { return };
        if let Some((index, ticket)) = changed.take_if(|(index, _)| *index <= self.commit) {
            fx.emit(Event::MembersChanged { ticket, index });
        }
    }

    /// Whether we vote and are counted, as far as our log says.
    pub(super) fn counts(&self) -> bool {
        self.roster.members.count(self.group.me())
    }

    /// The highest number that a majority has reached, of ours and one of each other process; while
    /// members change, a majority of both sides.
    pub(super) fn reached_by_majority(&self, own: u64, of: impl Fn(ProcessId) -> u64) -> u64 {
        let besides = self.counted_besides();
        let number = |process| if process == self.group.me() { own } else { of(process) };
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
