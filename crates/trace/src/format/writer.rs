//! Writers of traces.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::format::event::Record;
use crate::format::header::{Header, TRACE_FORMAT_VERSION};

/// Size of the buffer, in bytes. When the buffer is full, the writer writes it to the output even
/// without a call of [`flush`](Writer::flush).
const BUFFER_BYTES: usize = 64 * 1024;

/// Writes a trace, record by record. The writer collects complete lines in a buffer. Each flush
/// writes all lines of the buffer in one call.
///
/// A process that is killed loses the records that were not flushed. At worst it leaves an
/// incomplete last line, which readers accept. Call [`flush`](Writer::flush) after a record that
/// must not be lost. For example, flush the record of an entry before the user acts on the entry.
///
/// Dropping a writer flushes it, and ignores errors.
#[derive(Debug)]
pub struct Writer<W: Write = File> {
    to: W,
    buffer: Vec<u8>,
    sequence: u64,
    /// Length in bytes of the written part of the trace, including the contents of the file before
    /// this writer existed. The buffer does not count.
    bytes: u64,
}

impl Writer<File> {
    /// Creates or truncates the file at `path`, and writes the header.
    ///
    /// # Errors
    ///
    /// Returns a [`CreateError`]. The file may then exist, with an incomplete header.
    pub fn create(path: impl AsRef<Path>, header: &Header) -> Result<Self, CreateError> {
        let path = path.as_ref();
        let failed = |error| CreateError { path: path.into(), error };
        let file = File::create(path).map_err(failed)?;
        Writer::new(file, header).map_err(|WriteError(error)| failed(error))
    }

    /// Opens the file at `path` to append records, as a recovered node does. Creates the file if it
    /// is missing.
    ///
    /// Removes an incomplete last line, and keeps the header of the file. The first new record gets
    /// the number after the last record in the file. If the file has no complete line, the trace
    /// begins anew with `header`.
    ///
    /// # Errors
    ///
    /// Returns an [`AppendError`]. The file is unchanged, except after [`AppendError::Io`].
    pub fn open_to_append(path: impl AsRef<Path>, header: &Header) -> Result<Self, AppendError> {
        let path = path.as_ref();
        let failed = |error| AppendError::Io { path: path.into(), error };
        let mut options = OpenOptions::new();
        let mut file = options
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(failed)?;
        let (whole, last) = last_whole_line(&mut file).map_err(failed)?;
        let start = first_line(&mut file).map_err(failed)?;
        let Some(last) = last else {
            if !BEGINNING.starts_with(&start[..start.len().min(BEGINNING.len())]) {
                return Err(AppendError::NotATrace { path: path.into() });
            }
            file.set_len(0).map_err(failed)?;
            file.rewind().map_err(failed)?;
            return Writer::new(file, header).map_err(|WriteError(error)| failed(error));
        };
        let numbers = serde_json::from_slice(&start).and_then(|first: First| {
            serde_json::from_slice(&last).map(|Last { sequence }| (first.version, sequence))
        });
        let Ok((version, sequence)) = numbers else {
            return Err(AppendError::NotATrace { path: path.into() });
        };
        if version > TRACE_FORMAT_VERSION {
            return Err(AppendError::Newer { path: path.into() });
        }
        file.set_len(whole).map_err(failed)?;
        file.seek(SeekFrom::End(0)).map_err(failed)?;
        let buffer = Vec::with_capacity(BUFFER_BYTES);
        Ok(Writer { to: file, buffer, sequence: sequence.unwrap_or(0), bytes: whole })
    }
}

impl<W: Write> Writer<W> {
    /// Starts a trace on the output `to`: writes the header and flushes it.
    ///
    /// # Errors
    ///
    /// Returns a [`WriteError`]. The output is then dropped, and may have received a part of the
    /// header.
    pub fn new(to: W, header: &Header) -> Result<Self, WriteError> {
        let buffer = Vec::with_capacity(BUFFER_BYTES);
        let mut writer = Writer { to, buffer, sequence: 0, bytes: 0 };
        writer.line(header)?;
        writer.flush()?;
        Ok(writer)
    }

    /// Assigns the next number to `record`, appends it to the buffer, and returns the number.
    /// Flushes the buffer if it is full.
    ///
    /// # Errors
    ///
    /// Returns a [`WriteError`]. If the flush fails, the unwritten bytes stay in the buffer, and a
    /// later flush may succeed. A record that cannot be serialized gets no number and is discarded.
    pub fn write(&mut self, mut record: Record) -> Result<u64, WriteError> {
        record.sequence = self.sequence + 1;
        self.line(&record)?;
        self.sequence = record.sequence;
        if self.buffer.len() >= BUFFER_BYTES {
            self.flush()?;
        }
        Ok(self.sequence)
    }

