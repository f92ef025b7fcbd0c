//! From records to a layout, one record at a time.

use std::borrow::Cow;
use std::collections::HashMap;

use tenure_core::{Layer, ProcessId};

use super::layout::{Crossing, Fate, Layout, Mark, Step};
use super::spans::Spans;
use super::view::{Clock, Scale, View};
use super::{events, labels};
use crate::fold::standing::{Change, Hold, Sort, Standings};
use crate::format::{ClockUnit, Header, Kind, Passage, Record, Source, Told, Who};
use crate::merge::MessageKey;
use crate::plain::plain;
use crate::show::splits;
use crate::verify::{Judge, Verification};

/// Takes records one by one, and keeps what lies in the window.
///
/// Of what happened before, only what still lasts is kept, and clocks where they are asked for:
/// a window of a long trace takes little memory.
#[derive(Debug)]
pub struct Reading {
    layout: Layout,
    judge: Judge,
    /// The time of the first record, in ticks since the beginning of the trace.
    first: u64,
    /// The time that is told as 0.
    start: Option<u64>,
    kept: u64,
    standings: Standings,
    spans: Spans,
    processes: Vec<Process>,
    /// Messages in the window, by key: the crossings whose end is not known yet, and the last.
    under_way: HashMap<MessageKey, Vec<usize>>,
    /// The kinds of messages, by layer and name, as they were first met.
    kinds: HashMap<(Layer, Cow<'static, str>), usize>,
    /// The clocks that messages carry.
    carried: HashMap<MessageKey, Vec<u64>>,
    /// What nothing later may be placed before: the last change of the network.
    barrier: Option<(u64, u64)>,
    latest: Option<(u64, u64)>,
    numbered: u64,
}

/// What is known of a process while its records are read.
#[derive(Clone, Debug, Default)]
struct Process {
    /// The step that effects belong to.
    current: Current,
    /// The time of that step.
    time: u64,
    /// The last step's place on the scale, if it lies in the window.
    moment: Option<(u64, u64)>,
    clock: Vec<u64>,
}

/// The step that effects belong to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Current {
    /// None: what the process does next, it does by itself.
    #[default]
    Nothing,
    /// Its boot, which is no step until it does something.
    Booting,
    /// A step, if it lies in the window.
    Step(Option<usize>),
}

impl Reading {
    /// Begins to read a trace with this header.
    pub fn new(header: &Header, view: View) -> Self {
        let counts = match view.clock {
            Clock::None => 0,
            Clock::Lamport => 1,
            Clock::Vector => header.n as usize,
        };
        let process = Process { clock: vec![0; counts], ..Process::default() };
        Reading {
            judge: Judge::new(header),
            first: 0,
            start: (header.clock == ClockUnit::Tick).then_some(0),
            kept: 0,
            standings: Standings::default(),
            spans: Spans::default(),
            processes: vec![process; header.n as usize],
            under_way: HashMap::new(),
            kinds: HashMap::new(),
            carried: HashMap::new(),
            barrier: None,
            latest: None,
            numbered: 0,
            layout: Layout {
                header: header.clone(),
                view,
                steps: Vec::new(),
                crossings: Vec::new(),
                spans: Vec::new(),
                regions: Vec::new(),
                crimes: Vec::new(),
                records: 0,
                shown: None,
                goes_on: false,
                along: Vec::new(),
            },
        }
    }

    /// Reads the next record.
    pub fn read(&mut self, record: &Record) {
        self.judge.read(record);
        self.layout.records += 1;
        let number = self.layout.records;
        let start = *self.start.get_or_insert(record.time);
        let time = record.time.saturating_sub(start);
        if number == 1 {
            self.first = time;
        }
        let shows = self.layout.view.window.shows(number, time, self.kept);
        if shows {
            self.kept += 1;
            let first = self.layout.shown.map_or(number, |(first, _)| first);
            self.layout.shown = Some((first, number));
        } else if self.kept > 0 {
            self.layout.goes_on = true;
            return;
        }
        let seen = Seen { record, time, number, shows };
        match record.process {
            Who::Process(at) if at.index() < self.processes.len() => self.of_process(at, seen),
            _ => self.of_nobody(seen),
        }
    }

    /// What was read.
    pub fn finish(self) -> Layout {
        self.judged().0
    }

