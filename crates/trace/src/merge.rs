//! From the traces of many nodes to one story.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::path::{Path, PathBuf};
use std::vec::IntoIter;

use tenure_core::ProcessId;

use crate::diagram::MOST_DRAWN;
use crate::format::{Header, Kind, Passage, ReadError, Record, Source, Trace, Who};

/// Many traces of one run as one.
#[derive(Clone, Debug, PartialEq)]
pub struct Merged {
    /// The header of the first node (or of the first trace), for all.
    pub header: Header,
    /// All records, in an order that no process could prove wrong.
    pub records: Vec<Record>,
    /// Receipts of messages whose sending nobody wrote down, because the sender was killed
    /// before it could.
    pub unmatched: u64,
    /// How often the traces contradicted themselves (two messages, each received before the
    /// other was sent), so that only time could decide. 0 unless a trace is wrong.
    pub contradictions: u64,
    /// The files whose last line was torn.
    pub torn: Vec<PathBuf>,
    /// The files without a whole header, of which there was nothing to read.
    pub empty: Vec<PathBuf>,
}

/// Reads and merges the files at `paths`. What messages say and processes hold is passed over.
///
/// # Errors
///
/// [`MergeError`]; the files are only read.
pub fn merge_files<P: AsRef<Path>>(
    paths: impl IntoIterator<Item = P>,
) -> Result<Merged, MergeError> {
    merge_read(paths, |path| Trace::read_without_contents(path))
}

/// The same with what messages say and what processes hold.
///
/// # Errors
///
/// As [`merge_files`].
pub fn merge_whole_files<P: AsRef<Path>>(
    paths: impl IntoIterator<Item = P>,
) -> Result<Merged, MergeError> {
    merge_read(paths, |path| Trace::read(path))
}

fn merge_read<P: AsRef<Path>>(
    paths: impl IntoIterator<Item = P>,
    read: impl Fn(&Path) -> Result<Trace, ReadError>,
) -> Result<Merged, MergeError> {
    let mut traces = Vec::new();
    let mut empty = Vec::new();
    for path in paths {
        match read(path.as_ref()) {
            Ok(trace) => traces.push(trace),
            Err(ReadError::Empty { path }) => empty.push(path),
            Err(error) => return Err(MergeError::Read(error)),
        }
    }
    Ok(Merged { empty, ..merge(traces)? })
}

/// Merges traces of one run.
///
/// Each trace keeps its order; no message is received before it was sent; a crash comes after
/// what its process wrote in that session, and before its next boot. Otherwise
/// time decides, then process and number.
///
/// # Errors
///
/// [`MergeError`] when there is none, or when they are not of one run.
pub fn merge(traces: Vec<Trace>) -> Result<Merged, MergeError> {
    let header = common_header(&traces)?;
    let torn = traces.iter().filter_map(|trace| trace.torn.clone()).collect();
    let total = traces.iter().map(|trace| trace.records.len()).sum();
    let mut merging = Merging::new(traces);
    let mut records = Vec::with_capacity(total);
    for file in 0..merging.files.len() {
        merging.consider(file);
    }
    while let Some(file) = merging.next_file() {
        let Some(record) = merging.files[file].records.next() else { continue };
        merging.happened(file, &record);
        records.push(record);
        merging.consider(file);
    }
    let Merging { unmatched, contradictions, .. } = merging;
    Ok(Merged { header, records, unmatched, contradictions, torn, empty: Vec::new() })
}

/// One header for all, if they are of one run.
fn common_header(traces: &[Trace]) -> Result<Header, MergeError> {
    let own = |header: &&Header| !matches!(header.source, Source::Parent | Source::Resource);
    let mut headers = traces.iter().map(|trace| &trace.header);
    let first = headers.clone().find(own).or_else(|| headers.next()).ok_or(MergeError::Nothing)?;
    for header in traces.iter().map(|trace| &trace.header) {
        let what = if header.n != first.n {
            format!("groups of {} and of {}", first.n, header.n)
        } else if header.clock != first.clock {
            "virtual and real time".into()
        } else if own(&header) && header.algorithm != first.algorithm {
            format!("{} and {}", first.algorithm, header.algorithm)
        } else {
            continue;
        };
        return Err(MergeError::DifferentRuns { what });
    }
    let fenced = traces.iter().all(|trace| trace.header.fenced);
    Ok(Header { fenced, ..first.clone() })
}

/// Tells a message from all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct MessageKey {
    from: ProcessId,
    session: u64,
    to: ProcessId,
    number: u64,
}

impl MessageKey {
    /// Of a message that `at` sent in `session`.
    pub(crate) fn sent(at: ProcessId, session: u64, passage: &Passage) -> Self {
        MessageKey { from: at, session, to: passage.peer, number: passage.number }
    }

    /// Of a message that `at` received.
    pub(crate) fn received(at: ProcessId, passage: &Passage) -> Self {
        let Passage { peer, session, number, .. } = *passage;
        MessageKey { from: peer, session, to: at, number }
    }
}

/// What a file may have to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Awaited {
    /// The sending of a message.
    Sending(MessageKey),
    /// Everything that a process wrote in a session.
    Writing(ProcessId, u64),
    /// The crash of a process at a time.
    Crashing(ProcessId, u64),
}

