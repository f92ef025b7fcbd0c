//! Merging of the traces of one run into one order.

mod dependency;
mod merge_state;
mod merging;
mod record_source;

use std::path::{Path, PathBuf};

pub(crate) use dependency::MessageKey;
pub(crate) use merging::{LOOK_AHEAD, RecordMerger};
pub use record_source::NextRecord;
pub(crate) use record_source::RecordSource;

use crate::diagram::MAX_DRAWN_PROCESSES;
use crate::format::{
    Header, ReadError, Reader, Record, RecordKind, RecordSubject, Trace, TraceProducer,
};

/// Traces of one run, merged into one.
#[derive(Clone, Debug, PartialEq)]
pub struct MergedTrace {
    /// Common header of the traces. It is the header of the first trace that neither a parent nor a
    /// resource has written, or of the first trace if there is no such trace. If the header of a
    /// parent lists promises, its promises and, if present, its bound on bypasses replace those of
    /// the common header. `fenced` is true only if all headers say so.
    pub header: Header,
    /// All records, in an order consistent with causality.
    pub records: Vec<Record>,
    /// Number of received messages whose sending is not recorded. Their senders were killed before
    /// they wrote the record.
    pub unmatched: u64,
    /// Number of causal contradictions, which occur only in wrong traces. For example, each of two
    /// messages is received before the other is sent. The merge orders the records of a
    /// contradiction by time.
    pub contradictions: u64,
    /// Files whose last line is incomplete.
    pub torn: Vec<PathBuf>,
    /// Files without records, because the header is missing or incomplete.
    pub empty: Vec<PathBuf>,
}

impl MergedTrace {
    /// Returns the records up to and including the parent's first `end`, and true if there is one.
    /// Later records only show that the nodes stop one after another.
    pub fn records_until_run_end(&self) -> (&[Record], bool) {
        let is_end = |record: &Record| {
            record.process == RecordSubject::Parent && record.kind == RecordKind::End
        };
        match self.records.iter().position(is_end) {
            Some(end) => (&self.records[..=end], true),
            None => (&self.records, false),
        }
    }
}

/// Reads and merges the files at `paths`. Skips the contents of messages, and the records of
/// states.
///
/// # Errors
///
/// Returns a [`MergeError`] if the files cannot be read or merged.
pub fn merge_files_for_verification<P: AsRef<Path>>(
    paths: impl IntoIterator<Item = P>,
) -> Result<MergedTrace, MergeError> {
    gather(MergedFiles::open(paths)?)
}

/// Reads and merges the files at `paths`. Keeps the contents of messages and the records of states,
/// which [`merge_files_for_verification`] skips.
///
/// # Errors
///
/// Returns a [`MergeError`] if the files cannot be read or merged.
pub fn merge_files<P: AsRef<Path>>(
    paths: impl IntoIterator<Item = P>,
) -> Result<MergedTrace, MergeError> {
    gather(MergedFiles::open_with(paths, |path| Reader::open(path))?)
}

fn gather(mut files: MergedFiles) -> Result<MergedTrace, MergeError> {
    let records = files.by_ref().collect::<Result<_, _>>()?;
    let header = files.common_header().clone();
    let MergeReport { unmatched, contradictions, torn, empty } = files.merge_report();
    Ok(MergedTrace { header, records, unmatched, contradictions, torn, empty })
}

/// Merges traces of one run.
///
/// The records of each trace keep their order. The receipt of a message comes after its sending. A
/// crash of a process comes after all records of the process since its last boot, and before its
/// next boot. Subject to these rules, records are ordered by time, then by subject and number.
///
/// # Errors
///
/// Returns a [`MergeError`] if there is no trace, if traces belong to different runs, or if a trace
/// occurs twice.
pub fn merge(traces: Vec<Trace>) -> Result<MergedTrace, MergeError> {
    let header = common_header(traces.iter().map(|trace| &trace.header))?;
    check_distinct(traces.iter().map(|trace| (trace.header.source, trace.records.first())))?;
    let torn = traces.iter().filter_map(|trace| trace.torn.clone()).collect();
    let sources = traces.into_iter().map(|trace| (trace.header.source, trace.records.into_iter()));
    let mut merging = RecordMerger::new(sources, usize::MAX);
    let mut records = Vec::new();
    while let NextRecord::Record(record) = merging.next_record()? {
        records.push(record);
    }
    let MergeReport { unmatched, contradictions, .. } = merging.merge_report();
    Ok(MergedTrace { header, records, unmatched, contradictions, torn, empty: Vec::new() })
}