    /// The same, and what is thought of the whole run.
    pub fn judged(mut self) -> (Layout, Verification) {
        let all = matches!(self.layout.header.source, Source::Simulator | Source::Checker);
        let everybody = || (0..self.processes.len()).map(ProcessId::at);
        let booted = |at: &ProcessId| self.standings.of(*at).session.is_some();
        if all && everybody().any(|at| booted(&at)) {
            for at in everybody().filter(|at| !booted(at)) {
                self.spans.crash(at, None);
            }
        }
        let (spans, regions) = self.spans.finish();
        let mut layout = Layout { spans, regions, ..self.layout };
        layout.place_columns();
        let verification = self.judge.finish();
        layout.find_crimes(&verification, self.first);
        (layout, verification)
    }

    fn of_nobody(&mut self, seen: Seen<'_>) {
        match &seen.record.kind {
            Kind::Partition(sides) => {
                let says = format!("partition {}", splits(sides));
                let step = self.network(seen, Mark::Network(says));
                self.spans.split(sides.clone(), step);
            }
            Kind::Heal => {
                let step = self.network(seen, Mark::Network("whole again".to_owned()));
                self.spans.heal(step);
            }
            Kind::Note(text) => drop(self.network(seen, Mark::Note(text.clone()))),
            Kind::Access(access) => {
                if let Some(says) = events::refused(access) {
                    self.step(Some(access.by), seen, Mark::Note(says), None);
                }
            }
            _ => {}
        }
    }

    /// Something that happens to all: whatever follows it is placed behind it.
    fn network(&mut self, seen: Seen<'_>, mark: Mark) -> Option<usize> {
        let after = self.latest;
        let step = self.step(None, seen, mark, after);
        self.barrier = self.latest;
        step
    }

    fn of_process(&mut self, at: ProcessId, seen: Seen<'_>) {
        let changes = self.standings.read(seen.record);
        let kind = &seen.record.kind;
        let step = match kind {
            Kind::Event(told) => {
                let step = self.effect(at, seen);
                if let Told::Agreement(event) = told {
                    self.change(step, |step| step.agrees.push(event.to_string()));
                }
                step
            }
            Kind::Send(passage) => return self.send(at, seen, passage),
            Kind::Receive(passage) => return self.receive(at, seen, passage),
            Kind::Drop(passage) => return self.lose(at, seen, passage),
            Kind::Duplicate(passage) => return self.duplicate(at, seen, passage),
            Kind::Boot if changes.contains(&Change::Boots) => {
                let process = &mut self.processes[at.index()];
                (process.current, process.time) = (Current::Booting, seen.time);
                return;
            }
            Kind::Boot | Kind::Recover => return self.starts(at, seen, &changes),
            // Down from the start: its boot was its end.
            Kind::Crash if self.is_booting(at, seen.time) => {
                self.processes[at.index()].current = Current::Nothing;
                return self.spans.crash(at, None);
            }
            Kind::Crash => {
                let step = self.begin(at, seen, Mark::Crashes, None);
                return self.spans.crash(at, step);
            }
            Kind::Note(text) => {
                let after = self.processes[at.index()].moment;
                self.step(Some(at), seen, Mark::Note(text.clone()), after)
            }
            _ => match events::words(kind) {
                Some(words) => self.begin(at, seen, Mark::Says(words), None),
                None => return,
            },
        };
        for change in changes {
            self.spans.hear(at, change, step);
            self.change(step, |step| match change {
                Change::Begins(Hold::Inside) => step.enters = true,
                Change::Ends(Hold::Inside, _) => step.exits = true,
                Change::Believes(leader) => step.leader = leader.or(step.leader),
                _ => {}
            });
        }
    }

    /// A process is back, unless that was said already.
    fn starts(&mut self, at: ProcessId, seen: Seen<'_>, changes: &[Change]) {
        if changes.iter().any(|change| matches!(change, Change::Boots | Change::Recovers)) {
            let step = self.begin(at, seen, Mark::Recovers, None);
            if !self.spans.is_down(at) {
                self.spans.crash(at, step);
            }
            self.spans.end(at, Sort::Down, step);
        }
    }

