//! A lock made of elections: each entry is an election among the waiting processes.
//!
//! Mutual exclusion reduces to leader election. The last process that left the critical section
//! calls the next election as soon as it knows a waiting process. The first process calls the first
//! election. Processes that do not wait take part with the lowest ranks.
//!
//! | | |
//! |---|---|
//! | assumes | the assumptions of the election algorithm; no crash |
//! | messages per entry | N − 1, and the messages of one election |
//! | delay from exit to the next entry | the delay of one election |
//!
//! **Why it is right.** Elections are numbered. Only the last process that left the critical
//! section calls the next election, and only the winner enters. So there is one election at a time,
//! and it elects one process. A message carries the number and the candidates of its election. A
//! process that learns of a later election abandons the earlier election. This is safe, because the
//! earlier election had ended when the later one was called.
//!
//! **Fairness comes only from the ranks.** The candidate with the earliest request has the largest
//! rank. Requests are ordered by Lamport's clocks. If clocks are equal, the lower process comes
//! first. Only finitely many requests precede a request that has arrived at all processes, so no
//! process waits forever. A request in flight may be bypassed any number of times. With fixed ranks
//! (a variant), a process may lose again and again.

use alloc::boxed::Box;
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use tenure_core::service::{election, mutex};
use tenure_core::{
    Algorithm, AlgorithmClass, Card, CrashModel, Effects, Election, Fence, Group, Input, Labelled,
    LamportClock, Layer, MessageCost, MessageLabel, PeerVerdict, ProcessId, ProcessKnowledge,
    Property, Protocol, Rank, Service, TimerRole, ToleratedFaults, Topology, UncomparedConfig,
};

use crate::Variants;
use crate::variants::variant_ids;

/// One process. The process that wins an election is the next to enter the critical section.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MutexFromElection<E: Election> {
    group: Group,
    config: UncomparedConfig<ConfigOf<E>>,
    /// Highest clock of all requests that this process knows.
    clock: LamportClock,
    phase: Phase,
    /// Clock of the last known request of each process, indexed by process. 0 if no request is
    /// known.
    requested: Box<[u64]>,
    /// Clock of the last served request of each process, as far as this process knows. Indexed by
    /// process.
    served: Box<[u64]>,
    caller: Caller,
    /// Present election, the latest one that this process knows. Its number is 0 before the first
    /// election.
    contest: Box<NumberedElection>,
    /// State of the election algorithm in the current election. The ranks of the processes depend
    /// on their requests. `None` before the first election.
    election: Option<E>,
}

/// Configuration of [`MutexFromElection`]. Without this alias, a derive macro would see the
/// associated type `E::Config`, and require that it implements the derived trait.
type ConfigOf<E> = Config<<E as Protocol>::Config>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Idle,
    Waiting,
    Inside,
}

/// Process that calls the next election, as far as this process knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Caller {
    /// This process calls the next election, because it was the last to exit, or because it is the
    /// first process and no election has been called yet.
    Us,
    /// The winner of the present election calls the next election after its exit.
    Winner,
}

/// One election in the sequence of elections: its number and candidates.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct NumberedElection {
    /// Number of the election, from 1.
    pub number: u64,
    /// Clock of the request of each process, indexed by process; 0 if the process does not wait.
    #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::by_process"))]
    pub candidates: Box<[u64]>,
    /// Clock of the last served request of each process when this election was called. Indexed by
    /// process.
    #[cfg_attr(feature = "serde", serde(serialize_with = "tenure_core::mark::by_process"))]
    pub served: Box<[u64]>,
}

/// Messages between processes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Message<E> {
    /// Requests entry to the critical section.
    Request {
        /// Clock of the request.
        clock: u64,
    },
    /// A message of an election.
    Election {
        /// Election to which `message` belongs.
        contest: Box<NumberedElection>,
        /// The wrapped message.
        message: E,
    },
}

impl<E: Labelled> Labelled for Message<E> {
    fn label(&self) -> MessageLabel {
        match self {
            Message::Request { .. } => MessageLabel { layer: Layer::Mutex, kind: "request" },
            // Messages of an election are counted as messages of the lock, because each entry
            // requires an election.
            Message::Election { message, .. } => {
                MessageLabel { layer: Layer::Mutex, ..message.label() }
            }
        }
    }
}