    /// Writes the buffer, in one call if the system permits.
    ///
    /// # Errors
    ///
    /// Returns a [`WriteError`]. Bytes that were not written stay in the buffer, and the next flush
    /// continues with them.
    pub fn flush(&mut self) -> Result<(), WriteError> {
        while !self.buffer.is_empty() {
            match self.to.write(&self.buffer) {
                Ok(0) => return Err(WriteError(io::ErrorKind::WriteZero.into())),
                Ok(written) => {
                    self.buffer.drain(..written);
                    self.bytes += written as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(WriteError(error)),
            }
        }
        self.to.flush().map_err(WriteError)
    }

    /// Returns the number of the last record of the trace, or 0 if the trace has no record.
    pub fn last_sequence(&self) -> u64 {
        self.sequence
    }

    /// Returns the length of the trace in bytes, excluding the records that are still in the
    /// buffer.
    pub fn written_bytes(&self) -> u64 {
        self.bytes
    }

    fn line(&mut self, value: &impl serde::Serialize) -> Result<(), WriteError> {
        let before = self.buffer.len();
        if let Err(error) = serde_json::to_writer(&mut self.buffer, value) {
            self.buffer.truncate(before);
            return Err(WriteError(error.into()));
        }
        self.buffer.push(b'\n');
        Ok(())
    }
}

impl<W: Write> Drop for Writer<W> {
    fn drop(&mut self) {
        let _ = self.flush();
    }
}

/// Bytes with which every trace begins, in all versions of the format.
const BEGINNING: &[u8] = b"{\"trace\":\"tenure\"";

/// The header of an existing trace. It contains only the fields that the writer needs to continue
/// the trace.
#[derive(Deserialize)]
struct First {
    #[serde(rename = "trace")]
    _trace: String,
    version: u32,
}

/// The last line of an existing trace. It contains only the field that the writer needs to continue
/// the trace. `sequence` is `None` if the last line is the header.
#[derive(Deserialize)]
struct Last {
    sequence: Option<u64>,
}

/// Reads the first line of a file, without its line feed.
fn first_line(file: &mut File) -> io::Result<Vec<u8>> {
    file.rewind()?;
    let mut line = Vec::new();
    BufReader::new(file).read_until(b'\n', &mut line)?;
    line.pop_if(|byte| *byte == b'\n');
    Ok(line)
}

/// Returns the last complete line of the file. The first value is the length of the file up to the
/// end of this line. The second value is the content of this line. Returns 0 and `None` if the file
/// has no complete line.
fn last_whole_line(file: &mut File) -> io::Result<(u64, Option<Vec<u8>>)> {
    let length = file.seek(SeekFrom::End(0))?;
    let mut window = BUFFER_BYTES as u64;
    loop {
        let start = length.saturating_sub(window);
        file.seek(SeekFrom::Start(start))?;
        let mut tail = Vec::new();
        Read::take(&mut *file, length - start).read_to_end(&mut tail)?;
        let end = tail.iter().rposition(|byte| *byte == b'\n');
        let before = end.and_then(|end| tail[..end].iter().rposition(|byte| *byte == b'\n'));
        match (end, before) {
            (Some(end), Some(before)) => {
                return Ok((start + end as u64 + 1, Some(tail[before + 1..end].to_vec())));
            }
            (Some(end), None) if start == 0 => {
                return Ok((end as u64 + 1, Some(tail[..end].to_vec())));
            }
            (None, _) if start == 0 => return Ok((0, None)),
            _ => window *= 2,
        }
    }
}

/// Error: a trace could not be created.
#[derive(Debug, thiserror::Error)]
#[error("cannot create the trace {}: {error}", path.display())]
pub struct CreateError {
    /// Path of the trace.
    pub path: PathBuf,
    /// Cause of the failure.
    #[source]
    pub error: io::Error,
}

/// Error: a trace could not be continued.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// The operating system reported an I/O error. Before this error, the writer may have created
    /// the file, or removed an incomplete last line.
    #[error("cannot continue the trace {}: {error}", path.display())]
    Io {
        /// Path of the trace.
        path: PathBuf,
        /// Cause of the failure.
        #[source]
        error: io::Error,
    },
    /// The file does not begin like a trace, or its last complete line is not a record. The file is
    /// unchanged.
    #[error("cannot continue {}: it is not a trace; name another file", path.display())]
    NotATrace {
        /// Path of the trace file.
        path: PathBuf,
    },
    /// The file has a newer version of the format. The writer has not changed the file.
    #[error(
        "cannot continue {}: its format is newer than version {TRACE_FORMAT_VERSION}",
        path.display()
    )]
    Newer {
        /// Path of the trace file.
        path: PathBuf,
    },
}

/// Error: records could not be written to the trace. Unwritten bytes remain in the buffer of the
/// writer. A record that could not be serialized is discarded.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the trace: {0}")]
pub struct WriteError(#[source] pub io::Error);