    fn send(&mut self, at: ProcessId, seen: Seen<'_>, passage: &Passage) {
        let step = if passage.layer == Layer::Application {
            self.begin(at, seen, Mark::Says(format!("tells {}", passage.peer)), None)
        } else {
            self.effect(at, seen)
        };
        let key = MessageKey::sent(at, seen.record.session, passage);
        if self.layout.view.clock != Clock::None {
            self.carried.insert(key, self.processes[at.index()].clock.clone());
        }
        let token = events::carries_token(passage);
        if token {
            self.spans.give_token(at, step);
        }
        if step.is_none() {
            self.kind(passage);
        } else {
            let crossing = self.crossing((at, passage.peer), passage, step);
            self.under_way.entry(key).or_default().push(crossing);
        }
    }

    fn receive(&mut self, at: ProcessId, seen: Seen<'_>, passage: &Passage) {
        let key = MessageKey::received(at, passage);
        let crossing = seen.shows.then(|| self.arriving(key, at, passage));
        let sent = crossing.and_then(|crossing| self.layout.crossings[crossing].sent);
        if let Some(carried) = self.carried.get(&key) {
            let mine = &mut self.processes[at.index()].clock;
            mine.iter_mut().zip(carried).for_each(|(mine, theirs)| *mine = (*mine).max(*theirs));
        }
        let after = sent.map(|sent| self.layout.steps[sent].moment);
        let step = self.begin(at, seen, Mark::Receives, after);
        if let (Some(crossing), Some(place)) = (crossing, step) {
            let arrived = &mut self.layout.crossings[crossing];
            (arrived.ended, arrived.fate) = (step, Fate::Arrives);
            self.layout.steps[place].received = Some(crossing);
        }
        if events::carries_token(passage) {
            self.spans.get_token(at, step);
        }
    }

    /// The crossing that ends now: the oldest whose end is not known; a copy of the last, when
    /// more arrive than were sent; one from outside of the window, when none was sent in it.
    fn arriving(&mut self, key: MessageKey, at: ProcessId, passage: &Passage) -> usize {
        let crossings = &self.layout.crossings;
        let known = self.under_way.get(&key).map_or(&[][..], Vec::as_slice);
        let open = known.iter().find(|place| crossings[**place].fate == Fate::UnderWay);
        match (open, known.last()) {
            (Some(open), _) => *open,
            (None, Some(last)) => {
                let copy = crossings[*last].clone();
                self.layout.crossings.push(copy);
                self.layout.crossings.len() - 1
            }
            (None, None) => self.crossing((passage.peer, at), passage, None),
        }
    }

    /// The number of a kind of message.
    fn kind(&mut self, passage: &Passage) -> usize {
        let next = self.kinds.len();
        *self.kinds.entry((passage.layer, passage.message.clone())).or_insert(next)
    }

    fn crossing(
        &mut self,
        (from, to): (ProcessId, ProcessId),
        passage: &Passage,
        sent: Option<usize>,
    ) -> usize {
        let kind = self.kind(passage);
        let content = passage.content.as_deref();
        let fields = &self.layout.view.fields;
        let says = content.map_or_else(String::new, |content| labels::says(content, fields));
        self.layout.crossings.push(Crossing {
            from,
            to,
            message: plain(&passage.message).into_owned().into(),
            layer: passage.layer,
            kind,
            says: plain(&says).into_owned(),
            sent,
            ended: None,
            fate: Fate::UnderWay,
            token: events::carries_token(passage),
        });
        self.layout.crossings.len() - 1
    }

    fn lose(&mut self, at: ProcessId, seen: Seen<'_>, passage: &Passage) {
        if !seen.shows {
            self.numbered += 1;
            return;
        }
        let key = MessageKey::sent(at, passage.session, passage);
        let known = self.under_way.get(&key).map_or(&[][..], Vec::as_slice);
        // A copy that is sent and lost in the same breath is the last that was sent.
        let mut open = known.iter().rev();
        let open =
            open.find(|place| self.layout.crossings[**place].fate == Fate::UnderWay).copied();
        let place = open.unwrap_or_else(|| self.crossing((at, passage.peer), passage, None));
        let sent = self.layout.crossings[place].sent;
        let after = sent.map(|sent| self.layout.steps[sent].moment);
        let step = self.step(Some(at), seen, Mark::Loses(place), after);
        let lost = &mut self.layout.crossings[place];
        (lost.ended, lost.fate) = (step, Fate::Lost);
    }

