//! Ricart–Agrawala mutual exclusion that tolerates crashes: the reply of a suspected peer is not
//! awaited.
//!
//! After G. Ricart, A. K. Agrawala, *An optimal algorithm for mutual exclusion in computer
//! networks*, CACM 24(1), 1981, with the detectors of T. D. Chandra, S. Toueg, JACM 43(2), 1996.
//!
//! | | |
//! |---|---|
//! | assumes | asynchronous, reliable channels in any order, a detector that is never wrong |
//! | messages per entry | 2(N − 1); a restart adds N − 1, and 1 for each waiting process |
//! | delay to enter, uncontended | 2 messages; after a crash, until the suspicion |
//! | delay from exit to the next entry | 1 message; after a crash inside, until the suspicion |
//! | saved | the clock |
//!
//! **Why it is right.** Any two live processes receive each other's requests, and the smaller
//! timestamp has precedence, as in the algorithm without crashes. A crashed process is not inside,
//! so its reply is not needed. A process does not wait for the replies of suspected processes. All
//! processes except one may crash.
//!
//! A restarted process *p* has lost everything except its clock. So its next timestamp is larger
//! than all timestamps that it has used or answered. The process *p* announces its restart, and
//! processes that await a reply from *p* send their requests again. A process *q* that still
//! suspects *p* may be inside without a reply from *p*. Therefore *q* defers the requests of *p*
//! until *q* trusts *p* again. So two processes are never inside, and no process waits forever.
//!
//! The fence of an entry is the timestamp of its request. A process may request with a smaller
//! timestamp than that of an earlier entry, for example after a wrong suspicion. So a reply carries
//! the clock of the sender's last entry. If the timestamp of this entry is larger than that of the
//! request, the requester requests again with a larger timestamp. Fences therefore increase if
//! crashed processes do not restart. They also increase after a restart if the processes that
//! entered while the restarted process was down are still up. If no live process remembers an
//! entry, later entries may have lower fences.
//!
//! **With a detector that errs**, two processes may be inside, because a suspected process may only
//! be slow. No lock can prevent this. The fences of the two entries differ, so the resource can
//! reject the lower one.

use alloc::vec::Vec;

use tenure_core::service::mutex::{Command, Event};
use tenure_core::theory::{ExpectedCosts, HopRange};
use tenure_core::{
    Algorithm, Card, CrashModel, DetectorClass, Effects, Fence, Group, LamportClock, MessageCost,
    Never, PeerVerdict, ProcessId, ProcessSet, Property, Protocol, Timestamp, ToleratedFaults,
    labelled,
};

/// One process of the algorithm of Ricart and Agrawala with a failure detector.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FaultTolerantRicartAgrawala {
    group: Group,
    /// Highest clock that this process has sent or received (`Highest_Sequence_Number` in the
    /// paper). The clock is saved and survives a crash.
    clock: LamportClock,
    phase: Phase,
    /// Requests to which this process has not replied, in the order of timestamps (`Reply_Deferred`
    /// in the paper). The list contains only the latest request of each peer.
    deferred: Vec<Timestamp>,
    suspected: ProcessSet,
    /// Clock of the request with which this process last entered the critical section; 0 before the
    /// first entry. After a restart, the process does not know this clock. It then uses the saved
    /// clock, which is at least as high.
    entered: u64,
}

/// State of this process's request for the critical section. The paper stores it in the boolean
/// `Requesting_Critical_Section`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Idle,
    Waiting {
        /// This process's latest request: its sequence number (`Our_Sequence_Number` in the paper)
        /// with the id of the process.
        request: Timestamp,
        /// Peers that have not replied. This process enters the critical section when it suspects
        /// all of them, or when all have replied.
        awaited: ProcessSet,
    },
    Inside,
}

/// Messages between processes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message {
    /// Requests entry to the critical section.
    Request {
        /// Timestamp of the request. The request with the smallest timestamp has precedence.
        stamp: Timestamp,
    },
    /// Permits the receiver to enter the critical section. If `entered` shows that the sender has
    /// entered with a larger timestamp than that of the request, the receiver must request again
    /// instead.
    Reply {
        /// Clock of the request that this reply answers.
        to: u64,
        /// Clock of the sender.
        clock: u64,
        /// Clock of the request with which the sender last entered the critical section. After a
        /// restart of the sender and before its next entry, this is the clock that the sender has
        /// saved.
        entered: u64,
    },
    /// Sent after a restart: the sender has lost all requests to which it had not replied.
    Recovered,
}

