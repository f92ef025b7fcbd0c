//! One order for the records of many files, found while they are read.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};

use tenure_core::ProcessId;

use super::Seams;
use super::awaited::{Awaited, MessageKey, gives};
use super::feed::{Feed, Next};
use super::memory::Memory;
use crate::format::{Kind, ReadError, Record, Source, Who, now};

/// How far each file is looked into for what somebody waits for: so many records.
pub(crate) const LOOK_AHEAD: usize = 1 << 16;

/// How long a file that is still being written may be silent before the others go on without
/// it: so many nanoseconds. Whatever is causal is waited for however long it takes.
const PATIENCE: u64 = 1_000_000_000;

struct MergedFile<F> {
    feed: F,
    /// Its next records, as far as they were read.
    ahead: VecDeque<Record>,
    source: Source,
    state: State,
    /// Whose the last record was that was read, and of which session.
    last: Option<(ProcessId, u64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// There may be more to read.
    Reading,
    /// There was nothing more the last time.
    Silent,
    /// It was read to its end.
    Ended,
}

/// When the first record of a file wants to happen; the file last.
type Turn = (u64, Who, u64, usize);

/// The records of many files in one order.
pub(crate) struct Merging<F> {
    files: Vec<MergedFile<F>>,
    turns: BinaryHeap<Reverse<Turn>>,
    blocked: HashMap<Awaited, Vec<usize>>,
    memory: Memory,
    look_ahead: usize,
    /// Whether a file has ended since anybody was asked again what it waits for.
    ended: bool,
    /// The last session of each process of which a crash was told.
    crashed: HashMap<ProcessId, u64>,
    unmatched: u64,
    contradictions: u64,
    most_held: usize,
}

impl<F: Feed> Merging<F> {
    /// Of these files, each of which is looked into so far.
    pub(crate) fn new(feeds: impl IntoIterator<Item = (Source, F)>, look_ahead: usize) -> Self {
        let file = |(source, feed)| MergedFile {
            feed,
            ahead: VecDeque::new(),
            source,
            state: State::Silent,
            last: None,
        };
        Merging {
            files: feeds.into_iter().map(file).collect(),
            turns: BinaryHeap::new(),
            blocked: HashMap::new(),
            memory: Memory::default(),
            look_ahead,
            ended: false,
            crashed: HashMap::new(),
            unmatched: 0,
            contradictions: 0,
            most_held: 0,
        }
    }

    pub(crate) fn feeds(&self) -> impl Iterator<Item = &F> {
        self.files.iter().map(|file| &file.feed)
    }

    pub(crate) fn feeds_mut(&mut self) -> impl Iterator<Item = &mut F> {
        self.files.iter_mut().map(|file| &mut file.feed)
    }

    /// What could not be put together.
    pub(crate) fn seams(&self) -> Seams {
        let Merging { unmatched, contradictions, .. } = *self;
        Seams { unmatched, contradictions, ..Seams::default() }
    }

    /// The most records and messages that were ever held at once.
    pub(crate) fn most_held(&self) -> usize {
        self.most_held
    }

    /// The record that happens next.
    pub(crate) fn next(&mut self) -> Result<Next, ReadError> {
        let silent = self.listen()?;
        loop {
            while let Some(Reverse(turn)) = self.turns.peek() {
                let (time, .., file) = *turn;
                if silent && time.saturating_add(PATIENCE) > now() {
                    return Ok(Next::Later);
                }
                self.turns.pop();
                match self.hindrance(file)? {
                    None => return Ok(self.take(file)),
                    Some(awaited) => self.blocked.entry(awaited).or_default().push(file),
                }
            }
            if self.hears_of_crashes()? {
                continue;
            }
            if silent || self.may_go_on()? {
                return Ok(Next::Later);
            }
            if !std::mem::take(&mut self.ended) {
                return Ok(self.contradicted());
            }
            self.reconsider(|_| true);
        }
    }

