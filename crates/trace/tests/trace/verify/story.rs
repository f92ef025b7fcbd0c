//! Builder of traces, for tests.

use std::path::Path;

use tenure_core::{Fence, ProcessId};
use tenure_trace::{
    ClockUnit, Header, Record, RecordKind, RecordSubject, ResourceAccessRecord, ResourceOperation,
    Service, TraceProducer, TraceVerifier, Verification, Writer,
};

use crate::kinds::{elected, enter, entered, exited, message};

/// A trace under construction. One unit of time passes before each record.
pub(crate) struct Story {
    pub(crate) header: Header,
    time: u64,
    records: Vec<Record>,
}

impl Story {
    pub(crate) fn of(service: Service) -> Self {
        let header = Header::new("hand-made", service, 3, TraceProducer::Simulator);
        Story { header, time: 0, records: Vec::new() }
    }

    /// Creates a trace in real time, with one millisecond per unit.
    pub(crate) fn real(service: Service) -> Self {
        let mut story = Story::of(service);
        story.header.clock = ClockUnit::Nanosecond;
        story
    }

    pub(crate) fn unfenced(mut self) -> Self {
        self.header.fenced = false;
        self
    }

    pub(crate) fn wait(mut self, units: u64) -> Self {
        self.time += units * 1_000_000;
        self
    }

    pub(crate) fn record(mut self, who: impl Into<RecordSubject>, kind: RecordKind) -> Self {
        self.time += 1_000_000;
        self.records.push(Record::new(self.time, who, kind));
        self
    }

    /// Applies `change` to the record that was added last.
    pub(crate) fn but(mut self, change: impl FnOnce(Record) -> Record) -> Self {
        let last = self.records.pop().unwrap();
        self.records.push(change(last));
        self
    }

    pub(crate) fn at(self, process: u32, kind: RecordKind) -> Self {
        self.record(ProcessId(process - 1), kind)
    }

    pub(crate) fn requests(self, process: u32) -> Self {
        self.at(process, enter())
    }

    pub(crate) fn enters(self, process: u32, fence: u64) -> Self {
        self.at(process, entered(Fence(0, fence)))
    }

    pub(crate) fn exits(self, process: u32) -> Self {
        self.at(process, exited())
    }

    pub(crate) fn elects(self, process: u32, leader: u32, number: u64) -> Self {
        self.at(process, elected(ProcessId(leader - 1), number))
    }

    /// Adds three events. By these events, the three processes learn that `leader` leads in the
    /// term `number`.
    pub(crate) fn all_elect(self, leader: u32, number: u64) -> Self {
        self.elects(1, leader, number).elects(2, leader, number).elects(3, leader, number)
    }

    pub(crate) fn sends(self, from: u32, to: u32, number: u64) -> Self {
        self.at(from, RecordKind::Send(message(ProcessId(to - 1), "request", number)))
    }

    pub(crate) fn receives(self, to: u32, from: u32, number: u64) -> Self {
        self.at(to, RecordKind::Receive(message(ProcessId(from - 1), "request", number)))
    }

    pub(crate) fn puts(self, by: u32, fence: u64, value: u64) -> Self {
        self.accesses(by, fence, value, true)
    }

    pub(crate) fn refuses(self, by: u32, fence: u64) -> Self {
        self.accesses(by, fence, 0, false)
    }

    fn accesses(self, by: u32, fence: u64, value: u64, accepted: bool) -> Self {
        let by = ProcessId(by - 1);
        let fence = Some(Fence(0, fence));
        let operation = ResourceOperation::Put;
        let access = ResourceAccessRecord { by, operation, fence, value, accepted, highest: None };
        self.record(RecordSubject::Resource, RecordKind::Access(access))
    }

    pub(crate) fn ends(self) -> Self {
        self.record(RecordSubject::Parent, RecordKind::End)
    }

    pub(crate) fn verified(&self) -> Verification {
        let mut verifier = TraceVerifier::new(&self.header);
        self.records.iter().for_each(|record| verifier.verify_record(record));
        verifier.finish()
    }

    /// Writes a trace file with the records that `keep` accepts. The header of the file names
    /// `source` as the program that wrote it.
    pub(crate) fn write(&self, path: &Path, source: TraceProducer, keep: impl Fn(&Record) -> bool) {
        let header = Header { source, ..self.header.clone() };
        let mut writer = Writer::create(path, &header).unwrap();
        for record in self.records.iter().filter(|record| keep(record)) {
            writer.write(record.clone()).unwrap();
        }
    }

    /// Returns the verdicts as text, such as `fencing holds, mutual-exclusion violated`.
    pub(crate) fn verdicts(&self) -> String {
        let verified = self.verified();
        let verdicts = verified.properties.iter();
        let words = verdicts.map(|(property, verdict)| format!("{property} {}", verdict.name()));
        words.collect::<Vec<_>>().join(", ")
    }
}