    fn duplicate(&mut self, at: ProcessId, seen: Seen<'_>, passage: &Passage) {
        if !seen.shows {
            self.numbered += 1;
            return;
        }
        let key = MessageKey::sent(at, passage.session, passage);
        let original = self.under_way.get(&key).and_then(|known| known.first()).copied();
        let sent = original.and_then(|place| self.layout.crossings[place].sent);
        let copy = self.crossing((at, passage.peer), passage, sent);
        self.under_way.entry(key).or_default().push(copy);
        let after = sent.map(|sent| self.layout.steps[sent].moment);
        self.step(Some(at), seen, Mark::Duplicates(copy), after);
    }

    /// Whether a process has done nothing but boot, at this very time.
    fn is_booting(&self, at: ProcessId, time: u64) -> bool {
        let process = &self.processes[at.index()];
        match process.current {
            Current::Nothing => self.standings.of(at).session.is_none(),
            Current::Booting => process.time == time,
            Current::Step(_) => false,
        }
    }

    /// Whether a process is in the middle of a step.
    fn is_at_work(&self, at: ProcessId, time: u64) -> bool {
        let process = &self.processes[at.index()];
        let at_once = self.layout.header.clock == ClockUnit::Nanosecond || process.time == time;
        matches!(process.current, Current::Step(_)) && at_once
    }

    /// The step that an effect belongs to: the current one, or one of its own.
    fn effect(&mut self, at: ProcessId, seen: Seen<'_>) -> Option<usize> {
        let process = &self.processes[at.index()];
        let mark = match process.current {
            Current::Step(step) if self.is_at_work(at, seen.time) => {
                // What the window cuts in two belongs to its second part as well.
                if step.is_some() || !seen.shows {
                    self.change(step, |step| step.words.push(seen.record.in_words()));
                    return step;
                }
                Mark::Acts
            }
            Current::Booting => says(&Kind::Boot),
            _ => Mark::Acts,
        };
        self.begin(at, seen, mark, None)
    }

    /// A process takes a step.
    fn begin(
        &mut self,
        at: ProcessId,
        seen: Seen<'_>,
        mark: Mark,
        after: Option<(u64, u64)>,
    ) -> Option<usize> {
        let process = &mut self.processes[at.index()];
        match self.layout.view.clock {
            Clock::None => {}
            Clock::Lamport => process.clock[0] += 1,
            Clock::Vector => process.clock[at.index()] += 1,
        }
        let after = after.max(process.moment);
        let step = self.step(Some(at), seen, mark, after);
        let process = &mut self.processes[at.index()];
        process.current = Current::Step(step);
        process.time = seen.time;
        if let Some(place) = step {
            let step = &mut self.layout.steps[place];
            process.moment = Some(step.moment);
            step.clock.clone_from(&process.clock);
        }
        step
    }

    /// Puts down a step, if it lies in the window.
    fn step(
        &mut self,
        at: Option<ProcessId>,
        seen: Seen<'_>,
        mark: Mark,
        after: Option<(u64, u64)>,
    ) -> Option<usize> {
        let counts = !matches!(mark, Mark::Note(_)) && seen.record.kind != Kind::Boot;
        let counts = counts && mark != says(&Kind::Boot);
        self.numbered += u64::from(counts);
        if !seen.shows {
            return None;
        }
        let causal = self.layout.view.scale == Scale::Causal;
        let moment = (if causal { 0 } else { seen.time }, 0);
        let next = |(time, chain): (u64, u64)| (time, chain + 1);
        let moment = after.map_or(moment, |after| moment.max(next(after)));
        let moment = self.barrier.map_or(moment, |barrier| moment.max(next(barrier)));
        self.latest = self.latest.max(Some(moment));
        self.layout.steps.push(Step {
            at,
            time: seen.time,
            record: seen.number,
            mark: mark.plain(),
            words: vec![seen.record.in_words()],
            leader: None,
            enters: false,
            exits: false,
            agrees: Vec::new(),
            received: None,
            number: counts.then_some(self.numbered),
            moment,
            column: 0,
            clock: Vec::new(),
        });
        Some(self.layout.steps.len() - 1)
    }

    fn change(&mut self, step: Option<usize>, change: impl FnOnce(&mut Step)) {
        if let Some(step) = step {
            change(&mut self.layout.steps[step]);
        }
    }
}

/// A record, and where it stands.
#[derive(Clone, Copy, Debug)]
struct Seen<'r> {
    record: &'r Record,
    /// In ticks since the beginning of the trace.
    time: u64,
    number: u64,
    shows: bool,
}

fn says(kind: &Kind) -> Mark {
    events::words(kind).map_or(Mark::Acts, Mark::Says)
}
