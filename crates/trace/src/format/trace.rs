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
    /// Header of the trace.
    pub header: Header,
    /// All records, in order.
    pub records: Vec<Record>,
    /// Path of the file if its last line is incomplete. Otherwise `None`.
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

    /// Parses the bytes of a trace. Errors contain `name` in place of a path.
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

/// Buffer in memory to which a writer writes a trace. All clones share the same bytes. If the
/// writer is dropped, a clone can still read the bytes.
#[derive(Clone, Debug, Default)]
pub struct TraceBuffer(Arc<Mutex<Vec<u8>>>);

impl TraceBuffer {
    /// Takes the written bytes out of the buffer.
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
