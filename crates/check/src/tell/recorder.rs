//! A run as a trace: the same lines that a simulator or a real node would have written.

use std::collections::BTreeMap;

use tenure_core::{Labelled, ProcessId, Protocol, TICKS_PER_UNIT, VectorClock};
use tenure_trace::state::States;
use tenure_trace::{Heard, Kind, Passage, Pick, Record, Spoken, Who};

use crate::tell::replay::{TIME_PASSES, Taken, What};
use crate::users::user::Checkable;
use crate::world::action::Kind as Step;

/// A message that was sent, as the trace numbers it.
#[derive(Clone, Debug)]
struct Sent<M> {
    /// `None` for one of the application.
    message: Option<M>,
    number: u64,
    session: u64,
    clock: VectorClock,
}

/// Writes down a run, step by step; a step takes one unit of the trace's time.
pub(crate) struct Recorder<P: Protocol> {
    records: Vec<Record>,
    now: u64,
    sessions: Vec<u64>,
    clocks: Vec<VectorClock>,
    numbers: BTreeMap<(ProcessId, ProcessId), u64>,
    /// What is under way, link by link: a list of few, which costs every protocol less to compile
    /// than a map does.
    under_way: Vec<Vec<Sent<P::Message>>>,
    states: States,
    /// Where on its link the message of the next step is, if that was said.
    meant: Option<usize>,
}

impl<P: Checkable> Recorder<P> {
    pub(crate) fn new(size: u32) -> Self {
        Recorder {
            records: Vec::new(),
            now: 0,
            sessions: vec![0; size as usize],
            clocks: vec![VectorClock::new(size); size as usize],
            numbers: BTreeMap::new(),
            under_way: (0..size * size).map(|_| Vec::new()).collect(),
            states: States::default(),
            meant: None,
        }
    }

    /// A process boots, or is down from the start.
    pub(crate) fn boot(
        &mut self,
        at: ProcessId,
        is_down: bool,
        messages: &[(ProcessId, P::Message)],
        events: &[P::Event],
    ) {
        self.note(at, Kind::Boot);
        if is_down {
            self.note(at, Kind::Crash);
            return;
        }
        self.effects(at, messages, events);
    }

    /// A step is taken.
    pub(crate) fn step(&mut self, taken: &Taken<P>, receiver_was_down: bool) {
        let at = taken.at;
        self.now += TICKS_PER_UNIT;
        match (&taken.what, taken.kind) {
            (What::Command(command), _) => {
                self.clocks[at.index()].tick(at);
                self.note(at, Kind::Command(command.asked()));
            }
            (What::Timer(timer), _) => {
                self.note(at, Kind::Timer(format!("{timer:?}")));
            }
            (What::Suspicion(peer, verdict), _) => {
                self.note(at, Kind::Suspicion { peer: *peer, verdict: *verdict });
            }
            (What::Passage(from, to, message), step) => {
                self.passage((*from, *to), message.as_ref(), step, receiver_was_down);
            }
            (What::Split(side), _) => {
                let everybody = (0..self.sessions.len()).map(ProcessId::at);
                let (one, other) = everybody.partition(|at| side & 1 << at.0 != 0);
                self.of_all(Kind::Partition(vec![one, other]));
            }
            (What::Nothing, Step::Crash) => self.note(at, Kind::Crash),
            (What::Unsaved, _) => {
                self.note(at, Kind::Unsaved);
                self.note(at, Kind::Crash);
            }
            (What::Nothing, Step::Mute) => self.note(at, Kind::Mute),
            (What::Nothing, Step::Recover) => {
                self.sessions[at.index()] += 1;
                self.numbers.retain(|(from, _), _| *from != at);
                self.note(at, Kind::Recover);
            }
            (What::Nothing, _) => {
                self.of_all(Kind::Note(TIME_PASSES.to_owned()));
            }
        }
        taken.drawn.iter().for_each(|drawn| self.note(at, Kind::Choice(*drawn)));
        self.effects(at, &taken.messages, &taken.events);
    }

    /// Something happens to the run as a whole.
    pub(crate) fn of_all(&mut self, kind: Kind) {
        self.records.push(Record::new(self.now, Who::Parent, kind));
    }