/// Merges the records of many files while it reads them. The memory that it needs does not depend
/// on the length of the files.
///
/// To find the causes of a record, the merge reads up to 65,536 records ahead in each file, and
/// remembers the last 65,536 messages. Beyond these limits, records are ordered by time alone.
pub struct MergedFiles {
    header: Header,
    merging: RecordMerger<Reader>,
    empty: Vec<PathBuf>,
}

/// Problems that a merge of files has found, such as incomplete files and received messages whose
/// sending is not recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MergeReport {
    /// Number of received messages whose sending is not recorded, as in [`MergedTrace::unmatched`].
    pub unmatched: u64,
    /// Number of causal contradictions, as in [`MergedTrace::contradictions`].
    pub contradictions: u64,
    /// Files with an incomplete last line, as in [`MergedTrace::torn`].
    pub torn: Vec<PathBuf>,
    /// Files without a complete header, as in [`MergedTrace::empty`].
    pub empty: Vec<PathBuf>,
}

impl MergedFiles {
    /// Opens the files at `paths`. Skips the contents of messages, and the records of states.
    ///
    /// # Errors
    ///
    /// Returns a [`MergeError`] if the files cannot be opened or merged.
    pub fn open<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Result<Self, MergeError> {
        MergedFiles::open_with(paths, |path| {
            Ok(Reader::open(path)?.without_message_contents_and_states())
        })
    }

    fn open_with<P: AsRef<Path>>(
        paths: impl IntoIterator<Item = P>,
        open: impl Fn(&Path) -> Result<Reader, ReadError>,
    ) -> Result<Self, MergeError> {
        let (mut readers, mut empty) = (Vec::new(), Vec::new());
        for path in paths {
            match open(path.as_ref()) {
                Ok(reader) => readers.push(reader),
                Err(ReadError::Empty { path }) => empty.push(path),
                Err(error) => return Err(MergeError::Read(error)),
            }
        }
        if let ([], [path]) = (&readers[..], &empty[..]) {
            return Err(MergeError::Read(ReadError::Empty { path: path.clone() }));
        }
        let header = common_header(readers.iter().map(Reader::header))?;
        check_distinct(
            readers.iter_mut().map(|reader| (reader.header().source, reader.peek_first())),
        )?;
        let sources = readers.into_iter().map(|reader| (reader.header().source, reader));
        Ok(MergedFiles { header, merging: RecordMerger::new(sources, LOOK_AHEAD), empty })
    }

    /// Returns the common header of the traces, as [`MergedTrace::header`] describes it.
    pub fn common_header(&self) -> &Header {
        &self.header
    }

    /// Returns the problems that the merge has found so far, such as incomplete files. The report
    /// is complete after the last record.
    pub fn merge_report(&self) -> MergeReport {
        let torn = self.merging.readers().filter(|reader| reader.is_torn());
        let torn = torn.map(|reader| reader.path().to_path_buf()).collect();
        MergeReport { torn, empty: self.empty.clone(), ..self.merging.merge_report() }
    }

    /// Returns the maximum number of records and messages, of all files together, that were in
    /// memory at the same time.
    pub fn peak_retained_count(&self) -> usize {
        self.merging.max_retained_count()
    }
}

impl Iterator for MergedFiles {
    type Item = Result<Record, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.merging.next_record() {
            Ok(NextRecord::Record(record)) => Some(Ok(record)),
            // The files are complete, so `Later` never occurs.
            Ok(NextRecord::Later | NextRecord::End) => None,
            Err(error) => Some(Err(error)),
        }
    }
}

impl std::fmt::Debug for MergedFiles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MergedFiles").field("header", &self.header).finish_non_exhaustive()
    }
}

