//! Files of traces: on disk, or in memory for programs without a file system.
//!
//! A page in a browser has no files. In WebAssembly, and after [`keep_files_in_memory`], this
//! module keeps the contents of all files in the memory of the program, under their paths.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

static IN_MEMORY: AtomicBool = AtomicBool::new(false);

static FILES: Mutex<BTreeMap<PathBuf, Content>> = Mutex::new(BTreeMap::new());

type Content = Arc<Mutex<Vec<u8>>>;

/// Makes this module keep all files in memory from now on, for the whole program. Files on disk are
/// then no longer visible to this module.
pub fn keep_files_in_memory() {
    IN_MEMORY.store(true, Ordering::Relaxed);
}

/// Returns true if this module keeps files in memory. The result is true after
/// [`keep_files_in_memory`], and always in WebAssembly.
pub fn keeps_files_in_memory() -> bool {
    cfg!(target_family = "wasm") || IN_MEMORY.load(Ordering::Relaxed)
}

/// Replaces all files in memory by `files`, and returns the files that were in memory before.
pub fn replace_memory_files(files: BTreeMap<PathBuf, Vec<u8>>) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = files.into_iter().map(|(path, bytes)| (path, Arc::new(Mutex::new(bytes))));
    let before = std::mem::replace(&mut *lock(&FILES), files.collect());
    before.into_iter().map(|(path, content)| (path, lock(&content).clone())).collect()
}

fn lock<T>(guarded: &Mutex<T>) -> MutexGuard<'_, T> {
    guarded.lock().unwrap_or_else(PoisonError::into_inner)
}

fn find(path: &Path) -> io::Result<Content> {
    let missing = || io::Error::new(ErrorKind::NotFound, "no such file");
    lock(&FILES).get(path).cloned().ok_or_else(missing)
}

/// Opens the file at `path` to read it from its beginning.
///
/// # Errors
///
/// Returns an I/O error, such as [`ErrorKind::NotFound`].
pub fn open(path: impl AsRef<Path>) -> io::Result<File> {
    if keeps_files_in_memory() {
        return Ok(File(Storage::Memory { content: find(path.as_ref())?, position: 0 }));
    }
    fs::File::open(path).map(|file| File(Storage::Disk(file)))
}

/// Creates an empty file at `path` to write to it, and replaces an existing file.
///
/// # Errors
///
/// Returns an I/O error. The file may have been created nevertheless.
pub fn create(path: impl AsRef<Path>) -> io::Result<File> {
    if keeps_files_in_memory() {
        let content = Content::default();
        lock(&FILES).insert(path.as_ref().to_path_buf(), Arc::clone(&content));
        return Ok(File(Storage::Memory { content, position: 0 }));
    }
    fs::File::create(path).map(|file| File(Storage::Disk(file)))
}

/// Creates or replaces the file at `path` with this content.
///
/// # Errors
///
/// Returns an I/O error. The file may then have a part of the content.
pub fn write(path: impl AsRef<Path>, content: &[u8]) -> io::Result<()> {
    let mut file = create(path)?;
    file.write_all(content)?;
    file.flush()
}

/// Removes the files in memory that are in the folder `folder` or in a folder within it.
pub fn remove_memory_folder(folder: &Path) {
    lock(&FILES).retain(|path, _| !path.starts_with(folder));
}

/// A file on disk or in memory. [`open`] returns a file to read, and [`create`] a file to write. In
/// memory, each write appends to the file, whatever the position is.
#[derive(Debug)]
pub struct File(Storage);

#[derive(Debug)]
enum Storage {
    Disk(fs::File),
    Memory { content: Content, position: usize },
}

impl Read for File {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match &mut self.0 {
            Storage::Disk(file) => file.read(into),
            Storage::Memory { content, position } => {
                let content = lock(content);
                let mut rest = content.get(*position..).unwrap_or_default();
                let read = rest.read(into)?;
                *position += read;
                Ok(read)
            }
        }
    }
}

impl Seek for File {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match &mut self.0 {
            Storage::Disk(file) => file.seek(to),
            Storage::Memory { content, position } => {
                let (from, by) = match to {
                    SeekFrom::Start(start) => (start, 0),
                    SeekFrom::Current(by) => (*position as u64, by),
                    SeekFrom::End(by) => (lock(content).len() as u64, by),
                };
                let reached = from.checked_add_signed(by).and_then(|it| it.try_into().ok());
                *position = reached.ok_or(ErrorKind::InvalidInput)?;
                Ok(*position as u64)
            }
        }
    }
}

impl Write for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            Storage::Disk(file) => file.write(bytes),
            Storage::Memory { content, .. } => lock(content).write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Storage::Disk(file) => file.flush(),
            Storage::Memory { .. } => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // One test contains all cases, because all tests of a test program share the files in memory.
    #[test]
    fn memory_file_is_read_after_writing_and_truncated() {
        let name = "held-in-memory.ndjson";
        let of = |content: Content| File(Storage::Memory { content, position: 0 });
        let mut text = String::new();
        replace_memory_files(BTreeMap::from([(PathBuf::from(name), b"before".to_vec())]));
        let mut reader = of(find(name.as_ref()).expect("given"));
        reader.read_to_string(&mut text).expect("readable");
        assert_eq!(reader.seek(SeekFrom::End(-4)).expect("possible"), 2);
        reader.read_to_string(&mut text).expect("readable");
        assert_eq!(text, "beforefore");
        assert!(reader.seek(SeekFrom::Current(-7)).is_err(), "before the beginning");
        let content = Content::default();
        lock(&FILES).insert(name.into(), Arc::clone(&content));
        let mut writer = of(content);
        writer.write_all(b"af").and_then(|()| writer.write_all(b"ter")).expect("writable");
        let all = replace_memory_files(BTreeMap::new());
        assert_eq!(all, BTreeMap::from([(PathBuf::from(name), b"after".to_vec())]));
        assert_eq!(find(name.as_ref()).expect_err("removed").kind(), ErrorKind::NotFound);
    }
}
