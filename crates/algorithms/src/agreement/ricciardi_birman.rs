//! Ricciardi and Birman's membership: the senior member proposes who belongs to the next view, and
//! a majority of this one decides.
//!
//! A. Ricciardi, K. Birman, *Using process groups to implement failure detection in asynchronous
//! environments*, PODC 1991; ballots and what a new proposer has to adopt as in L. Lamport, *The
//! part-time parliament*, ACM Transactions on Computer Systems 16(2), 1998.
//!
//! | | |
//! |---|---|
//! | assumes | asynchronous, links in order; of each view a majority; a fallible detector |
//! | messages per change | 3(N − 1): propose, accept, install |
//! | messages per change when the senior is suspected | 5(N − 1): interrogate and promise before |
//! | delay | 3 messages, or 5 |
//!
//! **Why it is right.** A view is installed when a majority of the view before has accepted it. Any
//! two majorities share a member, so a second proposal for the same number would need somebody who
//! accepted the first. The senior's own goes under ballot 0, before which there is nothing, so it
//! asks nobody. Whoever takes over has a ballot of its own, and first interrogates a majority: they
//! promise to accept nothing of a smaller ballot, and say what they have accepted. If that was
//! anything, the one of the largest ballot may have been decided, and is what the new one proposes.
//! So all that are installed under one number are one view, and the views are one sequence. A part
//! of the group that has no majority of the last view decides nothing: it waits. Suspicions may be
//! wrong: whoever is taken for dead is removed, and taken in again when it is trusted.
//!
//! Views carry their numbers in every message: whoever hears of a newer one installs it, and who
//! hears of an older one answers with its own. When somebody is suspected, everybody tells which
//! view it has, for the one who decided may have told few of them before it died.
//!
//! The paper has members ordered by how long they belong; here it is by their ids. Its removals are
//! one by one, with the next one compressed into the end of the last; here a change takes in all
//! that is known when it is proposed. And it leaves recovered processes to join as new ones; here
//! whoever has crashed stays out.

mod message;

use tenure_core::service::membership::{Command, Event, View};
use tenure_core::{
    Algorithm, Card, Cost, Crashes, Detection, Effects, Faults, Group, Never, Order, ProcessId,
    ProcessSet, Property, Protocol, Service, Verdict,
};

pub use self::message::{Message, Proposal};
use crate::variants::{Variants, switches};

/// One process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RicciardiBirman {
    group: Group,
    variants: Variants<Switch>,
    /// The newest view that we know of.
    view: View,
    /// In it, the smallest ballot of which we may still accept something.
    promised: u64,
    /// What we accepted last for the next one.
    accepted: Option<Proposal>,
    phase: Phase,
    suspected: ProcessSet,
    /// Who does not want to belong.
    leaving: ProcessSet,
}

/// What this process does about the next view.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Following,
    /// We ask what was accepted. These have promised, and of what they accepted this is the last.
    Interrogating {
        by: ProcessSet,
        last: Option<Proposal>,
    },
    /// These have accepted what we propose.
    Proposing {
        by: ProcessSet,
        proposal: Proposal,
    },
}

switches! {
    Minority = "minority", unsound,
        "all who are not suspected are enough to decide, however few they are"
        => "", "-n 2 --false-suspicion 2";
    TwoPhases = "two-phases", unsound,
        "whoever takes over proposes at once, without asking what was accepted before"
        => "", "-n 3 --crash 1";
}

impl Protocol for RicciardiBirman {
    type Config = Variants<Switch>;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Never;
    type Stable = ();

    fn boot(
        group: Group,
        variants: &Variants<Switch>,
        _: Option<()>,
        _: &mut impl Effects<Self>,
    ) -> Self {
        RicciardiBirman {
            group,
            variants: *variants,
            view: View { number: 1, members: ProcessSet::first(group.size()) },
            promised: 0,
            accepted: None,
            phase: Phase::Following,
            suspected: ProcessSet::new(),
            leaving: ProcessSet::new(),
        }
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        let belongs = command == Command::Join;
        fx.broadcast(&self.group.peers(), Message::Wish { belongs });
        self.wish(self.group.me(), belongs, fx);
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        if let Message::Wish { belongs } = message {
            return self.wish(from, belongs, fx);
        }
        let number = message.view().map_or(0, |view| view.number);
        if number < self.view.number {
            // Who answers us hears of the newer view from the one who decided it.
            if !message.is_answer() {
                fx.send(from, Message::Install { view: self.view.clone() });
            }
            return;
        }
        if number > self.view.number
            && let Some(view) = message.view()
        {
            self.install(from, view.clone(), fx);
        }
        if self.is_inside() && self.view.members.contains(from) {
            self.vote(from, message, fx);
        }
    }

