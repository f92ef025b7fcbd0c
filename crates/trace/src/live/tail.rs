use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::View;
use crate::format::line::{Contents, decode};
use crate::format::{LONGEST_LINE, Record, segment};

/// How much is read at a time.
const CHUNK_BYTES: usize = 256 * 1024;

/// How many times that is read at most, in each go. What is left waits for the next.
const MOST_CHUNKS: usize = 64;

/// How many of the latest lines about locks and messages are looked into, in each go. The others
/// are only counted: at full speed there are more of them than anybody can see.
const LOOKED_INTO: usize = 32;

/// Reads what is added to a trace while it is being written, in one file or in several
/// [parts](crate::Segments).
#[derive(Debug)]
pub struct Tail {
    path: PathBuf,
    /// The number of the part that is read.
    number: u64,
    file: Option<File>,
    /// The beginning of a line whose end is not written yet.
    begun: Vec<u8>,
    buffer: Vec<u8>,
}

/// What a line is about, as far as that can be told without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sort {
    /// It is read whenever it comes.
    Rare,
    /// The process sent something.
    Send,
    /// The process entered.
    Enter,
    /// Anything else that there is much of.
    Frequent,
}

impl Tail {
    /// A tail of the file at `path`, which need not be there yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Tail { path, number: 1, file: None, begun: Vec::new(), buffer: vec![0; CHUNK_BYTES] }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the lines that were written since the last time, and tells `view` of them.
    ///
    /// # Errors
    ///
    /// Those of reading. A file that does not exist yet has no lines.
    pub fn read(&mut self, view: &mut View) -> io::Result<()> {
        loop {
            // Where there is a next part, nothing is added to this one any more.
            let next = segment(&self.path, self.number + 1).exists();
            if !self.read_part(view)? || !next {
                return Ok(());
            }
            self.number += 1;
            self.file = None;
            self.begun.clear();
        }
    }

    /// Returns whether all was read that there is.
    fn read_part(&mut self, view: &mut View) -> io::Result<bool> {
        if self.file.is_none() {
            self.file = match File::open(segment(&self.path, self.number)) {
                Ok(file) => Some(file),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
                Err(error) => return Err(error),
            };
        }
        let Some(file) = &mut self.file else { return Ok(true) };
        let mut fresh = std::mem::take(&mut self.begun);
        let mut all = false;
        for _ in 0..MOST_CHUNKS {
            let read = file.read(&mut self.buffer)?;
            fresh.extend_from_slice(&self.buffer[..read]);
            all = read < self.buffer.len();
            if all {
                break;
            }
        }
        let whole = fresh.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        self.begun = fresh.split_off(whole);
        if self.begun.len() as u64 > LONGEST_LINE {
            return Err(io::Error::other("a line is longer than any record"));
        }
        read_lines(&fresh, view);
        Ok(all)
    }
}

/// Looks into what is rare and into the end of what is frequent; counts the rest.
fn read_lines(lines: &[u8], view: &mut View) {
    let lines = lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let sorted: Vec<(&[u8], Sort)> = lines.map(|line| (line, sort(line))).collect();
    let frequent = sorted.iter().filter(|(_, sort)| *sort != Sort::Rare).count();
    let mut passed_over = frequent.saturating_sub(LOOKED_INTO);
    let mut counted = (0, 0);
    for (line, sort) in sorted {
        if sort != Sort::Rare && passed_over > 0 {
            passed_over -= 1;
            counted.0 += u64::from(sort == Sort::Send);
            counted.1 += u64::from(sort == Sort::Enter);
            if passed_over > 0 {
                continue;
            }
            if let Some(record) = record(line) {
                view.pass_over(record.process, counted);
            }
            continue;
        }
        if let Some(record) = record(line) {
            view.read(&record);
        }
    }
}

/// The header and whatever a newer release writes are no records: they are left out.
fn record(line: &[u8]) -> Option<Record> {
    decode(line, Contents::Skipped).ok()
}

/// The name of the kind stands early in a line; what an event says stands right behind it.
fn sort(line: &[u8]) -> Sort {
    const KIND: &[u8] = b"\"kind\":\"";
    let early = &line[..line.len().min(160)];
    let Some(place) = find(early, KIND) else { return Sort::Rare };
    let rest = &line[place + KIND.len()..];
    let starts = |kind: &str| rest.starts_with(kind.as_bytes());
    if starts("send\"") {
        return Sort::Send;
    }
    if starts("receive\"") || starts("state\"") || starts("timer\"") {
        return Sort::Frequent;
    }
    let says = |word: &str| find(rest, word.as_bytes()).is_some();
    if starts("event\"") {
        return match () {
            () if says("\"Entered\"") => Sort::Enter,
            () if says("\"Exited\"") => Sort::Frequent,
            () => Sort::Rare,
        };
    }
    if starts("command\"") && (says("\"Enter\"") || says("\"Exit\"")) {
        return Sort::Frequent;
    }
    if starts("access\"") && says("\"accepted\":true") {
        return Sort::Frequent;
    }
    Sort::Rare
}

fn find(text: &[u8], word: &[u8]) -> Option<usize> {
    text.windows(word.len()).position(|window| window == word)
}
