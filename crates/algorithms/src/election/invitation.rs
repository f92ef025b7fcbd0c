//! The invitation election: each group has a coordinator, and groups that can communicate invite
//! each other and merge.
//!
//! H. Garcia-Molina, *Elections in a distributed computing system*, IEEE Transactions on Computers
//! C-31(1), 1982: the algorithm for asynchronous systems. The paper's algorithm for synchronous
//! systems is the bully election.
//!
//! | | |
//! |---|---|
//! | assumes | nothing for one leader per group; bounded delays, from some moment on, to merge |
//! | messages | 5(N − 1) if one process starts and no other interferes; no bound in general |
//! | | 3(N − 1) for another election in the same group |
//! | time | a question and its answer, the wait by rank, the wait for acceptances, one message |
//!
//! **Why it is right.** The name of a group consists of a number and the id of its coordinator. A
//! coordinator never uses a number twice. A process belongs to one group at a time, and reports its
//! leader only after the leader has declared the group ready. So all processes of one group follow
//! one leader, whatever the delays and faults. Several groups may exist at the same time. In a
//! partition this cannot be avoided.
//!
//! **Why groups merge.** A coordinator periodically asks the processes outside of its group whether
//! they are coordinators (`Check`). Only coordinators answer. The asking coordinator waits; a
//! higher rank means a shorter wait. Then it forms a new group, and invites the coordinators that
//! answered and its own members (`Merge`). An invited coordinator forwards the invitation to its
//! members. Each process that accepts in time becomes a member. A process forms a group of its own
//! if it suspects its coordinator, or if the group that it joined does not become ready
//! (`Recovery`). The next check of another coordinator finds this process.
//!
//! The leader need not be the process with the highest rank. A high rank only means that the
//! process is the first to send invitations, if several coordinators check at the same time.
//!
//! **Beyond the paper.** A new group has a higher number than all groups that its members leave. So
//! a late invitation is recognised, and no process returns to an older group. A failure detector
//! replaces the timeouts of `AreYouThere`. A member sends `AreYouThere` to its leader when another
//! coordinator asks the member, not periodically. Coordinators do not ask suspected processes. So
//! no messages are sent while one group contains all trusted processes. A process that has no group
//! yet forms its own group when it is first asked. If an acceptance arrives after the group has
//! become ready, its sender still joins the group.

mod card;
mod config;
mod message;
mod phase;

use tenure_core::service::election::{Command, Event};
use tenure_core::{
    Effects, Group, PeerVerdict, ProcessId, ProcessSet, Protocol, Term, TimerRole, UncomparedConfig,
};

pub use config::{Config, VariantId};
pub use message::Message;
use phase::Phase;

/// State of one process of the election.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct InvitationElection {
    /// All processes of all groups.
    everyone: Group,
    config: UncomparedConfig<Config>,
    phase: Phase,
    /// Group of this process, or the group that it forms or joins (`g` in the paper).
    group: Term,
    /// Highest known number of a group.
    number: u64,
    /// Group whose leader this process has reported to the user. `None` while it follows none.
    leader: Option<Term>,
    suspected: ProcessSet,
}

/// Timers of this algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Timer {
    /// The coordinator looks for other groups.
    Check,
    /// The coordinator has waited for as long as its rank requires. It invites the groups that it
    /// has found.
    Merge,
    /// The time for acceptances has ended. The process that sent the invitations declares its group
    /// ready.
    Accept,
    /// The joined group is not ready in time. This process forms a group of its own.
    Ready,
}

/// State that survives a crash.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Stable {
    #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::term_number"))]
    number: u64,
}

impl Protocol for InvitationElection {
    type Config = Config;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Timer;
    /// The highest known number of a group. It is saved so that this process never gives a new
    /// group the number of an earlier group, even across a crash.
    type Stable = Stable;

    fn boot(
        everyone: Group,
        config: &Config,
        stable: Option<Stable>,
        fx: &mut impl Effects<Self>,
    ) -> Self {
        assert!(config.ranks.len() == everyone.size() as usize, "every process needs a rank");
        let is_restart = stable.is_some();
        let number = stable.map_or(0, |stable| stable.number);
        let mut invitation = InvitationElection {
            everyone,
            config: UncomparedConfig::new(config.clone()),
            phase: Phase::Idle,
            group: Term { number, leader: everyone.me() },
            number,
            leader: None,
            suspected: ProcessSet::new(),
        };
        if is_restart {
            invitation.recover(fx);
        }
        invitation
    }

