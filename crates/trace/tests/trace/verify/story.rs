//! Builder of traces, for tests.

use std::path::Path;

use tenure_core::service::{election, mutex};
use tenure_core::{Fence, Layer, ProcessId, Term};
use tenure_trace::{
    Access, ClockUnit, Header, Kind, MessageRecord, Operation, Record, Service, Source, Subject,
    TraceVerifier, Verification, Writer,
};

/// A trace under construction. One unit of time passes before each record.
pub(crate) struct Story {
    pub(crate) header: Header,
    time: u64,
    records: Vec<Record>,
}

impl Story {
    pub(crate) fn of(service: Service) -> Self {
        let header = Header::new("hand-made", service, 3, Source::Simulator);
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

    pub(crate) fn record(mut self, who: impl Into<Subject>, kind: Kind) -> Self {
        self.time += 1_000_000;
        self.records.push(Record::new(self.time, who, kind));
        self
    }

    /// Changes the record that was added last.
    pub(crate) fn but(mut self, change: impl FnOnce(Record) -> Record) -> Self {
        let last = self.records.pop().unwrap();
        self.records.push(change(last));
        self
    }

    pub(crate) fn at(self, process: u32, kind: Kind) -> Self {
        self.record(ProcessId(process - 1), kind)
    }

    pub(crate) fn requests(self, process: u32) -> Self {
        self.at(process, Kind::Command(mutex::Command::Enter.into()))
    }

    pub(crate) fn enters(self, process: u32, fence: u64) -> Self {
        let entered = mutex::Event::Entered { fence: Fence(0, fence) };
        self.at(process, Kind::Event(entered.into()))
    }

    pub(crate) fn exits(self, process: u32) -> Self {
        self.at(process, Kind::Event(mutex::Event::Exited.into()))
    }

    pub(crate) fn elects(self, process: u32, leader: u32, number: u64) -> Self {
        let leader = ProcessId(leader - 1);
        let elected = election::Event::Elected { leader, term: Term { number, leader } };
        self.at(process, Kind::Event(elected.into()))
    }

    /// Adds the event that all three processes learn of the same leader.
    pub(crate) fn all_elect(self, leader: u32, number: u64) -> Self {
        self.elects(1, leader, number).elects(2, leader, number).elects(3, leader, number)
    }

    pub(crate) fn sends(self, from: u32, to: u32, number: u64) -> Self {
        self.at(from, Kind::Send(message_record(to, number)))
    }

    pub(crate) fn receives(self, to: u32, from: u32, number: u64) -> Self {
        self.at(to, Kind::Receive(message_record(from, number)))
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
        let operation = Operation::Put;
        let access = Access { by, operation, fence, value, accepted, highest: None };
        self.record(Subject::Resource, Kind::Access(access))
    }

    pub(crate) fn ends(self) -> Self {
        self.record(Subject::Parent, Kind::End)
    }

    pub(crate) fn verified(&self) -> Verification {
        let mut verifier = TraceVerifier::new(&self.header);
        self.records.iter().for_each(|record| verifier.read(record));
        verifier.finish()
    }

    /// Writes the records that `keep` selects to a file whose header names this source.
    pub(crate) fn write(&self, path: &Path, source: Source, keep: impl Fn(&Record) -> bool) {
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

fn message_record(peer: u32, number: u64) -> MessageRecord {
    let peer = ProcessId(peer - 1);
    let message = "request".into();
    MessageRecord { peer, layer: Layer::Mutex, message, number, session: 0, content: None }
}
