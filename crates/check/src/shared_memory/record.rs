//! Converts runs into traces and descriptions.

use tenure_core::service::mutex::{Command, Event};
use tenure_core::shared_memory::SharedMemoryLock;
use tenure_core::{Fence, ProcessId, Property, Service, TICKS_PER_TIME_UNIT};
use tenure_trace::state::StateRecorder;
use tenure_trace::{Header, Record, RecordKind, RecordSubject, Trace, TraceProducer};

use super::SharedMemoryLockConfig;
use super::explore::SharedMemoryState;
use super::graph::{LockAction, SharedMemoryStep};
use super::verdicts::ExplainedViolation;
use crate::explain::description::StepwiseDescription;
use crate::report::{Counterexample, ViolationKind};

/// Converts runs to traces. To record the states of the processes, it executes the steps of a run
/// again.
pub(crate) struct SharedMemoryRecorder<'a, L: SharedMemoryLock> {
    config: &'a SharedMemoryLockConfig,
    lock: &'a L::Config,
}

impl<'a, L: SharedMemoryLock> SharedMemoryRecorder<'a, L> {
    pub(crate) const fn new(config: &'a SharedMemoryLockConfig, lock: &'a L::Config) -> Self {
        SharedMemoryRecorder { config, lock }
    }

    pub(crate) fn counterexample(
        &self,
        property: Property,
        found: ExplainedViolation,
    ) -> Counterexample {
        let ExplainedViolation { kind, explanation, run, repeats_from } = found;
        let mut trace = self.trace(&run, kind != ViolationKind::Step);
        trace.header.violates = Some(property.name().to_owned());
        let run =
            StepwiseDescription { repeats_from, ..StepwiseDescription::from_checker_trace(&trace) };
        trace.header.repeats = run.repeated_step_count();
        Counterexample { property, kind, explanation, run, trace }
    }

    pub(crate) fn describe(&self, run: &[SharedMemoryStep]) -> StepwiseDescription {
        StepwiseDescription::from_checker_trace(&self.trace(run, true))
    }

    /// Returns a run as a trace. Each step takes one unit of the trace's time. If `has_ended`, a
    /// last record states that the run ends.
    fn trace(&self, run: &[SharedMemoryStep], has_ended: bool) -> Trace {
        let mut header = Header::new(
            &*self.config.name,
            Service::Mutex,
            self.config.size,
            TraceProducer::Checker,
        );
        header.fenced = false;
        let mut state = SharedMemoryState::<L>::initial(self.config, self.lock);
        let mut states = StateRecorder::default();
        let mut records = Vec::new();
        for process in (0..self.config.size).map(ProcessId) {
            records.push(Record::new(0, process, RecordKind::Boot));
            let kept = states.state_record_if_changed(process, &state.processes[process.index()]);
            records.extend(kept.map(|kind| Record::new(0, process, kind)));
        }
        let mut now = 0;
        for edge in run {
            now += TICKS_PER_TIME_UNIT;
            let process = edge.process;
            let mut record = |kind| records.push(Record::new(now, process, kind));
            match &edge.action {
                LockAction::Enter => record(RecordKind::Command(Command::Enter.into())),
                LockAction::Exit => {
                    record(RecordKind::Command(Command::Exit.into()));
                    record(RecordKind::Event(Event::Exited.into()));
                }
                LockAction::Access(access) => record(RecordKind::Memory(access.clone())),
            }
            if edge.enters {
                record(RecordKind::Event(Event::Entered { fence: Fence::NONE }.into()));
            }
            state.step(process);
            if let Some(kind) =
                states.state_record_if_changed(process, &state.processes[process.index()])
            {
                record(kind);
            }
        }
        if has_ended {
            let end = now + TICKS_PER_TIME_UNIT;
            records.push(Record::new(end, RecordSubject::Parent, RecordKind::End));
        }
        Trace { header, records, torn: None }
    }
}
