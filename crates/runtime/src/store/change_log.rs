//! Log of the changes since the last state file, in numbered files that are called segments.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::directory::{SaveError, sync_directory};
use super::open_error::OpenError;
use super::private_file;
use super::segment_format::{self, SegmentHeader};
use super::state_file_format::{StateOwner, UnreadableReason};

const SEGMENT_PREFIX: &str = "log-";

const TEMPORARY_SEGMENT: &str = "log.next";

/// Prefix of the name of the marker: an empty file whose name contains the number of the newest
/// segment. The marker is created after this segment, and before the first change in the segment.
///
/// Among the segments that a start reads, a crash never leaves a marker without its segment. Such a
/// marker therefore shows that its segment was deleted, perhaps with changes.
const MARKER_PREFIX: &str = "newest-";

const MIN_SEGMENT_BYTES: u64 = 64 << 10;

/// Maximum size of a segment, in bytes. A single longer change gets a longer segment.
///
/// A save waits while a new segment is filled with zeros. This takes 1 to 2 ms on a disk that
/// flushes in 0.2 ms.
const MAX_SEGMENT_BYTES: u64 = 256 << 10;

#[derive(Debug)]
pub(super) struct ChangeLog {
    directory: PathBuf,
    owner: StateOwner,
    /// Segment to which changes are appended. `None` if the next change must create a segment.
    open: Option<OpenSegment>,
    /// Number that the next new segment will have.
    next: u64,
    /// Number of changes ever written to this log.
    records: u64,
    /// Total size of the records appended since the last state file was written or the last rewrite
    /// began, in bytes.
    bytes: u64,
}

/// Position behind the last change in a [`ChangeLog`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ChangeLogPosition {
    /// Number that the next new segment will have.
    pub(super) next_segment: u64,
    /// Number of changes ever written to the log.
    pub(super) record_count: u64,
}

#[derive(Debug)]
struct OpenSegment {
    file: File,
    path: PathBuf,
    room: u64,
}

impl ChangeLog {
    /// Reads the segments whose numbers are at least `first_segment`. Returns the log and the
    /// changes in these segments. `earlier_record_count` is the number of changes before these
    /// segments. Ignores segments with lower numbers, whose removal was interrupted by a crash.
    pub(super) fn recover(
        directory: &Path,
        owner: &StateOwner,
        first_segment: u64,
        earlier_record_count: u64,
    ) -> Result<(ChangeLog, Vec<Vec<u8>>), OpenError> {
        let (directory, owner) = (directory.to_owned(), owner.clone());
        let open = None;
        let mut change_log = ChangeLog {
            directory,
            owner,
            open,
            next: first_segment,
            records: earlier_record_count,
            bytes: 0,
        };
        let numbers = |prefix| {
            let directory = &change_log.directory;
            let found = numbers(directory, prefix);
            found.map_err(|source| OpenError::Io { path: directory.clone(), source })
        };
        let mut segments = numbers(SEGMENT_PREFIX)?;
        segments.retain(|number| *number >= first_segment);
        let marked = numbers(MARKER_PREFIX)?.pop().filter(|number| *number >= first_segment);
        if let Some(number) = marked
            && segments.last().is_none_or(|last| *last < number)
        {
            let path = change_log.path(number);
            return Err(OpenError::Damaged { path, reason: UnreadableReason::Deleted });
        }
        let mut changes = Vec::new();
        for (position, number) in segments.iter().enumerate() {
            let is_last = position + 1 == segments.len();
            changes.extend(change_log.read_segment(*number, is_last)?);
        }
        Ok((change_log, changes))
    }

    fn read_segment(&mut self, number: u64, is_last: bool) -> Result<Vec<Vec<u8>>, OpenError> {
        let path = self.path(number);
        let file = match fs::read(&path) {
            Ok(file) => file,
            Err(source) => return Err(OpenError::Io { path, source }),
        };
        let read = match segment_format::decode(&file, is_last) {
            Ok(read) => read,
            Err(reason) => return Err(OpenError::from_unreadable(path, reason)),
        };
        let SegmentHeader { owner: found, segment, first_record: first } = read.header;
        if found != self.owner {
            return Err(OpenError::WrongOwner { path, found, expected: self.owner.clone() });
        }
        if number > self.next {
            let reason = UnreadableReason::Missing { count: number - self.next };
            return Err(OpenError::Damaged { path, reason });
        }
        if segment != number || first != self.records + 1 {
            return Err(OpenError::Damaged { path, reason: UnreadableReason::Inconsistent });
        }
        self.next = number + 1;
        self.records += read.changes.len() as u64;
        Ok(read.changes)
    }

    pub(super) fn position(&self) -> ChangeLogPosition {
        ChangeLogPosition { next_segment: self.next, record_count: self.records }
    }

    /// Returns true if the changes are longer than the state, whose size is `state_bytes`, and
    /// longer than half of the smallest segment. Writing the whole state is then worthwhile.
    pub(super) fn is_rewrite_due(&self, state_bytes: u64) -> bool {
        self.bytes > state_bytes.max(MIN_SEGMENT_BYTES / 2)
    }

    pub(super) fn has_room(&self, change: &[u8]) -> bool {
        let length = segment_format::padded_record_size(change.len()) as u64;
        self.open.as_ref().is_some_and(|open| open.room >= length)
    }

