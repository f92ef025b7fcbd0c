//! Traces in memory.

use std::path::{Path, PathBuf};

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
    /// Path of the file, if its last line is incomplete.
    pub torn: Option<PathBuf>,
}

impl Trace {
    /// Reads the file at `path` completely.
    ///
    /// # Errors
    ///
    /// Returns a [`ReadError`]. The records that were read before are lost.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, ReadError> {
        Trace::gather(Reader::open(&path)?, path.as_ref())
    }

    fn gather(mut reader: Reader, path: &Path) -> Result<Self, ReadError> {
        let header = reader.header().clone();
        let records = reader.by_ref().collect::<Result<_, _>>()?;
        let torn = reader.torn().then(|| path.to_path_buf());
        Ok(Trace { header, records, torn })
    }
}
