//! Vector clocks and trace records of a run. Each message in flight has a tag that refers to its
//! vector clock and its trace data.

use tenure_core::ProcessId;
use tenure_trace::{RecordKind, Subject};

use crate::judging::causality::{CausalityScope, VectorClocks};
use crate::steer::recorder::TraceRecorder;

/// Vector clocks and trace of a run. Each message in flight has a tag. The tag is a number that
/// refers to the vector clock of the message and to the trace data of the message.
#[derive(Debug)]
pub(crate) struct Tracer {
    pub(crate) causality: Option<VectorClocks>,
    pub(crate) recorder: Option<TraceRecorder>,
    /// True if each message in flight carries a tag. If the run is recorded, the tag is the index
    /// of the `TracedMessage` with the trace data of the message. Otherwise, the tag is the index
    /// of the vector clock of the message.
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

    /// Returns a new tag for a message that `from` sends now. `session` is the number of recoveries
    /// of `from` so far.
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

    /// Records that the message with this tag is no longer in flight. `at` is the process that
    /// received the message, or `None` if the message was lost. `scope` selects the clocks of the
    /// process into which the clock of the message is merged.
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

    /// Writes a trace record about a process. It includes the vector clock of the process, if
    /// clocks are kept.
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

    pub(crate) fn record_group(&mut self, now: u64, kind: RecordKind) {
        if let Some(recorder) = &mut self.recorder {
            recorder.record(now, Subject::Parent, 0, kind, None);
        }
    }

    /// Returns two vector clocks of a process that issues a request. The first counts only messages
    /// of the protocol, the second counts all messages. Returns `None` if clocks are not kept.
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
