//! Enumerates all runs of small groups, one by one, to verify the checker's analysis of the state
//! graph. The enumeration shares no code with the checker, and builds no graph.

use tenure_algorithms::Variants;
use tenure_algorithms::election::{ChangRoberts, chang_roberts};
use tenure_algorithms::mutex::{Central, NaimiTrehel, RicartAgrawala, SuzukiKasami};
use tenure_check::{Check, Checkable, Measure};
use tenure_core::service::{election, mutex};
use tenure_core::{ConstantEnvironment, EffectBuffer, Group, Input, ProcessId, Protocol};

use crate::by_service::{of, with};
use crate::elections::ranks;

type Stepping<P> = EffectBuffer<P, ConstantEnvironment>;

/// User of a process, as the enumeration models it.
trait Driver<P: Protocol>: Clone {
    fn command(&self) -> Option<P::Command>;
    fn issue(&mut self);
    fn observe(&mut self, event: &P::Event);
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum LockUser {
    Outside,
    Waiting,
    Inside,
    Done,
}

impl<P: Protocol<Command = mutex::Command, Event = mutex::Event>> Driver<P> for LockUser {
    fn command(&self) -> Option<mutex::Command> {
        match self {
            LockUser::Outside => Some(mutex::Command::Enter),
            LockUser::Inside => Some(mutex::Command::Exit),
            LockUser::Waiting | LockUser::Done => None,
        }
    }

    fn issue(&mut self) {
        *self = if *self == LockUser::Outside { LockUser::Waiting } else { LockUser::Done };
    }

    fn observe(&mut self, event: &mutex::Event) {
        if matches!(event, mutex::Event::Entered { .. }) {
            *self = LockUser::Inside;
        }
    }
}

/// User that starts an election, unless it already knows the leader.
#[derive(Clone, Copy)]
struct Initiator {
    starts: bool,
}

impl<P: Protocol<Command = election::Command, Event = election::Event>> Driver<P> for Initiator {
    fn command(&self) -> Option<election::Command> {
        self.starts.then_some(election::Command::Elect)
    }

    fn issue(&mut self) {
        self.starts = false;
    }

    fn observe(&mut self, _event: &election::Event) {
        self.starts = false;
    }
}

/// A prefix of a run, represented by the processes, users and messages in flight at its end.
#[derive(Clone)]
struct Prefix<P: Protocol, U> {
    processes: Vec<P>,
    users: Vec<U>,
    /// Messages in flight. Each tuple contains the sender, the receiver, the content, and the
    /// length of the causal chain that ends with the message.
    in_flight: Vec<(ProcessId, ProcessId, P::Message, u32)>,
    chains: Vec<u32>,
    totals: Totals,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Totals {
    sent: u32,
    received: u32,
    moves: u32,
}

#[derive(Debug)]
struct Extremes {
    runs: u64,
    sent: (u32, u32),
    received: (u32, u32),
    time: (u32, u32),
    moves: (u32, u32),
}

impl Extremes {
    fn add(&mut self, totals: Totals, time: u32) {
        let widen = |(least, most): &mut (u32, u32), value: u32| {
            (*least, *most) = ((*least).min(value), (*most).max(value));
        };
        self.runs += 1;
        widen(&mut self.sent, totals.sent);
        widen(&mut self.received, totals.received);
        widen(&mut self.moves, totals.moves);
        widen(&mut self.time, time);
    }
}

impl<P: Protocol, U: Driver<P>> Prefix<P, U> {
    fn boot(config: &P::Config, users: Vec<U>) -> Self {
        let size = users.len();
        let mut prefix = Prefix {
            processes: Vec::new(),
            users,
            in_flight: Vec::new(),
            chains: vec![0; size],
            totals: Totals::default(),
        };
        for at in (0..size).map(ProcessId::from_index) {
            let mut batch: Stepping<P> = EffectBuffer::new(ConstantEnvironment);
            let group = Group::new(at, size as u32);
            let process = P::boot(group, config, None, &mut batch.sink());
            prefix.processes.push(process);
            prefix.release(at, &mut batch);
        }
        prefix
    }

    fn release(&mut self, at: ProcessId, batch: &mut Stepping<P>) {
        assert!(batch.timers.is_empty(), "the enumeration has no timers");
        for event in batch.events.drain(..) {
            self.users[at.index()].observe(&event);
        }
        for (to, message) in batch.messages.drain(..) {
            self.totals.sent += u32::from(to != at);
            let chain = self.chains[at.index()] + u32::from(to != at);
            self.in_flight.push((at, to, message, chain));
        }
    }

