//! Reader of traces, one line at a time.

use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::files::{self, File};
use crate::format::event::Record;
use crate::format::header::{ClockUnit, Header, TRACE_FORMAT_VERSION};
use crate::format::limits::ReadLimits;
use crate::format::line::{ContentHandling, decode_record};
use crate::format::process_check::unknown_process_error;

/// Default maximum length of a line, in bytes. [`ReadLimits`] may permit longer
/// lines. The lines that Tenure writes are much shorter.
pub const DEFAULT_MAX_LINE_BYTES: u64 = 16 << 20;

/// Reads a trace, one record at a time.
///
/// A killed writer may leave an incomplete last line. The reader stops before this line, and
/// [`is_torn`](Reader::is_torn) then returns true. Any other line that is not a record is an error.
/// A record is also an error if its number or time does not fit the earlier records, or if it names
/// a process outside of the group.
///
/// The iterator ends after the first error.
#[derive(Debug)]
pub struct Reader<R = BufReader<File>> {
    from: R,
    path: PathBuf,
    header: Header,
    line: Vec<u8>,
    /// Number of the line that was read last, from 1.
    number: usize,
    /// Time of the record that was read last, or 0 before the first record.
    last_time: u64,
    /// First record or error, if [`Reader::peek_first`] has read it and `next` has not returned it
    /// yet.
    first: Option<Result<Record, ReadError>>,
    contents: ContentHandling,
    torn: bool,
    done: bool,
}

impl Reader {
    /// Opens the file at `path` and reads its header.
    ///
    /// # Errors
    ///
    /// Returns a [`ReadError`] if the file cannot be read or does not begin with a valid header.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ReadError> {
        let path = path.as_ref();
        let file = files::open(path).map_err(|error| ReadError::Io { path: path.into(), error })?;
        Reader::new(BufReader::with_capacity(256 * 1024, file), path)
    }
}

impl<R: BufRead> Reader<R> {
    /// Reads the header from the input `from`. Errors contain `path` as the name of the input.
    ///
    /// # Errors
    ///
    /// Returns a [`ReadError`] if the input cannot be read or does not begin with a valid header.
    /// The input was then read up to the end of the first line, or up to the error.
    pub fn new(mut from: R, path: impl Into<PathBuf>) -> Result<Self, ReadError> {
        let path = path.into();
        let mut line = Vec::new();
        if let Err(error) = read_line(&mut from, &mut line) {
            return Err(ReadError::Io { path, error });
        }
        if is_too_long(&line) {
            return Err(ReadError::NotATrace { path });
        }
        let header = decode_header(&line, &path)?;
        let contents = ContentHandling::Kept;
        Ok(Reader {
            from,
            path,
            header,
            line,
            number: 1,
            last_time: 0,
            first: None,
            contents,
            torn: false,
            done: false,
        })
    }

    /// Makes this reader skip the contents of messages and the states of processes, which
    /// verification does not need.
    #[must_use]
    pub fn without_message_contents_and_states(mut self) -> Self {
        self.contents = ContentHandling::Skipped;
        self
    }

    /// Returns the header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the first record without consuming it. Returns `None` if there is no record, or if
    /// the first record is an error. The caller must not have read a record before.
    pub(crate) fn peek_first(&mut self) -> Option<&Record> {
        if self.number == 1 {
            self.first = Iterator::next(self);
        }
        self.first.as_ref()?.as_ref().ok()
    }

    /// Returns true if the reader has reached an incomplete last line.
    pub fn is_torn(&self) -> bool {
        self.torn
    }

    fn read(&mut self) -> Result<Option<Record>, ReadError> {
        self.line.clear();
        let read = read_line(&mut self.from, &mut self.line);
        if read.map_err(|error| ReadError::Io { path: self.path.clone(), error })? == 0 {
            return Ok(None);
        }
        let whole = self.line.last() == Some(&b'\n') || is_too_long(&self.line);
        if !whole && decode_record(&self.line, self.contents).is_err() {
            self.torn = true;
            return Ok(None);
        }
        self.whole_line().map(Some)
    }

    /// Parses the line that was read last. This line must be complete.
    fn whole_line(&mut self) -> Result<Record, ReadError> {
        self.number += 1;
        if is_too_long(&self.line) {
            let most = ReadLimits::current().max_line_bytes;
            let description =
                format!("line exceeds {most} bytes; raise the limit with --longest-line");
            return Err(self.malformed(description));
        }
        let record = decode_record(&self.line, self.contents);
        let record = record.map_err(|error| self.malformed(without_place(&error)))?;
        let error = unknown_process_error(&record, self.header.n);
        if let Some(description) = error.or_else(|| self.order_error(&record)) {
            return Err(self.malformed(description));
        }
        self.last_time = record.time;
        Ok(record)
    }

    /// Returns a description of the problem if `record` cannot follow the records before it, and
    /// `None` otherwise.
    ///
    /// The sequence number of a record must be its position in the file. The number 0 means that
    /// the record has none, and is accepted. Virtual times must not decrease. Real times may
    /// decrease, because the clock of a machine may be set back.
    fn order_error(&self, record: &Record) -> Option<String> {
        let (found, expected) = (record.sequence, self.number as u64 - 1);
        if found != 0 && found != expected {
            return Some(format!(
                "sequence is {found}, expected {expected}: a record is missing, repeated or \
                 misplaced; use the file as it was written"
            ));
        }
        let (time, last) = (record.time, self.last_time);
        let decreases = self.header.clock == ClockUnit::Tick && time < last;
        decreases.then(|| {
            format!(
                "time is {time}, expected at least {last}, the time of the record before: virtual \
                 time never decreases; use the file as it was written"
            )
        })
    }