    /// Whether a parent tells further on of a crash that frees somebody who waits: the record
    /// before that may itself wait for him.
    fn hears_of_crashes(&mut self) -> Result<bool, ReadError> {
        if self.blocked.is_empty() {
            return Ok(false);
        }
        self.look_ahead(None, |source| source == Source::Parent)?;
        let parents = self.files.iter().filter(|file| file.source == Source::Parent);
        let (crashed, now) = (&self.crashed, now());
        let news = |record: &&Record| {
            let at = record.process.process();
            let before = at.and_then(|at| crashed.get(&at));
            record.kind == Kind::Crash
                && before.is_none_or(|before| *before < record.session)
                && record.time.saturating_add(PATIENCE) <= now
        };
        let told = parents.flat_map(|file| &file.ahead).filter(news);
        let told = told.filter_map(|record| Some((record.process.process()?, record.session)));
        let told: Vec<(ProcessId, u64)> = told.collect();
        for (at, session) in &told {
            self.crash(*at, *session);
        }
        Ok(!told.is_empty())
    }

    /// What a process did not write in a session is not waited for any more.
    fn crash(&mut self, at: ProcessId, session: u64) {
        let last = self.crashed.entry(at).or_insert(session);
        *last = session.max(*last);
        self.reconsider(|awaited| matches!(awaited, Awaited::Sending(it) if it.from == at));
    }

    /// Whether there may be more to read of a file, when nobody can go on as far as was read.
    fn may_go_on(&mut self) -> Result<bool, ReadError> {
        if self.blocked.is_empty() {
            return Ok(false);
        }
        for file in self.files.iter_mut().filter(|file| file.state == State::Silent) {
            file.state = State::Reading;
        }
        self.look_ahead(None, |_| true)?;
        Ok(self.files.iter().any(|file| file.state == State::Silent))
    }

    /// All wait for each other, so that only time can decide; or all is told.
    fn contradicted(&mut self) -> Next {
        let turns = self.blocked.values().flatten().filter_map(|file| self.turn(*file));
        let Some((.., first)) = turns.min() else { return Next::End };
        self.contradictions += 1;
        self.blocked.retain(|_, files| {
            files.retain(|file| *file != first);
            !files.is_empty()
        });
        self.take(first)
    }

    /// Reads of every file at least what comes first. Returns whether one is silent.
    fn listen(&mut self) -> Result<bool, ReadError> {
        let mut silent = false;
        for file in 0..self.files.len() {
            let MergedFile { ahead, state, .. } = &mut self.files[file];
            if !ahead.is_empty() || *state == State::Ended {
                continue;
            }
            *state = State::Reading;
            self.read(file)?;
            self.line_up(file);
            silent |= self.files[file].state == State::Silent;
        }
        Ok(silent)
    }

    /// Reads one more record of a file, if there is one.
    fn read(&mut self, file: usize) -> Result<(), ReadError> {
        let MergedFile { feed, ahead, source, state, last } = &mut self.files[file];
        match feed.next()? {
            Next::Record(record) => {
                *last = record.process.process().map(|at| (at, record.session)).or(*last);
                gives(&record, *source == Source::Node).for_each(|given| self.memory.read(given));
                ahead.push_back(record);
            }
            Next::Later => *state = State::Silent,
            Next::End => (*state, self.ended) = (State::Ended, true),
        }
        Ok(())
    }

    /// Reads ahead, until it is known that this is to come, in all files from which it may.
    fn look_ahead(
        &mut self,
        awaited: Option<Awaited>,
        within: impl Fn(Source) -> bool,
    ) -> Result<bool, ReadError> {
        let found = |memory: &Memory| awaited.is_some_and(|awaited| memory.is_to_come(awaited));
        for file in 0..self.files.len() {
            while within(self.files[file].source)
                && self.files[file].state == State::Reading
                && self.files[file].ahead.len() < self.look_ahead
                && !found(&self.memory)
            {
                self.read(file)?;
            }
        }
        let ahead = self.files.iter().map(|file| file.ahead.len()).sum::<usize>();
        self.most_held = self.most_held.max(ahead + self.memory.held());
        Ok(found(&self.memory))
    }