    /// Appends a change. The change is durable when the function returns. `state_bytes` is the size
    /// of the saved state, which determines the size of a new segment.
    pub(super) fn append(&mut self, change: &[u8], state_bytes: u64) -> Result<(), SaveError> {
        let record = segment_format::encode_record(self.records + 1, change);
        let length = record.len() as u64;
        let has_room = self.has_room(change);
        let mut open = match self.open.take().filter(|_| has_room) {
            Some(open) => open,
            None => self.create_segment(length, state_bytes)?,
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

    /// Creates the next segment, with space for at least one record of `record` bytes.
    fn create_segment(&mut self, record: u64, state_bytes: u64) -> Result<OpenSegment, SaveError> {
        let header = SegmentHeader {
            owner: self.owner.clone(),
            segment: self.next,
            first_record: self.records + 1,
        };
        let header = header.encode();
        let length = (2 * state_bytes)
            .clamp(MIN_SEGMENT_BYTES, MAX_SEGMENT_BYTES)
            .max(header.len() as u64 + record);
        let next = self.directory.join(TEMPORARY_SEGMENT);
        let path = self.path(self.next);
        let file = match create_zeroed(&next, &header, length) {
            Ok(file) => file,
            Err(source) => {
                let _ = fs::remove_file(&next);
                return Err(SaveError::from_io(next, source));
            }
        };
        let named = fs::rename(&next, &path).and_then(|()| sync_directory(&self.directory));
        if let Err(source) = named {
            return Err(SaveError::Unknown { path, source });
        }
        self.write_marker()?;
        self.next += 1;
        Ok(OpenSegment { file, path, room: length - header.len() as u64 })
    }

    /// Records durably that the segment `self.next` exists.
    fn write_marker(&self) -> Result<(), SaveError> {
        let marker = numbered(&self.directory, MARKER_PREFIX, self.next);
        if let Err(source) = private_file::create(&marker) {
            return Err(SaveError::from_io(marker, source));
        }
        if let Err(source) = sync_directory(&self.directory) {
            return Err(SaveError::Unknown { path: marker, source });
        }
        // If the previous marker cannot be removed, it has no effect, because its number is lower.
        if let Some(previous) = self.next.checked_sub(1) {
            let _ = fs::remove_file(numbered(&self.directory, MARKER_PREFIX, previous));
        }
        Ok(())
    }

    /// Closes the open segment and deletes all segments. Before this call, a new state file must
    /// have replaced them.
    pub(super) fn delete_all_segments(&mut self) {
        self.close_segment();
        self.closed_segments().remove();
    }

    /// Closes the open segment, so that the next change creates a new segment. Returns the number
    /// that the new segment will have, and the number of changes ever written to this log.
    pub(super) fn close_segment(&mut self) -> ChangeLogPosition {
        self.open = None;
        self.bytes = 0;
        self.position()
    }

    /// Returns all segments with their markers. Before this call, the open segment must be closed.
    pub(super) fn closed_segments(&self) -> ClosedSegments {
        ClosedSegments { directory: self.directory.clone(), next: self.next }
    }

    #[cfg(all(test, unix))]
    pub(super) fn replace_open_file(&mut self, file: File) {
        self.open.as_mut().expect("an open segment").file = file;
    }

    fn path(&self, number: u64) -> PathBuf {
        numbered(&self.directory, SEGMENT_PREFIX, number)
    }
}

/// Closed segments and their markers, which a new state file replaces.
#[derive(Debug)]
pub(super) struct ClosedSegments {
    directory: PathBuf,
    /// Number of the first segment that must be kept.
    next: u64,
}

impl ClosedSegments {
    /// Removes the segments and their markers. If some cannot be removed, a later call removes
    /// them, at the latest when the store is opened again.
    pub(super) fn remove(&self) {
        for prefix in [SEGMENT_PREFIX, MARKER_PREFIX] {
            let found = numbers(&self.directory, prefix).unwrap_or_default();
            for number in found.into_iter().filter(|number| *number < self.next) {
                let _ = fs::remove_file(numbered(&self.directory, prefix, number));
            }
        }
    }
}

fn numbered(directory: &Path, prefix: &str, number: u64) -> PathBuf {
    directory.join(format!("{prefix}{number:010}"))
}

/// Returns the numbers of the files whose names consist of `prefix` and a number, in ascending
/// order.
fn numbers(directory: &Path, prefix: &str) -> io::Result<Vec<u64>> {
    let mut numbers = Vec::new();
    for entry in fs::read_dir(directory)? {
        let name = entry?.file_name();
        let number: Option<u64> =
            name.to_str().and_then(|name| name.strip_prefix(prefix)?.parse().ok());
        numbers.extend(number);
    }
    numbers.sort_unstable();
    Ok(numbers)
}

/// Creates a file of `length` bytes, with a header and then zeros, and flushes it. The returned
/// file is positioned after the header.
fn create_zeroed(path: &Path, header: &[u8], length: u64) -> io::Result<File> {
    let mut file = private_file::create(path)?;
    file.write_all(header)?;
    let zeros = vec![0; MIN_SEGMENT_BYTES as usize];
    let mut left = length - header.len() as u64;
    while left > 0 {
        let now = zeros.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        file.write_all(&zeros[..now])?;
        left -= now as u64;
    }
    file.sync_all()?;
    file.seek(SeekFrom::Start(header.len() as u64))?;
    Ok(file)
}

impl SaveError {
    /// Converts an error that occurred before a save changed the saved state, so this state is
    /// intact.
    pub(super) fn from_io(path: PathBuf, source: io::Error) -> Self {
        match source.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => SaveError::DiskFull { path },
            _ => SaveError::NotWritten { path, source },
        }
    }
}