labelled!(Message, Mutex,
    Request => "request", Reply => "reply", Recovered => "recovered");

impl Protocol for FaultTolerantRicartAgrawala {
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
        FaultTolerantRicartAgrawala {
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
            (Command::Enter, _) => panic!("a process may request only when idle"),
            (Command::Exit, _) => panic!("only a process inside may exit"),
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

    fn on_suspicion(&mut self, peer: ProcessId, verdict: PeerVerdict, fx: &mut impl Effects<Self>) {
        match verdict {
            PeerVerdict::Suspect => {
                self.suspected.insert(peer);
                self.enter_if_granted(fx);
            }
            PeerVerdict::Trust => {
                self.suspected.remove(peer);
                self.reply(fx);
            }
        }
    }
}

impl FaultTolerantRicartAgrawala {
    fn request(&mut self, fx: &mut impl Effects<Self>) {
        let request = Timestamp { clock: self.clock.tick(), process: self.group.me() };
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
        if (Timestamp { clock: entered, process: from }) < *request {
            awaited.remove(from);
            self.enter_if_granted(fx);
        } else {
            // The sender entered with a higher fence. So this process requests again with a larger
            // timestamp, and replies to the deferred requests that now precede its request.
            self.request(fx);
            self.reply(fx);
        }
    }

    /// Enters if all peers that have not replied are suspected.
    fn enter_if_granted(&mut self, fx: &mut impl Effects<Self>) {
        let Phase::Waiting { request, awaited } = &self.phase else { return };
        if awaited.is_subset(&self.suspected) {
            let fence = Fence(request.clock, u64::from(request.process.display_number()));
            self.entered = request.clock;
            self.phase = Phase::Inside;
            fx.emit(Event::Entered { fence });
        }
    }

    /// Adds a request to the deferred requests, and removes older requests of the same process.
    /// Does nothing if the deferred requests contain this request, or a newer request of that
    /// process.
    fn defer(&mut self, request: Timestamp) {
        let is_newer = |other: &Timestamp| other.process == request.process && *other >= request;
        if !self.deferred.iter().any(is_newer) {
            self.deferred.retain(|other| other.process != request.process);
            let place = self.deferred.partition_point(|other| *other < request);
            self.deferred.insert(place, request);
        }
    }

    /// Replies to the deferred requests. A request stays deferred in three cases: this process is
    /// inside the critical section, this process waits with a smaller request, or the requesting
    /// process is suspected.
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

    /// Returns true if this process is inside the critical section, or waits for it with a request
    /// that precedes `request`.
    fn precedes(&self, request: Timestamp) -> bool {
        match &self.phase {
            Phase::Idle => false,
            Phase::Waiting { request: ours, .. } => *ours < request,
            Phase::Inside => true,
        }
    }
}

impl Algorithm for FaultTolerantRicartAgrawala {
    fn card((): &(), size: u32) -> Card {
        let cost = 2 * u64::from(size - 1);
        Card {
            faults: ToleratedFaults {
                crashes: CrashModel::Stop,
                ..ToleratedFaults::duplication_only(
                    "survives the crash of all but one; a restarted process may enter again, with \
                     a higher fence if those that entered meanwhile are up; after a wrong \
                     suspicion two may be inside, with different fences",
                )
            },
            detection: DetectorClass::Perfect,
            messages: MessageCost::per_entry("2(N−1)", cost, Some(cost)),
            theory: Some(ExpectedCosts::lock(["2", "2", "not known"], HopRange::ONE)),
            ..Card::mutex(
                "tolerant-ricart-agrawala",
                "ask every process, defer later requests, and do not await suspected processes",
                "after Ricart & Agrawala, CACM 24(1), 1981",
            )
            .with_promises([Property::FirstComeFirstServed])
        }
    }
}
