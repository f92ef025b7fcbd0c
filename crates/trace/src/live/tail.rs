//! Reading of the lines that a running writer appends to a trace.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::LiveView;
use crate::format::line::{ContentHandling, decode_record};
use crate::format::{DEFAULT_MAX_LINE_BYTES, Record, segment_path};

const CHUNK_BYTES: usize = 256 * 1024;

/// Maximum number of chunks that one call of [`TraceTail::read_into`] reads. The next call reads
/// the rest.
const MAX_CHUNKS: usize = 64;

/// Maximum number of lines of frequent kinds that `read_lines` applies to the view in one call. If
/// there are more, it applies the last of them and only counts the earlier lines. A person could
/// not follow more lines.
const MAX_PARSED_LINES: usize = 32;

/// Reads the lines appended to a trace, in one file or in several [parts](crate::TraceSegments).
#[derive(Debug)]
pub struct TraceTail {
    path: PathBuf,
    /// Number of the part that is read now, from 1. A part is one of the files of a trace.
    number: u64,
    /// Open part. Its position is the start of the first line that was not complete yet.
    file: Option<File>,
    buffer: Vec<u8>,
}

/// Class of a line, which is determined without parsing the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineClass {
    /// A record of a rare kind. Every line of this class is parsed.
    Rare,
    Send,
    Enter,
    /// A record of another frequent kind, such as a received message or a timer. Records of this
    /// class are not counted.
    Frequent,
}

impl TraceTail {
    /// Creates a tail of the file at `path`. The file need not exist yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        TraceTail { path, number: 1, file: None, buffer: vec![0; CHUNK_BYTES] }
    }

    /// Returns the path of the trace.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the lines that were added since the last call, and applies them to `view`. If there
    /// are many lines of frequent kinds, only counts their messages and entries. One call reads at
    /// most 16 MiB of each file.
    ///
    /// # Errors
    ///
    /// Returns the error of a failed read, or an error if a line is longer than any record. Lines
    /// that this call has read but not applied are then lost. A file that does not exist yet is not
    /// an error, and has no lines.
    pub fn read_into(&mut self, view: &mut LiveView) -> io::Result<()> {
        loop {
            // If there is a next part, the current part is complete.
            let next = segment_path(&self.path, self.number + 1).exists();
            if !self.read_part(view)? || !next {
                return Ok(());
            }
            self.number += 1;
            self.file = None;
        }
    }

    /// Reads the rest of the current file of the trace. Returns true if the end of this file was
    /// reached.
    fn read_part(&mut self, view: &mut LiveView) -> io::Result<bool> {
        if self.file.is_none() {
            self.file = match File::open(segment_path(&self.path, self.number)) {
                Ok(file) => Some(file),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
                Err(error) => return Err(error),
            };
        }
        let Some(file) = &mut self.file else { return Ok(true) };
        let mut fresh = Vec::new();
        let mut all = false;
        for _ in 0..MAX_CHUNKS {
            let read = file.read(&mut self.buffer)?;
            fresh.extend_from_slice(&self.buffer[..read]);
            all = read < self.buffer.len();
            if all {
                break;
            }
        }
        let whole = fresh.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        // Rewinds to the start of the incomplete line, because a writer that continues the file
        // removes this line.
        let partial = fresh.split_off(whole).len() as u64;
        file.seek(SeekFrom::Current(-partial.cast_signed()))?;
        if partial >= DEFAULT_MAX_LINE_BYTES {
            return Err(io::Error::other("a line is longer than any record"));
        }
        read_lines(&fresh, view);
        Ok(all)
    }
}

/// Parses all lines of rare kinds, and the latest lines of frequent kinds. Only counts the messages
/// and entries in the older lines of frequent kinds.
fn read_lines(lines: &[u8], view: &mut LiveView) {
    let lines = lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let sorted: Vec<(&[u8], LineClass)> = lines.map(|line| (line, classify(line))).collect();
    let frequent = sorted.iter().filter(|(_, sort)| *sort != LineClass::Rare).count();
    let mut passed_over = frequent.saturating_sub(MAX_PARSED_LINES);
    let mut counted = (0, 0);
    for (line, sort) in sorted {
        if sort != LineClass::Rare && passed_over > 0 {
            passed_over -= 1;
            counted.0 += u64::from(sort == LineClass::Send);
            counted.1 += u64::from(sort == LineClass::Enter);
            if passed_over > 0 {
                continue;
            }
            if let Some(record) = record(line) {
                view.add_skipped_counts(record.process, counted);
            }
            continue;
        }
        if let Some(record) = record(line) {
            view.apply_record(&record);
        }
    }
}

/// Parses a record. Returns `None` for a line that is not a record, such as the header.
fn record(line: &[u8]) -> Option<Record> {
    decode_record(line, ContentHandling::Skipped).ok()
}

/// Determines the class of a line without parsing it. The kind of the record is near the start of
/// the line, and its data follows.
fn classify(line: &[u8]) -> LineClass {
    const KIND: &[u8] = b"\"kind\":\"";
    let early = &line[..line.len().min(160)];
    let Some(place) = find(early, KIND) else { return LineClass::Rare };
    let rest = &line[place + KIND.len()..];
    let starts = |kind: &str| rest.starts_with(kind.as_bytes());
    if starts("send\"") {
        return LineClass::Send;
    }
    if starts("receive\"") || starts("state\"") || starts("timer\"") {
        return LineClass::Frequent;
    }
    let has_word = |word: &str| find(rest, word.as_bytes()).is_some();
    if starts("event\"") {
        return match () {
            () if has_word("\"Entered\"") => LineClass::Enter,
            () if has_word("\"Exited\"") => LineClass::Frequent,
            () => LineClass::Rare,
        };
    }
    if starts("command\"") && (has_word("\"Enter\"") || has_word("\"Exit\"")) {
        return LineClass::Frequent;
    }
    if starts("access\"") && has_word("\"accepted\":true") {
        return LineClass::Frequent;
    }
    LineClass::Rare
}

fn find(text: &[u8], word: &[u8]) -> Option<usize> {
    text.windows(word.len()).position(|window| window == word)
}
