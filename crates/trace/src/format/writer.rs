//! Traces are written in whole lines.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::format::event::Record;
use crate::format::header::{Header, VERSION};

/// How much is buffered before it is written without being asked.
const BUFFER_BYTES: usize = 64 * 1024;

/// Writes a trace: whole lines, buffered, each flush in one call.
///
/// A process that is killed loses what it had not flushed and, at worst, tears its last line,
/// which readers accept. What must not be lost (an entry, before its user acts upon it) wants a
/// [`flush`](Writer::flush). Dropping a writer flushes it, without a word if that fails.
#[derive(Debug)]
pub struct Writer<W: Write = File> {
    to: W,
    buffer: Vec<u8>,
    sequence: u64,
    /// How many bytes were written, those that were there before included.
    bytes: u64,
}

impl Writer<File> {
    /// Creates the file at `path`, or empties it, and writes the header.
    ///
    /// # Errors
    ///
    /// [`CreateError`]; the file may exist by then, without a complete header.
    pub fn create(path: impl AsRef<Path>, header: &Header) -> Result<Self, CreateError> {
        let path = path.as_ref();
        let failed = |error| CreateError { path: path.into(), error };
        let file = File::create(path).map_err(failed)?;
        Writer::new(file, header).map_err(|WriteError(error)| failed(error))
    }

    /// Continues the file at `path`, as a recovered node does; creates it when it is missing.
    ///
    /// A torn last line is cut off. The header stays the one that the file has; numbers go on
    /// from the last record.
    ///
    /// # Errors
    ///
    /// [`AppendError`]; unless it is [`AppendError::Io`], the file was not touched.
    pub fn append(path: impl AsRef<Path>, header: &Header) -> Result<Self, AppendError> {
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
        if version > VERSION {
            return Err(AppendError::Newer { path: path.into() });
        }
        file.set_len(whole).map_err(failed)?;
        file.seek(SeekFrom::End(0)).map_err(failed)?;
        let buffer = Vec::with_capacity(BUFFER_BYTES);
        Ok(Writer { to: file, buffer, sequence: sequence.unwrap_or(0), bytes: whole })
    }
}

impl<W: Write> Writer<W> {
    /// Starts a trace on anything that can be written to, and flushes the header.
    ///
    /// # Errors
    ///
    /// [`WriteError`]; `to` is dropped, with perhaps a part of the header written.
    pub fn new(to: W, header: &Header) -> Result<Self, WriteError> {
        let buffer = Vec::with_capacity(BUFFER_BYTES);
        let mut writer = Writer { to, buffer, sequence: 0, bytes: 0 };
        writer.line(header)?;
        writer.flush()?;
        Ok(writer)
    }

    /// Numbers `record` and puts it into the buffer, which is written when it is full. Returns
    /// the number.
    ///
    /// # Errors
    ///
    /// [`WriteError`]; the record stays in the buffer, and flushing again may yet succeed.
    pub fn write(&mut self, mut record: Record) -> Result<u64, WriteError> {
        self.sequence += 1;
        record.sequence = self.sequence;
        self.line(&record)?;
        if self.buffer.len() >= BUFFER_BYTES {
            self.flush()?;
        }
        Ok(self.sequence)
    }

    /// Writes what is buffered, in one call where the system allows.
    ///
    /// # Errors
    ///
    /// [`WriteError`]; what was not written stays in the buffer, and flushing again goes on
    /// where this stopped.
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

    /// The number of the last record.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// How long the trace is, without what is still buffered.
    pub fn bytes(&self) -> u64 {
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

/// How every trace of every version begins.
const BEGINNING: &[u8] = b"{\"trace\":\"tenure\"";

/// What appending must know of the first line.
#[derive(Deserialize)]
struct First {
    #[serde(rename = "trace")]
    _trace: String,
    version: u32,
}

/// What appending must know of the last line; the header has no number.
#[derive(Deserialize)]
struct Last {
    sequence: Option<u64>,
}

/// The first line of a file, without the end of the line.
fn first_line(file: &mut File) -> io::Result<Vec<u8>> {
    file.rewind()?;
    let mut line = Vec::new();
    BufReader::new(file).read_until(b'\n', &mut line)?;
    line.pop_if(|byte| *byte == b'\n');
    Ok(line)
}

/// The length of a file up to the end of its last whole line, and that line.
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

/// A trace could not be created.
#[derive(Debug, thiserror::Error)]
#[error("cannot create the trace {}: {error}", path.display())]
pub struct CreateError {
    /// Where.
    pub path: PathBuf,
    /// Why.
    #[source]
    pub error: io::Error,
}

/// A trace could not be continued.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// The system refused. The file may have lost a torn last line.
    #[error("cannot continue the trace {}: {error}", path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// Why.
        #[source]
        error: io::Error,
    },
    /// The file's last whole line is no line of a trace. It was not touched.
    #[error("cannot continue {}: it is not a trace; name another file", path.display())]
    NotATrace {
        /// Where.
        path: PathBuf,
    },
    /// The file is of a newer version. It was not touched.
    #[error("cannot continue {}: its format is newer than version {VERSION}", path.display())]
    Newer {
        /// Where.
        path: PathBuf,
    },
}

/// Lines could not be written; they are still buffered.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the trace: {0}")]
pub struct WriteError(#[source] pub io::Error);