    fn step(&self, at: ProcessId, input: Input<P>, mut next: Self) -> Self {
        let mut batch: Stepping<P> = EffectBuffer::new(ConstantEnvironment);
        next.totals.moves += 1;
        next.processes[at.index()].step(input, &mut batch.sink());
        next.release(at, &mut batch);
        next
    }

    /// Enumerates all runs that begin with this prefix.
    fn continue_into(&self, fifo: bool, extremes: &mut Extremes) {
        let mut is_end = true;
        for at in (0..self.users.len()).map(ProcessId::from_index) {
            let Some(command) = self.users[at.index()].command() else { continue };
            let mut next = self.clone();
            next.users[at.index()].issue();
            is_end = false;
            self.step(at, Input::Command(command), next).continue_into(fifo, extremes);
        }
        for index in 0..self.in_flight.len() {
            let (from, to, ..) = self.in_flight[index];
            let on_link = |(sender, receiver, ..): &(ProcessId, ProcessId, P::Message, u32)| {
                (*sender, *receiver) == (from, to)
            };
            if fifo && self.in_flight[..index].iter().any(on_link) {
                continue;
            }
            let mut next = self.clone();
            let (_, _, message, chain) = next.in_flight.remove(index);
            next.chains[to.index()] = next.chains[to.index()].max(chain);
            next.totals.received += u32::from(from != to);
            is_end = false;
            self.step(to, Input::Message { from, message }, next).continue_into(fifo, extremes);
        }
        if is_end {
            extremes.add(self.totals, self.chains.iter().copied().max().unwrap_or(0));
        }
    }
}

fn enumerate<P: Protocol, U: Driver<P>>(config: &P::Config, users: Vec<U>, fifo: bool) -> Extremes {
    let none = (u32::MAX, 0);
    let mut extremes = Extremes { runs: 0, sent: none, received: none, time: none, moves: none };
    Prefix::<P, U>::boot(config, users).continue_into(fifo, &mut extremes);
    extremes
}

fn assert_equal<P: Checkable>(check: impl Fn() -> Check<P>, all: &Extremes) {
    let measures = [
        (Measure::Messages, all.sent),
        (Measure::Received, all.received),
        (Measure::CausalChainLength, all.time),
        (Measure::Moves, all.moves),
    ];
    for (measure, expected) in measures {
        let report = check().measure(measure).unwrap_or_else(|error| panic!("{error}"));
        let found = report.exact_minimum().zip(report.exact_maximum());
        assert_eq!(found, Some(expected), "{} of {} runs: {report}", measure.name(), all.runs);
    }
}

#[test]
fn locks_have_the_extremes_of_all_runs() {
    let users = |n: usize| vec![LockUser::Outside; n];
    let all = enumerate::<RicartAgrawala, _>(&Default::default(), users(2), false);
    assert_equal(|| of::<RicartAgrawala>(2), &all);
    let all = enumerate::<Central, _>(&Default::default(), users(2), false);
    assert_equal(|| of::<Central>(2), &all);
    let all = enumerate::<SuzukiKasami, _>(&Default::default(), users(2), false);
    assert_equal(|| of::<SuzukiKasami>(2), &all);
    let mixed = vec![LockUser::Done, LockUser::Outside, LockUser::Outside];
    let all = enumerate::<NaimiTrehel, _>(&Default::default(), mixed, false);
    assert_equal(|| of::<NaimiTrehel>(3).request_limits([0, 1, 1]), &all);
}

#[test]
fn elections_have_the_extremes_of_all_runs() {
    let users = |n: usize| vec![Initiator { starts: true }; n];
    for ids in [&[2, 1][..], &[1, 2]] {
        let config = || chang_roberts::Config::with_ranks(ranks(ids), Variants::none());
        let all = enumerate::<ChangRoberts, _>(&config(), users(ids.len()), true);
        assert_equal(|| with::<ChangRoberts>(ids.len() as u32, config()).fifo(), &all);
    }
    let one =
        vec![Initiator { starts: false }, Initiator { starts: true }, Initiator { starts: true }];
    let config = || chang_roberts::Config::with_ranks(ranks(&[3, 2, 1]), Variants::none());
    let all = enumerate::<ChangRoberts, _>(&config(), one, true);
    let check = || {
        let check = with::<ChangRoberts>(3, config()).fifo();
        check.initiators([ProcessId(1), ProcessId(2)])
    };
    assert_equal(check, &all);
}
