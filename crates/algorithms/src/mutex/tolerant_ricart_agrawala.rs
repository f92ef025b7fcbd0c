//! Ricart–Agrawala mutual exclusion that survives crashes: a peer who is suspected is not awaited.
//!
//! After G. Ricart, A. K. Agrawala, *An optimal algorithm for mutual exclusion in computer
//! networks*, CACM 24(1), 1981, with the detectors of T. D. Chandra, S. Toueg, JACM 43(2), 1996.
//!
//! | | |
//! |---|---|
//! | assumes | asynchronous, reliable channels in any order, a detector that is never wrong |
//! | messages per entry | 2(N − 1), as without crashes; N − 1 more for each that comes back |
//! | delay to enter, uncontended | 2 messages; of somebody who has crashed, until it is suspected |
//! | delay from exit to the next entry | 1 message; of somebody who has crashed inside, the same |
//! | saved | the clock |
//!
//! **Why it is right.** Of two live processes each gets the other's request, and the order of
//! stamps decides, as in the plain algorithm. A process that crashed is inside no more, so nobody
//! needs its reply; as soon as it is suspected, nobody awaits it, and whoever waits has finitely
//! many before it that are live. All but one may crash.
//!
//! A process that comes back has forgotten everything but its clock, so its next stamp is larger
//! than any that it has answered, and than its own. It says that it is back, and whoever awaits it
//! asks again. As long as it is suspected, its requests are kept and not answered: whoever
//! suspects it may be inside without its reply. Once it is trusted, it is awaited again by whoever
//! is still waiting. So two are never inside, and nobody waits for ever.
//!
//! The fence is the stamp of the request. Who was suspected may ask with a stamp that is smaller
//! than that of somebody who has been inside meanwhile; so a reply names the last entry of its
//! sender, and a request that is not larger is made anew. Fences therefore increase across all
//! crashes without a return, and across a return while those stay up who entered in the absence:
//! what nobody live remembers, nobody can exceed.
//!
//! **With a detector that is wrong**, two may be inside, and no lock can prevent it: the suspected
//! may just be slow. Their fences differ, and a resource that refuses the lower one has one user.

use alloc::vec::Vec;

use tenure_core::service::mutex::{Command, Event};
use tenure_core::theory::{Hops, Theory};
use tenure_core::{
    Algorithm, Card, Cost, Crashes, Detection, Effects, Faults, Fence, Group, LamportClock, Never,
    ProcessId, ProcessSet, Property, Protocol, Stamp, Verdict, labelled,
};

/// One process of the algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TolerantRicartAgrawala {
    group: Group,
    /// `Highest_Sequence_Number`: the highest clock sent or seen, also before a crash.
    clock: LamportClock,
    phase: Phase,
    /// `Reply_Deferred`: of each peer the request to which we owe a reply, in their order.
    deferred: Vec<Stamp>,
    suspected: ProcessSet,
    /// The clock of our last entry; after a crash, the highest that it can have been.
    entered: u64,
}

/// Where this process stands: `Requesting_Critical_Section` and what belongs to it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Idle,
    Waiting {
        /// `Our_Sequence_Number`, with our name.
        request: Stamp,
        /// Who has not replied. We enter when all of these are suspected.
        awaited: ProcessSet,
    },
    Inside,
}

/// What processes say to each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// "I want to enter, and this is my place in the order."
    Request {
        /// The place.
        stamp: Stamp,
    },
    /// "As far as I am concerned, you may, unless I have been inside after your place."
    Reply {
        /// The clock of the request that this answers.
        to: u64,
        /// The replier's clock.
        clock: u64,
        /// The clock of the replier's last entry.
        entered: u64,
    },
    /// "I have crashed, and forgot what you asked me."
    Recovered,
}

labelled!(Message, Mutex,
    Request => "request", Reply => "reply", Recovered => "recovered");

impl Protocol for TolerantRicartAgrawala {
    type Config = ();
    type Command = Command;
    type Event = Event;
    type Message = Message;
    type Timer = Never;
    type Stable = LamportClock;

    fn boot(
        group: Group,
        (): &(),
        stable: Option<LamportClock>,
        fx: &mut impl Effects<Self>,
    ) -> Self {
        if stable.is_some() {
            fx.broadcast(&group.peers(), Message::Recovered);
        }
        let clock = stable.unwrap_or_default();
        TolerantRicartAgrawala {
            group,
            clock,
            phase: Phase::Idle,
            deferred: Vec::new(),
            suspected: ProcessSet::new(),
            entered: clock.now(),
        }
    }

    fn stable(&self) -> LamportClock {
        self.clock
    }

