//! Recorder of a run. It writes the trace, and checks the properties that users wrote as
//! expressions.

use std::fmt;
use std::io::Write;

use tenure_core::{Finding, ProcessId, Service, VectorClock};
use tenure_trace::property::PropertyJudge;
use tenure_trace::state::StateRecorder;
use tenure_trace::{Header, MessageRecord, Record, RecordKind, RecordSubject, WriteError, Writer};

use crate::settings::Settings;

pub(crate) struct TraceRecorder {
    /// Writer of the trace. `None` if the run only checks properties.
    writer: Option<Writer<Box<dyn Write + Send>>>,
    /// True if the trace contains the states of the processes.
    writes_states: bool,
    /// Judge of the properties that users wrote as expressions. `None` if there are none.
    judge: Option<PropertyJudge>,
    /// First error of a write. After this error, the recorder ignores all further records.
    error: Option<WriteError>,
    /// Trace data of the messages in flight. `free` lists the places without data.
    messages: Vec<TracedMessage>,
    free: Vec<u32>,
    /// Number of messages that were sent so far. It is also the number of the last message in the
    /// trace.
    numbers: u64,
    /// Number of events that the processes have emitted for their users.
    emitted_event_count: u64,
    /// Last recorded state of each process. `None` if neither the trace nor a property needs
    /// states.
    pub(crate) states: Option<StateRecorder>,
}

/// Trace data of a message in flight. When the message arrives, is lost or is duplicated, the
/// recorder writes a record with these data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TracedMessage {
    /// Number of the message in the trace, from 1.
    pub(crate) number: u64,
    /// Session of the sender when it sent the message.
    pub(crate) session: u64,
    /// Cell of the vector clocks that the message carries. `None` if the run keeps no clocks.
    pub(crate) clock: Option<u32>,
    /// Number of copies of the message in flight.
    copies: u32,
}

impl TraceRecorder {
    pub(crate) fn new(
        to: Box<dyn Write + Send>,
        header: &Header,
        writes_states: bool,
    ) -> Result<Self, WriteError> {
        let writer = Writer::new(to, header)?;
        Ok(TraceRecorder { writer: Some(writer), ..TraceRecorder::without_writer(writes_states) })
    }

    pub(crate) fn without_writer(writes_states: bool) -> Self {
        TraceRecorder {
            writer: None,
            writes_states,
            judge: None,
            error: None,
            messages: Vec::new(),
            free: Vec::new(),
            numbers: 0,
            emitted_event_count: 0,
            states: writes_states.then(StateRecorder::default),
        }
    }

    /// Makes the recorder check the properties that users wrote as expressions in the settings.
    /// Does nothing if there are none.
    pub(crate) fn judging_custom_properties(
        mut self,
        settings: &Settings,
        service: Service,
    ) -> Self {
        let custom = &settings.monitoring.custom;
        if custom.is_empty() {
            return self;
        }
        self.judge = Some(PropertyJudge::new(custom, settings.size, service, &settings.down));
        if self.states.is_none() && custom.iter().any(|property| property.inputs().states) {
            self.states = Some(StateRecorder::default());
        }
        self
    }

    /// Finishes the check of the properties that users wrote as expressions, and returns the
    /// findings. Only the first call returns findings. `is_conclusive` is false if the run was cut
    /// short.
    pub(crate) fn finish_custom_judging(&mut self, is_conclusive: bool) -> Vec<Finding> {
        self.judge.take().map_or_else(Vec::new, |judge| judge.finish(is_conclusive))
    }

    pub(crate) fn record(
        &mut self,
        time: u64,
        who: impl Into<RecordSubject>,
        session: u64,
        kind: RecordKind,
        clock: Option<VectorClock>,
    ) {
        if self.error.is_some() {
            return;
        }
        self.emitted_event_count += u64::from(matches!(kind, RecordKind::Event(_)));
        let record = Record { clock, ..Record::new(time, who, kind).in_session(session) };
        if let Some(judge) = &mut self.judge {
            judge.apply_record(&record);
        }
        let is_written = self.writes_states || !matches!(record.kind, RecordKind::State(_));
        if let Some(writer) = self.writer.as_mut().filter(|_| is_written) {
            self.error = writer.write(record).err();
        }
    }

    /// Gives a new message the next number, and stores the trace data of the message. Returns the
    /// index of these data. `session` is the session of the sender, and `clock` is the cell with
    /// the clocks that the message carries.
    pub(crate) fn add_message(&mut self, session: u64, clock: Option<u32>) -> u32 {
        self.numbers += 1;
        let traced = TracedMessage { number: self.numbers, session, clock, copies: 1 };
        if let Some(place) = self.free.pop() {
            self.messages[place as usize] = traced;
            return place;
        }
        self.messages.push(traced);
        u32::try_from(self.messages.len() - 1).expect("fewer than 2^32 messages are in flight")
    }

    pub(crate) fn traced_message(&self, index: u32) -> TracedMessage {
        self.messages[index as usize]
    }

    pub(crate) fn add_copy(&mut self, index: u32) {
        self.messages[index as usize].copies += 1;
    }

    /// Records that one copy of a message is no longer in flight. `index` is the index of the trace
    /// data of the message. Returns these data. After the last copy, another message may use the
    /// index.
    pub(crate) fn remove_copy(&mut self, index: u32) -> TracedMessage {
        let place = &mut self.messages[index as usize];
        place.copies -= 1;
        let known = *place;
        if known.copies == 0 {
            self.free.push(index);
        }
        known
    }

    /// Returns the number of records in the trace; 0 if the run writes no trace.
    pub(crate) fn record_count(&self) -> u64 {
        self.writer.as_ref().map_or(0, Writer::last_sequence)
    }

    /// Returns the number of events that the processes have emitted for their users so far.
    pub(crate) const fn emitted_event_count(&self) -> u64 {
        self.emitted_event_count
    }

    pub(crate) fn finish(mut self) -> Result<(), WriteError> {
        match (self.error.take(), self.writer) {
            (Some(error), _) => Err(error),
            (None, Some(mut writer)) => writer.flush(),
            (None, None) => Ok(()),
        }
    }
}

impl TracedMessage {
    /// Returns the content of a trace record about this message. `peer` is the process at the other
    /// end of the link.
    pub(crate) fn message_record(
        self,
        message: &(impl tenure_core::Labelled + serde::Serialize),
        peer: ProcessId,
    ) -> MessageRecord {
        MessageRecord::new(message, peer, self.session, self.number).with_content(message)
    }
}

impl fmt::Debug for TraceRecorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").field("numbers", &self.numbers).finish_non_exhaustive()
    }
}