/// A timer of the election algorithm, with the number of the election to which it belongs.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timer<E> {
    number: u64,
    timer: E,
}

/// Configuration of one process.
#[derive(Clone, Debug)]
pub struct Config<E> {
    /// Configuration of the elections. The ranks in this configuration have no effect, because each
    /// election gets new ranks.
    pub election: E,
    /// Variants that are switched on.
    pub variants: Variants<VariantId>,
}

variant_ids! {
    StaticRanks = "static-ranks", unsound,
        "the candidate with the largest id wins, so others may wait for ever";
}

impl<E: Election + Algorithm> Protocol for MutexFromElection<E> {
    type Config = Config<E::Config>;
    type Command = mutex::Command;
    type Event = mutex::Event;
    type Message = Message<E::Message>;
    type Timer = Timer<E::Timer>;
    type Stable = ();

    fn boot(
        group: Group,
        config: &Self::Config,
        _: Option<()>,
        _: &mut impl Effects<Self>,
    ) -> Self {
        let promises = E::card(&config.election, group.size()).promises;
        assert!(
            promises.contains(&Property::Validity),
            "the election must choose the largest rank"
        );
        let none = vec![0; group.size() as usize].into_boxed_slice();
        let contest =
            NumberedElection { number: 0, candidates: none.clone(), served: none.clone() };
        MutexFromElection {
            group,
            config: UncomparedConfig::new(config.clone()),
            clock: LamportClock::default(),
            phase: Phase::Idle,
            requested: none.clone(),
            served: none,
            caller: if group.me().index() == 0 { Caller::Us } else { Caller::Winner },
            contest: Box::new(contest),
            election: None,
        }
    }

    fn stable(&self) {}

    fn on_command(&mut self, command: mutex::Command, fx: &mut impl Effects<Self>) {
        let me = self.group.me().index();
        match command {
            mutex::Command::Enter => {
                assert!(self.phase == Phase::Idle, "a process may request only when idle");
                self.phase = Phase::Waiting;
                self.requested[me] = self.clock.tick();
                let request = Message::Request { clock: self.requested[me] };
                fx.broadcast(&self.group.peers(), request);
            }
            mutex::Command::Exit => {
                assert!(self.phase == Phase::Inside, "only a process inside may exit");
                self.phase = Phase::Idle;
                self.served[me] = self.requested[me];
                self.caller = Caller::Us;
                fx.emit(mutex::Event::Exited);
            }
        }
        self.call_election_if_due(fx);
    }

    fn on_message(&mut self, from: ProcessId, message: Self::Message, fx: &mut impl Effects<Self>) {
        match message {
            Message::Request { clock } => {
                self.clock.observe(clock);
                let requested = &mut self.requested[from.index()];
                *requested = clock.max(*requested);
                self.call_election_if_due(fx);
            }
            Message::Election { contest, message } => {
                if contest.number > self.contest.number {
                    self.join(contest, fx);
                } else if contest.number < self.contest.number {
                    return; // This election is over.
                }
                self.step_election(Input::Message { from, message }, fx);
            }
        }
    }

    fn on_timer(&mut self, timer: Self::Timer, fx: &mut impl Effects<Self>) {
        if timer.number == self.contest.number {
            self.step_election(Input::Timer(timer.timer), fx);
        }
    }

    fn timer_role(timer: &Self::Timer) -> TimerRole {
        E::timer_role(&timer.timer)
    }

    fn on_suspicion(&mut self, peer: ProcessId, verdict: PeerVerdict, fx: &mut impl Effects<Self>) {
        self.step_election(Input::Suspicion { peer, verdict }, fx);
    }
}

impl<E: Election + Algorithm> MutexFromElection<E> {
    /// Calls an election if two conditions hold: it is this process's turn to call the next
    /// election, and some process waits for the critical section.
    fn call_election_if_due(&mut self, fx: &mut impl Effects<Self>) {
        let waits = |(requested, served): (&u64, &u64)| {
            if requested > served { *requested } else { 0 }
        };
        let candidates: Box<[u64]> = self.requested.iter().zip(&self.served).map(waits).collect();
        if self.caller == Caller::Us && candidates.iter().any(|candidate| *candidate > 0) {
            self.caller = Caller::Winner;
            let (number, served) = (self.contest.number + 1, self.served.clone());
            self.join(Box::new(NumberedElection { number, candidates, served }), fx);
            self.step_election(Input::Command(election::Command::Elect), fx);
        }
    }

