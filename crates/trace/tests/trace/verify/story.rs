//! Traces made by hand, in few words.

use std::path::Path;

use tenure_core::service::{election, mutex};
use tenure_core::{Fence, Layer, ProcessId, Term};
use tenure_trace::{
    Access, ClockUnit, Header, Judge, Kind, Operation, Passage, Record, Service, Source,
    Verification, Who, Writer,
};

/// A trace under construction; a unit passes before each record.
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

    /// The same in real time, in which a unit is a millisecond.
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

    pub(crate) fn record(mut self, who: impl Into<Who>, kind: Kind) -> Self {
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

    pub(crate) fn asks(self, process: u32) -> Self {
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

    /// All three are told of the same leader.
    pub(crate) fn all_elect(self, leader: u32, number: u64) -> Self {
        self.elects(1, leader, number).elects(2, leader, number).elects(3, leader, number)
    }

    pub(crate) fn sends(self, from: u32, to: u32, number: u64) -> Self {
        self.at(from, Kind::Send(passage(to, number)))
    }

    pub(crate) fn receives(self, to: u32, from: u32, number: u64) -> Self {
        self.at(to, Kind::Receive(passage(from, number)))
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
        self.record(Who::Resource, Kind::Access(access))
    }

    pub(crate) fn ends(self) -> Self {
        self.record(Who::Parent, Kind::End)
    }

    pub(crate) fn judged(&self) -> Verification {
        let mut judge = Judge::new(&self.header);
        self.records.iter().for_each(|record| judge.read(record));
        judge.finish()
    }

    /// Writes those records that `keep` wants to a file, from this source.
    pub(crate) fn write(&self, path: &Path, source: Source, keep: impl Fn(&Record) -> bool) {
        let header = Header { source, ..self.header.clone() };
        let mut writer = Writer::create(path, &header).unwrap();
        for record in self.records.iter().filter(|record| keep(record)) {
            writer.write(record.clone()).unwrap();
        }
    }

    /// The verdicts in a row: `fencing holds, mutual-exclusion violated`.
    pub(crate) fn verdicts(&self) -> String {
        let judged = self.judged();
        let verdicts = judged.properties.iter();
        let words = verdicts.map(|(property, verdict)| format!("{property} {}", verdict.name()));
        words.collect::<Vec<_>>().join(", ")
    }
}

fn passage(peer: u32, number: u64) -> Passage {
    let peer = ProcessId(peer - 1);
    let message = "request".into();
    Passage { peer, layer: Layer::Mutex, message, number, session: 0, content: None }
}