    fn on_suspicion(&mut self, peer: ProcessId, verdict: Verdict, fx: &mut impl Effects<Self>) {
        match verdict {
            Verdict::Suspect => {
                self.suspected.insert(peer);
                self.tell(&self.group.peers(), fx);
            }
            Verdict::Trust => {
                self.suspected.remove(peer);
                fx.send(peer, Message::Install { view: self.view.clone() });
            }
        }
        if self.variants.has(Switch::Minority) {
            self.propose_if_enough(fx);
            self.decide_if_enough(fx);
        }
        self.act(fx);
    }
}

/// Every member.
impl RicciardiBirman {
    /// The newest view that this process knows of.
    pub const fn view(&self) -> &View {
        &self.view
    }

    fn is_inside(&self) -> bool {
        self.view.members.contains(self.group.me())
    }

    fn wish(&mut self, of: ProcessId, belongs: bool, fx: &mut impl Effects<Self>) {
        if belongs {
            self.leaving.remove(of);
        } else {
            self.leaving.insert(of);
        }
        self.act(fx);
    }

    /// What is said of the view that we both have.
    fn vote(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        let view = self.view.clone();
        match message {
            Message::Interrogate { ballot, .. }
            | Message::Propose { proposal: Proposal { ballot, .. }, .. }
                if ballot < self.promised =>
            {
                fx.send(from, Message::Refuse { view, ballot: self.promised });
            }
            Message::Interrogate { ballot, .. } => {
                self.promise(ballot);
                let accepted = self.accepted.clone();
                fx.send(from, Message::Promise { view, ballot, accepted });
            }
            Message::Propose { proposal, .. } => {
                let ballot = proposal.ballot;
                self.promise(ballot);
                self.accepted = Some(proposal);
                fx.send(from, Message::Accept { view, ballot });
            }
            Message::Promise { ballot, accepted, .. } => {
                self.on_promise(from, ballot, accepted, fx);
            }
            Message::Accept { ballot, .. } => {
                if let Phase::Proposing { by, proposal } = &mut self.phase
                    && proposal.ballot == ballot
                {
                    by.insert(from);
                    self.decide_if_enough(fx);
                }
            }
            Message::Refuse { ballot, .. } => {
                if ballot > self.promised {
                    self.promise(ballot);
                }
                // Whom we have promised it as well may have given up, and nobody else would ask.
                // Two who suspect each other may refuse each other so for as long as they do.
                if ballot == self.promised {
                    self.act(fx);
                }
            }
            Message::Wish { .. } | Message::Install { .. } => {}
        }
    }

    /// From now on nothing of a smaller ballot counts, ours neither.
    fn promise(&mut self, ballot: u64) {
        self.promised = ballot;
        self.phase = Phase::Following;
    }

    fn install(&mut self, from: ProcessId, view: View, fx: &mut impl Effects<Self>) {
        self.view = view;
        (self.promised, self.accepted, self.phase) = (0, None, Phase::Following);
        let view = self.view.clone();
        fx.emit(match self.is_inside() {
            true => Event::Installed { view },
            false => Event::Removed { view },
        });
        if self.suspected.contains(from) {
            self.tell(&self.group.peers(), fx);
        }
        self.act(fx);
    }

    fn tell(&self, peers: &ProcessSet, fx: &mut impl Effects<Self>) {
        fx.broadcast(peers, Message::Install { view: self.view.clone() });
    }
}

/// The senior member of those that it does not suspect.
impl RicciardiBirman {
    /// Begins a change where one is due, and it falls to us.
    fn act(&mut self, fx: &mut impl Effects<Self>) {
        let mut senior = self.view.members.iter().filter(|it| !self.suspected.contains(*it));
        let is_senior = senior.next() == Some(self.group.me());
        if !is_senior || self.phase != Phase::Following || !self.is_change(&self.goal()) {
            return;
        }
        let ballot = self.next_ballot();
        self.promised = ballot;
        if ballot == 0 || self.variants.has(Switch::TwoPhases) {
            return self.propose(self.goal(), fx);
        }
        let view = self.view.clone();
        fx.broadcast(&self.others(), Message::Interrogate { view, ballot });
        let by = ProcessSet::from_iter([self.group.me()]);
        self.phase = Phase::Interrogating { by, last: self.accepted.clone() };
        self.propose_if_enough(fx);
    }

