//! From the traces of many nodes to one story.

mod awaited;
mod feed;
mod memory;
mod merging;

use std::path::{Path, PathBuf};

pub(crate) use awaited::MessageKey;
pub(crate) use feed::Feed;
pub use feed::Next;
pub(crate) use merging::{LOOK_AHEAD, Merging};

use crate::diagram::MOST_DRAWN;
use crate::format::{Header, Kind, ReadError, Reader, Record, Source, Trace};

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
    gather(MergedFiles::open_with(paths, |path| Ok(Reader::open(path)?.skipping_contents()))?)
}

/// The same with what messages say and what processes hold.
///
/// # Errors
///
/// As [`merge_files`].
pub fn merge_whole_files<P: AsRef<Path>>(
    paths: impl IntoIterator<Item = P>,
) -> Result<Merged, MergeError> {
    gather(MergedFiles::open_with(paths, |path| Reader::open(path))?)
}

fn gather(mut files: MergedFiles) -> Result<Merged, MergeError> {
    let records = files.by_ref().collect::<Result<_, _>>()?;
    let header = files.header().clone();
    let Seams { unmatched, contradictions, torn, empty } = files.seams();
    Ok(Merged { header, records, unmatched, contradictions, torn, empty })
}

/// Merges traces of one run.
///
/// Each trace keeps its order; no message is received before it was sent; a crash comes after
/// what its process wrote in that session, and before its next boot. Otherwise
/// time decides, then process and number.
///
/// # Errors
///
/// [`MergeError`] when there is none, when they are not of one run, or one is there twice.
pub fn merge(traces: Vec<Trace>) -> Result<Merged, MergeError> {
    let header = common_header(traces.iter().map(|trace| &trace.header))?;
    differ(traces.iter().map(|trace| (trace.header.source, trace.records.first())))?;
    let torn = traces.iter().filter_map(|trace| trace.torn.clone()).collect();
    let feeds = traces.into_iter().map(|trace| (trace.header.source, trace.records.into_iter()));
    let mut merging = Merging::new(feeds, usize::MAX);
    let mut records = Vec::new();
    while let Next::Record(record) = merging.next()? {
        records.push(record);
    }
    let Seams { unmatched, contradictions, .. } = merging.seams();
    Ok(Merged { header, records, unmatched, contradictions, torn, empty: Vec::new() })
}

/// The records of many files in one order, as they are read: in memory that does not grow with
/// the length of the files.
///
/// For what a record has to wait for, each file is looked into 65,536 records ahead, and the last
/// 65,536 messages are remembered. Where that is not enough, time alone decides.
pub struct MergedFiles {
    header: Header,
    merging: Merging<Reader>,
    empty: Vec<PathBuf>,
}

/// What was found where files were put together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seams {
    /// As in [`Merged`].
    pub unmatched: u64,
    /// As in [`Merged`].
    pub contradictions: u64,
    /// As in [`Merged`].
    pub torn: Vec<PathBuf>,
    /// As in [`Merged`].
    pub empty: Vec<PathBuf>,
}

impl MergedFiles {
    /// Opens the files at `paths`. What messages say and processes hold is passed over.
    ///
    /// # Errors
    ///
    /// [`MergeError`]; the files are only read.
    pub fn open<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Result<Self, MergeError> {
        MergedFiles::open_with(paths, |path| Ok(Reader::open(path)?.skipping_contents()))
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
        let header = common_header(readers.iter().map(Reader::header))?;
        differ(readers.iter_mut().map(|reader| (reader.header().source, reader.first())))?;
        let feeds = readers.into_iter().map(|reader| (reader.header().source, reader));
        Ok(MergedFiles { header, merging: Merging::new(feeds, LOOK_AHEAD), empty })
    }

    /// The header of the first node (or of the first trace), for all.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// What was found where the files were put together, known when the records are exhausted.
    pub fn seams(&self) -> Seams {
        let torn = self.merging.feeds().filter(|reader| reader.torn());
        let torn = torn.map(|reader| reader.path().to_path_buf()).collect();
        Seams { torn, empty: self.empty.clone(), ..self.merging.seams() }
    }