    fn stable(&self) -> Stable {
        Stable { number: if self.has(VariantId::ForgottenNumber) { 0 } else { self.number } }
    }

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        match (command, &self.phase) {
            (Command::Elect, Phase::Idle | Phase::Member) => {
                self.recover(fx);
                self.check(fx);
            }
            (Command::Elect, Phase::Coordinator { .. }) => self.merge(fx),
            // Ignores a request while this process forms or joins a group. Also ignores every
            // resignation, because the paper has none.
            (Command::Elect, Phase::Inviting { .. } | Phase::Invited) | (Command::Resign, _) => {}
        }
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::AreYouCoordinator { number } => self.on_question(from, number, fx),
            Message::Coordinator { number } => self.on_coordinator(from, number, fx),
            Message::Invitation { group } => self.on_invitation(group, fx),
            Message::Accept { group } if group == self.group => self.on_acceptance(from, fx),
            Message::Ready { group } if group == self.group && self.phase == Phase::Invited => {
                fx.cancel_timer(Timer::Ready);
                self.phase = Phase::Member;
                self.follow(fx);
            }
            Message::AreYouThere { group } => self.on_are_you_there(from, group, fx),
            Message::NotThere { group } if group == self.group && self.phase == Phase::Member => {
                self.recover(fx);
            }
            // Ignores late messages of other groups.
            Message::Accept { .. } | Message::Ready { .. } | Message::NotThere { .. } => {}
        }
    }

    fn on_timer(&mut self, timer: Timer, fx: &mut impl Effects<Self>) {
        match (timer, &mut self.phase) {
            (Timer::Check, Phase::Coordinator { .. }) => self.check(fx),
            (Timer::Merge, Phase::Coordinator { found, .. }) => {
                // All coordinators that were found may since have been suspected and removed.
                if !found.is_empty() {
                    self.merge(fx);
                }
            }
            (Timer::Accept, Phase::Inviting { accepted }) => {
                let members = core::mem::take(accepted);
                self.lead(members, fx);
            }
            (Timer::Ready, Phase::Invited) => self.recover(fx),
            (timer, phase) => unreachable!("{timer:?} is not armed in {phase:?}"),
        }
    }

    fn timer_role(timer: &Timer) -> TimerRole {
        match timer {
            Timer::Accept | Timer::Ready => TimerRole::MeasuresSilence,
            Timer::Check | Timer::Merge => TimerRole::Plain,
        }
    }

    fn on_suspicion(&mut self, peer: ProcessId, verdict: PeerVerdict, fx: &mut impl Effects<Self>) {
        match verdict {
            PeerVerdict::Suspect => {
                self.suspected.insert(peer);
                match &mut self.phase {
                    Phase::Coordinator { members, found } => {
                        members.remove(peer);
                        found.remove(peer);
                    }
                    Phase::Inviting { accepted } => {
                        accepted.remove(peer);
                    }
                    Phase::Member | Phase::Invited if self.group.leader == peer => {
                        self.recover(fx);
                    }
                    Phase::Member | Phase::Invited | Phase::Idle => {}
                }
            }
            PeerVerdict::Trust => {
                self.suspected.remove(peer);
                self.schedule_check(fx);
            }
        }
        self.stop_if_complete(fx);
    }
}

impl InvitationElection {
    /// Leaves the current group, and leads a new group without other members (procedure `Recovery`
    /// in the paper).
    fn recover(&mut self, fx: &mut impl Effects<Self>) {
        fx.cancel_timer(Timer::Ready);
        self.begin_group(fx);
        self.lead(ProcessSet::new(), fx);
    }

    /// Asks all trusted processes outside of the group of this coordinator whether they coordinate
    /// a group (procedure `Check` in the paper). Sets the timer of the next check.
    fn check(&mut self, fx: &mut impl Effects<Self>) {
        let asked = self.outside();
        fx.broadcast(&asked, Message::AreYouCoordinator { number: self.group.number });
        self.schedule_check(fx);
    }

    fn on_question(&mut self, from: ProcessId, number: u64, fx: &mut impl Effects<Self>) {
        let group = self.group;
        match self.phase {
            Phase::Member if group.leader != from => {
                if !self.has(VariantId::StaysBehind) {
                    fx.send(group.leader, Message::AreYouThere { group });
                }
                return;
            }
            // The sender leads the group of this process, but no longer knows this process as a
            // member.
            Phase::Member if number == group.number => {
                return fx.send(from, Message::Accept { group });
            }
            // The leader has formed a later group.
            Phase::Member if number > group.number && !self.has(VariantId::StaysBehind) => {
                self.recover(fx);
            }
            Phase::Idle => self.recover(fx),
            Phase::Coordinator { .. } => {}
            Phase::Member | Phase::Inviting { .. } | Phase::Invited => return,
        }
        fx.send(from, Message::Coordinator { number: self.number });
    }

    /// Handles the answer of `from` to a check, timely or late: `from` coordinates another group.
    /// This coordinator will invite that group.
    fn on_coordinator(&mut self, from: ProcessId, number: u64, fx: &mut impl Effects<Self>) {
        self.number = self.number.max(number);
        let invites = !self.has(VariantId::NoMerge);
        let Phase::Coordinator { members, found } = &mut self.phase else { return };
        if invites && !members.contains(from) && !self.suspected.contains(from) {
            if found.is_empty() {
                fx.set_timer(Timer::Merge, self.config.merge_delay(self.everyone.me()));
            }
            found.insert(from);
        }
    }

