//! Group membership by Ricciardi and Birman: the senior member proposes the next view, and a
//! majority of the current view decides.
//!
//! A. Ricciardi, K. Birman, *Using process groups to implement failure detection in asynchronous
//! environments*, PODC 1991. Ballots and the values that a new proposer must adopt follow L.
//! Lamport, *The part-time parliament*, ACM Transactions on Computer Systems 16(2), 1998.
//!
//! | | |
//! |---|---|
//! | assumes | asynchronous, FIFO links; a majority of each view is up; a fallible detector |
//! | messages per change | 3(N − 1): propose, accept, install |
//! | messages per change when the senior is suspected | 5(N − 1): also interrogate and promise |
//! | delay | 3 messages, or 5 |
//!
//! **Why it is right.** A view is installed when a majority of the previous view has accepted it.
//! Views are numbered. Any two majorities share a member, so a later proposer learns from this
//! member which proposal may already be decided. The senior member proposes in ballot 0. No ballot
//! precedes ballot 0, so the senior asks no member for accepted proposals. A process that replaces
//! the senior uses a larger ballot and first interrogates a majority. The members of this majority
//! promise to reject smaller ballots, and report the proposals that they have accepted. The new
//! proposer adopts the reported proposal with the largest ballot, because this proposal may have
//! been decided. Hence all views with the same number are equal, and the views form one sequence. A
//! partition without a majority of the last view decides nothing and waits. Suspicions may be
//! wrong: a falsely suspected process is removed, and added again when it is trusted.
//!
//! Every message carries the number of the sender's view. A process that learns of a newer view
//! installs it. If a message carries an older view, the receiver responds with its own view. On a
//! suspicion every process sends its view, since the process that decided the view may have crashed
//! before informing all.
//!
//! There are three differences from the paper. The paper orders members by the time since they
//! joined; here members are ordered by id. The paper removes one member per view change, and
//! proposes the next removal in the message that ends the current change. Here a view change
//! includes all removals and additions that are known when it is proposed. In the paper, a
//! recovered process joins as a new process; here a crashed process does not return.

mod message;

use tenure_core::service::membership::{Command, Event, View};
use tenure_core::{
    Algorithm, Card, ChannelOrder, CrashModel, DetectorClass, Effects, Group, MessageCost, Never,
    PeerVerdict, ProcessId, ProcessSet, Property, Protocol, Service, ToleratedFaults,
};

pub use self::message::{Message, Proposal};
use crate::variants::{Variants, variant_ids};

/// One process: its view of the group, and its part in the decision on the next view.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RicciardiBirman {
    group: Group,
    variants: Variants<VariantId>,
    view: View,
    /// Smallest ballot that this process may still accept in its current view.
    promised: u64,
    /// Proposal for the next view that this process accepted last; `None` if it has accepted none.
    accepted: Option<Proposal>,
    phase: Phase,
    suspected: ProcessSet,
    /// Processes that do not want to belong to the group.
    leaving: ProcessSet,
}

/// Role of this process in the decision on the next view.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Following,
    /// The process collects promises, and keeps the reported proposal that has the highest ballot.
    Interrogating {
        by: ProcessSet,
        last: Option<Proposal>,
    },
    Proposing {
        by: ProcessSet,
        proposal: Proposal,
    },
}

variant_ids! {
    Minority = "minority", unsound,
        "the unsuspected processes decide, however few they are"
        => "", "-n 2 --false-suspicion 2";
    TwoPhases = "two-phases", unsound,
        "a new proposer proposes at once, without asking for accepted proposals"
        => "", "-n 3 --crash 1";
}

impl Protocol for RicciardiBirman {
    type Config = Variants<VariantId>;
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Never;
    type Stable = ();

    fn boot(
        group: Group,
        variants: &Variants<VariantId>,
        _: Option<()>,
        _: &mut impl Effects<Self>,
    ) -> Self {
        RicciardiBirman {
            group,
            variants: *variants,
            view: View { number: 1, members: ProcessSet::first_n(group.size()) },
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
        self.set_wish(self.group.me(), belongs, fx);
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        if let Message::Wish { belongs } = message {
            return self.set_wish(from, belongs, fx);
        }
        let number = message.view().map_or(0, |view| view.number);
        if number < self.view.number {
            // A response needs no answer: its sender learns of the newer view from the process that
            // decided that view.
            if !message.is_response() {
                fx.send(from, Message::Install { view: self.view.clone() });
            }
            return;
        }
        if number > self.view.number
            && let Some(view) = message.view()
        {
            self.install(from, view.clone(), fx);
        }
        if self.is_member() && self.view.members.contains(from) {
            self.vote(from, message, fx);
        }
    }

    fn on_suspicion(&mut self, peer: ProcessId, verdict: PeerVerdict, fx: &mut impl Effects<Self>) {
        match verdict {
            PeerVerdict::Suspect => {
                self.suspected.insert(peer);
                self.send_view(&self.group.peers(), fx);
            }
            PeerVerdict::Trust => {
                self.suspected.remove(peer);
                fx.send(peer, Message::Install { view: self.view.clone() });
            }
        }
        if self.variants.has(VariantId::Minority) {
            self.propose_if_promised(fx);
            self.decide_if_accepted(fx);
        }
        self.start_change_if_due(fx);
    }
}

/// Behaviour of every member.
impl RicciardiBirman {
    /// Returns the newest view that this process knows.
    pub const fn view(&self) -> &View {
        &self.view
    }

    fn is_member(&self) -> bool {
        self.view.members.contains(self.group.me())
    }

    fn set_wish(&mut self, of: ProcessId, belongs: bool, fx: &mut impl Effects<Self>) {
        if belongs {
            self.leaving.remove(of);
        } else {
            self.leaving.insert(of);
        }
        self.start_change_if_due(fx);
    }

