//! A trace that is split into several files. Each file is a valid trace.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::format::header::Header;
use crate::format::writer::{CreateError, WriteError, Writer};

/// Returns the path of a part of the trace at `path`. Parts are numbered from 1: `p1.ndjson`,
/// `p1-2.ndjson`, `p1-3.ndjson`.
pub fn segment_path(path: &Path, number: u64) -> PathBuf {
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

/// Splits a trace into files of limited size.
///
/// The files are numbered from 1. A file is complete as soon as the next file exists. A complete
/// file may be deleted. The last file must not be deleted, because its number shows where the trace
/// continues.
#[derive(Clone, Debug)]
pub struct TraceSegments {
    path: PathBuf,
    header: Header,
    bytes: u64,
    number: u64,
}

impl TraceSegments {
    /// Finds the last part of the trace at `path` that exists. If none exists, the trace begins
    /// with part 1. `max_bytes` is the length in bytes at which a part is full.
    ///
    /// # Errors
    ///
    /// Returns an I/O error if the directory exists and cannot be read.
    pub fn new(path: impl Into<PathBuf>, header: Header, max_bytes: u64) -> io::Result<Self> {
        let path = path.into();
        let number = last(&path)?;
        Ok(TraceSegments { path, header, bytes: max_bytes, number })
    }

    /// Returns the path of the last file, to which the writer writes.
    pub fn current_path(&self) -> PathBuf {
        segment_path(&self.path, self.number)
    }

    /// If the current file of `writer` is full, starts the next file, and lets `writer` write to
    /// it.
    ///
    /// # Errors
    ///
    /// Returns a [`CreateError`]. The writer then continues to write to its current file. The next
    /// file may exist, with an incomplete header.
    pub fn rotate_if_full(&mut self, writer: &mut Writer) -> Result<(), CreateError> {
        if writer.written_bytes() < self.bytes {
            return Ok(());
        }
        let failed = |WriteError(error)| CreateError { path: self.current_path(), error };
        writer.flush().map_err(failed)?;
        *writer = Writer::create(segment_path(&self.path, self.number + 1), &self.header)?;
        self.number += 1;
        Ok(())
    }
}

/// Returns the number of the last existing file of the trace, or 1 if no file exists yet.
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
            && segment_path(path, number).file_name() == Some(name.as_os_str())
        {
            last = last.max(number);
        }
    }
    Ok(last)
}