    /// Begins a new group (procedure `Merge` in the paper). Invites the found coordinators and the
    /// members of the old group. If there are none, leads the new group at once.
    fn merge(&mut self, fx: &mut impl Effects<Self>) {
        let Phase::Coordinator { members, found } = &self.phase else { return };
        let invited: ProcessSet = members.iter().chain(found.iter()).collect();
        self.begin_group(fx);
        if invited.is_empty() {
            return self.lead(invited, fx);
        }
        fx.broadcast(&invited, Message::Invitation { group: self.group });
        self.phase = Phase::Inviting { accepted: ProcessSet::new() };
        fx.set_timer(Timer::Accept, self.config.accept_timeout);
    }

    /// Accepts an invitation to a `group` with a higher number, and forwards it to the members of
    /// the current group. Does nothing while this process forms or joins a group.
    fn on_invitation(&mut self, group: Term, fx: &mut impl Effects<Self>) {
        let is_later = group.number > self.group.number || self.has(VariantId::AnyInvitation);
        let is_own = group.leader == self.everyone.me() || group == self.group;
        let is_between = matches!(self.phase, Phase::Inviting { .. } | Phase::Invited);
        if is_between || is_own || !is_later {
            return;
        }
        if let Phase::Coordinator { members, .. } = &self.phase {
            fx.broadcast(members, Message::Invitation { group });
        }
        self.leave(fx);
        self.group = group;
        self.number = self.number.max(group.number);
        self.phase = Phase::Invited;
        fx.send(group.leader, Message::Accept { group });
        fx.set_timer(Timer::Ready, self.config.ready_timeout);
        if self.has(VariantId::FollowsEarly) {
            self.follow(fx);
        }
    }

    /// Handles an acceptance for the current group. If the group is already ready, adds `from` to
    /// the members and sends a `Ready` to `from`.
    fn on_acceptance(&mut self, from: ProcessId, fx: &mut impl Effects<Self>) {
        match &mut self.phase {
            Phase::Inviting { accepted } => {
                accepted.insert(from);
            }
            Phase::Coordinator { members, found } => {
                members.insert(from);
                found.remove(from);
                fx.send(from, Message::Ready { group: self.group });
                self.stop_if_complete(fx);
            }
            Phase::Idle | Phase::Member | Phase::Invited => {}
        }
    }

    /// Handles the question of `from` whether this process still leads `group`. If this process
    /// does, adds `from` to the members. Otherwise answers with `NotThere`.
    fn on_are_you_there(&mut self, from: ProcessId, group: Term, fx: &mut impl Effects<Self>) {
        match &mut self.phase {
            Phase::Coordinator { members, .. } if group == self.group => {
                members.insert(from);
                self.stop_if_complete(fx);
            }
            _ => fx.send(from, Message::NotThere { group }),
        }
    }

    /// Leaves the current group, and begins a new group with this process as the coordinator. The
    /// number of the new group is higher than all numbers that this process knows.
    fn begin_group(&mut self, fx: &mut impl Effects<Self>) {
        self.leave(fx);
        self.number += 1;
        self.group = Term { number: self.number, leader: self.everyone.me() };
    }

    /// Declares the group ready: informs `members`, and becomes their leader.
    fn lead(&mut self, members: ProcessSet, fx: &mut impl Effects<Self>) {
        fx.broadcast(&members, Message::Ready { group: self.group });
        self.phase = Phase::Coordinator { members, found: ProcessSet::new() };
        self.follow(fx);
        self.schedule_check(fx);
    }

    fn follow(&mut self, fx: &mut impl Effects<Self>) {
        if self.leader != Some(self.group) {
            self.leader = Some(self.group);
            fx.emit(Event::Elected { leader: self.group.leader, term: self.group });
        }
    }

    fn leave(&mut self, fx: &mut impl Effects<Self>) {
        fx.cancel_timer(Timer::Check);
        fx.cancel_timer(Timer::Merge);
        if let Some(term) = self.leader.take() {
            fx.emit(Event::Deposed { term });
        }
    }

    /// Sets the timer for the next check, if this process coordinates a group that lacks a trusted
    /// process.
    fn schedule_check(&self, fx: &mut impl Effects<Self>) {
        if !self.outside().is_empty() {
            fx.set_timer(Timer::Check, self.config.check_interval);
        }
    }

    /// Cancels the timer of the next check if the group of this coordinator contains all trusted
    /// processes. Otherwise does not restart the timer, because messages from members could then
    /// postpone the check forever.
    fn stop_if_complete(&self, fx: &mut impl Effects<Self>) {
        if matches!(self.phase, Phase::Coordinator { .. }) && self.outside().is_empty() {
            fx.cancel_timer(Timer::Check);
        }
    }

    /// Returns the trusted peers outside of the group of this coordinator; none at other processes.
    fn outside(&self) -> ProcessSet {
        let is_outside = |peer: &ProcessId| match &self.phase {
            Phase::Coordinator { members, .. } => {
                !members.contains(*peer) && !self.suspected.contains(*peer)
            }
            _ => false,
        };
        self.everyone.peers().iter().filter(is_outside).collect()
    }

    fn has(&self, switch: VariantId) -> bool {
        self.config.variants.has(switch)
    }
}