    /// The most records and messages that were ever held at once, of all files together.
    pub fn most_held(&self) -> usize {
        self.merging.most_held()
    }
}

impl Iterator for MergedFiles {
    type Item = Result<Record, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.merging.next() {
            Ok(Next::Record(record)) => Some(Ok(record)),
            // Whole files are never silent.
            Ok(Next::Later | Next::End) => None,
            Err(error) => Some(Err(error)),
        }
    }
}

impl std::fmt::Debug for MergedFiles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MergedFiles").field("header", &self.header).finish_non_exhaustive()
    }
}

/// One header for all, if they are of one run.
pub(crate) fn common_header<'a>(
    headers: impl Iterator<Item = &'a Header> + Clone,
) -> Result<Header, MergeError> {
    let own = |header: &&Header| !matches!(header.source, Source::Parent | Source::Resource);
    let mut all = headers.clone();
    let first = headers.clone().find(own).or_else(|| all.next()).ok_or(MergeError::Nothing)?;
    for header in headers.clone() {
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
    made_alike(headers.clone())?;
    let fenced = headers.clone().all(|header| header.fenced);
    // Whoever hurts a run knows what is still promised of it.
    let mut parents = headers.filter(|header| header.source == Source::Parent);
    let told = parents.find(|header| !header.promises.is_empty()).unwrap_or(first);
    let most_bypass = told.most_bypass.or(first.most_bypass);
    Ok(Header { fenced, promises: told.promises.clone(), most_bypass, ..first.clone() })
}

/// Refuses runs that were made differently. Nodes say nothing of that: the seed in the
/// configuration of each is its own.
fn made_alike<'a>(headers: impl Iterator<Item = &'a Header> + Clone) -> Result<(), MergeError> {
    let made = headers.filter(|header| header.source != Source::Node);
    let seeds = made.clone().filter_map(|header| header.seed);
    let differ = other_than_first(seeds).map(|(one, other)| format!("seeds {one} and {other}"));
    let commands = made.filter_map(|header| header.replay.as_ref());
    let differ = differ.or_else(|| {
        other_than_first(commands).map(|(one, other)| format!("`{one}` and `{other}`"))
    });
    differ.map_or(Ok(()), |what| Err(MergeError::DifferentRuns { what }))
}

fn other_than_first<T: PartialEq>(mut all: impl Iterator<Item = T>) -> Option<(T, T)> {
    let first = all.next()?;
    let other = all.find(|it| *it != first)?;
    Some((first, other))
}

/// Refuses a trace that is given twice, or with a copy of it: both begin with the same record. And
/// that of a node of another run, which begins with a session of its process that is there.
fn differ<'a>(
    firsts: impl Iterator<Item = (Source, Option<&'a Record>)>,
) -> Result<(), MergeError> {
    let mut seen: Vec<(Source, &Record)> = Vec::new();
    for (source, first) in firsts {
        let Some(first) = first else { continue };
        if seen.contains(&(source, first)) {
            return Err(MergeError::Twice { record: first.in_words() });
        }
        let is_boot = source == Source::Node && first.kind == Kind::Boot;
        if is_boot
            && seen.iter().any(|(source, it)| *source == Source::Node && same_boot(it, first))
        {
            let Record { process, session, .. } = first;
            let what = format!("{process} boots in session {session} of two");
            return Err(MergeError::DifferentRuns { what });
        }
        seen.push((source, first));
    }
    Ok(())
}

/// Whether these tell of the same session of a process, which has one boot in a run.
fn same_boot(one: &Record, other: &Record) -> bool {
    let boot = |it: &Record| (it.kind == Kind::Boot, it.process, it.session);
    boot(one) == boot(other)
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
    /// One of them is there twice.
    #[error("a trace is given twice, or with a copy of it: two begin with the record `{record}`")]
    Twice {
        /// What happened first in both.
        record: String,
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