    /// What a process holds after its boot or a step, if it is up.
    pub(crate) fn state(&mut self, at: ProcessId, state: Option<&P>) {
        let changed = state.and_then(|state| self.states.changed(at, state));
        if let Some(state) = changed {
            self.note(at, state);
        }
    }

    /// The message under way that is picked (`None` for one of the application), if there is one.
    pub(crate) fn picked(&self, pick: &Pick, applications: bool) -> Option<Option<P::Message>> {
        let place = self.place(pick, applications)?;
        Some(self.under_way[self.link(pick.from, pick.to)][place].message.clone())
    }

    /// The next step is about this one, and about none of those that say the same.
    pub(crate) fn mean(&mut self, pick: &Pick, applications: bool) {
        self.meant = self.place(pick, applications);
    }

    fn place(&self, pick: &Pick, applications: bool) -> Option<usize> {
        let link = self.under_way.get(self.link(pick.from, pick.to))?;
        let mut places = (0..link.len()).filter(|at| link[*at].message.is_none() == applications);
        let kind = |message: &P::Message| message.label().kind;
        let named = |at: usize| (pick.from, pick.to, link[at].message.as_ref().map_or("", kind));
        let place = pick.among(places.clone().map(named))?;
        places.nth(place)
    }

    /// The records; what holds now is what holds in the end, if `ended`.
    pub(crate) fn finish(mut self, ended: bool) -> Vec<Record> {
        if ended {
            self.records.push(Record::new(self.now + TICKS_PER_UNIT, Who::Parent, Kind::End));
        }
        self.records
    }

    fn passage(
        &mut self,
        (from, to): (ProcessId, ProcessId),
        message: Option<&P::Message>,
        step: Step,
        receiver_was_down: bool,
    ) {
        if step == Step::Send {
            self.send(from, to, None);
            return;
        }
        let link = self.link(from, to);
        let queue = &mut self.under_way[link];
        let first = || queue.iter().position(|sent| sent.message.as_ref() == message);
        let place = self.meant.take().or_else(first);
        let place = place.expect("what arrives was sent");
        let sent = queue[place].clone();
        if step == Step::Duplicate {
            queue.insert(place, sent.clone());
        } else {
            queue.remove(place);
        }
        let passage = |peer| said(message, peer, sent.session, sent.number);
        match step {
            Step::Lose => self.note(from, Kind::Drop(passage(to))),
            Step::Duplicate => self.note(from, Kind::Duplicate(passage(to))),
            _ if receiver_was_down => self.note(from, Kind::Drop(passage(to))),
            _ => {
                self.clocks[to.index()].merge(&sent.clock);
                self.note(to, Kind::Receive(passage(from)));
            }
        }
    }

    /// The place of a link among all of them.
    fn link(&self, from: ProcessId, to: ProcessId) -> usize {
        from.index() * self.sessions.len() + to.index()
    }

    fn effects(
        &mut self,
        at: ProcessId,
        messages: &[(ProcessId, P::Message)],
        events: &[P::Event],
    ) {
        for event in events {
            self.note(at, Kind::Event(event.told()));
        }
        for (to, message) in messages {
            self.send(at, *to, Some(message.clone()));
        }
    }

    fn send(&mut self, from: ProcessId, to: ProcessId, message: Option<P::Message>) {
        let number = self.numbers.entry((from, to)).or_insert(0);
        *number += 1;
        let (number, session) = (*number, self.sessions[from.index()]);
        let passage = said(message.as_ref(), to, session, number);
        self.note(from, Kind::Send(passage));
        let clock = self.clocks[from.index()].clone();
        let sent = Sent { message, number, session, clock };
        let link = self.link(from, to);
        self.under_way[link].push(sent);
    }

    fn note(&mut self, at: ProcessId, kind: Kind) {
        let asked = matches!(kind, Kind::Command(_));
        let mut record = Record::new(self.now, at, kind).in_session(self.sessions[at.index()]);
        if asked {
            record = record.with_clock(self.clocks[at.index()].clone());
        }
        self.records.push(record);
    }
}

fn said<M>(message: Option<&M>, peer: ProcessId, session: u64, number: u64) -> Passage
where
    M: Labelled + serde::Serialize,
{
    match message {
        Some(message) => Passage::of(message, peer, session, number).saying(message),
        None => Passage::of_applications(peer, session, number),
    }
}
