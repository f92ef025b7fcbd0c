//! The parent's own trace: what it did to whom.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use tenure_core::ProcessId;
use tenure_daemon::log::history::Operation;
use tenure_trace::{
    ClockUnit, CreateError, Header, Kind, Record, Service, Source, Who, WriteError, Writer, now,
};

use super::plan::Plan;
use crate::cmd::failure::Failure;

/// The trace of whoever runs the experiment. Every line is written at once: there are few.
#[derive(Debug)]
pub(super) struct Diary(Writer);

impl Diary {
    pub(super) fn create(path: &Path, plan: &Plan) -> Result<Diary, CreateError> {
        let promises = plan.promises.iter().map(|promise| promise.name().to_string()).collect();
        Writer::create(path, &Header { promises, ..header(plan, Source::Parent) }).map(Diary)
    }

    /// Writes what happened to a process in a session, just now.
    pub(super) fn happened(
        &mut self,
        process: ProcessId,
        session: u64,
        kind: Kind,
    ) -> Result<(), WriteError> {
        self.0.write(Record::new(now(), process, kind).in_session(session))?;
        self.0.flush()
    }

    /// Writes what happened to the network, just now.
    pub(super) fn network(&mut self, kind: Kind) -> Result<(), WriteError> {
        self.0.write(Record::new(now(), Who::Parent, kind))?;
        self.0.flush()
    }

    /// Writes that the run is over: what holds now is what holds in the end.
    pub(super) fn end(&mut self) -> Result<(), WriteError> {
        self.0.write(Record::new(now(), Who::Parent, Kind::End))?;
        self.0.flush()
    }
}

/// Writes down what the clients of a log have seen: a line of JSON for each operation.
pub(super) fn history(path: &Path, operations: &[Operation]) -> Result<(), Failure> {
    let failed = |error: io::Error| {
        Failure::environment(format!("cannot write {}: {error}", path.display()))
    };
    let mut file = BufWriter::new(File::create(path).map_err(failed)?);
    for operation in operations {
        serde_json::to_writer(&mut file, operation).map_err(|error| failed(error.into()))?;
        file.write_all(b"\n").map_err(failed)?;
    }
    file.flush().map_err(failed)
}

/// The header of a trace that is not a node's.
pub(super) fn header(plan: &Plan, source: Source) -> Header {
    let service = if plan.log.is_some() { plan.card.service } else { Service::Office };
    Header {
        clock: ClockUnit::Nanosecond,
        fenced: plan.lock && plan.card.fenced(),
        most_bypass: plan.card.most_bypass().filter(|_| plan.lock),
        seed: Some(plan.seed),
        ..Header::new(plan.card.name.clone(), service, plan.size, source)
    }
}