    fn on_command(&mut self, command: Command, fx: &mut impl Effects<Self>) {
        match (command, &self.phase) {
            (Command::Enter, Phase::Idle) => self.request(fx),
            (Command::Exit, Phase::Inside) => {
                self.phase = Phase::Idle;
                self.reply(fx);
                fx.emit(Event::Exited);
            }
            (Command::Enter, _) => panic!("a process asks only when it neither waits nor is in"),
            (Command::Exit, _) => panic!("only a process that is inside can leave"),
        }
    }

    fn on_message(&mut self, from: ProcessId, message: Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Request { stamp } => {
                self.clock.observe(stamp.clock);
                self.defer(stamp);
                self.reply(fx);
            }
            Message::Reply { to, clock, entered } => {
                self.clock.observe(clock);
                self.receive_reply(from, to, entered, fx);
            }
            Message::Recovered => {
                if let Phase::Waiting { request, awaited } = &self.phase
                    && awaited.contains(from)
                {
                    fx.send(from, Message::Request { stamp: *request });
                }
            }
        }
    }

    fn on_suspicion(&mut self, peer: ProcessId, verdict: Verdict, fx: &mut impl Effects<Self>) {
        match verdict {
            Verdict::Suspect => {
                self.suspected.insert(peer);
                self.enter_if_granted(fx);
            }
            Verdict::Trust => {
                self.suspected.remove(peer);
                self.reply(fx);
            }
        }
    }
}

impl TolerantRicartAgrawala {
    fn request(&mut self, fx: &mut impl Effects<Self>) {
        let request = Stamp { clock: self.clock.tick(), process: self.group.me() };
        let awaited = self.group.peers();
        fx.broadcast(&awaited, Message::Request { stamp: request });
        self.phase = Phase::Waiting { request, awaited };
        self.enter_if_granted(fx);
    }

    fn receive_reply(
        &mut self,
        from: ProcessId,
        to: u64,
        entered: u64,
        fx: &mut impl Effects<Self>,
    ) {
        let Phase::Waiting { request, awaited } = &mut self.phase else { return };
        if to != request.clock {
            return;
        }
        if (Stamp { clock: entered, process: from }) < *request {
            awaited.remove(from);
            self.enter_if_granted(fx);
        } else {
            // The replier was inside with a higher fence: take a place behind it, and let those
            // go first who are before that.
            self.request(fx);
            self.reply(fx);
        }
    }

    /// Enters when whoever has not replied is suspected.
    fn enter_if_granted(&mut self, fx: &mut impl Effects<Self>) {
        let Phase::Waiting { request, awaited } = &self.phase else { return };
        if awaited.is_subset(&self.suspected) {
            let fence = Fence(request.clock, u64::from(request.process.number()));
            self.entered = request.clock;
            self.phase = Phase::Inside;
            fx.emit(Event::Entered { fence });
        }
    }

    /// Keeps the last request of its process; one that is older has been given up or served.
    fn defer(&mut self, request: Stamp) {
        let is_newer = |other: &Stamp| other.process == request.process && *other >= request;
        if !self.deferred.iter().any(is_newer) {
            self.deferred.retain(|other| other.process != request.process);
            let place = self.deferred.partition_point(|other| *other < request);
            self.deferred.insert(place, request);
        }
    }

    /// Replies to every request that we no longer have a reason to defer.
    fn reply(&mut self, fx: &mut impl Effects<Self>) {
        let (clock, entered) = (self.clock.now(), self.entered);
        let mut deferred = core::mem::take(&mut self.deferred);
        deferred.retain(|request| {
            let defers = self.precedes(*request) || self.suspected.contains(request.process);
            if !defers {
                let reply = Message::Reply { to: request.clock, clock, entered };
                fx.send(request.process, reply);
            }
            defers
        });
        self.deferred = deferred;
    }

    /// Whether our own claim, if we have one, comes before `request`.
    fn precedes(&self, request: Stamp) -> bool {
        match &self.phase {
            Phase::Idle => false,
            Phase::Waiting { request: ours, .. } => *ours < request,
            Phase::Inside => true,
        }
    }
}

impl Algorithm for TolerantRicartAgrawala {
    fn card((): &(), size: u32) -> Card {
        let cost = 2 * u64::from(size - 1);
        Card {
            faults: Faults {
                crashes: Crashes::Stop,
                ..Faults::duplication(
                    "survives the crash of all but one; who comes back is let in again, with a \
                       higher fence if those are up who entered meanwhile; after a suspicion that \
                       was wrong two may be inside, with different fences",
                )
            },
            detection: Detection::Perfect,
            messages: Cost::per_entry("2(N−1)", cost, Some(cost)),
            theory: Some(Theory::lock(["2", "2", "not known"], Hops::ONE)),
            ..Card::mutex(
                "tolerant-ricart-agrawala",
                "ask everyone, defer whoever comes after you, and await nobody who is suspected",
                "after Ricart & Agrawala, CACM 24(1), 1981",
            )
            .promising([Property::Order])
        }
    }
}