/// Returns the common header of the traces of one run, as [`MergedTrace::header`] describes it.
/// Returns an error if there is no header, or if the headers belong to different runs.
pub(crate) fn common_header<'a>(
    headers: impl Iterator<Item = &'a Header> + Clone,
) -> Result<Header, MergeError> {
    let own = |header: &&Header| {
        !matches!(header.source, TraceProducer::Parent | TraceProducer::Resource)
    };
    let mut all = headers.clone();
    let first = headers.clone().find(own).or_else(|| all.next()).ok_or(MergeError::NoTrace)?;
    for header in headers.clone() {
        let difference = if header.n != first.n {
            format!("groups of {} and of {}", first.n, header.n)
        } else if header.clock != first.clock {
            "virtual and real time".into()
        } else if own(&header) && header.algorithm != first.algorithm {
            format!("{} and {}", first.algorithm, header.algorithm)
        } else {
            continue;
        };
        return Err(MergeError::DifferentRuns { difference });
    }
    check_same_options(headers.clone())?;
    let fenced = headers.clone().all(|header| header.fenced);
    // The parent starts the nodes and injects faults. Its header lists the properties that are
    // promised in spite of these faults.
    let mut parents = headers.filter(|header| header.source == TraceProducer::Parent);
    let parent = parents.find(|header| !header.promises.is_empty()).unwrap_or(first);
    let most_bypass = parent.most_bypass.or(first.most_bypass);
    Ok(Header { fenced, promises: parent.promises.clone(), most_bypass, ..first.clone() })
}

/// Returns an error if the headers have different seeds or replay commands. Ignores the headers of
/// nodes, because each node has its own replay command.
fn check_same_options<'a>(
    headers: impl Iterator<Item = &'a Header> + Clone,
) -> Result<(), MergeError> {
    let made = headers.filter(|header| header.source != TraceProducer::Node);
    let seeds = made.clone().filter_map(|header| header.seed);
    let differ = other_than_first(seeds).map(|(one, other)| format!("seeds {one} and {other}"));
    let commands = made.filter_map(|header| header.replay.as_ref());
    let differ = differ.or_else(|| {
        other_than_first(commands).map(|(one, other)| format!("`{one}` and `{other}`"))
    });
    differ.map_or(Ok(()), |difference| Err(MergeError::DifferentRuns { difference }))
}

fn other_than_first<T: PartialEq>(mut all: impl Iterator<Item = T>) -> Option<(T, T)> {
    let first = all.next()?;
    let other = all.find(|it| *it != first)?;
    Some((first, other))
}

/// Returns an error if two traces begin with the same record, because they are then the same trace.
/// Also returns an error if the traces of two nodes begin with boots of the same process in the
/// same session, because the two boots belong to different runs.
fn check_distinct<'a>(
    firsts: impl Iterator<Item = (TraceProducer, Option<&'a Record>)>,
) -> Result<(), MergeError> {
    let mut seen: Vec<(TraceProducer, &Record)> = Vec::new();
    for (source, first) in firsts {
        let Some(first) = first else { continue };
        if seen.contains(&(source, first)) {
            return Err(MergeError::DuplicateTrace { record: first.describe() });
        }
        let is_boot = source == TraceProducer::Node && first.kind == RecordKind::Boot;
        if is_boot
            && seen
                .iter()
                .any(|(source, it)| *source == TraceProducer::Node && same_boot(it, first))
        {
            let Record { process, session, .. } = first;
            let difference = format!("{process} boots in session {session} of two");
            return Err(MergeError::DifferentRuns { difference });
        }
        seen.push((source, first));
    }
    Ok(())
}

/// Returns true if both records are boots of the same process in the same session. In one run, a
/// process boots only once in a session.
fn same_boot(one: &Record, other: &Record) -> bool {
    let boot = |it: &Record| (it.kind == RecordKind::Boot, it.process, it.session);
    boot(one) == boot(other)
}

/// Error: traces could not be merged.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// There is no trace to merge, or the headers of all traces are incomplete.
    #[error("no trace was given, or all were empty")]
    NoTrace,
    /// The traces belong to different runs.
    #[error("the traces belong to different runs: {difference}")]
    DifferentRuns {
        /// Difference between the runs, for instance `seeds 1 and 2`.
        difference: String,
    },
    /// A trace occurs twice.
    #[error("a trace was given twice: two files begin with the record `{record}`")]
    DuplicateTrace {
        /// First record of both traces.
        record: String,
    },
    /// The group is too large for a drawing. The trace can still be verified.
    #[error("cannot draw a group of {n} processes; the maximum is {MAX_DRAWN_PROCESSES}")]
    GroupTooLarge {
        /// Number of processes of the group, according to the header of the trace.
        n: u32,
    },
    /// A file could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}