struct MergedFile {
    records: IntoIter<Record>,
    /// The process that wrote it and not somebody about it.
    by_process: bool,
}

/// When the first record of a file wants to happen; the file last.
type Turn = (u64, Who, u64, usize);

struct Merging {
    files: Vec<MergedFile>,
    ready: BinaryHeap<Reverse<Turn>>,
    blocked: HashMap<Awaited, Vec<usize>>,
    /// How much of each is still to come. What is not in here is not waited for.
    missing: HashMap<Awaited, u32>,
    /// When each process crashed, in order, as others wrote it down.
    crashes: HashMap<ProcessId, Vec<u64>>,
    unmatched: u64,
    contradictions: u64,
}

impl Merging {
    fn new(traces: Vec<Trace>) -> Self {
        let mut missing = HashMap::new();
        let mut crashes: HashMap<_, Vec<u64>> = HashMap::new();
        for trace in &traces {
            let by_process = trace.header.source == Source::Node;
            for awaited in trace.records.iter().flat_map(|record| gives(record, by_process)) {
                if let Awaited::Crashing(process, time) = awaited {
                    crashes.entry(process).or_default().push(time);
                }
                *missing.entry(awaited).or_insert(0) += 1;
            }
        }
        crashes.values_mut().for_each(|times| times.sort_unstable());
        let files = traces.into_iter().map(|trace| MergedFile {
            by_process: trace.header.source == Source::Node,
            records: trace.records.into_iter(),
        });
        Merging {
            files: files.collect(),
            ready: BinaryHeap::new(),
            blocked: HashMap::new(),
            missing,
            crashes,
            unmatched: 0,
            contradictions: 0,
        }
    }

    /// Puts a file where its first record belongs: ready, or blocked.
    fn consider(&mut self, file: usize) {
        let MergedFile { records, by_process } = &self.files[file];
        let Some(record) = records.as_slice().first() else { return };
        if let Some(awaited) = self.wants(record, *by_process) {
            match self.missing.get(&awaited) {
                Some(0) => {}
                Some(_) => return self.blocked.entry(awaited).or_default().push(file),
                None => self.unmatched += u64::from(matches!(awaited, Awaited::Sending(_))),
            }
        }
        self.ready.push(Reverse(turn(record, file)));
    }

    /// The file whose first record happens next; `None` when all is told.
    fn next_file(&mut self) -> Option<usize> {
        if let Some(Reverse((.., file))) = self.ready.pop() {
            return Some(file);
        }
        let turn_of = |file: &usize| {
            self.files[*file].records.as_slice().first().map(|record| turn(record, *file))
        };
        let (.., first) = self.blocked.values().flatten().filter_map(turn_of).min()?;
        self.contradictions += 1;
        self.blocked.retain(|_, files| {
            files.retain(|file| *file != first);
            !files.is_empty()
        });
        Some(first)
    }

    /// What must have happened before this record can.
    fn wants(&self, record: &Record, by_process: bool) -> Option<Awaited> {
        let at = record.process.process()?;
        match &record.kind {
            Kind::Receive(passage) => Some(Awaited::Sending(MessageKey::received(at, passage))),
            Kind::Crash if !by_process => Some(Awaited::Writing(at, record.session)),
            Kind::Boot if by_process => {
                let times = self.crashes.get(&at)?;
                let before = times.partition_point(|time| *time <= record.time);
                Some(Awaited::Crashing(at, times[before.checked_sub(1)?]))
            }
            _ => None,
        }
    }

    /// Takes note of what a record gives, and frees who waited for it.
    fn happened(&mut self, file: usize, record: &Record) {
        for awaited in gives(record, self.files[file].by_process) {
            let Some(missing) = self.missing.get_mut(&awaited) else { continue };
            *missing = match awaited {
                Awaited::Sending(_) | Awaited::Crashing(..) => 0,
                Awaited::Writing(..) => *missing - 1,
            };
            if *missing == 0 {
                for file in self.blocked.remove(&awaited).unwrap_or_default() {
                    self.consider(file);
                }
            }
        }
    }
}

fn turn(record: &Record, file: usize) -> Turn {
    (record.time, record.process, record.sequence, file)
}

/// What somebody may have waited for when this record happened.
fn gives(record: &Record, by_process: bool) -> impl Iterator<Item = Awaited> + use<> {
    let at = record.process.process();
    let writing = at.filter(|_| by_process).map(|at| Awaited::Writing(at, record.session));
    let more = at.and_then(|at| match &record.kind {
        Kind::Send(passage) => {
            Some(Awaited::Sending(MessageKey::sent(at, record.session, passage)))
        }
        Kind::Crash if !by_process => Some(Awaited::Crashing(at, record.time)),
        _ => None,
    });
    writing.into_iter().chain(more)
}

/// Traces could not be merged.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// There is nothing to merge.
    #[error("no trace was given, or all were empty")]
    Nothing,
    /// They are not of one run.
    #[error("the traces are not of one run: {what}")]
    DifferentRuns {
        /// What differs.
        what: String,
    },
    /// They can be judged, but not looked at.
    #[error("a group of {n} processes is not drawn; a drawing has room for {MOST_DRAWN}")]
    TooWide {
        /// How many processes the header tells of.
        n: u32,
    },
    /// A file could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}