    fn turn(&self, file: usize) -> Option<Turn> {
        let record = self.files[file].ahead.front()?;
        Some((record.time, record.process, record.sequence, file))
    }

    fn line_up(&mut self, file: usize) {
        self.turns.extend(self.turn(file).map(Reverse));
    }

    /// What must have happened before the first record of a file can.
    fn hindrance(&mut self, file: usize) -> Result<Option<Awaited>, ReadError> {
        let MergedFile { ahead, source, .. } = &self.files[file];
        let by_process = *source == Source::Node;
        let Some(record) = ahead.front() else { return Ok(None) };
        let Some(at) = record.process.process() else { return Ok(None) };
        let (session, time) = (record.session, record.time);
        match &record.kind {
            Kind::Receive(passage) => self.sending(MessageKey::received(at, passage)),
            Kind::Crash if !by_process => {
                let writing = Awaited::Writing(at, session);
                let writes = self.memory.is_to_come(writing)
                    || self.look_ahead(Some(writing), |source| source == Source::Node)?;
                Ok(writes.then_some(writing))
            }
            Kind::Boot if by_process => {
                self.look_ahead(None, |it| !matches!(it, Source::Node | Source::Resource))?;
                let crash = self.memory.last_crash(at, time);
                let crash = crash.map(|time| Awaited::Crashing(at, time));
                Ok(crash.filter(|crash| self.memory.is_to_come(*crash)))
            }
            _ => Ok(None),
        }
    }

    /// The sending of a message, if it is still to come.
    fn sending(&mut self, message: MessageKey) -> Result<Option<Awaited>, ReadError> {
        let sending = Awaited::Sending(message);
        if self.memory.was_sent(message) {
            return Ok(None);
        }
        let comes = self.memory.is_to_come(sending)
            || self
                .look_ahead(Some(sending), |it| !matches!(it, Source::Parent | Source::Resource))?
            || self.may_be_written(message);
        self.unmatched += u64::from(!comes);
        Ok(comes.then_some(sending))
    }

    /// Whether the sending of a message may be in a buffer of its sender, who will write it.
    fn may_be_written(&self, message: MessageKey) -> bool {
        let MessageKey { from, session, .. } = message;
        let crashed = self.crashed.get(&from).is_some_and(|crashed| *crashed >= session);
        let writes = |file: &MergedFile<F>| {
            let here = file.last.is_some_and(|(at, last)| at == from && last <= session);
            here && file.source == Source::Node && file.state == State::Silent
        };
        !crashed && self.files.iter().any(writes)
    }

    /// Lets the first record of a file happen, and frees who waited for it.
    fn take(&mut self, file: usize) -> Next {
        let MergedFile { ahead, source, .. } = &mut self.files[file];
        let Some(record) = ahead.pop_front() else { return Next::End };
        let by_process = *source == Source::Node;
        self.most_held = self.most_held.max(self.memory.held());
        for given in gives(&record, by_process) {
            if self.memory.happened(given) {
                self.reconsider(|awaited| *awaited == given);
            }
        }
        self.line_up(file);
        match (&record.kind, record.process.process()) {
            (Kind::Crash, Some(at)) => self.crash(at, record.session),
            (Kind::Boot | Kind::Recover, Some(at)) => {
                self.reconsider(|awaited| matches!(awaited, Awaited::Sending(it) if it.from == at));
            }
            _ => {}
        }
        Next::Record(record)
    }

    /// Asks those again who wait for this.
    fn reconsider(&mut self, waits_for: impl Fn(&Awaited) -> bool) {
        if self.blocked.is_empty() {
            return;
        }
        let freed: Vec<usize> =
            self.blocked.extract_if(|awaited, _| waits_for(awaited)).flat_map(|it| it.1).collect();
        freed.into_iter().for_each(|file| self.line_up(file));
    }
}
