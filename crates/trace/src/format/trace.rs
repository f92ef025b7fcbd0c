//! A whole trace in memory.

use std::path::{Path, PathBuf};

use crate::format::event::Record;
use crate::format::header::Header;
use crate::format::reader::{ReadError, Reader};

/// A whole trace in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// The first line.
    pub header: Header,
    /// All records, in order.
    pub records: Vec<Record>,
    /// The file whose last line was torn, if it was.
    pub torn: Option<PathBuf>,
}

impl Trace {
    /// Reads the whole file at `path`.
    ///
    /// # Errors
    ///
    /// [`ReadError`]; nothing is kept of what was read before it.
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
