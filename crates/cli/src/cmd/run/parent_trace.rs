//! The trace of the parent process `tenure run`. It contains the faults that this process injected.

use std::path::Path;

use tenure_core::ProcessId;
use tenure_trace::{
    ClockUnit, CreateError, Header, Record, RecordKind, RecordSubject, Service, TraceProducer,
    WriteError, Writer, unix_time_nanos,
};

use super::plan::NodeRunPlan;

/// Writer of the trace of the parent process. Each record is flushed immediately, because there are
/// few records.
#[derive(Debug)]
pub(super) struct ParentTrace(Writer);

impl ParentTrace {
    pub(super) fn create(path: &Path, plan: &NodeRunPlan) -> Result<ParentTrace, CreateError> {
        let promises = plan.promises.iter().map(|promise| promise.name().to_string()).collect();
        Writer::create(path, &Header { promises, ..trace_header(plan, TraceProducer::Parent) })
            .map(ParentTrace)
    }

    /// Writes a fault of `process`, or the end of such a fault. `session` is the number of the
    /// session of `process` in which the event occurs.
    pub(super) fn write_process_event(
        &mut self,
        process: ProcessId,
        session: u64,
        kind: RecordKind,
    ) -> Result<(), WriteError> {
        self.0.write(Record::new(unix_time_nanos(), process, kind).in_session(session))?;
        self.0.flush()
    }

    /// Writes a change of the partitions of the network.
    pub(super) fn write_network_event(&mut self, kind: RecordKind) -> Result<(), WriteError> {
        self.0.write(Record::new(unix_time_nanos(), RecordSubject::Parent, kind))?;
        self.0.flush()
    }

    /// Writes the record that ends the trace. Later events, such as the shutdown of the nodes, are
    /// no faults.
    pub(super) fn write_end(&mut self) -> Result<(), WriteError> {
        self.0.write(Record::new(unix_time_nanos(), RecordSubject::Parent, RecordKind::End))?;
        self.0.flush()
    }
}

pub(super) fn trace_header(plan: &NodeRunPlan, source: TraceProducer) -> Header {
    Header {
        clock: ClockUnit::Nanosecond,
        fenced: plan.uses_lock && plan.card.is_fenced(),
        most_bypass: plan.card.promised_bypass_bound().filter(|_| plan.uses_lock),
        seed: Some(plan.options.seed),
        ..Header::new(plan.card.name.clone(), Service::MutexAndElection, plan.size, source)
    }
}
