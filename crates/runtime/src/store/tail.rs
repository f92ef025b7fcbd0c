//! What was changed since the state file was written: segments, in the order of their numbers.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::file::{OpenError, SaveError, sync_directory};
use super::image::{Damage, Owner};
use super::private;
use super::segment::{self, Heading};

/// The name of a segment is this and its number.
const NAME: &str = "log-";

/// The file that a segment is made in before it gets its name.
const NEXT: &str = "log.next";

/// How many bytes the shortest segment has.
const SHORTEST: u64 = 64 << 10;

/// How many bytes the longest one has, unless a single change is longer. What is saved waits until
/// one is filled with zeros: 1 to 2 ms on a disk that takes 0.2 ms for a flush.
const LONGEST: u64 = 256 << 10;

/// The segments of a directory.
#[derive(Debug)]
pub(super) struct Tail {
    directory: PathBuf,
    owner: Owner,
    /// The one that is written to.
    open: Option<Open>,
    /// The number of the next one.
    next: u64,
    /// How many records there ever were.
    records: u64,
    /// How many bytes of changes came after the state file.
    bytes: u64,
}

/// A segment with room behind what is written.
#[derive(Debug)]
struct Open {
    file: File,
    path: PathBuf,
    room: u64,
}

impl Tail {
    /// The segments from `first` on, and the changes in them, of which there were `records` before.
    /// Older ones are what a crash kept from being removed.
    pub(super) fn find(
        directory: &Path,
        owner: &Owner,
        first: u64,
        records: u64,
    ) -> Result<(Tail, Vec<Vec<u8>>), OpenError> {
        let (directory, owner) = (directory.to_owned(), owner.clone());
        let open = None;
        let mut tail = Tail { directory, owner, open, next: first, records, bytes: 0 };
        let mut there = numbers(&tail.directory).map_err(|source| {
            let path = tail.directory.clone();
            OpenError::Unusable { path, source }
        })?;
        there.retain(|number| *number >= first);
        let mut changes = Vec::new();
        for (place, number) in there.iter().enumerate() {
            let is_last = place + 1 == there.len();
            changes.extend(tail.read(*number, is_last)?);
        }
        Ok((tail, changes))
    }

    fn read(&mut self, number: u64, is_last: bool) -> Result<Vec<Vec<u8>>, OpenError> {
        let path = self.path(number);
        let file = match fs::read(&path) {
            Ok(file) => file,
            Err(source) => return Err(OpenError::Unusable { path, source }),
        };
        let read = match segment::read(&file, is_last) {
            Ok(read) => read,
            Err(damage @ Damage::NewerVersion { .. }) => {
                return Err(OpenError::NewerVersion { path, damage });
            }
            Err(damage) => return Err(OpenError::Damaged { path, damage }),
        };
        let Heading { owner: found, segment, first } = read.heading;
        if found != self.owner {
            return Err(OpenError::WrongOwner { path, found, expected: self.owner.clone() });
        }
        if number > self.next {
            let damage = Damage::Missing { count: number - self.next };
            return Err(OpenError::Damaged { path, damage });
        }
        if segment != number || first != self.records + 1 {
            return Err(OpenError::Damaged { path, damage: Damage::Inconsistent });
        }
        self.next = number + 1;
        self.records += read.changes.len() as u64;
        Ok(read.changes)
    }

    /// The number of the next segment that is made.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// How many records there ever were.
    pub(super) fn records(&self) -> u64 {
        self.records
    }

    /// Whether there is more in the segments than in a state of `whole` bytes, so that it pays to
    /// write that instead.
    pub(super) fn is_long(&self, whole: u64) -> bool {
        self.bytes > whole.max(SHORTEST / 2)
    }

    /// Whether the next change goes into the segment that is open.
    pub(super) fn has_room(&self, change: &[u8]) -> bool {
        let length = segment::taken(change.len()) as u64;
        self.open.as_ref().is_some_and(|open| open.room >= length)
    }