    /// Handles a message about the decision on the view that follows the current view.
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
                    self.decide_if_accepted(fx);
                }
            }
            Message::Refuse { ballot, .. } => {
                if ballot > self.promised {
                    self.promise(ballot);
                }
                // Starts the change again with a ballot above the refused one. Otherwise no process
                // may propose the view, because the competing process may have given up. Two
                // processes that suspect each other may repeat this while the suspicions last.
                if ballot == self.promised {
                    self.start_change_if_due(fx);
                }
            }
            Message::Wish { .. } | Message::Install { .. } => {}
        }
    }

    /// Makes this process reject all ballots smaller than `ballot`, including ballots of its own.
    fn promise(&mut self, ballot: u64) {
        self.promised = ballot;
        self.phase = Phase::Following;
    }

    fn install(&mut self, from: ProcessId, view: View, fx: &mut impl Effects<Self>) {
        self.view = view;
        (self.promised, self.accepted, self.phase) = (0, None, Phase::Following);
        let view = self.view.clone();
        fx.emit(match self.is_member() {
            true => Event::Installed { view },
            false => Event::Removed { view },
        });
        if self.suspected.contains(from) {
            self.send_view(&self.group.peers(), fx);
        }
        self.start_change_if_due(fx);
    }

    fn send_view(&self, peers: &ProcessSet, fx: &mut impl Effects<Self>) {
        fx.broadcast(peers, Message::Install { view: self.view.clone() });
    }
}

/// Behaviour of a process that leads a view change. It leads the change if it suspects all members
/// that are more senior than itself.
impl RicciardiBirman {
    /// Starts a view change, if the view must change and this process is the most senior
    /// unsuspected member.
    fn start_change_if_due(&mut self, fx: &mut impl Effects<Self>) {
        let mut senior = self.view.members.iter().filter(|it| !self.suspected.contains(*it));
        let is_senior = senior.next() == Some(self.group.me());
        if !is_senior || self.phase != Phase::Following || !self.is_change(&self.target_members()) {
            return;
        }
        let ballot = self.next_ballot();
        self.promised = ballot;
        if ballot == 0 || self.variants.has(VariantId::TwoPhases) {
            return self.propose(self.target_members(), fx);
        }
        let view = self.view.clone();
        fx.broadcast(&self.others(), Message::Interrogate { view, ballot });
        let by = ProcessSet::from_iter([self.group.me()]);
        self.phase = Phase::Interrogating { by, last: self.accepted.clone() };
        self.propose_if_promised(fx);
    }

    /// Returns the processes that this process does not suspect and that want to belong to the
    /// group.
    fn target_members(&self) -> ProcessSet {
        let belongs = |it: &ProcessId| !self.suspected.contains(*it) && !self.leaving.contains(*it);
        self.group.processes().filter(belongs).collect()
    }

    /// Returns true if `members` is a possible next view: it differs from the current view and is
    /// not empty. An empty view has no member that could decide a later view.
    fn is_change(&self, members: &ProcessSet) -> bool {
        !members.is_empty() && *members != self.view.members
    }

    /// Returns the next ballot of this process: the smallest of its ballots that is larger than all
    /// ballots that it has promised. If this process has neither promised nor accepted anything in
    /// this view, returns its first ballot.
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
        self.propose_if_promised(fx);
    }

    fn propose_if_promised(&mut self, fx: &mut impl Effects<Self>) {
        let Phase::Interrogating { by, last } = &self.phase else { return };
        if !self.is_majority(by) {
            return;
        }
        let members =
            last.as_ref().map_or_else(|| self.target_members(), |last| last.members.clone());
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
        self.decide_if_accepted(fx);
    }

    fn decide_if_accepted(&mut self, fx: &mut impl Effects<Self>) {
        let Phase::Proposing { by, proposal } = &self.phase else { return };
        if !self.is_majority(by) {
            return;
        }
        let members = proposal.members.clone();
        let mut recipients = self.others();
        recipients.extend(members.iter().filter(|it| *it != self.group.me()));
        let view = View { number: self.view.number.saturating_add(1), members };
        fx.broadcast(&recipients, Message::Install { view: view.clone() });
        self.install(self.group.me(), view, fx);
    }

    fn is_majority(&self, these: &ProcessSet) -> bool {
        let is_covered = |it: ProcessId| these.contains(it) || self.suspected.contains(it);
        match self.variants.has(VariantId::Minority) {
            true => self.view.members.iter().all(is_covered),
            false => 2 * these.len() > self.view.members.len(),
        }
    }

    /// Returns the members of the current view except this process.
    fn others(&self) -> ProcessSet {
        let mut others = self.view.members.clone();
        others.remove(self.group.me());
        others
    }
}

impl Algorithm for RicciardiBirman {
    fn card(_: &Variants<VariantId>, size: u32) -> Card {
        let least = 3 * (u64::from(size) - 1);
        let formula = "3(N−1), 5(N−1) for a new proposer, and N−1 for a wish";
        Card {
            order: ChannelOrder::Fifo,
            detection: DetectorClass::EventuallyPerfect,
            faults: ToleratedFaults {
                crashes: CrashModel::Stop,
                ..ToleratedFaults::none(
                    "survives crashes without return of a minority of each view",
                )
                .requiring_majority()
            },
            messages: MessageCost::per_agreement(formula, least, None).marked_incomplete(),
            variants: Variants::<VariantId>::declarations(),
            ..Card::agreement(
                Service::Membership,
                "ricciardi-birman",
                "a majority of each view decides the next one",
                "Ricciardi and Birman, PODC, 1991",
            )
            .with_promises([Property::ViewAgreement])
        }
    }
}
