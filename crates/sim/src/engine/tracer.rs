//! Vector clocks and trace records of a run.

use tenure_core::ProcessId;
use tenure_trace::{RecordKind, RecordSubject};

use crate::judging::causality::{CausalityScope, VectorClocks};
use crate::steer::recorder::TraceRecorder;

/// Vector clocks and trace of a run. Each message in flight has a tag. The tag is a number that
/// refers to the vector clocks of the message and to its trace data.
#[derive(Debug)]
pub(crate) struct Tracer {
    /// `None` if the run keeps no vector clocks.
    pub(crate) causality: Option<VectorClocks>,
    /// `None` if the run neither writes a trace nor checks properties on records.
    pub(crate) recorder: Option<TraceRecorder>,
    /// True if each message in flight carries a tag. If false, all tags are 0. In a recorded run,
    /// the tag is the index of the `TracedMessage` of the message. In any other run, it is the
    /// number of the cell that contains the vector clocks of the message.
    pub(crate) tags_messages: bool,
}

impl Tracer {
    pub(crate) fn new(causality: Option<VectorClocks>, recorder: Option<TraceRecorder>) -> Self {
        let tags_messages = causality.is_some() || recorder.is_some();
        Tracer { causality, recorder, tags_messages }
    }

    #[inline]
    pub(crate) const fn is_recording(&self) -> bool {
        self.recorder.is_some()
    }

    /// Returns a new tag for a message that `from` sends now. If the run is recorded, first
    /// advances the clocks of `from`. `session` is the number of recoveries of `from` so far.
    pub(crate) fn new_message_tag(&mut self, from: ProcessId, session: u64) -> u32 {
        let is_recording = self.is_recording();
        let clock = self.causality.as_mut().map(|causality| {
            if is_recording {
                causality.tick(from);
            }
            causality.acquire_cell(from)
        });
        match &mut self.recorder {
            Some(recorder) => recorder.add_message(session, clock),
            None => clock.unwrap_or(0),
        }
    }

    /// Records that a message in flight was duplicated. The copy has the same tag as the message.
    pub(crate) fn record_copy(&mut self, tag: u32) {
        let clock = match &mut self.recorder {
            Some(recorder) => {
                recorder.add_copy(tag);
                recorder.traced_message(tag).clock
            }
            None => Some(tag),
        };
        if let (Some(causality), Some(clock)) = (&mut self.causality, clock) {
            causality.retain_cell(clock);
        }
    }

    /// Records that one copy of the message with this tag is no longer in flight. `at` is the
    /// process that received it, or `None` if it was lost. `scope` is the scope of the message. It
    /// selects the clocks of `at` into which the clocks of the message are merged.
    pub(crate) fn finish_tag(&mut self, tag: u32, at: Option<ProcessId>, scope: CausalityScope) {
        let is_recording = self.is_recording();
        let clock = match &mut self.recorder {
            Some(recorder) => recorder.remove_copy(tag).clock,
            None => Some(tag),
        };
        let (Some(causality), Some(clock)) = (&mut self.causality, clock) else { return };
        match at {
            Some(at) => {
                causality.merge_and_release_cell(at, clock, scope);
                if is_recording {
                    causality.tick(at);
                }
            }
            None => causality.release_cell(clock),
        }
    }

    /// Writes a trace record about a process. The record includes the vector clock of the process
    /// that merges the clocks of all messages, if clocks are kept.
    pub(crate) fn record(&mut self, now: u64, process: ProcessId, session: u64, kind: RecordKind) {
        let clock = self.causality.as_ref().map(|known| known.clock(process, CausalityScope::All));
        if let Some(recorder) = &mut self.recorder {
            recorder.record(now, process, session, kind, clock);
        }
    }

    /// Advances the vector clock of a process because of an event, if the run is recorded.
    pub(crate) fn tick(&mut self, process: ProcessId) {
        if self.recorder.is_some()
            && let Some(causality) = &mut self.causality
        {
            causality.tick(process);
        }
    }

    /// Writes a trace record about the whole group. Its subject is the parent.
    pub(crate) fn record_group(&mut self, now: u64, kind: RecordKind) {
        if let Some(recorder) = &mut self.recorder {
            recorder.record(now, RecordSubject::Parent, 0, kind, None);
        }
    }

    /// Returns two vector clocks of a process that issues a request. The first merges only the
    /// clocks of messages of the service, and the second merges the clocks of all messages. Returns
    /// `None` if clocks are not kept. If the run is not recorded, first advances the clocks,
    /// because no trace record of the request has advanced them.
    pub(crate) fn request_clocks(
        &mut self,
        at: ProcessId,
    ) -> Option<[tenure_core::VectorClock; 2]> {
        let is_recording = self.is_recording();
        self.causality.as_mut().map(|causality| {
            if !is_recording {
                causality.tick(at);
            }
            [CausalityScope::Protocol, CausalityScope::All]
                .map(|through| causality.clock(at, through))
        })
    }
}
