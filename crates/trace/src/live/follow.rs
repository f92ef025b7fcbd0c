//! Merging of traces that are still being written.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::format::{Header, ReadError, Reader, segment_path};
use crate::merge::{
    LOOK_AHEAD, MergeError, MergeReport, NextRecord, RecordMerger, RecordSource, common_header,
};

/// Merges the traces of a run while they are being written.
///
/// A trace may consist of several files, its [parts](crate::TraceSegments). The follower delivers a
/// record as soon as each file contains a later one, but at the latest about one second after the
/// time of the record. If a cause of the record is not written yet, the delay is longer, because
/// causes are always delivered first.
pub struct TraceFollower {
    header: Header,
    merging: RecordMerger<Part>,
    empty: Vec<PathBuf>,
}

impl TraceFollower {
    /// Opens the existing traces at `paths`, and reads them from their first part. A trace whose
    /// header is incomplete is skipped and reported. The caller sets the flag `files_complete` to
    /// true when all files are complete.
    ///
    /// # Errors
    ///
    /// Returns a [`MergeError`] if the traces cannot be read or merged.
    pub fn open(paths: &[PathBuf], files_complete: &Arc<AtomicBool>) -> Result<Self, MergeError> {
        let (mut parts, mut empty) = (Vec::new(), Vec::new());
        for path in paths {
            match Reader::open(path) {
                Ok(reader) => parts.push(Part::new(path, reader, files_complete)),
                Err(ReadError::Empty { path }) => empty.push(path),
                Err(error) => return Err(MergeError::Read(error)),
            }
        }
        let header = common_header(parts.iter().map(|part| part.reader.header()))?;
        let sources = parts.into_iter().map(|part| (part.reader.header().source, part));
        Ok(TraceFollower { header, merging: RecordMerger::new(sources, LOOK_AHEAD), empty })
    }

    /// Returns the common header of the traces, as
    /// [`MergedTrace::header`](crate::MergedTrace::header) describes it.
    pub fn common_header(&self) -> &Header {
        &self.header
    }

    /// Returns the next record in the merged order. Returns [`NextRecord::Later`] if the record is
    /// not written yet, or if an earlier one may still be written.
    ///
    /// # Errors
    ///
    /// Returns a [`ReadError`]. After that, no further records can be read.
    pub fn next_record(&mut self) -> Result<NextRecord, ReadError> {
        self.merging.next_record()
    }

    /// Returns the files that were read to their end since the last call, except the last file of
    /// each trace. Each element contains the index of a trace and the path of a file of this trace.
    /// The index counts only the traces that had a header when the follower was opened.
    pub fn take_completed_files(&mut self) -> Vec<(usize, PathBuf)> {
        let parts = self.merging.readers_mut().enumerate();
        parts.flat_map(|(place, part)| part.finished.drain(..).map(move |it| (place, it))).collect()
    }

    /// Returns the problems that the merge has found so far, such as incomplete files. The report
    /// is complete after the last record.
    pub fn merge_report(&self) -> MergeReport {
        let mut merge_report = self.merging.merge_report();
        merge_report.torn = self.merging.readers().filter_map(Part::torn).collect();
        MergeReport { empty: self.empty.clone(), ..merge_report }
    }

    /// Returns the maximum number of records and messages that were in memory at the same time. The
    /// number covers all files together.
    pub fn peak_retained_count(&self) -> usize {
        self.merging.max_retained_count()
    }
}

impl std::fmt::Debug for TraceFollower {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TraceFollower").field("header", &self.header).finish_non_exhaustive()
    }
}

/// The part of a trace that is currently read, and the parts that were read before.
struct Part {
    path: PathBuf,
    number: u64,
    reader: Reader,
    finished: Vec<PathBuf>,
    over: Arc<AtomicBool>,
}

impl Part {
    fn new(path: &Path, reader: Reader, over: &Arc<AtomicBool>) -> Self {
        let reader = reader.without_message_contents_and_states();
        Part { path: path.into(), number: 1, reader, finished: Vec::new(), over: over.clone() }
    }

    fn torn(&self) -> Option<PathBuf> {
        self.reader.is_torn().then(|| segment_path(&self.path, self.number))
    }

    /// Advances to the next part of the trace, if there is one. The previous part is then complete.
    /// Returns false if there is no next part.
    fn turn(&mut self) -> Result<bool, ReadError> {
        match Reader::open(segment_path(&self.path, self.number + 1)) {
            Ok(reader) => {
                self.reader = reader.without_message_contents_and_states();
                self.finished.push(segment_path(&self.path, self.number));
                self.number += 1;
                Ok(true)
            }
            // The file does not exist yet, or has no header yet.
            Err(ReadError::Io { error, .. }) if error.kind() == std::io::ErrorKind::NotFound => {
                Ok(false)
            }
            Err(ReadError::Empty { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

impl RecordSource for Part {
    fn next_record(&mut self) -> Result<NextRecord, ReadError> {
        // Loads the flag before the read. If the flag is set, the files were complete before the
        // read.
        let over = self.over.load(Ordering::Acquire);
        loop {
            if let Some(record) = self.reader.poll()? {
                return Ok(NextRecord::Record(record));
            }
            let there = segment_path(&self.path, self.number + 1).exists();
            // The next part exists, so this part is complete. Reads the rest of this part first.
            if there && let Some(record) = self.reader.poll()? {
                return Ok(NextRecord::Record(record));
            }
            if there && self.turn()? {
                continue;
            }
            if !over {
                return Ok(NextRecord::Later);
            }
            return RecordSource::next_record(&mut self.reader);
        }
    }
}
