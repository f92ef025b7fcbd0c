//! What one node writes down.

use std::fmt::Debug;
use std::sync::mpsc::Sender;

use tenure_core::{Labelled, Layer, ProcessId, VectorClock};
use tenure_trace::state::States;
use tenure_trace::{CreateError, Kind, Passage, Record, Segments, WriteError, Writer, now};

/// Writes one process's trace, or nothing.
///
/// Heartbeats are left out: they would drown everything else.
#[derive(Debug)]
pub struct Recorder {
    writer: Option<Writer>,
    /// Where the trace goes on when a file is long enough.
    segments: Option<Segments>,
    clocks: bool,
    /// The states that were written, where they are wanted.
    states: Option<States>,
    /// Who is told of every record besides.
    watcher: Option<Sender<Record>>,
}

impl Recorder {
    /// Writes nothing.
    pub fn none() -> Self {
        Recorder { writer: None, segments: None, clocks: false, states: None, watcher: None }
    }

    /// Writes to `writer`, with a vector clock on every record if `clocks`.
    pub fn to(writer: Writer, clocks: bool) -> Self {
        Recorder { writer: Some(writer), segments: None, clocks, states: None, watcher: None }
    }

    /// The same, going on in another file whenever one is long enough: `writer` was that of the
    /// current one.
    #[must_use]
    pub fn in_segments(mut self, segments: Segments) -> Self {
        self.segments = Some(segments);
        self
    }

    /// The same with what the process holds after each step that changed it.
    #[must_use]
    pub fn with_states(mut self) -> Self {
        self.states = Some(States::default());
        self
    }

    /// The same with a watcher who is told of every record, for as long as it listens.
    #[must_use]
    pub fn watched_by(mut self, watcher: Sender<Record>) -> Self {
        self.watcher = Some(watcher);
        self
    }

    pub(crate) fn keeps_clocks(&self) -> bool {
        self.clocks && self.writer.is_some()
    }

    fn flush(&mut self) -> Result<(), WriteError> {
        let Some(writer) = &mut self.writer else { return Ok(()) };
        writer.flush()?;
        let turned = self.segments.as_mut().map_or(Ok(()), |segments| segments.turn(writer));
        turned.map_err(|CreateError { error, .. }| WriteError(error))
    }

    pub(crate) fn is_on(&self) -> bool {
        self.writer.is_some() || self.watcher.is_some()
    }
}

/// One process as its records show it.
#[derive(Debug)]
pub(crate) struct Diary {
    recorder: Recorder,
    me: ProcessId,
    session: u64,
    clock: Option<VectorClock>,
}

impl Diary {
    pub(crate) fn new(recorder: Recorder, me: ProcessId, size: u32, session: u64) -> Self {
        let clock = recorder.keeps_clocks().then(|| VectorClock::new(size));
        Diary { recorder, me, session, clock }
    }

    /// Whether anything is written down.
    pub(crate) fn is_on(&self) -> bool {
        self.recorder.is_on()
    }

    /// How something is told, where it is to be written down: what has many bytes is long in words.
    pub(crate) fn told<T>(&self, tell: impl FnOnce() -> T) -> Option<T> {
        self.is_on().then(tell)
    }

    /// Writes down that something happened now.
    pub(crate) fn note(&mut self, kind: Kind) -> Result<(), WriteError> {
        if let Some(clock) = &mut self.clock {
            clock.tick(self.me);
        }
        if !self.recorder.is_on() {
            return Ok(());
        }
        let mut record = Record::new(now(), self.me, kind).in_session(self.session);
        record.clock.clone_from(&self.clock);
        if let Some(watcher) = &self.recorder.watcher {
            // Whoever has gone away does not want to know.
            let _ = watcher.send(record.clone());
        }
        let writer = self.recorder.writer.as_mut();
        writer.map_or(Ok(()), |writer| writer.write(record).map(|_| ()))
    }

    /// Writes down a message sent or received, unless it is the detector's.
    pub(crate) fn note_passage(
        &mut self,
        message: &impl Labelled,
        peer: ProcessId,
        session: u64,
        number: u64,
        kind: fn(Passage) -> Kind,
    ) -> Result<(), WriteError> {
        let passage = self.passage(message, peer, session, number, kind);
        passage.map_or(Ok(()), |passage| self.note(passage))
    }

    /// What is to be written down of a message sent or received.
    pub(crate) fn passage(
        &self,
        message: &impl Labelled,
        peer: ProcessId,
        session: u64,
        number: u64,
        kind: fn(Passage) -> Kind,
    ) -> Option<Kind> {
        let told = self.recorder.is_on() && message.label().layer != Layer::Detector;
        told.then(|| kind(Passage::of(message, peer, session, number)))
    }

    /// What is to be written down of what the process holds now, where that is wanted and news.
    pub(crate) fn state(&mut self, state: &impl Debug) -> Option<Kind> {
        let (states, me) = (self.recorder.states.as_mut(), self.me);
        states.and_then(|states| states.changed(me, state))
    }

    /// Takes in what the sender of a message knew.
    pub(crate) fn learn(&mut self, theirs: Option<&VectorClock>) {
        if let (Some(mine), Some(theirs)) = (&mut self.clock, theirs) {
            mine.merge(theirs);
        }
    }

    pub(crate) fn flush(&mut self) -> Result<(), WriteError> {
        self.recorder.flush()
    }

    pub(crate) fn clock(&self) -> Option<VectorClock> {
        self.clock.clone()
    }
}