    /// Everybody who is up, as far as we know, and wants to belong.
    fn goal(&self) -> ProcessSet {
        let belongs = |it: &ProcessId| !self.suspected.contains(*it) && !self.leaving.contains(*it);
        self.group.processes().filter(belongs).collect()
    }

    /// Whether these can be the next view: somebody has to be left to decide who comes after.
    fn is_change(&self, members: &ProcessSet) -> bool {
        !members.is_empty() && *members != self.view.members
    }

    /// The smallest ballot of ours that is not below a promise, and in which we proposed nothing.
    fn next_ballot(&self) -> u64 {
        let me = self.group.me();
        let place = self.view.members.iter().take_while(|it| *it != me).count() as u64;
        let size = u64::from(self.view.members.len());
        let is_fresh = self.promised == 0 && self.accepted.is_none();
        let least = if is_fresh { 0 } else { self.promised.saturating_add(1) };
        let round = least.saturating_sub(place).div_ceil(size);
        place.saturating_add(round.saturating_mul(size))
    }

    fn on_promise(
        &mut self,
        from: ProcessId,
        ballot: u64,
        accepted: Option<Proposal>,
        fx: &mut impl Effects<Self>,
    ) {
        let Phase::Interrogating { by, last } = &mut self.phase else { return };
        if ballot != self.promised {
            return;
        }
        by.insert(from);
        let of = |proposal: &Option<Proposal>| proposal.as_ref().map(|it| it.ballot);
        if of(&accepted) > of(last) {
            *last = accepted;
        }
        self.propose_if_enough(fx);
    }

    fn propose_if_enough(&mut self, fx: &mut impl Effects<Self>) {
        let Phase::Interrogating { by, last } = &self.phase else { return };
        if !self.is_enough(by) {
            return;
        }
        let members = last.as_ref().map_or_else(|| self.goal(), |last| last.members.clone());
        self.phase = Phase::Following;
        if self.is_change(&members) {
            self.propose(members, fx);
        }
    }

    fn propose(&mut self, members: ProcessSet, fx: &mut impl Effects<Self>) {
        let proposal = Proposal { ballot: self.promised, members };
        let view = self.view.clone();
        fx.broadcast(&self.others(), Message::Propose { view, proposal: proposal.clone() });
        self.accepted = Some(proposal.clone());
        self.phase = Phase::Proposing { by: ProcessSet::from_iter([self.group.me()]), proposal };
        self.decide_if_enough(fx);
    }

    fn decide_if_enough(&mut self, fx: &mut impl Effects<Self>) {
        let Phase::Proposing { by, proposal } = &self.phase else { return };
        if !self.is_enough(by) {
            return;
        }
        let members = proposal.members.clone();
        let mut told = self.others();
        told.extend(members.iter().filter(|it| *it != self.group.me()));
        let view = View { number: self.view.number.saturating_add(1), members };
        fx.broadcast(&told, Message::Install { view: view.clone() });
        self.install(self.group.me(), view, fx);
    }

    /// Whether these are a majority of the view.
    fn is_enough(&self, these: &ProcessSet) -> bool {
        let heard = |it: ProcessId| these.contains(it) || self.suspected.contains(it);
        match self.variants.has(Switch::Minority) {
            true => self.view.members.iter().all(heard),
            false => 2 * these.len() > self.view.members.len(),
        }
    }

    /// The other members.
    fn others(&self) -> ProcessSet {
        let mut others = self.view.members.clone();
        others.remove(self.group.me());
        others
    }
}

impl Algorithm for RicciardiBirman {
    fn card(_: &Variants<Switch>, size: u32) -> Card {
        let least = 3 * (u64::from(size) - 1);
        let formula = "3(N−1), 5(N−1) for who takes over, and N−1 for a wish";
        Card {
            order: Order::Fifo,
            detection: Detection::EventuallyPerfect,
            faults: Faults {
                crashes: Crashes::Stop,
                ..Faults::none("survives crashes without return of a minority of each view")
                    .of_majority()
            },
            messages: Cost::per_agreement(formula, least, None).in_part(),
            variants: Variants::<Switch>::declared(),
            ..Card::agreement(
                Service::Membership,
                "ricciardi-birman",
                "a majority of each view decides who belongs to the next",
                "Ricciardi and Birman, PODC, 1991",
            )
            .promising([Property::OneView])
        }
    }
}
