//! Traces in memory.

use std::io::{self, BufRead, Write};
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::format::event::Record;
use crate::format::header::Header;
use crate::format::reader::{ReadError, Reader};

/// Complete trace in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// Description of the run, and of how to interpret the records.
    pub header: Header,
    /// All records, in order.
    pub records: Vec<Record>,
    /// Path of the file, or the name of the input, if the last line is incomplete. Otherwise
    /// `None`.
    pub torn: Option<PathBuf>,
}

impl Trace {
    /// Reads the file at `path` completely.
    ///
    /// # Errors
    ///
    /// Returns a [`ReadError`] and discards the records that were already read.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, ReadError> {
        Trace::gather(Reader::open(path)?)
    }

    /// Parses the bytes of a trace. Errors and `torn` contain `name` in place of a path.
    ///
    /// # Errors
    ///
    /// Returns a [`ReadError`], as [`Trace::read`] does.
    pub fn parse(bytes: &[u8], name: &str) -> Result<Self, ReadError> {
        Trace::gather(Reader::new(bytes, name)?)
    }

    fn gather<R: BufRead>(mut reader: Reader<R>) -> Result<Self, ReadError> {
        let header = reader.header().clone();
        let records = reader.by_ref().collect::<Result<_, _>>()?;
        let torn = reader.is_torn().then(|| reader.path().to_path_buf());
        Ok(Trace { header, records, torn })
    }
}

/// Buffer in memory to which a [`Writer`](crate::Writer) can write a trace. All clones share the
/// same bytes, so a clone can take the bytes while the writer exists or after it was dropped.
#[derive(Clone, Debug, Default)]
pub struct TraceBuffer(Arc<Mutex<Vec<u8>>>);

impl TraceBuffer {
    /// Returns the bytes written so far, and removes them from the buffer.
    pub fn take_bytes(&self) -> Vec<u8> {
        mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Write for TraceBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
