//! A trace in several files, each of which is one.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::format::header::Header;
use crate::format::writer::{CreateError, WriteError, Writer};

/// The file of a part of the trace at `path`, from 1: `p1.ndjson`, `p1-2.ndjson`, `p1-3.ndjson`.
pub fn segment(path: &Path, number: u64) -> PathBuf {
    if number <= 1 {
        return path.to_path_buf();
    }
    let mut name = path.file_stem().map_or_else(OsString::new, OsString::from);
    name.push(format!("-{number}"));
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

/// Continues a trace in another file whenever one is long enough.
///
/// Files are finished in the order of their numbers: where there is a next one, nothing is added
/// any more to those before it. Whoever has no need of these may delete them, of the last ones
/// never.
#[derive(Clone, Debug)]
pub struct Segments {
    path: PathBuf,
    header: Header,
    bytes: u64,
    number: u64,
}

impl Segments {
    /// Parts of the trace at `path`, each of about so many bytes. Finds which is the last.
    ///
    /// # Errors
    ///
    /// When the folder cannot be read.
    pub fn new(path: impl Into<PathBuf>, header: Header, bytes: u64) -> io::Result<Self> {
        let path = path.into();
        let number = last(&path)?;
        Ok(Segments { path, header, bytes, number })
    }

    /// The last file, to which is written.
    pub fn current(&self) -> PathBuf {
        segment(&self.path, self.number)
    }

    /// Begins the next file if the current one, that of `writer`, is long enough.
    ///
    /// # Errors
    ///
    /// [`CreateError`]; the writer stays where it is.
    pub fn turn(&mut self, writer: &mut Writer) -> Result<(), CreateError> {
        if writer.bytes() < self.bytes {
            return Ok(());
        }
        let failed = |WriteError(error)| CreateError { path: self.current(), error };
        writer.flush().map_err(failed)?;
        *writer = Writer::create(segment(&self.path, self.number + 1), &self.header)?;
        self.number += 1;
        Ok(())
    }
}

/// The number of the last part that there is; 1 where there is none yet.
fn last(path: &Path) -> io::Result<u64> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let mut last = 1;
    if !folder.is_dir() {
        return Ok(last);
    }
    for file in fs::read_dir(folder)? {
        let name = file?.file_name();
        let name = Path::new(&name);
        let stem = name.file_stem().and_then(|stem| stem.to_str());
        let number = stem.and_then(|stem| stem.rsplit_once('-')?.1.parse().ok());
        if let Some(number) = number
            && segment(path, number).file_name() == Some(name.as_os_str())
        {
            last = last.max(number);
        }
    }
    Ok(last)
}
