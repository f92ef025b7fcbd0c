//! Destination and writer of the trace of one node.

use std::fmt::Debug;
use std::sync::mpsc::Sender;

use tenure_core::{Labelled, Layer, ProcessId, VectorClock};
use tenure_trace::state::StateRecorder;
use tenure_trace::{
    CreateError, MessageRecord, Record, RecordKind, TraceSegments, WriteError, Writer,
    unix_time_nanos,
};

/// Destination of the trace of one process.
///
/// Messages of failure detectors, such as heartbeats, are not recorded because they would outnumber
/// all other records.
#[derive(Debug)]
pub struct TraceSink {
    writer: Option<Writer>,
    /// Source of the next files of the trace. `None` if the trace has a single file.
    segments: Option<TraceSegments>,
    clocks: bool,
    /// Last recorded state of the process. `None` if the trace does not include states.
    states: Option<StateRecorder>,
    watcher: Option<Sender<Record>>,
}

impl TraceSink {
    /// Creates a sink that records nothing.
    pub fn none() -> Self {
        TraceSink { writer: None, segments: None, clocks: false, states: None, watcher: None }
    }

    /// Creates a sink that writes to `writer`. If `has_clocks` is true, each record has a vector
    /// clock.
    pub fn writing_to(writer: Writer, has_clocks: bool) -> Self {
        TraceSink {
            writer: Some(writer),
            segments: None,
            clocks: has_clocks,
            states: None,
            watcher: None,
        }
    }

    /// Makes the sink continue the trace in the next segment whenever a file is full. The writer of
    /// the sink must belong to the current segment of `segments`.
    #[must_use]
    pub fn with_segments(mut self, segments: TraceSegments) -> Self {
        self.segments = Some(segments);
        self
    }

    /// Makes the sink add the state of the process to the trace after each step that changed
    /// the state.
    #[must_use]
    pub fn with_states(mut self) -> Self {
        self.states = Some(StateRecorder::default());
        self
    }

    /// Makes the sink send a copy of each record to `watcher`, until the receiver of `watcher`
    /// is dropped.
    #[must_use]
    pub fn with_watcher(mut self, watcher: Sender<Record>) -> Self {
        self.watcher = Some(watcher);
        self
    }

    pub(crate) fn has_clocks(&self) -> bool {
        self.clocks && self.writer.is_some()
    }

    pub(crate) fn is_enabled(&self) -> bool {
        self.writer.is_some() || self.watcher.is_some()
    }
}

/// Trace of one process, with the current vector clock of the process.
#[derive(Debug)]
pub(crate) struct TraceWriter {
    sink: TraceSink,
    me: ProcessId,
    session: u64,
    clock: Option<VectorClock>,
}

impl TraceWriter {
    pub(crate) fn new(sink: TraceSink, me: ProcessId, size: u32, session: u64) -> Self {
        let clock = sink.has_clocks().then(|| VectorClock::new(size));
        TraceWriter { sink, me, session, clock }
    }

    pub(crate) fn is_enabled(&self) -> bool {
        self.sink.is_enabled()
    }

    /// If recording is enabled, calls `describe` and returns the result. Otherwise returns `None`
    /// without the cost of calling `describe`.
    pub(crate) fn describe_if_enabled<T>(&self, describe: impl FnOnce() -> T) -> Option<T> {
        self.is_enabled().then(describe)
    }

    pub(crate) fn record(&mut self, kind: RecordKind) -> Result<(), WriteError> {
        if let Some(clock) = &mut self.clock {
            clock.tick(self.me);
        }
        if !self.sink.is_enabled() {
            return Ok(());
        }
        let mut entry = Record::new(unix_time_nanos(), self.me, kind).in_session(self.session);
        entry.clock.clone_from(&self.clock);
        if let Some(watcher) = &self.sink.watcher {
            // The watcher may have gone.
            let _ = watcher.send(entry.clone());
        }
        let writer = self.sink.writer.as_mut();
        writer.map_or(Ok(()), |writer| writer.write(entry).map(|_| ()))
    }

    /// Records a message in the trace. Does nothing if the message belongs to a failure detector.
    /// For a sent message, `session` is 0.
    pub(crate) fn record_message(
        &mut self,
        message: &impl Labelled,
        peer: ProcessId,
        session: u64,
        number: u64,
        kind: fn(MessageRecord) -> RecordKind,
    ) -> Result<(), WriteError> {
        let kind = self.recorded_message_kind(message, peer, session, number, kind);
        kind.map_or(Ok(()), |kind| self.record(kind))
    }

    /// Returns the record of a message. Returns `None` if recording is disabled, or if the message
    /// belongs to a failure detector.
    pub(crate) fn recorded_message_kind(
        &self,
        message: &impl Labelled,
        peer: ProcessId,
        session: u64,
        number: u64,
        kind: fn(MessageRecord) -> RecordKind,
    ) -> Option<RecordKind> {
        let is_recorded = self.sink.is_enabled() && message.label().layer != Layer::Detector;
        is_recorded.then(|| kind(MessageRecord::new(message, peer, session, number)))
    }

    /// Returns a record of the state. Returns `None` if states are not recorded, or if the state
    /// equals the state at the last call.
    pub(crate) fn state_record_if_changed(&mut self, state: &impl Debug) -> Option<RecordKind> {
        let (states, me) = (self.sink.states.as_mut(), self.me);
        states.and_then(|states| states.state_record_if_changed(me, state))
    }

    pub(crate) fn merge_clock(&mut self, theirs: Option<&VectorClock>) {
        if let (Some(mine), Some(theirs)) = (&mut self.clock, theirs) {
            mine.merge(theirs);
        }
    }

    /// Flushes the trace. If the trace has several files and the present file is full, begins the
    /// next file.
    pub(crate) fn flush(&mut self) -> Result<(), WriteError> {
        let TraceSink { writer: Some(writer), segments, .. } = &mut self.sink else {
            return Ok(());
        };
        writer.flush()?;
        let rotated = segments.as_mut().map_or(Ok(()), |segments| segments.rotate_if_full(writer));
        rotated.map_err(|CreateError { error, .. }| WriteError(error))
    }

    pub(crate) fn clock(&self) -> Option<VectorClock> {
        self.clock.clone()
    }
}