    fn malformed(&self, description: String) -> ReadError {
        ReadError::Malformed { path: self.path.clone(), line: self.number, description }
    }
}

impl<R: BufRead + Seek> Reader<R> {
    /// Returns the next record of a file that is still being written. Returns `None` if the line of
    /// that record is not complete yet. A later call then reads the line again.
    pub(crate) fn poll(&mut self) -> Result<Option<Record>, ReadError> {
        let failed = |error, path: &Path| ReadError::Io { path: path.into(), error };
        self.line.clear();
        let read = read_line(&mut self.from, &mut self.line);
        let read = read.map_err(|error| failed(error, &self.path))?;
        if self.line.last() == Some(&b'\n') || is_too_long(&self.line) {
            return self.whole_line().map(Some);
        }
        // Rewinds to the start of the incomplete line, because a writer that continues the file
        // removes this line.
        let back = i64::try_from(read).unwrap_or(0);
        let sought = self.from.seek(SeekFrom::Current(-back));
        sought.map_err(|error| failed(error, &self.path))?;
        Ok(None)
    }
}

impl<R: BufRead> Iterator for Reader<R> {
    type Item = Result<Record, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        if self.done {
            return None;
        }
        let record = self.read().transpose();
        self.done = !matches!(record, Some(Ok(_)));
        record
    }
}

/// Reads one line. If the line exceeds the maximum length, reads the maximum length and one more
/// byte.
fn read_line(from: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<usize> {
    from.take(ReadLimits::current().max_line_bytes.saturating_add(1)).read_until(b'\n', line)
}

fn is_too_long(line: &[u8]) -> bool {
    line.len() as u64 > ReadLimits::current().max_line_bytes
}

/// Fields that the header of every version has.
#[derive(Deserialize)]
struct Versioned {
    trace: String,
    version: u32,
}

fn decode_header(line: &[u8], path: &Path) -> Result<Header, ReadError> {
    let path = || path.to_path_buf();
    let torn = line.last() != Some(&b'\n');
    let versioned: Versioned = match serde_json::from_slice(line) {
        Ok(versioned) => versioned,
        Err(_) if torn && (line.is_empty() || line.starts_with(b"{\"")) => {
            return Err(ReadError::Empty { path: path() });
        }
        Err(_) => return Err(ReadError::NotATrace { path: path() }),
    };
    if versioned.trace != "tenure" {
        return Err(ReadError::NotATrace { path: path() });
    }
    if versioned.version > TRACE_FORMAT_VERSION {
        return Err(ReadError::Newer { path: path(), version: versioned.version });
    }
    let malformed = |description| ReadError::Malformed { path: path(), line: 1, description };
    let header: Header =
        serde_json::from_slice(line).map_err(|error| malformed(without_place(&error)))?;
    let most = ReadLimits::current().max_processes;
    if !(1..=most).contains(&header.n) {
        let n = header.n;
        let description = format!(
            "a group must have 1 to {most} processes, not {n}; \
             raise the limit with --most-processes"
        );
        return Err(malformed(description));
    }
    if let Some(ranks) = header.ranks.as_ref().map(Vec::len)
        && ranks != 0
        && ranks != header.n as usize
    {
        let n = header.n;
        return Err(malformed(format!("a group of {n} processes needs {n} ranks, not {ranks}")));
    }
    if let Some(Err(error)) = header.graph.as_ref().map(|edges| edges.to_graph(header.n)) {
        return Err(malformed(error.to_string()));
    }
    Ok(header)
}

/// Returns the message of a JSON error without the position of the error. This position counts from
/// the start of the line, not of the file.
fn without_place(error: &serde_json::Error) -> String {
    let description = error.to_string();
    match description.split_once(" at line ") {
        Some((description, _)) => description.to_owned(),
        None => description,
    }
}

/// Error: a trace could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The operating system reported an I/O error.
    #[error("cannot read {}: {error}", path.display())]
    Io {
        /// File that could not be read.
        path: PathBuf,
        /// Cause of the failure.
        #[source]
        error: io::Error,
    },
    /// The file ends within its first line, the header. The writer was killed before it wrote a
    /// record, so the file is treated as an empty trace.
    #[error("{} is empty: its header is incomplete", path.display())]
    Empty {
        /// Path of the file without a complete header.
        path: PathBuf,
    },
    /// The first line is not a header, or is longer than the limit.
    #[error("{} is not a trace: its first line is not a header", path.display())]
    NotATrace {
        /// Path of the file that is not a trace.
        path: PathBuf,
    },
    /// The file has a version of the format that is newer than this program.
    #[error(
        "{} is of version {version} of the format, newer than this program's \
         {TRACE_FORMAT_VERSION}; read it with a newer tenure",
        path.display()
    )]
    Newer {
        /// Path of the file in the newer version.
        path: PathBuf,
        /// Version of the format in the file.
        version: u32,
    },
    /// The header is not valid, or a complete line after it is too long or is not a record of this
    /// trace.
    #[error("{}:{line}: {description}", path.display())]
    Malformed {
        /// Path of the file with the malformed line.
        path: PathBuf,
        /// Number of the malformed line, from 1.
        line: usize,
        /// Description of the problem.
        description: String,
    },
}