    /// Adds a change to a state of `whole` bytes: it is durable when this returns.
    pub(super) fn append(&mut self, change: &[u8], whole: u64) -> Result<(), SaveError> {
        let record = segment::record(self.records + 1, change);
        let length = record.len() as u64;
        let has_room = self.has_room(change);
        let mut open = match self.open.take().filter(|_| has_room) {
            Some(open) => open,
            None => self.make(length, whole)?,
        };
        let written = open.file.write_all(&record).and_then(|()| open.file.sync_data());
        if let Err(source) = written {
            return Err(SaveError::Unknown { path: open.path, source });
        }
        open.room -= length;
        self.open = Some(open);
        self.records += 1;
        self.bytes += length;
        Ok(())
    }

    /// Makes the next segment, with room for a record of this length at least.
    fn make(&mut self, record: u64, whole: u64) -> Result<Open, SaveError> {
        let heading =
            Heading { owner: self.owner.clone(), segment: self.next, first: self.records + 1 };
        let heading = heading.encode();
        let length = (2 * whole).clamp(SHORTEST, LONGEST).max(heading.len() as u64 + record);
        let next = self.directory.join(NEXT);
        let path = self.path(self.next);
        let file = match fill(&next, &heading, length) {
            Ok(file) => file,
            Err(source) => {
                let _ = fs::remove_file(&next);
                return Err(SaveError::of_file(next, source));
            }
        };
        let named = fs::rename(&next, &path).and_then(|()| sync_directory(&self.directory));
        if let Err(source) = named {
            return Err(SaveError::Unknown { path, source });
        }
        self.next += 1;
        Ok(Open { file, path, room: length - heading.len() as u64 })
    }

    /// Begins anew, for all that was changed is in the state file now.
    pub(super) fn begin_anew(&mut self) {
        self.turn_over();
        self.older().remove();
    }

    /// Goes on in a segment of its own: gives its number, and how many records are before it.
    pub(super) fn turn_over(&mut self) -> (u64, u64) {
        self.open = None;
        self.bytes = 0;
        (self.next, self.records)
    }

    /// The segments that are there by now.
    pub(super) fn older(&self) -> Older {
        Older { directory: self.directory.clone(), next: self.next }
    }

    /// Goes on in another file, to see what it does when that fails.
    #[cfg(all(test, unix))]
    pub(super) fn write_to(&mut self, file: File) {
        self.open.as_mut().expect("a segment").file = file;
    }

    fn path(&self, number: u64) -> PathBuf {
        path(&self.directory, number)
    }
}

/// Segments for which a state file stands.
#[derive(Debug)]
pub(super) struct Older {
    directory: PathBuf,
    /// The first that it does not stand for.
    next: u64,
}

impl Older {
    /// Removes them. What stays is older than what the state file names, and is removed another
    /// time.
    pub(super) fn remove(&self) {
        let there = numbers(&self.directory).unwrap_or_default();
        for number in there.into_iter().filter(|number| *number < self.next) {
            let _ = fs::remove_file(path(&self.directory, number));
        }
    }
}

fn path(directory: &Path, number: u64) -> PathBuf {
    directory.join(format!("{NAME}{number:010}"))
}

/// The numbers of the segments that are there, in order.
fn numbers(directory: &Path) -> io::Result<Vec<u64>> {
    let mut numbers = Vec::new();
    for entry in fs::read_dir(directory)? {
        let name = entry?.file_name();
        let number: Option<u64> =
            name.to_str().and_then(|name| name.strip_prefix(NAME)?.parse().ok());
        numbers.extend(number);
    }
    numbers.sort_unstable();
    Ok(numbers)
}

/// Makes a file of zeros behind a heading, all of it on the disk.
fn fill(path: &Path, heading: &[u8], length: u64) -> io::Result<File> {
    let mut file = private::create(path)?;
    file.write_all(heading)?;
    let zeros = vec![0; SHORTEST as usize];
    let mut left = length - heading.len() as u64;
    while left > 0 {
        let now = zeros.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        file.write_all(&zeros[..now])?;
        left -= now as u64;
    }
    file.sync_all()?;
    file.seek(SeekFrom::Start(heading.len() as u64))?;
    Ok(file)
}

impl SaveError {
    /// Why a file that is not in its place yet could not be written.
    pub(super) fn of_file(path: PathBuf, source: io::Error) -> Self {
        match source.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => SaveError::Full { path },
            _ => SaveError::Unwritten { path, source },
        }
    }
}