    /// Joins the election `contest`, learns of the requests and the served requests in it, and
    /// discards the state of the previous election.
    fn join(&mut self, contest: Box<NumberedElection>, fx: &mut impl Effects<Self>) {
        for (known, served) in self.served.iter_mut().zip(&contest.served) {
            *known = (*served).max(*known);
        }
        for (known, candidate) in self.requested.iter_mut().zip(&contest.candidates) {
            *known = (*candidate).max(*known);
            self.clock.observe(*candidate);
        }
        let config = E::with_ranks(&self.config.election, self.ranks(&contest).collect());
        self.contest = contest;
        let (election, events) = fx.run_child(
            |message| Message::Election { contest: self.contest.clone(), message },
            |timer| Timer { number: self.contest.number, timer },
            |fx| E::boot(self.group, &config, None, fx),
        );
        self.election = Some(election);
        self.on_election_events(events, fx);
    }

    /// Returns the ranks of all processes in an election. The earliest request has the largest
    /// rank; among equal clocks, the request of the lowest process. Processes that do not wait have
    /// the smallest ranks. With the variant `static-ranks`, the waiting process with the largest id
    /// has the largest rank.
    fn ranks(&self, contest: &NumberedElection) -> impl Iterator<Item = Rank> {
        let has_static_ranks = self.config.variants.has(VariantId::StaticRanks);
        let ranked = move |(place, clock): (u32, &u64)| match *clock {
            0 => Rank { weight: 0, id: place },
            _ if has_static_ranks => Rank { weight: 1, id: place },
            clock => Rank { weight: u64::MAX - clock, id: u32::MAX - place },
        };
        (0..).zip(&contest.candidates).map(ranked)
    }

    /// Passes an input to the election algorithm. Does nothing before the first election.
    fn step_election(&mut self, input: Input<E>, fx: &mut impl Effects<Self>) {
        let Some(election) = &mut self.election else { return };
        let (_, events) = fx.run_child(
            |message| Message::Election { contest: self.contest.clone(), message },
            |timer| Timer { number: self.contest.number, timer },
            |fx| election.step(input, fx),
        );
        self.on_election_events(events, fx);
    }

    fn on_election_events(&mut self, events: Vec<election::Event>, fx: &mut impl Effects<Self>) {
        let me = self.group.me();
        for event in events {
            let election::Event::Elected { leader, .. } = event else { continue };
            let candidate = self.contest.candidates[me.index()];
            if leader == me
                && self.phase == Phase::Waiting
                && candidate == self.requested[me.index()]
            {
                self.phase = Phase::Inside;
                fx.emit(mutex::Event::Entered { fence: Fence(0, self.contest.number) });
            }
        }
    }
}

impl<E: Election + Algorithm> Algorithm for MutexFromElection<E> {
    fn card(config: &Self::Config, size: u32) -> Card {
        let election = E::card(&config.election, size);
        let others = u64::from(size) - 1;
        Card {
            name: format!("mutex-from-election:{}", election.name),
            title: format!(
                "each entry is an election by {} among the waiting processes",
                election.name
            ),
            service: Service::Mutex,
            strategy: AlgorithmClass::Composition,
            // Requests go to all processes, regardless of the topology of the election.
            topology: Topology::Complete,
            graph: None,
            faults: ToleratedFaults {
                loss: false,
                max_lost: 0,
                max_crashed: None,
                duplication: election.faults.duplication,
                absence: false,
                crashes: CrashModel::None,
                majority: false,
                description: "stops when the process that calls the next election crashes",
            },
            // An entry may take fewer messages. When the next election begins, processes send no
            // more messages of the previous election.
            messages: MessageCost::per_entry(
                "N−1, and those of an election",
                others,
                election.messages.most.map(|most| others + most),
            )
            .marked_incomplete(),
            knows: ProcessKnowledge::NON_UNIFORM,
            theory: None,
            promises: [Property::MutualExclusion, Property::StarvationFreedom, Property::Fencing]
                .into(),
            timed_promises: Vec::new(),
            variants: Variants::<VariantId>::declarations(),
            ..election
        }
    }
}
